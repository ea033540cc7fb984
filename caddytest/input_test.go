package caddytest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const (
	searchPath = "/v1/search/acme"
	v1Path     = "/v1/assistant/acme/message"
	v2Path     = "/v2/assistant/acme/message"
)

// v1Question is a v1 body with one question and more fields.
func v1Question(text, fields string) string {
	return fmt.Sprintf(`{"fp":"anonymous","messages":[{"id":"1","role":"user","content":%q,"parts":[{"type":"text","text":%[1]q}]}]%s}`, text, fields)
}

func TestBadInputGetsAnErrorThatSaysWhatToWrite(t *testing.T) {
	s := startAcme(t)
	longPath := strings.Repeat("a", 201)
	for _, c := range []struct {
		name   string
		q      Request
		status int
		says   string // part of the message
	}{
		{"no key", Request{Path: searchPath, Key: "-", Body: `{"query":"x"}`}, 401, "key"},
		{"a malformed key", Request{Path: searchPath, Key: "abc", Body: `{"query":"x"}`}, 401, "key"},
		{"an unknown key", Request{Path: searchPath, Key: "svc_dsc_0000000000000000000000", Body: `{"query":"x"}`}, 401, "key"},
		{"an unknown site", Request{Path: "/v1/search/nosuch", Body: `{"query":"x"}`}, 404, "site"},
		{"no JSON content type", Request{Path: searchPath, Body: `{"query":"x"}`, Header: map[string]string{"Content-Type": "text/plain"}}, 415, "application/json"},
		{"no content type", Request{Path: searchPath, Body: `{"query":"x"}`, Header: map[string]string{"Content-Type": ""}}, 415, "application/json"},
		{"broken JSON", Request{Path: searchPath, Body: `{"query":"x`}, 400, "JSON"},
		{"no object", Request{Path: searchPath, Body: `[1]`}, 400, "object"},
		{"query of another type", Request{Path: searchPath, Body: `{"query":5}`}, 400, "query"},
		{"no query", Request{Path: searchPath, Body: `{}`}, 400, "query"},
		{"an empty query", Request{Path: searchPath, Body: `{"query":"  "}`}, 400, "query"},
		{"a query of 1,001 characters", Request{Path: searchPath, Body: fmt.Sprintf(`{"query":%q}`, strings.Repeat("ä", 1001))}, 400, "query"},
		{"pageSize 0", Request{Path: searchPath, Body: `{"query":"x","pageSize":0}`}, 400, "pageSize"},
		{"pageSize 51", Request{Path: searchPath, Body: `{"query":"x","pageSize":51}`}, 400, "pageSize"},
		{"pageSize 2.5", Request{Path: searchPath, Body: `{"query":"x","pageSize":2.5}`}, 400, "pageSize"},
		{"pageSize x", Request{Path: searchPath, Body: `{"query":"x","pageSize":"x"}`}, 400, "pageSize"},
		{"scoreThreshold -1", Request{Path: searchPath, Body: `{"query":"x","scoreThreshold":-1}`}, 400, "scoreThreshold"},
		{"scoreThreshold 2", Request{Path: searchPath, Body: `{"query":"x","scoreThreshold":2}`}, 400, "scoreThreshold"},
		{"a filter that is no object", Request{Path: searchPath, Body: `{"query":"x","filter":"v1"}`}, 400, "filter"},
		{"a filter value of another type", Request{Path: searchPath, Body: `{"query":"x","filter":{"version":1}}`}, 400, "filter.version"},
		{"currentPath of 201 characters", Request{Path: v2Path, Body: Question("x", map[string]any{"currentPath": longPath})}, 400, "currentPath"},
		{"no fp", Request{Path: v2Path, Body: `{"messages":[{"role":"user","parts":[{"type":"text","text":"x"}]}]}`}, 400, "fp"},
		{"an empty fp", Request{Path: v2Path, Body: Question("x", map[string]any{"fp": ""})}, 400, "fp"},
		{"no messages", Request{Path: v2Path, Body: `{"fp":"a"}`}, 400, "messages"},
		{"empty messages", Request{Path: v2Path, Body: `{"fp":"a","messages":[]}`}, 400, "messages"},
		{"no user text", Request{Path: v2Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","parts":[]}]}`}, 400, "text"},
		{"context of another type", Request{Path: v2Path, Body: Question("x", map[string]any{"context": []any{map[string]any{"type": "video", "value": "x"}}})}, 400, "context[0].type"},
		{"context without value", Request{Path: v1Path, Body: v1Question("x", `,"context":[{"type":"code"}]`)}, 400, "context[0].value"},
		{"a malformed threadId", Request{Path: v2Path, Body: Question("x", map[string]any{"threadId": "../../etc"})}, 400, "threadId"},
		{"a v1 role outside the four", Request{Path: v1Path, Body: `{"fp":"a","messages":[{"id":"1","role":"tool","content":"x"},{"id":"2","role":"user","content":"y"}]}`}, 400, "role"},
		{"retrievalPageSize 0", Request{Path: v2Path, Body: Question("x", map[string]any{"retrievalPageSize": 0})}, 400, "retrievalPageSize"},
		{"JSON nested 10,000 deep", Request{Path: v2Path, Body: `{"fp":"a","messages":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`}, 400, ""},
		{"GET on a POST endpoint", Request{Method: http.MethodGet, Path: searchPath}, 405, "POST"},
		{"DELETE on a POST endpoint", Request{Method: http.MethodDelete, Path: v2Path}, 405, "POST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.Do(c.q)
			if r.Status != c.status {
				t.Fatalf("status %d, want %d: %s", r.Status, c.status, r.Body)
			}
			e := r.Error(t)
			if !strings.Contains(e.Error, c.says) || e.Code == "" || e.RequestID == "" {
				t.Errorf("error is %+v, want one that says %q", e, c.says)
			}
			if !strings.HasPrefix(string(r.Body), `{"error":`) {
				t.Errorf("the sentence does not stand first: %s", r.Body)
			}
			switch c.status {
			case 401:
				if r.Header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("WWW-Authenticate is %q", r.Header.Get("WWW-Authenticate"))
				}
			case 405:
				if !strings.Contains(r.Header.Get("Allow"), "POST") {
					t.Errorf("Allow is %q", r.Header.Get("Allow"))
				}
			}
		})
	}
}

