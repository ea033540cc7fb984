package site

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/contract"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// mcpEras are a revision of the protocol with initialize, and one without.
var mcpEras = []string{"2025-11-25", "2026-07-28"}

// connectMCP returns a session of the SDK's own client.
func connectMCP(t *testing.T, url, revision string, header map[string]string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1, HTTPClient: &http.Client{Transport: withHeader(header)}}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("connecting to %s with %s: %v", url, revision, err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

type withHeader map[string]string

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	for name, value := range h {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// callTool calls a tool and returns its only text, which the structured content
// repeats.
func callTool(t *testing.T, session *mcp.ClientSession, tool string, arguments any) (text string, failed bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	if len(result.Content) != 1 {
		t.Fatalf("%s %v: %d contents", tool, arguments, len(result.Content))
	}
	text = result.Content[0].(*mcp.TextContent).Text
	if same := decodeSame(text, result.StructuredContent); same == result.IsError {
		t.Fatalf("%s %v: %s, structured %v", tool, arguments, text, result.StructuredContent)
	}
	return text, result.IsError
}

// decodeSame reports whether a text is the JSON of a value.
func decodeSame(text string, value any) bool {
	var v any
	return json.Unmarshal([]byte(text), &v) == nil && reflect.DeepEqual(v, value)
}

type foundPage struct {
	Results []struct{ ID, Title, URL, Text string }
	Next    string
}

type fetchedPage struct {
	ID, Title, Text, URL string
	Metadata             map[string]string
}

func decodeResult[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func toolsInBothEras(t *testing.T, s *caddytest.Server) {
	for _, revision := range mcpEras {
		for _, path := range []string{"/mcp", "/v1/mcp/acme"} {
			t.Run(revision+" "+path, func(t *testing.T) {
				session := connectMCP(t, s.Base+path, revision, nil)
				tools, err := session.ListTools(t.Context(), nil)
				if err != nil || len(tools.Tools) != 2 || tools.Tools[0].Name != "fetch" || tools.Tools[1].Name != "search" {
					t.Fatalf("tools: %v %v", tools, err)
				}
				for _, tool := range tools.Tools {
					a := tool.Annotations
					if !a.ReadOnlyHint || !a.IdempotentHint || a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
						t.Errorf("%s: annotations %+v", tool.Name, a)
					}
					if !strings.HasPrefix(tool.Description, "Acme Docs (language en)") || len(tool.Description) > 2000 {
						t.Errorf("%s: description %q", tool.Name, tool.Description)
					}
					if schema, _ := json.Marshal(tool.InputSchema); strings.Count(string(schema), `"type":"string"`) != 1 {
						t.Errorf("%s: not exactly one string: %s", tool.Name, schema)
					}
					if tool.OutputSchema == nil {
						t.Errorf("%s has no output schema", tool.Name)
					}
				}
				text, failed := callTool(t, session, "search", map[string]any{"query": "install on linux"})
				results := decodeResult[foundPage](t, text).Results
				if failed || len(results) == 0 || results[0].URL != s.Base+"/guide/install.html#linux" || results[0].ID != results[0].URL || results[0].Title != "Install Acme › On Linux" {
					t.Fatalf("search: %s", text)
				}
				if !strings.Contains(results[0].Text, "apt install acme") {
					t.Errorf("the best section has no text: %s", text)
				}
				for _, r := range results { // every id can be fetched
					text, failed := callTool(t, session, "fetch", map[string]any{"id": r.ID})
					page := decodeResult[fetchedPage](t, text)
					if failed || page.ID != r.ID || page.URL != r.URL || page.Text == "" || page.Title == "" {
						t.Errorf("fetch %s: %s", r.ID, text)
					}
				}
				text, _ = callTool(t, session, "fetch", map[string]any{"id": results[0].ID})
				if page := decodeResult[fetchedPage](t, text); page.Text != "## [On Linux](#linux)\n\n```sh\napt install acme\n```" || page.Metadata["page"] != s.Base+"/guide/install.html" {
					t.Errorf("a section: %s", text)
				}
				if strings.Contains(text, `\u003c`) {
					t.Errorf("escaped: %s", text)
				}
			})
		}
	}
}

func toolsTakeWhatModelsWrite(t *testing.T, s *caddytest.Server) {
	session := connectMCP(t, s.Base+"/mcp", mcpEras[1], nil)
	for _, arguments := range []map[string]any{
		{"query": "brew"}, {"userQuery": "brew"}, {"q": []string{"brew"}}, {"query": "brew", "limit": "5", "unknown": map[string]any{"a": 1}}, {"what": "brew"},
	} {
		if text, failed := callTool(t, session, "search", arguments); failed || !strings.Contains(text, "install.html#mac") {
			t.Errorf("%v: %s", arguments, text)
		}
	}
	for _, arguments := range []map[string]any{
		{"id": "guide/install"}, {"url": s.Base + "/guide/install.html"}, {"path": "/guide/install.md"}, {"id": s.Base + "/guide/install.html#nothing"},
	} {
		if text, failed := callTool(t, session, "fetch", arguments); failed || decodeResult[fetchedPage](t, text).Title != "Install Acme" {
			t.Errorf("%v: %s", arguments, text)
		}
	}
	for tool, arguments := range map[string]map[string]any{"search": {}, "fetch": {"id": "https://other.example/x"}} {
		if text, failed := callTool(t, session, tool, arguments); !failed || strings.HasPrefix(text, "{") || tool == "fetch" && !strings.Contains(text, "left out of the index") {
			t.Errorf("%s %v: %v %s", tool, arguments, failed, text)
		}
	}
	text, _ := callTool(t, session, "search", map[string]any{"query": "unimstaler qqqq"})
	if got := decodeResult[foundPage](t, text); len(got.Results) > 0 || !strings.Contains(got.Next, s.Base+"/guide/install.html.md") || !strings.Contains(got.Next, s.Base+"/llms.txt") {
		t.Errorf("nothing found: %s", text)
	}
	text, _ = callTool(t, session, "fetch", map[string]any{"id": s.Base + "/guide/install.html#nothing"})
	if page := decodeResult[fetchedPage](t, text); !strings.HasPrefix(page.Text, "[There is no section #nothing on this page.") || page.Metadata["anchor"] == "" || !strings.Contains(page.Text, "apt install") || page.URL != s.Base+"/guide/install.html" {
		t.Errorf("no such section: %s", text)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "drop"}); err == nil {
		t.Error("an unknown tool is no error")
	}
}

func TestTheFullServerHasLanguageAndVersion(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{
		"v1/a.md": "---\ntitle: A one\nlang: en\n---\nThe kite of old.", "v2/a.md": "---\ntitle: A two\nlang: en\n---\nThe kite of today.",
		"fr/a.md": "---\ntitle: A fr\nlang: fr\n---\nLe kite.",
	})
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", root))
	waitForLocks(t, s)
	session := connectMCP(t, s.Base+"/v1/mcp/acme/full", mcpEras[0], nil)
	for arguments, title := range map[[2]string]string{{"version", "v1"}: "A one", {"version", "v2"}: "A two", {"language", "fr"}: "A fr"} {
		text, _ := callTool(t, session, "search", map[string]any{"query": "kite", arguments[0]: arguments[1], "limit": "5"})
		results := decodeResult[foundPage](t, text).Results
		if len(results) != 1 || results[0].Title != title || results[0].Text == "" {
			t.Errorf("%v: %s", arguments, text)
		}
	}
	text, _ := callTool(t, session, "search", map[string]any{"query": "ony", "version": "v9"})
	if next := decodeResult[foundPage](t, text).Next; !strings.Contains(next, "without language and version. Similar words in the documentation: one") {
		t.Errorf("nothing found: %s", text)
	}
}

