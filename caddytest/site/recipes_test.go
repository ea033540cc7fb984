package site

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/parser"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// The Caddyfile of each recipe of the manual runs against a small site of its
// kind, whose pages its generator made (HOW.md in recipeSites). A search finds a
// page, and every result is served with its anchor.

const recipesDir = "../../docs/recipes"

// recipe is what a recipe's Caddyfile is tried with.
type recipe struct {
	// files is the folder that is at /srv/docs, below testdata.
	files string
	// prepare changes that folder, a copy, or the Caddyfile.
	prepare func(t *testing.T, page, dir, caddyfile string) string
	// query finds want, a URL without its scheme and host, first.
	query, want string
	// filter narrows the query, and header is sent with it to api, the default of
	// which is /v1/search/acme.
	filter string
	api    string
	// host is sent as Host if the Caddyfile's is a wildcard.
	host   string
	header map[string]string
	// check checks more.
	check func(t *testing.T, s *recipeSite)
}

// recipeSite is a recipe that runs.
type recipeSite struct {
	*caddytest.Server
	host, api string
	header    map[string]string
}

var recipes = map[string]recipe{
	"docusaurus": {files: "docusaurus", query: "gust of wind", want: "/docs/guide/wind/#gusts", filter: `{"version":"1.0"}`, check: func(t *testing.T, s *recipeSite) {
		s.finds(t, "gust of wind", `{"version":"current"}`, "/docs/next/guide/wind/#gusts")
	}},
	"vitepress": {files: "vitepress", query: "verify the installation", want: "/guide/install#verify-the-installation", check: func(t *testing.T, s *recipeSite) {
		s.pages(t, "/", "/guide/install", "/guide/wind") // not the files for language models
	}},
	"starlight": {files: "starlight", query: "gusts", want: "/guide/wind/#gusts", check: func(t *testing.T, s *recipeSite) {
		s.finds(t, "rafale", `{"language":"fr"}`, "/fr/guide/wind/#rafales")
		for _, r := range s.search(t, "install kite from a package", "") {
			if strings.Contains(r.Metadata.URL, "/fr/guide/install") && r.Metadata.Language != "en" {
				t.Errorf("the untranslated page %s has the language %s", r.Metadata.URL, r.Metadata.Language)
			}
		}
	}},
	"mkdocs": {files: "mkdocs", query: "verify the installation", want: "/guide/install/#verify-the-installation"},
	"sphinx": {files: "sphinx", query: "kite.send", want: "/api.html#kite.send", check: func(t *testing.T, s *recipeSite) {
		s.finds(t, "gusts", `{"version":"2.4"}`, "/guide/wind.html#gusts")
		s.pages(t, "/", "/api.html", "/guide/install.html", "/guide/wind.html")
	}},
	"mdbook": {files: "mdbook", query: "gusts", want: "/guide/wind.html#gusts", check: func(t *testing.T, s *recipeSite) {
		s.pages(t, "/", "/guide/install.html", "/guide/wind.html")
	}},
	"hugo": {files: "hugo", query: "gusts", want: "/guide/wind/#gusts", check: func(t *testing.T, s *recipeSite) {
		s.pages(t, "/", "/guide/", "/guide/install/", "/guide/wind/")
	}},
	"jekyll": {files: "jekyll", query: "gusts", want: "/guide/wind/#gusts"},
	"markdown": {files: "markdown", prepare: withTemplate, query: "verify the installation", want: "/guide/install#verify-the-installation", check: func(t *testing.T, s *recipeSite) {
		if r := s.do(http.MethodGet, "/guide/install", ""); !strings.Contains(string(r.Body), `<meta name="viewport" content="width=device-width">`) {
			t.Errorf("on a phone, the page is as wide as on a desk:\n%s", r.Body)
		}
	}},
	"mdx":   {files: "markdown", prepare: renderedAsMDX, query: "gusts", want: "/guide/wind#gusts"},
	"path":  {files: "mkdocs", query: "gusts", want: "/docs/guide/wind/#gusts", api: "/docs/v1/search/acme"},
	"proxy": {files: "mkdocs", prepare: behindSitemap, query: "gusts", want: "/guide/wind/#gusts"},
	"versions": {files: "markdown", prepare: twoVersions, query: "gust above knots", want: "/v2/guide/wind.html#gusts", check: func(t *testing.T, s *recipeSite) {
		s.finds(t, "gust above knots", `{"version":"1.x"}`, "/v1/guide/wind.html#gusts")
		if r := s.do(http.MethodPost, s.api, `{"query":"gust above knots"}`); strings.Contains(string(r.Body), "/v1/") {
			t.Errorf("a page is found in both versions: %s", r.Body)
		}
	}},
	"languages": {files: "starlight", query: "gusts", want: "/guide/wind/#gusts", check: func(t *testing.T, s *recipeSite) {
		s.finds(t, "rafale", `{"language":"fr"}`, "/fr/guide/wind/#rafales")
	}},
	"hosts": {files: "mkdocs", prepare: inSiteFolders, query: "gusts", want: "/guide/wind/#gusts", host: "acme.docs.acme.com", check: func(t *testing.T, s *recipeSite) {
		other := &recipeSite{Server: s.Server, host: "blog.docs.acme.com", api: "/v1/search/blog"}
		if r := other.do(http.MethodPost, other.api, `{"query":"gusts"}`); r.Status != http.StatusForbidden {
			t.Errorf("the key of acme opens blog: %d %s", r.Status, r.Body)
		}
	}},
	"cdn": {files: "mkdocs", prepare: trustedCDN, query: "gusts", want: "/guide/wind/#gusts", check: checkProxyHeaders},
	"nginx": {files: "mkdocs", prepare: func(_ *testing.T, _, _, caddyfile string) string {
		return strings.Replace(caddyfile, "\tbind 127.0.0.1\n", "", 1) // the test's client uses both addresses of localhost
	}, query: "gusts", want: "/guide/wind/#gusts", check: checkProxyHeaders},
	"cluster": {files: "mkdocs", query: "gusts", want: "/guide/wind/#gusts"},
	"sso": {files: "mkdocs", prepare: loginServer, query: "gusts", want: "/guide/wind/#gusts", header: map[string]string{"Cookie": "session=ada"}, check: func(t *testing.T, s *recipeSite) {
		s.header = nil
		if r := s.do(http.MethodPost, s.api, `{"query":"gusts"}`); r.Status != http.StatusUnauthorized {
			t.Errorf("a stranger gets %d\n%s", r.Status, r.Body)
		}
	}},
}

