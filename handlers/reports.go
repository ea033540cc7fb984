package handlers

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
)

// maxReport bounds the body of feedback and of an event, in bytes.
const maxReport = 16_000

// Events is http.handlers.docs_events: POST /v1/events/{domain}, the final
// query of a typing session or a click on a result. It stays closed (401)
// unless an identity was set before it, by the authentication handler with the
// docs_key provider.
type Events struct {
	KeyedRoute
}

func (Events) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_events", New: func() caddy.Module { return new(Events) }}
}

func (h *Events) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return h.keyed(w, r, next, apiEvents, maxReport, func(from site.Asker, body []byte) error {
		event, err := encoding.DecodeEvent(body)
		if err != nil {
			return badRequest(err)
		}
		private := r.Header.Get("Sec-GPC") == "1" // globalprivacycontrol.org: no tracking
		// The search endpoint has recorded the queries of other clients.
		if event.Type == "search" && from.Source == insights.Widget {
			from.TypedQuery(event.Query, event.Hits, !private)
		}
		if event.Type == "click" && !private {
			from.Clicked(insights.Click{Query: event.Query, Path: event.Path, Position: event.Position})
		}
		return recorded(w)
	})
}

// Feedback is http.handlers.docs_feedback: POST /v1/feedback/{domain}, a
// reader's vote for a reply or a page. It stays closed (401) unless an
// identity was set before it, by the authentication handler with the docs_key
// provider.
type Feedback struct {
	KeyedRoute
}

func (Feedback) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_feedback", New: func() caddy.Module { return new(Feedback) }}
}

func (f *Feedback) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return f.keyed(w, r, next, apiFeedback, maxReport, func(from site.Asker, body []byte) error {
		v, err := encoding.DecodeFeedback(body)
		if err != nil {
			return badRequest(err)
		}
		known := from.Voted(r.Context(), insights.Vote{
			Thread: v.ThreadID, Message: v.MessageID, Path: v.Path, Rating: v.Rating, Reasons: v.Reasons, Comment: v.Comment,
		})
		if !known {
			return Fail(http.StatusNotFound, "unknown_thread", "there is no such conversation on this site; send the threadId of one of its replies", nil)
		}
		return recorded(w)
	})
}

// recorded answers a request that has only to be recorded.
func recorded(w http.ResponseWriter) error {
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
