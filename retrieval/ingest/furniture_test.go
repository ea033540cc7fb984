package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// A page of twelve as each tool writes it, shortened; %[1]d is its number.
// Tools that mark their content with known elements are in generators_test.go.
var repeating = map[string]struct{ page, want string }{
	"DocBook": {`<body><div class="navheader"><table summary="Navigation header"><tr><th colspan="5">13.%[1]d. Kites</th></tr><tr><td><a accesskey="p" href="p%[2]d.html">Prev</a></td><td><a accesskey="u" href="up.html">Up</a></td><th>Chapter 13. Wind</th><td><a accesskey="h" href="index.html">Home</a></td><td><a accesskey="n" href="p%[3]d.html">Next</a></td></tr></table><hr></div>
<div class="sect1" id="K%[1]d"><div class="titlepage"><div><div><h2 class="title">13.%[1]d. Kites</h2></div></div></div><p>They fly at %[1]d knots.</p></div>
<div class="navfooter"><hr><table><tr><td><a accesskey="p" href="p%[2]d.html">Prev</a></td><td><a accesskey="u" href="up.html">Up</a></td><td><a accesskey="n" href="p%[3]d.html">Next</a></td></tr><tr><td>13.%[2]d. Lines</td><td><a accesskey="h" href="index.html">Home</a></td><td>13.%[3]d. Tails</td></tr></table></div></body>`,
		"## 13.5. Kites [K5]\nThey fly at 5 knots."},
	"DocBook with pictures": {`<body><p id="title"><a class="left" href="https://k.example"><img src="l.png" alt="Product Site"></a><a class="right" href="https://d.example"><img src="r.png" alt="Documentation Site"></a></p>
<ul class="docnav"><li class="previous"><a accesskey="p" href="p%[2]d.html"><strong>Prev</strong>13.%[2]d. Lines</a></li><li class="up"><a accesskey="u" href="#"><strong>Up</strong></a></li><li class="next"><a accesskey="n" href="p%[3]d.html"><strong>Next</strong>13.%[3]d. Tails</a></li></ul><div class="section"><h2 id="k">Kite %[1]d</h2><p>They fly at %[1]d knots.</p></div></body>`,
		"## Kite 5 [k]\nThey fly at 5 knots."},
	"rustdoc": {`<section id="main-content" class="content"><div class="main-heading"><h1 class="fqn">Struct <a href="index.html">kite</a>::<a href="#">Kite%[1]d</a></h1><span class="out-of-band"><span class="since">1.%[1]d.0</span> · <a class="srclink" href="../src/kite.rs.html#%[1]d">source</a> · <a href="javascript:void(0)">[<span class="inner">−</span>]</a></span></div><p>A kite of %[1]d knots.</p>
<details><summary><section id="method.fly" class="method"><span class="rightside"><span class="since">1.0.0</span> · <a class="srclink" href="../src/kite.rs.html#%[1]d1">source</a></span><a href="#method.fly" class="anchor"></a><h4 class="code-header">pub fn <a href="#method.fly" class="fnname">fly</a>(self)</h4></section></summary><p>Flies at %[1]d knots.</p></details></section>`,
		"# Struct kite::Kite5 [main-content]\nA kite of 5 knots.\n\n#### pub fn fly(self) [method.fly]\nFlies at 5 knots."},
	"Apache": {`<body><div id="page-header"><p class="menu"><a href="../mod/">Modules</a> | <a href="../faq.html">FAQ</a> | <a href="../sitemap.html">Sitemap</a></p><p class="apache">Apache HTTP Server Version 2.4</p><img alt="" src="f.png"></div><div class="up"><a href="./"><img title="&lt;-" alt="&lt;-" src="left.gif"></a></div>
<div id="page-content"><div id="preamble"><h1>Module mod_%[1]d</h1><div class="toplang"><p><span>Available Languages: </span><a href="../en/m%[1]d.html" title="English">&nbsp;en&nbsp;</a> | <a href="../fr/m%[1]d.html" hreflang="fr" rel="alternate">&nbsp;fr&nbsp;</a> | <a href="../ja/m%[1]d.html" hreflang="ja" rel="alternate">&nbsp;ja&nbsp;</a></p></div><p>It serves %[1]d.</p></div><div class="top"><a href="#page-header"><img alt="top" src="up.gif"></a></div></div>
<div id="footer"><p class="apache">Copyright 2026 The Kite Foundation. Licensed under the <a href="https://l.example">License</a>.</p></div></body>`,
		"# Module mod_5 []\nIt serves 5."},
	"Node.js": {`<div id="content"><div id="column1"><header class="header"><div id="gtoc"><ul><li class="pinned-header">Node.js v18.20.4</li><li class="picker-header"><a href="#"><span>►</span>Table of contents</a><div class="picker"><ul><li><a href="#a%[1]d">Kite %[1]d</a><ul><li><a href="#b%[1]d">Fly %[1]d</a></li></ul></li><li><a href="#c%[1]d">Land %[1]d</a></li></ul></div></li><li><a href="all%[1]d.html">View on single page</a></li></ul></div></header>
<div id="apicontent"><h2 id="a%[1]d">Kite %[1]d</h2><p>Flies at %[1]d knots. See <a href="#b%[1]d">Fly</a> or <a href="#c%[1]d">Land</a>.</p></div></div></div>`,
		"## Kite 5 [a5]\nFlies at 5 knots. See Fly or Land."},
	"Javadoc": {`<main role="main"><div class="header"><div class="sub-title"><span>Module</span>&nbsp;<a href="../module-summary.html">java.base</a></div><div class="sub-title"><span>Package</span>&nbsp;<a href="package-summary.html">java.util</a></div><h1 title="Class Kite%[1]d">Class Kite%[1]d</h1></div><section class="class-description"><p>Flies at %[1]d knots.</p></section>
<section class="method-summary" id="method-summary"><h2>Method Summary</h2><div class="table-tabs"><button>All Methods</button><button>Static Methods</button></div><p>See fly%[1]d.</p><div class="inherited-list"><h3 id="o">Methods declared in class Object</h3><code><a href="O.html#equals()">equals</a>, <a href="O.html#hashCode()">hashCode</a>, <a href="O.html#wait()">wait</a></code></div></section></main>`,
		"# Class Kite5 []\nFlies at 5 knots.\n\n## Method Summary [method-summary]\nSee fly5."},
	"makeinfo with links at each heading": {`<body><table class="nav_table"><tr><td>[<a href="c%[1]d.html"> &lt;&lt; Chapter %[1]d</a>]</td><td>[<a href="index.html" rel="start">Cover</a>][<a href="toc.html" rel="contents">Contents</a>][<a href="idx.html" rel="index">Index</a>]</td><td>[<a href="c%[3]d.html">Chapter %[3]d &gt;&gt;</a>]</td></tr><tr><td>[<a href="#aa%[1]d" rel="previous"> &lt; Tail a of %[1]d</a>]</td><td>[<a href="#x%[1]d" rel="up">Up: Kites of %[1]d</a>]</td><td>[<a href="#az%[1]d" rel="next">Line a of %[1]d &gt;</a>]</td></tr></table><a name="a"></a><h4>Kite a</h4><p>Flies at %[1]da knots.</p><table class="nav_table"><tr><td>[<a href="c%[1]d.html"> &lt;&lt; Chapter %[1]d</a>]</td><td>[<a href="index.html" rel="start">Cover</a>][<a href="toc.html" rel="contents">Contents</a>][<a href="idx.html" rel="index">Index</a>]</td><td>[<a href="c%[3]d.html">Chapter %[3]d &gt;&gt;</a>]</td></tr><tr><td>[<a href="#ba%[1]d" rel="previous"> &lt; Tail b of %[1]d</a>]</td><td>[<a href="#x%[1]d" rel="up">Up: Kites of %[1]d</a>]</td><td>[<a href="#bz%[1]d" rel="next">Line b of %[1]d &gt;</a>]</td></tr></table><a name="b"></a><h4>Kite b</h4><p>Flies at %[1]db knots.</p><table class="nav_table"><tr><td>[<a href="c%[1]d.html"> &lt;&lt; Chapter %[1]d</a>]</td><td>[<a href="index.html" rel="start">Cover</a>][<a href="toc.html" rel="contents">Contents</a>][<a href="idx.html" rel="index">Index</a>]</td><td>[<a href="c%[3]d.html">Chapter %[3]d &gt;&gt;</a>]</td></tr><tr><td>[<a href="#ca%[1]d" rel="previous"> &lt; Tail c of %[1]d</a>]</td><td>[<a href="#x%[1]d" rel="up">Up: Kites of %[1]d</a>]</td><td>[<a href="#cz%[1]d" rel="next">Line c of %[1]d &gt;</a>]</td></tr></table><a name="c"></a><h4>Kite c</h4><p>Flies at %[1]dc knots.</p></body>`,
		"#### Kite a [a]\nFlies at 5a knots.\n\n#### Kite b [b]\nFlies at 5b knots.\n\n#### Kite c [c]\nFlies at 5c knots."},
	"text that repeats in an API's fields": {`<main><h1>Fields %[1]d</h1><p>Of kite %[1]d:</p><h3 id="a">line%[1]d</h3><div>Type: <code>string</code></div><p>The line %[1]d.</p><h3 id="b">tail%[1]d</h3><div>Type: <code>string</code></div><p>The tail %[1]d.</p><h3 id="c">sail%[1]d</h3><div>Type: <code>string</code></div><p>The sail %[1]d.</p></main>`,
		"# Fields 5 []\nOf kite 5:\n\n### line5 [a]\nType: string\n\nThe line 5.\n\n### tail5 [b]\nType: string\n\nThe tail 5.\n\n### sail5 [c]\nType: string\n\nThe sail 5."},
}

