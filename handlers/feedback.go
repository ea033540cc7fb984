package handlers

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/insights"
)

// maxReport bounds the body of feedback and of an event, in bytes.
const maxReport = 16_000

// Feedback is http.handlers.docs_feedback: POST /v1/feedback/{domain}, a
// reader's vote for a reply or a page. It stays closed (401) unless an
// identity was set before it, by the authentication handler with the docs_key
// provider.
type Feedback struct {
	KeyedRoute
}

// CaddyModule returns the Caddy module information.
func (Feedback) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.docs_feedback",
		New: func() caddy.Module { return new(Feedback) },
	}
}

func (f *Feedback) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok || e.api != apiFeedback {
		return next.ServeHTTP(w, r)
	}
	site, key, err := f.admit(w, r, e.site)
	if err != nil {
		return err
	}
	body, err := readBody(w, r, maxReport)
	if err != nil {
		return err
	}
	v, err := encoding.DecodeFeedback(body)
	if err != nil {
		return badRequest(err)
	}
	known := f.app.Voted(r.Context(), site, askerOf(r, key), insights.Vote{
		Thread: v.ThreadID, Message: v.MessageID, Path: v.Path, Rating: v.Rating, Reasons: v.Reasons, Comment: v.Comment,
	})
	if !known {
		return fail(http.StatusNotFound, "unknown_thread", "there is no such conversation at this site; send the threadId of one of its replies", nil)
	}
	return noContent(w)
}

// noContent answers 204.
func noContent(w http.ResponseWriter) error {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
