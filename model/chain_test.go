package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

const key = "sk-secret-0123456789"

func endpoints(models ...string) []Endpoint {
	var list []Endpoint
	for _, m := range models {
		list = append(list, Endpoint{URL: "http://user:hunter22@" + m + ".test/v1?api-version=1&key=" + key, Model: m, APIKey: key})
	}
	return list
}

// byModel answers each model's requests its own way.
func byModel(replies map[string]modelserver.Reply) *modelserver.Server {
	srv := modelserver.New()
	srv.Answer(func(r *modelserver.Request) modelserver.Reply { return replies[r.Model] })
	return srv
}

func TestBeforeTheFirstTokenTheNextModelAnswers(t *testing.T) {
	header := http.Header{"Retry-After": {"7"}}
	for name, test := range map[string]struct {
		reply modelserver.Reply
		kind  Kind
		took  time.Duration
	}{
		"connection refused":           {modelserver.Reply{Fault: modelserver.Refuse}, Unreachable, 0},
		"401":                          {modelserver.Reply{Status: 401, Body: `{"error":{"message":"Incorrect API key provided: ` + key + `"}}`}, Unauthorized, 0},
		"404":                          {modelserver.Reply{Status: 404}, BadRequest, 0},
		"429":                          {modelserver.Reply{Status: 429, Header: header}, RateLimited, 0},
		"500":                          {modelserver.Reply{Status: 500}, ServerError, 0},
		"503 with HTML":                {modelserver.Reply{Status: 503, Body: "<h1>down</h1>", ContentType: "text/html"}, ServerError, 0},
		"a redirect":                   {modelserver.Reply{Status: 308, Header: http.Header{"Location": {"https://else.test/v1"}}}, ServerError, 0},
		"HTML":                         {modelserver.Reply{Fault: modelserver.HTML}, Malformed, 0},
		"an empty stream":              {modelserver.Reply{Fault: modelserver.Blank}, Empty, 0},
		"a stream without a token":     {modelserver.Reply{Text: "x", Fault: modelserver.End}, Empty, 0},
		"no header in time":            {modelserver.Reply{Fault: modelserver.Hang}, FirstTokenTimeout, 10 * time.Second},
		"a first token too late":       {modelserver.Reply{Text: "late", First: time.Minute}, FirstTokenTimeout, 10 * time.Second},
		"pings instead of a token":     {modelserver.Reply{Text: "x", Fault: modelserver.Ping}, FirstTokenTimeout, 10 * time.Second},
		"white space without end":      {modelserver.Reply{Tokens: []string{" ", "\n"}, Gap: time.Second, Fault: modelserver.Repeat}, FirstTokenTimeout, 10 * time.Second},
		"white space alone":            {modelserver.Reply{Tokens: []string{" ", "\n"}}, Empty, 0},
		"an error object at first":     {modelserver.Reply{Text: "x", Fault: modelserver.ErrorObject}, ServerError, 0},
		"a request that it can't take": {modelserver.Reply{Status: 400, Body: `{"error":{"message":"context too long","code":"context_length_exceeded"}}`}, BadRequest, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := byModel(map[string]modelserver.Reply{"first": test.reply, "second": {Text: "whole"}})
				var seen []Attempt
				var log bytes.Buffer
				c := chain(t, srv, Options{
					Endpoints: endpoints("first", "second"), Observe: func(a Attempt) { seen = append(seen, a) },
					Log: slog.New(slog.NewTextHandler(&log, nil)),
				})
				start := time.Now()
				got, completion, err := ask(t, c)
				if err != nil || got.text != "whole" || completion.Model != "second" {
					t.Fatalf("text %q, %+v, %v", got.text, completion, err)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if len(seen) != 2 || seen[0].Kind != test.kind || seen[1].Kind != OK {
					t.Errorf("attempts %+v, want first %s", seen, test.kind)
				}
				state := c.States()[0]
				for place, s := range map[string]string{"log": log.String(), "state": fmt.Sprintf("%+v", state), "attempts": fmt.Sprintf("%+v", seen)} {
					if strings.Contains(s, "secret") || strings.Contains(s, "hunter22") {
						t.Errorf("a secret in the %s: %s", place, s)
					}
				}
				// Without a fallback the same is the error.
				_, _, err = ask(t, chain(t, srv, Options{Endpoints: endpoints("first")}))
				var model *Error
				if !errors.As(err, &model) || model.Kind != test.kind || !errors.Is(err, assistant.ErrModel) {
					t.Errorf("error %v", err)
				}
				if s := err.Error(); strings.Contains(s, "secret") || strings.Contains(s, "hunter22") {
					t.Errorf("a secret in the error: %s", s)
				}
				if name == "429" && model.RetryAfter != 7*time.Second {
					t.Errorf("retry after %v", model.RetryAfter)
				}
			})
		})
	}
}

