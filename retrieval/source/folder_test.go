package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func write(t testing.TB, dir, file, text string) {
	t.Helper()
	name := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no links here: %v", err)
	}
}

func isPage(file string) bool {
	return slices.Contains([]string{".md", ".html"}, filepath.Ext(file)) && !strings.HasPrefix(file, "private/")
}

func snapshot(t testing.TB, f *Folder) *retrieval.Snapshot {
	t.Helper()
	s, err := f.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func paths(s *retrieval.Snapshot) []string {
	var list []string
	for _, f := range s.Files {
		list = append(list, f.Path)
	}
	return list
}

func TestSnapshotOfAFolder(t *testing.T) {
	tests := []struct {
		name  string
		build func(t *testing.T, dir string)
		want  []string
		// problems are "file: part of the reason".
		problems []string
	}{
		{
			name: "pages of all folders are listed by path, other files are not",
			build: func(t *testing.T, dir string) {
				for _, f := range []string{"index.html", "guide/a.md", "guide/deep/b.md", "logo.png"} {
					write(t, dir, f, "x")
				}
			},
			want: []string{"guide/a.md", "guide/deep/b.md", "index.html"},
		},
		{
			name: "dot files, dot folders and node_modules are skipped",
			build: func(t *testing.T, dir string) {
				for _, f := range []string{".git/a.md", ".hidden.md", "node_modules/b/c.md", "a.md"} {
					write(t, dir, f, "x")
				}
			},
			want: []string{"a.md"},
		},
		{
			name: "links out of the root are not followed and named",
			build: func(t *testing.T, dir string) {
				outside := t.TempDir()
				write(t, outside, "secret.md", "x")
				link(t, filepath.Join(outside, "secret.md"), filepath.Join(dir, "a.md"))
				link(t, outside, filepath.Join(dir, "folder"))
				link(t, "../../../../../../etc/hostname", filepath.Join(dir, "b.md"))
				write(t, dir, "c.md", "x")
			},
			want:     []string{"c.md"},
			problems: []string{"a.md: leaves the folder", "b.md: leaves the folder"},
		},
		{
			name: "links within the root are followed",
			build: func(t *testing.T, dir string) {
				write(t, dir, ".data/a.md", "x")
				link(t, ".data/a.md", filepath.Join(dir, "a.md"))
				link(t, ".data", filepath.Join(dir, "folder"))
			},
			want: []string{"a.md"},
		},
		{
			name: "a page that a link also leads to has its real name",
			build: func(t *testing.T, dir string) {
				write(t, dir, "v2/a.md", "x")
				write(t, dir, "v2/b.md", "x")
				link(t, "v2", filepath.Join(dir, "latest"))
				link(t, "v2/b.md", filepath.Join(dir, "b.md"))
			},
			want: []string{"v2/a.md", "v2/b.md"},
		},
		{
			name: "links do not make excluded files pages",
			build: func(t *testing.T, dir string) {
				write(t, dir, "private/a.md", "x")
				write(t, dir, "settings.txt", "x")
				link(t, "private", filepath.Join(dir, "public"))
				link(t, "private/a.md", filepath.Join(dir, "a.md"))
				link(t, "settings.txt", filepath.Join(dir, "settings.md"))
				write(t, dir, "b.md", "x")
			},
			want: []string{"b.md"},
		},
		{
			name: "loops of links end",
			build: func(t *testing.T, dir string) {
				write(t, dir, "a/x.md", "x")
				write(t, dir, "b/y.md", "x")
				link(t, "..", filepath.Join(dir, "a/up"))
				link(t, ".", filepath.Join(dir, "a/self"))
				link(t, "../b", filepath.Join(dir, "a/b"))
				link(t, "../a", filepath.Join(dir, "b/a"))
				link(t, "circle.md", filepath.Join(dir, "circle.md"))
			},
			want:     []string{"a/x.md", "b/y.md"},
			problems: []string{"circle.md: circular"},
		},
		{
			name: "a link to nothing is no page",
			build: func(t *testing.T, dir string) {
				link(t, "gone.md", filepath.Join(dir, "a.md"))
			},
		},
		{
			name: "pipes are not opened",
			build: func(t *testing.T, dir string) {
				if err := MakePipe(filepath.Join(dir, "pipe.md")); err != nil {
					t.Skip(err)
				}
				link(t, "pipe.md", filepath.Join(dir, "link.md"))
				write(t, dir, "a.md", "x")
			},
			want: []string{"a.md"},
		},
		{
			name: "a name that is not UTF-8 is a problem",
			build: func(t *testing.T, dir string) {
				if err := os.WriteFile(filepath.Join(dir, "caf\xe9.md"), nil, 0o644); err != nil {
					t.Skip(err)
				}
			},
			problems: []string{"caf\uFFFD.md: not UTF-8"},
		},
		{
			name: "a folder that may not be read is a problem and the rest goes on",
			build: func(t *testing.T, dir string) {
				if os.Getuid() == 0 {
					t.Skip("root may read everything")
				}
				write(t, dir, "closed/a.md", "x")
				write(t, dir, "b.md", "x")
				if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.Chmod(filepath.Join(dir, "closed"), 0o755) })
			},
			want:     []string{"b.md"},
			problems: []string{"closed: permission denied"},
		},
		{
			name: "folders nested without end are a problem",
			build: func(t *testing.T, dir string) {
				write(t, dir, strings.Repeat("d/", maxDepth+1)+"a.md", "x")
				write(t, dir, "b.md", "x")
			},
			want:     []string{"b.md"},
			problems: []string{"d/d/d"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			test.build(t, dir)
			s := snapshot(t, &Folder{Root: dir, Wants: isPage})
			if got := paths(s); !slices.Equal(got, test.want) {
				t.Errorf("files %q, want %q", got, test.want)
			}
			if len(s.Problems) != len(test.problems) {
				t.Fatalf("problems %+v, want %q", s.Problems, test.problems)
			}
			for i, p := range s.Problems {
				file, reason, _ := strings.Cut(test.problems[i], ": ")
				if !strings.HasPrefix(p.File, file) || !strings.Contains(p.Reason, reason) {
					t.Errorf("problem %+v, want %q", p, test.problems[i])
				}
			}
		})
	}
}