func TestWhatRepeatsOnMostPagesOfAFolderIsLeftOut(t *testing.T) {
	for name, c := range repeating {
		t.Run(name, func(t *testing.T) {
			in := mustNew(t, Options{})
			sample := map[string][]byte{}
			for i := range 12 {
				sample[fmt.Sprintf("en/m%d.html", i)] = fmt.Appendf(nil, strings.ReplaceAll(c.page, "%[1]d1", "%[1]d%[1]d"), i, i-1, i+1)
			}
			for i := range 24 { // which are more than the pages
				sample[fmt.Sprintf("en/old%d.html", i)] = fmt.Appendf(nil, `<head><meta http-equiv="Refresh" content="0; url=m%[1]d.html#x"></head><body><p>Kite %[1]d is at <a href="m%[1]d.html">m%[1]d</a>.`, i)
			}
			in.Use(in.Learn(sample))
			doc, _, err := in.Document("en/m5.html", sample["en/m5.html"])
			if err != nil || doc == nil {
				t.Fatal("no document", err)
			}
			if got := strings.TrimSpace(dump(doc)); got != c.want {
				t.Errorf("got\n%s\n\nwant\n%s", got, c.want)
			}
			md, err := in.Markdown(doc, sample["en/m5.html"], "")
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"Prev", "Product Site", "source", "Available", "Foundation", "top", "View on", "Module\u00a0", "equals"} {
				if strings.Contains(string(md), word) {
					t.Errorf("%q is written:\n%s", word, md)
				}
			}
		})
	}
}

