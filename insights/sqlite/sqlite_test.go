package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

var acme = insights.Scope{Organization: "acme", Site: "acme"}

func open(t *testing.T, file string) *insights.Store {
	t.Helper()
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func search(query string) []insights.Event {
	return []insights.Event{{At: time.Now(), Scope: acme, Search: &insights.Search{Query: query}}}
}

func searches(t *testing.T, s *insights.Store) int64 {
	t.Helper()
	o, err := s.Overview(t.Context(), acme, insights.LastDays(2, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return o.Searches
}

func TestTheFileIsReadableForItsOwnerAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "insights.db")
	s := open(t, file)
	if err := s.Append(t.Context(), "", search("install")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %s", name, info.Mode())
		}
	}
}

func TestABackupIsADatabase(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "insights.db"))
	if err := s.Append(t.Context(), "", search("install")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if n := searches(t, open(t, file)); n != 1 {
		t.Errorf("%d searches in the copy", n)
	}
	if err := s.Backup(t.Context(), file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
}

func TestAFileOfANewerReleaseIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "insights.db")
	_ = open(t, file).Close()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("update docs_schema set version = 1000"); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	if _, err := Open(t.Context(), file); !errors.Is(err, insights.ErrNewer) {
		t.Errorf("%v", err)
	}
}

func TestABrokenFileIsAnErrorAndStaysAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "insights.db")
	if err := os.WriteFile(file, []byte("this is no database, and long enough to be looked at"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), file); err == nil {
		t.Error("no error")
	}
	if data, _ := os.ReadFile(file); string(data[:4]) != "this" {
		t.Errorf("the file was changed: %q", data[:16])
	}
}

func TestARemovedFileIsNoticed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "insights.db")
	s := open(t, file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "", search("install")); err == nil {
		t.Error("a batch was written to a file that is gone")
	}
	if err := s.Check(t.Context()); err == nil {
		t.Error("the check found nothing")
	}
}

// A file doesn't grow while as much is deleted as comes, and shrinks when more
// is deleted.
func TestTheFileShrinksWhenEventsAreDeleted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "insights.db")
	s := open(t, file)
	db, err := sql.Open("sqlite", address(file, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	size := func() int64 {
		t.Helper()
		if _, err := db.Exec("pragma wal_checkpoint(truncate)"); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	now := time.Now()
	const days = 10
	// addDay stores the events of a day that lies so many days back.
	addDay := func(ago int) {
		t.Helper()
		var b []insights.Event
		for i := range 300 {
			b = append(b, insights.Event{At: now.AddDate(0, 0, -ago), Scope: acme, Reply: &insights.Reply{
				Thread: fmt.Sprint("t", ago, "-", i), Message: fmt.Sprint("m", ago, "-", i), Outcome: "answered", Answered: "no",
				Question: fmt.Sprintf("How do I configure rocket %d of day %d with a rather long question?", i, ago),
			}})
		}
		if err := s.Append(t.Context(), "", b); err != nil {
			t.Fatal(err)
		}
	}
	for ago := 2 * days; ago > days; ago-- {
		addDay(ago)
	}
	full := size()
	for ago := days; ago > 0; ago-- { // each day comes, and the oldest goes
		addDay(ago)
		if _, err := s.Prune(t.Context(), now.AddDate(0, 0, -ago), days*24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if steady := size(); steady > full*5/4 {
		t.Errorf("%d bytes have become %d", full, steady)
	}
	if _, err := s.Prune(t.Context(), now, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if small := size(); small > full/3 {
		t.Errorf("%d bytes are still %d after all but a day was deleted", full, small)
	} else {
		t.Logf("%d kB for %d days, %d kB for one", full/1000, days, small/1000)
	}
}
