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
)

// readers is how many queries run at a time.
const readers = 4

// Open opens or creates a file, and its folder.
func Open(ctx context.Context, file string) (*insights.Store, error) {
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
	s, err := insights.Open(ctx, write, read, insights.Dialect{
		Unindexed: "+",
		Types:     strings.NewReplacer("{id}", "integer primary key", "{int}", "integer", "{real}", "real", "{table}", "strict", "{keyed}", "strict, without rowid"),
		// SQLite would go on writing to a file that was removed; the error lets the
		// recorder open it again.
		Present: func() error {
			now, err := os.Stat(file)
			if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, opened) {
				return fmt.Errorf("%s: the file was removed or replaced while it was open: %w", file, insights.ErrLost)
			}
			return err
		},
		Shrink: func(ctx context.Context) error { return shrink(ctx, write) },
		Backup: func(ctx context.Context, to string) error { return backup(ctx, file, to) },
	})
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	return s, nil
}

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

// shrink gives free space beyond a tenth of the file back to the file system.
// New events use the rest.
func shrink(ctx context.Context, db *sql.DB) error {
	// freed is how many pages one transaction gives back, so that batches don't
	// wait for it.
	const freed = 1000
	for last := int64(math.MaxInt64); ; {
		var free, pages int64
		err := errors.Join(
			db.QueryRowContext(ctx, "pragma freelist_count").Scan(&free),
			db.QueryRowContext(ctx, "pragma page_count").Scan(&pages),
		)
		if err != nil || free <= pages/10 || free >= last { // another program may have changed the file's auto_vacuum
			return err
		}
		last = free
		if _, err := db.ExecContext(ctx, fmt.Sprintf("pragma incremental_vacuum(%d)", min(free-pages/10, freed))); err != nil {
			return err
		}
	}
}

// backup writes a copy to a file that must not exist.
func backup(ctx context.Context, from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_ = f.Close()
	db, err := sql.Open("sqlite", address(from, ""))
	if err != nil {
		return err
	}
	// Into an empty file, so that it has this file's rights from the beginning.
	_, err = db.ExecContext(ctx, "vacuum into ?", to)
	if err = errors.Join(err, db.Close()); err != nil {
		_ = os.Remove(to)
		return fmt.Errorf("writing %s: %w", to, err)
	}
	return nil
}
