package site

import (
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

// maxWritten bounds the Markdown that a site keeps in memory, in bytes.
const maxWritten = 16 << 20

// markdownPages gives the pages of a site as Markdown: those of a folder from
// the file as it is now, those of a sitemap as they were fetched last.
type markdownPages struct {
	ingester *ingest.Ingester
	folder   *source.Folder // nil for a sitemap
	fetched  *fetchedPages  // nil for a folder

	mu            sync.Mutex
	recent, older map[string][]byte
	size          int // of recent
}

// Markdown returns a page of the site as Markdown. base is the site's URL
// where the configuration has none. The error is fs.ErrNotExist or
// ingest.ErrNoPage for a page that is gone.
func (p *markdownPages) Markdown(_ context.Context, d *retrieval.Document, base string, keep bool) ([]byte, error) {
	key := d.Hash + "\n" + d.URL + "\n" + base
	if md := p.kept(key); md != nil {
		return md, nil
	}
	var md []byte
	if p.folder == nil {
		var err error
		if md, err = p.fetched.read(d); err != nil {
			return nil, err
		}
	} else {
		data, err := p.folder.ReadPage(d.File)
		if err != nil {
			return nil, err
		}
		if md, err = p.ingester.Markdown(d, data, base); err != nil {
			return nil, err
		}
	}
	if keep {
		p.keep(key, md)
	}
	return md, nil
}

func (p *markdownPages) kept(key string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	md := p.recent[key]
	if md == nil {
		md = p.older[key]
	}
	return md
}

// keep keeps a page. Once half of maxWritten is full, the pages before it are
// forgotten that were not asked for since.
func (p *markdownPages) keep(key string, md []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size += len(md); p.recent == nil || p.size > maxWritten/2 {
		p.recent, p.older, p.size = map[string][]byte{}, p.recent, len(md)
	}
	p.recent[key] = md
}

// fetchedPages are the pages of a sitemap as Markdown, on disk: to fetch a page
// again for each reader would load the site.
type fetchedPages struct {
	*ingest.Ingester
	dir string
	log *slog.Logger
}

// Document implements retrieval.Ingester: it keeps the page as Markdown, too.
func (p *fetchedPages) Document(file string, data []byte) (*retrieval.Document, []string, error) {
	d, warnings, err := p.Ingester.Document(file, data)
	if d == nil || err != nil {
		return d, warnings, err
	}
	if err := p.write(d, data); err != nil {
		p.log.Warn("a page can't be kept as Markdown", "page", file, "error", err)
	}
	return d, warnings, nil
}

// Fingerprint implements retrieval.Ingester.
func (p *fetchedPages) Fingerprint() string { return p.Ingester.Fingerprint() + "-markdown" }

// name is the file of a document.
func (p *fetchedPages) name(d *retrieval.Document) string {
	hash, _, _ := strings.Cut(d.Hash, retrieval.HashSuffix)
	sum := sha256.Sum256([]byte(hash))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:16])+".md.gz")
}

func (p *fetchedPages) write(d *retrieval.Document, data []byte) error {
	md, err := p.Markdown(d, data, "")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(p.dir, "page-*.tmp")
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	_, err = z.Write(md)
	err = errors.Join(err, z.Close(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.name(d))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (p *fetchedPages) read(d *retrieval.Document) ([]byte, error) {
	f, err := os.Open(p.name(d))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	return io.ReadAll(z)
}

// clean removes the files of pages that are gone.
func (p *fetchedPages) clean(documents []*retrieval.Document) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	here := make(map[string]bool, len(documents))
	for _, d := range documents {
		here[filepath.Base(p.name(d))] = true
	}
	for _, e := range entries {
		if !here[e.Name()] {
			_ = os.Remove(filepath.Join(p.dir, e.Name()))
		}
	}
}
