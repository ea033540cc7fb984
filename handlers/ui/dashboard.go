package ui

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// Dashboard is http.handlers.docs_dashboard: the pages on which an
// organization sees its sites and manages their keys, at
// /{organization}/{domain}. It answers every request that reaches it.
//
// It is closed to everyone without an identity. `caddy docs login` prints a
// one-time link for a session where there is no other login. Otherwise,
// what authenticates the request before it, such as basic_auth, forward_auth or
// a client certificate, identifies the visitor (User, Groups), and the rules
// (Admins, Members, Viewers) give that visitor a role. Without a rule, a visitor
// may do nothing: a login may let in people who are not operators, such as readers
// of the documentation. What a visitor has no role for does not exist for them
// (404).
//
// Serve it on its own host: a script in the pages of a documentation site on
// the same host could use it with the visitor's identity.
type Dashboard struct {
	// The sites that are shown. Default: all.
	Sites []string `json:"sites,omitempty"`

	// The visitor's name, as a placeholder that is empty for strangers.
	// A request header, such as {http.request.header.Remote-User}, is safe only
	// behind a handler that deletes it from clients' requests, as forward_auth
	// does. Default: {http.auth.user.id}.
	User string `json:"user,omitempty"`

	// The visitor's groups, as a placeholder whose value separates them by
	// commas, semicolons or |. Default: none.
	Groups string `json:"groups,omitempty"`

	// The users, and the groups as @group, who see and manage all
	// organizations. * is everyone with a name. Default: none.
	Admins []string `json:"admins,omitempty"`

	// The users and @groups who see and manage an organization, by its name.
	Members map[string][]string `json:"members,omitempty"`

	// The users and @groups who see an organization and change nothing, by its
	// name.
	Viewers map[string][]string `json:"viewers,omitempty"`

	app       *app.App
	dashboard *dashboard.Dashboard
}

func (Dashboard) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_dashboard", New: func() caddy.Module { return new(Dashboard) }}
}

func (d *Dashboard) Provision(ctx caddy.Context) (err error) {
	if d.User == "" {
		d.User = "{http.auth.user.id}"
	}
	if d.app, err = handlers.DocsApp(ctx); err != nil {
		return err
	}
	d.dashboard = dashboard.New(&dashboardServer{admin.API{App: d.app}, d.Sites}, d.app.Logins(), ctx.Slogger())
	return nil
}

// NamedSites returns the sites that the app docs must have when it starts.
func (d *Dashboard) NamedSites() []string { return d.Sites }

// OpenTo returns who may use the dashboard besides those who sign in to it.
func (d *Dashboard) OpenTo() string {
	switch {
	case slices.Contains(d.Admins, "*"):
		return "everyone signed in by the login in front of it, as administrators"
	case len(d.Admins)+len(d.Members)+len(d.Viewers) == 0:
		return "nobody signed in by another login; to admit users, write admin, member or viewer"
	}
	return "the users and groups of its rules"
}

// maxRules bounds the users and groups of one list.
const maxRules = 10_000

func (d *Dashboard) Validate() error {
	c := new(options.Checker)
	c.Sites(d.Sites)
	for field, placeholder := range map[string]string{"user": d.User, "groups": d.Groups} {
		if placeholder != "" && !strings.Contains(placeholder, "{") {
			c.Fail(field, "%q must be a placeholder, like {http.auth.user.id}: a fixed text would be the same for everyone", placeholder)
		}
	}
	d.checkRules(c, "admins", d.Admins)
	for field, rules := range map[string]map[string][]string{"members": d.Members, "viewers": d.Viewers} {
		for _, organization := range slices.Sorted(maps.Keys(rules)) {
			c.Name(field, organization)
			if len(rules[organization]) == 0 {
				c.Fail(field, "organization %s has no user; name users or @groups", organization)
			}
			d.checkRules(c, field, rules[organization])
		}
	}
	return c.Err()
}

func (d *Dashboard) checkRules(c *options.Checker, field string, names []string) {
	if len(names) > maxRules {
		c.Fail(field, "has %d users; the maximum is %d; name a @group", len(names), maxRules)
	}
	for _, name := range names {
		switch {
		case strings.TrimSpace(name) != name || name == "" || name == "@":
			c.Fail(field, "%q must be the name of a user, or of a group as @group, without spaces around it", name)
		case strings.Contains(name, "{"):
			c.Fail(field, "%q must be a name; the placeholder for the visitor belongs to user", name)
		case strings.HasPrefix(name, "@") && d.Groups == "":
			c.Fail(field, "%q is a group, but groups has no placeholder for a user's groups", name)
		}
	}
}

func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if !d.app.AwaitStart(r.Context()) {
		w.Header().Set("Retry-After", "5")
		return caddyhttp.Error(http.StatusServiceUnavailable, errors.New("the docs app has not started"))
	}
	d.dashboard.Serve(w, r, stripped(r), d.visitor(r))
	return nil
}

// stripped is the path that handle_path or uri strip_prefix took from a
// request.
func stripped(r *http.Request) string {
	base, ok := strings.CutSuffix(handlers.OriginalURL(r).Path, r.URL.Path)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(base, "/")
}

// visitor returns who sends a request, nil for a stranger. The keys of our own
// API are public: they identify nobody here.
func (d *Dashboard) visitor(r *http.Request) *dashboard.Visitor {
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if _, isKey := handlers.IdentityOf(r); !ok || isKey {
		return nil
	}
	name := strings.TrimSpace(repl.ReplaceAll(d.User, ""))
	if name == "" {
		return nil
	}
	names := map[string]bool{name: !strings.HasPrefix(name, "@"), "*": true}
	for group := range strings.FieldsFuncSeq(repl.ReplaceAll(d.Groups, ""), func(r rune) bool { return strings.ContainsRune(",;|", r) }) {
		if group = strings.TrimSpace(group); group != "" {
			names["@"+group] = true
		}
	}
	named := func(rules []string) bool {
		return slices.ContainsFunc(rules, func(rule string) bool { return names[rule] })
	}
	v := &dashboard.Visitor{
		Name:  name,
		Admin: named(d.Admins),
		Roles: make(map[string]dashboard.Role),
	}
	for organization, rules := range d.Viewers {
		if named(rules) {
			v.Roles[organization] = dashboard.Viewer
		}
	}
	for organization, rules := range d.Members {
		if named(rules) {
			v.Roles[organization] = dashboard.Member
		}
	}
	return v
}
