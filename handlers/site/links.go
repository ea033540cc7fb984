package site

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
)

// Links returns the last report of the site's links, nil before the first.
func (r *Site) Links() *links.Report {
	r.links.mu.Lock()
	defer r.links.mu.Unlock()
	return r.links.report
}

// CheckLinks checks the links of the pages as they are now, unless they were
// checked already and again is false.
func (r *Site) CheckLinks(ctx context.Context, again bool) (*links.Report, error) {
	if r.Members != nil {
		return nil, errors.New("the links of a group are those of its sites; name one of the sites")
	}
	l := &r.links
	if err := l.checking.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer l.checking.Release(1)
	pages := r.Index.Documents()
	if report := r.Links(); report != nil && !again && reach.SameDocuments(pages, l.pages) {
		return report, nil
	}
	report, err := links.Check(ctx, r.linked(ctx, pages))
	ReturnMemory(r.Index.Refresher.Status().Sections) // all pages were read
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report, l.pages = report, pages
	return report, nil
}

func (r *Site) linked(ctx context.Context, pages []*retrieval.Document) links.Site {
	view, ask := r.Reach.View(), r.Reach.Asker(ctx, false)
	return links.Site{
		Pages: pages, Whole: r.Index.Page, Resolve: r.Index.markdown.sources[""].ingester.Link, // all have the same URLs
		File: func(d *retrieval.Document) ([]byte, error) {
			if s := r.Index.markdown.sources[d.Source]; s != nil && s.fetched != nil {
				return s.fetched.read(d)
			}
			file, _, err := r.Index.ReadPage(d)
			return file, err
		},
		URL: func(d *retrieval.Document) string { return view.Document(d).URL },
		Ask: func(ctx context.Context, path string, use func(bool, []byte)) links.Answer {
			if strings.HasPrefix(path, "/v1/") { // what this module serves, it serves to no request inside the process
				return links.Present
			}
			// A generator makes the page of such a file, also where the index has none.
			hasFile := func(end string) bool { return r.HasFile(strings.TrimSuffix(path, "/") + end) }
			if use == nil && slices.ContainsFunc([]string{"", ".md", ".mdx", "/index.md", "/index.mdx", "/_index.md", "/README.md"}, hasFile) {
				return links.Present
			}
			return ask(ctx, path, use)
		},
	}
}

// LinksSoon checks the links of new pages. An error is that of a site that is
// being closed, or of an index that does not answer: the next pages are checked
// again.
func (r *Site) LinksSoon(ctx context.Context) {
	if _, err := r.CheckLinks(ctx, false); err != nil && !errors.Is(err, context.Canceled) {
		r.Slog.Warn("links could not be checked", "site", r.Name, "error", err)
	}
}
