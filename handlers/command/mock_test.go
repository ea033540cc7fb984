package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
)

// A slow reply takes a second for each event, and any other takes none.
func TestTheMockIsSlowWhenAsked(t *testing.T) {
	handler, err := newMock()
	if err != nil {
		t.Fatal(err)
	}
	for question, least := range map[string]time.Duration{"slow": 5 * time.Second, "how?": 0} {
		synctest.Test(t, func(t *testing.T) {
			start, w := time.Now(), httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v2/assistant/any/message",
				strings.NewReader(`{"fp":"anonymous","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"`+question+`"}]}]}`)))
			took := time.Since(start)
			if took < least || least == 0 && took > 0 || !strings.Contains(w.Body.String(), `"finishReason":"stop"`) {
				t.Errorf("%s took %s: %s", question, took, w.Body)
			}
		})
	}
}

// The mock answers each question with the kind of reply that it names, in both
// versions, and to pages of every origin.
func TestTheMockHasEveryKindOfReply(t *testing.T) {
	handler, err := newMock()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	post := func(path, body string) (int, http.Header, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Origin", "https://elsewhere.example")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, response.Header, string(text)
	}
	for question, want := range map[string]struct {
		has, lacks string
		status     int
	}{
		"how?": {"apt install", "suggestions", 200}, "tool": {"call_mock", "suggestions", 200}, "follow-up": {"And on a Mac?", "call_mock", 200},
		"error": {`"code":"unavailable"`, "apt install", 200}, "error midway": {`"code":"broke_off"`, "finishReason", 200}, "cut": {"apt install", "finishReason", 200},
		"401": {`"code":"unauthorized"`, "apt", 401}, "429": {`"code":"rate_limited"`, "apt", 429}, "503": {`"requestId"`, "apt", 503},
	} {
		for path, body := range map[string]string{
			"/v1/assistant/any/message": `{"fp":"anonymous","messages":[{"role":"user","content":"` + question + `"}]}`,
			"/v2/assistant/any/message": `{"fp":"anonymous","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"` + question + `"}]}]}`,
		} {
			status, h, text := post(path, body)
			text = strings.NewReplacer(`": `, `":`).Replace(text)
			joined := strings.NewReplacer("0:\"", "", "\"\n", "").Replace(text)
			if status != want.status || !strings.Contains(text+joined, strings.Fields(want.has)[0]) || strings.Contains(text, want.lacks) || h.Get("Access-Control-Allow-Origin") != "https://elsewhere.example" {
				t.Errorf("%s %q: %d %v %s", path, question, status, h, text)
			}
		}
	}
	// The finish event is literal for clients other than the AI SDK, whose bodies
	// have a trigger, and a tool's output is an array, as in contract/types.d.ts.
	const tool = `"fp":"anonymous","messages":[{"role":"user","parts":[{"type":"text","text":"tool"}]}]}`
	for body, literal := range map[string]bool{`{` + tool: true, `{"id":"c","trigger":"submit-message",` + tool: false} {
		if _, _, text := post("/v2/assistant/any/message", body); strings.Contains(text, `"finishReason":"stop","threadId":"thread_mock","messageMetadata"`) != literal || !strings.Contains(text, `"output":[{"path":`) {
			t.Errorf("%s: %s", body, text)
		}
	}
	if _, h, text := post("/v1/search/any", `{"query":"429"}`); !strings.Contains(text, "in "+h.Get("Retry-After")+" seconds") {
		t.Errorf("Retry-After is %q, and the body says %s", h.Get("Retry-After"), text)
	}
	if _, _, text := post("/v1/token/any", ""); strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		t.Errorf("no header can have the token: %s", text)
	}
	for path, body := range map[string]string{"/v1/search/any": `{"query":"install"}`, "/v1/page/any": `{"path":"install"}`, "/v1/token/any": ``} {
		if status, _, text := post(path, body); status != 200 || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _, _ := post("/v1/search/any", `{"query":"404"}`); status != 404 {
		t.Errorf("search for 404: %d", status)
	}
	if status, _, text := post("/v2/assistant/any/message", `{"messages":1}`); status != 400 || !strings.Contains(text, "bad_request") {
		t.Errorf("a wrong body: %d %s", status, text)
	}
}
