package assistant

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// A budget that is spent makes replies extractive, with one warning, over
// reloads and restarts, and the figures say so.
func TestABudgetIsKeptOverReloadsAndRestarts(t *testing.T) {
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	dir := t.TempDir()
	docs, site := caddytest.LLM(url, "first", "budget 4 requests per day"), caddytest.MetricsSite(caddytest.AcmeFolder(t))
	s := caddytest.StartIn(t, dir, docs, site)
	s.Ready("acme")
	ask := func(v int, model string) {
		t.Helper()
		r := s.Ask(t, v, caddytest.InstallQuestion, nil)
		if r.Metadata["model"] != model || !r.Finished || len(r.Sources) == 0 || r.Metadata["notice"] != nil {
			t.Errorf("metadata %v, finished %t, %d sources; want the answer of %s", r.Metadata, r.Finished, len(r.Sources), model)
		}
	}
	ask(1, "first")
	ask(2, "first")
	s.Load(docs, site+"http://more.test:0 {\n\trespond ok\n}\n")
	ask(1, "first")
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Load(docs, site)
	s.Ready("acme")
	ask(2, "first")
	for _, v := range caddytest.Versions {
		ask(v, "extractive")
	}
	b := caddytest.App(t).Status().Sites[0].Budget
	if b == nil || !b.Spent || b.SpentRequests != 4 || b.Requests != 4 || b.Refused < 2 || b.Limit != "4 requests per day" {
		t.Errorf("status %+v", b)
	}
	if n := strings.Count(s.Log(), "the site's budget is spent"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	if got := s.Metric(t, `caddy_docs_budget_spent{site="acme",unit="requests"}`); got != 4 {
		t.Errorf("the metric says %v", got)
	}
	if n := len(m.Requests()); n != 4 {
		t.Errorf("the model was asked %d times", n)
	}
}

// For a usage that can't be, an estimate is spent.
func TestAnAbsurdUsageSpendsAnEstimate(t *testing.T) {
	m, url := caddytest.StartModel(t)
	s := caddytest.Start(t, caddytest.LLM(url, "first", "budget 10000000 tokens per day"), caddytest.MetricsSite(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	for _, usage := range []string{`{"prompt_tokens":10,"completion_tokens":1000000000000000000}`, `{"prompt_tokens":9000000,"completion_tokens":3}`, `{"input_tokens":9223372036854775807,"cache_read_input_tokens":9,"output_tokens":3}`, `{"prompt_tokens":0,"completion_tokens":0}`, `{"prompt_tokens":0,"completion_tokens":3}`, `{"prompt_tokens":1,"completion_tokens":0}`} {
		before := caddytest.App(t).Status().Sites[0].Budget.SpentTokens
		m.Always(modelserver.Reply{Body: `data: {"choices":[{"index":0,"delta":{"content":"Hi."},"finish_reason":"stop"}],"usage":` + usage + "}\n\ndata: [DONE]\n\n"})
		if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); r.Metadata["model"] != "first" {
			t.Errorf("%s: metadata %v", usage, r.Metadata)
		}
		if spent := caddytest.App(t).Status().Sites[0].Budget.SpentTokens - before; spent < 10 || spent > 20_000 {
			t.Errorf("%s: %d tokens are spent", usage, spent)
		}
	}
}

// Keys are public: 1,000 requests from 100 addresses at once spend the
// budget and at most one reply.
func TestManyAtOnceSpendTheBudgetAndAtMostOneReply(t *testing.T) {
	const tokens = 20_000
	m, url := caddytest.StartModel(t)
	m.Keep(2000)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	dir := t.TempDir()
	site := "http://:0 {\n\tdocs acme " + caddytest.AcmeFolder(t) + " {\n\t\trate_limit off\n\t}\n}\n"
	caddyfile := strings.Replace(caddytest.Global(dir, caddytest.LLM(url, "first", fmt.Sprintf("budget %d tokens per day", tokens))),
		"admin off", "admin off\nservers {\n\ttrusted_proxies static private_ranges\n}", 1) + site
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(caddyfile); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	requests := 500
	if testing.Short() {
		requests = 200
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	models := make(map[any]int)
	var most float64
	for worker := range 100 {
		wg.Go(func() {
			for range requests / 100 {
				path, body := caddytest.Message(2, caddytest.InstallQuestion, nil)
				r := s.Do(caddytest.Request{Path: path, Body: body, Header: map[string]string{"X-Forwarded-For": fmt.Sprintf("203.0.113.%d", worker)}})
				if r.Status != http.StatusOK {
					t.Errorf("%d %s", r.Status, r.Body)
					return
				}
				got, err := caddytest.ReadReply(2, r.Body)
				if err != nil || !got.Finished || len(got.Sources) == 0 {
					t.Errorf("finished %t, %d sources, %v", got.Finished, len(got.Sources), err)
					return
				}
				total, _ := got.Usage["totalTokens"].(float64)
				mu.Lock()
				models[got.Metadata["model"]]++
				most = max(most, total)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	var spent float64
	for _, r := range m.Requests() { // as the fake counts
		spent += float64(len(r.Body)/4 + r.Sent())
	}
	t.Logf("%d requests: %v; spent %.0f of %d tokens, a reply at most %.0f", requests, models, spent, tokens, most)
	if spent > tokens+most || models["first"] == 0 || models["extractive"] == 0 {
		t.Errorf("spent %.0f tokens, more than %d and one reply of %.0f; replies %v", spent, tokens, most, models)
	}
	if spent < tokens/2 {
		t.Errorf("only %.0f of %d tokens were spent", spent, tokens)
	}
}