// Clients can't learn from an answer why a key was refused.
func TestAllRefusedKeysGetTheSameSentence(t *testing.T) {
	s := startAcme(t)
	var first string
	for _, key := range []string{"-", "x", "svc_dsc_", "svc_dsc_0000000000000000000000", strings.Repeat("k", 5000)} {
		r := s.Do(Request{Path: searchPath, Key: key, Body: `{"query":"x"}`})
		e := r.Error(t)
		if first == "" {
			first = e.Error
		}
		if r.Status != 401 || e.Error != first {
			t.Errorf("key %.20q: %d %q, want 401 %q", key, r.Status, e.Error, first)
		}
	}
}

func TestWhatIsNotUsedIsAccepted(t *testing.T) {
	s := Start(t, "", "http://:0 {\n\tdocs acme "+acmeFolder(t)+" {\n\t\tmax_body 20MB\n\t}\n}\n")
	s.Ready("acme")
	image := "data:image/png;base64," + base64.StdEncoding.EncodeToString(make([]byte, 5<<20))
	for _, c := range []struct {
		name string
		q    Request
	}{
		{"null for optional search fields", Request{Path: searchPath, Body: `{"query":"install","pageSize":null,"scoreThreshold":null,"filter":null}`}},
		{"null in a filter", Request{Path: searchPath, Body: `{"query":"install","filter":{"version":null,"tag":null}}`}},
		{"unknown search fields", Request{Path: searchPath, Body: `{"query":"install","foo":[1,{"a":2}]}`}},
		{"JSON with a charset", Request{Path: searchPath, Body: `{"query":"install"}`, Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}}},
		{"null for optional message fields", Request{Path: v2Path, Body: Question("install", map[string]any{"threadId": nil, "filter": nil, "context": nil, "currentPath": nil, "retrievalPageSize": nil})}},
		{"no id, no parts (4.0)", Request{Path: v1Path, Body: `{"fp":"a","messages":[{"role":"user","content":"install"}]}`}},
		{"unknown fields and parts", Request{Path: v2Path, Body: `{"fp":"a","trigger":"submit-message","id":"c","x":1,"messages":[{"id":"1","role":"user","foo":{},"parts":[{"type":"hologram","x":1},{"type":"text","text":"install"}]}]}`}},
		{"an unknown v2 role", Request{Path: v2Path, Body: `{"fp":"a","messages":[{"id":"0","role":"narrator","parts":[{"type":"text","text":"once"}]},{"id":"1","role":"user","parts":[{"type":"text","text":"install"}]}]}`}},
		{"tool parts of earlier turns", Request{Path: v2Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"install"}]},{"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-search","toolCallId":"c","state":"output-available","input":{},"output":[]},{"type":"text","text":"so"}]},{"id":"3","role":"user","parts":[{"type":"text","text":"and on Windows?"}]}]}`}},
		{"tool invocations of earlier v1 turns", Request{Path: v1Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","content":"install"},{"id":"2","role":"assistant","content":"so","parts":[{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c","toolName":"search","args":{},"result":{}}}]},{"id":"3","role":"data","content":"","data":{"x":1}},{"id":"4","role":"user","content":"and on Windows?"}]}`}},
		{"a 5 MB data URL", Request{Path: v2Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","parts":[{"type":"file","mediaType":"image/png","url":"` + image + `"},{"type":"text","text":"install"}]}]}`}},
		{"invalid UTF-8", Request{Path: v2Path, Body: "{\"fp\":\"a\",\"messages\":[{\"id\":\"1\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"install \xff\xfe\"}]}]}"}},
		{"NUL in the question", Request{Path: v2Path, Body: Question("install\x00acme", nil)}},
		{"a question of 10,000 words", Request{Path: v2Path, Body: Question(strings.Repeat("install ", 10000), nil)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := s.Do(c.q); r.Status != http.StatusOK || len(r.Body) == 0 {
				t.Errorf("%d %.300s", r.Status, r.Body)
			}
		})
	}
	for _, body := range []string{"{\"query\":\"install\xff\"}", `{"query":"in\u0000stall"}`, `{"query":"\ud800"}`} {
		if r := s.Do(Request{Path: searchPath, Body: body}); r.Status != 200 && r.Status != 400 {
			t.Errorf("%q: %d %s", body, r.Status, r.Body)
		}
	}
}

// A body over the limit is refused by its length alone, before the client has
// sent it.
func TestABodyOverTheLimitIsNotRead(t *testing.T) {
	s := startAcme(t)
	u, err := url.Parse(s.Base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 900000000\r\n\r\n{", searchPath, Key)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}

	// Without a length, it is read up to the limit.
	// A client that is still sending may meet the reset of the connection
	// before it has read the answer.
	Until(t, "the answer is read", func() bool {
		resp, err := s.Open(t.Context(), Request{Path: searchPath, Body: `{"query":"` + strings.Repeat("x", 1<<20) + `"}`})
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d", resp.StatusCode)
		}
		return true
	})
}
