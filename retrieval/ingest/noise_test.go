package ingest

import (
	"strings"
	"testing"
)

func TestListsAndTemplatesAreNoPages(t *testing.T) {
	in := mustNew(t, Options{})
	html := `<html><head><meta name="generator" content="Hugo 0.150"></head><body><main><h1>Posts</h1><p>A teaser.</p></main></body></html>`
	for file, found := range map[string]bool{
		"blog/page/2/index.html": false, "page/3.html": false, "tags/setup/index.html": false, "fr/tags.html": false,
		"docs/tags/setup.html": false, "blog/tags/setup/page/2/index.html": false, "categories/news/index.html": false,
		"blog/archive/index.html": false, "blog/archive/2026/11/index.html": false, "blog/authors/ada/index.html": false, "authors/ada/index.html": false,
		"docs/archive.html": true, "docs/guide/authors.html": true, "authors.html": true, "docs/tags/setup/more.html": true,
		"guide/page/index.html": true, "blog/2026/release.html": true,
	} {
		doc, _, err := in.Document(file, []byte(html))
		if err != nil || (doc != nil) != found {
			t.Errorf("%s: found is %v, %v", file, doc != nil, err)
		}
	}
	for file, wanted := range map[string]bool{"docs/_page.html": false, "_index.html": false, "_index.md": true, "docs/page_.html": true} {
		if in.Wants(file) != wanted {
			t.Errorf("Wants(%q) is %v", file, !wanted)
		}
	}
}
