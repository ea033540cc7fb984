package site

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/disk"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/openapi"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
	"github.com/caddy-docs/caddy-docs/store"
)

// maxWritten bounds the Markdown that a site keeps in memory, in bytes.
const maxWritten = 16 << 20

// markdownPages gives the pages of a site as Markdown: those of a folder from
// their files, if those have not changed since they were read, those of other
// sources as they were read last.
type markdownPages struct {
	sources map[string]*markdownSource // by Document.Source
	names   []string                   // of sources, in order
	written *store.Recent[[]byte]
	all     sync.Mutex // converts for one reader of all pages at a time: others keep a processor
}

type markdownSource struct {
	ingester *ingest.Ingester
	folder   *source.Folder // nil for other sources
	fetched  *fetchedPages  // nil for a folder
	api      *openapi.Source
}

// add adds a source, and returns the ingester for it.
func (p *markdownPages) add(name string, in *ingest.Ingester, src retrieval.Source, dir string, log *slog.Logger) retrieval.Ingester {
	s := &markdownSource{ingester: in}
	p.sources[name], p.names = s, append(p.names, name)
	if folder, ok := src.(*source.Folder); ok {
		s.folder = folder
		return in
	}
	s.api, _ = src.(*openapi.Source)
	s.fetched = &fetchedPages{Ingester: in, dir: dir, log: log}
	return s.fetched
}

// pageOf returns the HTML of the page at a path, from the site's folders, nil if
// none has it.
func (p *markdownPages) pageOf(page string) []byte {
	for _, name := range p.names {
		s := p.sources[name]
		for _, file := range []string{page + ".html", strings.TrimPrefix(page+"/index.html", "/")} {
			if s.folder != nil && s.folder.Serves(file) {
				if data, err := s.folder.ReadPage(file); err == nil {
					return data
				}
			}
		}
	}
	return nil
}

// Markdown returns a page as Markdown. base is the site's URL where the
// configuration has none; keep is false for a reader of all pages, which are not
// kept in memory. The error is fs.ErrNotExist for a page that is gone.
func (c *Index) Markdown(d *retrieval.Document, base string, keep bool) ([]byte, error) {
	read := c.markdown.read
	if c.group != nil {
		read = c.group.markdown
	}
	md, err := read(d, base, keep)
	if errors.Is(err, ingest.ErrNoPage) {
		err = fs.ErrNotExist
	}
	return md, err
}

func (p *markdownPages) read(d *retrieval.Document, base string, keep bool) ([]byte, error) {
	key := d.Hash + "\n" + d.URL + "\n" + base
	if md, ok := p.written.Get(key); ok {
		return md, nil
	}
	s := p.sources[d.Source]
	if s == nil {
		return nil, fs.ErrNotExist
	}
	var md []byte
	if s.folder == nil {
		var err error
		if md, err = s.fetched.read(d); err != nil {
			return nil, err
		}
	} else {
		data, err := s.folder.ReadPage(d.File)
		if err != nil {
			return nil, err
		}
		if !s.ingester.Made(d, data) { // whether the new text may be read is not known yet
			return nil, fs.ErrNotExist
		}
		if !keep {
			p.all.Lock()
			defer p.all.Unlock()
		}
		if md, err = s.ingester.Markdown(d, data, base); err != nil {
			return nil, err
		}
	}
	if keep {
		p.written.Put(key, md, len(md))
	}
	return md, nil
}

// fetchedPages are the pages of a source as Markdown, on disk: to fetch a page
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

func (p *fetchedPages) Fingerprint() string { return p.Ingester.Fingerprint() + "-markdown" }

// name is the file of a document.
func (p *fetchedPages) name(d *retrieval.Document) string {
	sum := sha256.Sum256([]byte(d.OwnHash()))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:16])+".md.gz")
}

func (p *fetchedPages) write(d *retrieval.Document, data []byte) error {
	md, err := p.Markdown(d, data, "")
	if err != nil {
		return err
	}
	return disk.WriteFile(p.name(d), func(w io.Writer) error {
		z := gzip.NewWriter(w)
		_, err := z.Write(md)
		return errors.Join(err, z.Close())
	})
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
