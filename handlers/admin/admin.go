// Package admin is the admin API of the app docs: what commands, operators and
// the dashboard ask of it.
package admin

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
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// API answers what the command line and operators ask of an app.
type API struct{ *app.App }

// Admin is admin.api.docs: what the command line and operators ask of a
// running server, on Caddy's admin endpoint.
//
//	GET    /docs/status               sites, their indexes, the model
//	GET    /docs/doctor               checks, and what to do where one fails
//	POST   /docs/index/{site}         refresh now; ?wait=true answers when it ended, ?full=true writes everything again
//	GET    /docs/pages/{site}         pages, and what clients get at their URLs
//	GET    /docs/check/{site}         links to pages and sections that don't exist
//	GET    /docs/moved/{site}         pages that are gone, and where they are now
//	GET    /docs/queries/{site}       queries to evaluate the search with
//	GET    /docs/keys                 keys, without secrets
//	POST   /docs/keys                 store a key made by the client: its record, not its secret
//	DELETE /docs/keys/{id}            revoke
//	GET    /docs/logins               sessions of the dashboard
//	POST   /docs/logins               make a code that signs in to the dashboard, once
//	DELETE /docs/logins/{id}          end a session, or all
//	POST   /docs/search/{site}        a search body; results as the API gives them, without a key; ?record=false keeps it out of the insights, ?explain=true adds why
//	POST   /docs/ask/{site}           a v2 message body; the v2 stream, without a key
//	GET    /docs/insights/{site}      what readers look for, in the last ?days=30
//	DELETE /docs/insights/{site}      erase {"thread"}, {"text"} or {"day"}
//	GET    /docs/export/{site}        the events of the last ?days=30, as lines of JSON
//	POST   /docs/backup               copy the insights to ?file=
//	POST   /docs/explain/{site}       a v2 message body; the passages and the prompt that its answer is made from
type Admin struct{}

func (Admin) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "admin.api.docs", New: func() caddy.Module { return new(Admin) }}
}

// Routes returns the admin routes.
func (Admin) Routes() []caddy.AdminRoute {
	return []caddy.AdminRoute{{Pattern: "/docs/", Handler: caddy.AdminHandlerFunc(serveAdmin)}}
}

// maxAdminBody bounds what the admin endpoint reads.
const maxAdminBody = 1 << 20

// serveAdmin finds the app for each request: admin routes are made before the
// apps, and for configurations without the app docs.
func serveAdmin(w http.ResponseWriter, r *http.Request) error {
	loaded, err := caddy.ActiveContext().AppIfConfigured("docs")
	if err != nil {
		return adminError(http.StatusNotFound, "the running configuration has no documentation sites: write the directive docs or the global option docs")
	}
	return API{loaded.(*app.App)}.Serve(w, r)
}

