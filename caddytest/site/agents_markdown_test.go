package site

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// agentFiles are a site of HTML and Markdown.
var agentFiles = map[string]string{
	"index.html":             "<html lang=en><title>Acme</title><meta name=description content='All about Acme.'><main><h1>Acme Docs</h1><p>Welcome. <a href=/guide/install.html>Install</a></p></main></html>",
	"guide/install.html":     "<html lang=en><title>Install</title><nav>Menu</nav><main><h1>Install Acme</h1><p>Run the <b>installer</b>, see <a href=../api.html>the API</a>.</p><h2 id=linux>On Linux</h2><pre><code class=language-sh>apt install acme\n</code></pre><h2 id=mac>On a Mac</h2><p>Use brew.</p></main></html>",
	"guide/upgrade.html":     "<html lang=en><meta name=description content='Newer releases.'><main><h1>Upgrade</h1><p>Read the &#123;{.Notes}} first.</p></main></html>",
	"api.html":               "<html lang=en><main><h1>API</h1><p>Call acme.send().</p></main></html>",
	"api.md":                 "the site's own Markdown",
	"private/secret.html":    "<html lang=en><main><h1>Secret</h1><p>The password is rosebud.</p></main></html>",
	"hidden/page/index.html": "<html lang=en><main><h1>Hidden</h1><p>Below a folder.</p></main></html>",
}

// agentsLogin opens /private/*.
const agentsLogin = "Basic cmVhZGVyOnNlY3JldA=="

const agentBlock = `http://localhost:0 {
	root * %q
	basic_auth /private/* {
		reader $2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W
	}
	docs acme {
		name "Acme Docs"
		%s
	}
	encode
	templates
	file_server
}
`

// startForAgents serves the files, with lines in the docs block.
func startForAgents(t *testing.T, lines string) (s *caddytest.Server, root string) {
	t.Helper()
	root = caddytest.Folder(t, agentFiles)
	s = caddytest.Start(t, "", fmt.Sprintf(agentBlock, root, lines))
	waitForLocks(t, s)
	return s, root
}

// waitForLocks waits until the pages and their locks are known.
func waitForLocks(t *testing.T, s *caddytest.Server) {
	t.Helper()
	caddytest.Until(t, "the locks are known", func() bool {
		return getPage(s, "/llms.txt").Status != http.StatusServiceUnavailable
	})
}

func getPage(s *caddytest.Server, path string, header ...string) *caddytest.Response {
	h := map[string]string{}
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = header[i+1]
	}
	return s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Header: h})
}

const forMarkdown = "text/markdown, text/html, */*"

