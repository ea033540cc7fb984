package caddytest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// metricsSite is acme with the metrics of Caddy beside it.
func metricsSite(root string) string {
	return "http://:0 {\n\thandle /metrics {\n\t\tmetrics\n\t}\n\tdocs acme " + root + "\n}\n"
}

// patch adapts a Caddyfile and changes the JSON.
func patch(t testing.TB, caddyfile string, change func(map[string]any)) []byte {
	t.Helper()
	cfg, err := Adapt(caddyfile)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(cfg, &c); err != nil {
		t.Fatal(err)
	}
	change(c)
	if cfg, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// metrics are the series of the metrics endpoint.
func (s *Server) metrics(t testing.TB) map[string]float64 {
	t.Helper()
	r := s.Do(Request{Method: http.MethodGet, Path: "/metrics", Key: "-"})
	if r.Status != http.StatusOK {
		t.Fatalf("metrics: %d %s", r.Status, r.Body)
	}
	series := make(map[string]float64)
	for line := range strings.Lines(string(r.Body)) {
		if i := strings.LastIndexByte(strings.TrimSpace(line), ' '); i > 0 && line[0] != '#' {
			v, err := strconv.ParseFloat(strings.TrimSpace(line)[i+1:], 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			series[line[:i]] = v
		}
	}
	return series
}

// metric is one series, 0 where there is none.
func (s *Server) metric(t testing.TB, series string) float64 {
	t.Helper()
	return s.metrics(t)[series]
}

func TestMetricsTellOfEveryPartAndSurviveAReload(t *testing.T) {
	m, url := startModel(t)
	s := Start(t, llm(url, "first", "fallback "+url+" second\nbudget 1000 requests per day")+"\nembedder "+url+" fake-embed", metricsSite(acmeFolder(t)))
	s.Ready("acme")
	byModel(m, map[string]modelserver.Reply{"first": {Status: 500}, "second": {Text: secondText}})
	Until(t, "the pages have vectors", func() bool {
		e := docsApp(t).Status().Sites[0].Index.Embeddings
		return e != nil && e.Total > 0 && e.Done == e.Total
	})
	// Counters live as long as the process, and tests share it.
	before := s.metrics(t)
	for _, v := range both {
		s.askIn(t, v, install, nil)
	}
	m.Always(modelserver.Reply{Text: "one two", Fault: modelserver.Hang, After: 1})
	open := s.open(t, http.DefaultClient, 2, install, nil)
	open.until(t, "one")

	endpoint := `endpoint="` + url + `",`
	check := func(when string, want map[string]float64) {
		t.Helper()
		got := s.metrics(t)
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
		`caddy_docs_tokens_total{direction="output",site="acme"}`:                               2 * float64(len(modelserver.Tokens(secondText))),
		`caddy_docs_open_streams{site="acme"}`:                                                  1,
		`caddy_docs_query_embeddings_total{outcome="cached",site="acme"}`:                       2,
		`caddy_docs_query_embeddings_total{outcome="embedded",site="acme"}`:                     1,
		`caddy_docs_budget_spent{site="acme",unit="requests"}`:                                  3,
	}
	check("before the reload", counts)
	now := s.metrics(t)
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

	s.Load(llm(url, "first", "fallback "+url+" second\nbudget 1000 requests per day")+"\nembedder "+url+" fake-embed",
		strings.Replace(metricsSite(acmeFolder(t)), "handle /metrics", "header X-New yes\n\thandle /metrics", 1))
	delete(counts, `caddy_docs_query_embeddings_total{outcome="cached",site="acme"}`) // another root: another index
	delete(counts, `caddy_docs_query_embeddings_total{outcome="embedded",site="acme"}`)
	check("after the reload", counts)
	open.cancel()
	Until(t, "the stream is closed", func() bool {
		return s.metric(t, `caddy_docs_open_streams{site="acme"}`) == before[`caddy_docs_open_streams{site="acme"}`]
	})

	// What clients send is no label.
	m.Always(modelserver.Reply{Text: secondText})
	for range 3 {
		s.askIn(t, 2, install, map[string]any{"fp": "someone-special"})
	}
	for series := range s.metrics(t) {
		if strings.HasPrefix(series, "caddy_docs") && (strings.Contains(series, "someone") || strings.Contains(series, "thr_") || strings.Contains(series, "svc_dsc")) {
			t.Errorf("a label identifies a client: %s", series)
		}
	}
}

// One line a reply, with everything an operator asks, and without its text.
// The id in error bodies and log lines is Caddy's {http.request.uuid}, which
// operators put into headers and access logs.
func TestErrorsRepliesAndLogLinesHaveTheUUIDOfTheirRequest(t *testing.T) {
	s := Start(t, "", "http://:0 {\n\theader X-Request-Id {http.request.uuid}\n\tdocs acme "+acmeFolder(t)+"\n}\n")
	s.Ready("acme")
	refused := s.Do(Request{Path: searchPath, Body: `{"query":7}`})
	if id := refused.Header.Get("X-Request-Id"); id == "" || refused.Error(t).RequestID != id {
		t.Errorf("the request is %q, its error says %s", id, refused.Body)
	}
	answered := s.Do(Request{Path: v2Path, Body: Question(install, nil)})
	id := answered.Header.Get("X-Request-Id")
	if !strings.Contains(string(answered.Body), `"messageId":"msg_`+id+`"`) {
		t.Errorf("the message of request %q: %.200s", id, answered.Body)
	}
	Until(t, "the reply is logged with its request", func() bool {
		return strings.Contains(s.Log(), `"request_id":"`+id+`"`)
	})
}

func TestAReplyIsOneLogLineWithoutItsText(t *testing.T) {
	m, url := startModel(t)
	m.Always(modelserver.Reply{Text: "See [Install](/guide/install): xylophone."})
	s := startLLM(t, url, "first", "")
	r := s.askIn(t, 2, "How do I install a marimba?", map[string]any{"fp": "ann@example.com"})
	var line map[string]any
	Until(t, "the reply is logged", func() bool {
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
		for _, secret := range []string{"xylophone", "marimba", "ann@example.com", Key} {
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

	m, url := startModel(t)
	m.Always(modelserver.Reply{Text: secondText})
	s := Start(t, llm(url, "first", ""), "http://:0 {\n\ttracing {\n\t\tspan api\n\t}\n\tdocs acme "+acmeFolder(t)+"\n}\n")
	s.Ready("acme")
	thread := s.askIn(t, 2, install, map[string]any{"fp": "ann"}).ThreadID
	s.askIn(t, 2, "And on Windows?", map[string]any{"fp": "ann", "threadId": thread})
	parents := map[string]string{
		"docs.reply": "api", "docs.thread": "docs.reply", "docs.question": "docs.reply", "docs.rewrite": "docs.reply",
		"docs.retrieval": "docs.reply", "docs.search": "docs.retrieval api", "docs.generate": "docs.reply", "docs.model": "docs.generate docs.rewrite",
		"docs.keep": "docs.reply",
	}
	Until(t, "all spans have come", func() bool {
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