func TestEveryRecipeOfTheManualWorks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recipesDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name == "index" {
			continue
		}
		r, ok := recipes[name]
		if !ok {
			t.Errorf("no test runs the recipe %s", name)
			continue
		}
		seen++
		t.Run(name, func(t *testing.T) { r.run(t, file) })
	}
	if seen != len(recipes) {
		t.Errorf("%d recipes are in the manual, %d are tried", seen, len(recipes))
	}
}

func (r recipe) run(t *testing.T, file string) {
	page := caddytest.ReadFile(t, file)
	dir := filepath.Join(t.TempDir(), "docs")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(recipeSites, r.files))); err != nil {
		t.Fatal(err)
	}
	caddyfile := recipeFence(t, page, "caddyfile")
	if r.prepare != nil {
		caddyfile = r.prepare(t, page, dir, caddyfile)
	}
	state := t.TempDir()
	caddyfile = strings.NewReplacer("/srv/docs", dir, "/srv/shared/caddy", filepath.Join(state, "shared"), "/var/lib/caddy/docs", filepath.Join(state, "data")).Replace(caddyfile)
	host := regexp.MustCompile(`(?m)^(?:http://)?([\w.*]+) \{$`).FindStringSubmatch(caddyfile)
	if host == nil {
		t.Fatal("the Caddyfile has no site")
	}
	caddyfile = strings.Replace(caddyfile, host[0], "http://"+host[1]+":0 {", 1)
	s := &recipeSite{Server: caddytest.NewIn(t, state), host: cmp.Or(r.host, host[1]), api: cmp.Or(r.api, "/v1/search/acme"), header: r.header}
	if err := s.TryLoad(withGlobal(state, caddyfile)); err != nil {
		t.Fatalf("%v\n%s", err, caddyfile)
	}
	caddytest.Until(t, "every page was asked for", func() bool {
		pages, err := caddytest.App(t).Pages(t.Context(), "acme")
		return err == nil && len(pages) > 0
	})
	s.finds(t, r.query, r.filter, r.want)
	results := s.search(t, "kite wind knots line install", "")
	if len(results) < 3 {
		t.Errorf("%d results", len(results))
	}
	for _, result := range results {
		s.serves(t, result.Metadata.URL)
	}
	if filepath.Base(file) == r.files+".md" { // a generator's
		s.suggests(t, strings.TrimSuffix(withoutHost(t, results[0].Metadata.URL), "/"))
	}
	if r.check != nil {
		r.check(t, s)
	}
}

