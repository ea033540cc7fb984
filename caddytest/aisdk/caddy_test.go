package aisdk_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/aisdk"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// What the model says to the SDK's clients; the link is checked and made
// absolute where the site's address is known.
const sdkAnswer = "Run the installer, as [Install](/guide/install#on-linux) says 😀."

// The real chat SDK clients, of all majors and of the strict releases, talk
// to a real Caddy: the whole way from the hook to the model and back.
func TestTheChatSDKsTalkToCaddy(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	m, url := caddytest.StartModel(t)
	m.Answer(func(r *modelserver.Request) modelserver.Reply {
		reply := modelserver.Reply{Reasoning: []string{"Hm", "."}, Text: sdkAnswer, Gap: time.Millisecond}
		// The message also has the conversation before the question.
		_, question, asked := strings.Cut(r.Question(), "\nQuestion\n")
		if !asked {
			question = r.Question()
		}
		switch {
		case strings.Contains(question, "Rewrite") || len(r.Tools) == 0 && strings.Contains(r.Text("system"), "Rewrite"):
			return modelserver.Reply{Text: caddytest.InstallQuestion}
		case strings.Contains(question, "a long answer"):
			reply.Fault, reply.After = modelserver.Hang, 3
		case strings.Contains(question, "break off"):
			reply.Fault, reply.After = modelserver.Cut, 3
		}
		return reply
	})
	s := caddytest.StartWithModel(t, url, "first", "reasoning on")
	extractive := caddytest.Site(caddytest.AcmeFolder(t))

	type check struct {
		aisdk.Scenario
		expect func(*testing.T, *aisdk.Result)
	}
	var checks []check
	for _, c := range aisdk.Clients() {
		add := func(name, key string, expect func(*testing.T, *aisdk.Result), steps ...aisdk.Step) {
			path := caddytest.V2Path
			if c.Major == 4 {
				path = caddytest.V1Path
			}
			checks = append(checks, check{aisdk.Scenario{
				Name: c.String() + ": " + name, Client: c, URL: s.Base + path, Key: key, Audit: strings.HasPrefix(name, "two turns"), Timeout: 120_000,
				Body: map[string]any{"fp": "reader-" + c.String(), "retrievalPageSize": 3}, Steps: steps,
			}, expect})
		}
		whole := func(t *testing.T, o *aisdk.Outcome) {
			t.Helper()
			if o.HTTPStatus != 200 || o.Status != "ready" || o.Error != "" || !o.Finished || o.Text != sdkAnswer || o.Reasoning != "Hm." {
				t.Errorf("answered %d, status %s, error %q, finished %t, text %q, reasoning %q", o.HTTPStatus, o.Status, o.Error, o.Finished, o.Text, o.Reasoning)
			}
			if len(o.Sources) == 0 || o.Sources[0].URL == "" || o.Sources[0].Title == "" || len(o.Streaming) > 0 || len(o.ToolCalls) > 0 || o.Requests != 1 {
				t.Errorf("sources %v, still streaming %v, asked to run %v, %d requests", o.Sources, o.Streaming, o.ToolCalls, o.Requests)
			}
			if len(o.Tools) == 0 || o.Tools[0].State != "result" && o.Tools[0].State != "output-available" {
				t.Errorf("tools %v", o.Tools)
			}
			if o.ThreadID == "" || len(o.ThreadIDs) != 1 || o.ThreadID != o.Headers["x-thread-id"] || o.Metadata["answered"] != "yes" {
				t.Errorf("threads %v, header %q, metadata %v", o.ThreadIDs, o.Headers["x-thread-id"], o.Metadata)
			}
		}
		add("two turns of one thread", caddytest.Key, func(t *testing.T, r *aisdk.Result) {
			whole(t, &r.Steps[0])
			whole(t, &r.Steps[1])
			if first, second := r.Steps[0], r.Steps[1]; second.ThreadID != first.ThreadID || second.Request["threadId"] != first.ThreadID || second.Messages != 4 {
				t.Errorf("thread %q then %q, sent %v, %d messages", first.ThreadID, second.ThreadID, second.Request["threadId"], second.Messages)
			}
			if len(r.Refused) > 0 {
				t.Errorf("refused: %v", r.Refused)
			}
		}, aisdk.Step{Prompt: caddytest.InstallQuestion}, aisdk.Step{Prompt: "And how do I configure it?"})
		add("regenerate", caddytest.Key, func(t *testing.T, r *aisdk.Result) {
			whole(t, &r.Steps[1])
			if r.Steps[1].Messages != 2 || r.Steps[1].ThreadID != r.Steps[0].ThreadID {
				t.Errorf("%d messages, thread %q after %q", r.Steps[1].Messages, r.Steps[1].ThreadID, r.Steps[0].ThreadID)
			}
		}, aisdk.Step{Prompt: caddytest.InstallQuestion}, aisdk.Step{Do: "regenerate"})
		add("stop and ask on", caddytest.Key, func(t *testing.T, r *aisdk.Result) {
			o := r.Steps[0]
			if o.Status != "ready" || o.Error != "" || !strings.HasPrefix(sdkAnswer, o.Text) || o.Text == "" || o.ThreadID == "" || r.Steps[1].ThreadID != o.ThreadID {
				t.Errorf("status %s, error %q, text %q, thread %q then %q", o.Status, o.Error, o.Text, o.ThreadID, r.Steps[1].ThreadID)
			}
			whole(t, &r.Steps[1])
		}, aisdk.Step{Prompt: "Give me a long answer on installing", Stop: true}, aisdk.Step{Prompt: caddytest.InstallQuestion})
		add("resume finds nothing to resume", caddytest.Key, func(t *testing.T, r *aisdk.Result) {
			if o := r.Steps[1]; o.Method != http.MethodGet || o.HTTPStatus != http.StatusNoContent || c.Major > 4 && (o.Status != "ready" || o.Error != "") {
				t.Errorf("%s answered %d, status %s, error %q", o.Method, o.HTTPStatus, o.Status, o.Error)
			}
		}, aisdk.Step{Prompt: caddytest.InstallQuestion}, aisdk.Step{Do: "resume"})
		add("an HTTP error shows its sentence", "svc_dsc_0000000000000000000000", func(t *testing.T, r *aisdk.Result) {
			if o := r.Steps[0]; o.HTTPStatus != 401 || o.Status != "error" || !strings.HasPrefix(o.Error, `{"error":"this needs a valid API key`) {
				t.Errorf("%d, status %s, error %q", o.HTTPStatus, o.Status, o.Error)
			}
		}, aisdk.Step{Prompt: caddytest.InstallQuestion})
		add("an error in mid-stream keeps the text before it", caddytest.Key, func(t *testing.T, r *aisdk.Result) {
			o := r.Steps[0]
			if o.Status != "error" || !strings.Contains(o.Error, "again") || o.Text == "" || !strings.HasPrefix(sdkAnswer, o.Text) || len(o.Streaming) > 0 || o.ThreadID == "" || len(o.Sources) == 0 {
				t.Errorf("status %s, error %q, text %q, still streaming %v, thread %q, sources %v", o.Status, o.Error, o.Text, o.Streaming, o.ThreadID, o.Sources)
			}
			failed, _ := o.Metadata["error"].(map[string]any)
			if c.Major == 4 {
				failed = o.Metadata
			}
			if id, _ := failed["requestId"].(string); failed["code"] != "broke_off" || len(id) != 36 || aisdk.Complete(c, &o) || !aisdk.Complete(c, &r.Steps[1]) {
				t.Errorf("metadata %v, then %v", o.Metadata, r.Steps[1].Metadata)
			}
			whole(t, &r.Steps[1])
		}, aisdk.Step{Prompt: "Let this installation break off"}, aisdk.Step{Prompt: caddytest.InstallQuestion})
	}
	scenarios := make([]aisdk.Scenario, len(checks))
	for i, c := range checks {
		scenarios[i] = c.Scenario
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	results, err := aisdk.Run(ctx, scenarios)
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

	// Without a model they read the extractive reply just as well.
	s.Load("", extractive)
	s.Ready("acme")
	scenarios = scenarios[:0]
	for _, c := range aisdk.Clients() {
		path := caddytest.V2Path
		if c.Major == 4 {
			path = caddytest.V1Path
		}
		scenarios = append(scenarios, aisdk.Scenario{
			Name: c.String() + ": extractive", Client: c, URL: s.Base + path, Key: caddytest.Key, Audit: true, Timeout: 120_000,
			Body: map[string]any{"fp": "anonymous"}, Steps: []aisdk.Step{{Prompt: caddytest.InstallQuestion}},
		})
	}
	if results, err = aisdk.Run(ctx, scenarios); err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(r.Name, func(t *testing.T) {
			if r.Problem != "" || len(r.Steps) != 1 || len(r.Refused) > 0 {
				t.Fatalf("%s, refused %v", r.Problem, r.Refused)
			}
			if o := r.Steps[0]; o.Error != "" || !o.Finished || !strings.Contains(o.Text, "sudo acme-install") || len(o.Sources) == 0 || o.Metadata["model"] != "extractive" {
				t.Errorf("error %q, finished %t, text %q, %d sources, metadata %v", o.Error, o.Finished, o.Text, len(o.Sources), o.Metadata)
			}
		})
	}
}

