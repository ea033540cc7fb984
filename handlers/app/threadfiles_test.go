package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/certmagic"
)

// What threads are stored with is what certmagic reads, lists and deletes.
func TestThreadsFilesAreCertmagics(t *testing.T) {
	root := t.TempDir()
	files := &certmagic.FileStorage{Path: root}
	var at atomic.Pointer[store]
	at.Store(&store{files})
	s := threadStore{currentStore{&at}}
	ctx := context.Background()
	const key = "docs/threads/acme/20261122/thr_20261122x.json"

	for _, value := range []string{"one", "a longer one", "two", ""} {
		if err := s.Put(ctx, key, []byte(value)); err != nil {
			t.Fatal(err)
		}
		if got, err := files.Load(ctx, key); err != nil || string(got) != value {
			t.Fatalf("%q, %v; want %q", got, err, value)
		}
	}
	for name, mode := range map[string]fs.FileMode{files.Filename(key): 0o600, filepath.Dir(files.Filename(key)): fs.ModeDir | 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode() != mode {
			t.Errorf("%s has %v, want %v (%v)", name, info.Mode(), mode, err)
		}
	}
	if keys, err := s.List(ctx, "docs/threads"); err != nil || len(keys) != 3 { // acme, its day, the thread
		t.Errorf("listed: %q, %v", keys, err)
	}
	if err := s.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, key); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := s.Put(ctx, "docs/../certificates/x", nil); err == nil {
		t.Error("a key outside docs/ is taken")
	}
	if err := s.Put(ctx, "docs/threads/acme/20261122", nil); err == nil {
		t.Error("a folder was replaced")
	}
	if left, _ := os.ReadDir(filepath.Join(root, "docs/threads/acme")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
