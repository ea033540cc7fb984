package caddytest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/caddytest/stream"
)

// both are the two protocol generations.
var both = []int{1, 2}

// path and body of a question in a generation.
func message(version int, text string, fields map[string]any) (path, body string) {
	if version == 1 {
		more := ""
		for k, v := range fields {
			more += fmt.Sprintf(",%q:%q", k, v)
		}
		return v1Path, v1Question(text, more)
	}
	return v2Path, Question(text, fields)
}

// read reads a whole stream strictly.
func read(version int, body []byte) (*stream.Reply, error) {
	if version == 1 {
		return stream.ReadV1(string(body))
	}
	return stream.ReadV2(string(body))
}

// askIn asks in a generation and reads the reply strictly.
func (s *Server) askIn(t testing.TB, version int, text string, fields map[string]any) *stream.Reply {
	t.Helper()
	path, body := message(version, text, fields)
	r := s.Do(Request{Path: path, Body: body})
	if r.Status != http.StatusOK {
		t.Fatalf("asking %.100q: %d %s", text, r.Status, r.Body)
	}
	got, err := read(version, r.Body)
	if err != nil {
		t.Fatalf("reading the reply: %v\n%s", err, r.Body)
	}
	return got
}

// startModel runs a fake model server and returns its API's address.
func startModel(t testing.TB) (*modelserver.Server, string) {
	t.Helper()
	m := modelserver.New()
	srv := httptest.NewServer(m)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return m, srv.URL + "/v1"
}

// startLLM runs acme with a model: the lines of the llm's block.
func startLLM(t testing.TB, url, model, block string) *Server {
	t.Helper()
	s := Start(t, llm(url, model, block), metricsSite(acmeFolder(t)))
	s.Ready("acme")
	return s
}

func llm(url, model, block string) string {
	return fmt.Sprintf("llm %s %s {\n%s\n}", url, model, block)
}

const install = "How do I install Acme on Linux?"

// byModel answers as the model that is asked.
func byModel(m *modelserver.Server, replies map[string]modelserver.Reply) {
	m.Answer(func(r *modelserver.Request) modelserver.Reply { return replies[r.Model] })
}

// asked are the models that were asked, in order.
func asked(m *modelserver.Server) []string {
	var names []string
	for _, r := range m.Requests() {
		names = append(names, r.Model)
	}
	return names
}

const secondText = "The second model says: run [the installer](/guide/install#on-linux)."

