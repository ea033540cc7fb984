package retrieval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
)

// tableName is the file of a pageTable in RefresherOptions.Dir.
const tableName = "pages.json"

// pageTableFormat changes with the meaning of a pageTable's fields.
const pageTableFormat = 2

// pageTable is what a Refresher keeps between runs, so that unchanged files
// are neither read nor parsed again. The documents themselves are in the
// index.
type pageTable struct {
	Format int `json:"format"`
	// Fingerprint is the Ingester's; with another one, all files are read.
	Fingerprint string               `json:"fingerprint"`
	Files       map[string]pageEntry `json:"files"`
	// Repeated is what the Ingester left out of the files' documents.
	Repeated Repeated `json:"repeated,omitempty"`
	// Origin is where the files are from.
	Origin string `json:"origin,omitempty"`
	// Vectors is the number of vectors of the current generation, Model the
	// model that made them.
	Vectors int    `json:"vectors,omitempty"`
	Model   string `json:"model,omitempty"`
}

// pageEntry is what is known about one file.
type pageEntry struct {
	Version string `json:"v,omitempty"`
	Tag     string `json:"t,omitempty"`
	// Content is the hash of the file's bytes.
	Content string `json:"c,omitempty"`
	// Hash is Document.Hash up to HashSuffix, "" if the file has no document.
	Hash    string `json:"h,omitempty"`
	Problem string `json:"p,omitempty"`
}

// describes reports whether d is the document of this entry. It is nil if the
// file has none.
func (e pageEntry) describes(d *Document) bool {
	if e.Hash == "" || d == nil {
		return e.Hash == ""
	}
	return d.OwnHash() == e.Hash
}

// loadPageTable reads the table at path. If there is none that fits the
// fingerprint, it returns an empty one without a Fingerprint, but with the
// Origin.
func loadPageTable(path, fingerprint string) (*pageTable, error) {
	empty := &pageTable{Format: pageTableFormat, Files: map[string]pageEntry{}}
	if path == "" {
		return empty, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, err
	}
	var t pageTable
	if err := json.Unmarshal(data, &t); err != nil {
		return empty, fmt.Errorf("reading %q: %w", path, err)
	}
	empty.Origin = t.Origin
	if t.Format != pageTableFormat || t.Fingerprint != fingerprint || t.Files == nil {
		return empty, nil
	}
	return &t, nil
}

// Origin returns that of the Refresher whose Dir is dir, "" if there is none or it
// is not known.
func Origin(dir string) string {
	t, err := loadPageTable(filepath.Join(dir, tableName), "")
	if err != nil {
		return ""
	}
	return t.Origin
}

func (t *pageTable) save(path string) error {
	return disk.WriteFile(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(t) })
}
