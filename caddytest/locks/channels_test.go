//go:build unix

package locks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// channel is a way in which text of a page could reach a client.
type channel struct {
	name    string
	request func(r *row, d *doc) caddytest.Request
	// host is set for what the site's host serves in place of pages: it is as
	// open as the client's own request, and not more.
	host bool
	// public is set for lists of what strangers may open.
	public bool
	// shows reports whether a response has what a client must get who can open
	// the page. Nil: the client may get it.
	shows func(res string, d *doc) bool
	// on reports whether a page is asked for in this way. Nil: all are.
	on func(d *doc) bool
	// list is set for what is the same for all pages.
	list bool
}

func apiHeader(h ...string) map[string]string {
	m := map[string]string{"X-API-Key": caddytest.Key}
	for i := 0; i+1 < len(h); i += 2 {
		m[h[i]] = h[i+1]
	}
	return m
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func searchFor(r *row, query string) caddytest.Request {
	return caddytest.Request{Path: "/v1/search/" + r.site, Body: jsonOf(map[string]any{"query": query, "pageSize": 50}), Header: apiHeader()}
}

func message(r *row, version int, text string, fields map[string]any) caddytest.Request {
	_, body := caddytest.Message(version, text, fields)
	return caddytest.Request{Path: fmt.Sprintf("/v%d/assistant/%s/message", version, r.site), Body: body, Header: apiHeader()}
}

func tool(at, name, argument, value string) caddytest.Request {
	return caddytest.Request{
		Path:   at,
		Body:   jsonOf(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": map[string]any{argument: value}}}),
		Header: map[string]string{"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"},
	}
}

func pageOf(r *row, p string) caddytest.Request {
	return caddytest.Request{Path: "/v1/page/" + r.site, Body: jsonOf(map[string]any{"path": p}), Header: apiHeader()}
}

func get(p string, header ...string) caddytest.Request {
	h := map[string]string{}
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = header[i+1]
	}
	return caddytest.Request{Method: http.MethodGet, Path: p, Header: h}
}

// stem is the path of a page without its extension, or that of its folder.
func (d *doc) stem() string {
	if strings.HasSuffix(d.path, "/") {
		return d.path + "index"
	}
	return strings.TrimSuffix(d.path, path.Ext(d.path))
}

// markdown is where the page's Markdown is.
func (d *doc) markdown() string {
	if strings.HasSuffix(d.path, ".md") || strings.HasSuffix(d.path, "/") {
		return d.stem() + ".md"
	}
	return d.path + ".md"
}

func hasProof(res string, d *doc) bool { return strings.Contains(res, d.proof) }
func hasPath(res string, d *doc) bool {
	return strings.Contains(res, strings.TrimSuffix(d.path, ".md"))
}

// few and locked are pages that are asked for in costly ways.
func few(d *doc) bool {
	return locked(d) || strings.Contains(d.path, "one") || strings.Contains(d.path, "red")
}
func locked(d *doc) bool { return strings.Contains(d.path, "plan") || strings.Contains(d.path, "blue") }

// misspelled is a word with two letters swapped.
func misspelled(w string) string { return w[:3] + string(w[4]) + string(w[3]) + w[5:] }

var channels = []channel{
	{name: "search", request: func(r *row, d *doc) caddytest.Request { return searchFor(r, d.key) }, shows: hasProof},
	{name: "search by several words", request: func(r *row, d *doc) caddytest.Request {
		return searchFor(r, "about the word "+d.key+" and the details")
	}, shows: hasTitle, on: locked},
	{name: "search misspelled", request: func(r *row, d *doc) caddytest.Request { return searchFor(r, misspelled(d.key)) }, on: locked},
	{name: "search by prefix", request: func(r *row, d *doc) caddytest.Request { return searchFor(r, d.key[:5]) }, on: locked},
	{name: "v1", request: func(r *row, d *doc) caddytest.Request {
		return message(r, 1, d.key+" what of "+d.path+"?", nil)
	}, shows: hasTitle, on: locked},
	{name: "v2", request: func(r *row, d *doc) caddytest.Request {
		return message(r, 2, d.key+" what of "+d.path+"?", nil)
	}, shows: hasTitle, on: locked},
	{name: "v2 on the page", request: func(r *row, d *doc) caddytest.Request {
		return message(r, 2, "What does this page say?", map[string]any{"currentPath": d.path, "context": []any{map[string]any{"type": "textSelection", "value": "says", "path": d.path}}})
	}, on: locked},
	{name: "ask", request: func(r *row, d *doc) caddytest.Request { return get("/v1/ask/" + r.site + "?q=" + d.key) }, shows: hasTitle, on: locked},
	{name: "ask a question", request: func(r *row, d *doc) caddytest.Request {
		return caddytest.Request{Path: "/v1/ask/" + r.site, Body: url.Values{"q": {d.key + " what is it?"}}.Encode(), Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}
	}, on: locked},
	{name: "page", request: func(r *row, d *doc) caddytest.Request { return pageOf(r, strings.TrimPrefix(d.stem(), "/")) }, shows: hasProof},
	{name: "page by its URL", request: func(r *row, d *doc) caddytest.Request { return pageOf(r, d.path) }, shows: hasProof, on: locked},
	{name: "MCP search", request: func(r *row, d *doc) caddytest.Request { return tool("/v1/mcp/"+r.site, "search", "query", d.key) }, shows: hasTitle},
	{name: "MCP fetch", request: func(r *row, d *doc) caddytest.Request { return tool("/v1/mcp/"+r.site, "fetch", "id", d.path) }, shows: hasProof},
	{name: "MCP full search", request: func(r *row, d *doc) caddytest.Request {
		return tool("/v1/mcp/"+r.site+"/full", "search", "query", d.key)
	}, shows: hasTitle, on: locked},
	{name: "MCP fetch on the site", request: func(_ *row, d *doc) caddytest.Request { return tool("/mcp", "fetch", "id", d.path) }, on: locked},
	{name: "MCP resources", request: func(r *row, _ *doc) caddytest.Request {
		q := tool("/v1/mcp/"+r.site, "", "", "")
		q.Body = `{"jsonrpc":"2.0","id":1,"method":"resources/list"}`
		return q
	}, public: true, shows: hasTitle, list: true},
	{name: "MCP resource", request: func(r *row, d *doc) caddytest.Request {
		q := tool("/v1/mcp/"+r.site, "", "", "")
		q.Body = jsonOf(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": map[string]any{"uri": "http://" + r.host + d.markdown()}})
		return q
	}, on: locked},
	{name: "llms.txt", request: func(*row, *doc) caddytest.Request { return get("/llms.txt") }, host: true, public: true, shows: hasTitle, list: true},
	{name: "llms-full.txt", request: func(*row, *doc) caddytest.Request { return get("/llms-full.txt") }, host: true, public: true, shows: hasProof, list: true},
	{name: "page.md?ask=", request: func(_ *row, d *doc) caddytest.Request { return get(d.markdown() + "?ask=" + d.key) }, host: true, shows: hasTitle, on: func(d *doc) bool { return !strings.HasSuffix(d.file, ".md") }},
	{name: "front.md?ask=", request: func(_ *row, d *doc) caddytest.Request { return get("/index.md?ask=" + d.key) }, on: locked},
	{name: "sitemap.xml", request: func(*row, *doc) caddytest.Request { return get("/sitemap.xml") }, host: true, public: true, shows: hasPath, list: true},
	{name: "page.html.md", request: func(_ *row, d *doc) caddytest.Request { return get(d.markdown()) }, host: true, shows: hasProof},
	{name: "page.md", request: func(_ *row, d *doc) caddytest.Request { return get(d.stem() + ".md") }, host: true, on: locked},
	{name: "page/index.md", request: func(_ *row, d *doc) caddytest.Request { return get(d.stem() + "/index.md") }, host: true, on: locked},
	{name: "an encoded page.md", request: func(_ *row, d *doc) caddytest.Request {
		return get("/" + strings.ReplaceAll(strings.TrimPrefix(d.stem(), "/"), "l", "%6C") + ".md")
	}, host: true, on: locked},
	{name: "a crooked page.md", request: func(_ *row, d *doc) caddytest.Request { return get("/." + d.stem() + ".md") }, host: true, on: locked},
	{name: "//page.md", request: func(_ *row, d *doc) caddytest.Request {
		return get("/x/..//" + strings.TrimPrefix(d.stem(), "/") + ".md")
	}, host: true, on: locked},
	{name: "Accept", request: func(_ *row, d *doc) caddytest.Request { return get(d.path, "Accept", "text/markdown, text/html;q=0.5") }, host: true, shows: hasProof},
	{name: "Accept without an extension", request: func(_ *row, d *doc) caddytest.Request { return get(d.stem(), "Accept", "text/markdown") }, host: true, on: locked},
	{name: "the dashboard's Try", request: func(r *row, d *doc) caddytest.Request {
		return caddytest.Request{Method: http.MethodGet, Host: dashboardHost, Path: "/acme/" + r.site + "/try?q=" + d.key, Header: map[string]string{"Authorization": readerLogin}}
	}, public: true, shows: hasTitle, on: few},
}

func hasTitle(res string, d *doc) bool { return strings.Contains(res, d.title) }
