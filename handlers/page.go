package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// Page is http.handlers.docs_page: POST /v1/page/{domain}, a page as Markdown.
// It stays closed (401) unless an identity was set before it, by the
// authentication handler with the docs_key provider.
type Page struct {
	KeyedRoute
}

func (Page) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_page", New: func() caddy.Module { return new(Page) }}
}

// maxPageBody is the longest body of a request, in bytes.
const maxPageBody = 10_000

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	return p.keyed(w, r, next, apiPage, maxPageBody, func(from site.Asker, body []byte) error {
		live := from.Site
		var q struct {
			Path *string `json:"path"`
		}
		if err := json.Unmarshal(body, &q); err != nil || q.Path == nil || len(*q.Path) > 2000 {
			return Fail(http.StatusBadRequest, "bad_request", `the body must be {"path": "guide/install"}: the page's path, as in search results, of at most 2000 bytes`, nil)
		}
		d := live.Pages().Named(*q.Path)
		if !live.CanOpen(AsReader(r), *q.Path, d) {
			return Fail(http.StatusNotFound, "unknown_page", "there is no such page; paths are those of search results, like guide/install", nil)
		}
		md, err := live.Index.Markdown(d, BaseURL(live, r), true)
		if errors.Is(err, fs.ErrNotExist) {
			return Fail(http.StatusNotFound, "unknown_page", "the page has changed since it was indexed, or is gone", err)
		}
		if err != nil {
			return fmt.Errorf("reading page %q: %w", d.Page, err)
		}
		writeJSON(w, http.StatusOK, struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		}{d.Page, string(md)})
		return nil
	})
}
