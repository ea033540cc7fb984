package ingest

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// The markup is shortened from what the generators write.
func TestContentElementsOfGenerators(t *testing.T) {
	for _, c := range []struct{ generator, in, title, breadcrumbs, want string }{
		{
			"Starlight", `<html lang="en"><head><title>Start | Site</title></head><body><header class="header"><a href="/">Site</a><site-search><button>Search</button></site-search></header>
<nav class="sidebar"><a href="/a">A</a></nav><div class="main-frame"><aside class="right-sidebar-container"><h2 id="starlight__on-this-page">On this page</h2></aside>
<main data-pagefind-body lang="en"><div class="content-panel"><div class="sl-container"><h1 id="_top">Start</h1></div></div><div class="content-panel"><div class="sl-container"><div class="sl-markdown-content"><p>First.</p>
<div class="sl-heading-wrapper level-h2"><h2 id="install">Install</h2><a class="sl-anchor-link" href="#install"><span aria-hidden="true" class="sl-anchor-icon"><svg></svg></span><span class="sr-only" data-pagefind-ignore>Section titled “Install”</span></a></div>
<aside aria-label="Tip" class="starlight-aside starlight-aside--tip"><p class="starlight-aside__title" aria-hidden="true">Tip</p><div class="starlight-aside__content"><p>Mind it.</p></div></aside>
<div class="expressive-code"><figure class="frame is-terminal"><figcaption class="header"><span class="title"></span><span class="sr-only">Terminal window</span></figcaption><pre data-language="sh"><code><div class="ec-line"><div class="code"><span>npm i x</span></div></div><div class="ec-line"><div class="code"><span>npm run</span></div></div></code></pre><div class="copy"><button title="Copy">Copy</button></div></figure></div>
</div><footer class="sl-flex"><div class="meta"><a href="https://x">Edit page</a></div><div class="pagination-links"><a rel="next" href="/b">Next</a></div></footer></div></div></main></div></body></html>`,
			"Start", "", "# Start [_top]\nFirst.\n\n## Install [install]\nMind it.\n\n```sh\nnpm i x\nnpm run\n```",
		},
		{
			"Node.js", `<html lang="en"><head><title>File system | Node.js v20.20.2 Documentation</title></head><body><div id="content"><div id="column2"><ul><li><a href="fs.html">File system</a></li></ul></div><div id="column1"><header class="header"><div class="header-container"><h1>Node.js v20.20.2 documentation</h1></div></header>
<div role="main" id="apicontent"><h2>File system<span><a class="mark" href="#file-system" id="file-system">#</a></span></h2><p>First.</p><h3 id="use">Use</h3>
<pre class="with-39-chars"><input class="js-flavor-toggle" type="checkbox" checked aria-label="Show modern ES modules syntax"><code class="language-js mjs"><span>import</span> fs</code><code class="language-cjs"><span>const</span> fs</code><button class="copy-button">copy</button></pre></div></div></div></body></html>`,
			"File system", "", "## File system [file-system]\nFirst.\n\n### Use [use]\n```js\nimport fs\n```\n\n```cjs\nconst fs\n```",
		},
		{
			"Nextra", `<html><body><nav>Menu</nav><article class="x w-full nextra-content"><main><div class="nextra-breadcrumb nx-mt-1"><div title="Docs">Docs</div><div title="Start">Start</div></div>
<h1 class="nx-mt-2">Start</h1><p>First.</p><h2 class="nx-font">Install<span class="nx-absolute" id="install"></span><a href="#install" class="subheading-anchor" aria-label="Permalink for this section"></a></h2><p>Run it.</p>
<div class="nextra-code-block"><div class="nextra-filename">a.js</div><pre data-language="js"><code><span class="line"><span>x()</span></span>
<span class="line"><span>y()</span></span></code></pre><button title="Copy code">Copy</button></div></main></article><div class="nextra-toc">On This Page</div><footer>MIT</footer></body></html>`,
			"Start", "", "# Start []\nFirst.\n\n## Install [install]\nRun it.\n\na.js\n\n```js\nx()\ny()\n```",
		},
		{
			"GitBook", `<html><body><header>Site</header><aside>Menu</aside><main class="flex-1"><header><ol><li><a href="/a">Guides</a></li></ol><h1 class="text-4xl">Start</h1><p>About it.</p></header>
<div class="whitespace-pre-wrap"><p>First.</p><h2 id="install" class="heading"><div><a href="#install" aria-label="Direct link to heading"><svg></svg></a></div><div>Install</div></h2><p>Run it.</p></div></main></body></html>`,
			"Start", "", "  []\n- Guides\n\n# Start []\nAbout it.\n\nFirst.\n\n## Install [install]\nRun it.",
		},
		{
			"mdBook", `<html lang="en"><body><nav id="sidebar" class="sidebar"><ol class="chapter"><li><a>1. A</a></li></ol></nav><div id="page-wrapper" class="page-wrapper"><div class="page"><div id="menu-bar"><h1 class="menu-title">The Book</h1></div>
<div id="content" class="content"><main><h1 id="start"><a class="header" href="#start">Start</a></h1><p>First.</p><h2 id="install"><a class="header" href="#install">Install</a></h2>
<pre><pre class="playground"><code class="language-rust edition2021"><span class="boring">fn main() {
</span>x();
<span class="boring">}</span></code></pre></pre></main><nav class="nav-wrapper"><a rel="next" href="b.html">Next</a></nav></div></div></div></body></html>`,
			"Start", "", "# Start [start]\nFirst.\n\n## Install [install]\n```rust\nx();\n```",
		},
		{
			"Jekyll with Just the Docs", `<html lang="en-US"><body><div class="side-bar"><nav>Menu</nav></div><div class="main" id="top"><div id="main-header" class="main-header"><div class="search"><input type="text" aria-label="Search"></div></div>
<div class="main-content-wrap"><nav aria-label="Breadcrumb" class="breadcrumb-nav"><ol class="breadcrumb-nav-list"><li class="breadcrumb-nav-list-item"><a href="/g">Guides</a></li><li class="breadcrumb-nav-list-item"><span>Start</span></li></ol></nav>
<div id="main-content" class="main-content"><main><h1 id="start"><a href="#start" class="anchor-heading" aria-labelledby="start"><svg></svg></a> Start</h1><p>First.</p>
<h2 id="install"><a href="#install" class="anchor-heading" aria-labelledby="install"><svg></svg></a> Install</h2><div class="language-sh highlighter-rouge"><div class="highlight"><pre class="highlight"><code>npm i x
</code></pre></div></div></main><hr><footer><p>Copyright</p></footer></div></div></div></body></html>`,
			"Start", "Guides", "# Start [start]\nFirst.\n\n## Install [install]\n```sh\nnpm i x\n```",
		},
		{
			"Jekyll with Minima", `<html><body><header class="site-header">Site</header><main class="page-content"><div class="wrapper"><article class="post h-entry"><header class="post-header"><h1 class="post-title p-name" itemprop="name headline">Start</h1></header>
<div class="post-content e-content" itemprop="articleBody"><p>First.</p><h2 id="install">Install</h2><p>Run it.</p></div></article></div></main><footer class="site-footer h-card">By me</footer></body></html>`,
			"Start", "", "# Start []\nFirst.\n\n## Install [install]\nRun it.",
		},
		{
			"MkDocs with Read the Docs' theme", `<html lang="en"><body class="wy-body-for-nav"><nav class="wy-nav-side">Menu</nav><section class="wy-nav-content-wrap"><div class="wy-nav-content"><div class="rst-content"><div role="navigation" aria-label="breadcrumbs navigation"><ul class="wy-breadcrumbs"><li><a href=".." class="icon icon-home" aria-label="Docs"></a></li><li class="breadcrumb-item">Guides</li><li class="breadcrumb-item active">Start</li><li class="wy-breadcrumbs-aside"></li></ul><hr/></div>
<div role="main" class="document"><div class="section" itemprop="articleBody"><h1 id="start">Start<a class="headerlink" href="#start" title="Permanent link">¶</a></h1><p>First.</p><h2 id="install">Install<a class="headerlink" href="#install">¶</a></h2><pre><code class="language-sh">npm i x
</code></pre></div></div><footer><div class="rst-footer-buttons">Next</div><p>Built with MkDocs</p></footer></div></div></section></body></html>`,
			"Start", "Guides", "# Start [start]\nFirst.\n\n## Install [install]\n```sh\nnpm i x\n```",
		},
	} {
		t.Run(c.generator, func(t *testing.T) {
			doc := read(t, Options{}, "guide/start.html", c.in)
			if doc.Title != c.title || strings.Join(doc.Breadcrumbs, " > ") != c.breadcrumbs {
				t.Errorf("title %q, breadcrumbs %q", doc.Title, doc.Breadcrumbs)
			}
			if got := strings.TrimSpace(dump(doc)); got != strings.TrimSpace(c.want) {
				t.Errorf("got\n%s\n\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestTitlesHaveNoSiteName(t *testing.T) {
	for head, want := range map[string]string{
		`<title>Toolkit: Overview | Redux</title><meta property="og:title" content="Toolkit: Overview | Redux">`:             "Toolkit: Overview",
		`<title>Redux - A JS library | Redux</title><meta property="og:title" content="Redux - A JS library | Redux">`:       "Redux - A JS library",
		`<title>Black - and white</title><meta property="og:title" content="Black - and white">`:                             "Black - and white",
		`<title>Start - Acme</title><meta property="og:site_name" content="Acme"><meta property="og:title" content="Start">`: "Start",
		`<title>Start | Acme</title><meta property="og:title" content="Start | here">`:                                       "Start | here",
	} {
		if doc := read(t, Options{}, "start.html", "<html><head>"+head+"</head><body><main><p>First.</p><h2>Use</h2><p>More.</p></main></body></html>"); doc.Title != want {
			t.Errorf("%s: %q, want %q", head, doc.Title, want)
		}
	}
}

func TestTitlesAreThoseThatReadersSee(t *testing.T) {
	for _, c := range []struct{ name, title, body, want string }{
		{"SQLite: every section has an h1", "Date And Time", `<div class=logo>Small. Fast.</div><div class=fancy_title>
Date And Time
</div><h1>1. Overview</h1><p>A.<h1>2. Use</h1><p>B.`, "Date And Time"},
		{"Doxygen: the site's name comes first", "Acme: Graphs", `<div id=projectname>Acme</div><div class=title>Graphs </div><h1>Tools</h1><p>A.<h1>Use</h1><p>B.`, "Graphs"},
		{"Doxygen: a class", "Acme: Kite Reference", `<div id=projectname>Acme</div><div class=title>Kite Reference</div><h2>Methods</h2><p>A.`, "Kite Reference"},
		{"GTK-Doc: an h2 is the title", "Kites: Acme Manual", `<div>Acme Manual</div><h2>Kites</h2><p>A.<h2>Use</h2><p>B.`, "Kites"},
		{"the site's name alone is shown", "Acme: Kites", `<div>Acme</div><h2>Use</h2><p>A.`, "Acme: Kites"},
		{"the first h1 is the title", "Acme", `<h1>Kites</h1><p>A.<h1>Use</h1><p>Acme`, "Kites"},
	} {
		if doc := read(t, Options{}, "kites.html", "<title>"+c.title+"</title><body>"+c.body); doc.Title != c.want {
			t.Errorf("%s: %q, want %q", c.name, doc.Title, c.want)
		}
	}
	doc := read(t, Options{}, "kites.html", "<title>Kites | Acme manual</title><body><h1>Acme manual</h1><p>Contents<h2 id=k>Kites</h2><p>They fly.")
	if doc.Title != "Kites" || doc.Sections[0].Heading != "" || doc.Sections[1].Heading != "Kites" || len(doc.Sections[1].Path) > 0 {
		t.Errorf("title %q, sections %+v", doc.Title, doc.Sections)
	}
}

func TestOldEncodingsAreRead(t *testing.T) {
	utf16Bytes := func(s string, big bool) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
			if big {
				b.Write([]byte{byte(u >> 8), byte(u)})
			} else {
				b.Write([]byte{byte(u), byte(u >> 8)})
			}
		}
		return b.String()
	}
	for name, c := range map[string][3]string{
		"meta charset":              {"a.html", "<meta charset=\"iso-8859-2\"><p>\xb1\xe6", "ąć"},
		"meta content type":         {"a.html", "<meta http-equiv=Content-Type content=\"text/html; charset=shift_jis\"><p>\x93\xfa\x96{", "日本"},
		"windows-1252":              {"a.html", "<meta charset=windows-1252><p>na\xefve \x93quoted\x94", "naïve “quoted”"},
		"none named":                {"a.html", "<p>\x93\xe9t\xe9\x94 in a page of the old days, of ordinary length", "“été” in a page of the old days, of ordinary length"},
		"a charset that is untrue":  {"a.html", "<meta charset=iso-8859-1><p>été", "été"},
		"UTF-8 with its mark":       {"a.md", "\xef\xbb\xbf---\ntitle: T\n---\nété", "été"},
		"UTF-16, little end first":  {"a.html", utf16Bytes("<p>été 日本", false), "été 日本"},
		"UTF-16, big end first":     {"a.md", utf16Bytes("été 日本", true), "été 日本"},
		"carriage returns":          {"a.md", "# A\r\n\r\nété\r\n", "été"},
		"Markdown of the old days":  {"a.md", "A long enough line of plain text with one \xe9 in it.", "A long enough line of plain text with one \ufffd in it."},
		"one NUL within a long one": {"a.md", strings.Repeat("text ", 400) + "\x00end", strings.Repeat("text ", 400) + "end"},
	} {
		if got := read(t, Options{}, c[0], c[1]).Sections[0].Text; got != c[2] {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestFrontMatterKeepsPagesFromSearch(t *testing.T) {
	for head, found := range map[string]bool{
		"draft: true": false, "draft: \"true\"": false, "noindex: true": false, "unlisted: true": false, "hidden: true": false,
		"search_exclude: true": false, "robots: noindex, nofollow": false, "Draft: yes": false,
		"published: false": false, "published: \"no\"": false, "published: true": true, "published: 2026-01-01": true, "published:": true,
		"draft: false": true, "hidden: false": true, "unlisted: no": true, "noindex: false": true, "robots: all": true, "sidebar: hidden": true,
	} {
		doc, _, err := mustNew(t, Options{}).Document("a.md", []byte("---\n"+head+"\n---\n\n# A\n\nb"))
		if err != nil || (doc != nil) != found {
			t.Errorf("%s: found is %v, %v", head, doc != nil, err)
		}
	}
	for meta, found := range map[string]bool{
		`<meta name=robots content=noindex>`: false, `<meta name=ROBOTS content="NOINDEX,FOLLOW">`: false, `<meta name=robots content=none>`: false,
		`<meta name=robots content="index, follow">`: true, `<meta name=robots content=nofollow>`: true, `<meta name=googlebot content=all>`: true,
	} {
		doc, _, err := mustNew(t, Options{}).Document("a.html", []byte(meta+"<p>x"))
		if err != nil || (doc != nil) != found {
			t.Errorf("%s: found is %v, %v", meta, doc != nil, err)
		}
	}
}
