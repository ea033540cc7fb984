package site

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// What agents read is there for scripts of other origins and takes few bytes.
func TestFilesForAgentsAreCompressedAndOpenToEveryOrigin(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{
		"index.html":     "<html lang=en><main><h1>Acme Docs</h1><p>" + strings.Repeat("Welcome to Acme. ", 100) + "</p></main></html>",
		"install.html":   "<html lang=en><main><h1>Install</h1><p>" + strings.Repeat("Run the installer. ", 100) + "</p><h2 id=linux>On Linux</h2><p>apt install acme.</p></main></html>",
		"fr/index.html":  "<html lang=fr><main><h1>Documentation Acme</h1><p>" + strings.Repeat("Bienvenue chez Acme. ", 100) + "</p></main></html>",
		"in/secret.html": "<html lang=en><main><h1>Secret</h1><p>" + strings.Repeat("The password is rosebud. ", 100) + "</p></main></html>",
	})
	s := caddytest.Start(t, "", `http://localhost:0 {
	root * `+root+`
	basic_auth /in/* {
		reader $2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W
	}
	docs acme {
		language en
		llms {
			content_signal search=yes ai-train=no
		}
	}
	file_server
}
`)
	waitForLocks(t, s)
	for path, want := range map[string]string{
		"/llms.txt": "/llms/others.txt", "/llms/others.txt": "/llms-full/language-fr.txt", "/llms-full.txt": "Run the installer.", "/llms-full/language-fr.txt": "Bienvenue",
		"/install.html.md": "# Install", "/sitemap.xml": "/fr/",
	} {
		r, err := s.Open(t.Context(), caddytest.Request{
			Method: http.MethodGet, Path: path, Key: "-",
			Header: map[string]string{"Accept-Encoding": "gzip", "Origin": "https://elsewhere.example"},
		})
		if err != nil {
			t.Fatal(err)
		}
		h, body := r.Header, io.Reader(r.Body)
		if h.Get("Content-Encoding") == "gzip" {
			body, err = gzip.NewReader(r.Body)
			if err != nil {
				t.Fatal(err)
			}
		} else if path == "/llms-full.txt" || path == "/install.html.md" {
			t.Errorf("%s is not compressed", path)
		}
		text, _ := io.ReadAll(body)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusOK || !strings.Contains(string(text), want) || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Content-Signal") != "search=yes, ai-train=no" {
			t.Errorf("%s: %d %v %s", path, r.StatusCode, h, text)
		}
		if strings.HasPrefix(path, "/llms-full") && strings.Contains(string(text), "Bienvenue") == strings.Contains(string(text), "Welcome") {
			t.Errorf("%s has both languages, or none: %s", path, text)
		}
		if again := getPage(s, path, "Accept-Encoding", "gzip", "If-None-Match", h.Get("ETag")); again.Status != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.Status)
		}
	}
	if r := getPage(s, "/llms-full/language-de.txt"); r.Status != http.StatusNotFound {
		t.Errorf("no such language: %d", r.Status)
	}
	if n := getPage(s, "/install.html.md").Header.Get("X-Markdown-Tokens"); len(n) != 3 {
		t.Errorf("%s tokens", n)
	}
	if r := getPage(s, "/install.html"); r.Header.Get("Content-Signal") == "" || !strings.Contains(strings.Join(r.Header["Link"], " "), `/llms.txt>; rel="llms-txt"`) {
		t.Errorf("a page: %v", r.Header)
	}
	// A page that this reader alone may open is not for scripts of others.
	if r := getPage(s, "/in/secret.html.md", "Authorization", agentsLogin); !strings.Contains(string(r.Body), "rosebud") || r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a locked page: %d %v %s", r.Status, r.Header, r.Body)
	}
}

