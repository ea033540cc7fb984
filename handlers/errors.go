package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// problem is an error that the client is told about: what it did, or what we
// could not do. Chat interfaces print the raw body of an error, so Message
// stands first in it and is one sentence that a person can act on; the cause
// is for the log alone.
type problem struct {
	Message string
	Code    string
	cause   error
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.Message + ": " + p.cause.Error()
	}
	return p.Message
}

func (p *problem) Unwrap() error { return p.cause }

// fail makes the error of a handler: status and code for programs, message
// for people, cause (may be nil) for the log.
func fail(status int, code, message string, cause error) error {
	return caddyhttp.Error(status, &problem{Message: message, Code: code, cause: cause})
}

// badRequest turns what encoding says of a body into a 400.
func badRequest(err error) error {
	if e, ok := errors.AsType[*encoding.Error](err); ok {
		return fail(http.StatusBadRequest, "bad_request", e.Message, nil)
	}
	return fail(http.StatusBadRequest, "bad_request", "the body is not what this endpoint takes; the manual's pages Search and Assistant show it", err)
}

// searchFailed turns an index's error into a response. What only the operator
// can mend is a 500: a client that tries again would get the same.
func searchFailed(w http.ResponseWriter, err error) error {
	if errors.Is(err, retrieval.ErrRefused) {
		return fail(http.StatusInternalServerError, "search_misconfigured", "search is not set up rightly on this server; please tell those who run it, with the requestId", err)
	}
	w.Header().Set("Retry-After", "5")
	if errors.Is(err, retrieval.ErrNotReady) {
		return fail(http.StatusServiceUnavailable, "index_not_ready", "the index of this site is being built; try again in a few seconds", err)
	}
	return fail(http.StatusServiceUnavailable, "search_unavailable", "search is unavailable at the moment; try again in a few seconds", err)
}

// errorBody is the one shape of every error. DESIGN.md, Errors.
type errorBody struct {
	Error     string `json:"error"`
	Code      string `json:"code"`
	RequestID string `json:"requestId"`
}

// needsKey says what is missing where a request has no key, or none in force.
const needsKey = "this needs a valid API key: send the header Authorization: Bearer svc_dsc_…"

// describe says an error in our words. What comes from other handlers in the
// chain (authentication, rate_limit) carries a status and perhaps no text.
func describe(status int, err error, retryAfter string) (message, code string) {
	if p, ok := errors.AsType[*problem](err); ok {
		return p.Message, p.Code
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
		return "something went wrong on the server; try again, and report the requestId if it goes on", "internal"
	}
	return "the request was refused", "refused"
}

// writeError renders an error as the whole response.
func writeError(w http.ResponseWriter, r *http.Request, status int, id string, err error) {
	message, code := describe(status, err, w.Header().Get("Retry-After"))
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Del("Content-Length")
	body, jerr := json.Marshal(errorBody{Error: message, Code: code, RequestID: id})
	if jerr != nil { // three strings always marshal
		body = []byte(`{}`)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n'))
	}
}