func TestAfterTheFirstTokenNoSecondAnswerBegins(t *testing.T) {
	for name, test := range map[string]struct {
		reply modelserver.Reply
		kind  Kind
		took  time.Duration
	}{
		"silence":           {modelserver.Reply{Text: "one two three", Fault: modelserver.Hang, After: 2}, IdleTimeout, 30 * time.Second},
		"nothing but pings": {modelserver.Reply{Text: "one two three", Fault: modelserver.Ping, After: 2}, IdleTimeout, 30 * time.Second},
		"empty deltas":      {modelserver.Reply{Text: "one two three", Fault: modelserver.EmptyDeltas, After: 2}, IdleTimeout, 30 * time.Second},
		"a cut":             {modelserver.Reply{Text: "one two three", Fault: modelserver.Cut, After: 2}, Truncated, 0},
		"an early end":      {modelserver.Reply{Text: "one two three", Fault: modelserver.End, After: 2}, Truncated, 0},
		"an error object":   {modelserver.Reply{Text: "one two three", Fault: modelserver.ErrorObject, After: 2}, ServerError, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := byModel(map[string]modelserver.Reply{"first": test.reply, "second": {Text: "whole"}})
				start := time.Now()
				got, _, err := ask(t, chain(t, srv, Options{Endpoints: endpoints("first", "second")}))
				var model *Error
				if got.text != "one two" || !errors.As(err, &model) || model.Kind != test.kind {
					t.Errorf("text %q, error %v", got.text, err)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if n := len(srv.Requests()); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

func TestSlowButSteadyIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := modelserver.New()
		srv.Always(modelserver.Reply{Reasoning: []string{"a", "b", "c"}, Text: "one two three", First: 9 * time.Second, Gap: 29 * time.Second})
		got, _, err := ask(t, chain(t, srv, Options{}))
		if err != nil || got.text != "one two three" {
			t.Errorf("%q, %v", got.text, err)
		}
	})
}

func TestASlowReaderIsNotTheModelsSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := modelserver.New()
		srv.Always(modelserver.Reply{Text: "one two three"})
		n := 0
		_, err := chain(t, srv, Options{}).Stream(t.Context(), &assistant.Prompt{}, func(d *assistant.Delta) error {
			if len(d.Text) > 0 {
				n++
				time.Sleep(2 * time.Minute)
			}
			return nil
		})
		if err != nil || n != 3 {
			t.Errorf("%d tokens, %v", n, err)
		}
	})
}