func TestAPageAnswersAQuestionInMarkdown(t *testing.T) {
	s, _ := startForAgents(t, "")
	r := getPage(s, "/guide/upgrade.html.md?ask=install+on+linux")
	if text := string(r.Body); r.Status != http.StatusOK || !strings.HasPrefix(text, "> install on linux\n\n## ") || !strings.Contains(text, "apt install acme") ||
		!strings.Contains(text, "](http") || !strings.Contains(text, "The whole page: "+s.Base+"/guide/upgrade.html\n") {
		t.Errorf("%d %s", r.Status, text)
	}
	if h := r.Header; h.Get("Content-Type") != "text/markdown; charset=utf-8" || h.Get("Access-Control-Allow-Origin") != "" || h.Get("Cache-Control") != "private, no-store" {
		t.Errorf("%v", h)
	}
	if r := getPage(s, "/guide/install.html.md?ask=acme"); !strings.Contains(strings.SplitN(string(r.Body), "\n", 4)[2], "/guide/install.html") {
		t.Errorf("its own page is not first: %s", r.Body)
	}
	if r := getPage(s, "/guide/install.html.md?ask=zzzzqqq"); !strings.Contains(string(r.Body), "Nothing in the documentation matches") {
		t.Errorf("%s", r.Body)
	}
	if r := getPage(s, "/guide/install.html.md?ask=rosebud+password"); strings.Contains(string(r.Body), "The password is") {
		t.Errorf("a stranger reads the locked page: %s", r.Body)
	}
	if r := getPage(s, "/private/secret.html.md?ask=rosebud"); r.Status == http.StatusOK {
		t.Errorf("a stranger asks the locked page: %s", r.Body)
	}
}

func TestATypingErrorInAPathOfTheAPIIsReadableFromEveryOrigin(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{"index.html": "<h1>Acme</h1><p>Docs.", "v1/guide.html": "<h1>Guide</h1><p>Of version 1.", "404.html": "<h1>Not here"})
	s := caddytest.Start(t, "", `http://localhost:0 {
	root * `+root+`
	docs acme
	handle /v1/own/* {
		respond "its own" 404
	}
	handle {
		file_server
	}
	handle_errors {
		rewrite * /404.html
		file_server
	}
}
`)
	s.Ready("acme")
	from := map[string]string{"Origin": "https://elsewhere.example"}
	for _, q := range []caddytest.Request{
		{Path: "/v1/serch/acme", Body: `{}`}, {Path: "/v2/assistant/acme/mesage", Body: `{}`, Key: "-"}, {Path: "/v1/", Method: "DELETE"}, {Path: "/v1/search/acme", Method: "GET", Key: "-"},
	} {
		q.Header = from
		r := s.Do(q)
		if e := r.Error(t); r.Status != http.StatusNotFound || e.Code != "unknown_path" || r.Header.Get("Access-Control-Allow-Origin") != "https://elsewhere.example" {
			t.Errorf("%s %s: %d %v %s", q.Method, q.Path, r.Status, r.Header, r.Body)
		}
	}
	r := s.Do(caddytest.Request{Path: "/v1/serch/acme", Method: "OPTIONS", Key: "-", Header: map[string]string{
		"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type",
	}})
	if r.Status != http.StatusNoContent || r.Header.Get("Access-Control-Allow-Methods") != "POST" || r.Header.Get("Access-Control-Allow-Headers") != "authorization, content-type" {
		t.Errorf("preflight: %d %v", r.Status, r.Header)
	}
	for path, want := range map[string]string{"/v1/guide.html": "Of version 1", "/v1/nothing.html": "Not here", "/v3/nothing": "Not here"} {
		if r := getPage(s, path, "Accept", "text/html,*/*;q=0.8"); !strings.Contains(string(r.Body), want) {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	if r := s.Do(caddytest.Request{Path: "/v1/own/thing", Body: `{}`}); string(r.Body) != "its own" {
		t.Errorf("the site's own 404: %s", r.Body)
	}
}

func TestAFrontEndOnLocalhostMayAskASiteOnLocalhost(t *testing.T) {
	s, _ := startForAgents(t, "url http://localhost")
	ask := func(origin string) *caddytest.Response {
		return s.Do(caddytest.Request{Path: "/v1/search/acme", Body: `{"query":"install"}`, Key: "-", Header: map[string]string{"Origin": origin}})
	}
	token := func(origin string) int {
		return s.Do(caddytest.Request{Path: "/v1/token/acme", Key: "-", Header: map[string]string{"Origin": origin}}).Status
	}
	for origin, want := range map[string]int{
		"http://localhost:5173": 200, "http://127.0.0.1:3000": 200, "http://app.localhost:8081": 200,
		"https://evil.example": 403, "http://localhost.evil.example": 403, "http://192.168.0.1:3000": 403, "null": 403,
	} {
		if got := token(origin); got != want {
			t.Errorf("a token for %s: %d, want %d (%s)", origin, got, want, ask(origin).Body)
		}
	}
	public := caddytest.Start(t, "", "http://localhost:0 {\nroot * "+caddytest.Folder(t, agentFiles)+"\ndocs acme {\nurl https://docs.acme.com\n}\nfile_server\n}\n")
	if r := public.Do(caddytest.Request{Path: "/v1/token/acme", Key: "-", Header: map[string]string{"Origin": "http://localhost:5173"}}); r.Status != http.StatusForbidden {
		t.Errorf("a public site: %d %s", r.Status, r.Body)
	}
}

func TestTheServerCardIsWhereCrawlersLook(t *testing.T) {
	s, _ := startForAgents(t, "")
	for _, path := range []string{"/.well-known/mcp", "/.well-known/mcp.json", "/.well-known/mcp/server-card.json"} {
		r := getPage(s, path)
		for _, part := range []string{`"name": "localhost/acme"`, `"description": "All about Acme."`, `"type": "streamable-http"`, `"url": "` + s.Base + `/mcp"`} {
			if !strings.Contains(string(r.Body), part) || r.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s lacks %s: %d %v %s", path, part, r.Status, r.Header, r.Body)
			}
		}
	}
}

