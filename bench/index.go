package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// section is what each engine indexes.
type section struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
	URL     string `json:"url"`
}

// indexed is the output of a child that made an index.
type indexed struct {
	Sections int
	Read     time.Duration // reading and ingesting the files
	Index    time.Duration
	Disk     int64
	Found    int
}

// readSite ingests a folder of pages.
func readSite(root string) ([]*retrieval.Document, error) {
	in := ingest.New(ingest.Options{})
	var docs []*retrieval.Document
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if !in.Wants(name) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		doc, _, err := in.Document(name, data)
		if err != nil || doc == nil {
			return nil // the module leaves it out, too
		}
		docs = append(docs, doc)
		return nil
	})
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	kept := docs[:0]
	for _, d := range in.Complete(docs) {
		if !seen[d.Page] {
			seen[d.Page] = true
			kept = append(kept, d)
		}
	}
	return kept, nil
}

func sectionsOf(docs []*retrieval.Document) (out []section) {
	for _, d := range docs {
		for i, s := range d.Sections {
			out = append(out, section{
				ID: strconv.Itoa(len(out)), Title: d.Title, Text: s.Text, URL: d.URL + "#" + strconv.Itoa(i),
				Heading: strings.Join(append(append([]string{}, s.Path...), s.Heading), " "),
			})
		}
	}
	return out
}

// indexChild makes one index of a site and prints its costs.
//
//	embedded|bleve ROOT FOLDER
func indexChild(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: index embedded|bleve ROOT FOLDER")
	}
	engine, root, dir := args[0], args[1], args[2]
	out := indexed{}
	begin := time.Now()
	docs, err := readSite(root)
	if err != nil {
		return err
	}
	out.Read = time.Since(begin)
	sections := sectionsOf(docs)
	out.Sections = len(sections)
	runtime.GC()
	begin = time.Now()
	switch engine {
	case "embedded":
		out.Found, err = indexEmbedded(docs, dir)
	case "bleve":
		out.Found, err = indexBleve(sections, dir)
	default:
		err = fmt.Errorf("no such engine: %s", engine)
	}
	if err != nil {
		return err
	}
	out.Index = time.Since(begin)
	out.Disk = size(dir)
	return json.NewEncoder(os.Stdout).Encode(out)
}

func indexEmbedded(docs []*retrieval.Document, dir string) (int, error) {
	x, err := embedded.Open(embedded.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	if err := x.Replace(ctx, docs, nil); err != nil {
		return 0, err
	}
	if err := x.Close(); err != nil { // waits until it is on disk, as bleve does
		return 0, err
	}
	hits, err := x.Search(ctx, retrieval.Query{Text: "server configuration", Limit: 10})
	return len(hits), err
}

// indexBleve makes bleve's index with its fastest method, the offline builder,
// without stored texts and positions.
func indexBleve(sections []section, dir string) (int, error) {
	field := func() *mapping.FieldMapping {
		f := bleve.NewTextFieldMapping()
		f.Analyzer = en.AnalyzerName
		f.Store, f.IncludeTermVectors, f.IncludeInAll, f.DocValues = false, false, false, false
		return f
	}
	m := bleve.NewIndexMapping()
	d := bleve.NewDocumentStaticMapping()
	for _, name := range []string{"title", "heading", "text"} {
		d.AddFieldMappingsAt(name, field())
	}
	m.DefaultMapping = d
	path := filepath.Join(dir, "bleve")
	tmp := filepath.Join(dir, "prefix")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return 0, err
	}
	builder, err := bleve.NewBuilder(path, m, map[string]any{"buildPathPrefix": tmp, "batchSize": 1000})
	if err != nil {
		return 0, err
	}
	for _, s := range sections {
		if err := builder.Index(s.ID, map[string]any{"title": s.Title, "heading": s.Heading, "text": s.Text}); err != nil {
			return 0, err
		}
	}
	if err := builder.Close(); err != nil {
		return 0, err
	}
	index, err := bleve.Open(path)
	if err != nil {
		return 0, err
	}
	q := bleve.NewMatchQuery("server configuration")
	q.SetField("text")
	res, err := index.Search(bleve.NewSearchRequest(q))
	if err != nil {
		return 0, err
	}
	return len(res.Hits), nil
}

// size returns the size of a directory in bytes.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
