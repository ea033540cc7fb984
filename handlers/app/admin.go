package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
)

// Admin is admin.api.docs: what the command line and operators ask of a
// running server, on Caddy's admin endpoint.
//
//	GET    /docs/status               sites, their indexes, the model
//	GET    /docs/doctor               checks, and what to do where one fails
//	POST   /docs/index/{site}         refresh now; ?wait=true answers when it ended
//	GET    /docs/queries/{site}       queries to evaluate the search with
//	GET    /docs/keys                 keys, without secrets
//	POST   /docs/keys                 store a key made by the client: its record, not its secret
//	DELETE /docs/keys/{id}            revoke
//	POST   /docs/search/{site}        a search body; results as the API gives them, without a key
//	POST   /docs/ask/{site}           a v2 message body; the v2 stream, without a key
//	POST   /docs/explain/{site}       a v2 message body; the passages and the prompt that its answer is made from
type Admin struct {
	ctx caddy.Context
}

// CaddyModule returns the Caddy module information.
func (Admin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.docs", New: func() caddy.Module { return new(Admin) }}
}

// Provision keeps the context. The app is looked up per request: admin routes
// are made before apps, and for configurations that have no docs app.
func (d *Admin) Provision(ctx caddy.Context) error {
	d.ctx = ctx
	return nil
}

// Routes returns the admin routes.
func (d *Admin) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{{Pattern: "/docs/", Handler: caddy.AdminHandlerFunc(d.serve)}}
}

// maxAdminBody bounds what the admin endpoint reads.
const maxAdminBody = 1 << 20

func adminError(status int, format string, args ...any) error {
	return caddy.APIError{HTTPStatus: status, Err: fmt.Errorf(format, args...)}
}

func (d *Admin) serve(w http.ResponseWriter, r *http.Request) error {
	loaded, err := caddy.ActiveContext().AppIfConfigured("docs")
	if err != nil {
		return adminError(http.StatusNotFound, "the running configuration has no documentation sites: write the directive docs or the global option docs")
	}
	a := loaded.(*App)
	what, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/docs/"), "/")
	switch r.Method + " " + what {
	case "GET status":
		return writeJSON(w, http.StatusOK, a.Status())
	case "GET doctor":
		return writeJSON(w, http.StatusOK, a.Doctor(r.Context()))
	case "POST index":
		return a.adminIndex(w, r, name)
	case "GET queries":
		queries, err := a.Queries(name)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, queries)
	case "GET keys":
		keys, err := a.keys.List(r.Context())
		if err != nil {
			return adminError(http.StatusServiceUnavailable, "reading keys: %w", err)
		}
		return writeJSON(w, http.StatusOK, keys)
	case "POST keys":
		return a.adminAddKey(w, r)
	case "DELETE keys":
		k, err := a.keys.Revoke(r.Context(), name)
		switch {
		case errors.Is(err, access.ErrUnknownKey):
			return adminError(http.StatusNotFound, "%w", err)
		case errors.Is(err, access.ErrFixedKey), errors.Is(err, access.ErrAmbiguousKey):
			return adminError(http.StatusConflict, "%w", err)
		case err != nil:
			return adminError(http.StatusServiceUnavailable, "%w", err)
		}
		return writeJSON(w, http.StatusOK, k)
	case "POST search":
		return a.adminSearch(w, r, name)
	case "POST ask":
		return a.adminAsk(w, r, name)
	case "POST explain":
		return a.adminExplain(w, r, name)
	}
	switch what {
	case "status", "doctor", "index", "queries", "keys", "search", "ask", "explain":
		return adminError(http.StatusMethodNotAllowed, "%s is not a method of /docs/%s", r.Method, what)
	}
	return adminError(http.StatusNotFound, "there is no /docs/%s", what)
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}

// adminSite finds a site by name; an empty name stands for the only one.
func (a *App) adminSite(name string) (*LiveSite, error) {
	all := a.all()
	if name == "" && len(all) == 1 {
		return all[0], nil
	}
	if r := a.Site(name); r != nil && r.index != nil {
		return r, nil
	}
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	return nil, adminError(http.StatusNotFound, "there is no site %q; there are: %s", name, strings.Join(names, ", "))
}

func (a *App) adminIndex(w http.ResponseWriter, r *http.Request, name string) error {
	site, err := a.adminSite(name)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("wait") != "true" {
		a.goBackground(func(ctx context.Context) { _, _ = site.index.refresher.Refresh(ctx) }) // logged there
		return writeJSON(w, http.StatusAccepted, site.index.refresher.Status())
	}
	report, err := a.Refresh(r.Context(), site.Name)
	if err != nil {
		return adminError(http.StatusInternalServerError, "%w", err)
	}
	return writeJSON(w, http.StatusOK, report)
}

func (a *App) adminAddKey(w http.ResponseWriter, r *http.Request) error {
	record, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err != nil {
		return adminError(http.StatusBadRequest, "reading the key: %w", err)
	}
	k, err := a.keys.Add(r.Context(), record)
	if err != nil {
		return adminError(http.StatusBadRequest, "storing the key: %w", err)
	}
	return writeJSON(w, http.StatusCreated, k)
}

func (a *App) adminSearch(w http.ResponseWriter, r *http.Request, name string) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err != nil {
		return adminError(http.StatusBadRequest, "reading the query: %w", err)
	}
	results, err := a.SearchSite(r.Context(), name, body)
	if err != nil {
		return asAdminError(err)
	}
	return writeJSON(w, http.StatusOK, results)
}

// adminAsk streams a reply as the v2 endpoint does. The operator's questions
// are kept in no thread.
func (a *App) adminAsk(w http.ResponseWriter, r *http.Request, name string) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err != nil {
		return adminError(http.StatusBadRequest, "reading the question: %w", err)
	}
	uimessage.SetHeader(w.Header())
	if err := a.AskSite(r.Context(), name, body, w, http.NewResponseController(w).Flush); err != nil {
		return asAdminError(err)
	}
	return nil
}

func (a *App) adminExplain(w http.ResponseWriter, r *http.Request, name string) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err != nil {
		return adminError(http.StatusBadRequest, "reading the question: %w", err)
	}
	e, err := a.ExplainSite(r.Context(), name, body)
	if err != nil {
		return asAdminError(err)
	}
	return writeJSON(w, http.StatusOK, e)
}

// asAdminError gives an error its status.
func asAdminError(err error) error {
	var api caddy.APIError
	var body *encoding.Error
	switch {
	case errors.As(err, &api):
		return err
	case errors.As(err, &body):
		return adminError(http.StatusBadRequest, "%w", err)
	}
	return adminError(http.StatusServiceUnavailable, "%w", err)
}
