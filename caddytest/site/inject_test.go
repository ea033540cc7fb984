package site

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

const widgetTag = `<script src="/v1/widget/acme.js" defer></script>`

// linksForAgents stand after the tag and in the body, where llms serves Markdown.
var linksForAgents = regexp.MustCompile(`<link rel="alternate" type="text/markdown" href="[^"]*"><link rel="llms-txt" href="[^"]*">|<docs-agents hidden>.*?</docs-agents>`)

func withoutLinks(body []byte) string { return string(linksForAgents.ReplaceAll(body, nil)) }

const homePage = "<!doctype html>\n<html><head><title>Home</title></head><body><h1>Home</h1></body></html>\n"

var navigation = map[string]string{"Accept": "text/html,*/*", "Accept-Encoding": "gzip"}

func getWith(s *caddytest.Server, path string, header map[string]string) *caddytest.Response {
	return s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Header: header})
}

// unzipped returns the body of a response.
func unzipped(t *testing.T, r *caddytest.Response) string {
	t.Helper()
	if r.Header.Get("Content-Encoding") != "gzip" {
		return string(r.Body)
	}
	z, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func zipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

// startBlock runs a site block with pages.
func startBlock(t *testing.T, files map[string]string, directives string) *caddytest.Server {
	t.Helper()
	s := caddytest.Start(t, "", "http://:0 {\n\troot "+caddytest.Folder(t, files)+"\n\tdocs acme {\n\t\twidget inject\n\t}\n"+directives+"\n}\n")
	s.Ready("acme")
	return s
}

func TestTheTagStandsInPages(t *testing.T) {
	long := "<!doctype html><title>Long</title>" + strings.Repeat("<p>Words.</p>", 400_000)
	files := map[string]string{
		"index.html":    homePage,
		"app.js":        "var head = '</head>'",
		"data.json":     `{"html":"<head></head>"}`,
		"fragment.html": "<div><script>x</script>A part of a page</div>",
		"has.html":      "<!doctype html><head><script src=/v1/widget/acme.js defer></script></head><p>Has it",
		"nohead.html":   "<!DOCTYPE html>\n<title>No head</title><p>Text</p>",
		"trap.html":     "<!doctype html><head><!-- </head> --><script>var s='</head><body>'</script><style>/*</head>*/</style></HEAD ><body>",
		"meta.html":     `<!doctype html><head><meta http-equiv="Content-Security-Policy" content="script-src 'nonce-x'"></head>`,
		"onlyhead.html": "<!doctype html><head><title>x</title>",
		"empty.html":    "",
		"bom.html":      "\xef\xbb\xbf<!doctype html><html><body>x",
		"long.html":     long,
		"icons.html":    "<!doctype html><head><template id=x><template><svg></svg></template></head><i>y</i></template><noscript><img src=a></noscript><title>Icons</title></head><body>",
	}
	s := startBlock(t, files, "\tfile_server")
	for path, want := range map[string]string{
		"/":              strings.Replace(homePage, "</head>", widgetTag+"</head>", 1),
		"/app.js":        files["app.js"],
		"/data.json":     files["data.json"],
		"/fragment.html": files["fragment.html"],
		"/has.html":      files["has.html"],
		"/nohead.html":   "<!DOCTYPE html>\n<title>No head</title>" + widgetTag + "<p>Text</p>",
		"/trap.html":     strings.Replace(files["trap.html"], "</HEAD >", widgetTag+"</HEAD >", 1),
		"/meta.html":     files["meta.html"],
		"/onlyhead.html": files["onlyhead.html"] + widgetTag,
		"/empty.html":    "",
		"/bom.html":      strings.Replace(files["bom.html"], "<body>", widgetTag+"<body>", 1),
		"/long.html":     long,                                                                                // more than 4 MB
		"/icons.html":    strings.Replace(files["icons.html"], "</head><body>", widgetTag+"</head><body>", 1), // as Starlight's
	} {
		r := getWith(s, path, navigation)
		if withoutLinks(r.Body) != want {
			t.Errorf("%s: %.300q, want %.300q", path, r.Body, want)
		}
		if n := r.Header.Get("Content-Length"); n != strconv.Itoa(len(r.Body)) {
			t.Errorf("%s: length %s of %d bytes", path, n, len(r.Body))
		}
		head := s.Do(caddytest.Request{Method: "HEAD", Path: path, Key: "-", Header: navigation})
		if head.Status != 200 || len(head.Body) != 0 || strings.Contains(want, widgetTag) && head.Header.Get("ETag") != r.Header.Get("ETag") {
			t.Errorf("HEAD %s: %d, ETag %s and %s", path, head.Status, head.Header.Get("ETag"), r.Header.Get("ETag"))
		}
	}
	if r := getWith(s, "/missing", navigation); r.Status != 404 || !strings.Contains(string(r.Body), widgetTag) {
		t.Errorf("a missing page: %d %s", r.Status, r.Body)
	}
	// What the assistant and the locks read has no tag.
	if found := s.Search("acme", `{"query":"home"}`); len(found) == 0 || strings.Contains(found[0].Content, "script") {
		t.Errorf("found %+v", found)
	}
}

func TestPagesWithTheTagAreCachedAndNeverSentInParts(t *testing.T) {
	s := startBlock(t, map[string]string{"index.html": homePage, "big.js": strings.Repeat("x", 5000)}, "\tfile_server")
	first := getWith(s, "/", navigation)
	etag := first.Header.Get("ETag")
	if !strings.Contains(etag, `-docs`) || first.Header.Get("Accept-Ranges") != "" {
		t.Fatalf("header %v", first.Header)
	}
	with := func(more map[string]string) map[string]string {
		all := map[string]string{}
		for _, m := range []map[string]string{navigation, more} {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	if r := getWith(s, "/", with(map[string]string{"If-None-Match": etag})); r.Status != 304 || r.Header.Get("ETag") != etag || len(r.Body) != 0 {
		t.Errorf("asked again: %d %v", r.Status, r.Header)
	}
	plain := strings.Split(etag, "-docs")[0] + `"`
	for name, header := range map[string]map[string]string{
		"a copy without the tag":   {"If-None-Match": plain},
		"a copy with another tag":  {"If-None-Match": strings.Replace(etag, "-docs", "-docs0", 1)},
		"a copy by its date":       {"If-Modified-Since": first.Header.Get("Last-Modified")},
		"a part":                   {"Range": "bytes=10-20"},
		"a part of the same page":  {"Range": "bytes=10-20", "If-Range": etag},
		"a copy and others by tag": {"If-None-Match": `"x", ` + plain},
		"the same page as before":  {"If-Match": `"x", ` + etag},
	} {
		if r := getWith(s, "/", with(header)); r.Status != 200 || !strings.Contains(string(r.Body), widgetTag) {
			t.Errorf("%s: %d %q", name, r.Status, r.Body)
		}
	}
	if r := getWith(s, "/", with(map[string]string{"If-None-Match": `"x", ` + etag})); r.Status != 304 {
		t.Errorf("one of two tags: %d", r.Status)
	}
	if r := getWith(s, "/", with(map[string]string{"If-Match": `"x"`})); r.Status != 412 {
		t.Errorf("another page than before: %d", r.Status)
	}
	// Other files are as before.
	js := getWith(s, "/big.js", map[string]string{"Range": "bytes=0-9"})
	if js.Status != 206 || len(js.Body) != 10 || strings.Contains(js.Header.Get("ETag"), "docs") {
		t.Errorf("a part of a script: %d %v", js.Status, js.Header)
	}
	if r := getWith(s, "/big.js", map[string]string{"If-None-Match": js.Header.Get("ETag")}); r.Status != 304 {
		t.Errorf("a script asked again: %d", r.Status)
	}
}

func TestTheTagGoesWithOtherDirectives(t *testing.T) {
	files := map[string]string{
		"index.html": homePage, "index.html.gz": zipped(homePage), "app.js": strings.Repeat("x();", 900), "app.js.gz": zipped("precompressed"),
		"t.html":    `{{$x := "</head>"}}<!doctype html><html>{{include "/head.inc"}}<body>{{.Host}}</body></html>`,
		"head.inc":  "<head><title>From a template</title></head>",
		"long.html": strings.Replace(homePage, "<h1>", strings.Repeat("<p>Some words.</p>", 500)+"<h1>", 1),
	}
	for name, directives := range map[string]string{
		"precompressed files": "\tfile_server {\n\t\tprecompressed gzip\n\t}",
		"encode":              "\tencode gzip\n\tfile_server",
		"both":                "\tencode gzip\n\tfile_server {\n\t\tprecompressed gzip\n\t}",
		"handle":              "\thandle {\n\t\tfile_server\n\t}",
		"route and try_files": "\troute {\n\t\ttry_files {path} {path}/index.html\n\t\tfile_server\n\t}",
		"header":              "\theader X-Test yes\n\theader >Cache-Control max-age=60\n\tfile_server",
	} {
		t.Run(name, func(t *testing.T) {
			s := startBlock(t, files, directives)
			for _, path := range []string{"/", "/long.html"} {
				r := getWith(s, path, navigation)
				if body := withoutLinks([]byte(unzipped(t, r))); strings.Count(body, widgetTag) != 1 || !strings.Contains(body, widgetTag+"</head>") {
					t.Errorf("%s: %.300q", path, body)
				}
				again := getWith(s, path, map[string]string{"Accept": "text/html", "Accept-Encoding": "gzip", "If-None-Match": r.Header.Get("ETag")})
				if again.Status != 304 {
					t.Errorf("%s: asked again with %s: %d %v", path, r.Header.Get("ETag"), again.Status, again.Header)
				}
			}
			if strings.Contains(directives, "encode") && getWith(s, "/long.html", navigation).Header.Get("Content-Encoding") != "gzip" {
				t.Error("the page is not compressed")
			}
			js := getWith(s, "/app.js", navigation)
			if strings.Contains(directives, "precompressed") && unzipped(t, js) != "precompressed" {
				t.Errorf("the script is not the compressed one: %v", js.Header)
			}
		})
	}
	t.Run("templates", func(t *testing.T) {
		s := startBlock(t, files, "\ttemplates\n\tencode gzip\n\tfile_server")
		r := getWith(s, "/t.html", navigation)
		if body := withoutLinks([]byte(unzipped(t, r))); !strings.Contains(body, "<title>From a template</title>"+widgetTag+"</head><body>") {
			t.Errorf("%q", body)
		}
	})
	t.Run("a prefix", func(t *testing.T) {
		s := caddytest.Start(t, "", "http://:0 {\n\thandle_path /docs/* {\n\t\troot "+caddytest.Folder(t, files)+"\n\t\tdocs acme {\n\t\t\twidget inject\n\t\t}\n\t\tfile_server\n\t}\n}\n")
		caddytest.Until(t, "the page has the tag", func() bool {
			body := withoutLinks(getWith(s, "/docs/", navigation).Body)
			return strings.Contains(body, `<script src="/docs/v1/widget/acme.js" defer></script></head>`)
		})
		if r := getWith(s, "/docs/v1/widget/acme.js", nil); r.Status != 200 {
			t.Errorf("the script: %d", r.Status)
		}
	})
	t.Run("docs_widget", func(t *testing.T) {
		s := caddytest.Start(t, "site acme {\n\troot "+caddytest.Folder(t, files)+"\n}", "http://:0 {\n\troot "+caddytest.Folder(t, files)+"\n\tsearch acme\n\tdocs_widget acme {\n\t\tinject\n\t\ttitle \"A <b>title</b>\"\n\t}\n\tfile_server\n}\n")
		s.Ready("acme")
		if r := getWith(s, "/", navigation); !strings.Contains(string(r.Body), widgetTag) {
			t.Errorf("%q", r.Body)
		}
		if r := getWith(s, "/v1/widget/acme.js", nil); !strings.Contains(string(r.Body), `"title":"A \u003cb\u003etitle\u003c/b\u003e"`) {
			t.Errorf("the script has no settings: %.300s", r.Body)
		}
	})
}

// The page's menu leads to an MCP server only where the site has one for everyone.
func TestThePagesMenuKnowsTheMCPServer(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{"index.html": homePage})
	block := func(host, words string) string {
		return "http://" + host + ":0 {\n\troot " + root + "\n\tdocs acme {\n\t\turl http://localhost\n" + words + "\n\t\twidget inject {\n\t\t\tfeatures search page_menu\n\t\t}\n\t}\n\tfile_server\n}\n"
	}
	for name, c := range map[string]struct {
		caddyfile string
		want      bool
	}{
		"by default":              {block("localhost", ""), true},
		"with a key":              {block("localhost", "\t\tmcp key"), false},
		"off":                     {block("localhost", "\t\tmcp off"), false},
		"that of another host":    {block("localhost", "\t\tmcp off") + "http://other.test:0 {\n\tdocs_mcp\n}\n", false},
		"that of the site's name": {block("localhost", "\t\tmcp off") + "http://other.test:0 {\n\tdocs_mcp acme\n}\n", true},
		"a menu is not wanted":    {strings.Replace(block("localhost", ""), " page_menu", "", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.Start(t, "", c.caddyfile)
			s.Ready("acme")
			if body := string(getWith(s, "/v1/widget/acme.js", nil).Body); strings.Contains(body, `"mcp":true`) != c.want {
				t.Errorf("the script: %.300s", body)
			}
		})
	}
}

func TestAProxiedPageStreamsOnceItsHeadIsThere(t *testing.T) {
	step := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w).Flush
		switch r.URL.Path {
		case "/stream":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<!doctype html><html><head><title>A</title>")
			_ = flush()
			fmt.Fprint(w, "</head><body>one ")
			_ = flush()
			<-step
			fmt.Fprint(w, "two</body></html>")
		case "/sniffed":
			fmt.Fprint(w, homePage)
		case "/encoded":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, homePage)
		case "/zipped": // which the proxy asked for itself, and decodes
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, zipped(homePage))
		case "/utf16":
			w.Header().Set("Content-Type", "text/html; charset=UTF-16LE")
			fmt.Fprint(w, homePage)
		case "/missing", "/made":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(map[string]int{"/missing": 404, "/made": 201}[r.URL.Path])
			fmt.Fprint(w, homePage)
		case "/broken":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, "<!doctype html><head>")
			_ = flush()
			panic(http.ErrAbortHandler)
		case "/bytes":
			w.Header().Set("Content-Type", "text/html")
			for _, b := range []byte("<!doctype html><head>" + strings.Repeat("<meta name=x>", 2000) + "</head><p>") {
				_, _ = w.Write([]byte{b})
				_ = flush()
			}
		}
	}))
	defer upstream.Close()
	s := caddytest.Start(t, "site acme {\n\troot "+caddytest.Folder(t, map[string]string{"a.md": "# A\n\nText.\n"})+"\n}",
		"http://:0 {\n\tsearch acme\n\tdocs_widget acme {\n\t\tinject\n\t}\n\treverse_proxy "+strings.TrimPrefix(upstream.URL, "http://")+"\n}\n")
	s.Ready("acme")

	ctx, cancel := context.WithTimeout(context.Background(), caddytest.Patience)
	defer cancel()
	resp, err := s.Open(ctx, caddytest.Request{Method: "GET", Path: "/stream", Key: "-", Header: navigation})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	want := "<!doctype html><html><head><title>A</title>" + widgetTag + "</head><body>one "
	got := make([]byte, len(want))
	if _, err := io.ReadFull(body, got); err != nil || string(got) != want {
		t.Errorf("before the rest of the page: %q, %v", got, err)
	}
	close(step)
	if rest, err := io.ReadAll(body); err != nil || string(rest) != "two</body></html>" {
		t.Errorf("the rest: %q, %v", rest, err)
	}
	for path, want := range map[string]string{
		"/sniffed": strings.Replace(homePage, "</head>", widgetTag+"</head>", 1), "/encoded": homePage, "/utf16": homePage,
		"/zipped":  strings.Replace(homePage, "</head>", widgetTag+"</head>", 1),
		"/missing": strings.Replace(homePage, "</head>", widgetTag+"</head>", 1), "/made": homePage,
		"/bytes": "<!doctype html><head>" + strings.Repeat("<meta name=x>", 2000) + widgetTag + "</head><p>",
	} {
		if r := getWith(s, path, navigation); string(r.Body) != want {
			t.Errorf("%s: %.200q, want %.200q", path, r.Body, want)
		}
	}
	if r := s.Do(caddytest.Request{Path: "/sniffed", Key: "-", Body: "a=b", Header: navigation}); string(r.Body) != homePage {
		t.Errorf("posted: %.200q", r.Body)
	}
	resp, err = s.Open(ctx, caddytest.Request{Method: "GET", Path: "/broken", Key: "-", Header: navigation})
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("a page that broke off looks whole")
	}
}

