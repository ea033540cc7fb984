package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// instances counts the process's instances of inotify.
func instances(t *testing.T) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("needs Linux")
	}
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

func until(t *testing.T, event string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("20s have passed before %s", event)
		}
	}
}

// Many folders share one instance, and each notices its own changes: also
// after folders moved from one to another, which keeps the system's watches
// under their old names.
func TestFoldersShareAWatcher(t *testing.T) {
	const n = 200
	parent := t.TempDir()
	before := instances(t)
	w := new(Watcher)
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	var changes [n]atomic.Int64
	for i := range n {
		root := filepath.Join(parent, fmt.Sprint(i))
		if err := os.MkdirAll(filepath.Join(root, "guide", "deep"), 0o755); err != nil {
			t.Fatal(err)
		}
		f := &Folder{Root: root, Watcher: w}
		wait.Go(func() { _ = f.Watch(ctx, func() { changes[i].Add(1) }) })
	}
	until(t, "all folders are watched", func() bool {
		for i := range changes {
			if changes[i].Load() == 0 {
				return false
			}
		}
		return true
	})
	if got := instances(t) - before; got > 1 {
		t.Errorf("%d folders use %d instances of inotify", n, got)
	}
	noticed := func(i int, what string, change func() error) {
		t.Helper()
		before := changes[i].Load()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		until(t, what, func() bool { return changes[i].Load() > before })
	}
	write := func(i int, name string) func() error {
		return func() error {
			return os.WriteFile(filepath.Join(parent, fmt.Sprint(i), name), []byte(fmt.Sprint(time.Now())), 0o600)
		}
	}
	other := changes[1].Load()
	noticed(0, "a page is noticed", write(0, "guide/deep/a.md"))
	if changes[1].Load() != other {
		t.Error("a folder notices the changes of another")
	}
	move := func(from, to string) func() error {
		return func() error { return os.Rename(filepath.Join(parent, from), filepath.Join(parent, to)) }
	}
	noticed(2, "a folder that came is noticed", move("0/guide", "2/moved"))
	time.Sleep(2 * lastPause) // the folder that lost it watches again
	noticed(2, "a page in a folder that came is noticed", write(2, "moved/deep/b.md"))
	noticed(2, "a renamed folder is noticed", move("2/moved", "2/again"))
	time.Sleep(2 * lastPause)
	noticed(2, "a page in a renamed folder is noticed", write(2, "again/deep/c.md"))
	noticed(3, "a root that is gone is noticed", move("3", "gone"))
	noticed(3, "a root that came back is noticed", func() error {
		if err := os.Mkdir(filepath.Join(parent, "3"), 0o755); err != nil {
			return err
		}
		return write(3, "d.md")()
	})
	cancel()
	wait.Wait()
	if got := instances(t) - before; got > 0 {
		t.Errorf("%d instances are left", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.paths)+len(w.all) > 0 {
		t.Errorf("%d paths and %d subscriptions are left", len(w.paths), len(w.all))
	}
}
