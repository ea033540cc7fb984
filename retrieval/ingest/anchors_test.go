package ingest

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

// trickyHeadings are those whose ids differ from renderer to renderer.
const trickyHeadings = "# `reverse_proxy` directive\n\na\n\n" +
	"## [A link](b.md) & more\n\na\n\n## What's *this* — or **that**?\n\na\n\n## snake_case-and_more\n\na\n\n" +
	"## Été 日本語 Ω\n\na\n\n## 日本語\n\na\n\n## Same\n\na\n\n## Same\n\na\n\n### Same-1\n\na\n\n## Same-1\n\na\n\n" +
	"## <code>html</code> in <b>it</b>\n\na\n\n## Explicit {#own}\n\na\n\n## Trailing hashes ##\n\na\n\n" +
	"## 🚀 Launch: v2.0 (beta)\n\na\n\n##   Spaces   within\n\na\n\n## Tab\tinside\n\na\n\n##### Same\n\na\n\n## Same\n\na\n\n" +
	"> ## In a quote\n>\n> a\n\n- ## In a list\n\n  a\n\nSetext _one_\n===\n\na\n\nTwo lines\nof setext\n---\n\na\n\n" +
	"## &amp; &copy; entities\n\na\n\n## \\*escaped\\* \\_ here\n\na\n\n## ![pic](a.png) beside\n\na\n\n" +
	"## http://x.example/a\n\na\n\n## --flag, -f\n\na\n\n## {http.request.uri}\n\na\n\n## 1.2.3\n\na\n\n" +
	"## ~~old~~ new\n\na\n\n## a | b\n\na\n\n<h2>Raw HTML</h2>\n\na\n\n<h2 id=\"own-html\">Raw HTML with id</h2>\n\na\n\n## Note[^1]\n\na\n\n[^1]: Foot.\n"

var renderedHeading = regexp.MustCompile(`(?s)<h([1-4])(?: id="([^"]*)")?>`)