func TestPoliciesDecideAboutTheTag(t *testing.T) {
	for policy, want := range map[string]bool{
		"":                              true,
		"default-src 'self'":            true,
		"img-src 'none'":                true,
		"script-src 'self' 'nonce-abc'": true,
		"default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'none'; require-trusted-types-for 'script'": true,
		"default-src *":                                        true,
		"default-src 'none'; script-src 'self'":                false,
		"script-src 'nonce-abc'":                               false,
		"script-src 'sha256-abc' https://cdn.example":          false,
		"script-src 'self' 'nonce-abc' 'strict-dynamic'":       false,
		"script-src 'self'; script-src-elem https://x.example": false,
		"default-src 'none'":                                   false,
		"default-src 'self', script-src 'none'":                false,
	} {
		s := startBlock(t, map[string]string{"index.html": homePage}, "\theader Content-Security-Policy `"+policy+"`\n\tfile_server")
		if got := strings.Contains(string(getWith(s, "/", navigation).Body), widgetTag); got != want {
			t.Errorf("%q: tag %v", policy, got)
		}
		loaded, err := caddy.ActiveContext().App("docs")
		if err != nil {
			t.Fatal(err)
		}
		said := false
		for _, c := range (admin.API{App: loaded.(*app.App)}).Doctor(t.Context()) {
			said = said || c.What == "site acme widget" && !c.OK && strings.Contains(c.Found, "the Content-Security-Policy of / blocks the widget")
		}
		if said == want {
			t.Errorf("%q: doctor names the page: %v", policy, said)
		}
	}
}

