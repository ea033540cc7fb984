// Package faq is a source for caddy-docs: a JSON file of questions and answers,
// as help desks export it, each of which becomes a page.
//
//	docs acme {
//		source faq /srv/faq.json below /faq
//	}
//
// Build Caddy with it: xcaddy build --with github.com/caddy-docs/caddy-docs
// --with example.com/faq.
package faq

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

func init() {
	caddy.RegisterModule(new(FAQ))
}

// FAQ is the module docs.source.faq.
type FAQ struct {
	// The file: a JSON array of {"id", "question", "answer"}. The answer is
	// Markdown.
	File string `json:"file"`

	// The path of the site that the answers are served below, like /faq.
	Below string `json:"below,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (*FAQ) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.source.faq", New: func() caddy.Module { return new(FAQ) }}
}

// UnmarshalCaddyfile reads `faq <file> [below <path>]`.
func (f *FAQ) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	for d.Next() {
		if !d.Args(&f.File) {
			return d.ArgErr()
		}
		if d.NextArg() && (d.Val() != "below" || !d.Args(&f.Below)) {
			return d.Errf("source faq takes a file and below <path>, not %s", d.Val())
		}
	}
	return nil
}

// Describe names the file.
func (f *FAQ) Describe() string { return f.File }

// OpenSource returns the file as a source.
func (f *FAQ) OpenSource(o options.SourceOptions) (retrieval.Source, error) {
	return &source{file: f.File, below: strings.Trim(f.Below, "/"), wants: o.Wants, interval: time.Second}, nil
}

// source is the file of one site.
type source struct {
	file, below string
	wants       func(path string) bool
	interval    time.Duration
}

// Snapshot reads the whole file: an error leaves the pages as they were.
func (s *source) Snapshot(context.Context) (*retrieval.Snapshot, error) {
	data, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	var entries []struct{ ID, Question, Answer string }
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("reading %s: %w", s.file, err)
	}
	texts := map[string]string{}
	snap := &retrieval.Snapshot{Read: func(_ context.Context, file retrieval.File) (retrieval.Content, error) {
		text, ok := texts[file.Path]
		if !ok {
			return retrieval.Content{}, fs.ErrNotExist
		}
		return retrieval.Content{Data: []byte(text)}, nil
	}}
	for _, e := range entries {
		path := strings.TrimPrefix(s.below+"/"+e.ID+".md", "/")
		if texts[path] != "" || e.ID == "" || strings.ContainsAny(e.ID, "/#?") {
			snap.Problems = append(snap.Problems, retrieval.Problem{File: path, Reason: fmt.Sprintf("the id %q must be a name, each once", e.ID)})
			continue
		}
		if !s.wants(path) {
			continue
		}
		texts[path] = "# " + e.Question + "\n\n" + e.Answer + "\n"
		sum := sha256.Sum256([]byte(texts[path]))
		snap.Files = append(snap.Files, retrieval.File{Path: path, Size: int64(len(texts[path])), Version: hex.EncodeToString(sum[:8])})
	}
	slices.SortFunc(snap.Files, func(a, b retrieval.File) int { return cmp.Compare(a.Path, b.Path) })
	return snap, nil
}

// Watch looks at the file every second.
func (s *source) Watch(ctx context.Context, changed func()) error {
	last := ""
	for {
		now := "missing"
		if info, err := os.Stat(s.file); err == nil {
			now = fmt.Sprint(info.Size(), info.ModTime())
		}
		if now != last {
			last = now
			changed()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(s.interval):
		}
	}
}

// Interface guards
var (
	_ options.SourceOpener  = (*FAQ)(nil)
	_ caddyfile.Unmarshaler = (*FAQ)(nil)
)
