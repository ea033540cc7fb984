package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// problem is an error whose message clients see. Chat interfaces print the raw
// body of an error, so the message comes first in it and is one sentence that
// a person can act on. The cause is only logged.
type problem struct {
	message, code string
	cause         error
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.message + ": " + p.cause.Error()
	}
	return p.message
}

func (p *problem) Unwrap() error { return p.cause }

// Fail makes the error of a handler: status and code for programs, message
// for people, cause (may be nil) for the log.
func Fail(status int, code, message string, cause error) error {
	return caddyhttp.Error(status, &problem{message, code, cause})
}

// badRequest turns a decoding error into a 400.
func badRequest(err error) error {
	if e, ok := errors.AsType[*encoding.Error](err); ok {
		return Fail(http.StatusBadRequest, "bad_request", e.Message, nil)
	}
	return Fail(http.StatusBadRequest, "bad_request", "the body is invalid; the manual's pages Search and Assistant show what this endpoint takes", err)
}

// SearchFailed turns an index's error into a response. An error that only the
// operator can fix is a 500: a client that tries again would get the same.
func SearchFailed(w http.ResponseWriter, err error) error {
	if errors.Is(err, retrieval.ErrRefused) {
		return Fail(http.StatusInternalServerError, "search_misconfigured", "search is misconfigured on this server; please report the requestId to its operator", err)
	}
	w.Header().Set("Retry-After", "5")
	if errors.Is(err, retrieval.ErrNotReady) {
		return Fail(http.StatusServiceUnavailable, "index_not_ready", "the index of this site is being built; try again in a few seconds", err)
	}
	return Fail(http.StatusServiceUnavailable, "search_unavailable", "search is unavailable at the moment; try again in a few seconds", err)
}

// unknownSite refuses a request for a site that there is not here.
func unknownSite() error {
	return Fail(http.StatusNotFound, "unknown_site",
		"no documentation site with this name; the name is the {domain} in the URL, as in /v1/search/{domain}", nil)
}

// unknownHost refuses a request for a host that the operator did not name.
func unknownHost() error {
	return Fail(http.StatusForbidden, "host_not_allowed",
		"this site is not served at this host; its operator can write the host in the site block, or as the url of the site", nil)
}

// needsKey is the message for a request without a valid key.
const needsKey = "this needs a valid API key: send the header Authorization: Bearer svc_dsc_…"

// refusedKey is what a request keeps why the authentication refused it under: a
// *problem. Caddy's handler can't say.
const refusedKey = "docs_refused"

// describe returns the message and code of an error. Errors of Caddy's own
// handlers (authentication, rate_limit) have a status and perhaps no text.
func describe(status int, err error, retryAfter string) (message, code string) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.message, p.code
	}
	switch status {
	case http.StatusUnauthorized:
		return needsKey, "unauthorized"
	case http.StatusForbidden:
		return "this key may not be used here", "forbidden"
	case http.StatusTooManyRequests:
		if retryAfter != "" {
			return fmt.Sprintf("too many requests; try again in %s seconds", retryAfter), "rate_limited"
		}
		return "too many requests; try again later", "rate_limited"
	case http.StatusRequestEntityTooLarge:
		return "the body is too large", "too_large"
	}
	if status >= 500 {
		return "something went wrong on the server; try again, and report the requestId if it happens again", "internal"
	}
	return "the request was refused", "refused"
}

// stopping refuses a request while the process ends.
func stopping(w http.ResponseWriter, site string) error {
	observe.Refused(site, "stopping")
	w.Header().Set("Retry-After", "5")
	w.Header().Set("Connection", "close")
	return Fail(http.StatusServiceUnavailable, "stopping", "the server is being restarted; try again in a few seconds", nil)
}

// RequestID returns Caddy's {http.request.uuid}, by which an operator finds a
// request in all logs. Where nothing has made it yet, it is made here: Caddy
// would write it to the request's vars, which a connection that forward_auth no
// longer needs may still be reading, and that ends the process.
func RequestID(r *http.Request) string {
	const placeholder, made = "http.request.uuid", "docs.request_id"
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return ""
	}
	if id, ok := repl.GetString(made); ok {
		return id
	}
	if caddyhttp.GetVar(r.Context(), "uuid") != nil {
		id, _ := repl.GetString(placeholder)
		return id
	}
	id := uuid.NewString()
	repl.Set(made, id)
	repl.Set(placeholder, id)
	if extra, ok := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		extra.Set(zap.String("uuid", id))
	}
	return id
}

// writeError renders an error as the whole response.
func writeError(w http.ResponseWriter, r *http.Request, status int, id string, err error) {
	message, code := describe(status, err, w.Header().Get("Retry-After"))
	w.Header().Del("Content-Length")
	writeJSON(w, status, struct {
		Error     string `json:"error"`
		Code      string `json:"code"`
		RequestID string `json:"requestId"`
		Message   string `json:"message"`
	}{message, code, id, sentence(r, status)})
}

// jsonHeader sets the header of a response that is JSON for one client.
func jsonHeader(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// writeJSON answers with a value.
func writeJSON(w http.ResponseWriter, status int, v any) {
	jsonHeader(w.Header())
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // an error means that the client is gone
}
