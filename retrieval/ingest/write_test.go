package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func written(t *testing.T, o Options, file, data string) string {
	t.Helper()
	in := mustNew(t, o)
	doc, _, err := in.Document(file, []byte(data))
	if err != nil || doc == nil {
		t.Fatalf("%s is no page: %v", file, err)
	}
	md, err := in.Markdown(doc, []byte(data), "http://localhost:8080")
	if err != nil {
		t.Fatal(err)
	}
	return string(md)
}

func TestPagesOfRealGeneratorsAsMarkdown(t *testing.T) {
	for _, file := range []string{
		"sphinx-furo/guide/install.html", "sphinx-furo/api.html", "sphinx-rtd/api.html", "mkdocs-material/guide/deploy/index.html",
		"vitepress/guide/start.html", "vitepress/index.html", "hugo-docsy/docs/tasks/scale/index.html", "docusaurus/docs/guide/setup/index.html",
	} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		got := written(t, Options{URL: "https://docs.example.com"}, file, string(data))
		golden := filepath.Join("testdata", strings.TrimSuffix(file, ".html")+".markdown")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s:\n%s", file, golden, got)
		}
	}
}

func TestWrittenMarkdown(t *testing.T) {
	for _, c := range []struct{ name, file, source, want string }{
		{"front matter has what the page says of itself", "guide/a.md",
			"---\ntitle: 'A: b'\ndescription: About a.\nlang: en\nversion: 2\nlastmod: 2026-11-02\n---\nText.",
			"---\ntitle: 'A: b'\ndescription: About a.\nurl: http://localhost:8080/guide/a\nlanguage: en\nversion: \"2\"\ndate: \"2026-11-02\"\n---\n\n# A: b\n\nText.\n"},
		{"headings link to their anchors, links are absolute", "guide/a.md",
			"# A\n\n## Set up {#setup}\n\nSee [b](../b.md#c) and [there](https://x.example/) and [here](#setup).\n\n## See [b](../b.md)",
			"# [A](#a)\n\n## [Set up](#setup)\n\nSee [b](http://localhost:8080/b.md#c) and [there](https://x.example/) and [here](http://localhost:8080/guide/a#setup).\n\n## See [b](http://localhost:8080/b.md) [#](#see-b)\n"},
		{"tables keep their rules, code and lists in cells", "a.html",
			"<main><h1>A</h1><table><thead><tr><th>Name</th><th>What</th></tr></thead><tr><td><code>a|b</code></td><td>One<br>two<ul><li>x</li><li>y</li></ul></td></tr></table></main>",
			"# A\n\n| Name | What |\n| --- | --- |\n| `a\\|b` | One<br>two<br>- x<br>- y |\n"},
		{"tables with code blocks become blocks", "a.html",
			"<main><h1>A</h1><table><tr><th>Input</th></tr><tr><td><pre>one\n  two</pre></td></tr></table></main>",
			"# A\n\nInput\n\n```\none\n  two\n```\n"},
		{"notes keep their kind", "a.md",
			"# A\n\n:::warning[Take *care*]\nHot.\n:::\n\n!!! tip\n    Cold.\n\n    ```sh\n    ls\n    ```\n\nText.\n\n> [!CAUTION]\n> Sharp.",
			"# [A](#a)\n\n> [!WARNING]\n> **Take care**\n>\n> Hot.\n\n> [!TIP]\n> Cold.\n>\n> ```sh\n> ls\n> ```\n\nText.\n\n> [!CAUTION]\n> Sharp.\n"},
		{"components are unwrapped", "a.mdx",
			"import X from 'x'\n\n# A\n\n<Note>\n  Mind the *gap*.\n</Note>\n\n<Tabs>\n  <Tab title=\"npm\">\n    ```sh\n    npm i\n    ```\n  </Tab>\n</Tabs>\n\nA <Badge>new</Badge> {1 + 1} word.",
			"# [A](#a)\n\n> [!NOTE]\n> Mind the *gap*.\n\nnpm\n\n```sh\nnpm i\n```\n\nA new word.\n"},
		{"what looks like markup stays text", "a.html",
			"<main><h1>A</h1><p>2 * 3 *4* a_b _c_ &lt;T&gt; &amp;amp; [x](y) `z`</p><p>1. one</p><p># two</p><p>- three</p></main>",
			"# A\n\n2 * 3 \\*4\\* a_b \\_c\\_ \\<T> \\&amp; [x\\](y) \\`z\\`\n\n1\\. one\n\n\\# two\n\n\\- three\n"},
		{"lists nest, count and have tasks", "a.md",
			"# A\n\n3. three\n   - x\n   - y\n4. four\n\n- [x] done\n- [ ] open\n",
			"# [A](#a)\n\n3. three\n   - x\n   - y\n4. four\n\n- [x] done\n- [ ] open\n"},
		{"images are links with their text, decoration is left out", "a.html",
			"<main><h1>A</h1><p><img src=/i.png alt='The map'><img src=/d.png alt=''> <a href=/m><img src=/j.png alt=Home></a></p></main>",
			"# A\n\n![The map](http://localhost:8080/i.png) [![Home](http://localhost:8080/j.png)](http://localhost:8080/m)\n"},
		{"links that run scripts are text", "a.html",
			"<main><h1>A</h1><p><a href='javascript:alert(1)'>a</a> <a href='#'>b</a> <a href='/x y(1)'>c</a></p></main>",
			"# A\n\na b [c](http://localhost:8080/x%20y%281%29)\n"},
		{"emphasis keeps its blanks outside", "a.html",
			"<main><h1>A</h1><p>an<b> bold </b>and <em>thin</em>word, <b>a</b><b>b</b> <i></i><del>gone</del> <kbd>Ctrl</kbd> x<sup>2</sup></p></main>",
			"# A\n\nan **bold** and *thin*word, **a**b ~~gone~~ <kbd>Ctrl</kbd> x<sup>2</sup>\n"},
		{"code blocks keep language and blanks", "a.html",
			"<main><h1>A</h1><div class='highlight-python'><div class=highlight><pre><span>def</span> a():\n    ```\n</pre></div></div></main>",
			"# A\n\n````python\ndef a():\n    ```\n````\n"},
		{"formulas are TeX", "a.html",
			"<main><h1>A</h1><p>With <span class=katex><span class=katex-mathml><math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math></span><span class=katex-html aria-hidden=true>x2</span></span>.</p></main>",
			"# A\n\nWith $x^2$.\n"},
		{"cards link after their words", "a.html",
			"<main><h1>A</h1><a href=/b><h3>Begin</h3><p>In a minute.</p></a></main>",
			"# A\n\n### Begin\n\nIn a minute.\n\n[→](http://localhost:8080/b)\n"},
		{"footnotes stay footnotes", "a.md",
			"# A\n\nSo[^1].\n\n[^1]: Because.",
			"# [A](#a)\n\nSo[^1].\n\n[^1]: Because.\n"},
		{"navigation is left out", "a.html",
			"<body><header>Site</header><nav>Menu</nav><main><h1>A</h1><p>Text.</p><a class=edit-link href=/e>Edit</a><nav>Next</nav></main><footer>End</footer></body>",
			"# A\n\nText.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := written(t, Options{}, c.file, c.source)
			if !strings.HasPrefix(c.want, "---") {
				_, got, _ = strings.Cut(got[4:], "\n---\n\n")
			}
			if got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

func TestContentThatIsNoPageAnyMore(t *testing.T) {
	in := mustNew(t, Options{})
	for file, now := range map[string]string{"a.md": "---\ndraft: true\n---\nText.", "a.html": "<meta name=robots content=noindex><p>Text."} {
		doc := &retrieval.Document{File: file, URL: "/a", Title: "A"}
		if md, err := in.Markdown(doc, []byte(now), ""); err == nil {
			t.Errorf("%s is written: %s", file, md)
		}
	}
}

// No content breaks the writer.
func FuzzWrittenMarkdown(f *testing.F) {
	for _, s := range []string{"<h1>a</h1><p>b<b>c*</b>", "<ul><li><pre>x</pre><li><table><tr><td>a|b", "<dl><dt>a<dd>b", ":::note\n!!! tip\n    a", "# a\n> [!NOTE] b\n\n<Note>\n  c\n</Note>"} {
		f.Add("a.html", []byte(s))
		f.Add("a.mdx", []byte(s))
		f.Add("a.md", []byte(s))
	}
	in := New(Options{URL: "https://docs.example.com"})
	f.Fuzz(func(t *testing.T, file string, data []byte) {
		doc, _, err := in.Document(file, data)
		if err != nil || doc == nil {
			return
		}
		if _, err := in.Markdown(doc, data, ""); err != nil && strings.Contains(err.Error(), "parser failed") {
			t.Fatal(err)
		}
	})
}