func TestFurnitureIsNeverAPagesOnlyText(t *testing.T) {
	in := mustNew(t, Options{})
	sample := map[string][]byte{"b/other.html": []byte("<main><p>Elsewhere, this is text.</main>")}
	for i := range 12 {
		sample[fmt.Sprintf("a/m%d.html", i)] = fmt.Appendf(nil, "<main><h1>Kite %d</h1><p>Kites fly.<p>At %d knots.</main>", i, i)
	}
	before, _, _ := in.Document("a/m5.html", sample["a/m5.html"])
	found := in.Learn(sample)
	in.Use(found)
	if again := in.Learn(sample); fmt.Sprint(again) != fmt.Sprint(found) || len(found) == 0 {
		t.Errorf("learned %v, then %v", found, again)
	}
	after, _, _ := in.Document("a/m5.html", sample["a/m5.html"])
	if after.Sections[0].Text != "At 5 knots." || after.Hash == before.Hash {
		t.Errorf("%q, hash %s before and %s after", after.Sections[0].Text, before.Hash, after.Hash)
	}
	for file, want := range map[string]string{
		"<main><h1>Kites</h1><p>Kites fly.</main>":           "Kites fly.",
		"<main><h1>Kites</h1><ul><li>Kites fly.</ul></main>": "- Kites fly.",
	} {
		doc, _, _ := in.Document("a/only.html", []byte(file))
		if doc == nil || doc.Sections[0].Text != want {
			t.Errorf("%s: %+v", file, doc)
		}
	}
	if doc, _, _ := in.Document("a/own.md", []byte("# Kites\n\nKites fly.\n\nHigh.")); doc.Sections[0].Text != "Kites fly.\n\nHigh." {
		t.Errorf("what its author wrote: %q", doc.Sections[0].Text)
	}
}

