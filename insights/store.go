package insights

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/short"
)

// Store keeps events in a database and counts them. It is safe for concurrent
// use. Its queries take a Scope: they see one site of one organization, and
// what is unknown there is empty, not an error. Texts in results were written
// by strangers.
//
// Tables begin with docs_. Times are Unix seconds, days are days since
// 1970-01-01. Sites and queries are numbers in the other tables, which halves
// the size and makes the groups of a month quick to count. Raw rows are kept
// for the retention; docs_day_… are counts by day, kept for thirteen months.
type Store struct {
	write, read *sql.DB
	Dialect

	mu    sync.RWMutex
	sites map[Scope]int64
}

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

	// Present, if set, returns an error if the database is gone although writing
	// to it would succeed.
	Present func() error
	// Shrink, if set, gives space back after rows were deleted.
	Shrink func(context.Context) error
	// Backup writes a copy to a file that must not exist. It is nil for a
	// database that has its own backups.
	Backup func(ctx context.Context, file string) error
}

// Open migrates a database and returns its store, which owns both handles.
// write and read may be the same.
func Open(ctx context.Context, write, read *sql.DB, d Dialect) (*Store, error) {
	s := &Store{write: write, read: read, Dialect: d, sites: map[Scope]int64{}}
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

// Check returns an error if events can't be stored now.
func (s *Store) Check(ctx context.Context) error {
	return s.transaction(ctx, func(t *session) error {
		_, err := t.exec(`update docs_schema set checked = checked + 1`)
		return err
	})
}

// session is a transaction, or the database outside of transactions.
type session struct {
	ctx context.Context
	db  interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
	dialect *Dialect
}

// transaction runs f in a transaction that can write.
func (s *Store) transaction(ctx context.Context, f func(*session) error) error {
	if s.Present != nil {
		if err := s.Present(); err != nil {
			return err
		}
	}
	t, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback() }() // nothing after Commit
	if err := f(&session{ctx, t, &s.Dialect}); err != nil {
		return err
	}
	return t.Commit()
}

// exec runs a statement and returns how many rows it changed.
func (t *session) exec(query string, args ...any) (int64, error) {
	r, err := t.db.ExecContext(t.ctx, t.dialect.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// each calls f with the rows of a query.
func (t *session) each(f func(*sql.Rows) error, query string, args ...any) error {
	rows, err := t.db.QueryContext(t.ctx, t.dialect.bind(query), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scan reads each row of a query into some variables, and calls f.
func (t *session) scan(to []any, f func(), query string, args ...any) error {
	return t.each(func(rows *sql.Rows) error {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		f()
		return nil
	}, query, args...)
}

// get reads the one row that a query may have into some variables, and reports
// whether there is one.
func (t *session) get(to []any, query string, args ...any) (found bool, err error) {
	err = t.scan(to, func() { found = true }, query, args...)
	return found, err
}

// into is where the columns of a row go.
func into(to ...any) []any { return to }

// rowsOf reads the rows of a query. columns says where those of a row go.
func rowsOf[T any](t *session, columns func(*T) []any, query string, args ...any) (all []T, err error) {
	var row T
	err = t.scan(columns(&row), func() { all = append(all, row) }, query, args...)
	return all, err
}

// scan is session.scan for a query about a site, whose number is its first
// parameter. There are no rows for an unknown site.
func (s *Store) scan(ctx context.Context, in Scope, to []any, f func(), query string, args ...any) error {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return err
	}
	return s.reading(ctx).scan(to, f, query, append([]any{site}, args...)...)
}

// list is rowsOf for a query about a site, as Store.scan is.
func list[T any](ctx context.Context, s *Store, in Scope, columns func(*T) []any, query string, args ...any) (all []T, err error) {
	var row T
	err = s.scan(ctx, in, columns(&row), func() { all = append(all, row) }, query, args...)
	return all, err
}

// reading is the database for queries outside of transactions.
func (s *Store) reading(ctx context.Context) *session { return &session{ctx, s.read, &s.Dialect} }

type scanner func(any) error

// Scan implements sql.Scanner.
func (f scanner) Scan(v any) error { return f(v) }

// as reads a column into a type that the database doesn't have.
func as[C, T any](to *T, convert func(C) T) scanner {
	return func(v any) error {
		var c sql.Null[C]
		err := c.Scan(v)
		*to = convert(c.V)
		return err
	}
}

func timeOf(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }

// lines reads a list that is stored as lines.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}

// bind writes the parameters of a statement as the database takes them. No
// statement has a ? within quotes.
func (d *Dialect) bind(query string) string {
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

// insert adds rows, many in one statement. The rows that the suffix returns, if
// any, are scanned.
func (t *session) insert(table string, rows [][]any, suffix string, to []any, f func()) error {
	const most = 400 // parameters; Postgres takes 65,535, SQLite 32,766
	for len(rows) > 0 {
		n := min(len(rows), max(most/len(rows[0]), 1))
		one := "(" + marks(len(rows[0])) + ")"
		var args []any
		for _, r := range rows[:n] {
			args = append(args, r...)
		}
		query := "insert into " + table + " values " + strings.TrimSuffix(strings.Repeat(one+", ", n), ", ") + " " + suffix
		if err := t.scan(to, f, query, args...); err != nil {
			return fmt.Errorf("adding to %s: %w", strings.Fields(table)[0], err)
		}
		rows = rows[n:]
	}
	return nil
}

func (t *session) add(table string, row ...any) error {
	return t.insert(table, [][]any{row}, "", nil, nil)
}

// site returns the number of a site, and false if the database has none.
func (s *Store) site(ctx context.Context, in Scope) (id int64, ok bool, err error) {
	s.mu.RLock()
	id, ok = s.sites[in]
	s.mu.RUnlock()
	if ok {
		return id, true, nil
	}
	ok, err = s.reading(ctx).get(into(&id), `select id from docs_sites where organization = ? and name = ?`, in.Organization, in.Site)
	if ok && err == nil {
		s.remember(in, id)
	}
	return id, ok, err
}

func (s *Store) remember(in Scope, id int64) {
	s.mu.Lock()
	s.sites[in] = id
	s.mu.Unlock()
}

// change changes what an operator may: the state and the note of an entry of a
// site. It returns ErrUnknown for an unknown site.
func (s *Store) change(ctx context.Context, in Scope, f func(t *session, site int64) error) error {
	site, ok, err := s.site(ctx, in)
	if err != nil {
		return err
	}
	if !ok {
		return ErrUnknown
	}
	return s.transaction(ctx, func(t *session) error { return f(t, site) })
}

// maxNote bounds a note, in bytes.
const maxNote = 4000

func cutNote(note string) string {
	note = strings.ReplaceAll(note, "\x00", "")
	return short.Bytes(note, maxNote)
}

// limited bounds the rows of a list, 50 by default.
func limited(limit int) int {
	if limit < 1 {
		limit = 50
	}
	return min(limit, 500)
}
