package aisdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/encoding/datastream"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
)

// server is a message endpoint whose replies depend on the question, spoken
// through the encoders of this project.
type server struct {
	*httptest.Server
	replies atomic.Int64
	gone    chan struct{} // a client went away in mid-stream
}

func newServer(t *testing.T) *server {
	s := &server{gone: make(chan struct{}, 100)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	v1 := strings.HasPrefix(r.URL.Path, "/v1")
	version := encoding.V2
	if v1 {
		version = encoding.V1
	}
	req, err := encoding.DecodeRequest(body, version)
	var bad *encoding.Error
	if errors.As(err, &bad) {
		refuse(w, http.StatusBadRequest, bad.Message)
		return
	}
	question := req.Messages[len(req.Messages)-1]
	if strings.Contains(question.Text, "too often") {
		refuse(w, http.StatusTooManyRequests, "Too many questions; try again in a minute.")
		return
	}
	flush := http.NewResponseController(w).Flush
	var e interface {
		reply.Sink
		KeepAlive() error
	}
	if v1 {
		datastream.SetHeader(w.Header())
		e = datastream.NewEncoder(w, flush)
	} else {
		uimessage.SetHeader(w.Header())
		e = uimessage.NewEncoder(w, flush, !req.Transport || r.URL.Query().Get("finish") == "literal")
	}
	n := s.replies.Add(1)
	thread := req.ThreadID
	if thread == "" {
		thread = fmt.Sprintf("thread_%d", n)
	}
	send := func(ev reply.Event) { _ = e.Send(&ev) }
	send(reply.Event{Kind: reply.Start, MessageID: fmt.Sprintf("msg_%d", n), ThreadID: thread})
	_ = e.Flush()
	_ = e.KeepAlive()
	send(reply.Event{Kind: reply.StepStart})
	send(reply.Event{Kind: reply.Reasoning, Text: []byte("Hm.")})
	send(reply.Event{Kind: reply.ToolCall, ToolCallID: "call_1", ToolName: "search", JSON: []byte(`{"query":"x"}`)})
	send(reply.Event{Kind: reply.ToolResult, ToolCallID: "call_1", JSON: []byte(`{"results":[{"path":"install"}]}`)})
	send(reply.Event{Kind: reply.StepFinish, Reason: "tool-calls"})
	send(reply.Event{Kind: reply.StepStart})
	send(reply.Event{Kind: reply.Source, SourceID: "s1", URL: "https://docs.example.com/install", Title: "Install"})
	send(reply.Event{Kind: reply.Source, SourceID: "s2", URL: "https://docs.example.com/faq"})
	answer := fmt.Appendf(nil, "Answer to %q with \u2028 and ", question.Text)
	if len(question.Attachments) > 0 {
		answer = append(answer, question.Attachments[0].Text+" "...)
	}
	send(reply.Event{Kind: reply.Text, Text: answer})
	_ = e.Flush()
	switch {
	case strings.Contains(question.Text, "break"):
		send(reply.Event{Kind: reply.Error, Message: "The answer broke off; please ask again."})
		_ = e.Flush()
		return
	case strings.Contains(question.Text, "cut"): // as a proxy may
		return
	case strings.Contains(question.Text, "long"):
		<-r.Context().Done()
		s.gone <- struct{}{}
		return
	}
	send(reply.Event{Kind: reply.Text, Text: []byte("😀.")})
	send(reply.Event{Kind: reply.Data, Name: "suggestions", JSON: []byte(`["And then?"]`)})
	usage := reply.Usage{InputTokens: 12, OutputTokens: 34, Known: true}
	send(reply.Event{Kind: reply.StepFinish, Reason: "stop", Usage: usage})
	send(reply.Event{Kind: reply.Finish, Reason: "stop", Usage: usage, Outcome: &reply.Outcome{Answered: "yes", Cited: []string{"s1"}}})
	_ = e.Flush()
}

func refuse(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": sentence})
}

// address is the address of the endpoint that a client speaks to.
func (s *server) address(c Client) string {
	if c.Major == 4 {
		return s.URL + "/v1/assistant/acme/message"
	}
	return s.URL + "/v2/assistant/acme/message"
}

func answerTo(question string) string {
	return fmt.Sprintf("Answer to %q with \u2028 and 😀.", question)
}

// check is a scenario and what is expected of its result.
type check struct {
	Scenario
	expect func(t *testing.T, r *Result)
}

func TestEveryClientReadsTheRepliesOfTheEncoders(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	s := newServer(t)
	var checks []check
	stops := 0
	for _, c := range Clients() {
		add := func(name string, change func(*Scenario), expect func(*testing.T, *Result), steps ...Step) {
			scenario := Scenario{
				Name: c.String() + ": " + name, Client: c, URL: s.address(c), Key: "k",
				Body: map[string]any{"fp": "anonymous", "retrievalPageSize": 5}, Steps: steps,
			}
			if change != nil {
				change(&scenario)
			}
			checks = append(checks, check{scenario, expect})
		}
		audited := func(s *Scenario) { s.Audit = true }
		add("two turns of one thread", audited, func(t *testing.T, r *Result) {
			for i, o := range r.Steps {
				whole(t, c, &o, []string{"first", "second"}[i])
			}
			if first, second := r.Steps[0], r.Steps[1]; second.ThreadID != first.ThreadID || second.Request["threadId"] != first.ThreadID || second.Messages != 4 {
				t.Errorf("thread %q then %q, sent %v, %d messages", first.ThreadID, second.ThreadID, second.Request["threadId"], second.Messages)
			}
			accepted(t, r)
		}, Step{Prompt: "first"}, Step{Prompt: "second"})
		add("an app that forgets the thread stays in it", func(s *Scenario) { s.NoThread = true }, func(t *testing.T, r *Result) {
			if a, b := r.Steps[0].ThreadID, r.Steps[1].ThreadID; a == "" || a != b || r.Steps[1].Request["threadId"] != nil {
				t.Errorf("thread %q then %q", a, b)
			}
		}, Step{Prompt: "first"}, Step{Prompt: "second"})
		add("regenerate", nil, func(t *testing.T, r *Result) {
			o := r.Steps[1]
			whole(t, c, &o, "first")
			if o.Messages != 2 || o.MessageID == r.Steps[0].MessageID || o.ThreadID != r.Steps[0].ThreadID {
				t.Errorf("%d messages, message %s after %s, thread %s after %s", o.Messages, o.MessageID, r.Steps[0].MessageID, o.ThreadID, r.Steps[0].ThreadID)
			}
			if c.Major > 4 && o.Request["trigger"] != "regenerate-message" {
				t.Errorf("trigger %v", o.Request["trigger"])
			}
		}, Step{Prompt: "first"}, Step{Do: "regenerate"})
		stops++
		add("stop and ask on", nil, func(t *testing.T, r *Result) {
			o := r.Steps[0]
			if o.Status != "ready" || o.Error != "" || !strings.HasPrefix(o.Text, "Answer to") || o.ThreadID == "" {
				t.Errorf("status %s, error %q, text %q, thread %q", o.Status, o.Error, o.Text, o.ThreadID)
			}
			if r.Steps[1].ThreadID != o.ThreadID {
				t.Errorf("thread %q after %q", r.Steps[1].ThreadID, o.ThreadID)
			}
			whole(t, c, &r.Steps[1], "next")
		}, Step{Prompt: "long", Stop: true}, Step{Prompt: "next"})
		add("resume finds nothing to resume", nil, func(t *testing.T, r *Result) {
			o := r.Steps[1]
			if o.Method != http.MethodGet || o.HTTPStatus != http.StatusNoContent {
				t.Errorf("%s answered %d", o.Method, o.HTTPStatus)
			}
			// Major 4 takes the answer for an error, and resumes only if the
			// app asks for it.
			if c.Major > 4 && (o.Status != "ready" || o.Error != "" || o.Messages != 2) {
				t.Errorf("status %s, error %q, %d messages", o.Status, o.Error, o.Messages)
			}
		}, Step{Prompt: "first"}, Step{Do: "resume"})
		add("an HTTP error shows its sentence", nil, func(t *testing.T, r *Result) {
			o := r.Steps[0]
			if o.HTTPStatus != 429 || o.Status != "error" || !strings.HasPrefix(o.Error, `{"error":"Too many questions; try again in a minute."`) {
				t.Errorf("%d, status %s, error %q", o.HTTPStatus, o.Status, o.Error)
			}
			whole(t, c, &r.Steps[1], "again")
		}, Step{Prompt: "too often"}, Step{Prompt: "again"})
		add("an error in mid-stream keeps the text and the thread", nil, func(t *testing.T, r *Result) {
			o := r.Steps[0]
			if o.Status != "error" || o.Error != "The answer broke off; please ask again." || !strings.HasSuffix(o.Text, " and ") || len(o.Streaming) > 0 || o.ThreadID == "" {
				t.Errorf("status %s, error %q, text %q, still streaming %v, thread %q", o.Status, o.Error, o.Text, o.Streaming, o.ThreadID)
			}
			if c.Major == 4 && o.Finished || c.Major > 4 && !o.IsError {
				t.Errorf("finished %t, isError %t", o.Finished, o.IsError)
			}
			whole(t, c, &r.Steps[1], "again")
		}, Step{Prompt: "break"}, Step{Prompt: "again"})
		add("a stream that ends early is distinguished from a whole one", nil, func(t *testing.T, r *Result) {
			if o := r.Steps[0]; o.Status != "ready" || o.Error != "" || Complete(c, &o) || !Complete(c, &r.Steps[1]) {
				t.Errorf("status %s, error %q, metadata %v, then %v", o.Status, o.Error, o.Metadata, r.Steps[1].Metadata)
			}
		}, Step{Prompt: "cut"}, Step{Prompt: "again"})
		add("a text file is read", nil, func(t *testing.T, r *Result) {
			o := r.Steps[0]
			if want := strings.Replace(answerTo("what is it?"), "😀", "Grüße\n \n 😀", 1); o.Text != want {
				t.Errorf("text %q, want %q, error %q", o.Text, want, o.Error)
			}
		}, Step{Prompt: "what is it?", File: &File{Name: "a.txt", MediaType: "text/plain", Text: "Grüße\n\x00\n"}})
		add("an app of many steps does not ask again", func(s *Scenario) { s.MaxSteps = 3 }, func(t *testing.T, r *Result) {
			o := r.Steps[0]
			whole(t, c, &o, "first")
			if o.Requests != 1 || len(o.ToolCalls) > 0 {
				t.Errorf("%d requests, the app was asked to run %v", o.Requests, o.ToolCalls)
			}
		}, Step{Prompt: "first"})
		if c.Major > 4 && c.Variant == "" {
			add("the literal finish event", func(s *Scenario) { audited(s); s.URL += "?finish=literal" }, func(t *testing.T, r *Result) {
				o := r.Steps[0]
				whole(t, c, &o, "first")
				if o.FinishReason != "stop" {
					t.Errorf("finish reason %q", o.FinishReason)
				}
				// The releases that made the other form necessary.
				if got := slices.Sorted(maps.Keys(r.Refused)); !slices.Equal(got, []string{"ai5first", "ai5strict", "ai6strict", "ai7strict"}) {
					t.Errorf("refused by %v", r.Refused)
				}
			}, Step{Prompt: "first"})
		}
	}
	scenarios := make([]Scenario, len(checks))
	for i, c := range checks {
		scenarios[i] = c.Scenario
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	results, err := Run(ctx, scenarios)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range checks {
		t.Run(c.Name, func(t *testing.T) {
			r := &results[i]
			if r.Problem != "" || len(r.Steps) != len(c.Steps) {
				t.Fatalf("%d steps of %d: %s", len(r.Steps), len(c.Steps), r.Problem)
			}
			c.expect(t, r)
		})
	}
	for range stops {
		if t.Failed() {
			return
		}
		select {
		case <-s.gone:
		case <-ctx.Done():
			t.Fatal("the server did not see that the client went away")
		}
	}
}

// whole expects a reply that was read whole.
func whole(t *testing.T, c Client, o *Outcome, question string) {
	t.Helper()
	if o.HTTPStatus != 200 || o.Status != "ready" || o.Error != "" || !o.Finished {
		t.Errorf("answered %d, status %s, error %q, finished %t", o.HTTPStatus, o.Status, o.Error, o.Finished)
	}
	if want := answerTo(question); o.Text != want {
		t.Errorf("text %q, want %q", o.Text, want)
	}
	if o.Reasoning != "Hm." {
		t.Errorf("reasoning %q", o.Reasoning)
	}
	if len(o.Sources) != 2 || o.Sources[0].URL != "https://docs.example.com/install" || o.Sources[0].Title != "Install" || o.Sources[1].Title != "" {
		t.Errorf("sources %v", o.Sources)
	}
	if len(o.Tools) != 1 || o.Tools[0].Name != "search" || o.Tools[0].State != "result" && o.Tools[0].State != "output-available" || o.Tools[0].Output == nil {
		t.Errorf("tools %v", o.Tools)
	}
	if len(o.Streaming) > 0 {
		t.Errorf("still streaming: %v", o.Streaming)
	}
	if o.ThreadID == "" || len(o.ThreadIDs) != 1 || len(o.ThreadPlaces) < 2 {
		t.Errorf("threads %v in %v", o.ThreadIDs, o.ThreadPlaces)
	}
	if o.Metadata["answered"] != "yes" || o.Metadata["threadId"] != o.ThreadID {
		t.Errorf("metadata %v", o.Metadata)
	}
	if len(o.Data) == 0 {
		t.Error("no data")
	}
	if c.Major == 4 {
		if o.FinishReason != "stop" || o.Usage["totalTokens"] != 46 {
			t.Errorf("finish reason %q, usage %v", o.FinishReason, o.Usage)
		}
	} else if o.Metadata["finishReason"] != "stop" || o.Metadata["usage"] == nil {
		t.Errorf("metadata %v", o.Metadata)
	}
}

// accepted expects that no generation of the SDK refuses the replies.
func accepted(t *testing.T, r *Result) {
	t.Helper()
	if len(r.Refused) > 0 {
		t.Errorf("refused: %v", r.Refused)
	}
}

func TestWithoutNodeTheErrorSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Install(t.Context())
	if err == nil || !strings.Contains(err.Error(), "need Node 20 or later") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}
