package site

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

	"github.com/caddy-docs/caddy-docs/caddytest"
)

func TestBadInputGetsAnErrorThatSaysWhatToWrite(t *testing.T) {
	s := caddytest.StartAcme(t)
	longPath := strings.Repeat("a", 201)
	for _, c := range []struct {
		name   string
		q      caddytest.Request
		status int
		says   string // part of the message
	}{
		{"no key", caddytest.Request{Path: caddytest.SearchPath, Key: "-", Body: `{"query":"x"}`}, 401, "key"},
		{"a malformed key", caddytest.Request{Path: caddytest.SearchPath, Key: "abc", Body: `{"query":"x"}`}, 401, "key"},
		{"an unknown key", caddytest.Request{Path: caddytest.SearchPath, Key: "svc_dsc_0000000000000000000000", Body: `{"query":"x"}`}, 401, "key"},
		{"an unknown site", caddytest.Request{Path: "/v1/search/nosuch", Body: `{"query":"x"}`}, 404, "site"},
		{"no JSON content type", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x"}`, Header: map[string]string{"Content-Type": "text/plain"}}, 415, "application/json"},
		{"a compressed body", caddytest.Request{Path: caddytest.SearchPath, Body: "\x1f\x8b", Header: map[string]string{"Content-Encoding": "gzip"}}, 415, "Content-Encoding"},
		{"no content type", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x"}`, Header: map[string]string{"Content-Type": ""}}, 415, "application/json"},
		{"broken JSON", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x`}, 400, "JSON"},
		{"no object", caddytest.Request{Path: caddytest.SearchPath, Body: `[1]`}, 400, "object"},
		{"query of another type", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":5}`}, 400, "query"},
		{"no query", caddytest.Request{Path: caddytest.SearchPath, Body: `{}`}, 400, "query"},
		{"an empty query", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"  "}`}, 400, "query"},
		{"a query of 1,001 characters", caddytest.Request{Path: caddytest.SearchPath, Body: fmt.Sprintf(`{"query":%q}`, strings.Repeat("ä", 1001))}, 400, "query"},
		{"pageSize 0", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","pageSize":0}`}, 400, "pageSize"},
		{"pageSize 51", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","pageSize":51}`}, 400, "pageSize"},
		{"pageSize 2.5", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","pageSize":2.5}`}, 400, "pageSize"},
		{"pageSize x", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","pageSize":"x"}`}, 400, "pageSize"},
		{"scoreThreshold -1", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","scoreThreshold":-1}`}, 400, "scoreThreshold"},
		{"scoreThreshold 2", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","scoreThreshold":2}`}, 400, "scoreThreshold"},
		{"a filter that is no object", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","filter":"v1"}`}, 400, "filter"},
		{"a filter value of another type", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x","filter":{"version":1}}`}, 400, "filter.version"},
		{"currentPath of 201 characters", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("x", map[string]any{"currentPath": longPath})}, 400, "currentPath"},
		{"no fp", caddytest.Request{Path: caddytest.V2Path, Body: `{"messages":[{"role":"user","parts":[{"type":"text","text":"x"}]}]}`}, 400, "fp"},
		{"an empty fp", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("x", map[string]any{"fp": ""})}, 400, "fp"},
		{"no messages", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a"}`}, 400, "messages"},
		{"empty messages", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a","messages":[]}`}, 400, "messages"},
		{"no user text", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","parts":[]}]}`}, 400, "text"},
		{"context of another type", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("x", map[string]any{"context": []any{map[string]any{"type": "video", "value": "x"}}})}, 400, "context[0].type"},
		{"context without value", caddytest.Request{Path: caddytest.V1Path, Body: caddytest.V1Question("x", `,"context":[{"type":"code"}]`)}, 400, "context[0].value"},
		{"a malformed threadId", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("x", map[string]any{"threadId": "../../etc"})}, 400, "threadId"},
		{"a v1 role outside the four", caddytest.Request{Path: caddytest.V1Path, Body: `{"fp":"a","messages":[{"id":"1","role":"tool","content":"x"},{"id":"2","role":"user","content":"y"}]}`}, 400, "role"},
		{"retrievalPageSize 0", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("x", map[string]any{"retrievalPageSize": 0})}, 400, "retrievalPageSize"},
		{"JSON nested 10,000 deep", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a","messages":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`}, 400, ""},
		{"GET on a POST endpoint", caddytest.Request{Method: http.MethodGet, Path: caddytest.SearchPath}, 405, "POST"},
		{"DELETE on a POST endpoint", caddytest.Request{Method: http.MethodDelete, Path: caddytest.V2Path}, 405, "POST"},
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
				t.Errorf("the sentence is not first: %s", r.Body)
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
	s := caddytest.StartAcme(t)
	var first string
	for _, key := range []string{"-", "x", "svc_dsc_", "svc_dsc_0000000000000000000000", strings.Repeat("k", 5000)} {
		r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: key, Body: `{"query":"x"}`})
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
	s := caddytest.Start(t, "", "http://:0 {\n\tdocs acme "+caddytest.AcmeFolder(t)+" {\n\t\tmax_body 20MB\n\t}\n}\n")
	s.Ready("acme")
	image := "data:image/png;base64," + base64.StdEncoding.EncodeToString(make([]byte, 5<<20))
	for _, c := range []struct {
		name string
		q    caddytest.Request
	}{
		{"null for optional search fields", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install","pageSize":null,"scoreThreshold":null,"filter":null}`}},
		{"null in a filter", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install","filter":{"version":null,"tag":null}}`}},
		{"unknown search fields", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install","foo":[1,{"a":2}]}`}},
		{"JSON with a charset", caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install"}`, Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}}},
		{"null for optional message fields", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("install", map[string]any{"threadId": nil, "filter": nil, "context": nil, "currentPath": nil, "retrievalPageSize": nil})}},
		{"no id, no parts (4.0)", caddytest.Request{Path: caddytest.V1Path, Body: `{"fp":"a","messages":[{"role":"user","content":"install"}]}`}},
		{"unknown fields and parts", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a","trigger":"submit-message","id":"c","x":1,"messages":[{"id":"1","role":"user","foo":{},"parts":[{"type":"hologram","x":1},{"type":"text","text":"install"}]}]}`}},
		{"an unknown v2 role", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a","messages":[{"id":"0","role":"narrator","parts":[{"type":"text","text":"once"}]},{"id":"1","role":"user","parts":[{"type":"text","text":"install"}]}]}`}},
		{"tool parts of earlier turns", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"install"}]},{"id":"2","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-search","toolCallId":"c","state":"output-available","input":{},"output":[]},{"type":"text","text":"so"}]},{"id":"3","role":"user","parts":[{"type":"text","text":"and on Windows?"}]}]}`}},
		{"tool invocations of earlier v1 turns", caddytest.Request{Path: caddytest.V1Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","content":"install"},{"id":"2","role":"assistant","content":"so","parts":[{"type":"tool-invocation","toolInvocation":{"state":"result","toolCallId":"c","toolName":"search","args":{},"result":{}}}]},{"id":"3","role":"data","content":"","data":{"x":1}},{"id":"4","role":"user","content":"and on Windows?"}]}`}},
		{"a 5 MB data URL", caddytest.Request{Path: caddytest.V2Path, Body: `{"fp":"a","messages":[{"id":"1","role":"user","parts":[{"type":"file","mediaType":"image/png","url":"` + image + `"},{"type":"text","text":"install"}]}]}`}},
		{"invalid UTF-8", caddytest.Request{Path: caddytest.V2Path, Body: "{\"fp\":\"a\",\"messages\":[{\"id\":\"1\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"install \xff\xfe\"}]}]}"}},
		{"NUL in the question", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("install\x00acme", nil)}},
		{"a question of 10,000 words", caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question(strings.Repeat("install ", 10000), nil)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if r := s.Do(c.q); r.Status != http.StatusOK || len(r.Body) == 0 {
				t.Errorf("%d %.300s", r.Status, r.Body)
			}
		})
	}
	for _, body := range []string{"{\"query\":\"install\xff\"}", `{"query":"in\u0000stall"}`, `{"query":"\ud800"}`} {
		if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: body}); r.Status != 200 && r.Status != 400 {
			t.Errorf("%q: %d %s", body, r.Status, r.Body)
		}
	}
}

// A body over the limit is refused by its length alone, before the client has
// sent it.
func TestABodyOverTheLimitIsNotRead(t *testing.T) {
	s := caddytest.StartAcme(t)
	u, err := url.Parse(s.Base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(caddytest.Patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 900000000\r\n\r\n{", caddytest.SearchPath, caddytest.Key)
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
	caddytest.Until(t, "the answer is read", func() bool {
		resp, err := s.Open(t.Context(), caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"` + strings.Repeat("x", 1<<20) + `"}`})
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
