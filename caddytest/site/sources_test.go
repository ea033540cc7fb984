package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"
)

// finds reports whether a search for a word has a page among its results.
func finds(s *caddytest.Server, word, page string) bool {
	for _, r := range s.Search("acme", fmt.Sprintf(`{"query":%q,"pageSize":50,"scoreThreshold":0.3}`, word)) {
		if p, _, _ := strings.Cut(r.Path, "#"); p == page {
			return true
		}
	}
	return false
}

func TestChangesOfTheFolderAreFoundWithoutAReload(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	s := caddytest.Start(t, "", caddytest.Site(root))
	s.Ready("acme")

	caddytest.Write(t, root, map[string]string{"guide/new.md": "# Xylophone\n\nHow rockets play the xylophone.\n"})
	caddytest.Until(t, "a new page is found", func() bool { return finds(s, "xylophone", "guide/new") })
	caddytest.Write(t, root, map[string]string{"guide/new.md": "# Marimba\n\nRockets prefer the marimba now.\n"})
	caddytest.Until(t, "a changed page is found by its new words", func() bool { return finds(s, "marimba", "guide/new") })
	if finds(s, "xylophone", "guide/new") {
		t.Error("a changed page is still found by its old words")
	}
	if err := os.Rename(filepath.Join(root, "guide/new.md"), filepath.Join(root, "guide/instruments.md")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "a renamed page is found by its new name", func() bool { return finds(s, "marimba", "guide/instruments") && !finds(s, "marimba", "guide/new") })
	if err := os.Remove(filepath.Join(root, "guide/instruments.md")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "a deleted page is gone", func() bool { return !finds(s, "marimba", "guide/instruments") })
}

// What an earlier run left on disk answers before the folder is read again,
// even if it can't be.
func TestARestartAnswersFromDisk(t *testing.T) {
	dir, root := t.TempDir(), caddytest.AcmeFolder(t)
	site := caddytest.Site(root)
	s := caddytest.StartIn(t, dir, "", site)
	s.Ready("acme")
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(root, root+"-away"); err != nil {
		t.Fatal(err)
	}
	s.Load("", site)
	s.Ready("acme") // a start waits for no index
	if !finds(s, "countdown", "reference") {
		t.Error("nothing was loaded from disk")
	}
}

// A sitemap that arrives byte by byte keeps nobody from the pages that were read
// before, over restarts and reloads.
func TestASlowSitemapLeavesTheLastIndex(t *testing.T) {
	var slow atomic.Bool
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	defer site.Close()
	mux.HandleFunc("/start", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html lang=en><head><title>Start</title></head><body><main><h1>Start</h1><p>Rockets start with a countdown.</p></main></body></html>")
	})
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for slow.Load() && r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
		fmt.Fprintf(w, "<url><loc>%s/start</loc></url></urlset>", site.URL)
	})
	docs := "site acme {\n\tsitemap " + site.URL + "/sitemap.xml\n\tallow_private on\n}"
	s := caddytest.Start(t, docs, "http://:0 {\n\tsearch acme\n}\n")
	s.Ready("acme")
	slow.Store(true)
	defer slow.Store(false) // or the site's end waits for the request
	for name, again := range map[string]func(){
		"a restart": func() {
			if err := caddy.Stop(); err != nil {
				t.Fatal(err)
			}
			s.Load(docs, "http://:0 {\n\tsearch acme\n}\n")
			s.Ready("acme")
		},
		"a reload with other settings": func() {
			s.Load(strings.Replace(docs, "allow_private on", "allow_private on\n\texclude /blog/*", 1), "http://:0 {\n\tsearch acme\n}\n")
		},
	} {
		again()
		if !finds(s, "countdown", "start") { // at once: there is no waiting here
			t.Errorf("after %s, search waits for the sitemap", name)
		}
	}
}

func TestNothingToAnswerFromIs503(t *testing.T) {
	s := caddytest.Start(t, "", "http://:0 {\n\tdocs acme "+filepath.Join(t.TempDir(), "not-there-yet")+"\n}\n")
	r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x"}`})
	if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || r.Error(t).Code != "index_not_ready" {
		t.Errorf("%d %v %s", r.Status, r.Header, r.Body)
	}
	r = s.Do(caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("x", nil)})
	if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("asked: %d %s", r.Status, r.Body)
	}
	for line := range strings.Lines(s.Log()) {
		if strings.Contains(line, "request failed") && strings.Contains(line, `"level":"error"`) {
			t.Errorf("a request before the index is there is logged as an error: %s", line)
		}
	}
}

// A site that this Caddy proxies is read through its sitemap.
func TestASiteIsReadThroughItsSitemap(t *testing.T) {
	var gone atomic.Bool
	mux := http.NewServeMux()
	site := httptest.NewServer(mux)
	defer site.Close()
	page := func(title, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<html lang=en><head><title>%[1]s</title></head><body><nav>Menu</nav><main><h1 id=top>%[1]s</h1><p>%[2]s</p></main></body></html>", title, text)
		}
	}
	mux.HandleFunc("/docs/start", page("Getting started", "Rockets start with a countdown."))
	mux.HandleFunc("/docs/stop", func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		page("Stopping", "Rockets stop by themselves.")(w, r)
	})
	mux.HandleFunc("/private/plans", page("Plans", "Secret rockets."))
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /private/\n")
	})
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for _, p := range []string{"/docs/start", "/docs/stop", "/private/plans", "https://elsewhere.test/x"} {
			if strings.HasPrefix(p, "/") {
				p = site.URL + p
			}
			fmt.Fprintf(w, "<url><loc>%s</loc></url>", p)
		}
		fmt.Fprint(w, "</urlset>")
	})

	s := caddytest.Start(t, "site acme {\n\tsitemap "+site.URL+"/sitemap.xml\n\tallow_private on\n}", "http://:0 {\n\tsearch acme\n}\n")
	s.Ready("acme")
	results := s.Search("acme", `{"query":"rockets","pageSize":50}`)
	var urls []string
	for _, r := range results {
		urls = append(urls, r.Metadata.URL)
	}
	for _, want := range []string{site.URL + "/docs/start#top", site.URL + "/docs/stop#top"} {
		if !strings.Contains(strings.Join(urls, " ")+" ", want+" ") {
			t.Errorf("%s is not among %v", want, urls)
		}
	}
	if strings.Contains(strings.Join(urls, " "), "plans") {
		t.Errorf("robots.txt was not obeyed: %v", urls)
	}
	gone.Store(true)
	if _, err := caddytest.App(t).Refresh(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	if finds(s, "stop", "docs/stop") {
		t.Error("a page that is gone is still found")
	}
}

