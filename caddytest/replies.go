package caddytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/stream"
)

// The paths of the site acme.
const (
	SearchPath = "/v1/search/acme"
	V1Path     = "/v1/assistant/acme/message"
	V2Path     = "/v2/assistant/acme/message"
)

// InstallQuestion is a question that acme's pages answer.
const InstallQuestion = "How do I install Acme on Linux?"

// Versions are the versions of the assistant's protocol.
var Versions = []int{1, 2}

// Message returns the path and the body of a question in a version.
func Message(version int, text string, fields map[string]any) (path, body string) {
	if version == 1 {
		var more strings.Builder
		for k, v := range fields {
			fmt.Fprintf(&more, ",%q:%q", k, v)
		}
		return V1Path, V1Question(text, more.String())
	}
	return V2Path, Question(text, fields)
}

// Question returns the body of a v2 message with one question and the given
// fields.
func Question(text string, fields map[string]any) string {
	body := map[string]any{
		"fp":       "anonymous",
		"messages": []any{map[string]any{"id": "u1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": text}}}},
	}
	maps.Copy(body, fields)
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(bytes.TrimSpace(data))
}

// V1Question returns the body of a v1 message with one question and more
// fields, as JSON that begins with a comma.
func V1Question(text, fields string) string {
	return fmt.Sprintf(`{"fp":"anonymous","messages":[{"id":"1","role":"user","content":%q,"parts":[{"type":"text","text":%[1]q}]}]%s}`, text, fields)
}

// ReadReply reads a whole stream strictly.
func ReadReply(version int, body []byte) (*stream.Reply, error) {
	if version == 1 {
		return stream.ReadV1(string(body))
	}
	return stream.ReadV2(string(body))
}

// Ask asks a question in a version and reads the reply strictly.
func (s *Server) Ask(t testing.TB, version int, text string, fields map[string]any) *stream.Reply {
	t.Helper()
	path, body := Message(version, text, fields)
	return s.ask(t, version, path, body)
}

// AskAll is Ask in all versions at once. It returns the replies by version.
func (s *Server) AskAll(t testing.TB, text string, fields map[string]any) map[int]*stream.Reply {
	t.Helper()
	replies := make(map[int]*stream.Reply)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, v := range Versions {
		wg.Go(func() {
			reply := s.Ask(t, v, text, fields)
			mu.Lock()
			defer mu.Unlock()
			replies[v] = reply
		})
	}
	wg.Wait()
	if len(replies) < len(Versions) {
		t.FailNow()
	}
	return replies
}

// AskBody sends the body of a v2 message and reads the reply strictly.
func (s *Server) AskBody(body string) *stream.Reply {
	s.t.Helper()
	return s.ask(s.t, 2, V2Path, body)
}

func (s *Server) ask(t testing.TB, version int, path, body string) *stream.Reply {
	t.Helper()
	r := s.Do(Request{Path: path, Body: body})
	if r.Status != http.StatusOK {
		t.Fatalf("asking %.200s: %d %s", body, r.Status, r.Body)
	}
	reply, err := ReadReply(version, r.Body)
	if err != nil {
		t.Fatalf("reading the reply: %v\n%s", err, r.Body)
	}
	return reply
}

// Stream is a reply that is read piece by piece.
type Stream struct {
	*http.Response
	// Version is the protocol's.
	Version int
	// Cancel ends the request.
	Cancel context.CancelFunc

	read strings.Builder
}

// OpenReply asks a question and returns when the reply begins.
func (s *Server) OpenReply(t testing.TB, c *http.Client, version int, text string, fields map[string]any) *Stream {
	t.Helper()
	path, body := Message(version, text, fields)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+Key)
	resp, err := do(c, req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &Stream{Response: resp, Version: version, Cancel: cancel}
}

// ReadUntil reads until the reply contains text.
func (r *Stream) ReadUntil(t testing.TB, text string) {
	t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(r.read.String(), text) {
		n, err := r.Body.Read(buf)
		r.read.Write(buf[:n])
		if err != nil && !strings.Contains(r.read.String(), text) {
			t.Fatalf("the stream ended (%v) before %q:\n%s", err, text, r.read.String())
		}
	}
}

// ReadRest reads to the end and returns the whole body.
func (r *Stream) ReadRest() (string, error) {
	_, err := io.Copy(&r.read, r.Body)
	return r.read.String(), err
}