func TestPagesWithTheTagLeadToLLMs(t *testing.T) {
	s, root := startForAgents(t, "widget inject")
	caddytest.Write(t, root, map[string]string{"guide/body.html": "<!doctype html><html lang=en><head><title>Body</title></head>\n<!-- x --><body class=a><main><h1>Body</h1><p>Text of it.</p></main></body></html>"})
	caddytest.Until(t, "the page is public", func() bool { return getPage(s, "/guide/body.md").Status == http.StatusOK })
	link := `</head>
<!-- x --><body class=a><docs-agents hidden><a href="` + s.Base + `/llms.txt">For AI agents: the list of all pages, as Markdown</a></docs-agents><main>`
	page := getPage(s, "/guide/body.html", "Accept", "text/html")
	if n := page.Header.Get("Content-Length"); !strings.Contains(string(page.Body), link) || n != "" && n != strconv.Itoa(len(page.Body)) {
		t.Errorf("lacks %s: %v %s", link, page.Header, page.Body)
	}
	body := string(getPage(s, "/guide/install.html", "Accept", "text/html").Body)
	for _, link := range []string{`<link rel="alternate" type="text/markdown" href="` + s.Base + `/guide/install.html.md">`, `<link rel="llms-txt" href="` + s.Base + `/llms.txt">`} {
		if !strings.Contains(body, link) {
			t.Errorf("lacks %s: %s", link, body)
		}
	}
}

func TestASiteWithoutPagesHasEmptyLists(t *testing.T) {
	root := t.TempDir()
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme {\nwatch poll 1s\n}\nfile_server\n}\n", root))
	waitForLocks(t, s)
	for _, path := range []string{"/llms.txt", "/llms-full.txt", "/sitemap.xml"} {
		if r := getPage(s, path); r.Status != http.StatusOK {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	caddytest.Write(t, root, map[string]string{"guide.html": "<h1>Guide</h1><p>Text."})
	caddytest.Until(t, "a page is listed", func() bool { return strings.Contains(string(getPage(s, "/llms.txt").Body), "guide.html.md") })
}