// The manual's example of a site that is proxied.
func TestAProxiedSiteIsReadFromItsUpstreamAndLinkedBelowItsURL(t *testing.T) {
	mux := http.NewServeMux()
	upstream := httptest.NewServer(mux)
	defer upstream.Close()
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "<urlset><url><loc>https://docs.acme.test/start</loc></url><url><loc>%s/stop</loc></url></urlset>", upstream.URL)
	})
	for _, page := range []string{"/start", "/stop"} {
		mux.HandleFunc(page, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<html><main><h1 id=top>Rockets</h1><p>How rockets "+page[1:]+".</main></html>")
		})
	}
	s := caddytest.Start(t, "site acme {\n\tsitemap "+upstream.URL+"/sitemap.xml\n\turl https://docs.acme.test\n\tallow_private on\n}",
		"http://:0 {\n\tsearch acme\n\treverse_proxy "+strings.TrimPrefix(upstream.URL, "http://")+"\n}\n")
	s.Ready("acme")
	var urls []string
	for _, r := range s.Search("acme", `{"query":"rockets"}`) {
		urls = append(urls, r.Metadata.URL)
	}
	slices.Sort(urls)
	if want := []string{"https://docs.acme.test/start#top", "https://docs.acme.test/stop#top"}; !slices.Equal(urls, want) {
		t.Errorf("found %v, want %v", urls, want)
	}
}

// Without allow_private, a sitemap can't make this Caddy send requests to its
// own network.
func TestASitemapDoesNotReachPrivateAddresses(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a private address was asked")
	}))
	defer site.Close()
	s := caddytest.Start(t, "site acme {\n\tsitemap "+site.URL+"/sitemap.xml\n}", "http://:0 {\n\tsearch acme\n}\n")
	caddytest.Until(t, "the log says why", func() bool { return strings.Contains(s.Log(), "allow_private") })
}

func TestTheFrontPageSaysWhichLanguageIsPreferred(t *testing.T) {
	files := map[string]string{"index.html": "<html lang=en><main><h1>Start</h1><p>Welcome.</main></html>"}
	for _, language := range []string{"tr", "de", "en"} {
		prefix := language + "/"
		if language == "en" {
			prefix = ""
		}
		files[prefix+"components/tabs.html"] = "<html lang=" + language + "><main><h1>Tabs</h1><p>" + strings.Repeat("tabs ", 1+len(prefix)) + ".</main></html>"
	}
	s := caddytest.Start(t, "", caddytest.Site(caddytest.Folder(t, files)))
	s.Ready("acme")
	// The language is known after the first refresh, a moment after its pages
	// can be found.
	caddytest.Until(t, "the English page is the first", func() bool {
		results := s.Search("acme", `{"query":"tabs"}`)
		return len(results) > 0 && results[0].Path == "components/tabs"
	})
}

func TestVersionsAndLanguages(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{
		"v1/setup.md":    "# Setup\n\nCall setup with the old engine.\n",
		"v2/setup.md":    "# Setup\n\nCall setup with the new engine.\n",
		"fr/v2/setup.md": "# Installation\n\nLe setup du nouveau moteur.\n",
	})
	s := caddytest.Start(t, "", "http://:0 {\n\tdocs acme "+root+" {\n\t\tversion 1.x /v1/*\n\t\tversion 2.x /v2/* /fr/v2/*\n\t\tversion 2.x\n\t\tlanguage fr /fr/*\n\t\tlanguage en\n\t}\n}\n")
	s.Ready("acme")
	for _, c := range []struct{ body, first string }{
		{`{"query":"setup engine"}`, "v2/setup"}, // the default version is preferred
		{`{"query":"setup engine","filter":{"version":"1.x"}}`, "v1/setup"},
		{`{"query":"setup","filter":{"language":"fr"}}`, "fr/v2/setup"},
	} {
		results := s.Search("acme", c.body)
		if len(results) == 0 || !strings.HasPrefix(results[0].Path, c.first) {
			t.Errorf("%s found %+v, want %s first", c.body, results, c.first)
		}
	}
	for _, body := range []string{`{"query":"setup","filter":{"version":"9"}}`, `{"query":"setup","filter":{"tag":"none"}}`, `{"query":"qqqqzzzz"}`} {
		r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: body})
		if strings.TrimSpace(string(r.Body)) != "[]" || r.Status != 200 {
			t.Errorf("%s: %d %s", body, r.Status, r.Body)
		}
	}
	// The page that the reader is on says which version an answer is about.
	reply := s.AskBody(caddytest.Question("How do I call setup?", map[string]any{"currentPath": "/v1/setup"}))
	if !strings.Contains(reply.Text, "old engine") {
		t.Errorf("on a v1 page the answer is\n%s", reply.Text)
	}
}
