// Package dashboard is the pages that an organization sees of its sites: what
// state they are in, what readers look for, the keys, and who did what. It
// renders HTML on the server; everything works without JavaScript.
//
// It knows nothing of Caddy: a Server says what there is and does what forms
// ask for, and the caller says who the visitor is. To add a page, add a file
// with its handlers, a template of the same name, and its lines in routes.
package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/store"
)

// Dashboard serves the pages.
type Dashboard struct {
	server Server
	logins *Logins
	log    *slog.Logger
	guard  *http.CrossOriginProtection

	vectors store.Recent[[]float32] // of questions, by their text
}

// New returns a dashboard of a server's sites.
func New(s Server, logins *Logins, log *slog.Logger) *Dashboard {
	return &Dashboard{
		server: s, logins: logins, log: log, guard: http.NewCrossOriginProtection(), vectors: store.Recent[[]float32]{Max: 5 * maxMeanings},
	}
}

// request is a request for a page. Templates see its exported fields.
type request struct {
	*http.Request
	w        http.ResponseWriter
	d        *Dashboard
	base     string
	params   map[string]string
	page     string
	unmasked bool   // addresses and secrets in conversations are shown
	invalid  error  // of the first parameter that is refused
	format   string // csv or json if the visitor asks for a table as a file

	Visitor *Visitor
	Sites   []Site          // that the visitor may see
	Site    *Site           // nil for pages that are not of one site
	Period  insights.Period // that the page is about
	Dated   bool            // the visitor chose its first and last day
	Rows    any             // of the page's table
	Pager   pager           // the place in it
}

// maxForm bounds the body of a form.
const maxForm = 64 << 10

// Serve answers a request. base is the path that was stripped from it, without
// a slash at the end; visitor is whom a login before the dashboard has
// identified, or nil. One without a role may have signed in to the dashboard
// itself. A stranger gets the assets and, at any address, the page to sign in.
func (d *Dashboard) Serve(w http.ResponseWriter, r *http.Request, base string, visitor *Visitor) {
	setHeader(w.Header())
	q := &request{Request: r, w: w, d: d, base: base, Visitor: visitor}
	if err := q.serve(); err != nil {
		q.fail(err)
	}
}

func (q *request) serve() error {
	if name, ok := strings.CutPrefix(q.URL.Path, own+"assets/"); ok {
		return q.asset(name)
	}
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		if err := q.d.guard.Check(q.Request); err != nil {
			return fail(http.StatusForbidden, "This form was sent from another site.")
		}
		q.Body = http.MaxBytesReader(q.w, q.Body, maxForm)
		if err := q.ParseForm(); err != nil {
			return fail(http.StatusBadRequest, "The form is too large or can't be read.")
		}
	}
	if q.Visitor == nil || !q.Visitor.Known() {
		v, err := q.session()
		if err != nil {
			return err
		}
		if v != nil {
			q.Visitor = v
		}
	}
	switch q.URL.Path {
	case LoginPath:
		return q.login()
	case logoutPath:
		return q.logout()
	}
	if q.Visitor == nil {
		return q.signIn(http.StatusUnauthorized, "")
	}
	q.Sites = slices.DeleteFunc(q.d.server.Sites(), func(s Site) bool { return q.Visitor.In(s.Organization) == Nobody })
	if q.URL.Path == "/" || q.URL.Path == "" {
		return q.front()
	}
	return q.route()
}

// front redirects to the only site, or lists all.
func (q *request) front() error {
	if q.Method != http.MethodGet && q.Method != http.MethodHead {
		return notAllowed(http.MethodGet)
	}
	if len(q.Sites) == 1 {
		return q.redirect("/"+q.Sites[0].Organization+"/"+q.Sites[0].Name, nil)
	}
	return overviewOfSites(q)
}

// route finds the page of /{organization}/{domain}/…. What the visitor has no
// role for does not exist for them.
func (q *request) route() error {
	path, slash := strings.CutSuffix(q.URL.Path, "/")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(parts) < 2 {
		return errNotFound
	}
	i := slices.IndexFunc(q.Sites, func(s Site) bool { return s.Organization == parts[0] && s.Name == parts[1] })
	if i < 0 {
		return errNotFound
	}
	q.Site = &q.Sites[i]
	var methods []string
	for _, r := range routes {
		params, ok := r.match(parts[2:])
		if !ok {
			continue
		}
		if r.method != q.Method && (r.method != http.MethodGet || q.Method != http.MethodHead) {
			methods = append(methods, r.method)
			continue
		}
		if slash && r.method == http.MethodGet {
			return q.redirect(path, nil)
		}
		if r.role == Nobody || q.Visitor.In(q.Site.Organization) < r.role {
			has := q.Visitor.In(q.Site.Organization)
			return fail(http.StatusForbidden, fmt.Sprintf("Your role in this organization is %s; this requires %s.", has, r.role))
		}
		q.params, q.page = params, r.page()
		if r.method == http.MethodGet {
			q.format = q.choice("format", "", "csv", "json")
		}
		return r.serve(q)
	}
	if len(methods) > 0 {
		return notAllowed(methods...)
	}
	return errNotFound
}

func (q *request) redirect(path string, values url.Values) error {
	q.w.Header().Set("Location", link(q.base+path, values))
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// at is the path of a page of the site.
func (q *request) at(page string) string {
	return strings.TrimSuffix("/"+q.Site.Organization+"/"+q.Site.Name+"/"+page, "/")
}

// failure is an error that the visitor reads.
type failure struct {
	status  int
	message string
	allow   []string
}

func (f *failure) Error() string { return f.message }

func fail(status int, message string) error { return &failure{status: status, message: message} }

var errNotFound = fail(http.StatusNotFound, "There is no such page.")

func notAllowed(methods ...string) error {
	return &failure{http.StatusMethodNotAllowed, "This page does not accept this kind of request.", methods}
}

// fail renders an error. What the visitor can't fix is only logged.
func (q *request) fail(err error) {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		if errors.Is(err, context.Canceled) && q.Context().Err() != nil {
			return // the visitor is gone
		}
		q.d.log.Error("a dashboard page failed", "path", q.URL.Path, "error", err)
		f = &failure{status: http.StatusInternalServerError, message: "Something went wrong on the server. See the server's log."}
	}
	if len(f.allow) > 0 {
		q.w.Header().Set("Allow", strings.Join(f.allow, ", "))
	}
	if err := q.render(f.status, "error", http.StatusText(f.status), f.message); err != nil {
		q.d.log.Error("an error page failed", "error", err)
	}
}