func TestAnEndpointThatKeepsTheConnectionOpenAfterTheEnd(t *testing.T) {
	for after, want := range map[string]time.Duration{"": finishTimeout, "data: [DONE]\n\n": drainTimeout} {
		synctest.Test(t, func(t *testing.T) {
			srv := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`+"\n\n"+after)
				http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})
			c, err := New(Options{Endpoints: endpoints("first"), Client: modelserver.Client(srv)})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			got, completion, err := ask(t, c)
			if err != nil || got.text != "x" || completion.Reason != "stop" || time.Since(start) != want {
				t.Errorf("after %q: %q %+v %v after %v", after, got.text, completion, err, time.Since(start))
			}
		})
	}
}

func TestAClientThatGoesAwayCancelsTheRequestAtOnce(t *testing.T) {
	for name, reply := range map[string]modelserver.Reply{
		"before the header":      {Fault: modelserver.Hang},
		"before the first token": {Text: "x", First: time.Hour},
		"in mid-stream":          {Text: "one two three", Fault: modelserver.Hang, After: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := modelserver.New()
				srv.Always(reply)
				c := chain(t, srv, Options{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				_, _, err := askAs(ctx, c, &assistant.Prompt{})
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, assistant.ErrModel) {
					t.Errorf("error %v", err)
				}
				<-srv.Last().Done()
				if !srv.Last().Cancelled() || time.Since(start) != time.Second {
					t.Errorf("cancelled %v after %v", srv.Last().Cancelled(), time.Since(start))
				}
				if s := c.States()[0]; s.Failures != 0 {
					t.Errorf("the breaker counts it: %+v", s)
				}
			})
		})
	}
	t.Run("when its sink fails", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			srv := modelserver.New()
			srv.Always(modelserver.Reply{Text: "one two", Fault: modelserver.Hang, After: 2})
			gone := errors.New("gone")
			_, err := chain(t, srv, Options{}).Stream(t.Context(), &assistant.Prompt{}, func(*assistant.Delta) error { return gone })
			if err != gone {
				t.Errorf("error %v", err)
			}
			<-srv.Last().Done()
			if !srv.Last().Cancelled() {
				t.Error("the request runs on")
			}
		})
	})
}

func TestABreakerOpensAndCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replies := map[string]modelserver.Reply{"first": {Status: 500}, "second": {Text: "fallback"}}
		srv := byModel(replies)
		c := chain(t, srv, Options{Endpoints: endpoints("first", "second")})
		for range 7 {
			if got, _, err := ask(t, c); err != nil || got.text != "fallback" {
				t.Fatal(got.text, err)
			}
		}
		asked := func() (n int) {
			for _, r := range srv.Requests() {
				if r.Model == "first" {
					n++
				}
			}
			return n
		}
		if s := c.States()[0]; asked() != breakAfter || s.Breaker != "open" || !s.Until.Equal(time.Now().Add(breakFor)) {
			t.Fatalf("asked %d times, %+v", asked(), s)
		}
		time.Sleep(breakFor)
		if ask(t, c); asked() != 6 || c.States()[0].Breaker != "open" {
			t.Fatalf("no probe, or one that closed it: asked %d times, %+v", asked(), c.States()[0])
		}
		time.Sleep(breakFor)
		// One probe at a time: while it waits, others go to the fallback.
		replies["first"] = modelserver.Reply{Text: "back again", First: 5 * time.Second}
		done := make(chan string)
		go func() {
			got, _, _ := ask(t, c)
			done <- got.text
		}()
		synctest.Wait()
		if got, _, _ := ask(t, c); got.text != "fallback" {
			t.Errorf("a second probe: %q", got.text)
		}
		if text := <-done; text != "back again" {
			t.Errorf("the probe got %q", text)
		}
		if s := c.States()[0]; s.Breaker != "closed" || s.Failures != 0 || s.LastError != "" {
			t.Errorf("%+v", s)
		}
	})
}

func TestABreakerStaysOpenAsLongAsTheEndpointAsks(t *testing.T) {
	for after, want := range map[string]time.Duration{"60": time.Minute, "86400": maxBreak, "": breakFor} {
		synctest.Test(t, func(t *testing.T) {
			srv := modelserver.New()
			srv.Always(modelserver.Reply{Status: 429, Header: http.Header{"Retry-After": {after}}})
			c := chain(t, srv, Options{})
			for range breakAfter {
				_, _, _ = ask(t, c)
			}
			if s := c.States()[0]; !s.Until.Equal(time.Now().Add(want)) {
				t.Errorf("Retry-After %q: open until %v, now %v", after, s.Until, time.Now())
			}
			_, _, err := ask(t, c)
			if kindOf(err) != CircuitOpen || !errors.Is(err, assistant.ErrModel) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestABadRequestDoesNotOpenTheBreaker(t *testing.T) {
	srv := modelserver.New()
	srv.Always(modelserver.Reply{Status: 400, Body: `{"error":{"message":"context too long"}}`})
	c := chain(t, srv, Options{})
	for range 2 * breakAfter {
		_, _, _ = ask(t, c)
	}
	if s := c.States()[0]; s.Breaker != "closed" || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
}

func TestRepliesThatGoNowhereEndWithLength(t *testing.T) {
	for name, reply := range map[string]modelserver.Reply{
		"endless repetition":       {Text: "I repeat myself, over and over again. ", Fault: modelserver.Repeat},
		"a letter without end":     {Text: "a", Fault: modelserver.Repeat},
		"a reply beyond its limit": {Text: strings.Join(numbers(20_000), " ")},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modelserver.New()
			srv.Always(reply)
			got, c, err := ask(t, chain(t, srv, Options{}))
			if err != nil || c.Reason != "length" || len(got.text) > 25_000 {
				t.Fatalf("%d bytes, %+v, %v", len(got.text), c, err)
			}
			<-srv.Last().Done()
		})
	}
}

func numbers(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("n", i))
	}
	return list
}

func TestRepetitionIsNotSeenInOrdinaryText(t *testing.T) {
	table := "| Option | Default | Meaning |\n|---|---|---|\n"
	code := "var table = []byte{\n"
	for i := range 120 {
		table += fmt.Sprintf("| option_%d | no | see below |\n", i)
		code += fmt.Sprintf("\t0x00, 0x00, 0x00, 0x%02x, // %d\n", i, i)
	}
	for name, text := range map[string]string{
		"a table": table, "code": code,
		"ASCII art":    strings.Repeat("+----------------------+\n|                      |\n+----------------------+\n", 40),
		"a long ruler": strings.Repeat("=", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			var s stream
			for _, token := range modelserver.Tokens("Here it is:\n" + text + "\nThat's all.") {
				if s.repeats([]byte(token)) {
					t.Fatal("taken for repetition")
				}
			}
		})
	}
}

func TestParametersThatAnEndpointRefusesAreLeftOut(t *testing.T) {
	tools := []assistant.Tool{{Name: "search", Parameters: []byte(`{"type":"object"}`)}}
	for name, test := range map[string]struct {
		endpoint Endpoint
		refuse   string // the field whose presence is refused
		body     string // the refusal
		status   int
		without  []string
		with     []string
	}{
		"OpenAI's reasoning models":    {Endpoint{URL: "https://api.openai.com/v1", Model: "gpt-5-mini"}, "", "", 0, []string{"max_tokens", "temperature"}, []string{"max_completion_tokens", "reasoning_effort", "stream_options", "user"}},
		"others":                       {Endpoint{URL: "http://localhost/v1", Model: "qwen3"}, "", "", 0, []string{"max_completion_tokens", "temperature", "user", "reasoning_effort"}, []string{"max_tokens", "stream_options", "tools"}},
		"max_tokens":                   {Endpoint{URL: "http://localhost/v1", Model: "x"}, "max_tokens", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`, 400, []string{"max_tokens"}, []string{"max_completion_tokens"}},
		"max_completion_tokens":        {Endpoint{URL: "https://api.openai.com/v1", Model: "x"}, "max_completion_tokens", `{"message":"Extra inputs are not permitted: max_completion_tokens"}`, 422, []string{"max_completion_tokens"}, []string{"max_tokens"}},
		"max_tokens that are too many": {Endpoint{URL: "http://localhost/v1", Model: "x"}, "max_tokens", `{"error":{"message":"max_tokens is too large: 1500"}}`, 400, []string{"max_tokens", "max_completion_tokens"}, nil},
		"stream_options":               {Endpoint{URL: "http://localhost/v1", Model: "x"}, "stream_options", `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, 422, []string{"stream_options"}, []string{"max_tokens"}},
		"reasoning_effort":             {Endpoint{URL: "https://api.openai.com/v1", Model: "gpt-5.2-pro"}, "reasoning_effort", `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'low'"}}`, 400, []string{"reasoning_effort"}, []string{"max_completion_tokens"}},
		"user":                         {Endpoint{URL: "https://api.openai.com/v1", Model: "x"}, "user", `{"error":{"message":"unknown field \"user\""}}`, 400, []string{"user"}, []string{"stream_options"}},
		"tools of a model without":     {Endpoint{URL: "http://localhost/v1", Model: "x"}, "tools", `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}`, 400, []string{"tools"}, []string{"stream_options"}},
		"tools at OpenRouter":          {Endpoint{URL: "https://openrouter.ai/api/v1", Model: "x/y"}, "tools", `{"error":{"message":"No endpoints found that support tool use.","code":404}}`, 404, []string{"tools"}, []string{"user"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modelserver.New()
			srv.Answer(func(r *modelserver.Request) modelserver.Reply {
				if _, there := r.Fields[test.refuse]; there {
					return modelserver.Reply{Status: test.status, Body: test.body}
				}
				return modelserver.Reply{Text: "fine"}
			})
			c := chain(t, srv, Options{Endpoints: []Endpoint{test.endpoint}})
			p := &assistant.Prompt{Tools: tools, User: "u", Messages: []assistant.PromptMessage{{Role: "user", Content: "a < b"}}}
			for range 2 {
				if got, _, err := askAs(t.Context(), c, p); err != nil || got.text != "fine" {
					t.Fatal(got.text, err)
				}
			}
			want := 2
			if test.refuse != "" {
				want = 3 // it is remembered
			}
			if n := len(srv.Requests()); n != want {
				t.Errorf("%d requests, want %d", n, want)
			}
			last := srv.Last()
			for _, f := range test.without {
				if _, there := last.Fields[f]; there {
					t.Errorf("%s was sent: %s", f, last.Body)
				}
			}
			for _, f := range test.with {
				if _, there := last.Fields[f]; !there {
					t.Errorf("%s was not sent: %s", f, last.Body)
				}
			}
		})
	}
}

func TestAModelWhoseTemplateHasNoSystemRoleGetsOneMessage(t *testing.T) {
	srv := modelserver.New()
	srv.Answer(func(r *modelserver.Request) modelserver.Reply {
		if strings.Contains(string(r.Fields["messages"]), `"system"`) {
			return modelserver.Reply{Status: 400, Body: `{"object":"error","message":"System role not supported","type":"BadRequestError","code":400}`}
		}
		return modelserver.Reply{Text: "fine"}
	})
	c := chain(t, srv, Options{})
	p := &assistant.Prompt{Messages: []assistant.PromptMessage{{Role: "system", Content: "Rules"}, {Role: "user", Content: "Question"}}}
	for range 2 {
		if got, _, err := askAs(t.Context(), c, p); err != nil || got.text != "fine" {
			t.Fatal(got.text, err)
		}
	}
	if got, want := string(srv.Last().Fields["messages"]), `[{"role":"user","content":"Rules\n\nQuestion"}]`; got != want || len(srv.Requests()) != 3 {
		t.Errorf("%s after %d requests, want %s after 3", got, len(srv.Requests()), want)
	}
}

func TestMessagesOfAToolConversation(t *testing.T) {
	srv := modelserver.New()
	p := &assistant.Prompt{Messages: []assistant.PromptMessage{
		{Role: "user", Content: ""},
		{Role: "assistant", ToolCalls: []assistant.ToolCall{{ID: "c1", Name: "search", Arguments: `{"query":"x"}`}}},
		{Role: "tool", ToolCallID: "c1", Content: "<b>"},
	}}
	if _, _, err := askAs(t.Context(), chain(t, srv, Options{}), p); err != nil {
		t.Fatal(err)
	}
	want := `[{"role":"user","content":""},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"search","arguments":"{\"query\":\"x\"}"}}]},{"role":"tool","content":"\u003cb\u003e","tool_call_id":"c1"}]`
	if got := string(srv.Last().Fields["messages"]); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestAzureIsAddressedItsOwnWay(t *testing.T) {
	var asked *http.Request
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		modelserver.New().ServeHTTP(w, r)
	})
	c, err := New(Options{Client: modelserver.Client(h), Endpoints: []Endpoint{{
		URL: "https://acme.openai.azure.com/openai/deployments/gpt/?api-version=2024-10-21", Model: "gpt", APIKey: key,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, c); err != nil {
		t.Fatal(err)
	}
	if got := asked.URL.RequestURI(); got != "/openai/deployments/gpt/chat/completions?api-version=2024-10-21" {
		t.Error(got)
	}
	if asked.Header.Get("Api-Key") != key || asked.Header.Get("Authorization") != "" {
		t.Errorf("%v", asked.Header)
	}
}

func TestAnEmptyDeltaComesOnceNoWholePieceWaits(t *testing.T) {
	token := func(s string) string { return `data: {"choices":[{"delta":{"content":"` + s + `"}}]}` + "\n\n" }
	writes := []string{
		token("a") + token("b") + token("c")[:20], token("c")[20:],
		token("d") + `data: {"choices":[{"delta":{"role":"assistant"}}]}` + "\n\n",
		token("e") + ": ping\n\n" + `data: {"choices":[],"usage":null}` + "\n\n" + token("f"),
		"data: [DONE]\n\n",
	}
	synctest.Test(t, func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, s := range writes {
				time.Sleep(time.Second)
				fmt.Fprint(w, s)
			}
		})
		c, err := New(Options{Endpoints: endpoints("first"), Client: modelserver.Client(h)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		_, err = c.Stream(t.Context(), &assistant.Prompt{}, func(d *assistant.Delta) error {
			if d.More == (len(d.Text) == 0) {
				t.Errorf("%q with More %t", d.Text, d.More)
			}
			got = append(got, string(d.Text))
			return nil
		})
		if want := []string{"a", "b", "", "c", "", "d", "", "e", "f", ""}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, want %q (%v)", got, want, err)
		}
	})
}

func TestCheckReportsWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		models []string
		model  string
		reply  modelserver.Reply
		want   string // "" for no error
	}{
		"a model that is there":         {[]string{"a", "fake"}, "fake", modelserver.Reply{}, ""},
		"Ollama's tag":                  {[]string{"qwen3:latest"}, "qwen3", modelserver.Reply{}, ""},
		"Gemini's names":                {[]string{"models/gemini-2.5-flash"}, "gemini-2.5-flash", modelserver.Reply{}, ""},
		"a model that is not there":     {[]string{"a", "b"}, "fake", modelserver.Reply{}, `no model "fake"; it has: a, b`},
		"no list, a model that answers": {nil, "fake", modelserver.Reply{Text: "yes"}, ""},
		"no list, no answer":            {nil, "fake", modelserver.Reply{Status: 401}, "unauthorized"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := modelserver.New()
			srv.Models(test.models...)
			srv.Always(test.reply)
			err := chain(t, srv, Options{Endpoints: endpoints(test.model)}).Check(t.Context())
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"no endpoint":         {},
		"no scheme":           {Endpoints: []Endpoint{{URL: "api.openai.com/v1", Model: "x"}}},
		"no model":            {Endpoints: []Endpoint{{URL: "http://localhost/v1"}}},
		"a secret in the URL": {Endpoints: []Endpoint{{URL: "http://u:secret@[bad", Model: "x"}}},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
