// Package sqlite keeps insights in one SQLite file, for one Caddy. The file
// must be on a disk of the machine: SQLite's locks don't work over network
// file systems.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	driver "modernc.org/sqlite" // named "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/database"
)

// readers is how many queries run at a time.
const readers = 4

// Store is a database in a file.
type Store struct {
	*database.Store
	write  *sql.DB
	file   string
	opened fs.FileInfo
}

var dialect = database.Dialect{
	Unindexed: "+",
	Types:     strings.NewReplacer("{id}", "integer primary key", "{int}", "integer", "{real}", "real", "{table}", "strict", "{keyed}", "strict, without rowid"),
}

// Open opens or creates a file, and its folder.
func Open(ctx context.Context, file string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	// Readable for this user alone; SQLite gives the files next to it the same
	// rights.
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	_ = f.Close()
	if err != nil {
		return nil, err
	}
	if err := setUp(ctx, file); err != nil {
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	// Erased texts are overwritten, too.
	write, err := sql.Open("sqlite", address(file, "_txlock=immediate&_pragma=secure_delete(1)"))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1) // SQLite has one writer; more would meet SQLITE_BUSY
	read, err := sql.Open("sqlite", address(file, "_pragma=query_only(1)"))
	if err != nil {
		_ = write.Close()
		return nil, err
	}
	read.SetMaxOpenConns(readers)
	s, err := database.Open(ctx, write, read, dialect)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	return &Store{s, write, file, opened}, nil
}

// Schema is the number of the schema that Open gives a file.
func Schema() int { return database.Schema() }

// setUp changes a new file to WAL. Where two processes do so at the same time,
// SQLite fails at once, whatever the busy_timeout is.
func setUp(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", address(file, "_pragma=auto_vacuum(2)"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for deadline := time.Now().Add(lockTimeout); ; {
		_, err = db.ExecContext(ctx, "pragma journal_mode = wal")
		if e, ok := errors.AsType[*driver.Error](err); !ok || e.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lockTimeout is how long a process waits for another one's lock. It stays
// below what a stop of Caddy waits.
const lockTimeout = 3 * time.Second

// address is the file's name with the settings of each connection.
func address(file, settings string) string {
	return "file:" + (&url.URL{Path: file}).EscapedPath() +
		"?_pragma=busy_timeout(" + strconv.FormatInt(lockTimeout.Milliseconds(), 10) + ")&_pragma=synchronous(NORMAL)&_pragma=temp_store(2)&_pragma=cache_size(-16000)&" + settings
}

var errReplaced = fmt.Errorf("the file was removed or replaced while it was open: %w", insights.ErrLost)

// Append stores a batch. SQLite would go on writing to a file that was
// removed; the error lets the recorder open it again.
func (s *Store) Append(ctx context.Context, b insights.Batch) error {
	if err := s.present(); err != nil {
		return err
	}
	return s.Store.Append(ctx, b)
}

// Check returns an error if the file can't be written to.
func (s *Store) Check(ctx context.Context) error {
	if err := s.present(); err != nil {
		return err
	}
	return s.Store.Check(ctx)
}

func (s *Store) present() error {
	now, err := os.Stat(s.file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, s.opened) {
		return fmt.Errorf("%s: %w", s.file, errReplaced)
	}
	return err
}

// Prune deletes what is older than its retention, and gives free space beyond a
// tenth of the file back to the file system. New events use the rest.
func (s *Store) Prune(ctx context.Context, now time.Time, retention time.Duration) (int64, error) {
	deleted, err := s.Store.Prune(ctx, now, retention)
	for last := int64(math.MaxInt64); err == nil; {
		var free, pages int64
		err = errors.Join(
			s.write.QueryRowContext(ctx, "pragma freelist_count").Scan(&free),
			s.write.QueryRowContext(ctx, "pragma page_count").Scan(&pages),
		)
		if err != nil || free <= pages/10 || free >= last { // another program may have changed the file's auto_vacuum
			break
		}
		last = free
		_, err = s.write.ExecContext(ctx, fmt.Sprintf("pragma incremental_vacuum(%d)", min(free-pages/10, freed)))
	}
	return deleted, err
}

// freed is how many pages one transaction gives back, so that batches don't
// wait for it.
const freed = 1000

// Backup writes a copy to a file that must not exist.
func (s *Store) Backup(ctx context.Context, file string) error {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("%s: %w", file, fs.ErrExist)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_ = f.Close()
	db, err := sql.Open("sqlite", address(s.file, ""))
	if err != nil {
		return err
	}
	// Into an empty file, so that it has this file's rights from the beginning.
	_, err = db.ExecContext(ctx, "vacuum into ?", file)
	if err = errors.Join(err, db.Close()); err != nil {
		_ = os.Remove(file)
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}