const toolsAnswer = "Rockets have 1000 newtons ([max_thrust](/reference.html#max_thrust))."

// searching is a model that searches, reads a page and searches again until
// no tools are offered any more.
func searching(r *modelserver.Request) modelserver.Reply {
	call := func(id, tool, arguments string) modelserver.Reply {
		return modelserver.Reply{ToolCalls: []modelserver.ToolCall{modelserver.Call(id, tool, arguments)}}
	}
	switch {
	case strings.HasPrefix(r.Text("system"), "Rewrite "):
		return modelserver.Reply{Status: 500}
	case len(r.Tools) == 0:
		return modelserver.Reply{Text: toolsAnswer}
	case strings.Contains(r.Text("tool"), "Every option of the file"):
		return call("c", "search", `{"query":"countdown"}`)
	case r.Text("tool") != "":
		return call("b", "read_page", `{"page":"/reference"}`)
	}
	return call("a", "search", `{"query":"thrust limits"}`)
}

func TestChatClientsReadAnswersWithTools(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	m, url := caddytest.StartModel(t)
	s := caddytest.Start(t, caddytest.LLM(url, "scripted", ""), "http://:0 {\n\tdocs acme "+caddytest.AcmeFolder(t)+" {\n\t\tsuggestions on\n\t}\n}\n")
	s.Ready("acme")
	m.Answer(searching)
	var scenarios []aisdk.Scenario
	for _, c := range aisdk.Clients() {
		path := caddytest.V2Path
		if c.Major == 4 {
			path = caddytest.V1Path
		}
		scenarios = append(scenarios, aisdk.Scenario{
			Name: c.String(), Client: c, URL: s.Base + path, Key: caddytest.Key, Audit: true, MaxSteps: 5,
			Body:  map[string]any{"fp": "anonymous"},
			Steps: []aisdk.Step{{Prompt: "How do I install Acme on Linux?"}, {Prompt: "and on Windows?"}},
		})
	}
	results, err := aisdk.Run(t.Context(), scenarios)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Problem != "" || len(r.Refused) > 0 {
			t.Errorf("%s: %s, refused %v", r.Name, r.Problem, r.Refused)
			continue
		}
		for i, o := range r.Steps {
			if o.Requests != 1 || len(o.ToolCalls) > 0 {
				t.Errorf("%s, turn %d: asked %d times, told to run %v", r.Name, i+1, o.Requests, o.ToolCalls)
			}
			if !strings.HasSuffix(strings.TrimSpace(o.Text), toolsAnswer) || o.Status != "ready" || o.Error != "" || len(o.Sources) == 0 || len(o.Tools) != 4 || o.ThreadID == "" {
				t.Errorf("%s, turn %d: %q, status %s, error %q, %d sources, %d tools, thread %q", r.Name, i+1, o.Text, o.Status, o.Error, len(o.Sources), len(o.Tools), o.ThreadID)
			}
		}
	}
}