// Issue "Never blank", first row: whatever keeps the first model from its
// first token, the next one answers, and without one the documentation is
// quoted. Nobody sees two half answers.
func TestAModelThatDoesNotBeginIsReplaced(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused.Close() // nobody listens there now
	untrusted := httptest.NewUnstartedServer(modelserver.New())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()

	for _, c := range []struct {
		name  string
		url   string // of the first model, where it is not the fake
		reply modelserver.Reply
	}{
		{name: "connection refused", url: "http://" + refused.Addr().String() + "/v1"},
		{name: "a name that is not in the DNS", url: "http://model.invalid/v1"},
		{name: "a certificate that is not trusted", url: untrusted.URL + "/v1"},
		{name: "a connection that is closed", reply: modelserver.Reply{Fault: modelserver.Refuse}},
		{name: "401", reply: modelserver.Reply{Status: 401}},
		{name: "429 with Retry-After", reply: modelserver.Reply{Status: 429, Header: http.Header{"Retry-After": {"30"}}}},
		{name: "500", reply: modelserver.Reply{Status: 500}},
		{name: "503 with HTML", reply: modelserver.Reply{Status: 503, Body: "<h1>down</h1>", ContentType: "text/html"}},
		{name: "HTML with status 200", reply: modelserver.Reply{Fault: modelserver.HTML}},
		{name: "an empty stream", reply: modelserver.Reply{Fault: modelserver.Blank}},
		{name: "a stream that ends before its first token", reply: modelserver.Reply{Text: "x", Fault: modelserver.End}},
		{name: "an error object before the first token", reply: modelserver.Reply{Text: "x", Fault: modelserver.ErrorObject}},
		{name: "no answer at all", reply: modelserver.Reply{Fault: modelserver.Hang}},
		{name: "a first token that comes too late", reply: modelserver.Reply{Text: "the late first model", First: time.Minute}},
		{name: "keep-alives instead of a token", reply: modelserver.Reply{Text: "x", Fault: modelserver.Ping}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, url := startModel(t)
			byModel(m, map[string]modelserver.Reply{"first": c.reply, "second": {Text: secondText}})
			first := url
			if c.url != "" {
				first = c.url
			}
			limits := "first_token_timeout 400ms\nidle_timeout 400ms"
			s := startLLM(t, first, "first", limits+"\nfallback "+url+" second")
			for _, v := range both {
				r := s.askIn(t, v, install, nil)
				if r.Text != secondText || !r.Finished || r.FinishReason != "stop" || r.Error != "" {
					t.Errorf("v%d with a fallback: %q, finished %t %s, error %q", v, r.Text, r.Finished, r.FinishReason, r.Error)
				}
				if len(r.Sources) == 0 || r.ThreadID == "" || r.Metadata["model"] != "second" {
					t.Errorf("v%d with a fallback: %d sources, thread %q, metadata %v", v, len(r.Sources), r.ThreadID, r.Metadata)
				}
			}
			s.Load(llm(first, "first", limits), "http://:0 {\n\tdocs acme "+acmeFolder(t)+"\n}\n")
			s.Ready("acme")
			for _, v := range both {
				r := s.askIn(t, v, install, nil)
				if !strings.Contains(r.Text, "sudo acme-install --prefix /opt/acme") || !strings.Contains(r.Text, "(/guide/install#on-linux)") || !r.Finished || r.Error != "" {
					t.Errorf("v%d without a fallback: finished %t, error %q\n%s", v, r.Finished, r.Error, r.Text)
				}
				if len(r.Sources) == 0 || r.ThreadID == "" || r.Metadata["model"] != "extractive" || r.Metadata["notice"] != "model unavailable" {
					t.Errorf("v%d without a fallback: %d sources, thread %q, metadata %v", v, len(r.Sources), r.ThreadID, r.Metadata)
				}
			}
		})
	}
}

// Second row: the text sent so far stays, an error part says that asking again
// may help, and no second answer follows.
func TestAnAnswerThatBreaksOffEndsWithAnError(t *testing.T) {
	const text = "Half an answer, which ends"
	for _, c := range []struct {
		name  string
		fault modelserver.Fault
	}{
		{"silence", modelserver.Hang},
		{"nothing but keep-alives", modelserver.Ping},
		{"a cut connection", modelserver.Cut},
		{"an end without a finish reason", modelserver.End},
		{"an error object", modelserver.ErrorObject},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, url := startModel(t)
			byModel(m, map[string]modelserver.Reply{
				"first": {Text: text, Fault: c.fault, After: 4, Gap: 5 * time.Millisecond}, "second": {Text: secondText},
			})
			s := startLLM(t, url, "first", "first_token_timeout 5s\nidle_timeout 400ms\nfallback "+url+" second")
			for _, v := range both {
				r := s.askIn(t, v, install, nil)
				if r.Text != "Half an answer, which" || r.Finished || len(r.Sources) == 0 {
					t.Errorf("v%d: %q, finished %t, %d sources", v, r.Text, r.Finished, len(r.Sources))
				}
				if !strings.Contains(r.Error, "again") || strings.ContainsAny(r.Error, "{}") {
					t.Errorf("v%d: the error is %q", v, r.Error)
				}
			}
			if got := asked(m); slices.Contains(got, "second") {
				t.Errorf("asked were %v", got)
			}
			Until(t, "the failures are logged", func() bool { return strings.Count(s.Log(), `"outcome":"failed"`) == 2 })
		})
	}
}

