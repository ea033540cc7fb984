// Package handlers is the HTTP side of caddy-docs: the matcher for the API's
// paths, the guard around them (CORS, errors), authentication, limits, and one
// handler for each part of the API.
package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/widget"
)

// The parts of the API, as paths and configuration name them. To add one, add
// its name here, its paths and methods to apis, its handler, and its route to
// the parts of package caddyfile.
const (
	APIAsk       = "ask"
	apiAssistant = "assistant"
	apiEvents    = "events"
	apiFeedback  = "feedback"
	apiMCP       = "mcp"
	apiPage      = "page"
	apiSearch    = "search"
	apiToken     = "token"
	APIWidget    = "widget"
)

// apis are the paths and methods of the parts.
var apis = map[string]struct {
	// methods are those of the part besides OPTIONS, the usual one first.
	methods []string
	// parse reads what follows /v1/{part}/. Nil: it is the site.
	parse func(rest string) (endpoint, bool)
	// versions is the number of generations. Default: 1.
	versions int
}{
	APIAsk:       {methods: []string{http.MethodGet, http.MethodHead, http.MethodPost}},
	apiAssistant: {methods: []string{http.MethodPost}, parse: parseMessagePath, versions: 2},
	apiEvents:    {methods: []string{http.MethodPost}},
	apiFeedback:  {methods: []string{http.MethodPost}},
	apiMCP:       {methods: []string{http.MethodPost}, parse: parseMCPPath},
	apiPage:      {methods: []string{http.MethodPost}},
	apiSearch:    {methods: []string{http.MethodPost}},
	apiToken:     {methods: []string{http.MethodPost}},
	APIWidget:    {methods: []string{http.MethodGet, http.MethodHead}, parse: parseScriptPath},
}

// endpoint is what the path of a request to the API says.
type endpoint struct {
	// api is the part of the API.
	api string
	// version is 1 or 2: the generation of the message endpoint.
	version int
	// site is the {domain} of the path, unchecked.
	site string
	// resume is set for …/message/{chatId}/stream, where a chat hook asks for
	// a reply that is still in progress.
	resume bool
	// chunk is the name of a part of the widget's script, which belongs to no
	// site.
	chunk string
	// full is set for /v1/mcp/{domain}/full.
	full bool
}

// endpointKey is what a request keeps its endpoint under.
const endpointKey = "docs_api"

// endpointOf returns the endpoint that a request is for, which the docs_api
// matcher or the first of our handlers has parsed.
func endpointOf(r *http.Request) (endpoint, bool) {
	if e, ok := reach.Kept(r, endpointKey).(endpoint); ok {
		return e, true
	}
	e, ok := parseRequest(r)
	if ok {
		reach.Keep(r, endpointKey, e)
	}
	return e, ok
}

// SiteOf returns the site that a request to a part of the API is for, and the
// chunk of the widget's script; ok is false for other requests.
func SiteOf(r *http.Request, api string) (site, chunk string, ok bool) {
	e, ok := endpointOf(r)
	return e.site, e.chunk, ok && e.api == api
}

// parseRequest finds the endpoint by the current path (handle_path may have
// stripped a prefix) or the original one (try_files may have rewritten it).
func parseRequest(r *http.Request) (endpoint, bool) {
	e, ok := parsePath(r.URL.Path)
	if !ok {
		e, ok = parsePath(OriginalURL(r).Path)
	}
	if ok && e.api == apiAssistant && e.version == 1 && r.Method == http.MethodGet && r.URL.Query().Has("chatId") {
		e.resume = true // how version 4 of the chat SDK asks
	}
	return e, ok
}

// OriginalURL returns the URL that the client sent.
func OriginalURL(r *http.Request) *url.URL {
	if or, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && or.URL != nil {
		return or.URL
	}
	return r.URL
}

// parsePath takes exactly the API's paths: pages below /v1/ belong to the site.
func parsePath(path string) (endpoint, bool) {
	if len(path) < 4 || path[0] != '/' || path[1] != 'v' || path[3] != '/' {
		return endpoint{}, false
	}
	version := int(path[2] - '0')
	if version != 1 && version != 2 {
		return endpoint{}, false
	}
	name, rest, _ := strings.Cut(path[4:], "/")
	api, ok := apis[name]
	if !ok || version > max(api.versions, 1) {
		return endpoint{}, false
	}
	e := endpoint{site: rest}
	if api.parse != nil {
		e, ok = api.parse(rest)
	}
	if !ok || e.site == "" && e.chunk == "" || strings.Contains(e.site, "/") {
		return endpoint{}, false
	}
	e.api, e.version = name, version
	return e, true
}

// parseMessagePath reads {domain}/message and {domain}/message/{chatId}/stream.
func parseMessagePath(rest string) (endpoint, bool) {
	site, rest, _ := strings.Cut(rest, "/")
	if rest == "message" {
		return endpoint{site: site}, true
	}
	chat, ok := strings.CutPrefix(rest, "message/")
	if !ok {
		return endpoint{}, false
	}
	chat, ok = strings.CutSuffix(chat, "/stream")
	return endpoint{site: site, resume: true}, ok && chat != "" && !strings.Contains(chat, "/")
}

// parseScriptPath reads {domain}.js and the names of the script's chunks.
func parseScriptPath(rest string) (endpoint, bool) {
	if _, ok := widget.Chunk(rest); ok {
		return endpoint{chunk: rest}, true
	}
	site, ok := strings.CutSuffix(rest, ".js")
	return endpoint{site: site}, ok
}

// parseMCPPath reads {domain} and {domain}/full.
func parseMCPPath(rest string) (endpoint, bool) {
	site, full := strings.CutSuffix(rest, "/full")
	return endpoint{site: site, full: full}, true
}

// v2Path returns the path of the v2 endpoint next to the v1 endpoint of this
// request, with the prefix that handle_path may have stripped.
func v2Path(r *http.Request) string {
	path := OriginalURL(r).Path
	i := strings.LastIndex(path, "/v1/"+apiAssistant+"/")
	if i < 0 {
		return ""
	}
	return (&url.URL{Path: path[:i] + "/v2/" + path[i+len("/v1/"):]}).EscapedPath()
}

// methods are those that the endpoint takes besides OPTIONS.
func (e endpoint) methods() []string {
	if e.resume {
		return []string{http.MethodGet, http.MethodHead}
	}
	return apis[e.api].methods
}

// allow returns the value of the Allow header.
func (e endpoint) allow() string {
	return strings.Join(append(slices.Clip(e.methods()), http.MethodOptions), ", ")
}
