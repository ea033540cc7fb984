package handlers

import (
	"fmt"
	"net/http"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
)

// askerOf names the sender of a request that was admitted.
func askerOf(r *http.Request, key *access.Key) site.Asker {
	from := site.Asker{Source: sourceOf(r)}
	if key != nil && from.Source != insights.Widget { // a browser token is not a key
		from.Key = key.ID
	}
	return from
}

// validMaxBody checks the longest body that a route reads.
func validMaxBody(n int64) error {
	if n != 0 && (n < minMaxBody || n > maxMaxBody) {
		return &options.FieldError{Field: "max_body", Problem: fmt.Sprintf("%d must be from %d to %d bytes", n, minMaxBody, maxMaxBody)}
	}
	return nil
}
