package handlers

import (
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Events is http.handlers.docs_events: POST /v1/events/{domain}, the final
// query of a typing session or a click on a result. It stays closed (401)
// unless an identity was set before it, by the authentication handler with the
// docs_key provider.
type Events struct {
	KeyedRoute
}

// CaddyModule returns the Caddy module information.
func (Events) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.docs_events",
		New: func() caddy.Module { return new(Events) },
	}
}

func (h *Events) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok || e.api != apiEvents {
		return next.ServeHTTP(w, r)
	}
	site, key, err := h.admit(w, r, e.site)
	if err != nil {
		return err
	}
	body, err := readBody(w, r, maxReport)
	if err != nil {
		return err
	}
	event, err := encoding.DecodeEvent(body)
	if err != nil {
		return badRequest(err)
	}
	from := askerOf(r, key)
	private := r.Header.Get("Sec-GPC") == "1" // globalprivacycontrol.org: no tracking
	switch event.Type {
	case "search":
		// The search endpoint has recorded those of other clients.
		if from.Source == insights.Widget {
			h.app.TypedQuery(site, from, event.Query, event.Hits, !private)
		}
	case "click":
		if !private {
			h.app.Clicked(site, from, insights.Click{Query: event.Query, Path: event.Path, Position: event.Position})
		}
	}
	return noContent(w)
}
