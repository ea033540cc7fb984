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
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
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
	if r.Method+" "+what == "POST ask" {
		uimessage.SetHeader(w.Header())
		return asAdminError(a.ask(r.Context(), name, body, r.URL.Query().Get("record") != "false", w, http.NewResponseController(w).Flush))
	}
	if r.Method+" "+what == "GET export" { // streamed, too
		return asAdminError(a.export(w, r, name))
	}
	status, answer, err := a.admin(r, what, name, body)
	if err != nil {
		return asAdminError(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(answer)
}

// admin answers a request with JSON.
func (a API) admin(r *http.Request, what, name string, body []byte) (status int, answer any, err error) {
	ctx, status := r.Context(), http.StatusOK
	switch r.Method + " " + what {
	case "GET status":
		answer = a.Status()
	case "GET doctor":
		answer = a.Doctor(ctx)
	case "POST index":
		full := r.URL.Query().Get("full") == "true"
		if r.URL.Query().Get("wait") == "true" {
			answer, err = a.Reindex(ctx, name, full)
			break
		}
		var s *site.Site
		if s, err = a.site(name); err == nil {
			a.Go(func(ctx context.Context) {
				if _, err := a.Reindex(ctx, s.Name, full); err != nil && ctx.Err() == nil {
					a.Shared().Log.Error("the index could not be refreshed", zap.String("site", s.Name), zap.Error(err))
				}
			})
			status, answer = http.StatusAccepted, s.Index.Refresher.Status()
		}
	case "GET pages":
		answer, err = a.Pages(ctx, name)
	case "GET check":
		answer, err = a.Links(ctx, name, true)
	case "GET moved":
		answer, err = a.Moved(name)
	case "GET queries":
		answer, err = a.queries(ctx, name)
	case "GET keys":
		answer, err = a.Shared().Keys.List(ctx)
	case "POST keys":
		status = http.StatusCreated
		var made *access.Key
		if made, err = a.Shared().Keys.Add(ctx, body); err != nil {
			err = adminError(http.StatusBadRequest, "storing the key: %w", err)
			break
		}
		a.audit(ctx, insights.Scope{Organization: made.Organization}, "key created", made.ID)
		answer = made
	case "DELETE keys":
		var revoked *access.Key
		if revoked, err = a.Shared().Keys.Revoke(ctx, name); err != nil {
			break
		}
		a.audit(ctx, insights.Scope{Organization: revoked.Organization}, "key revoked", revoked.ID)
		answer = revoked
	case "GET logins":
		answer, err = a.Logins().Sessions(ctx)
	case "POST logins":
		status = http.StatusCreated
		answer, err = a.NewLogin(ctx, body)
	case "DELETE logins":
		answer, err = a.endLogins(ctx, name)
	case "POST search":
		answer, err = a.search(ctx, name, body, r.URL.Query().Get("record") != "false", r.URL.Query().Get("explain") == "true")
	case "GET insights":
		answer, err = a.report(ctx, name, r.URL.Query())
	case "DELETE insights":
		answer, err = a.erase(ctx, name, body)
	case "POST backup":
		answer, err = a.backup(ctx, r.URL.Query().Get("file"))
	case "POST explain":
		answer, err = a.Explain(ctx, name, body)
	default:
		switch what {
		case "status", "doctor", "index", "pages", "check", "moved", "queries", "keys", "logins", "search", "ask", "explain", "insights", "export", "backup":
			err = adminError(http.StatusMethodNotAllowed, "%s is not a method of /docs/%s", r.Method, what)
		default:
			err = adminError(http.StatusNotFound, "there is no /docs/%s", what)
		}
	}
	return status, answer, err
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
	return adminError(http.StatusNotFound, "there is no site %q; there are: %s", name, FirstOf(all))
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
