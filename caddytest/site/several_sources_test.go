package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// A site of two folders and a sitemap is searched as one, and each source that
// fails keeps its pages.
func TestASiteOfSeveralSources(t *testing.T) {
	var down atomic.Bool
	blog := httptest.NewServer(nil)
	defer blog.Close()
	mux := http.NewServeMux()
	blog.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		mux.ServeHTTP(w, r)
	})
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<urlset><url><loc>%s/post</loc></url></urlset>`, blog.URL)
	})
	mux.HandleFunc("/post", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html lang=en><title>Launch party</title><main><h1>Launch party</h1><p>We danced the tarantella at the launch.</p></main></html>")
	})
	dir := t.TempDir()
	docs, handbook := filepath.Join(dir, "docs"), filepath.Join(dir, "handbook")
	caddytest.Write(t, docs, map[string]string{"index.md": "# Acme\n\nRockets.\n", "engines.md": "# Engines\n\nEngines burn kerosene.\n", "handbook/trips.md": "# Trips\n\nThe first source has this page about marmalade.\n"})
	caddytest.Write(t, handbook, map[string]string{"vacation.md": "# Vacation\n\nEverybody has thirty days of sabbatical.\n", "trips.md": "# Trips\n\nThe second source has it about porridge.\n"})
	site := "http://:0 {\n\troot * " + docs + "\n\tdocs acme {\n\t\tsource folder " + handbook + " below /handbook\n\t\tsource folder " + docs + "\n\t\tsource sitemap " + blog.URL + "/sitemap.xml interval 10s allow_private on\n\t\tlocks off\n\t}\n\tfile_server\n}\n"
	// In the order as written: that of the second folder comes first.
	s := caddytest.Start(t, "", site)
	s.Ready("acme")
	for word, page := range map[string]string{"kerosene": "engines", "sabbatical": "handbook/vacation", "porridge": "handbook/trips"} {
		caddytest.Until(t, word+" is found", func() bool { return finds(s, word, page) })
	}
	caddytest.Until(t, "a page of the sitemap is found", func() bool { return finds(s, "tarantella", "post") })
	if finds(s, "marmalade", "handbook/trips") {
		t.Error("of two pages with one address, both are found")
	}
	status := func() retrieval.Status { return caddytest.App(t).Site("acme").Index.Refresher.Status() }
	caddytest.Until(t, "the status counts the pages of each source", func() bool {
		st := status()
		return len(st.Sources) == 3 && st.Sources[0].Pages == 2 && st.Sources[1].Pages == 2 && st.Pages == 5 && len(st.Problems) == 1
	})

	if err := os.Rename(handbook, handbook+"-away"); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the source that is gone fails", func() bool { return status().Sources[0].Error != "" && status().Sources[1].Error == "" })
	down.Store(true)
	caddytest.Write(t, docs, map[string]string{"new.md": "# Xylophone\n\nRockets play the xylophone.\n"})
	caddytest.Until(t, "a page of another source is found meanwhile", func() bool { return finds(s, "xylophone", "new") })
	if !finds(s, "sabbatical", "handbook/vacation") || !finds(s, "tarantella", "post") {
		t.Error("the pages of the source that is gone are gone")
	}
	if err := os.Rename(handbook+"-away", handbook); err != nil {
		t.Fatal(err)
	}
	caddytest.Write(t, handbook, map[string]string{"vacation.md": "# Vacation\n\nEverybody has a jubilee.\n"})
	caddytest.Until(t, "it is back", func() bool { return finds(s, "jubilee", "handbook/vacation") })
}

// While a source reads its pages, another one is published: the Markdown of the
// pages that were read stays.
func TestSourcesLeaveTheMarkdownOfOthers(t *testing.T) {
	var text atomic.Pointer[string]
	set := func(s string) { text.Store(&s) }
	set("We danced the tarantella.")
	var slow atomic.Bool
	asked, answer := make(chan struct{}), make(chan struct{})
	blog := httptest.NewServer(nil)
	defer blog.Close()
	page := func(w http.ResponseWriter, title, text string) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html lang=en><title>%s</title><main><h1>%[1]s</h1><p>%s</p></main></html>", title, text)
	}
	blog.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sitemap.xml":
			fmt.Fprintf(w, `<urlset><url><loc>%[1]s/a-post</loc></url><url><loc>%[1]s/later</loc></url></urlset>`, blog.URL)
		case "/a-post":
			page(w, "Launch", *text.Load())
		case "/later":
			if slow.CompareAndSwap(true, false) {
				close(asked)
				select {
				case <-answer:
				case <-r.Context().Done():
				}
			}
			page(w, "Later", "It rained.")
		default:
			http.NotFound(w, r)
		}
	})
	docs := t.TempDir()
	caddytest.Write(t, docs, map[string]string{"index.md": "# Acme\n\nRockets.\n"})
	s := caddytest.Start(t, "", "http://:0 {\n\troot * "+docs+"\n\tdocs acme {\n\t\tsource folder "+docs+
		"\n\t\tsource sitemap "+blog.URL+"/sitemap.xml interval 1h allow_private on\n\t\tlocks off\n\t}\n\tfile_server\n}\n")
	s.Ready("acme")
	caddytest.Until(t, "the page of the sitemap is found", func() bool { return finds(s, "tarantella", "a-post") })
	set("We danced the polonaise.")
	slow.Store(true)
	index := caddytest.App(t).Site("acme").Index
	refreshed := make(chan error)
	go func() {
		_, err := index.Refresher.Refresh(t.Context())
		refreshed <- err
	}()
	select {
	case <-asked:
	case err := <-refreshed:
		t.Fatal("refreshed without the second page:", err)
	}
	caddytest.Until(t, "the first page was read", func() bool {
		files, _ := filepath.Glob(filepath.Join(index.Dir, "markdown-*", "*.md.gz"))
		return len(files) == 3
	})
	caddytest.Write(t, docs, map[string]string{"new.md": "# Xylophone\n\nRockets play the xylophone.\n"})
	caddytest.Until(t, "a page of the folder is found meanwhile", func() bool { return finds(s, "xylophone", "new") })
	close(answer)
	if err := <-refreshed; err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the page's new text is found", func() bool { return finds(s, "polonaise", "a-post") })
	d, err := index.Page(t.Context(), "a-post")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index.Markdown(d, "", false); err != nil {
		t.Error("the page's Markdown is gone:", err)
	}
}
