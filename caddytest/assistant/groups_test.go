package assistant

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// A group has the vectors and the pages of its sites, whichever index they have.
func TestAGroupTakesPagesAndVectorsFromItsSites(t *testing.T) {
	for name, index := range map[string]func(m *meiliserver.Server) string{
		"the index inside the process": func(*meiliserver.Server) string { return "key " + caddytest.Key },
		"Meilisearch":                  func(m *meiliserver.Server) string { return meiliIndex(m.URL, "") },
	} {
		t.Run(name, func(t *testing.T) {
			m, e, dir := caddytest.StartMeilisearch(t), startEmbeddings(t), t.TempDir()
			docs := index(m) + " {\norganization acme\n}\nembedder " + e.URL + "/v1 m\ngroup all {\norganization acme\n}"
			sites := "http://:0 {\n\tdocs acme " + caddytest.AcmeFolder(t) + "\n\tsearch all\n\tassistant all\n}"
			s := caddytest.StartIn(t, dir, docs, sites)
			s.Ready("all")
			status := func(site string) retrieval.Status { return caddytest.App(t).Site(site).Index.Refresher.Status() }
			complete := func(site string) func() bool {
				return func() bool { e := status(site).Embeddings; return e != nil && e.Total > 0 && e.Done == e.Total }
			}
			caddytest.Until(t, "the site is embedded", complete("acme"))
			caddytest.Until(t, "the group has its vectors", complete("all"))
			caddytest.Until(t, "the group is searched", func() bool { return len(s.Search("all", `{"query":"administrator rights"}`)) > 0 })
			if r := s.Do(caddytest.Request{Path: "/v1/assistant/all/message", Body: `{"fp":"x","messages":[{"role":"user","content":"How do I install it on Linux?"}]}`}); r.Status != http.StatusOK || !strings.Contains(string(r.Body), "acme/guide/install") {
				t.Errorf("the assistant of the group: %d %s", r.Status, r.Body)
			}
			sections := 0
			e.embedded.Range(func(text, n any) bool {
				if strings.Contains(text.(string), "\n\n") { // a section, not a query
					sections++
					if times := n.(*atomic.Int64).Load(); times != 1 {
						t.Errorf("%q was embedded %d times", text, times)
					}
				}
				return true
			})
			if total := status("all").Embeddings.Total; sections == 0 || sections > total {
				t.Errorf("%d of %d sections were embedded", sections, total)
			}
			if err := caddy.Stop(); err != nil {
				t.Fatal(err)
			}
			s.Load(docs, sites)
			<-caddytest.App(t).Site("all").Index.Looked
			caddytest.Until(t, "the group has its vectors again", complete("all"))
			if last := status("all").Last; last.Read != 0 || last.Pages == 0 {
				t.Errorf("after a restart, the group has read pages again: %+v", last)
			}
		})
	}
}
