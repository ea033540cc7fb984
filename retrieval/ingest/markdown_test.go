package ingest

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestMarkdownBecomesSections(t *testing.T) {
	for _, c := range []struct{ name, file, in, want string }{
		{
			"headings get GitHub's ids, numbered where they repeat", "a.md",
			"# A `b_c`\n\nx\n\n## Été & Co.\n\ny\n\n## Dup\n\n1\n\n## Dup\n\n2\n",
			"# A b_c [a-b_c]\nx\n\n## Été & Co. [été--co]\ny\n\n## Dup [dup]\n1\n\n## Dup [dup-1]\n2",
		},
		{
			"explicit ids win, in every spelling", "a.md",
			"## A {#x-y}\n\na\n\n## B { #b2 .c }\n\nb\n\n## C {: #c3 }\n\nc",
			"## A [x-y]\na\n\n## B [b2]\nb\n\n## C [c3]\nc",
		},
		{
			"Docusaurus' ids in comments count", "a.mdx", "## A {/* #own */}\n\na\n", "## A [own]\na",
		},
		{
			"setext headings and levels below h4", "a.md",
			"A\n=\n\na\n\nB\n-\n\nb\n\n##### E\n\ne",
			"# A [a]\na\n\n## B [b]\nb\n\nE\n\ne",
		},
		{
			"lists, tables, definitions and code keep their shape", "a.md",
			"- a\n- b\n  - c\n\n| K | V |\n|---|---|\n| `x` | y |\n\nTerm\n: Meaning\n\n```go title=\"main.go\"\nfunc main() {\n\tx()\n}\n```\n",
			"  []\n- a\n- b\n  - c\n\nK | V\nx | y\n\nTerm\n  Meaning\n\nmain.go\n\n```go\nfunc main() {\n\tx()\n}\n```",
		},
		{
			"a code block that holds a fence gets a longer one", "a.md", "````md\n```js\nx\n```\n````\n", "  []\n````md\n```js\nx\n```\n````",
		},
		{
			"callouts, directives, admonitions and tabs are their words", "a.md",
			"> [!NOTE]\n> Noted.\n\n:::tip Handy\nTipped.\n:::\n\n!!! warning \"Mind\"\n    Minded.\n\n        code\n\n=== \"Tab\"\n\n    ```sh\n    ls\n    ```\n\nend",
			"  []\nNoted.\n\nHandy\n\nTipped.\n\nMind\n\nMinded.\n\n```\ncode\n```\n\nTab\n\n```sh\nls\n```\n\nend",
		},
		{
			"shortcodes and Liquid leave what readers see", "a.md",
			"{{< note title=\"Hey\" >}}\nBody [l]({{< ref \"b.md\" >}}).\n{{< /note >}}\n\n{% hint style=\"info\" %}\nHint.\n{% endhint %}\n\nA {{< glossary_tooltip text=\"Pod\" term_id=\"pod\" >}}.\n\n{{< highlight go >}}\nx := 1\n{{< /highlight >}}",
			"  []\nHey\n\nBody l.\n\nHint.\n\nA Pod.\n\n```go\nx := 1\n```",
		},
		{
			"shortcodes in code are code", "a.md", "`{{< x >}}` and\n\n```\n{{< y >}}\n```\n", "  []\n{{< x >}} and\n\n```\n{{< y >}}\n```",
		},
		{
			"HTML in Markdown is read as HTML", "a.md",
			"<details>\n<summary>More</summary>\n\nInner *text*\n\n</details>\n\n<pre><code class=\"language-sh\">a\n  b</code></pre>\n\n<h2 id=\"own\">Head</h2>\n\nx<br>y <!-- no -->",
			"  []\nMore\n\nInner text\n\n```sh\na\n  b\n```\n\n## Head [own]\nx\ny",
		},
		{
			"escapes and entities are resolved, identifiers stay whole", "a.md",
			"A \\*b\\* &amp; `--flag=<x>` {http.request.*} snake_case @scope/pkg",
			"  []\nA *b* & --flag=<x> {http.request.*} snake_case @scope/pkg",
		},
		{
			"JSX is its text and the attributes that readers see", "a.mdx",
			"import X from './x'\nexport const y = {\n  a: 1,\n\n  b: 2,\n}\n\n# T\n\n<Tabs>\n  <Tab title=\"One\" icon=\"x\">\n    Text <Icon icon=\"a\" /> more.\n\n    - item\n\n    ```js\n    if (a) {\n      b()\n    }\n    ```\n  </Tab>\n</Tabs>\n\n<ParamField path=\"user_id\" type=\"string\" required>\n  The user.\n</ParamField>\n\n<Card title=\"Go\" href=\"/b\">There</Card>\n\n{/* gone */}\n{`kept ${x}`} {drop.me} <Tooltip tip=\"Meaning\">API</Tooltip> a < b\n",
			"# T [t]\nOne\n\nText more.\n\n- item\n\n```js\nif (a) {\n  b()\n}\n```\n\nuser_id string required\n\nThe user.\n\nGo\n\nThere\n\nkept API (Meaning) a < b",
		},
		{
			"steps in a list stay in it", "a.mdx",
			"1. First\n\n   <Note>\n     Noted.\n   </Note>\n\n2. Second\n",
			"  []\n- First\n\n  Noted.\n\n- Second",
		},
		{
			"fences of MDX are untouched", "a.mdx", "```jsx\n<A b={c}>{d}</A>\nimport x from 'y'\n```\n", "  []\n```jsx\n<A b={c}>{d}</A>\nimport x from 'y'\n```",
		},
		{
			"Markdown in a component's caption is its words", "a.mdx",
			"<Frame caption=\"See [the *park*](https://x.example/a_b) for **now**, a*b\">\n  ![Alt](x.png)\n</Frame>\n",
			"  []\nSee the *park* for now, a*b\n\nAlt",
		},
		{
			"a page that a script fills is found by its title", "json-docs.md", "<div id=\"app\"></div>\n", "  []\nJson docs",
		},
		{
			"statements of Go templates go, values and code stay", "a.md",
			"{{include \"/a.html\"}} {{- if .X }}\n\nSet {{.Name}} or `{{include \"x\"}}`.\n\n<div>\n  {{include \"b\"}}\n    <!-- no -->\n    <p>In\n</div>\n\n{{end}}\n",
			"  []\nSet {{.Name}} or {{include \"x\"}}.\n\nIn",
		},
		{
			"footnotes and tasks", "a.md", "Text[^1].\n\n- [x] done\n\n[^1]: Foot.", "  []\nText.\n\n- done\n\nFoot.",
		},
		{
			"a heading without text below keeps its words", "a.md", "## A\n\n## B\n\nb", "## A [a]\nA\n\n## B [b]\nb",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.TrimSpace(dump(read(t, Options{}, c.file, c.in))); got != strings.TrimSpace(c.want) {
				t.Errorf("got\n%s\n\nwant\n%s", got, c.want)
			}
		})
	}
}

