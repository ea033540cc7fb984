package ui

import (
	"cmp"
	"encoding/json"
	"errors"
	"html"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/fallback"
	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
)

// NotFound is http.handlers.docs_not_found. Where a site has no page, it sends
// readers to where the page is now, or names pages that they may want. The site is
// asked first, so that what is there is always served.
//
// With moved redirect, a page that is proved to be elsewhere gets 301, other methods
// than GET and HEAD 308. Everything else keeps the status 404: browsers get a page
// in the frame of the site's own, unless the operator's handle_errors has one, and
// clients that want JSON a list. Programs that want Markdown are the business of
// docs_llms. A page that the site itself sends with 404 stays as it is; with list,
// the list is put into it.
type NotFound struct {
	handlers.Route

	// A site that this route defines, as the directive docs does.
	Define *options.Definition `json:"define,omitempty"`

	// Puts the list into the site's own pages with the status 404, as inject puts
	// the widget's tag into all pages. Default: false.
	List bool `json:"list,omitempty"`

	// Shows a search field, which leads to docs_ask. Default: false.
	Ask bool `json:"ask,omitempty"`

	frames *frames
}

func (NotFound) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_not_found", New: func() caddy.Module { return new(NotFound) }}
}

func (n *NotFound) Provision(ctx caddy.Context) error {
	n.frames = &frames{known: make(map[string]knownFrame)}
	return errors.Join(n.Route.Provision(ctx), n.Define.Provision(ctx))
}

// DefinedSite returns the site that this route defines, nil for none.
func (n *NotFound) DefinedSite() *options.Definition { return n.Define }

func (n *NotFound) Validate() error {
	return errors.Join(n.Route.Validate(), n.Define.Validate())
}

func (n *NotFound) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if reach.IsInside(r) || !mayBePage(r.URL.Path) || handlers.HasResponse(r) || !n.App().AwaitStart(r.Context()) {
		return next.ServeHTTP(w, r)
	}
	live, at, release := handlers.Hold(n.App(), n.Sites, r)
	if live == nil {
		return next.ServeHTTP(w, r)
	}
	defer release()
	if live.Config.Moved == "off" {
		return next.ServeHTTP(w, r)
	}
	m := missing{NotFound: n, w: w, r: r, live: live, path: at}
	return fallback.NotFound(w, r, next, m.takes, m.serve)
}

// mayBePage reports whether a path may be that of a page, and not of another file.
func mayBePage(p string) bool {
	switch ext := path.Ext(p); ext {
	case "", ".html", ".htm", ".md", ".mdx":
		return true
	default: // of a folder like /v2.1
		return strings.Trim(ext, ".0123456789x") == ""
	}
}

// missing is a request for a page that isn't there.
type missing struct {
	*NotFound
	w    http.ResponseWriter
	r    *http.Request
	live *site.Site
	path string // of the site

	moved *site.Moved // nil until it is asked for
}

// movedTo returns where the page has moved.
func (m *missing) movedTo() *site.Moved {
	if m.moved == nil {
		page := m.path
		if handlers.ForMarkdown(m.r) {
			page = strings.TrimSuffix(page, ".md")
		}
		moved := m.live.Pages().Moved(handlers.AsReader(m.r), page)
		m.moved = &moved
	}
	return m.moved
}

// redirects reports whether the client is sent to where the page has moved. A page
// on another host is none that this one serves.
func (m *missing) redirects() bool {
	if m.live.Config.Moved != "redirect" || !m.movedTo().Proved {
		return false
	}
	u, err := url.Parse(m.movedTo().Pages[0].URL)
	if err != nil {
		return false
	}
	host := hosting.Hostname(u.Host)
	return host == "" || host == hosting.Hostname(m.r.Host) || host == m.live.Host
}

// reads reports whether the client reads a body, and prefers a type.
func (m *missing) reads(mediaType string) bool {
	html := strings.Contains(m.r.Header.Get("Accept"), "text/html")
	get := m.r.Method == http.MethodGet || m.r.Method == http.MethodHead
	return get && strings.Contains(m.r.Header.Get("Accept"), mediaType) && html == (mediaType == "text/html")
}

// repliedKey is what a request keeps to which a site's page for a missing one
// responds: it may be below another site.
const repliedKey = "docs_not_found"

