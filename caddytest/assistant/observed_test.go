package assistant

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

func TestMetricsTellOfEveryPartAndSurviveAReload(t *testing.T) {
	m, url := caddytest.StartModel(t)
	s := caddytest.Start(t, caddytest.LLM(url, "first", "fallback "+url+" second\nbudget 1000 requests per day")+"\nembedder "+url+" fake-embed", caddytest.MetricsSite(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	byModel(m, map[string]modelserver.Reply{"first": {Status: 500}, "second": {Text: caddytest.ModelAnswer, Cached: 64}})
	caddytest.Embedded(t)
	// Counters live as long as the process, and tests share it.
	before := s.Metrics(t)
	for _, v := range caddytest.Versions {
		if r := s.Ask(t, v, caddytest.InstallQuestion, nil); v == 2 && !strings.Contains(fmt.Sprint(r.Finish), "cachedInputTokens:64") {
			t.Errorf("the finish event has no cached tokens: %v", r.Finish)
		}
	}
	m.Always(modelserver.Reply{Text: "one two", Fault: modelserver.Hang, After: 1})
	open := s.OpenReply(t, http.DefaultClient, 2, caddytest.InstallQuestion, nil)
	open.ReadUntil(t, "one")

	endpoint := `endpoint="` + url + `",`
	check := func(when string, want map[string]float64) {
		t.Helper()
		got := s.Metrics(t)
		for series, more := range want {
			if got[series]-before[series] != more {
				t.Errorf("%s: %s rose by %v, want %v", when, series, got[series]-before[series], more)
			}
		}
	}
	counts := map[string]float64{
		`caddy_docs_replies_total{model="second",outcome="answered",site="acme",version="v1"}`:  1,
		`caddy_docs_replies_total{model="second",outcome="answered",site="acme",version="v2"}`:  1,
		`caddy_docs_model_requests_total{` + endpoint + `model="first",outcome="server_error"}`: 2,
		`caddy_docs_model_requests_total{` + endpoint + `model="second",outcome="ok"}`:          2,
		`caddy_docs_model_first_token_seconds_count{` + endpoint + `model="second"}`:            2,
		`caddy_docs_first_token_seconds_count{site="acme"}`:                                     2,
		`caddy_docs_tokens_total{direction="output",site="acme"}`:                               2 * float64(len(modelserver.Tokens(caddytest.ModelAnswer))),
		`caddy_docs_cached_tokens_total{site="acme"}`:                                           2 * 64,
		`caddy_docs_open_streams{site="acme"}`:                                                  1,
		`caddy_docs_query_embeddings_total{outcome="cached",site="acme"}`:                       2,
		`caddy_docs_query_embeddings_total{outcome="embedded",site="acme"}`:                     1,
		`caddy_docs_budget_spent{site="acme",unit="requests"}`:                                  3,
	}
	check("before the reload", counts)
	now := s.Metrics(t)
	for series, want := range map[string]float64{
		`caddy_docs_budget_limit{site="acme",unit="requests"}`:         1000,
		`caddy_docs_pages{site="acme"}`:                                4,
		`caddy_docs_index_ready{site="acme"}`:                          1,
		`caddy_docs_keys`:                                              1,
		`caddy_docs_model_circuit_open{` + endpoint + `model="first"}`: 0,
	} {
		if now[series] != want {
			t.Errorf("%s is %v, want %v", series, now[series], want)
		}
	}
	if now[`caddy_docs_sections{site="acme"}`] < 5 || now[`caddy_docs_tokens_total{direction="input",site="acme"}`] <= before[`caddy_docs_tokens_total{direction="input",site="acme"}`] {
		t.Errorf("sections or input tokens are missing")
	}

	s.Load(caddytest.LLM(url, "first", "fallback "+url+" second\nbudget 1000 requests per day")+"\nembedder "+url+" fake-embed",
		strings.Replace(caddytest.MetricsSite(caddytest.AcmeFolder(t)), "handle /metrics", "header X-New yes\n\thandle /metrics", 1))
	delete(counts, `caddy_docs_query_embeddings_total{outcome="cached",site="acme"}`) // another root: another index
	delete(counts, `caddy_docs_query_embeddings_total{outcome="embedded",site="acme"}`)
	check("after the reload", counts)
	open.Cancel()
	caddytest.Until(t, "the stream is closed", func() bool {
		return s.Metric(t, `caddy_docs_open_streams{site="acme"}`) == before[`caddy_docs_open_streams{site="acme"}`]
	})

	// What clients send is no label.
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	for range 3 {
		s.Ask(t, 2, caddytest.InstallQuestion, map[string]any{"fp": "someone-special"})
	}
	for series := range s.Metrics(t) {
		if strings.HasPrefix(series, "caddy_docs") && (strings.Contains(series, "someone") || strings.Contains(series, "thr_") || strings.Contains(series, "svc_dsc")) {
			t.Errorf("a label identifies a client: %s", series)
		}
	}
}

// One line a reply, with everything an operator asks, and without its text.
// The id in error bodies and log lines is Caddy's {http.request.uuid}, which
// operators put into headers and access logs.
func TestErrorsRepliesAndLogLinesHaveTheUUIDOfTheirRequest(t *testing.T) {
	s := caddytest.Start(t, "", "http://:0 {\n\theader X-Request-Id {http.request.uuid}\n\tdocs acme "+caddytest.AcmeFolder(t)+"\n}\n")
	s.Ready("acme")
	refused := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":7}`})
	if id := refused.Header.Get("X-Request-Id"); id == "" || refused.Error(t).RequestID != id {
		t.Errorf("the request is %q, its error says %s", id, refused.Body)
	}
	answered := s.Do(caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question(caddytest.InstallQuestion, nil)})
	id := answered.Header.Get("X-Request-Id")
	if !strings.Contains(string(answered.Body), `"messageId":"msg_`+id+`"`) {
		t.Errorf("the message of request %q: %.200s", id, answered.Body)
	}
	caddytest.Until(t, "the reply is logged with its request", func() bool {
		return strings.Contains(s.Log(), `"request_id":"`+id+`"`)
	})
}

func TestAReplyIsOneLogLineWithoutItsText(t *testing.T) {
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: "See [Install](/guide/install): xylophone."})
	s := caddytest.StartWithModel(t, url, "first", "")
	r := s.Ask(t, 2, "How do I install a marimba?", map[string]any{"fp": "ann@example.com"})
	var line map[string]any
	caddytest.Until(t, "the reply is logged", func() bool {
		for l := range strings.Lines(s.Log()) {
			if strings.Contains(l, `"msg":"reply"`) {
				return json.Unmarshal([]byte(l), &line) == nil
			}
		}
		return false
	})
	for field, want := range map[string]any{
		"site": "acme", "outcome": "answered", "model": "first", "version": 2.0, "finish": "stop", "thread": r.ThreadID, "answered": "yes",
	} {
		if line[field] != want {
			t.Errorf("%s is %v, want %v", field, line[field], want)
		}
	}
	for _, field := range []string{"request_id", "fp", "key", "passages", "retrieval", "first_token", "took", "input_tokens", "output_tokens"} {
		if v, ok := line[field]; !ok || v == "" || v == 0.0 {
			t.Errorf("%s is %v", field, v)
		}
	}
	for l := range strings.Lines(s.Log()) {
		if strings.Contains(l, `"http.request`) {
			continue
		}
		for _, secret := range []string{"xylophone", "marimba", "ann@example.com", caddytest.Key} {
			if strings.Contains(l, secret) {
				t.Errorf("the log holds %q: %s", secret, l)
			}
		}
	}
}

