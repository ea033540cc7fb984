package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		"error": {"interrupted", "apt install", 200}, "error midway": {"interrupted", "finishReason", 200}, "cut": {"apt install", "finishReason", 200},
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
