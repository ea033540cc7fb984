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
