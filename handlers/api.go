// Package handlers is the HTTP side of caddy-docs: the matcher that takes
// the API's addresses out of a site's, the guard around them (CORS, errors),
// authentication, limits, and the two handlers that answer.
package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// The two functions of the service, as configuration names them.
const (
	apiSearch    = "search"
	apiAssistant = "assistant"
)

// endpoint is an address of the API, taken apart. SPEC.md, Endpoints.
type endpoint struct {
	// api is search or assistant.
	api string
	// version is 1 or 2: the generation of the message endpoint.
	version int
	// site is the {domain} of the path, as it stands there.
	site string
	// resume is set for …/message/{chatId}/stream, where a chat hook asks for
	// a reply that is still under way.
	resume bool
}

// endpointOf finds the endpoint that a request is for: by the path as it is
// now (handle_path may have stripped a prefix) or as it came (try_files may
// have rewritten it to a page).
func endpointOf(r *http.Request) (endpoint, bool) {
	e, ok := parseEndpoint(r.URL.Path)
	if !ok {
		or, there := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request)
		if !there || or.URL == nil {
			return endpoint{}, false
		}
		if e, ok = parseEndpoint(or.URL.Path); !ok {
			return endpoint{}, false
		}
	}
	if e.api == apiAssistant && e.version == 1 && r.Method == http.MethodGet && r.URL.Query().Has("chatId") {
		e.resume = true // how version 4 of the chat SDK asks
	}
	return e, true
}

// parseEndpoint takes exactly the API's shapes: real pages below /v1/ are
// not ours.
func parseEndpoint(path string) (endpoint, bool) {
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

// v2Address is the address of the v2 message endpoint that stands where the
// v1 endpoint of this request stands, made from the path as the client sent
// it, so that a prefix which handle_path stripped is kept.
func v2Address(r *http.Request) string {
	u := r.URL
	if or, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok && or.URL != nil {
		u = or.URL
	}
	i := strings.LastIndex(u.Path, "/v1/"+apiAssistant+"/")
	if i < 0 {
		return ""
	}
	return (&url.URL{Path: u.Path[:i] + "/v2/" + u.Path[i+len("/v1/"):]}).EscapedPath()
}

// methods are those that the endpoint answers besides OPTIONS.
func (e endpoint) methods() string {
	if e.resume {
		return "GET, HEAD, OPTIONS"
	}
	return "POST, OPTIONS"
}

// allows tells whether the endpoint answers a method.
func (e endpoint) allows(method string) bool {
	if e.resume {
		return method == http.MethodGet || method == http.MethodHead
	}
	return method == http.MethodPost
}