func TestLongPagesComeInParts(t *testing.T) {
	var page strings.Builder
	page.WriteString("# Long\n\n")
	for i := range 400 {
		fmt.Fprintf(&page, "## Part %d\n\n%s\n\n```sh\nrun %d\n```\n\n", i, strings.Repeat("words about kites ", 20), i)
	}
	page.WriteString("## Code\n\n```\n" + strings.Repeat("a line of code\n", 6000) + "```\n")
	root := caddytest.Folder(t, map[string]string{"long.md": page.String()})
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", root))
	waitForLocks(t, s)
	session := connectMCP(t, s.Base+"/mcp", mcpEras[1], nil)
	all, calls := "", 0
	for id := s.Base + "/long"; id != ""; calls++ {
		text, _ := callTool(t, session, "fetch", map[string]any{"id": id})
		part := decodeResult[fetchedPage](t, text)
		if len(text) > 45_000 {
			t.Errorf("part %d has %d bytes", calls, len(text))
		}
		if strings.Count(part.Text, "```")%2 != 0 {
			t.Errorf("part %d has an open code block", calls)
		}
		id = part.Metadata["next"]
		if id != "" && !strings.Contains(part.Text, fmt.Sprintf("%q", id)) {
			t.Errorf("the text doesn't say how to read on: %s", part.Text[len(part.Text)-200:])
		}
		all += part.Text
	}
	if calls < 5 || strings.Count(all, "words about kites") != 8000 || strings.Count(all, "a line of code") != 6000 || strings.Count(all, "run ") != 400 {
		t.Errorf("%d calls: %d words, %d lines", calls, strings.Count(all, "words about kites"), strings.Count(all, "a line of code"))
	}
}