// Third row.
func TestAnAnswerWithoutEndIsEnded(t *testing.T) {
	for _, c := range []struct {
		name, block string
		reply       modelserver.Reply
	}{
		{"a model that repeats itself", "", modelserver.Reply{Text: "again and again ", Fault: modelserver.Repeat, Burst: 20, Gap: time.Millisecond}},
		{"a model that ignores max_tokens", "max_tokens 100", modelserver.Reply{Tokens: numbers(5000), Burst: 20, Gap: time.Millisecond}},
		{"a model that says so itself", "max_tokens 100", modelserver.Reply{Tokens: numbers(100), Finish: "length"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, url := startModel(t)
			m.Always(c.reply)
			s := startLLM(t, url, "first", c.block)
			for _, v := range both {
				r := s.askIn(t, v, install, nil)
				if !r.Finished || r.FinishReason != "length" || r.Error != "" || len(r.Sources) == 0 || len(r.Text) == 0 || len(r.Text) > 20_000 {
					t.Errorf("v%d: finished %t, reason %q, error %q, %d bytes", v, r.Finished, r.FinishReason, r.Error, len(r.Text))
				}
			}
			for _, r := range m.Requests() {
				<-r.Done()
				if c.reply.Finish == "" && !r.Cancelled() {
					t.Error("the model was not told to stop")
				}
			}
		})
	}
}

func numbers(n int) []string {
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("%d ", i)
	}
	return tokens
}

// Fourth row. The breaker's time is that of Retry-After: 1 s.
func TestABreakerOpensProbesAndCloses(t *testing.T) {
	m, url := startModel(t)
	down := modelserver.Reply{Status: 429, Header: http.Header{"Retry-After": {"1"}}}
	byModel(m, map[string]modelserver.Reply{"first": down})
	s := startLLM(t, url, "first", "")
	count := func() int { return len(m.Requests()) }
	for range 5 {
		if r := s.askIn(t, 2, install, nil); r.Metadata["model"] != "extractive" {
			t.Fatalf("metadata %v", r.Metadata)
		}
	}
	if got := docsApp(t).Status().Models; len(got) != 1 || got[0].Breaker != "open" || count() != 5 {
		t.Fatalf("after 5 failures: %+v, %d requests", got, count())
	}
	for _, v := range both {
		if r := s.askIn(t, v, install, nil); r.Metadata["model"] != "extractive" || len(r.Sources) == 0 {
			t.Errorf("while open: %v, %d sources", r.Metadata, len(r.Sources))
		}
	}
	if count() != 5 {
		t.Errorf("%d requests, though the breaker is open", count()-5)
	}

	// Its time over, one request finds out; the others don't wait for it.
	release := make(chan struct{})
	m.Answer(func(*modelserver.Request) modelserver.Reply {
		<-release
		return modelserver.Reply{Text: secondText}
	})
	var probe sync.WaitGroup
	probe.Go(func() {
		Until(t, "the probe's reply is the model's", func() bool {
			return s.askIn(t, 2, install, nil).Metadata["model"] == "first"
		})
	})
	Until(t, "a probe is made", func() bool { return count() == 6 })
	for range 3 {
		if r := s.askIn(t, 2, install, nil); r.Metadata["model"] != "extractive" {
			t.Errorf("beside the probe: %v", r.Metadata)
		}
	}
	if count() > 6 {
		t.Errorf("%d probes at a time", count()-5)
	}
	close(release)
	probe.Wait()
	if r := s.askIn(t, 1, install, nil); r.Text != secondText || docsApp(t).Status().Models[0].Breaker != "closed" {
		t.Errorf("after the probe: %q, %+v", r.Text, docsApp(t).Status().Models)
	}
}

// The client's end of a stream that it reads piece by piece.
type reading struct {
	*http.Response
	cancel context.CancelFunc
	sofar  strings.Builder
}