// Caddy's modules/caddyhttp/templates renders Markdown so; its highlighting
// of code, which touches no heading, is left out.
func caddyMarkdown(t *testing.T, source string) string {
	t.Helper()
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert([]byte(source), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGoldmarkAnchorsAreThoseOfCaddysTemplates(t *testing.T) {
	var want []string
	for _, m := range renderedHeading.FindAllStringSubmatch(caddyMarkdown(t, trickyHeadings), -1) {
		want = append(want, m[2])
	}
	for _, file := range []string{"a.md", "a.mdx"} {
		source := trickyHeadings
		if file == "a.mdx" { // which knows no HTML, and braces are code
			source = strings.NewReplacer("<code>html</code> in <b>it</b>", "x", "{http.request.uri}", "x", "{#own}", "x").Replace(source)
			source, _, _ = strings.Cut(source, "<h2>Raw")
			want = nil
			for _, m := range renderedHeading.FindAllStringSubmatch(caddyMarkdown(t, source), -1) {
				want = append(want, m[2])
			}
		}
		var got []string
		for _, s := range read(t, Options{Anchors: "goldmark"}, file, source).Sections {
			got = append(got, s.Anchor)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", file, got, want)
		}
	}
}

// The ids are those that rehype-slug 6.0.0 with github-slugger 2.0.0 gave for
// the same page, except {#own}, which it does not read.
func TestGitHubAnchorsOfTrickyHeadings(t *testing.T) {
	var got []string
	for _, s := range read(t, Options{}, "a.md", trickyHeadings).Sections {
		got = append(got, s.Anchor)
	}
	want := strings.Split("reverse_proxy-directive a-link--more whats-this--or-that snake_case-and_more été-日本語-ω 日本語 same same-1 "+
		"same-1-1 same-1-2 html-in-it own trailing-hashes -launch-v20-beta spaces---within tabinside same-3 in-a-quote in-a-list setext-one two-linesof-setext "+
		"--entities escaped-_-here -beside httpxexamplea --flag--f httprequesturi 123 old-new a--b raw-html own-html note1", " ")
	if !slices.Equal(got, want) {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}

// The markup is shortened from what each tool writes.
func TestAnchorsOfHeadingsInHTML(t *testing.T) {
	for name, c := range map[string][2]string{
		"DocBook":                       {`<div class="sect1" id="MVCC"><div class="titlepage"><div><div><h2 class="title">Kites</h2></div></div></div><a id="id-1" class="indexterm"></a><p>x</div>`, "MVCC"},
		"DocBook's reference":           {`<div class="refentry" id="APP-FLY"><div class="titlepage"></div><a id="id-2" class="indexterm"></a><div class="refnamediv"><h2><span class="refentrytitle">Kites</span></h2><p>x</div></div>`, "APP-FLY"},
		"rustdoc":                       {`<details><summary><section id="method.fly" class="method"><span class="rightside">source</span><a href="#method.fly" class="anchor"></a><h4 class="code-header">pub fn <a href="#method.fly" class="fnname">fly</a>()</h4></section></summary><p>x</details>`, "method.fly"},
		"AsciiDoc":                      {`<div class="sect1"><h2 id="_kites">Kites</h2><p>x</div>`, "_kites"},
		"Apache":                        {`<h2><a name="kites" id="kites">Kites</a></h2><p>x`, "kites"},
		"a list that begins with it":    {`<div id="quickview"><h3>Topics</h3><ul><li>x</ul></div>`, "quickview"},
		"a name before it":              {`<p><a name="kites"></a><h2>Kites</h2><p>x`, "kites"},
		"a name in a line before it":    {"<p>\n<a name=kites></a>\n<h2>Kites</h2><p>x", "kites"},
		"makeinfo":                      {`<div class="subsection" id="kites"><table class="header"><tr><td>[<a href="#a"> &lt;&lt; </a>]</td><td>[<a href="#b"> Up </a>]</td><td> &nbsp; </td></tr></table> <h3>1.2 Kites</h3><p>x</div>`, "kites"},
		"a heading before it":           {`<div id="other"><h3><a href="b.html">Lines</a></h3><ul><li><a href="c.html">Tails</a></ul><h3>Kites</h3><p>x</div>`, ""},
		"text before it in the element": {`<div id="other">Text <h2>Kites</h2><p>x</div>`, ""},
		"a link to elsewhere":           {`<div id="here"><p>x<h2>See <a href="#there">there</a></h2><p id="there">x</div>`, ""},
		"Sphinx' link to the contents":  {`<section id="kites"><h2><a class="toc-backref" href="#id2" role="doc-backlink">Kites</a><a class="headerlink" href="#kites">¶</a></h2><p>x</section>`, "kites"},
		"a button's id":                 {`<h2>Kites <button id="copy">Copy</button></h2><p>x`, ""},
		"an id that no link can name":   {`<h2 id="a b">Kites</h2><p>x`, ""},
	} {
		doc := read(t, Options{}, "a.html", "<main id=content><h1>Title</h1><p>First.</p>"+c[0]+"</main>")
		if got := doc.Sections[len(doc.Sections)-1].Anchor; got != c[1] {
			t.Errorf("%s: anchor %q, want %q", name, got, c[1])
		}
	}
}

func TestTermsWithAnIDOpenSections(t *testing.T) {
	const list = `<main><h2 id="s">Settings</h2><p>All of them.</p><dl>` +
		`<dt id="mem"><span class="term"><code>work_mem</code> (<code>integer</code>)</span></dt><dd>Memory of a sort.</dd>` +
		`<div><dt><a id="ssl"></a>ssl</dt><dt id="tls">tls</dt><dd>Encrypts.<dl><dt id="min">minimum</dt><dd>The oldest version.</dd></dl></dd></div>` +
		`<dt>plain</dt><dd>Without an <a id="later"></a>id.</dd></dl><p>After them.</p>`
	doc := read(t, Options{}, "a.html", list+"</main>")
	want := "## Settings [s]\nAll of them.\n\n### Settings > work_mem (integer) [mem]\nMemory of a sort.\n\n### Settings > ssl [ssl]\ntls\n\nEncrypts.\n\n" +
		"#### Settings > ssl > minimum [min]\nThe oldest version.\n\n## Settings [s]\nplain\n  Without an id.\n\nAfter them."
	if got := strings.TrimSpace(dump(doc)); got != want {
		t.Errorf("got\n%s\n\nwant\n%s", got, want)
	}
	var many strings.Builder
	for i := range maxTerms + 10 {
		fmt.Fprintf(&many, "<dt id=t%d>term</dt><dd>x</dd>", i)
	}
	if doc := read(t, Options{}, "a.html", "<main><dl>"+many.String()+"</dl></main>"); len(doc.Sections) != maxTerms+1 {
		t.Errorf("%d terms opened %d sections", maxTerms+10, len(doc.Sections))
	}
}

// makeinfo 6 ends the definition before a term with the term's targets.
func TestTargetsThatEndADefinitionAreThoseOfTheNextTerm(t *testing.T) {
	doc := read(t, Options{}, "a.html", `<main><h2 id="s">Options</h2><dl compact="compact">
<dd><span id="index-EQUALS"></span>
</dd>
<dt><span><tt>EQUALS</tt></span></dt>
<dd><p>Expands <a id="later"></a><tt>=</tt>.
</p>
<a name="index-GLOB"></a>
<a name="index-globbing"></a>
</dd>
<dt><span><tt>GLOB</tt></span></dt>
<dd><p>Expands <tt>*</tt>.</p></dd>
<dt><span>others</span></dt>
<dd><p>Expand nothing.</p> <a id="end"></a> At all.<p><a id="picture"></a><img src="a.png"></p></dd>
<dt><span>more</span></dt>
<dd><p>None.</p></dd></dl></main>`)
	want := "### Options > EQUALS [index-EQUALS]\nExpands =.\n\n### Options > GLOB [index-GLOB]\nExpands *.\n\n" +
		"## Options [s]\nothers\n  Expand nothing.\n\n  At all.\n\nmore\n  None."
	if got := strings.TrimSpace(dump(doc)); got != want {
		t.Errorf("got\n%s\n\nwant\n%s", got, want)
	}
}