func TestResources(t *testing.T) {
	many := map[string]string{}
	for i := range 450 {
		many[fmt.Sprintf("p/%d.md", i)] = fmt.Sprintf("# Page %d\n\nText about kite %d: %s", i, i, strings.Repeat(fmt.Sprintf("word%d ", i), 200))
	}
	root := caddytest.Folder(t, many)
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", root))
	waitForLocks(t, s)
	full := connectMCP(t, s.Base+"/v1/mcp/acme/full", mcpEras[1], nil)
	for tokens, bytes := range map[any][2]int{nil: {4000, 5600}, "100": {10, 500}, 4000: {13_000, 15_000}} {
		text, _ := callTool(t, full, "search", map[string]any{"query": "kite", "limit": 30, "tokens": tokens})
		if n := len(text); n < bytes[0] || n > bytes[1] {
			t.Errorf("a search of %v tokens has %d bytes: %s", tokens, n, text)
		}
	}
	for _, revision := range mcpEras {
		session := connectMCP(t, s.Base+"/mcp", revision, nil)
		n := 0
		for r, err := range session.Resources(t.Context(), nil) {
			if err != nil || !strings.HasSuffix(r.URI, ".md") || r.MIMEType != "text/markdown" {
				t.Fatalf("%v %v", r, err)
			}
			n++
		}
		if n != 450 {
			t.Errorf("%d resources", n)
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: s.Base + "/p/7.md"})
		if err != nil || !strings.Contains(read.Contents[0].Text, "[Page 7](#page-7)") {
			t.Errorf("reading: %v %v", read, err)
		}
		for _, uri := range []string{s.Base + "/none.md", "https://other.example/p/7.md"} {
			if _, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s is read", uri)
			}
		}
		if _, err := session.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "x"}); err == nil {
			t.Error("a foreign cursor is taken")
		}
		if list, err := session.ListPrompts(t.Context(), nil); err != nil || len(list.Prompts) != 0 {
			t.Errorf("prompts: %v %v", list, err)
		}
		templates, err := session.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 1 {
			t.Errorf("templates: %v %v", templates, err)
		}
	}
}

func lockedPagesInTools(t *testing.T, s *caddytest.Server) {
	for who, header := range map[string]map[string]string{"stranger": nil, "reader": {"Authorization": agentsLogin}} {
		session := connectMCP(t, s.Base+"/v1/mcp/acme", mcpEras[1], header)
		text, _ := callTool(t, session, "search", map[string]any{"query": "password rosebud secret"})
		page, failed := callTool(t, session, "fetch", map[string]any{"id": s.Base + "/private/secret.html"})
		_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: s.Base + "/private/secret.md"})
		if opens := who == "reader"; strings.Contains(text, "private") != opens || failed == opens || strings.Contains(page, "rosebud") != opens || (err == nil) != opens {
			t.Errorf("%s: search %s, fetch %s, read %v", who, text, page, err)
		}
	}
}

// postMCP sends one message.
func postMCP(s *caddytest.Server, path, body string, header ...string) *caddytest.Response {
	h := map[string]string{}
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = header[i+1]
	}
	return s.Do(caddytest.Request{Path: path, Key: "-", Body: body, Header: h})
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