func TestTheScriptIsCompressedAndCached(t *testing.T) {
	s := startBlock(t, map[string]string{"index.html": homePage}, "\tencode\n\tfile_server")
	r := getWith(s, "/v1/widget/acme.js", map[string]string{"Accept-Encoding": "gzip, zstd", "Origin": "https://elsewhere.example"})
	if r.Status != 200 || r.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || r.Header.Get("Content-Encoding") != "gzip" ||
		r.Header.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(unzipped(t, r), `{"site":"acme"`) || len(r.Body) > 3500 {
		t.Errorf("%d %v, %d bytes", r.Status, r.Header, len(r.Body))
	}
	// What browsers accept over TLS.
	if small := getWith(s, "/v1/widget/acme.js", map[string]string{"Accept-Encoding": "gzip, deflate, br, zstd"}); small.Header.Get("Content-Encoding") != "br" || len(small.Body) >= len(r.Body) {
		t.Errorf("Brotli: %v, %d bytes", small.Header, len(small.Body))
	} else if script, err := io.ReadAll(brotli.NewReader(bytes.NewReader(small.Body))); err != nil || string(script) != unzipped(t, r) {
		t.Errorf("Brotli: %v\n%s", err, script)
	}
	etag := r.Header.Get("ETag")
	if again := getWith(s, "/v1/widget/acme.js", map[string]string{"Accept-Encoding": "gzip", "If-None-Match": etag}); again.Status != 304 || again.Header.Get("ETag") != etag {
		t.Errorf("asked again: %d %v", again.Status, again.Header)
	}
	plain := getWith(s, "/v1/widget/acme.js", map[string]string{"Accept-Encoding": "identity"})
	if plain.Header.Get("Content-Encoding") != "" || plain.Header.Get("Content-Length") != strconv.Itoa(len(plain.Body)) {
		t.Errorf("plain: %v", plain.Header)
	}
	// The chunks that the script names.
	name := string(plain.Body)
	name = name[strings.Index(name, "main-"):]
	name = name[:strings.Index(name, ".js")+3]
	chunk := getWith(s, "/v1/widget/"+name, map[string]string{"Accept-Encoding": "gzip"})
	if chunk.Status != 200 || !strings.Contains(chunk.Header.Get("Cache-Control"), "immutable") || chunk.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%s: %d %v", name, chunk.Status, chunk.Header)
	}
	for path, want := range map[string]int{"/v1/widget/nowhere.js": 404, "/v1/widget/main-XXXX.js": 404, "/v1/widget/loader.js": 404, "/v1/widget/acme": 404} {
		if r := getWith(s, path, nil); r.Status != want {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	if head := s.Do(caddytest.Request{Method: "HEAD", Path: "/v1/widget/acme.js", Key: "-"}); head.Status != 200 || len(head.Body) != 0 {
		t.Errorf("HEAD: %d", head.Status)
	}
}