// takes reports whether a 404 of the site is held back. All are counted.
func (m *missing) takes(h http.Header) bool {
	if reach.Kept(m.r, repliedKey) != nil {
		return false
	}
	if m.redirects() {
		return true
	}
	if !m.live.Known() {
		return false
	}
	m.count(http.StatusNotFound)
	plain := isPage(h.Get("Content-Type")) && h.Get("Content-Encoding") == ""
	return plain && (m.List && m.r.Method == http.MethodGet && m.reads("text/html") || m.reads("application/json"))
}

// count records the request, and what became of it.
func (m *missing) count(status int) {
	moved, to := m.movedTo(), ""
	if len(moved.Pages) > 0 {
		to = moved.Location()
	}
	m.live.Missed(m.r, moved.Former, insights.Missing{Path: m.path, Status: status, To: to})
}

// serve responds in place of the site, whose response own is, nil for none.
func (m *missing) serve(own *fallback.Response) bool {
	if m.live.Reach.Refuses(handlers.AsReader(m.r)) != 0 {
		return false
	}
	if m.redirects() {
		m.redirect()
		return true
	}
	if !m.live.Known() {
		return false
	}
	if own == nil {
		m.count(http.StatusNotFound)
	}
	moved := m.movedTo()
	texts, lang := handlers.Texts(m.r)
	p := &missingPage{
		T: texts, Lang: lang, Home: root(m.live) + "/", Moved: moved.Proved,
	}
	if m.Ask {
		p.Search = stripped(m.r) + "/v1/" + handlers.APIAsk + "/" + m.live.Name
		name := strings.TrimSuffix(strings.TrimPrefix(m.path, root(m.live)), path.Ext(m.path))
		p.Query = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
	}
	for _, d := range m.live.Pages().Instead(m.path, *moved) {
		p.Pages = append(p.Pages, missingLink{d.Title, d.URL})
	}
	switch {
	case m.reads("application/json"):
		m.writeJSON(p)
	case !m.reads("text/html"):
		return false
	case own != nil:
		return m.list(own, p)
	case handlesErrors(m.r):
		return false
	default:
		m.write("text/html; charset=utf-8", m.page(p))
	}
	return true
}

// redirect sends the client to where the page is. Browsers would keep a 301 for
// ever, also when a page comes back.
func (m *missing) redirect() {
	status := http.StatusMovedPermanently
	if m.r.Method != http.MethodGet && m.r.Method != http.MethodHead {
		status = http.StatusPermanentRedirect
	}
	m.count(status)
	to, fragment, found := strings.Cut(m.movedTo().Location(), "#")
	if handlers.ForMarkdown(m.r) {
		to, found = m.live.MarkdownURL(to), false
	}
	if query := m.r.URL.RawQuery; query != "" {
		to += "?" + query
	}
	if found {
		to += "#" + fragment
	}
	h := m.w.Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Location", to)
	m.w.WriteHeader(status)
}

// missingPage is what the page shows.
type missingPage struct {
	T             map[string]string
	Lang, Home    string
	Search, Query string // where to search, "" for nowhere, and the words of the path
	Moved         bool
	Pages         []missingLink
}

type missingLink struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// missingStyle is for the page in the frame of a site that has no form for these
// elements.
const missingStyle = `<style>.docs-missing {max-width: 44rem; margin: 0 auto; padding: 2rem 1rem}
.docs-missing h1 {font-size: 2rem; font-weight: 600; line-height: 1.3; margin: 0 0 1rem}
.docs-missing ul {list-style: disc; margin: 1rem 0; padding-left: 1.5rem}
.docs-missing a {text-decoration: underline}
.docs-missing input {border: 1px solid; padding: .3rem .6rem; margin: 1rem 0}</style>
`

// page returns the page in the site's frame, or in its own. A template would take
// most of the time of a miss.
func (m *missing) page(p *missingPage) []byte {
	title := html.EscapeString(p.T["notFound"])
	if f := m.frames.of(m.r.Context(), m.live); f != nil {
		return slices.Concat(f.toTitle, []byte(title), f.toContent, []byte(p.content(missingStyle)), f.end)
	}
	return []byte(`<!doctype html>
<html lang="` + p.Lang + `">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>` + title + `</title>
<style>` + askStyle + `</style>
</head>
<body>
<main>
` + p.content("") + `</main>
</body>
</html>
`)
}

