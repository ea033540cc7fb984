package model

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// expected is what a reader should get of a recorded answer.
type expected struct {
	text, reasoning string // plain, unescaped
	reason          string
	usage           reply.Usage
	calls           []assistant.ToolCall
	kind            Kind   // of the error, "" for none
	message         string // part of the error
}

func known(in, out int) reply.Usage {
	return reply.Usage{InputTokens: in, OutputTokens: out, Known: true}
}

var dialects = map[string]expected{
	"openai":           {text: "Hello \"world\"\n", reason: "stop", usage: known(19, 10)},
	"openai-tools":     {reason: "tool-calls", calls: []assistant.ToolCall{{ID: "call_DdmO9pD3xa9XTPNJ32zg2hcA", Name: "search", Arguments: `{"query":"tls"}`}, {ID: "call_ABCDEFabcdef", Name: "read_page", Arguments: `{"page":"install"}`}}},
	"openai-refusal":   {text: "I'm sorry, no.", reason: "content-filter"},
	"azure":            {text: "Grüß Gott", reason: "stop", usage: known(12, 4)},
	"anthropic":        {text: "Use `caddy run`.", reason: "length", usage: known(20, 5)},
	"gemini":           {text: "The port is 443.", reasoning: "Let me see", reason: "stop", usage: known(8, 6)},
	"gemini-tools":     {reason: "tool-calls", calls: []assistant.ToolCall{{ID: "function-call-1", Name: "search", Arguments: `{"query":"a"}`}, {ID: "function-call-2", Name: "search", Arguments: `{"query":"b"}`}}},
	"mistral":          {text: "Port 80", reasoning: "Okay, ports.", reason: "length", usage: known(5, 4)},
	"mistral-tools":    {reason: "tool-calls", usage: known(90, 30), calls: []assistant.ToolCall{{ID: "D681PevKs", Name: "search", Arguments: `{"query": "tls"}`}, {ID: "yvCExfmqp", Name: "read_page", Arguments: `{"page":"install"}`}}},
	"openrouter":       {text: "Yes", reasoning: "Hmm.", reason: "stop", usage: known(7, 3)},
	"openrouter-error": {text: "Half an", kind: ServerError, message: "Provider disconnected unexpectedly"},
	"groq":             {text: "Fast", reasoning: "Simple.", reason: "stop", usage: known(24, 6)},
	"deepseek":         {text: "你好", reasoning: "First, think.", reason: "stop", usage: known(17, 9)},
	"vllm":             {text: "ok 😀", reasoning: "Well", reason: "stop", usage: known(11, 4)},
	"ollama":           {text: "Write <b>", reasoning: "\na < b", reason: "stop", usage: known(33, 12)},
	"ollama-tools":     {reason: "tool-calls", calls: []assistant.ToolCall{{ID: "call_a1", Name: "search", Arguments: `{"query":"tls"}`}, {ID: "call_b2", Name: "read_page", Arguments: `{"page":"a"}`}}},
	"llamacpp":         {text: "Hi there", reason: "length", usage: known(14, 3)},
	"llamacpp-error":   {kind: BadRequest, message: "the request exceeds the available context size"},
	"lmstudio":         {text: "Sure!", reason: "stop"},
	"lmstudio-error":   {kind: ServerError, message: "The model has crashed"},
}

// replay reads a body as an endpoint's answer.
func replay(t *testing.T, body, contentType string) (collected, *assistant.Completion, error) {
	t.Helper()
	srv := modelserver.New()
	srv.Always(modelserver.Reply{Body: body, ContentType: contentType})
	return ask(t, chain(t, srv, Options{}))
}

