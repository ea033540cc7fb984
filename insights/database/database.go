// Package database is the SQL of package insights' stores: the same schema and
// the same statements for SQLite and Postgres, by database/sql. Packages
// sqlite and postgres open the databases.
//
// Tables begin with docs_. Times are Unix seconds, days are days since
// 1970-01-01. Sites and queries are numbers in the other tables, which halves
// the size and makes the groups of a month quick to count. Raw rows are kept
// for the retention; docs_day_… are counts by day, kept for thirteen months.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/caddy-docs/caddy-docs/insights"
)

// Dialect says how a database differs.
type Dialect struct {
	// Dollar is set if parameters are $1, $2 … instead of ?.
	Dollar bool
	// Types replaces {id}, {int}, {real}, {table} and {keyed} in the schema.
	Types *strings.Replacer
	// Unindexed is what keeps a column after it from being looked up in an
	// index, "" for nothing. Statements have it as {unindexed}.
	Unindexed string
	// Lock is a statement that lets one process migrate at a time, "" for none.
	Lock string
}

// Store implements insights.Store.
type Store struct {
	write, read *sql.DB
	dialect     Dialect

	mu    sync.RWMutex
	sites map[insights.Scope]int64
}

// Open migrates a database and returns its store, which owns both handles.
// write and read may be the same.
func Open(ctx context.Context, write, read *sql.DB, d Dialect) (*Store, error) {
	s := &Store{write: write, read: read, dialect: d, sites: map[insights.Scope]int64{}}
	if err := s.migrate(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the handles.
func (s *Store) Close() error {
	err := s.write.Close()
	if s.read != s.write {
		err = errors.Join(s.read.Close(), err)
	}
	return err
}

// Check returns an error if the database can't be written to.
func (s *Store) Check(ctx context.Context) error {
	return s.transaction(ctx, func(t *tx) error {
		_, err := t.exec(`update docs_schema set checked = checked + 1`)
		return err
	})
}

// tx is a transaction.
type tx struct {
	ctx     context.Context
	tx      *sql.Tx
	dialect Dialect
}

// transaction runs f in a transaction that can write.
func (s *Store) transaction(ctx context.Context, f func(*tx) error) error {
	t, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // nothing after Commit
	if err := f(&tx{ctx, t, s.dialect}); err != nil {
		return err
	}
	return t.Commit()
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	r, err := t.tx.ExecContext(t.ctx, t.dialect.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// each calls f with the rows of a query.
func (t *tx) each(f func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := t.tx.QueryContext(t.ctx, t.dialect.bind(query), args...)
	return eachOf(rows, err, f)
}

// each calls f with the rows of a query outside of transactions.
func (s *Store) each(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := s.read.QueryContext(ctx, s.dialect.bind(query), args...)
	return eachOf(rows, err, f)
}

func eachOf(rows *sql.Rows, err error, f func(scan func(...any) error) error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// bind writes the parameters of a statement as the database takes them. No
// statement has a ? within quotes.
func (d Dialect) bind(query string) string {
	query = strings.ReplaceAll(query, "{unindexed}", d.Unindexed)
	if !d.Dollar {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// marks returns "?, ?, ?".
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// insert adds rows, many in one statement.
func (t *tx) insert(into string, columns int, rows [][]any, suffix string) error {
	const most = 400 // parameters; Postgres takes 65,535, SQLite 32,766
	for len(rows) > 0 {
		n := min(len(rows), max(most/columns, 1))
		args := make([]any, 0, n*columns)
		for _, r := range rows[:n] {
			args = append(args, r...)
		}
		one := "(" + marks(columns) + ")"
		query := "insert into " + into + " values " + strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") + " " + suffix
		if _, err := t.exec(query, args...); err != nil {
			return fmt.Errorf("adding to %s: %w", strings.Fields(into)[0], err)
		}
		rows = rows[n:]
	}
	return nil
}

// site returns the number of a site, and false if the database has none.
func (s *Store) site(ctx context.Context, in insights.Scope) (id int64, ok bool, err error) {
	s.mu.RLock()
	id, ok = s.sites[in]
	s.mu.RUnlock()
	if ok {
		return id, true, nil
	}
	err = s.each(ctx, func(scan func(...any) error) error {
		ok = true
		return scan(&id)
	}, `select id from docs_sites where organization = ? and name = ?`, in.Organization, in.Site)
	if ok && err == nil {
		s.remember(in, id)
	}
	return id, ok, err
}

func (s *Store) remember(in insights.Scope, id int64) {
	s.mu.Lock()
	s.sites[in] = id
	s.mu.Unlock()
}

// Sites returns all sites with events.
func (s *Store) Sites(ctx context.Context) (all []insights.Scope, err error) {
	err = s.each(ctx, func(scan func(...any) error) error {
		var in insights.Scope
		defer func() { all = append(all, in) }()
		return scan(&in.Organization, &in.Site)
	}, `select organization, name from docs_sites order by organization, name`)
	return all, err
}