func mcpOverHTTP(t *testing.T, s *caddytest.Server, root string) {
	for _, path := range []string{"/mcp", "/v1/mcp/acme"} {
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			if r := s.Do(caddytest.Request{Method: method, Path: path, Key: "-"}); r.Status != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "POST, OPTIONS" {
				t.Errorf("%s %s: %d %v", method, path, r.Status, r.Header)
			}
		}
		r := s.Do(caddytest.Request{Method: "OPTIONS", Path: path, Key: "-", Header: map[string]string{
			"Origin": s.Base, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type, mcp-protocol-version, mcp-method",
		}})
		if r.Status != http.StatusNoContent || r.Header.Get("Access-Control-Allow-Origin") != s.Base || !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "mcp-method") {
			t.Errorf("preflight of %s: %d %v", path, r.Status, r.Header)
		}
		// What real clients send beyond the protocol.
		for _, header := range [][]string{{}, {"Accept", "application/json"}, {"Mcp-Session-Id", "x", "Last-Event-ID", "1"}, {"Accept", "text/html"}} {
			if r := postMCP(s, path, listTools, header...); r.Status != http.StatusOK || !strings.Contains(string(r.Body), `"fetch"`) {
				t.Errorf("%s with %v: %d %s", path, header, r.Status, r.Body)
			}
		}
		for why, r := range map[string]*caddytest.Response{
			"a foreign key": postMCP(s, path, listTools, "Authorization", "Bearer svc_dsc_wrong_wrong_wrong_wrong"),
		} {
			if r.Status != http.StatusUnauthorized {
				t.Errorf("%s: %d", why, r.Status)
			}
		}
		if r := postMCP(s, path, listTools, "Authorization", "Bearer "+caddytest.Key); r.Status != http.StatusOK {
			t.Errorf("with a key: %d %s", r.Status, r.Body)
		}
		for message, want := range map[string]string{
			`{"jsonrpc":`:       `400 {"error":{"code":-32700,"message":"the body is not valid JSON"},"id":null,"jsonrpc":"2.0"}`,
			`{"jsonrpc":"2.0"}`: `400 {"error":{"code":-32600`,
			`{"jsonrpc":"2.0","id":"a","method":"tools/sing"}`:          `200 {"error":{"code":-32601,"message":"this server has no method \"tools/sing\""},"id":"a","jsonrpc":"2.0"}`,
			`{"jsonrpc":"2.0","method":"notifications/sung"}`:           `202 `,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`:            `400 {"error":{"code":-32600,`,
			`[{"jsonrpc":"2.0","id":7,"method":"tools/sing"}]`:          `400 {"error":{"code":-32600,`,
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":3}`: `200 {"jsonrpc":"2.0","id":7,"error":{"code":-32602,`,
		} {
			r := postMCP(s, path, message)
			if got := fmt.Sprintf("%d %s", r.Status, r.Body); !strings.HasPrefix(got, want) || r.Status != http.StatusAccepted && r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %s %v", message, got, r.Header)
			}
		}
		if r := postMCP(s, path, `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, "MCP-Protocol-Version", "2024-11-05"); r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), `"id":null`) {
			t.Errorf("an id that is no string or integer: %d %s", r.Status, r.Body)
		}
		r = postMCP(s, path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`)
		if r.Status != http.StatusOK || strings.Contains(string(r.Body), "2024-11-05") || !strings.Contains(string(r.Body), `"version":"`+contract.Release()+`"`) {
			t.Errorf("initialize: %d %s", r.Status, r.Body)
		}
		document := getPage(s, "/v1/openapi.json")
		if !strings.Contains(string(document.Body), `"version": "`+contract.Release()+`"`) || document.Header.Get("X-Docs-Release") != contract.Release() || r.Header.Get("X-Docs-Release") != contract.Release() {
			t.Errorf("the release: %v, %v", document.Header, r.Header)
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		if r := getPage(s, path); r.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	caddytest.Write(t, root, map[string]string{".well-known/oauth-authorization-server": `{"issuer":"own"}`})
	if r := getPage(s, "/.well-known/oauth-authorization-server"); string(r.Body) != `{"issuer":"own"}` {
		t.Errorf("the site's own: %d %s", r.Status, r.Body)
	}
}

// A site of one page answers every path with it, and a page may be at /mcp.
func TestMCPLeavesPagesAlone(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{"index.html": "<main><h1>App</h1><p>Text.</p></main>"})
	s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\ntry_files {path} {path}.html /index.html\nfile_server\n}\n", root))
	waitForLocks(t, s)
	if r := getPage(s, "/.well-known/oauth-authorization-server"); r.Status != http.StatusNotFound || strings.Contains(string(r.Body), "App") {
		t.Errorf("OAuth: %d %s", r.Status, r.Body)
	}
	if r := postMCP(s, "/mcp", listTools); r.Status != http.StatusOK {
		t.Errorf("/mcp: %d %s", r.Status, r.Body)
	}
	root = caddytest.Folder(t, map[string]string{"mcp.html": "<main><h1>Our MCP</h1><p>A page.</p></main>"})
	s.Load("", fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme\ntry_files {path} {path}.html\nfile_server\n}\n", root))
	waitForLocks(t, s)
	if r := getPage(s, "/mcp"); !strings.Contains(string(r.Body), "Our MCP") {
		t.Errorf("the page at /mcp: %d %s", r.Status, r.Body)
	}
	if r := postMCP(s, "/v1/mcp/acme", listTools); r.Status != http.StatusOK {
		t.Errorf("the other address: %d %s", r.Status, r.Body)
	}
}

// A block for any host names none. A stranger's name that leads to this server
// (DNS rebinding) gets neither the MCP server nor browser tokens.
func TestABlockForAnyHostKnowsOnlyThisMachine(t *testing.T) {
	root := caddytest.Folder(t, agentFiles)
	s := caddytest.Start(t, "", fmt.Sprintf("http://:0 {\nroot * %q\ndocs acme\nfile_server\n}\n", root))
	s.Ready("acme")
	check := func(hosts map[string]bool) {
		t.Helper()
		for host, known := range hosts {
			header := map[string]string{"Origin": "http://" + host}
			for _, q := range []caddytest.Request{
				{Path: "/v1/mcp/acme", Key: "-", Body: listTools, Host: host},
				{Path: "/v1/mcp/acme", Key: "-", Body: listTools, Host: host, Header: header},
				{Path: "/v1/token/acme", Key: "-", Host: host, Header: header},
			} {
				r := s.Do(q)
				if known && r.Status != http.StatusOK || !known && (r.Status != http.StatusForbidden || r.Error(t).Code != "host_not_allowed") {
					t.Errorf("%s at %s: %d %s", q.Path, host, r.Status, r.Body)
				}
			}
		}
	}
	check(map[string]bool{"localhost:80": true, "127.0.0.1": true, "[::1]:8080": true, "acme.localhost": true, "evil.example": false, "localhost.evil.example": false})
	loaded, err := caddy.ActiveContext().App("docs")
	if err != nil {
		t.Fatal(err)
	}
	checks := admin.API{App: loaded.(*app.App)}.Doctor(t.Context())
	if !slices.ContainsFunc(checks, func(c admin.Check) bool { return strings.Contains(c.Found, "names no host") }) {
		t.Errorf("doctor does not say so: %+v", checks)
	}
	// The hosts of a block that serves every site are named by the operator, too.
	s.Load("site acme {\nroot "+root+"\n}", "http://docs.example:0 {\nassistant\ndocs_mcp\ndocs_widget\ndocs\n}\n")
	caddytest.Until(t, "the index is ready", func() bool {
		return s.Do(caddytest.Request{Path: "/v1/search/acme", Body: `{"query":"x"}`, Host: "docs.example"}).Status == http.StatusOK
	})
	check(map[string]bool{"docs.example": true})
}

func TestMCPChecksHostAndOrigin(t *testing.T) {
	root := caddytest.Folder(t, agentFiles)
	docs := "key " + caddytest.Key + " {\norigins https://app.acme.com\n}"
	s := caddytest.Start(t, docs, fmt.Sprintf("http://:0 {\nroot * %q\ndocs acme {\nurl https://docs.acme.com\n}\nfile_server\n}\n", root))
	caddytest.Until(t, "the index is ready", func() bool {
		return s.Do(caddytest.Request{Path: "/v1/search/acme", Body: `{"query":"x"}`}).Status == http.StatusOK
	})
	for _, path := range []string{"/mcp", "/v1/mcp/acme"} {
		for host, status := range map[string]int{"docs.acme.com": 200, "localhost:1": 200, "127.0.0.1": 200, "[::1]:80": 200, "evil.example": 403, "docs.acme.com.evil.example": 403} {
			r := s.Do(caddytest.Request{Path: path, Key: "-", Body: listTools, Host: host})
			if r.Status != status && (path != "/mcp" || r.Status == http.StatusOK) {
				t.Errorf("%s at host %s: %d, want %d", path, host, r.Status, status)
			}
		}
		for origin, status := range map[string]int{"https://docs.acme.com": 200, "https://app.acme.com": 200, "https://evil.example": 403, "null": 403} {
			if r := s.Do(caddytest.Request{Path: path, Key: "-", Body: listTools, Host: "docs.acme.com", Header: map[string]string{"Origin": origin}}); r.Status != status {
				t.Errorf("%s from %s: %d, want %d", path, origin, r.Status, status)
			}
		}
	}
}

func TestMCPKeyAndLimits(t *testing.T) {
	root := caddytest.Folder(t, agentFiles)
	site := func(lines string) string {
		return fmt.Sprintf("http://localhost:0 {\nroot * %q\ndocs acme {\n%s\n}\nfile_server\n}\n", root, lines)
	}
	s := caddytest.Start(t, "", site("mcp key"))
	waitForLocks(t, s)
	for _, path := range []string{"/mcp", "/v1/mcp/acme"} {
		if r := postMCP(s, path, listTools); r.Status != http.StatusUnauthorized || r.Header.Get("WWW-Authenticate") != "Bearer" || r.Error(t).Code != "unauthorized" {
			t.Errorf("%s without a key: %d %s", path, r.Status, r.Body)
		}
		if r := postMCP(s, path, listTools, "X-API-Key", caddytest.Key); r.Status != http.StatusOK {
			t.Errorf("%s with a key: %d %s", path, r.Status, r.Body)
		}
	}
	// Each address, over both paths; each tool of the site.
	s.Load("", site("rate_limit ip 6 1h\nrate_limit organization 2 1h"))
	waitForLocks(t, s)
	search := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"x"}}}`
	var got []int
	for i := range 4 {
		got = append(got, postMCP(s, []string{"/mcp", "/v1/mcp/acme"}[i%2], search).Status)
	}
	got = append(got, postMCP(s, "/mcp", listTools).Status, postMCP(s, "/mcp", strings.Replace(search, `"search"`, `"fetch"`, 1)).Status)
	last := postMCP(s, "/mcp", listTools)
	if fmt.Sprint(got) != "[200 200 429 429 200 200]" || last.Status != 429 || last.Header.Get("Retry-After") == "" {
		t.Errorf("got %v, then %d", got, last.Status)
	}
	// Each message of a batch counts, and a batch is bounded.
	s.Load("", site("rate_limit ip 20 1h\nrate_limit organization 5 1h"))
	waitForLocks(t, s)
	batch := func(message string, n int) string {
		messages := make([]string, n)
		for i := range messages {
			messages[i] = strings.Replace(message, `"id":1`, fmt.Sprintf(`"id":%d`, i+1), 1)
		}
		return "[" + strings.Join(messages, ",") + "]"
	}
	odd := strings.Replace(search, `"method":"tools/call"`, `"Method":"x","method":"tools/call","METHOD":"x"`, 1)
	for _, b := range []struct {
		body   string
		status int
	}{
		{batch(search, 4000), 400}, {batch(search, 21), 400}, {batch(search, 6), 429}, {odd, 429}, {batch(listTools, 12), 200}, {batch(listTools, 12), 429},
	} {
		if r := postMCP(s, "/mcp", b.body); r.Status != b.status {
			t.Errorf("%d bytes: %d instead of %d: %.200s", len(b.body), r.Status, b.status, r.Body)
		}
	}
	s.Load("", site("mcp off"))
	waitForLocks(t, s)
	if r := postMCP(s, "/mcp", listTools); r.Status == http.StatusOK && len(r.Body) > 0 {
		t.Errorf("off: %d %s", r.Status, r.Body)
	}
}

// A proxied site may have its own MCP server.
func TestMCPLeavesTheProxiedSitesOwnAlone(t *testing.T) {
	root := caddytest.Folder(t, agentFiles)
	s := caddytest.Start(t, "", fmt.Sprintf(`http://localhost:0 {
	root * %q
	docs acme
	@own path /mcp
	respond @own "own" 405
	file_server
}
`, root))
	waitForLocks(t, s)
	if r := postMCP(s, "/mcp", listTools); string(r.Body) != "own" {
		t.Errorf("/mcp: %d %s", r.Status, r.Body)
	}
}
