package dashboard

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/insights"
)

// inFiles returns the texts that the files of a database have, in any case.
func inFiles(t *testing.T, texts []string, files ...string) (found []string) {
	t.Helper()
	var all []byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, bytes.ToLower(data)...)
	}
	for _, text := range texts {
		if bytes.Contains(all, bytes.ToLower([]byte(text))) {
			found = append(found, text)
		}
	}
	return found
}

func theRawFilesHaveNothingThatIsNeverStored(t *testing.T) {
	dir := t.TempDir()
	file, lines := filepath.Join(dir, "data", "insights.db"), filepath.Join(dir, "events.jsonl")
	s := caddytest.StartIn(t, dir, "insights {\njsonl "+lines+"\n}", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	tok := browserToken(t, s)
	const secret = "sk-proj-Xy12Zw34Ab56Cd78Ef90"
	pasted := "fetch with jane.roe@mail.example and " + secret + " card 4111 1111 1111 1111 password=Hunter2Hunter2 at postgres://app:S3cretS3cret@db/x"
	header := map[string]string{
		"Origin": s.Base, "User-Agent": "HostileAgent/7.7 (marker-agent)", "X-Forwarded-For": "203.0.113.77", "Forwarded": "for=203.0.113.78",
		"X-Real-IP": "203.0.113.79", "Referer": s.Base + "/guide?session=RefererSecret1", "Cookie": "session=CookieSecret1", "X-Request-Id": "marker-request",
	}
	send := func(key, path string, body any) *caddytest.Response {
		t.Helper()
		text, isText := body.(string)
		h := map[string]string{}
		for k, v := range header {
			h[k] = v
		}
		if isText {
			h["Content-Type"] = "application/x-www-form-urlencoded"
		} else {
			data, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		r := s.Do(caddytest.Request{Path: path, Key: key, Body: text, Header: h})
		if r.Status/100 != 2 {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		return r
	}
	type object = map[string]any
	for _, key := range []string{caddytest.Key, tok} {
		own := pasted + " key " + key
		send(key, "/v1/search/acme", object{"query": own})
		send(key, "/v1/events/acme", object{"type": "search", "query": own, "hits": 1})
		send(key, "/v1/events/acme", object{"type": "click", "query": own, "path": "/guide/install?token=PathSecret1#" + secret, "position": 1})
		var thread string
		for _, version := range []string{"1", "2"} {
			r := send(key, "/v"+version+"/assistant/acme/message", object{
				"fp": "marker-fingerprint", "currentPath": "/guide/configure?token=PathSecret1#x",
				"messages": []any{object{"id": "m1", "role": "user", "content": own, "parts": []any{object{"type": "text", "text": own}}}},
			})
			thread = r.Header.Get("X-Thread-Id")
		}
		send(key, "/v1/feedback/acme", object{"threadId": thread, "rating": "down", "comment": own, "reasons": []string{"ask jane.roe@mail.example", secret}})
		send(key, "/v1/feedback/acme", object{"path": "/guide/install?token=PathSecret1", "rating": "up", "comment": own})
	}
	send("-", "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "search", "arguments": object{"query": pasted}}})
	send("-", "/v1/ask/acme", url.Values{"q": {pasted}}.Encode())

	// Erased texts leave the file as well.
	send(caddytest.Key, "/v1/search/acme", object{"query": "erased zanzibar one"})
	send(caddytest.Key, "/v2/assistant/acme/message", object{"fp": "x", "messages": []any{object{"role": "user", "parts": []any{object{"type": "text", "text": "Where is Zanzibar?"}}}}})

	store := stop(t, s)
	if n := len(events(t, store)); n < 15 {
		t.Fatalf("only %d events", n)
	}
	if _, err := store.Erase(t.Context(), acme, insights.Erasure{Text: "zanzibar"}); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	never := []string{
		"jane.roe", secret, "4111 1111", "41111111", "hunter2", "s3crets3cret", "marker-agent", "hostileagent", "203.0.113", "127.0.0.1", "RefererSecret1",
		"CookieSecret1", "PathSecret1", "marker-fingerprint", "marker-request", caddytest.Key, strings.TrimPrefix(caddytest.Key, "svc_dsc_"), tok, tok[:40],
	}
	if found := inFiles(t, never, file, file+"-wal", file+"-shm", lines); len(found) > 0 {
		t.Errorf("stored: %q", found)
	}
	if found := inFiles(t, []string{"zanzibar"}, file, file+"-wal"); len(found) > 0 {
		t.Error("an erased text is still in the file")
	}
	// The check itself can fail.
	if found := inFiles(t, []string{"[email]", "guide/install"}, file); len(found) != 2 {
		t.Errorf("of what is stored, only %q is in the file", found)
	}
}
