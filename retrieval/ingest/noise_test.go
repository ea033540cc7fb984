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

// Hugo names itself on the front page alone.
func TestListsOfPagesAreKnownByTheirLinks(t *testing.T) {
	in := mustNew(t, Options{})
	for body, found := range map[string]bool{
		`<h1>Line</h1><section><h2><a href="/guide/wind/">Wind</a></h2><p>Kite needs wind.</p></section>`: false,
		`<h1>Tags</h1><ul><li><a href="/tags/line/">Line</a></li></ul>`:                                   false,
		`<h1>Tags</h1><p>How to tag a release.</p>`:                                                       true,
		`<h1>Tags</h1><h2 id="a">Annotated<a href="#a">#</a></h2><p>Use them.</p>`:                        true,
		`<h1>Tags</h1><ul><li><a href="/git">git</a> knows tags.</li></ul>`:                               true,
	} {
		doc, _, err := in.Document("tags/index.html", []byte("<html><head><title>x</title></head><body><main>"+body+"</main></body></html>"))
		if err != nil || (doc != nil) != found {
			t.Errorf("%s: found is %v, %v", body, doc != nil, err)
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

func TestMarksOfFootnotesAndLinksToSourcesAreLeftOut(t *testing.T) {
	for in, want := range map[string]string{
		`<p>semantic versioning<sup id="fnref:2"><a class="footnote-ref" href="#fn:2">2</a></sup>, so</p>`:                                                              "semantic versioning, so", // Python-Markdown
		`<p>callouts<sup id="fnref:1"><a href="#fn:1" class="footnote" rel="footnote" role="doc-noteref">1</a></sup> draw</p>`:                                          "callouts draw",           // kramdown
		`<p>Kites<sup><a href="#user-content-fn-1" id="user-content-fnref-1" data-footnote-ref aria-describedby="l">1</a></sup> fly</p>`:                                "Kites fly",               // GitHub, remark
		`<p>Kites <a class="footnote-reference brackets" href="#id2" id="id1" role="doc-noteref"><span>[</span>1<span>]</span></a> fly</p>`:                             "Kites fly",               // Sphinx
		`<p>A note. <a class="reversefootnote" href="#fnref:1" role="doc-backlink">&#8617;</a></p>`:                                                                     "A note.",
		`<dl><dt class="sig" id="k.f"><span class="pre">k.f</span><a href="_modules/k.html#f"><span class="viewcode-link">[source]</span></a></dt><dd>Flies.</dd></dl>`: "k.f\n\nFlies.",
	} {
		doc := read(t, Options{}, "a.html", "<main><h1>A</h1>"+in+"</main>")
		if got := doc.Sections[len(doc.Sections)-1].Text; got != want {
			t.Errorf("%s became %q, want %q", in, got, want)
		}
	}
}

func TestListsOfThePagesOwnSectionsAreLeftOut(t *testing.T) {
	for in, want := range map[string]string{
		`<h2 class="text-delta">Table of contents</h2><ol id="markdown-toc"><li><a href=#b>B</a></li></ol>`: "", // Just the Docs
		`<hr><h2>Contents</h2><ul><li><a href=/a/b>B</a><ul><li><a href=/a/c>C</a></li></ul></li></ul>`:     "",
		`<p>On this page</p><ul id="markdown-toc"><li><a href=#b>B</a></li></ul>`:                           "On this page",
		`<h2 id=c>Contents</h2><ul><li><a href=/a/b>B</a> has more</li></ul>`:                               "Contents: - B has more",
		`<h2 id=c>Contents</h2><p>The box contains a kite.</p>`:                                             "Contents: The box contains a kite.",
	} {
		doc := read(t, Options{}, "a.html", "<main><h1>A</h1><p>Text.</p>"+in+"</main>")
		got := strings.TrimSpace(strings.TrimPrefix(doc.Sections[0].Text, "Text."))
		if len(doc.Sections) > 1 {
			got = doc.Sections[1].Heading + ": " + doc.Sections[1].Text
		}
		if got != want {
			t.Errorf("%s became %q, want %q", in, got, want)
		}
	}
}

func TestOnlyThePageForMissingURLsIsAnErrorPage(t *testing.T) {
	in := mustNew(t, Options{})
	for file, found := range map[string]bool{
		"404.html": false, "404/index.html": false, "zh-cn/404.html": false, "v2/404/index.html": false, "404.md": false,
		"templates/404/index.html": true, "errors/404.md": true,
	} {
		doc, _, err := in.Document(file, []byte("<main>\n\n# Custom 404 page\n\nWrite one.\n"))
		if err != nil || (doc != nil) != found {
			t.Errorf("%s: found is %v, %v", file, doc != nil, err)
		}
	}
}

func TestAFrontPageOutsideOfTheContentElementIsRead(t *testing.T) {
	doc := read(t, Options{}, "index.html", `<body><header>Menu</header><section><h1>Kites that fly</h1><p>For strong winds.</p></section>`+
		`<main><nav>Pages</nav><article class="md-content__inner"></article></main><footer>Imprint</footer>`)
	if doc.Title != "Kites that fly" || dump(doc) == "" || doc.Sections[0].Text != "For strong winds." {
		t.Error(dump(doc))
	}
}

func TestTheDateBelowTheTitleIsLeftOut(t *testing.T) {
	for in, want := range map[string]string{
		`<main><h1>Wind</h1> <time datetime="2026-11-22">November 22, 2026</time> <p>Kite needs wind.</main>`:                          "Kite needs wind.", // Hugo
		`<article><header><h1>Wind</h1><p class="post-meta"><time>Nov 22, 2026</time> • Ada</p></header><p>Kite needs wind.</article>`: "Kite needs wind.", // Jekyll
		`<main><h1>Releases</h1><p>Version 2: <time>2026-11-22</time></main>`:                                                          "Version 2: 2026-11-22",
	} {
		if got := read(t, Options{}, "a.html", in).Sections[0].Text; got != want {
			t.Errorf("%s became %q, want %q", in, got, want)
		}
	}
}

func TestLinesThatMdBookHidesAreLeftOut(t *testing.T) {
	doc := read(t, Options{}, "a.html", `<main><h1>A</h1><pre><pre class="playground"><code class="language-rust"><span class="boring">#![allow(unused)]
</span><span class="boring">fn main() {
</span>let knots = 5;
<span class="boring">}</span></code></pre></pre></main>`)
	if got, want := doc.Sections[0].Text, "```rust\nlet knots = 5;\n```"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
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

// mdBook has its book's name in an h1 of a bar outside of the text, and a
// chapter may begin with an h2.
func TestTheNameOfTheSiteIsNoTitle(t *testing.T) {
	for in, want := range map[string]string{
		`<title>Using threads - Kite</title><div id="mdbook-menu-bar"><h1 class="menu-title">Kite</h1></div><main><h2 id="t"><a class="header" href="#t">Using threads</a></h2><p>x</main>`: "Using threads",
		`<title>Kite</title><div><h1>Kite</h1></div><main><p>x</main>`:                               "Kite",
		`<title>Wind | Kite</title><div class="hero"><h1>All about wind</h1></div><main><p>x</main>`: "All about wind",
	} {
		if got := read(t, Options{}, "a.html", in).Title; got != want {
			t.Errorf("%s has the title %q, want %q", in, got, want)
		}
	}
}

func TestTheBreadcrumbOfThePageItselfIsLeftOut(t *testing.T) {
	nav := `<nav class="breadcrumbs"><ul><li>Group</li><li>Guide</li><li class="breadcrumbs__item--active">Short</li></ul></nav>`
	for in, want := range map[string]string{
		nav: "Group > Guide",
		`<nav aria-label="Breadcrumb"><ol><li><a href=/>Guide</a></li><li><span aria-current="page">Short</span></li></ol></nav>`: "Guide",
	} {
		doc := read(t, Options{URL: "https://x.com"}, "guide/a.html", in+"<main><h1>A long title</h1><p>x</main>")
		if got := strings.Join(doc.Breadcrumbs, " > "); got != want {
			t.Errorf("%s has %q, want %q", in, got, want)
		}
	}
}

func TestSphinxListsOfPagesHaveTheirSectionsInMarkdownAlone(t *testing.T) {
	const page = `<body><div class="body" role="main"><section id="k"><h1>Kites</h1><p>They fly.</p><div class="toctree-wrapper compound"><p class="caption">Guide</p>` +
		`<ul><li class="toctree-l1"><a href="wind.html">Wind</a><ul><li class="toctree-l2"><a href="wind.html#gusts">Gusts</a><ul><li class="toctree-l3"><a href="wind.html#squalls">Squalls</a></li></ul></li></ul></li>` +
		`<li class="toctree-l1"><a href="line.html">Line</a></li></ul></div></section></div></body>`
	in := mustNew(t, Options{URL: "https://k.example"})
	doc, _, err := in.Document("index.html", []byte(page))
	if err != nil || doc == nil {
		t.Fatal("no document", err)
	}
	if got := strings.TrimSpace(dump(doc)); got != "# Kites [k]\nThey fly.\n\nGuide\n\n- Wind\n- Line" || len(doc.Links) != 4 {
		t.Errorf("%d links, and\n%s", len(doc.Links), got)
	}
	md, err := in.Markdown(doc, []byte(page), "")
	want := "\n- [Wind](https://k.example/wind.html)\n  - [Gusts](https://k.example/wind.html#gusts)\n    - [Squalls](https://k.example/wind.html#squalls)\n- [Line](https://k.example/line.html)\n"
	if err != nil || !strings.HasSuffix(string(md), want) {
		t.Errorf("%v\n%s", err, md)
	}
}