func check(t *testing.T, want expected, got collected, c *assistant.Completion, err error) {
	t.Helper()
	if got.text != want.text {
		t.Errorf("text %q, want %q", got.text, want.text)
	}
	if got.reasoning != want.reasoning {
		t.Errorf("reasoning %q, want %q", got.reasoning, want.reasoning)
	}
	if want.kind != "" {
		var model *Error
		if !errors.As(err, &model) || !errors.Is(err, assistant.ErrModel) {
			t.Fatalf("error %v, want one of kind %s", err, want.kind)
		}
		if model.Kind != want.kind || !strings.Contains(err.Error(), want.message) {
			t.Errorf("error %v, want kind %s with %q", err, want.kind, want.message)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Reason != want.reason || c.Usage != want.usage || !reflect.DeepEqual(c.ToolCalls, want.calls) {
		t.Errorf("completion %+v, want reason %s, usage %+v, calls %+v", c, want.reason, want.usage, want.calls)
	}
}

// Each dialect is read as recorded and in every disguise that the event
// stream format allows.
func TestDialects(t *testing.T) {
	files, err := filepath.Glob("testdata/dialects/*.txt")
	if err != nil || len(files) != len(dialects) {
		t.Fatalf("%d recordings for %d dialects (%v)", len(files), len(dialects), err)
	}
	disguises := map[string]func(string) string{
		"as recorded":               func(s string) string { return s },
		"with CRLF":                 func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"without space":             func(s string) string { return strings.ReplaceAll(s, "data: ", "data:") },
		"with a mark":               func(s string) string { return "\xef\xbb\xbf" + s },
		"without empty lines":       func(s string) string { return strings.ReplaceAll(s, "\n\n", "\n") },
		"with keep-alives":          func(s string) string { return strings.ReplaceAll(s, "\n\n", "\n\n: ping\n\n:\n\nid: 7\nretry: 10\n\n") },
		"with 1,000 comments":       func(s string) string { return strings.Repeat(": ping\n", 1000) + s },
		"in several data lines":     func(s string) string { return strings.ReplaceAll(s, `,"object":`, ",\ndata: \"object\":") },
		"without the last line end": func(s string) string { return strings.TrimRight(s, "\n") },
		"without [DONE]":            func(s string) string { return strings.ReplaceAll(s, "data: [DONE]\n\n", "") },
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for disguise, put := range disguises {
			t.Run(name+" "+disguise, func(t *testing.T) {
				got, c, err := replay(t, put(string(body)), "")
				check(t, dialects[name], got, c, err)
			})
		}
	}
}

func TestShapesOfAnswers(t *testing.T) {
	big := strings.Repeat("All work and no play makes Jack a dull boy. ", 50_000)[:2<<20]
	// A long line without repetition, or the guard would rightly end it.
	var long strings.Builder
	for i := 0; long.Len() < 2<<20; i++ {
		long.WriteString("word ")
		long.WriteString(strings.Repeat("x", i%17))
		long.WriteString(string(rune('a' + i%26)))
	}
	text := func(s string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":` + quote(s) + `}}]}` + "\n\n"
	}
	cached := func(s string) string {
		return `data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":1,` + s + `}}` + "\n\n"
	}
	fromCache := func(n int) reply.Usage {
		return reply.Usage{InputTokens: 100, OutputTokens: 1, CachedTokens: n, Known: true}
	}
	stop := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, test := range map[string]struct {
		body, contentType string
		want              expected
	}{
		"a plain completion of an endpoint that doesn't stream": {
			`{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"All at once"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}`,
			"application/json",
			expected{text: "All at once", reason: "stop", usage: known(1, 3)},
		},
		"tokens that OpenAI had in its cache":    {text("x") + cached(`"prompt_tokens_details":{"cached_tokens":64}`) + stop, "", expected{text: "x", reason: "stop", usage: fromCache(64)}},
		"tokens that Anthropic had in its cache": {text("x") + strings.ReplaceAll(cached(`"cache_read_input_tokens":32`), `"prompt_tokens":100,"completion`, `"input_tokens":68,"output`) + stop, "", expected{text: "x", reason: "stop", usage: fromCache(32)}},
		"tokens that DeepSeek had in its cache":  {text("x") + cached(`"prompt_cache_hit_tokens":900`) + stop, "", expected{text: "x", reason: "stop", usage: fromCache(100)}},
		"a plain completion that says it is a stream": {
			"\n{\n \"choices\":[{\"index\":0,\"message\":{\"content\":\"All\"}}]}", "", expected{text: "All", reason: "stop"},
		},
		"a stream that says it is JSON": {text("x") + stop, "application/json", expected{text: "x", reason: "stop"}},
		"HTML with status 200":          {"<!doctype html><h1>Welcome</h1>", "text/html", expected{kind: Malformed, message: "HTML"}},
		"HTML in mid-stream":            {text("a") + "<html>", "", expected{text: "a", kind: Malformed, message: "HTML"}},
		"nothing at all":                {"\n\n", "", expected{kind: Empty}},
		"comments only":                 {": ping\n\n: ping\n\n", "", expected{kind: Empty}},
		"nothing but [DONE]":            {"data: [DONE]\n\n", "", expected{kind: Empty}},
		"a reply without text":          {stop, "", expected{kind: Empty}},
		"a reply that was filtered away": {
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}` + "\n\n", "", expected{kind: ContentFilter},
		},
		"a cut between two events":         {text("Half"), "", expected{text: "Half", kind: Truncated}},
		"a cut in the middle of a line":    {text("Half") + `data: {"choices":[{"index":0,"delta":{"con`, "", expected{text: "Half", kind: Truncated}},
		"an error as JSON with status 200": {`{"error":{"message":"no such model","type":"invalid_request_error"}}`, "application/json", expected{kind: BadRequest, message: "no such model"}},
		"an unterminated JSON error":       {`{"error":{"message":"no such mod`, "application/json", expected{kind: ServerError, message: "no such mod"}},
		"an error in an array":             {`[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]`, "application/json", expected{kind: RateLimited, message: "quota"}},
		"an error as a string":             {`data: {"error":"out of memory"}` + "\n\n", "", expected{kind: ServerError, message: "out of memory"}},
		"an error behind other keys":       {`data: {"id":"x","choices":[],"error":{"message":"late"}}` + "\n\n", "", expected{kind: ServerError, message: "late"}},
		"an error in a choice":             {text("a") + `data: {"choices":[{"index":0,"delta":{},"error":{"message":"inner","code":500}}]}` + "\n\n", "", expected{text: "a", kind: ServerError, message: "inner"}},
		"an error after a comment":         {": x\n\ndata: {\"error\":{\"message\":\"m\"}}\n\n", "", expected{kind: ServerError, message: "m"}},
		"an error event of plain text":     {"event: error\ndata: boom\n\n", "", expected{kind: ServerError, message: "boom"}},
		"Anthropic's error event":          {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", "", expected{kind: ServerError, message: "Overloaded"}},
		"an error without data field":      {text("a") + `{"error":{"message":"raw"}}` + "\n", "", expected{text: "a", kind: ServerError, message: "raw"}},
		"an error object null":             {`data: {"error":null,"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n" + stop, "", expected{text: "x", reason: "stop"}},
		"FastAPI's detail":                 {`{"detail":"Not authenticated"}`, "application/json", expected{kind: ServerError, message: "Not authenticated"}},
		"an event that is no JSON":         {"data: hello\n\n", "", expected{kind: Malformed}},
		"a line of 2 MB":                   {text(long.String()) + stop, "", expected{text: long.String(), reason: "length"}},
		"a line of 2 MB of repetition":     {text(big) + stop, "", expected{text: big, reason: "length"}},
		"a line that never ends":           {"data: " + strings.Repeat("x", 5<<20), "", expected{kind: Malformed, message: "longer than 4 MB"}},
		"other choices":                    {`data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + text("yes") + stop, "", expected{text: "yes", reason: "stop"}},
		"two choices in a chunk":           {`data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}` + "\n\n" + stop, "", expected{text: "yes", reason: "stop"}},
		"a numeric id":                     {`data: {"id":7,"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n" + stop, "", expected{text: "x", reason: "stop"}},
		"keys in another order":            {`data: { "choices" : [ { "finish_reason":null, "delta" : { "content" : "x" , "role":"assistant" } , "index":0 } ] , "id":"\"}]" }` + "\n\n" + stop, "", expected{text: "x", reason: "stop"}},
		"invalid UTF-8":                    {"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"}}]}\n\n" + stop, "", expected{text: "a\uFFFDb", reason: "stop"}},
		"a finish reason in other words":   {text("x") + `data: {"choices":[{"delta":{},"finish_reason":"eos"}]}` + "\n\n", "", expected{text: "x", reason: "stop"}},
		"an unknown finish reason":         {text("x") + `data: {"choices":[{"delta":{},"finish_reason":"whim"}]}` + "\n\n", "", expected{text: "x", reason: "other"}},
		"a finish reason error":            {text("x") + `data: {"choices":[{"delta":{},"finish_reason":"error"}]}` + "\n\n", "", expected{text: "x", kind: ServerError}},
		"a legacy function call":           {`data: {"choices":[{"delta":{"function_call":{"name":"search","arguments":"{\"query\":"}}}]}` + "\n\n" + `data: {"choices":[{"delta":{"function_call":{"arguments":"\"x\"}"}},"finish_reason":"function_call"}]}` + "\n\n", "", expected{reason: "tool-calls", calls: []assistant.ToolCall{{ID: "call00000", Name: "search", Arguments: `{"query":"x"}`}}}},
		"tool deltas without index or id":  {`data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"q\""}}]}}]}` + "\n\n" + `data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}` + "\n\n" + `data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"b"}}]}}]}` + "\n\n" + stop, "", expected{reason: "tool-calls", calls: []assistant.ToolCall{{ID: "call00000", Name: "a", Arguments: `{"q":1}`}, {ID: "call00001", Name: "b", Arguments: `{}`}}}},
		"thinking that doesn't end":        {text("<think>on and") + text(" on</thin") + stop, "", expected{reasoning: "on and on</thin", reason: "stop"}},
		"an answer that begins with a tag": {text("<") + text("table>") + text("</think>") + stop, "", expected{text: "<table></think>", reason: "stop"}},
		"an answer that is only a bracket": {text("<") + stop, "", expected{text: "<", reason: "stop"}},
		"white space before thinking":      {text("\n") + text(" <think>") + text("hm</think>x") + text(" <think>") + stop, "", expected{text: "x <think>", reasoning: "hm", reason: "stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, c, err := replay(t, test.body, test.contentType)
			check(t, test.want, got, c, err)
		})
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
