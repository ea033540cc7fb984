package assistant

import (
	"net/http"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/handlers/admin"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// Without a server that answers, and without a fallback, the assistant
// answers all the same, and says that it could not search.
func TestTheAssistantAnswersWithoutMeilisearchAndSaysSo(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	model, url := caddytest.StartModel(t)
	model.Always(modelserver.Reply{Text: "I could not search the documentation just now."})
	s := caddytest.Start(t, meiliIndex(m.URL, "")+"\nllm "+url+" first", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	caddytest.Until(t, "the server has the pages", func() bool { _, found := searchSite(s, "install"); return found })
	for name, fault := range map[string]func(*http.Request) *meiliserver.Fault{
		"down": meiliserver.Down,
		"slow": func(*http.Request) *meiliserver.Fault { return &meiliserver.Fault{Hang: true} },
		"busy": func(*http.Request) *meiliserver.Fault {
			return &meiliserver.Fault{Status: 503, Code: "too_many_search_requests"}
		},
		"refusing the key": func(*http.Request) *meiliserver.Fault {
			return &meiliserver.Fault{Status: 403, Code: "invalid_api_key"}
		},
	} {
		m.Break(fault)
		asked := len(model.Requests())
		for v, r := range s.AskAll(t, caddytest.InstallQuestion, nil) {
			if !r.Finished || r.Error != "" || !strings.Contains(r.Text, "could not search") || r.Metadata["notice"] != "search unavailable" {
				t.Errorf("%s, v%d: finished %t, error %q, text %q, metadata %v", name, v, r.Finished, r.Error, r.Text, r.Metadata)
			}
		}
		for _, r := range model.Requests()[asked:] {
			if !strings.Contains(r.Question(), "could not be searched") {
				t.Errorf("%s: the model was not told: %s", name, r.Question())
			}
		}
	}
	m.Break(nil)
	caddytest.Until(t, "the assistant searches again, without a reload", func() bool {
		r := s.Ask(t, 2, caddytest.InstallQuestion, nil)
		return r.Finished && r.Metadata["notice"] == nil && len(r.Sources) > 0
	})
}

func TestTheDoctorLooksAtMeilisearch(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	s := caddytest.Start(t, meiliIndex(m.URL, "embedder mine"), caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	caddytest.Until(t, "the server has the pages", func() bool { _, found := searchSite(s, "install"); return found })
	check := func(what string) admin.Check {
		t.Helper()
		for _, c := range caddytest.App(t).Doctor(t.Context()) {
			if strings.Contains(c.What, what) {
				return c
			}
		}
		t.Errorf("the doctor says nothing of %s", what)
		return admin.Check{}
	}
	for _, what := range []string{"version", "keys", "index _docs-acme", "settings of _docs-acme", "search in _docs-acme"} {
		if c := check(what); !c.OK {
			t.Errorf("%s: %+v", what, c)
		}
	}
	if got := caddytest.App(t).Status().Embedder; got != "mine of the Meilisearch servers" {
		t.Errorf("the status names the embedder %q", got)
	}
	if c := check("embedder mine"); c.OK || c.Do == "" {
		t.Errorf("an embedder that is not set: %+v", c)
	}
	m.Break(func(*http.Request) *meiliserver.Fault {
		return &meiliserver.Fault{Status: 403, Code: "invalid_api_key"}
	})
	if c := check(" keys"); c.OK || !strings.Contains(c.Do, "documents.*") {
		t.Errorf("a wrong key: %+v", c)
	}
	m.Break(meiliserver.Down)
	if c := check(m.URL + " server"); c.OK || !strings.Contains(c.Do, "503") {
		t.Errorf("a server that is down: %+v", c)
	}
}

func TestOneOfTwoEmbeddersMustGo(t *testing.T) {
	m := caddytest.StartMeilisearch(t)
	s := caddytest.New(t)
	err := s.TryLoad(caddytest.Global(s.Dir, meiliIndex(m.URL, "embedder mine")+"\nembedder http://127.0.0.1:9/v1 model") + caddytest.Site(caddytest.AcmeFolder(t)))
	if err == nil || !strings.Contains(err.Error(), "mine") || !strings.Contains(err.Error(), "model") || !strings.Contains(err.Error(), "keep one") {
		t.Errorf("error: %v", err)
	}
}