// The tests of one site share it: it takes a second until the locks of a new
// one are known.
func TestSite(t *testing.T) {
	s, root := startForAgents(t, "")
	for name, test := range map[string]func(*testing.T, *caddytest.Server){
		"locked pages as Markdown":     lockedPages,
		"pages that aren't there":      missingPages,
		"the page endpoint":            pageEndpoint,
		"tools in both eras":           toolsInBothEras,
		"tools take what models write": toolsTakeWhatModelsWrite,
		"locked pages in tools":        lockedPagesInTools,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
	t.Run("MCP over HTTP", func(t *testing.T) { mcpOverHTTP(t, s, root) })
}

func TestPagesAsMarkdown(t *testing.T) {
	s, root := startForAgents(t, "")

	r := getPage(s, "/guide/install.md")
	want := "---\ntitle: Install Acme\nurl: " + s.Base + "/guide/install.html\nlanguage: en\n---\n\n> All pages of this documentation: " + s.Base + "/llms.txt\n\n# Install Acme\n\nRun the **installer**, see [the API](" + s.Base + "/api.html).\n\n## [On Linux](#linux)\n\n```sh\napt install acme\n```\n\n## [On a Mac](#mac)\n\nUse brew.\n"
	if string(r.Body) != want {
		t.Errorf("got %d:\n%s\nwant:\n%s", r.Status, r.Body, want)
	}
	for name, value := range map[string]string{
		"Content-Type": "text/markdown; charset=utf-8", "X-Robots-Tag": "noindex", "Cache-Control": "public, no-cache", "X-Content-Type-Options": "nosniff",
	} {
		if got := r.Header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
	if again := getPage(s, "/guide/install.md", "If-None-Match", r.Header.Get("ETag")); again.Status != http.StatusNotModified {
		t.Errorf("with its ETag: %d", again.Status)
	}

	// The same at the page's own URL, for those who want it.
	negotiated := getPage(s, "/guide/install.html", "Accept", forMarkdown)
	if string(negotiated.Body) != want || negotiated.Header.Get("Cache-Control") != "private, no-cache" || negotiated.Header.Get("X-Robots-Tag") != "" {
		t.Errorf("negotiated: %d %v\n%s", negotiated.Status, negotiated.Header, negotiated.Body)
	}
	html := getPage(s, "/guide/install.html", "Accept", "text/html,*/*;q=0.8")
	if !strings.Contains(string(html.Body), "<nav>") {
		t.Errorf("a browser got: %s", html.Body)
	}
	for name, r := range map[string]*caddytest.Response{"negotiated": negotiated, "HTML": html} {
		if !strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Accept") {
			t.Errorf("%s: Vary is %q", name, r.Header.Values("Vary"))
		}
	}
	if negotiated.Header.Get("ETag") == html.Header.Get("ETag") {
		t.Error("both forms have the same ETag")
	}
	if links := strings.Join(html.Header.Values("Link"), ", "); !strings.Contains(links, "<"+s.Base+`/guide/install.html.md>; rel="alternate"; type="text/markdown"`) {
		t.Errorf("Link is %s", links)
	}

	// Every form of a page's name; text that looks like a template stays.
	for path, has := range map[string]string{
		"/index.md": "# Acme Docs", "/guide/install.html.md": "# Install Acme", "/hidden/page.md": "# Hidden", "/hidden/page/index.md": "# Hidden",
	} {
		if r := getPage(s, path); r.Status != http.StatusOK || !strings.Contains(string(r.Body), has) {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	if r := getPage(s, "/guide/upgrade.html", "Accept", forMarkdown); !strings.Contains(string(r.Body), "# Upgrade\n\nRead the {{.Notes}} first.") {
		t.Errorf("text that looks like a template: %d %s", r.Status, r.Body)
	}

	// The site's own files win.
	if r := getPage(s, "/api.md"); string(r.Body) != "the site's own Markdown" {
		t.Errorf("the site's own file: %s", r.Body)
	}
	for _, path := range []string{"/none.md", "/guide/.md", "/.md", "/guide/install.md/", "/%2e%2e/x.md", "/llms/none.txt"} {
		if r := getPage(s, path); r.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	if r := s.Do(caddytest.Request{Method: "HEAD", Path: "/guide/install.md", Key: "-"}); r.Status != http.StatusOK || len(r.Body) > 0 || r.Header.Get("ETag") == "" {
		t.Errorf("HEAD: %d %v", r.Status, r.Header)
	}

	// As fresh as the files.
	caddytest.Write(t, root, map[string]string{"guide/install.html": strings.Replace(agentFiles["guide/install.html"], "Use brew", "Use ports", 1)})
	caddytest.Until(t, "the page is new", func() bool { return strings.Contains(string(getPage(s, "/guide/install.md").Body), "Use ports") })
	if err := os.Remove(filepath.Join(root, "guide", "install.html")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the page is gone", func() bool { return getPage(s, "/guide/install.md").Status == http.StatusNotFound })
}

// Where the site answers 404, programs get the nearest pages, and people what
// the site has for them.
func missingPages(t *testing.T, s *caddytest.Server) {
	for path, nearest := range map[string]string{
		"/install.md": "/guide/install.html.md", "/guide/instal.md": "/guide/install.html.md", "/v1x/guide/upgrading": "/guide/upgrade.html.md",
		"/reference/api": "/api.html.md", "/hiden/page.html": "/hidden/page.md", "/zzz.md": "",
	} {
		r := getPage(s, path, "Accept", forMarkdown)
		if r.Status != http.StatusNotFound || r.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.Contains(string(r.Body), s.Base+"/llms.txt") {
			t.Errorf("%s: %d %v %s", path, r.Status, r.Header, r.Body)
		}
		_, list, _ := strings.Cut(string(r.Body), "\n- [")
		_, first, _ := strings.Cut(list, "](")
		if first, _, _ = strings.Cut(first, ")"); nearest != "" && first != s.Base+nearest || nearest == "" && first != "" {
			t.Errorf("%s: the nearest page is %q, want %q", path, first, nearest)
		}
		if r.Header.Get("Cache-Control") != "private, no-cache" || r.Header.Get("Vary") != "Accept" {
			t.Errorf("%s: %v", path, r.Header)
		}
	}
	for accept, want := range map[string]string{"": "", "*/*": "", "text/html,*/*;q=0.8": "<h1>Page not found</h1>", "text/html, text/markdown": "<h1>Page not found</h1>"} {
		if r := getPage(s, "/guide/instal", "Accept", accept); r.Status != http.StatusNotFound || (len(r.Body) > 0) != (want != "") || !strings.Contains(string(r.Body), want) {
			t.Errorf("for people, %q: %d %s", accept, r.Status, r.Body)
		}
	}
	if r := s.Do(caddytest.Request{Method: "HEAD", Path: "/guide/instal.md", Key: "-"}); r.Status != http.StatusNotFound || len(r.Body) > 0 {
		t.Errorf("HEAD: %d %s", r.Status, r.Body)
	}
	// No locked page is named, not even to those who can open it.
	for _, header := range [][]string{{}, {"Authorization", agentsLogin}} {
		if r := getPage(s, "/secret.md", header...); r.Status != http.StatusNotFound || strings.Contains(strings.ToLower(string(r.Body)), "secret") {
			t.Errorf("%q: %d %s", header, r.Status, r.Body)
		}
	}
}

func lockedPages(t *testing.T, s *caddytest.Server) {
	for _, path := range []string{"/private/secret.md", "/private/secret.html"} {
		if r := getPage(s, path, "Accept", forMarkdown); r.Status == http.StatusOK || strings.Contains(string(r.Body), "rosebud") {
			t.Errorf("a stranger got %s: %d %s", path, r.Status, r.Body)
		}
		if r := getPage(s, path, "Accept", forMarkdown, "Authorization", agentsLogin); !strings.Contains(string(r.Body), "# Secret") || r.Header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("the reader got %s: %d %v %s", path, r.Status, r.Header, r.Body)
		}
	}
	for _, path := range []string{"/llms.txt", "/llms-full.txt", "/sitemap.xml"} {
		if r := getPage(s, path, "Authorization", agentsLogin); strings.Contains(string(r.Body), "ecret") || strings.Contains(string(r.Body), "rosebud") {
			t.Errorf("%s has the locked page: %s", path, r.Body)
		}
	}
	for _, body := range []string{`{"path":"private/secret"}`, `{"path":"/private/secret.html"}`, `{"path":"` + s.Base + `/private/secret.md"}`} {
		if r := s.Do(caddytest.Request{Path: "/v1/page/acme", Body: body}); r.Status != http.StatusNotFound || strings.Contains(string(r.Body), "rosebud") {
			t.Errorf("%s: %d %s", body, r.Status, r.Body)
		}
	}
}

func pageEndpoint(t *testing.T, s *caddytest.Server) {
	for _, path := range []string{"guide/install", "/guide/install", "guide/install.html", "/guide/install.md#linux", s.Base + "/guide/install.html#mac"} {
		body, _ := json.Marshal(map[string]string{"path": path})
		r := s.Do(caddytest.Request{Path: "/v1/page/acme", Body: string(body)})
		var page struct{ Path, Content string }
		if err := json.Unmarshal(r.Body, &page); err != nil || page.Path != "guide/install" || !strings.Contains(page.Content, "## [On Linux](#linux)") {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	for body, status := range map[string]int{
		`{"path":"none"}`: 404, `{"path":"https://other.example/guide/install"}`: 200, `{}`: 400, `{"path":1}`: 400, `[]`: 400, `{"path":"` + strings.Repeat("x", 3000) + `"}`: 400,
	} {
		if r := s.Do(caddytest.Request{Path: "/v1/page/acme", Body: body}); r.Status != status {
			t.Errorf("%.60s: %d, want %d %s", body, r.Status, status, r.Body)
		}
	}
	if r := s.Do(caddytest.Request{Path: "/v1/page/acme", Body: `{"path":"api"}`, Key: "-"}); r.Status != http.StatusUnauthorized {
		t.Errorf("without a key: %d", r.Status)
	}
}

func TestLLMs(t *testing.T) {
	s, root := startForAgents(t, "")
	r := getPage(s, "/llms.txt")
	want := "# Acme Docs\n\n> All about Acme.\n\n"
	if !strings.HasPrefix(string(r.Body), want) || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("llms.txt: %d %v\n%s", r.Status, r.Header, r.Body)
	}
	for _, line := range []string{
		"- [Acme Docs](" + s.Base + "/index.md): All about Acme.", "## Guide", "- [Install Acme](" + s.Base + "/guide/install.html.md)",
		"- [Upgrade](" + s.Base + "/guide/upgrade.html.md): Newer releases.",
	} {
		if !strings.Contains(string(r.Body), line+"\n") {
			t.Errorf("llms.txt lacks %q:\n%s", line, r.Body)
		}
	}
	full := getPage(s, "/llms-full.txt")
	for _, text := range []string{"# Install Acme", "url: " + s.Base + "/guide/install.html", "Call acme.send()."} {
		if !strings.Contains(string(full.Body), text) {
			t.Errorf("llms-full.txt lacks %q:\n%s", text, full.Body)
		}
	}
	var sitemap struct {
		URLs []string `xml:"url>loc"`
	}
	if err := xml.Unmarshal(getPage(s, "/sitemap.xml").Body, &sitemap); err != nil || len(sitemap.URLs) != 5 || sitemap.URLs[0] != s.Base+"/" {
		t.Errorf("sitemap: %v %v", err, sitemap.URLs)
	}
	for _, path := range []string{"/llms.txt", "/llms-full.txt", "/sitemap.xml"} {
		first := getPage(s, path)
		if again := getPage(s, path, "If-None-Match", first.Header.Get("ETag")); first.Header.Get("ETag") == "" || again.Status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.Status)
		}
	}
	if r := getPage(s, "/robots.txt"); r.Status != http.StatusNotFound {
		t.Errorf("robots.txt: %d", r.Status)
	}
	caddytest.Write(t, root, map[string]string{"guide/new.html": "<main><h1>Brand new</h1><p>Text."})
	caddytest.Until(t, "the new page is listed", func() bool { return strings.Contains(string(getPage(s, "/llms.txt").Body), "Brand new") })
	caddytest.Write(t, root, map[string]string{"llms.txt": "the site's own", "sitemap.xml": "<own/>"})
	if r := getPage(s, "/llms.txt"); string(r.Body) != "the site's own" {
		t.Errorf("the site's own llms.txt: %s", r.Body)
	}
	if r := getPage(s, "/sitemap.xml"); string(r.Body) != "<own/>" {
		t.Errorf("the site's own sitemap: %s", r.Body)
	}
}

func TestLLMsOff(t *testing.T) {
	root := caddytest.Folder(t, agentFiles)
	s := caddytest.Start(t, "", fmt.Sprintf(agentBlock, root, "llms off"))
	s.Ready("acme")
	for _, path := range []string{"/llms.txt", "/guide/install.md", "/sitemap.xml"} {
		if r := getPage(s, path); r.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	if r := getPage(s, "/api.html", "Accept", forMarkdown); !strings.Contains(string(r.Body), "<h1>") || r.Header.Get("Link") != "" {
		t.Errorf("the page: %v %s", r.Header, r.Body)
	}
}

// llms.txt has the pages of the default language. Copies of them in the folders
// of languages into which they are not translated are listed with those.
func TestLLMsOfSeveralLanguages(t *testing.T) {
	page := func(path, language, title string) string {
		original := strings.TrimPrefix(path, "da/")
		return `<html><title>` + title + `</title><link rel=canonical href="https://docs.acme.com/` + path + `"><link rel=alternate hreflang=x-default href="https://docs.acme.com/` + original + `"><main lang=` + language + `><h1>` + title + `</h1><p>Text.</p></main></html>`
	}
	root := caddytest.Folder(t, map[string]string{
		"index.html": page("", "en", "Acme"), "it/index.html": page("it/", "en", "For IT departments"), "setup/index.html": page("setup/", "en", "Set up"),
		"da/index.html": page("da/", "da", "Acme på dansk"), "da/setup/index.html": page("da/setup/", "en", "Not translated"),
	})
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", root))
	waitForLocks(t, s)
	for path, want := range map[string][]string{
		"/llms.txt":             {"/index.md", "/it.md", "/setup.md"},
		"/llms/others.txt":      {"/llms-full/language-da.txt", "/llms/language-da.txt"},
		"/llms/language-da.txt": {"/da.md", "/da/setup.md"},
	} {
		var got []string
		text := string(getPage(s, path).Body)
		for _, m := range regexp.MustCompile(`(?m)^- \[.*\]\(`+regexp.QuoteMeta(s.Base)+`([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			if m[1] != "/llms/others.txt" {
				got = append(got, m[1])
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s lists %v, want %v:\n%s", path, got, want, text)
		}
	}
}

// A site that answers every path with its only page, at a path, with its API
// on the same host.
func TestOnePageSitesBelowAPath(t *testing.T) {
	root := caddytest.Folder(t, agentFiles)
	s := caddytest.Start(t, "", fmt.Sprintf(`http://localhost:0 {
	handle_path /docs/* {
		root * %[1]q
		docs acme {
			url http://localhost/docs
		}
		try_files {path} {path}.html /index.html
		file_server
	}
}
`, root))
	caddytest.Until(t, "the locks are known", func() bool { return getPage(s, "/docs/llms.txt").Status == http.StatusOK })
	if r := getPage(s, "/docs/guide/install.md"); !strings.Contains(string(r.Body), "# Install Acme") {
		t.Errorf("a page: %d %s", r.Status, r.Body)
	}
	if r := getPage(s, "/docs/llms.txt"); !strings.Contains(string(r.Body), "(http://localhost/docs/guide/install.html.md)") || !strings.Contains(string(r.Body), "(http://localhost/docs/index.md)") {
		t.Errorf("llms.txt: %s", r.Body)
	}
	if r := getPage(s, "/docs/api.md"); string(r.Body) != "the site's own Markdown" {
		t.Errorf("the site's own file: %s", r.Body)
	}
	if r := getPage(s, "/docs/none.md"); !strings.Contains(string(r.Body), "<h1>Acme Docs") {
		t.Errorf("a page that doesn't exist: %s", r.Body)
	}
	if r := getPage(s, "/llms.txt"); r.Status == http.StatusOK && len(r.Body) > 0 {
		t.Errorf("outside of the site: %d %s", r.Status, r.Body)
	}
}

func TestPagesAreReadByTheirPathsInSearchResults(t *testing.T) {
	files := map[string]string{"index.html": "<h1>Languages</h1><p>All of them."}
	for _, name := range []string{"C", "C#", "F#", "50%"} {
		files[name+".html"] = "<h1>" + name + " language</h1><p>Text.<h2 id=intro>Start with " + name + "</h2><p>More."
	}
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", caddytest.Folder(t, files)))
	waitForLocks(t, s)
	for path, title := range map[string]string{"C": "C", "C#": "C#", "C#intro": "C", "C##intro": "C#", "F##intro": "F#", "50%": "50%", "50%#intro": "50%", "50%25": "50%", "/C%23.html": "C#"} {
		r := s.Do(caddytest.Request{Path: "/v1/page/acme", Body: fmt.Sprintf(`{"path":%q}`, path)})
		if !strings.Contains(string(r.Body), "title: "+title+" language") && !strings.Contains(string(r.Body), `title: \"`+title+` language`) {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	if r := s.Do(caddytest.Request{Path: "/v1/page/acme", Body: `{"path":"Help:Missing"}`}); r.Status != http.StatusNotFound {
		t.Errorf("a missing page: %d %s", r.Status, r.Body)
	}
	for id, section := range map[string]string{"/C.html": "Text.", "C##intro": "Start with C#", "/C%23.html#intro": "Start with C#"} {
		if strings.HasPrefix(id, "/") {
			id = s.Base + id
		}
		r := s.Do(caddytest.Request{Path: "/mcp", Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":%q}}}`, id)})
		if !strings.Contains(string(r.Body), section) || strings.Contains(string(r.Body), "no section") {
			t.Errorf("%s: %d %s", id, r.Status, r.Body)
		}
	}
}

// The front matter of Markdown that nothing renders has the URL where it is served.
func TestUnrenderedMarkdownNamesItsOwnURL(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{"index.html": "<h1>Home</h1><p>Text.", "db.md": "# Databases\n\nConnect them."})
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", root))
	waitForLocks(t, s)
	for what, r := range map[string]*caddytest.Response{
		"the page endpoint": s.Do(caddytest.Request{Path: "/v1/page/acme", Body: `{"path":"db"}`}),
		"llms-full.txt":     getPage(s, "/llms-full.txt"),
		"fetch":             s.Do(caddytest.Request{Path: "/mcp", Body: `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + s.Base + `/db.md"}}`}),
	} {
		if !strings.Contains(strings.ReplaceAll(string(r.Body), `\n`, "\n"), "url: "+s.Base+"/db.md\n") {
			t.Errorf("%s: %d %s", what, r.Status, r.Body)
		}
	}
}

// Files take precedence, so the Markdown for a missing page advises no question at
// one: programs would take the file for the answer.
func TestTheAdviceToAskLeadsToAnAnswer(t *testing.T) {
	for file, asks := range map[string]bool{"database.html": true, "database.md": false} {
		files := map[string]string{file: "# Databases\n\nConnect them."}
		if asks {
			files[file] = "<h1>Databases</h1><p>Connect them."
		}
		s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", caddytest.Folder(t, files)))
		waitForLocks(t, s)
		r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/datbase", Key: "-", Header: map[string]string{"Accept": "text/markdown"}})
		if r.Status != http.StatusNotFound || !strings.Contains(string(r.Body), "/database.") {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		_, advice, ok := strings.Cut(string(r.Body), "into this URL: "+s.Base)
		if ok != asks || strings.Contains(string(r.Body), "?ask=") != asks {
			t.Errorf("%v: %s", files, r.Body)
		}
		if ok {
			path, _, _ := strings.Cut(advice, "\n")
			if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: strings.Replace(path, "how+to", "connect", 1), Key: "-"}); r.Status != http.StatusOK || !strings.HasPrefix(string(r.Body), "> connect\n") {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
	}
}

// A page that is gone is 404; one that can't be read at the moment isn't.
func TestAPageThatCannotBeReadIsNotGone(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{"index.md": "# Home\n\nText.", "broken.md": "# Broken\n\nText.", "gone.md": "# Gone\n\nText."})
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme {\nwatch off\nlocks off\n}\nfile_server\n}\n", root))
	s.Ready("acme")
	for _, name := range []string{"broken.md", "gone.md"} {
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "broken.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string]string{"index": "200 ", "gone": "404 unknown_page", "nosuch": "404 unknown_page", "broken": "500 internal"} {
		r := s.Do(caddytest.Request{Path: "/v1/page/acme", Body: fmt.Sprintf(`{"path":%q}`, page)})
		var e struct{ Code string }
		_ = json.Unmarshal(r.Body, &e) // the page has none
		if got := fmt.Sprintf("%d %s", r.Status, e.Code); got != want {
			t.Errorf("%s: %s instead of %s: %s", page, got, want, r.Body)
		}
	}
}

// Who may read a page was found out for the text that the index has. Another one
// in its file is not served, nor kept for the time when it is gone again.
func TestATextThatNobodyHasReadIsNotServed(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{"index.html": "<h1>Front</h1><p>Text.", "plan.html": "<h1>Plan</h1><p>The open text."})
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme {\nwatch off\n}\ntemplates\nfile_server\n}\n", root))
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	texts := func() string {
		return string(getPage(s, "/plan.md").Body) + string(s.Do(caddytest.Request{Path: "/v1/page/acme", Body: `{"path":"plan"}`}).Body) + string(getPage(s, "/llms-full.txt").Body)
	}
	for _, text := range []string{"The secret text.", "The open text."} {
		caddytest.Write(t, root, map[string]string{"plan.html": "<h1>Plan</h1><p>" + text + "{{if eq (.Req.Header.Get `X-Staff`) ``}}{{httpError 403}}{{end}}"})
		if text == "The open text." {
			caddytest.Write(t, root, map[string]string{"plan.html": "<h1>Plan</h1><p>" + text})
		}
		if got := texts(); strings.Contains(got, "secret") || strings.Contains(got, "The open text") != (text == "The open text.") {
			t.Errorf("while the file says %q: %s", text, got)
		}
	}
}

// What a locked page no longer has when it is unlocked was never public.
func TestWhatWasRemovedBeforeThePageWasUnlockedIsNotFound(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{
		"index.html": "<h1>Front</h1><p>Text.", "short.html": "<h1>Short</h1><p>Zeppelin.",
		"long.html": "<h1>Long</h1><p>Many words about the fair in spring, where all of us meet, and the name of the airship is Zeppelin.",
	})
	blocks := "http://localhost:0 {\nroot * %q\n%s\ndocs acme {\nwatch poll 1h\n}\nfile_server\n}\n"
	s := caddytest.Start(t, "", fmt.Sprintf(blocks, root, "respond /short.html 403\nrespond /long.html 403"))
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	caddytest.Write(t, root, map[string]string{
		"short.html": "<h1>Short</h1><p>Balloon.",
		"long.html":  "<h1>Long</h1><p>Many words about the fair in spring, where all of us meet, and the name of the airship is secret.",
	})
	s.Load("", fmt.Sprintf(blocks, root, ""))
	caddytest.Until(t, "every page was asked for", func() bool {
		return !slices.ContainsFunc(caddytest.App(t).Site("acme").Reach.Pages(), func(p reach.Page) bool { return strings.HasPrefix(p.Why, "was not asked") })
	})
	if got := s.Search("acme", `{"query":"zeppelin"}`); len(got) > 0 {
		t.Errorf("a text that no stranger ever got is found: %+v", got)
	}
	if _, err := caddytest.App(t).Site("acme").Index.Refresher.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the new text is found", func() bool { return len(s.Search("acme", `{"query":"balloon"}`)) > 0 })
}

// Nor where a lock responds with 200, for pages too that are not served.
func TestALockedPageIsAMissingOneWhereItsLockIs200(t *testing.T) {
	files := maps.Clone(agentFiles)
	files["internal/plan.html"], files["gone/plan.html"], files["login.html"] = "<h1>Plan</h1><p>Of the year.", "<h1>Plan</h1><p>Of before.", "<title>Login</title><form>Who are you?</form>"
	s := caddytest.Start(t, "", fmt.Sprintf(`http://localhost:0 {
	root * %q
	@out {
		path /internal/* /gone/*
		not header Cookie *staff*
	}
	@gone path /gone/*
	docs acme {
		widget inject
	}
	rewrite @out /login.html
	error @gone 404
	file_server
}
`, caddytest.Folder(t, files)))
	waitForLocks(t, s)
	caddytest.AllAsked(t, "acme")
	face := func(path, accept string) string {
		r := getPage(s, path, "Accept", accept)
		header := r.Header.Clone()
		header.Del("Date")
		return strings.ReplaceAll(fmt.Sprint(r.Status, header, string(r.Body)), path, "")
	}
	for _, accept := range []string{"text/html", forMarkdown} {
		for _, folder := range []string{"/internal/", "/gone/"} {
			if got, want := face(folder+"plan.html", accept), face(folder+"nothing.html", accept); got != want {
				t.Errorf("%s for %s: %s\nwhere there is nothing: %s", folder, accept, got, want)
			}
		}
	}
	caddytest.Until(t, "who can open the page gets its links", func() bool {
		r := getPage(s, "/internal/plan.html", "Cookie", "staff", "Accept", "text/html")
		return strings.Contains(strings.Join(r.Header.Values("Link"), " "), "plan.html.md")
	})
}

// Where a lock responds with 404, a client can't tell a locked page from a
// missing one: status, headers and body are the same in every form.
func TestALockedPageIsAMissingOneWhereItsLockIs404(t *testing.T) {
	files := maps.Clone(agentFiles)
	files["internal/plan.html"] = "<h1>Plan</h1><p>Of the year."
	files["internal/notes.md"] = "# Notes\n\nOf the year."
	s := caddytest.Start(t, "", fmt.Sprintf(`http://localhost:0 {
	root * %q
	@out {
		path /internal/*
		not header Cookie *staff*
	}
	respond @out 404
	docs acme
	encode
	file_server
}
`, caddytest.Folder(t, files)))
	waitForLocks(t, s)
	caddytest.AllAsked(t, "acme")
	if r := getPage(s, "/internal/plan.html", "Cookie", "staff"); r.Status != http.StatusOK {
		t.Fatalf("a reader of the page gets %d", r.Status)
	}
	face := func(q caddytest.Request, name string) string {
		r := s.Do(q)
		header := r.Header.Clone()
		header.Del("Date")
		header.Del("RateLimit")
		body := regexp.MustCompile(`"requestId":"[^"]*"`).ReplaceAllString(string(r.Body), "")
		return strings.ReplaceAll(fmt.Sprintf("%d %v\n%s", r.Status, header, body), name, "NAME")
	}
	for _, locked := range []string{"plan", "notes"} {
		missing := strings.Repeat("q", len(locked))
		for _, extension := range []string{"", "/", ".html", ".md", ".md?ask=year", ".html.md"} {
			for _, accept := range []string{"", "*/*", "text/html", forMarkdown, "application/json"} {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					ask := func(name string) string {
						return face(caddytest.Request{Method: method, Path: "/internal/" + name + extension, Key: "-", Header: map[string]string{"Accept": accept}}, name)
					}
					if a, b := ask(locked), ask(missing); a != b || !strings.HasPrefix(a, "404 ") {
						t.Errorf("%s /internal/%s%s, Accept %q:\n%s\na missing page:\n%s", method, locked, extension, accept, a, b)
					}
				}
			}
		}
		for path, body := range map[string]string{
			"/v1/page/acme": `{"path":"internal/%s"}`,
			"/mcp":          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"/internal/%s.html"}}}`,
		} {
			ask := func(name string) string {
				return face(caddytest.Request{Path: path, Body: fmt.Sprintf(body, name)}, name)
			}
			if a, b := ask(locked), ask(missing); a != b {
				t.Errorf("%s:\n%s\na missing page:\n%s", path, a, b)
			}
		}
	}
}
