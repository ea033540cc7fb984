package openapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

const (
	defaultInterval = time.Hour
	fileInterval    = 10 * time.Second
)

// Source is an API description as a source of pages: one for each operation.
type Source struct {
	// File is the file of the description, or its URL.
	File string
	// Below is the path of the site at which the description is shown, without
	// slashes around it.
	Below string
	// Renderer is one of Renderers. Default: what the page is recognized as.
	Renderer string
	// AllowPrivate allows fetching from private addresses.
	AllowPrivate bool
	// Interval is the time between two fetches. Default: 1 h.
	Interval time.Duration
	// Wants filters by path. Nil: everything.
	Wants func(path string) bool
	// Page returns the HTML at a path of the site, nil if it isn't known.
	Page func(path string) []byte
	// Watcher is shared with folders. Nil: one for this file.
	Watcher *source.Watcher

	mu    sync.Mutex
	etag  string
	data  []byte   // the last good description
	paths []string // where its page loads it from
}

func (s *Source) remote() bool { return strings.Contains(s.File, "://") }

// Watch looks at the file, or for the next fetch.
func (s *Source) Watch(ctx context.Context, changed func()) error {
	if !s.remote() {
		dir, name := filepath.Split(s.File)
		folder := &source.Folder{
			Root: cmp.Or(dir, "."), Flat: true, Interval: fileInterval, Watcher: s.Watcher,
			Wants: func(file string) bool { return file == name || strings.HasSuffix(file, ".html") }, // the page that shows it
		}
		return folder.Watch(ctx, changed)
	}
	return source.Poll(ctx, cmp.Or(s.Interval, defaultInterval), changed)
}

// Snapshot reads the description. One that can't be read whole is an error.
func (s *Source) Snapshot(ctx context.Context) (*retrieval.Snapshot, error) {
	data, etag, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("API description %s: %w", s.File, err)
	}
	d, err := Read(data)
	if err != nil {
		return nil, fmt.Errorf("API description %s: %w", s.File, err)
	}
	var page []byte
	if s.Page != nil {
		page = s.Page(s.Below)
	}
	s.mu.Lock()
	s.data, s.etag, s.paths = data, etag, s.loaded(page)
	s.mu.Unlock()
	r := rendererOf(page)
	if s.Renderer != "" && s.Renderer != r.name {
		r = renderer{name: s.Renderer}
	}
	texts := make(map[string][]byte, len(d.Operations))
	snap := &retrieval.Snapshot{Read: func(_ context.Context, file retrieval.File) (retrieval.Content, error) {
		text, ok := texts[file.Path]
		if !ok {
			return retrieval.Content{}, fs.ErrNotExist
		}
		return retrieval.Content{Data: text}, nil
	}}
	problem := func(reason string) {
		snap.Problems = append(snap.Problems, retrieval.Problem{File: s.File, Reason: reason, Since: time.Now()})
	}
	for _, p := range d.Problems {
		problem(p)
	}
	if len(d.Operations) == 0 {
		problem("describes no operations")
	}
	if page == nil && s.Renderer == "" {
		problem("the page that shows it, at /" + s.Below + ", isn't in a folder of the site, so links lead to the page, not to operations; write the renderer: renderer " + strings.Join(Renderers, "|"))
	}
	for _, op := range d.Operations {
		below, fragment := r.address(op)
		name := cmp.Or(s.Below, "index") + below + ".md"
		if fragment == "" && below == "" { // all operations are at the page
			fragment = cmp.Or(op.ID, strings.ToLower(op.Method)+"-"+slug(op.Path))
		}
		if fragment != "" {
			name += "#" + fragment
		}
		if texts[name] != nil || s.Wants != nil && !s.Wants(name) {
			continue
		}
		texts[name] = op.Markdown
		sum := sha256.Sum256(op.Markdown)
		snap.Files = append(snap.Files, retrieval.File{Path: name, Size: int64(len(op.Markdown)), Version: hex.EncodeToString(sum[:8])})
	}
	slices.SortFunc(snap.Files, func(a, b retrieval.File) int { return cmp.Compare(a.Path, b.Path) })
	return snap, nil
}

// read returns the description's bytes.
func (s *Source) read(ctx context.Context) (data []byte, etag string, err error) {
	if !s.remote() {
		f, err := os.OpenFile(s.File, os.O_RDONLY|source.Nonblock, 0)
		if err != nil {
			return nil, "", err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, "", cmp.Or(err, errors.New("is not a regular file"))
		}
		data, err = io.ReadAll(io.LimitReader(f, MaxSize+1))
		return data, "", err
	}
	s.mu.Lock()
	known, tag := s.data, s.etag
	s.mu.Unlock()
	data, etag, err = source.Fetch(ctx, s.File, tag, s.AllowPrivate, MaxSize)
	if errors.Is(err, retrieval.ErrUnchanged) {
		return known, etag, nil
	}
	return data, etag, err
}

// loadedURL is what pages load a description from: attributes of elements, and
// url: "..." in scripts.
var loadedURL = regexp.MustCompile(`(?:\b(?:spec-url|data-url|apiDescriptionUrl)|["']?\burl["']?)\s*[=:]\s*["']([^"']{1,500})["']`)

// loaded returns the paths that a page loads a description from.
func (s *Source) loaded(page []byte) (paths []string) {
	if u, err := url.Parse(s.File); s.remote() && err == nil {
		paths = append(paths, u.EscapedPath())
	}
	for _, at := range []string{"/" + s.Below, "/" + s.Below + "/"} {
		base := &url.URL{Path: at}
		for _, m := range loadedURL.FindAllSubmatch(page, 5) {
			if u, err := base.Parse(string(m[1])); err == nil && u.Host == "" && !slices.Contains(paths, u.Path) {
				paths = append(paths, u.Path)
			}
		}
	}
	return paths
}

// Served returns the last good description, nil before the first, and the paths
// at which readers' browsers may get it.
func (s *Source) Served() (paths []string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.paths), s.data
}
