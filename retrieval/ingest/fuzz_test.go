package ingest

import (
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// sound fails where a document breaks what its readers rely on.
func sound(t *testing.T, file string, data []byte) {
	t.Helper()
	in := mustNew(t, Options{URL: "https://x.example/docs"})
	doc, _, err := in.Document(file, data)
	if err != nil || doc == nil {
		return
	}
	valid := func(what, s string) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Errorf("%s is no valid text: %q", what, s)
		}
	}
	valid("title", doc.Title)
	valid("description", doc.Description)
	if doc.Title == "" || doc.Hash == "" || len(doc.Sections) == 0 {
		t.Errorf("a document without title, hash or sections: %+v", doc)
	}
	for _, s := range doc.Sections {
		valid("heading", s.Heading)
		valid("text", s.Text)
		valid("anchor", s.Anchor)
		if strings.IndexFunc(s.Anchor, unicode.IsSpace) >= 0 {
			t.Errorf("anchor %q holds white space", s.Anchor)
		}
		if s.Text == "" || s.Level < 0 || s.Level > 4 {
			t.Errorf("section %+v", s)
		}
	}
	again, _, _ := in.Document(file, data)
	if again == nil || dump(again) != dump(doc) || again.Hash != doc.Hash {
		t.Error("the same bytes made another document")
	}
}

// The seeds are short: go test minimizes what it finds for up to a minute an
// input, and whole pages never get done (-fuzzminimizetime=100x helps too).
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{
		"<main><section id=a><h2>A<a href=#a>¶</a></h2><dl><dt id=x class=sig>f()<dd>t</dl><table><tr><td>a<td>b",
		"<html lang=de><title>A — B</title><meta name=docsearch:version content=1><link rel=canonical href=/a/b><body><header>H</header><h1>A</h1><p>x<footer>f",
		"<div class='theme-doc-markdown'><h2 id=b>B<a class=hash-link href=#b></a></h2><pre><code class=language-js><span class=token-line>a<br></span></code></pre></div>",
		"<article><div role=tablist><button role=tab>t</button></div><div role=tabpanel hidden>p</div><details><summary>s</summary><ul><li>a<ol><li>b</ol></ul></details></article>",
		"<table class=highlighttable><tr><td class=linenos><pre>1</pre><td class=code><pre>a</pre></table><nav aria-label=breadcrumb><li>x</nav><script type=application/ld+json>{\"@type\":\"BreadcrumbList\"}</script>",
		"<meta charset=windows-1252><p>\xe9t\xe9<svg><title>t</title></svg><template><h1>n</h1></template><select><option>o</select>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { sound(t, "a/b.html", data) })
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte("---\ntitle: x\n---\n# A {#b}\n\n- a\n\n  ```go\n  x\n  ```\n\n> [!NOTE]\n> t\n\n| a |\n|---|\n| b |\n\n<div>x</div>\n\n{{< a >}}\n{% b %}\n:::note\n!!! x \"y\"\n    z"))
	f.Fuzz(func(t *testing.T, data []byte) { sound(t, "a/b.md", data) })
}

func FuzzMDX(f *testing.F) {
	f.Add([]byte("import a from 'b'\n\n# T {/* #id */}\n\n<A b=\"c\" d={`e`} {...f}>\n  - g\n  ```h\n  i\n  ```\n</A>\n{`j`} <B/> <h2 id='k'>l</h2>"))
	f.Fuzz(func(t *testing.T, data []byte) { sound(t, "a/b.mdx", data) })
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{"---\na: &x [*x]\n---\n", "+++\na = [[1]]\n+++\n", "{\"a\": {}}\n", "---\ntitle: a: b\n---\nx"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		front, body, _ := splitFrontMatter(data)
		if len(body) > len(data) {
			t.Error("the body grew")
		}
		front.text("title")
		front.list("tags")
	})
}

func TestDeepHTMLIsReadFlat(t *testing.T) {
	doc := read(t, Options{}, "a.html", "<title>T</title>"+strings.Repeat("<div>", 10_000)+"<h2>Deep</h2><p>found")
	if !strings.Contains(dump(doc), "found") || doc.Title != "T" {
		t.Errorf("%q %s", doc.Title, dump(doc))
	}
}

func TestOneLongLineIsRead(t *testing.T) {
	line := strings.Repeat("word ", 2<<20)
	for _, file := range []string{"a.md", "a.mdx", "a.html"} {
		if doc := read(t, Options{}, file, line+"end."); !strings.Contains(doc.Sections[len(doc.Sections)-1].Text, "end.") {
			t.Errorf("%s: the end is missing", file)
		}
	}
}

func benchmark(b *testing.B, file string, data []byte) {
	in := mustNew(b, Options{URL: "https://x.example/docs"})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if doc, _, err := in.Document(file, data); err != nil || doc == nil {
			b.Fatal(doc, err)
		}
	}
}

const benchPage = "---\ntitle: Bench\n---\n" + "# Bench\n\nSome *text* with `code` and a [link](b.md) in it, as pages have.\n\n"

func BenchmarkMarkdown(b *testing.B) {
	benchmark(b, "a.md", []byte(benchPage+strings.Repeat("## Part\n\nA paragraph of ordinary length that says how the thing is done, with `names`.\n\n- one\n- two\n\n```go\nfunc f() {}\n```\n\n| a | b |\n|---|---|\n| c | d |\n\n", 30)))
}

func BenchmarkMDX(b *testing.B) {
	benchmark(b, "a.mdx", []byte(benchPage+strings.Repeat("## Part\n\n<Steps>\n  <Step title=\"Do\">\n    A paragraph of ordinary length with `names`.\n\n    ```go\n    func f() {}\n    ```\n  </Step>\n</Steps>\n\n<ParamField path=\"x\" type=\"string\">\n  Text.\n</ParamField>\n\n", 30)))
}

func BenchmarkHTML(b *testing.B) {
	data, err := os.ReadFile("testdata/hugo-docsy/docs/tasks/scale/index.html")
	if err != nil {
		b.Fatal(err)
	}
	benchmark(b, "a.html", data)
}