// The ids are those that github-slugger 2 gave.
func TestGitHubIDsAreThoseOfItsOwnSlugger(t *testing.T) {
	for heading, want := range map[string]string{
		"\u00c9t\u00e9 & Co.":                   "\u00e9t\u00e9--co",
		"\u24b6 circled":                        "\u24d0-circled",
		"\u2764\ufe0f love":                     "\ufe0f-love",
		"\u65e5\u672c\u8a9e \u898b\u51fa\u3057": "\u65e5\u672c\u8a9e-\u898b\u51fa\u3057",
		"a_b-c.d":                               "a_b-cd",
		"x\u00b2 \u00bd \u2167":                 "x--\u2177",
		"\u0928\u092e\u0938\u094d\u0924\u0947":  "\u0928\u092e\u0938\u094d\u0924\u0947",
		"C++ & C#":                              "c--c",
		"  a":                                   "--a",
		"v1.2.3":                                "v123",
		"`code`":                                "code",
		"\u00aa\u00ba \u00b5":                   "\u00aa\u00ba-\u00b5",
		"\u00df \u1e9e \u0130":                  "\u00df-\u00df-i\u0307",
		"tab\tx":                                "tabx",
		"a\u2014b":                              "ab",
		"\u201cq\u201d":                         "q",
		"\u0663 arabic":                         "\u0663-arabic",
		"\u200dzwj":                             "zwj",
		"\u1fb3":                                "\u1fb3",
	} {
		if got := githubSlug(heading); got != want {
			t.Errorf("%q gives %q, want %q", heading, got, want)
		}
	}
}

