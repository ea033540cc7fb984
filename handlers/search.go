package handlers

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Search is http.handlers.docs_search: POST /v1/search/{domain}. It stays
// closed (401) unless an identity was set before it, by the authentication
// handler with the docs_key provider.
type Search struct {
	KeyedRoute

	// The longest request body, in bytes, from 1,000 to 100,000,000. Default:
	// 1,000,000.
	MaxBody int64 `json:"max_body,omitempty"`

	encode *encode.Encode
}

func (Search) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_search", New: func() caddy.Module { return new(Search) }}
}

// Provision finds the app and prepares the compression of replies to keystrokes.
func (s *Search) Provision(ctx caddy.Context) (err error) {
	s.encode = newEncode("gzip")
	return errors.Join(s.encode.Provision(ctx), s.KeyedRoute.Provision(ctx))
}

func (s *Search) Validate() error {
	c := new(options.Checker)
	c.Sites(s.Sites)
	c.Number("max_body", int(s.MaxBody), minMaxBody, maxMaxBody)
	return c.Err()
}

func (s *Search) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return s.keyed(w, r, next, apiSearch, s.MaxBody, func(from site.Asker, body []byte) error {
		q, err := encoding.DecodeSearch(body)
		if err != nil {
			return badRequest(err)
		}
		ctx := AsReader(r)
		results, total, err := from.Results(ctx, q)
		if err != nil {
			if r.Context().Err() != nil {
				return nil // the client is gone
			}
			return SearchFailed(w, err)
		}

		// The widget sends a request at each pause of typing, and reports the final
		// query to docs_events.
		switch {
		case len(results) == 0 && reach.Incomplete(ctx): // there may be some
		case from.Source == insights.Widget:
			from.SearchedTyping(q, results)
		default:
			from.Searched(q, results)
		}

		jsonHeader(w.Header())
		w.Header().Set("X-Total-Count", strconv.Itoa(total))
		if reach.Incomplete(ctx) {
			w.Header().Set("X-Results-Incomplete", "true")
		}
		write := func(w http.ResponseWriter, _ *http.Request) error {
			_ = encoding.EncodeResults(w, results) // an error means that the client is gone
			return nil
		}
		if q.NoContent { // a keystroke
			return s.encode.ServeHTTP(w, r, caddyhttp.HandlerFunc(write))
		}
		return write(w, r)
	})
}