// Serve answers a request to the admin API. The error is a caddy.APIError.
func (a API) Serve(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdminBody))
	if err != nil {
		return adminError(http.StatusBadRequest, "reading the request: %w", err)
	}
	what, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/docs/"), "/")
	ctx, q, status := r.Context(), r.URL.Query(), http.StatusOK
	recorded, full := q.Get("record") != "false", q.Get("full") == "true"
	answers := map[string]func() (any, error){ // nil: it has written the response itself
		"GET status": func() (any, error) { return a.Status(), nil },
		"GET doctor": func() (any, error) { return a.Doctor(ctx), nil },
		"POST index": func() (any, error) {
			if q.Get("wait") == "true" {
				return a.Reindex(ctx, name, full)
			}
			status = http.StatusAccepted
			return a.reindexSoon(name, full)
		},
		"GET pages":   func() (any, error) { return a.Pages(ctx, name) },
		"GET check":   func() (any, error) { return a.links(ctx, name) },
		"GET moved":   func() (any, error) { return a.Moved(name) },
		"GET queries": func() (any, error) { return a.queries(ctx, name) },
		"GET keys":    func() (any, error) { return a.Shared().Keys.List(ctx) },
		"POST keys": func() (any, error) {
			status = http.StatusCreated
			return a.addKey(ctx, body)
		},
		"DELETE keys": func() (any, error) { return a.revokeKey(ctx, name) },
		"GET logins":  func() (any, error) { return a.Logins().Sessions(ctx) },
		"POST logins": func() (any, error) {
			status = http.StatusCreated
			return a.NewLogin(ctx, body)
		},
		"DELETE logins":   func() (any, error) { return a.endLogins(ctx, name) },
		"POST search":     func() (any, error) { return a.search(ctx, name, body, recorded, q.Get("explain") == "true") },
		"POST ask":        func() (any, error) { return nil, a.ask(ctx, name, body, recorded, w) },
		"POST explain":    func() (any, error) { return a.Explain(ctx, name, body) },
		"GET insights":    func() (any, error) { return a.report(ctx, name, q) },
		"DELETE insights": func() (any, error) { return a.erase(ctx, name, body) },
		"GET export":      func() (any, error) { return nil, a.export(ctx, name, q, w) },
		"POST backup":     func() (any, error) { return a.backup(ctx, q.Get("file")) },
	}
	do, ok := answers[r.Method+" "+what]
	if !ok {
		for known := range answers {
			if strings.HasSuffix(known, " "+what) {
				return adminError(http.StatusMethodNotAllowed, "%s is not a method of /docs/%s", r.Method, what)
			}
		}
		return adminError(http.StatusNotFound, "there is no /docs/%s", what)
	}
	answer, err := do()
	if err != nil || answer == nil {
		return asAdminError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(answer)
}

func (a API) addKey(ctx context.Context, record []byte) (*access.Key, error) {
	made, err := a.Shared().Keys.Add(ctx, record)
	if err != nil {
		return nil, adminError(http.StatusBadRequest, "storing the key: %w", err)
	}
	a.audit(ctx, insights.Scope{Organization: made.Organization}, "key created", made.ID)
	return made, nil
}

func (a API) revokeKey(ctx context.Context, id string) (*access.Key, error) {
	revoked, err := a.Shared().Keys.Revoke(ctx, id)
	if err == nil {
		a.audit(ctx, insights.Scope{Organization: revoked.Organization}, "key revoked", revoked.ID)
	}
	return revoked, err
}

// site finds a site by name; an empty name means the only one.
func (a API) site(name string) (*site.Site, error) {
	all := a.All()
	if name == "" && len(all) == 1 {
		return all[0], nil
	}
	if r := a.Site(name); r != nil {
		return r, nil
	}
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	return nil, noSite(name, names)
}

// noSite is the error for a site that is not among all.
func noSite(name string, all []string) error {
	return adminError(http.StatusNotFound, "there is no site %q; the sites are: %s", name, FirstOf(all))
}

// FirstOf lists names for an error, the first ones if there are many.
func FirstOf(names []string) string {
	const most = 20
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

func adminError(status int, format string, args ...any) error {
	return caddy.APIError{HTTPStatus: status, Err: fmt.Errorf(format, args...)}
}

// asAdminError gives an error its status.
func asAdminError(err error) error {
	var api caddy.APIError
	var body *encoding.Error
	switch {
	case err == nil, errors.As(err, &api):
		return err
	case errors.As(err, &body):
		return adminError(http.StatusBadRequest, "%w", err)
	case errors.Is(err, access.ErrUnknownKey):
		return adminError(http.StatusNotFound, "%w", err)
	case errors.Is(err, access.ErrFixedKey), errors.Is(err, access.ErrAmbiguousKey):
		return adminError(http.StatusConflict, "%w", err)
	case errors.Is(err, retrieval.ErrNotReady):
		return adminError(http.StatusServiceUnavailable, "the index of the site is being built; caddy docs status shows the progress")
	}
	return adminError(http.StatusServiceUnavailable, "%w", err)
}