func TestAnchorStyles(t *testing.T) {
	for style, want := range map[string]string{
		"github": "1-a--b_cd", "gitlab": "1-a-b_cd", "pandoc": "a-b_c.d", "goldmark": "1-a--b-cd", "none": "",
	} {
		doc := read(t, Options{Anchors: style}, "a.md", "## 1 A & B_C.D\n\nx")
		if got := doc.Sections[0].Anchor; got != want {
			t.Errorf("%s gives %q, want %q", style, got, want)
		}
	}
}

func TestFrontMatterInThreeFormats(t *testing.T) {
	for name, head := range map[string]string{
		"YAML": "---\ntitle: T\ndescription: D\ntags: [a, b]\nkeywords: k1, k2\nversion: 1.2\nlang: fr\ndeprecated: true\n---\n",
		"TOML": "+++\ntitle = \"T\"\ndescription = \"D\"\ntags = [\"a\", \"b\"]\nkeywords = [\"k1\", \"k2\"]\nversion = \"1.2\"\nlang = \"fr\"\ndeprecated = true\n+++\n",
		"JSON": "{\n\"title\": \"T\", \"description\": \"D\", \"tags\": [\"a\", \"b\"], \"keywords\": [\"k1\",\"k2\"], \"version\": \"1.2\", \"lang\": \"fr\", \"deprecated\": true}\n",
	} {
		doc := read(t, Options{}, "a.md", head+"\nText")
		if doc.Title != "T" || doc.Description != "D" || strings.Join(doc.Tags, " ") != "a b" || strings.Join(doc.Keywords, " ") != "k1 k2" ||
			doc.Version != "1.2" || doc.Language != "fr" || doc.Kind != retrieval.Deprecated || doc.Sections[0].Text != "Text" {
			t.Errorf("%s: %+v", name, doc)
		}
	}
}

func TestBrokenFrontMatterIsAWarning(t *testing.T) {
	doc, warnings, err := mustNew(t, Options{}).Document("a.md", []byte("---\ntitle: Foo: bar\nx: [\n---\nText"))
	if err != nil || len(warnings) != 1 || doc.Title != "Foo: bar" || doc.Sections[0].Text != "Text" {
		t.Errorf("%+v %v %v", doc, warnings, err)
	}
}

func TestLongSectionsAreSplitWithTheSameAnchor(t *testing.T) {
	doc := read(t, Options{}, "a.md", "## A\n\n"+strings.Repeat(strings.Repeat("word ", 100)+"\n\n", 60))
	if len(doc.Sections) < 4 {
		t.Fatalf("%d sections", len(doc.Sections))
	}
	for _, s := range doc.Sections {
		if s.Anchor != "a" || s.Heading != "A" || len(s.Text) > 8<<10 {
			t.Errorf("%q %q %d bytes", s.Anchor, s.Heading, len(s.Text))
		}
	}
}