// open begins a reply and leaves it to be read.
func (s *Server) open(t testing.TB, c *http.Client, version int, text string, fields map[string]any) *reading {
	t.Helper()
	path, body := message(version, text, fields)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+Key)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &reading{Response: resp, cancel: cancel}
}

// until reads on until the stream holds what.
func (r *reading) until(t testing.TB, what string) {
	t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(r.sofar.String(), what) {
		n, err := r.Body.Read(buf)
		r.sofar.Write(buf[:n])
		if err != nil && !strings.Contains(r.sofar.String(), what) {
			t.Fatalf("the stream ended (%v) before %q:\n%s", err, what, r.sofar.String())
		}
	}
}

// rest reads to the end.
func (r *reading) rest() (string, error) {
	_, err := io.Copy(&r.sofar, r.Body)
	return r.sofar.String(), err
}

func TestAClientThatGoesAwayEndsTheModelsRequestAndKeepsTheTurn(t *testing.T) {
	m, url := startModel(t)
	s := startLLM(t, url, "first", "")
	for _, v := range both {
		m.Always(modelserver.Reply{Text: "one two three four five six", Gap: 5 * time.Millisecond, Fault: modelserver.Hang, After: 4})
		r := s.open(t, http.DefaultClient, v, install, map[string]any{"fp": "ann"})
		r.until(t, "four")
		thread := r.Header.Get("X-Thread-Id")
		request := m.Last()
		r.cancel()
		select {
		case <-request.Done():
		case <-time.After(patience):
			t.Fatalf("v%d: the model's request goes on", v)
		}
		if !request.Cancelled() {
			t.Errorf("v%d: the model's request was not cancelled", v)
		}
		Until(t, "the turn is kept and logged", func() bool { return strings.Count(s.Log(), `"outcome":"disconnected"`) == v })

		m.Always(modelserver.Reply{Text: secondText})
		s.askIn(t, v, "And then?", map[string]any{"fp": "ann", "threadId": thread})
		conversation := m.Last().Text("assistant") + m.Last().Text("user")
		if !strings.Contains(conversation, "one two three four") || strings.Contains(conversation, "five") {
			t.Errorf("v%d: the thread holds not what was sent:\n%s", v, conversation)
		}
	}
}

func TestRepliesUnderWayAreBounded(t *testing.T) {
	m, url := startModel(t)
	site := fmt.Sprintf("http://localhost:%d {\n\thandle /metrics {\n\t\tmetrics\n\t}\n\tdocs acme %s {\n\t\tmax_concurrent_replies 2\n\t}\n}\n", freePort(t), acmeFolder(t))
	s := Start(t, llm(url, "first", ""), site)
	s.Ready("acme")
	m.Always(modelserver.Reply{Text: "one two", Fault: modelserver.Hang, After: 1})
	first := s.open(t, http.DefaultClient, 2, install, nil)
	second := s.open(t, http.DefaultClient, 1, install, nil)
	first.until(t, "one")
	second.until(t, "one")

	// Both places are taken, also after a reload: a third waits, and gets
	// Retry-After.
	s.Load(llm(url, "first", "max_tokens 900"), site)
	s.Ready("acme")
	for _, v := range both {
		path, body := message(v, install, nil)
		r := s.Do(Request{Path: path, Body: body})
		if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || r.Error(t).Code != "busy" {
			t.Errorf("v%d: %d %v %s", v, r.Status, r.Header, r.Body)
		}
	}
	// One that waits gets the place of a reply that ends.
	m.Always(modelserver.Reply{Text: secondText})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if r := s.askIn(t, 2, install, nil); !strings.HasPrefix(r.Text, "The second model says") {
			t.Errorf("the waiting one got %q", r.Text)
		}
	})
	first.cancel()
	waiting.Wait()
	if got := s.metric(t, `caddy_docs_refused_total{reason="busy",site="acme"}`); got < 2 {
		t.Errorf("%v refusals are counted", got)
	}
}