// A span for each step, below the one of Caddy's own directive, sent where
// the environment says, as any OpenTelemetry collector gets it.
func TestARequestIsTracedStepByStep(t *testing.T) {
	type span struct{ name, parent string }
	var mu sync.Mutex
	spans := make(map[string]span) // by id
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var export collectorpb.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &export) != nil {
			t.Errorf("%d bytes that are no trace: %v", len(body), err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range export.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					spans[string(s.SpanId)] = span{s.Name, string(s.ParentSpanId)}
				}
			}
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")

	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	s := caddytest.Start(t, caddytest.LLM(url, "first", ""), "http://:0 {\n\ttracing {\n\t\tspan api\n\t}\n\tdocs acme "+caddytest.AcmeFolder(t)+"\n}\n")
	s.Ready("acme")
	thread := s.Ask(t, 2, caddytest.InstallQuestion, map[string]any{"fp": "ann"}).ThreadID
	s.Ask(t, 2, "And on Windows?", map[string]any{"fp": "ann", "threadId": thread})
	parents := map[string]string{
		"docs.reply": "api", "docs.thread": "docs.reply", "docs.question": "docs.reply", "docs.rewrite": "docs.reply",
		"docs.retrieval": "docs.reply", "docs.search": "docs.retrieval api", "docs.generate": "docs.reply", "docs.model": "docs.generate docs.rewrite",
		"docs.keep": "docs.reply",
	}
	caddytest.Until(t, "all spans have come", func() bool {
		mu.Lock()
		defer mu.Unlock()
		names := make(map[string]bool)
		for _, s := range spans {
			if names[s.name] = true; strings.HasPrefix(s.name, "docs.") && spans[s.parent].name == "" {
				return false
			}
		}
		for name := range parents {
			if !names[name] {
				return false
			}
		}
		return true
	})
	mu.Lock()
	defer mu.Unlock()
	for _, s := range spans {
		if want := parents[s.name]; want != "" && !slices.Contains(strings.Fields(want), spans[s.parent].name) {
			t.Errorf("%s is below %s, not %s", s.name, spans[s.parent].name, want)
		}
	}
}