// withGlobal adds the test's options to those of a recipe.
func withGlobal(dir, caddyfile string) string {
	options := fmt.Sprintf("\tadmin off\n\tpersist_config off\n\tauto_https off\n\tlog {\n\t\toutput file %q\n\t}\n", filepath.Join(dir, "log"))
	if !strings.Contains(caddyfile, "\tstorage ") {
		options += fmt.Sprintf("\tstorage file_system %q\n", filepath.Join(dir, "storage"))
	}
	key := "\t\tkey " + caddytest.Key + " {\n\t\t\torganization acme\n\t\t}\n"
	if strings.Contains(caddyfile, "\n\tdocs {\n") && strings.HasPrefix(caddyfile, "{\n") {
		if !strings.Contains(caddyfile, "\tdata_dir ") {
			key += fmt.Sprintf("\t\tdata_dir %q\n", filepath.Join(dir, "data"))
		}
		caddyfile = strings.Replace(caddyfile, "\n\tdocs {\n", "\n\tdocs {\n"+key, 1)
	} else {
		options += fmt.Sprintf("\tdocs {\n\t\tdata_dir %q\n%s\t}\n", filepath.Join(dir, "data"), key)
	}
	if rest, ok := strings.CutPrefix(caddyfile, "{\n"); ok {
		return "{\n" + options + rest
	}
	return "{\n" + options + "}\n\n" + caddyfile
}

func (s *recipeSite) do(method, path, body string) *caddytest.Response {
	key := ""
	if method == http.MethodGet {
		key = "-"
	}
	return s.Do(caddytest.Request{Method: method, Path: path, Body: body, Host: s.host, Key: key, Header: s.header})
}

func (s *recipeSite) search(t *testing.T, query, filter string) []caddytest.Result {
	t.Helper()
	body := fmt.Sprintf(`{"query":%q,"pageSize":50}`, query)
	if filter != "" {
		body = fmt.Sprintf(`{"query":%q,"pageSize":50,"filter":%s}`, query, filter)
	}
	r := s.do(http.MethodPost, s.api, body)
	var results []caddytest.Result
	if err := json.Unmarshal(r.Body, &results); err != nil || r.Status != http.StatusOK {
		t.Fatalf("searching for %s: %d %s", query, r.Status, r.Body)
	}
	return results
}

// finds searches, and checks that the first result is at a URL that serves it.
func (s *recipeSite) finds(t *testing.T, query, filter, want string) {
	t.Helper()
	results := s.search(t, query, filter)
	if len(results) == 0 || withoutHost(t, results[0].Metadata.URL) != want {
		t.Errorf("%s %s: %+v, want %s first", query, filter, results, want)
	}
	s.serves(t, want)
}

// serves checks that a URL answers 200 and has an element for its anchor.
func (s *recipeSite) serves(t *testing.T, address string) {
	t.Helper()
	path, anchor, _ := strings.Cut(withoutHost(t, address), "#")
	r := s.do(http.MethodGet, path, "")
	if anchor, _ = url.PathUnescape(anchor); r.Status != http.StatusOK {
		t.Errorf("%s is %d", address, r.Status)
	} else if anchor != "" && !regexp.MustCompile(` id="?`+regexp.QuoteMeta(html.EscapeString(anchor))+`["\s>]`).Match(r.Body) {
		t.Errorf("%s has no element for its anchor", address)
	}
}

// suggests checks that a page whose URL is nearly that of another names it, and that
// no page is sent instead of a picture.
func (s *recipeSite) suggests(t *testing.T, page string) {
	t.Helper()
	page, _, _ = strings.Cut(page, "#")
	ask := func(path string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: http.MethodGet, Path: path, Host: s.host, Key: "-", Header: map[string]string{"Accept": "text/html,*/*;q=0.8"}})
	}
	if r := ask(strings.TrimSuffix(page, ".html") + "-old.html"); r.Status != http.StatusNotFound || !strings.Contains(string(r.Body), `<div class="docs-missing"`) || !strings.Contains(string(r.Body), page) {
		t.Errorf("a page that is not there: %d, without %s\n%s", r.Status, page, r.Body)
	}
	if r := ask("/assets/kite.png"); r.Status != http.StatusNotFound || len(r.Body) > 0 {
		t.Errorf("a picture that is not there: %d\n%s", r.Status, r.Body)
	}
}