// A note that is on all pages of an old manual still says what each of them is.
func TestFurnitureIsReadWhereThePageHasNothingElseThatIsWritten(t *testing.T) {
	in := mustNew(t, Options{})
	sample := map[string][]byte{}
	for i := range 12 {
		sample[fmt.Sprintf("m%d.html", i)] = fmt.Appendf(nil, "<main><p>Kite %d.<p>Kites fly.</main>", i)
	}
	in.Use(in.Learn(sample))
	for _, skipped := range []string{`<p><a rel="tag" href="/tags/kite">kite</a></p>`, "<button>Share</button>"} {
		doc, _, err := in.Document("stub.html", []byte("<title>Stub</title><main>"+skipped+"<p>Kites fly.</main>"))
		if err != nil || doc == nil {
			t.Fatal("no document", err)
		}
		if got := dump(doc); !strings.Contains(got, "Kites fly.") {
			t.Errorf("with %s, the page has the text %q", skipped, got)
		}
	}
}

func TestANoteThatRepeatsSaysThatThePageHasMoved(t *testing.T) {
	in := mustNew(t, Options{})
	sample := map[string][]byte{}
	for i := range 12 {
		sample[fmt.Sprintf("old/m%d.html", i)] = fmt.Appendf(nil, "<main><h1>Kite %[1]d</h1><p>The first edition is no longer distributed.<p>See <a href=/m%[1]d>the current page %[1]d</a>.</main>", i)
	}
	in.Use(in.Learn(sample))
	doc, _, err := in.Document("old/m5.html", sample["old/m5.html"])
	if err != nil || doc == nil || doc.Kind != retrieval.Moved || strings.Contains(dump(doc), "edition") {
		t.Errorf("%+v %v", doc, err)
	}
}

// rsyslog's manual ends each page with notes that are the same, and has others with
// the same title in the text.
func TestATitleOfANoteGoesWithAllThatItSays(t *testing.T) {
	in := mustNew(t, Options{})
	const note = `<div class="admonition seealso"><p class="admonition-title">%s</p>%s</div>`
	const links = `<p>Help:</p><ul><li><a href="http://l.example">Mailing list</a></li><li><a href="http://g.example">GitHub</a></li></ul>`
	sample := map[string][]byte{}
	for i := range 12 {
		own := fmt.Sprintf(note, "See also", fmt.Sprintf("<p>Part %d.</p>", i))
		sample[fmt.Sprintf("m%d.html", i)] = fmt.Appendf(nil, `<body><div role="main"><h1>Page %d</h1><p>Says %[1]d.</p>%s</div></body>`, i,
			strings.Repeat(own, i%3)+fmt.Sprintf(note, "See also", links)+fmt.Sprintf(note, fmt.Sprintf("Line %d has moved", i), links))
	}
	in.Use(in.Learn(sample))
	for file, want := range map[string]string{
		"m6.html": "Says 6.\n\nLine 6 has moved",
		"m7.html": "Says 7.\n\nSee also\n\nPart 7.\n\nLine 7 has moved",
	} {
		doc, _, _ := in.Document(file, sample[file])
		if got := doc.Sections[0].Text; got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
		md, err := in.Markdown(doc, sample[file], "")
		if n := strings.Count(string(md), "> [!NOTE]"); err != nil || n != strings.Count(want, "\n\nSee also")+1 {
			t.Errorf("%s: %d notes, %v:\n%s", file, n, err, md)
		}
	}
}
