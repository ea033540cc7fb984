// Package handlers is the HTTP side of caddy-docs: the matcher for the API's
// paths, the guard around them (CORS, errors), authentication, limits, and the
// handlers of the two APIs.
package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// The two APIs, as paths and configuration name them.
const (
	apiSearch    = "search"
	apiAssistant = "assistant"
)

// endpoint is what the path of a request to the API says. SPEC.md, Endpoints.
type endpoint struct {
	// api is search or assistant.
	api string
	// version is 1 or 2: the generation of the message endpoint.
	version int
	// site is the {domain} of the path, unchecked.
	site string
	// resume is set for …/message/{chatId}/stream, where a chat hook asks for
	// a reply that is still in progress.
	resume bool
}

// endpointVar is the variable of the request that holds its endpoint.
const endpointVar = "docs_api"

// endpointOf returns the endpoint that a request is for, which the docs_api
// matcher or the first of our handlers has parsed.
func endpointOf(r *http.Request) (endpoint, bool) {
	if e, ok := caddyhttp.GetVar(r.Context(), endpointVar).(endpoint); ok {
		return e, true
	}
	e, ok := parseRequest(r)
	if ok {
		caddyhttp.SetVar(r.Context(), endpointVar, e)
	}
	return e, ok
}

// parseRequest finds the endpoint by the current path (handle_path may have
// stripped a prefix) or the original one (try_files may have rewritten it).
func parseRequest(r *http.Request) (endpoint, bool) {
	e, ok := parsePath(r.URL.Path)
	if !ok {
		e, ok = parsePath(originalURL(r).Path)
	}
	if ok && e.api == apiAssistant && e.version == 1 && r.Method == http.MethodGet && r.URL.Query().Has("chatId") {
		e.resume = true // how version 4 of the chat SDK asks
	}
	return e, ok
}

// originalURL returns the URL that the client sent.
func originalURL(r *http.Request) *url.URL {
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
	api, rest, ok := strings.Cut(path[4:], "/")
	if !ok {
		return endpoint{}, false
	}
	switch api {
	case apiSearch:
		if version != 1 || rest == "" || strings.Contains(rest, "/") {
			return endpoint{}, false
		}
		return endpoint{api: apiSearch, version: 1, site: rest}, true
	case apiAssistant:
		site, rest, ok := strings.Cut(rest, "/")
		if !ok || site == "" {
			return endpoint{}, false
		}
		e := endpoint{api: apiAssistant, version: version, site: site}
		if rest == "message" {
			return e, true
		}
		chat, ok := strings.CutPrefix(rest, "message/")
		if !ok {
			return endpoint{}, false
		}
		if chat, ok = strings.CutSuffix(chat, "/stream"); ok && chat != "" && !strings.Contains(chat, "/") {
			e.resume = true
			return e, true
		}
	}
	return endpoint{}, false
}

// v2Path returns the path of the v2 endpoint next to the v1 endpoint of this
// request, with the prefix that handle_path may have stripped.
func v2Path(r *http.Request) string {
	path := originalURL(r).Path
	i := strings.LastIndex(path, "/v1/"+apiAssistant+"/")
	if i < 0 {
		return ""
	}
	return (&url.URL{Path: path[:i] + "/v2/" + path[i+len("/v1/"):]}).EscapedPath()
}

// methods returns the value of the Allow header.
func (e endpoint) methods() string {
	if e.resume {
		return "GET, HEAD, OPTIONS"
	}
	return "POST, OPTIONS"
}

// allows reports whether the endpoint takes a method besides OPTIONS.
func (e endpoint) allows(method string) bool {
	if e.resume {
		return method == http.MethodGet || method == http.MethodHead
	}
	return method == http.MethodPost
}