func TestReadingAPage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.md", strings.Repeat("0123456789", 10_000))
	write(t, dir, "large.md", strings.Repeat("x", retrieval.MaxPage+1))
	write(t, dir, "gone.md", "x")
	write(t, dir, "grown.md", "x")
	write(t, dir, "pipe.md", "x")
	f := &Folder{Root: dir}
	s := snapshot(t, f)
	file := map[string]retrieval.File{}
	for _, f := range s.Files {
		file[f.Path] = f
	}
	if err := os.Remove(filepath.Join(dir, "gone.md")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "grown.md", strings.Repeat("x", retrieval.MaxPage+1))
	os.Remove(filepath.Join(dir, "pipe.md"))
	if err := MakePipe(filepath.Join(dir, "pipe.md")); err != nil {
		t.Skip(err)
	}

	if data, err := s.Read(t.Context(), file["a.md"]); err != nil || len(data.Data) != 100_000 {
		t.Errorf("a.md: %d bytes, %v", len(data.Data), err)
	}
	for name, want := range map[string]string{
		"large.md": "is larger than", "grown.md": "is larger than", "pipe.md": "not a regular file",
	} {
		if _, err := s.Read(t.Context(), file[name]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := s.Read(t.Context(), file["gone.md"]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone.md: %v", err)
	}
}

func TestASnapshotStaysWithItsReleaseWhenTheLinkIsSwapped(t *testing.T) {
	base := t.TempDir()
	write(t, base, "releases/1/a.md", "one")
	write(t, base, "releases/2/a.md", "two")
	link(t, "releases/1", filepath.Join(base, "docs"))
	f := &Folder{Root: filepath.Join(base, "docs")}
	s := snapshot(t, f)
	if !s.Current() {
		t.Fatal("not current before the swap")
	}
	link(t, "releases/2", filepath.Join(base, "docs.new"))
	if err := os.Rename(filepath.Join(base, "docs.new"), filepath.Join(base, "docs")); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Read(t.Context(), s.Files[0]); err != nil || string(data.Data) != "one" {
		t.Errorf("read %q, %v", data.Data, err)
	}
	if s.Current() {
		t.Error("still current after the swap")
	}
	next := snapshot(t, f)
	if data, _ := next.Read(t.Context(), next.Files[0]); string(data.Data) != "two" || !next.Current() {
		t.Errorf("next snapshot reads %q", data.Data)
	}
}

func TestVersionsOfFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "young.md", "x")
	write(t, dir, "old.md", "x")
	old := time.Now().Add(-time.Hour)
	set := func() {
		t.Helper()
		if err := os.Chtimes(filepath.Join(dir, "old.md"), old, old); err != nil {
			t.Fatal(err)
		}
	}
	set()
	versions := func() map[string]string {
		m := map[string]string{}
		for _, f := range snapshot(t, &Folder{Root: dir}).Files {
			m[f.Path] = f.Version
		}
		return m
	}
	first := versions()
	if first["young.md"] != "" {
		t.Error("a file written just now has a version, though a second write might not change it")
	}
	if first["old.md"] == "" || versions()["old.md"] != first["old.md"] {
		t.Error("a file that rests has no version, or another one each time")
	}
	// As rsync -t and reproducible builds do: another content, same size
	// and time.
	if runtime.GOOS != "linux" {
		t.Skip("only size and time are known here")
	}
	write(t, dir, "new.md", "y")
	if err := os.Rename(filepath.Join(dir, "new.md"), filepath.Join(dir, "old.md")); err != nil {
		t.Fatal(err)
	}
	set()
	if versions()["old.md"] == first["old.md"] {
		t.Error("another file with the same size and time has the same version")
	}
}

