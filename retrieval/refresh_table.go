package retrieval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// pageTableFormat changes when what stands in the table changes its meaning.
const pageTableFormat = 1

// pageTable remembers what was read from each file, so that a file that
// didn't change is neither read nor parsed again, over restarts too. What
// was read stands in the index.
type pageTable struct {
	Format      int                  `json:"format"`
	Fingerprint string               `json:"fingerprint"`
	Files       map[string]pageEntry `json:"files"`

	// Vectors names the model whose vectors the last generation had, and
	// whether it had all of them.
	Vectors string `json:"vectors,omitempty"`

	path string
	// fresh: the index may hold documents made with other settings.
	fresh bool
}

// pageEntry is one file as it was read.
type pageEntry struct {
	Version string `json:"v,omitempty"`
	Tag     string `json:"t,omitempty"`
	// Content is the hash of the bytes, "" where they were not read.
	Content string `json:"c,omitempty"`
	// Hash is the document's; "": the file makes no document.
	Hash    string `json:"h,omitempty"`
	Problem string `json:"p,omitempty"`
}

// fits reports whether what the entry says of a document is what the index
// has. A file without a document always fits.
func (e pageEntry) fits(d *Document) bool {
	if e.Hash == "" || d == nil {
		return e.Hash == ""
	}
	own, _, _ := strings.Cut(d.Hash, HashSuffix)
	return own == e.Hash
}

func (e pageEntry) document(d *Document) *Document {
	if e.Hash == "" {
		return nil
	}
	return d
}

func (e pageEntry) problem(file string) *pageProblem {
	if e.Problem == "" {
		return nil
	}
	return &pageProblem{Problem: Problem{File: file, Reason: e.Problem}}
}

// openPageTable reads the table. It always returns one: an empty one if
// there is none, or none that can be read.
func openPageTable(path string) (*pageTable, error) {
	t := &pageTable{path: path}
	t.reset("")
	if path == "" {
		return t, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	var kept pageTable
	if err := json.Unmarshal(data, &kept); err != nil {
		return t, fmt.Errorf("reading %q: %w", path, err)
	}
	if kept.Format != pageTableFormat || kept.Files == nil {
		return t, nil
	}
	kept.path = path
	return &kept, nil
}

// reset forgets all, for documents made with other settings.
func (t *pageTable) reset(fingerprint string) {
	t.Format, t.Fingerprint = pageTableFormat, fingerprint
	t.Files, t.Vectors, t.fresh = map[string]pageEntry{}, "", true
}

func (t *pageTable) equal(files map[string]pageEntry) bool { return maps.Equal(t.Files, files) }

func (t *pageTable) save() error {
	if t.path == "" {
		return nil
	}
	return replaceFile(t.path, func(w *bufio.Writer) error { return json.NewEncoder(w).Encode(t) })
}

// replaceFile is ReplaceFile for what is written in many pieces.
func replaceFile(path string, write func(*bufio.Writer) error) error {
	return ReplaceFile(path, func(f *os.File) error {
		w := bufio.NewWriterSize(f, 1<<16)
		if err := write(w); err != nil {
			return err
		}
		return w.Flush()
	})
}

// ReplaceFile writes a file whole or not at all, for its owner alone, and makes
// the folders that it stands in. It does not wait for the disk: when the
// machine loses power the file may be lost.
func ReplaceFile(path string, write func(*os.File) error) (err error) {
	create := func() (*os.File, error) { return os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") }
	f, err := create()
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		f, err = create()
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return rename(f.Name(), path)
}
