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

func TestNotesAboutThePageAreLeftOut(t *testing.T) {
	for _, note := range []string{
		"Last updated on <time>Nov 22, 2026</time> <a href=/e>Improve this page</a>", "<a href=/e>Edit this page on GitHub</a>",
		"Improve this page", "This page was last modified: 2026-11-22", "<span>Version: 2.1</span>",
	} {
		doc := read(t, Options{}, "a.html", "<main><h1>A</h1><p>Text.</p><p>"+note+"</p></main>")
		if got := doc.Sections[0].Text; got != "Text." {
			t.Errorf("%s became %q", note, got)
		}
	}
	for _, text := range []string{"Last updated values are shown below.", "Edit this page to add a link.", "Version: see the table."} {
		if got := read(t, Options{}, "a.html", "<main><p>"+text+"</main>").Sections[0].Text; got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestIncludesOfMdBookAreLeftOut(t *testing.T) {
	doc := read(t, Options{}, "a.md", "# A\n\n{{#include intro.md}}\n\nText {{ name }}.\n\n```rust\n{{#rustdoc_include ../listings/a.rs:here}}\n```\n\n```rust\nlet a = 1;\n{{#include b.rs}}\n```\n\n`{{#include x}}`\n")
	if got, want := doc.Sections[0].Text, "Text {{ name }}.\n\n```rust\nlet a = 1;\n```\n\n{{#include x}}"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestElementsThatBrowsersShowApartAreApart(t *testing.T) {
	for in, want := range map[string]string{
		`<p><a class="card-title" href=/x>starlight-giscus</a><span class="card-text">Add comments</span></p>`: "starlight-giscus Add comments",
		`<p>useFetch<span class="badge">Beta</span>is new</p>`:                                                 "useFetch Beta is new",
		`<p><b>bold</b><i>face</i></p>`:                                                                        "boldface",
		`<p>un<span class="x">believ</span>able</p>`:                                                           "unbelievable",
		`<p><code><span class="k">a</span><span class="n">b</span></code></p>`:                                 "ab",
		`<p><span class="sig"><em class="n">f</em><span class="p">(</span></span></p>`:                         "f(",
		`<p><span class="katex"><span class="mord">x</span><span class="mord">y</span></span></p>`:             "xy",
	} {
		if got := read(t, Options{}, "a.html", "<main>"+in+"</main>").Sections[0].Text; got != want {
			t.Errorf("%s became %q, want %q", in, got, want)
		}
	}
	doc := read(t, Options{}, "a.html", `<main><h1>Tabs<span class="sl-badge">New</span></h1><p>x</main>`)
	if doc.Title != "Tabs New" || strings.Contains(doc.Title, "  ") {
		t.Errorf("title %q", doc.Title)
	}
}