func TestAMissingFolderIsAnError(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "file", "x")
	if _, err := (&Folder{Root: filepath.Join(dir, "none")}).Snapshot(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := (&Folder{Root: filepath.Join(dir, "file")}).Snapshot(t.Context()); err == nil {
		t.Error("a file passes as a folder")
	}
}

// watching runs Watch, for at most 30 s, and returns a channel that holds an
// element after a change.
func watching(t *testing.T, f *Folder) (ctx context.Context, changes chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	changes = make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- f.Watch(ctx, func() {
			select {
			case changes <- struct{}{}:
			default:
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("watching ended with %v", err)
		}
	})
	return ctx, changes
}

// watched runs Watch and returns a function that waits for the next call of
// changed that comes after what it does.
func watched(t *testing.T, f *Folder) (after func(do func())) {
	t.Helper()
	ctx, changes := watching(t, f)
	next := func() {
		t.Helper()
		select {
		case <-changes:
		case <-ctx.Done():
			t.Fatal("the change went unnoticed")
		}
	}
	next() // the watches are set
	return func(do func()) {
		t.Helper()
		for len(changes) > 0 {
			<-changes
		}
		do()
		next()
	}
}

func TestWatchingAFolder(t *testing.T) {
	base := t.TempDir()
	write(t, base, "releases/1/guide/a.md", "x")
	write(t, base, "releases/2/guide/a.md", "x")
	link(t, "releases/1", filepath.Join(base, "docs"))
	root := filepath.Join(base, "docs")
	after := watched(t, &Folder{Root: root, Wants: isPage, Interval: time.Hour})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	after(func() { write(t, root, "guide/a.md", "y") })
	after(func() { write(t, root, "new/b.md", "y") })
	after(func() { must(os.Rename(filepath.Join(root, "new"), filepath.Join(root, "newer"))) })
	after(func() { must(os.RemoveAll(filepath.Join(root, "newer"))) })
	after(func() {
		link(t, "releases/2", filepath.Join(base, "docs.new"))
		must(os.Rename(filepath.Join(base, "docs.new"), root))
	})
	for i := range 3 { // the new release is watched, in time
		after(func() { write(t, root, fmt.Sprintf("guide/new%d.md", i), "z") })
	}
	after(func() { must(os.Remove(root)) })
	after(func() { link(t, "releases/1", root) })
	after(func() { write(t, root, "guide/c.md", "y") })
	after(func() { must(os.Rename(filepath.Join(base, "releases/1"), filepath.Join(base, "releases/0"))) })
	after(func() { must(os.Rename(filepath.Join(base, "releases/0"), filepath.Join(base, "releases/1"))) })
}

func BenchmarkSnapshotOf100000Files(b *testing.B) {
	dir := b.TempDir()
	for i := range 100_000 {
		if i%200 == 0 {
			if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("a/d%d", i/200)), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("a/d%d/p%d.md", i/200, i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	f := &Folder{Root: dir, Wants: isPage}
	b.ReportAllocs()
	for b.Loop() {
		s, err := f.Snapshot(b.Context())
		if err != nil || len(s.Files) != 100_000 {
			b.Fatal(len(s.Files), err)
		}
		s.Close()
	}
}