// content is the part of the page that is not its frame.
func (p *missingPage) content(style string) string {
	search := ""
	if p.Search != "" {
		search = `<form method="get" action="` + html.EscapeString(p.Search) + `" role="search"><input type="search" name="q" value="` +
			html.EscapeString(p.Query) + `" aria-label="` + html.EscapeString(p.T["field"]) + `" maxlength="1000" required> <button>` +
			html.EscapeString(p.T["search"]) + "</button></form>\n"
	}
	return `<div class="docs-missing" lang="` + p.Lang + `" data-docs-missing>` + "\n" + style +
		"<h1>" + html.EscapeString(p.T["notFound"]) + "</h1>\n" + p.list() + search +
		`<p><a href="` + html.EscapeString(p.Home) + `">` + html.EscapeString(p.T["home"]) + "</a></p>\n</div>\n"
}

// list names the pages, if there are any.
func (p *missingPage) list() string {
	if len(p.Pages) == 0 {
		return ""
	}
	introduction := p.T["instead"]
	if p.Moved {
		introduction = p.T["movedTo"]
	}
	var b strings.Builder
	b.WriteString("<p>" + html.EscapeString(introduction) + "</p>\n<ul>")
	for _, l := range p.Pages {
		b.WriteString(`<li><a href="` + html.EscapeString(l.URL) + `">` + html.EscapeString(cmp.Or(l.Title, l.URL)) + "</a></li>")
	}
	b.WriteString("</ul>\n")
	return b.String()
}

// list sends the site's own page with the list in it.
func (m *missing) list(own *fallback.Response, p *missingPage) bool {
	nav := `<nav lang="` + p.Lang + `" aria-label="` + html.EscapeString(p.T["instead"]) + `" data-docs-missing>` + p.list() + `</nav>`
	page := withList(own.Body, []byte(nav))
	if page == nil || len(p.Pages) == 0 {
		return false
	}
	h := m.w.Header()
	maps.Copy(h, own.Header)
	for _, name := range []string{"Etag", "Last-Modified", "Accept-Ranges", "Content-Length"} {
		h.Del(name)
	}
	m.write(h.Get("Content-Type"), page)
	return true
}

// writeJSON sends the list for a program.
func (m *missing) writeJSON(p *missingPage) {
	base := handlers.BaseURL(m.live, m.r)
	for i := range p.Pages {
		p.Pages[i].URL = site.Absolute(base, p.Pages[i].URL)
	}
	body, _ := json.Marshal(struct { // strings and a boolean
		Error   string        `json:"error"`
		Code    string        `json:"code"`
		Message string        `json:"message"`
		Moved   bool          `json:"moved"`
		Pages   []missingLink `json:"pages"`
	}{"there is no page at this URL", "no_page", p.T["missing"], p.Moved, append([]missingLink{}, p.Pages...)})
	m.write("application/json", body)
}

// write sends a body with the status 404. It may name a page that only this reader
// can open.
func (m *missing) write(contentType string, body []byte) {
	reach.Keep(m.r, repliedKey, true)
	h := m.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Accept, Accept-Language")
	m.w.WriteHeader(http.StatusNotFound)
	if m.r.Method != http.MethodHead {
		_, _ = m.w.Write(body) //nolint:gosec // what is not ours is escaped; an error means that the client is gone
	}
}

// root is the path that a site's pages are below, also where its host is not known.
func root(live *site.Site) string {
	return cmp.Or(live.Prefix, strings.TrimSuffix(live.Reach.Prefix, "/"))
}

// handlesErrors reports whether the operator's handle_errors has something for a
// page that isn't there.
func handlesErrors(r *http.Request) bool {
	server, _ := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	repl, _ := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if server == nil || server.Errors == nil || repl == nil {
		return false
	}
	r = r.WithContext(r.Context())
	r.URL = handlers.OriginalURL(r)
	repl.Set("http.error.status_code", http.StatusNotFound)
	defer repl.Delete("http.error.status_code")
	return responds(r, server.Errors.Routes)
}

// responds reports whether one of the routes has a handler for a request.
func responds(r *http.Request, routes caddyhttp.RouteList) bool {
	for _, route := range routes {
		if matches, err := route.MatcherSets.AnyMatchWithError(r); err != nil || !matches {
			continue
		}
		for _, h := range route.Handlers {
			if sub, ok := h.(*caddyhttp.Subroute); !ok || responds(r, sub.Routes) {
				return true
			}
		}
	}
	return false
}
