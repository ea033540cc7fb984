package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/insights"
)

// withAdmin returns a running server with a site of a docs directive, and a
// function that runs a command on it.
func withAdmin(t *testing.T) (s *caddytest.Server, run func(args ...string) string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := "unix/" + caddytest.Socket(t)
	s = caddytest.NewIn(t, dir)
	if err := s.TryLoad(strings.Replace(caddytest.Global(dir, ""), "admin off", "admin "+address, 1) + caddytest.Site(caddytest.AcmeFolder(t))); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	return s, func(args ...string) string {
		t.Helper()
		out, err := docs(t, append([]string{"--address", address}, args...)...)
		if err != nil {
			t.Fatalf("caddy docs %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
}

// browserToken returns what the widget sends as its key.
func browserToken(t *testing.T, s *caddytest.Server) string {
	t.Helper()
	r := s.Do(caddytest.Request{Path: "/v1/token/acme", Key: "-", Header: map[string]string{"Origin": s.Base}})
	var body struct{ Token string }
	if err := json.Unmarshal(r.Body, &body); err != nil || body.Token == "" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return body.Token
}

func everySourceIsRecordedAsSuch(t *testing.T) {
	s, run := withAdmin(t)
	tok := browserToken(t, s)
	do := func(key, path, body string, want int, header ...string) *caddytest.Response {
		t.Helper()
		all := map[string]string{"Origin": s.Base}
		for i := 0; i < len(header); i += 2 {
			all[header[i]] = header[i+1]
		}
		r := s.Do(caddytest.Request{Path: path, Body: body, Key: key, Header: all})
		if r.Status != want {
			t.Fatalf("%s %s: %d %s", path, body, r.Status, r.Body)
		}
		return r
	}
	for source, key := range map[string]string{"api": caddytest.Key, "widget": tok} {
		do(key, "/v1/search/acme", fmt.Sprintf(`{"query":"install %s"}`, source), 200)
		do(key, "/v1/search/acme", fmt.Sprintf(`{"query":"install %s","offset":1}`, source), 200) // the next page
		do(key, "/v1/events/acme", fmt.Sprintf(`{"type":"search","query":"install %s","hits":1}`, source), http.StatusNoContent)
		do(key, "/v1/events/acme", fmt.Sprintf(`{"type":"click","query":"install %s","path":"guide/install","position":1}`, source), http.StatusNoContent)
		thread := do(key, "/v2/assistant/acme/message", caddytest.Question("How do I install on "+source+"?", nil), 200).Header.Get("X-Thread-Id")
		do(key, "/v1/assistant/acme/message", caddytest.Question("How do I install version one on "+source+"?", nil), 200)
		do(key, "/v1/feedback/acme", fmt.Sprintf(`{"threadId":%q,"rating":"up"}`, thread), http.StatusNoContent)
	}

	// The page without JavaScript is the widget's: results, a further page of
	// them, and a question, which is no search.
	for _, path := range []string{"?q=install+page", "?q=install+page&offset=10"} {
		if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/v1/ask/acme" + path, Key: "-"}); r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
	}
	do("-", "/v1/ask/acme", url.Values{"q": {"How do I install on a page?"}}.Encode(), 200, "Content-Type", "application/x-www-form-urlencoded")

	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{%q:%q}}}`
	do("-", "/mcp", fmt.Sprintf(call, "search", "query", "install stranger's agent"), 200)
	do(caddytest.Key, "/v1/mcp/acme", fmt.Sprintf(call, "search", "query", "install agent"), 200)
	do("-", "/v1/mcp/acme", fmt.Sprintf(call, "fetch", "id", s.Base+"/guide/install.html"), 200)

	run("search", "acme", "install command")
	run("ask", "acme", "How do I install by command?")
	queries := filepath.Join(t.TempDir(), "queries.jsonl")
	if err := os.WriteFile(queries, []byte(`{"id":"1","text":"install evaluated","relevant":["guide/install"]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("eval", "acme", queries)

	store := stop(t, s)
	got := map[string]int{}
	for _, e := range events(t, store) {
		name := string(e.Source) + " " + e.Kind()
		switch {
		case e.Search != nil && e.Search.Query == "x": // Ready's
			continue
		case e.Search != nil:
			name += " " + e.Search.Query
			if e.Search.Hits == 0 || e.Search.Top == nil || *e.Search.Top <= 0 || e.Search.Language != "en" {
				t.Errorf("%s: %+v", name, e.Search)
			}
		case e.Reply != nil:
			name += " " + e.Reply.Question
			if e.Reply.Thread == "" || !strings.HasPrefix(e.Reply.Message, "msg_") || e.Reply.Outcome != "extractive" || e.Reply.Answered == "" {
				t.Errorf("%s: %+v", name, e.Reply)
			}
		}
		got[name]++
	}
	want := []string{
		"api search install api", "api click", "api reply How do I install on api?", "api reply How do I install version one on api?", "api vote",
		"widget search install widget", "widget click", "widget reply How do I install on widget?", "widget reply How do I install version one on widget?", "widget vote",
		"widget search install page", "widget reply How do I install on a page?",
		"mcp search install stranger's agent", "mcp search install agent",
		"command search install command", "command reply How do I install by command?",
	}
	for _, name := range want {
		if got[name] != 1 {
			t.Errorf("%s: %d times, want once", name, got[name])
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("and more: %v", got)
	}
	use, err := store.KeyUse(t.Context(), acme, today())
	if err != nil || len(use) != 1 || use[0].Replies != 2 || use[0].Searches < 2 {
		t.Errorf("use of the key, a search of MCP among it: %+v %v", use, err)
	}
	by := overview(t, store).BySource
	if by[insights.MCP].Searches != 2 || by[insights.Command] != (insights.SourceCounts{Searches: 1, Replies: 1}) || by[insights.Widget] != (insights.SourceCounts{Searches: 2, Replies: 3}) {
		t.Errorf("by source: %+v", by)
	}
}

func ofATypingSessionTheFinalQueryIsRecorded(t *testing.T) {
	s := caddytest.StartAcme(t)
	tok := browserToken(t, s)
	do := func(path, body string, header ...string) {
		t.Helper()
		all := map[string]string{"Origin": s.Base}
		if len(header) > 0 {
			all[header[0]] = header[1]
		}
		if r := s.Do(caddytest.Request{Path: path, Key: tok, Body: body, Header: all}); r.Status/100 != 2 {
			t.Fatalf("%s %s: %d %s", path, body, r.Status, r.Body)
		}
	}
	for _, typed := range []string{"in", "inst", "install", "install lin", "Install Linux"} {
		do("/v1/search/acme", fmt.Sprintf(`{"query":%q}`, typed))
	}
	// What the widget says of the hits is not believed.
	do("/v1/events/acme", `{"type":"search","query":"Install Linux","hits":40}`)
	do("/v1/events/acme", `{"type":"click","query":"Install Linux","path":"guide/install","position":1}`)
	// A browser that asks not to be tracked.
	do("/v1/search/acme", `{"query":"install quietly"}`)
	do("/v1/events/acme", `{"type":"search","query":"install quietly","hits":1}`, "Sec-GPC", "1")
	do("/v1/events/acme", `{"type":"click","query":"install quietly","path":"guide/install","position":1}`, "Sec-GPC", "1")
	// Another Caddy has answered this one.
	do("/v1/events/acme", `{"type":"search","query":"elsewhere","hits":7}`)
	do("/v1/search/acme", `{"query":"zzzqqqxxx"}`)
	do("/v1/events/acme", `{"type":"search","query":"zzzqqqxxx","hits":0}`)

	store := stop(t, s)
	hits := map[string]int{}
	for _, e := range events(t, store) {
		if e.Source != insights.Widget || e.Search == nil {
			continue
		}
		q := e.Search
		hits[q.Query] = q.Hits
		if (q.Top != nil) != (q.Query == "install linux" || q.Query == "install quietly") || e.Key != "" {
			t.Errorf("%+v", e)
		}
	}
	if len(hits) != 4 || hits["install linux"] == 0 || hits["install linux"] == 40 || hits["elsewhere"] != 7 || hits["zzzqqqxxx"] != 0 {
		t.Errorf("%v", hits)
	}
	list, err := store.Searches(t.Context(), acme, insights.Query{Period: today()})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list {
		want := map[string]insights.QueryStats{
			"install linux": {Searches: 1, Tracked: 1, Clicked: 1, Clicks: 1}, "install quietly": {Searches: 1},
			"elsewhere": {Searches: 1, Tracked: 1}, "zzzqqqxxx": {Searches: 1, NoResult: 1},
		}[q.Query]
		if want.Searches > 0 && (q.Searches != want.Searches || q.NoResult != want.NoResult || q.Tracked != want.Tracked || q.Clicked != want.Clicked || q.Clicks != want.Clicks) {
			t.Errorf("%+v", q)
		}
	}
}