// pages checks which pages are public.
func (s *recipeSite) pages(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, p := range caddytest.App(t).Site("acme").Reach.Pages() {
		if p.State == "public" {
			got = append(got, withoutHost(t, p.URL))
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("public are %q, want %q", got, want)
	}
}

func withoutHost(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Scheme, u.Host = "", ""
	return u.String()
}

// checkProxyHeaders checks what proxies rely on.
func checkProxyHeaders(t *testing.T, s *recipeSite) {
	r := s.do(http.MethodPost, s.api, `{"query":"gusts"}`)
	if got := r.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("search has Cache-Control %q", got)
	}
	if !strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Origin") {
		t.Errorf("search has Vary %q", r.Header.Values("Vary"))
	}
	r = s.do(http.MethodPost, "/v2/assistant/acme/message", caddytest.Question("What does a gust do?", nil))
	if r.Header.Get("X-Accel-Buffering") != "no" || !strings.Contains(r.Header.Get("Cache-Control"), "no-transform") || !strings.Contains(string(r.Body), "30 knots") {
		t.Errorf("the stream is %d %v\n%s", r.Status, r.Header, r.Body)
	}
}

// withTemplate saves the recipe's template, next to Markdown.
func withTemplate(t *testing.T, page, dir, caddyfile string) string {
	caddytest.Write(t, dir, map[string]string{"_site/page.html": recipeFence(t, page, "html")})
	return caddyfile
}

// renderedAsMDX is a server that renders the Markdown as MDX servers do.
func renderedAsMDX(t *testing.T, _, dir, caddyfile string) string {
	render := goldmark.New(goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Join(dir, "content", strings.TrimSuffix(r.URL.Path, "/"))
		source, err := os.ReadFile(name + ".mdx")
		if err != nil {
			source, err = os.ReadFile(filepath.Join(name, "index.mdx"))
		}
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if _, body, ok := bytes.Cut(source, []byte("\n---\n")); ok && bytes.HasPrefix(source, []byte("---\n")) {
			source = body
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = render.Convert(source, w)
	}))
	t.Cleanup(server.Close)
	if err := os.CopyFS(filepath.Join(dir, "content"), os.DirFS(filepath.Join(recipeSites, "markdown"))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(filepath.Join(dir, "content"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Rename(path, path+"x") // .md to .mdx
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(caddyfile, "127.0.0.1:3000", server.Listener.Addr().String(), 1)
}

// behindSitemap serves the folder on another server, with a sitemap of public URLs.
func behindSitemap(t *testing.T, _, dir, caddyfile string) string {
	caddytest.Write(t, dir, map[string]string{"sitemap.xml": `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` +
		`<url><loc>https://docs.acme.com/</loc></url><url><loc>https://docs.acme.com/guide/install/</loc></url><url><loc>https://docs.acme.com/guide/wind/</loc></url></urlset>`})
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return strings.ReplaceAll(caddyfile, "127.0.0.1:3000", server.Listener.Addr().String())
}

// twoVersions writes two versions.
func twoVersions(t *testing.T, _, dir, caddyfile string) string {
	for version, knots := range map[string]string{"v1": "35", "v2": "30"} {
		caddytest.Write(t, filepath.Join(dir, version), map[string]string{
			"guide/install.html": "<html lang=en><title>Install</title><main><h1>Install Kite</h1><p>Kite needs a line.</main>",
			"guide/wind.html":    `<html lang=en><title>Wind</title><main><h1>Wind</h1><p>Kite needs wind.<h2 id="gusts">Gusts</h2><p>A gust above ` + knots + ` knots breaks the line.</main>`,
		})
	}
	for _, name := range []string{"index.md", "guide"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return caddyfile
}

// inSiteFolders moves the site into a folder of sites.
func inSiteFolders(t *testing.T, _, dir, caddyfile string) string {
	sites := filepath.Join(filepath.Dir(dir), "sites")
	for _, name := range []string{"acme", "blog"} {
		if err := os.CopyFS(filepath.Join(sites, name), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(caddyfile, "/srv/sites", sites)
}

// trustedCDN makes the test the CDN.
func trustedCDN(t *testing.T, _, _, caddyfile string) string {
	changed := strings.Replace(caddyfile, "203.0.113.0/24 2001:db8::/32", "127.0.0.0/8 ::1/128", 1)
	if changed == caddyfile {
		t.Fatal("the Caddyfile names no addresses of a CDN")
	}
	return changed
}

// loginServer is an authentication server for one session.
func loginServer(t *testing.T, _, _, caddyfile string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err != nil || c.Value != "ada" || r.URL.Path != "/api/verify" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Remote-User", "ada")
	}))
	t.Cleanup(server.Close)
	return strings.Replace(caddyfile, "https://auth.acme.com", server.URL, 1)
}

// recipeFence is the first block of code of a kind on a page.
func recipeFence(t *testing.T, page, kind string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "\n```"+kind+"\n")
	code, _, closed := strings.Cut(rest, "\n```")
	if !ok || !closed {
		t.Fatalf("the page has no block of %s", kind)
	}
	return code + "\n"
}