func TestVersionAndLanguage(t *testing.T) {
	o := Options{
		Versions:  []Scope{{"2.x", []string{"/v2/*"}}, {"3.x", nil}},
		Languages: []Scope{{"fr", []string{"/fr/*"}}, {"en", nil}},
	}
	for _, c := range []struct {
		name, file, data  string
		o                 Options
		version, language string
	}{
		{"paths of the configuration come first", "v2/a.html", `<html lang=de><meta name=docsearch:version content=9><p>x`, o, "2.x", "de"},
		{"then the page's own words", "a.html", `<html lang=de><meta name=docsearch:version content="9,8"><p>x`, o, "9", "de"},
		{"then the path by convention", "de/1.4/a.md", "x", o, "1.4", "de"},
		{"then the default", "a.md", "x", o, "3.x", "en"},
		{"an API version further down is a topic", "reference/api/v1/users.md", "x", Options{}, "", ""},
		{"next is a topic at the front, a version below docs", "next/a.md", "x", Options{}, "", ""},
		{"next below docs", "docs/next/a.md", "x", Options{}, "next", ""},
		{"a folder's page belongs to it", "fr/index.md", "x", o, "3.x", "fr"},
		{"a short word is no language unless declared", "id/a.md", "x", Options{}, "", ""},
		{"an untranslated page has its content's language", "tr/a.html", `<html lang=tr><main lang=en><div class=sl-markdown-content><p>x`, Options{}, "", "en"},
		{"a region is kept", "pt_BR/a.md", "x", Options{}, "", "pt-BR"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if doc := read(t, c.o, c.file, c.data); doc.Version != c.version || doc.Language != c.language {
				t.Errorf("got %q %q, want %q %q", doc.Version, doc.Language, c.version, c.language)
			}
		})
	}
}

func TestFoldersOfNamedVersionsAndLanguages(t *testing.T) {
	o := Options{
		Versions:  []Scope{{"2.x", []string{"/v2/*", "/docs/2.0/*"}}, {"v1", []string{"/v1/*"}}, {"2.x", nil}},
		Languages: []Scope{{"pt-BR", []string{"/br/*"}}, {"de", []string{"/handbuch/*"}}, {"en-US", nil}},
	}
	for file, want := range map[string]string{
		"v2/a.md": "v2", "docs/2.0/a.md": "2.0", "v1/a.md": "", "a.md": "", "br/a.md": "br", "br/v2/a.md": "br", "handbuch/a.md": "", "us/a.md": "",
	} {
		if doc := read(t, o, file, "x"); strings.Join(doc.Folders, " ") != want {
			t.Errorf("%s: %q, want %q", file, doc.Folders, want)
		}
	}
}

func TestIncludeAndExcludeChoosePages(t *testing.T) {
	in := mustNew(t, Options{Include: []string{"/guide/*", "/api/**"}, Exclude: []string{"/guide/old*", "**/draft-?"}})
	for file, want := range map[string]bool{
		"guide/a.md": true, "guide/x/y.html": true, "guide/index.md": true, "api/x/y.md": true, "blog/a.md": false,
		"guide/old/a.md": false, "guide/draft-1.md": false, "guide/draft-12.md": true, "guide/.hidden/a.md": false,
		"guide/a.txt": false, "guide/_part.mdx": false, "guide/_index.md": true, "guide/_static/a.html": false,
		"guide/A.HTML": true, "https://x.com/guide/a": true, "https://x.com/blog/": false,
	} {
		if got := in.Wants(file); got != want {
			t.Errorf("Wants(%q) is %v", file, got)
		}
	}
}

// A reload with other options must not take every file for a changed one.
func TestTheBytesOfAFileDontDependOnOptions(t *testing.T) {
	one, two := read(t, Options{}, "a.md", "# A"), read(t, Options{Versions: []Scope{{"9", []string{"/**"}}}}, "a.md", "# A")
	if one.Hash == two.Hash || one.FileSum != two.FileSum || one.FileSum != retrieval.SumOf([]byte("# A")) || one.FileSum == read(t, Options{}, "a.md", "# B").FileSum {
		t.Errorf("%x and %x", one.FileSum, two.FileSum)
	}
}
