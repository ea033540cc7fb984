package assistant

import (
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

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

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
			m, url := caddytest.StartModel(t)
			byModel(m, map[string]modelserver.Reply{"first": c.reply, "second": {Text: caddytest.ModelAnswer}})
			first := url
			if c.url != "" {
				first = c.url
			}
			limits := "first_token_timeout 400ms\nidle_timeout 400ms"
			s := caddytest.StartWithModel(t, first, "first", limits+"\nfallback "+url+" second")
			for v, r := range s.AskAll(t, caddytest.InstallQuestion, nil) {
				if r.Text != caddytest.ModelAnswer || !r.Finished || r.FinishReason != "stop" || r.Error != "" {
					t.Errorf("v%d with a fallback: %q, finished %t %s, error %q", v, r.Text, r.Finished, r.FinishReason, r.Error)
				}
				if len(r.Sources) == 0 || r.ThreadID == "" || r.Metadata["model"] != "second" {
					t.Errorf("v%d with a fallback: %d sources, thread %q, metadata %v", v, len(r.Sources), r.ThreadID, r.Metadata)
				}
			}
			s.Load(caddytest.LLM(first, "first", limits), caddytest.Site(caddytest.AcmeFolder(t)))
			s.Ready("acme")
			for v, r := range s.AskAll(t, caddytest.InstallQuestion, nil) {
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
			m, url := caddytest.StartModel(t)
			byModel(m, map[string]modelserver.Reply{
				"first": {Text: text, Fault: c.fault, After: 4, Gap: 5 * time.Millisecond}, "second": {Text: caddytest.ModelAnswer},
			})
			s := caddytest.StartWithModel(t, url, "first", "first_token_timeout 5s\nidle_timeout 400ms\nfallback "+url+" second")
			for v, r := range s.AskAll(t, caddytest.InstallQuestion, nil) {
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
			caddytest.Until(t, "the failures are logged", func() bool { return strings.Count(s.Log(), `"outcome":"failed"`) == 2 })
			for line := range strings.Lines(s.Log()) {
				if strings.Contains(line, `"outcome":"failed"`) && (!strings.Contains(line, `"level":"error"`) || !strings.Contains(line, `"error":`) || strings.Contains(line, `"failed":`)) {
					t.Errorf("the log says %s", line)
				}
			}
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
		{"a model that ignores max_tokens", "max_tokens 100", modelserver.Reply{Tokens: caddytest.Numbers(5000), Burst: 20, Gap: time.Millisecond}},
		{"a model that says so itself", "max_tokens 100", modelserver.Reply{Tokens: caddytest.Numbers(100), Finish: "length"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, url := caddytest.StartModel(t)
			m.Always(c.reply)
			s := caddytest.StartWithModel(t, url, "first", c.block)
			for _, v := range caddytest.Versions {
				r := s.Ask(t, v, caddytest.InstallQuestion, nil)
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

// Fourth row. The breaker's time is that of Retry-After: 1 s.
func TestABreakerOpensProbesAndCloses(t *testing.T) {
	m, url := caddytest.StartModel(t)
	down := modelserver.Reply{Status: 429, Header: http.Header{"Retry-After": {"1"}}}
	byModel(m, map[string]modelserver.Reply{"first": down})
	s := caddytest.StartWithModel(t, url, "first", "")
	count := func() int { return len(m.Requests()) }
	for range 5 {
		if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); r.Metadata["model"] != "extractive" {
			t.Fatalf("metadata %v", r.Metadata)
		}
	}
	if got := caddytest.App(t).Status().Models; len(got) != 1 || got[0].Breaker != "open" || count() != 5 {
		t.Fatalf("after 5 failures: %+v, %d requests", got, count())
	}
	for _, v := range caddytest.Versions {
		if r := s.Ask(t, v, caddytest.InstallQuestion, nil); r.Metadata["model"] != "extractive" || len(r.Sources) == 0 {
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
		return modelserver.Reply{Text: caddytest.ModelAnswer}
	})
	var probe sync.WaitGroup
	probe.Go(func() {
		caddytest.Until(t, "the probe's reply is the model's", func() bool {
			return s.Ask(t, 2, caddytest.InstallQuestion, nil).Metadata["model"] == "first"
		})
	})
	caddytest.Until(t, "a probe is made", func() bool { return count() == 6 })
	for range 3 {
		if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); r.Metadata["model"] != "extractive" {
			t.Errorf("beside the probe: %v", r.Metadata)
		}
	}
	if count() > 6 {
		t.Errorf("%d probes at a time", count()-5)
	}
	close(release)
	probe.Wait()
	if r := s.Ask(t, 1, caddytest.InstallQuestion, nil); r.Text != caddytest.ModelAnswer || caddytest.App(t).Status().Models[0].Breaker != "closed" {
		t.Errorf("after the probe: %q, %+v", r.Text, caddytest.App(t).Status().Models)
	}
}

func TestAClientThatGoesAwayEndsTheModelsRequestAndKeepsTheTurn(t *testing.T) {
	m, url := caddytest.StartModel(t)
	s := caddytest.StartWithModel(t, url, "first", "")
	for _, v := range caddytest.Versions {
		m.Always(modelserver.Reply{Text: "one two three four five six", Gap: 5 * time.Millisecond, Fault: modelserver.Hang, After: 4})
		r := s.OpenReply(t, http.DefaultClient, v, caddytest.InstallQuestion, map[string]any{"fp": "ann"})
		r.ReadUntil(t, "four")
		thread := r.Header.Get("X-Thread-Id")
		request := m.Last()
		r.Cancel()
		select {
		case <-request.Done():
		case <-time.After(caddytest.Patience):
			t.Fatalf("v%d: the model's request goes on", v)
		}
		if !request.Cancelled() {
			t.Errorf("v%d: the model's request was not cancelled", v)
		}
		caddytest.Until(t, "the turn is kept and logged", func() bool { return strings.Count(s.Log(), `"outcome":"disconnected"`) == v })

		m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
		s.Ask(t, v, "And then?", map[string]any{"fp": "ann", "threadId": thread})
		conversation := m.Last().Text("assistant") + m.Last().Text("user")
		if !strings.Contains(conversation, "one two three four") || strings.Contains(conversation, "five") {
			t.Errorf("v%d: the thread holds not what was sent:\n%s", v, conversation)
		}
	}
}

func TestRepliesUnderWayAreBounded(t *testing.T) {
	m, url := caddytest.StartModel(t)
	site := fmt.Sprintf("http://localhost:%d {\n\thandle /metrics {\n\t\tmetrics\n\t}\n\tdocs acme %s {\n\t\tmax_concurrent_replies 2\n\t}\n}\n", caddytest.FreePort(t), caddytest.AcmeFolder(t))
	s := caddytest.Start(t, caddytest.LLM(url, "first", ""), site)
	s.Ready("acme")
	m.Always(modelserver.Reply{Text: "one two", Fault: modelserver.Hang, After: 1})
	first := s.OpenReply(t, http.DefaultClient, 2, caddytest.InstallQuestion, nil)
	second := s.OpenReply(t, http.DefaultClient, 1, caddytest.InstallQuestion, nil)
	first.ReadUntil(t, "one")
	second.ReadUntil(t, "one")

	// Both places are taken, also after a reload: a third waits, and gets
	// Retry-After.
	s.Load(caddytest.LLM(url, "first", "max_tokens 900"), site)
	s.Ready("acme")
	var refused sync.WaitGroup
	for _, v := range caddytest.Versions {
		refused.Go(func() {
			path, body := caddytest.Message(v, caddytest.InstallQuestion, nil)
			r := s.Do(caddytest.Request{Path: path, Body: body})
			if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || r.Error(t).Code != "busy" {
				t.Errorf("v%d: %d %v %s", v, r.Status, r.Header, r.Body)
			}
		})
	}
	refused.Wait()
	// One that waits gets the place of a reply that ends.
	m.Always(modelserver.Reply{Text: caddytest.ModelAnswer})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); !strings.HasPrefix(r.Text, "The second model says") {
			t.Errorf("the waiting one got %q", r.Text)
		}
	})
	first.Cancel()
	waiting.Wait()
	if got := s.Metric(t, `caddy_docs_refused_total{reason="busy",site="acme"}`); got < 2 {
		t.Errorf("%v refusals are counted", got)
	}
}
