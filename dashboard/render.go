package dashboard

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/caddy-docs/caddy-docs/short"
)

// own is the path of what belongs to no site: no organization has this name.
const own = "/-/"

// Paths that belong to no site.
const (
	LoginPath  = own + "login"
	logoutPath = own + "logout"
)

//go:embed templates assets
var files embed.FS

// assets are the types of the files that pages load, version a hash of them all:
// their addresses change with their contents.
var (
	assets = map[string]string{
		"dashboard.css": "text/css; charset=utf-8", "dashboard.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	}
	version string
)

// pages are the templates of the pages, by name.
var pages = make(map[string]*template.Template)

func init() {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(assets)) {
		content, _ := files.ReadFile("assets/" + name) // is embedded
		sum.Write(content)
	}
	version = hex.EncodeToString(sum.Sum(nil)[:6])
	layout := template.Must(template.New("layout.html").Funcs(functions).ParseFS(files, "templates/layout.html", "templates/parts.html"))
	entries, _ := files.ReadDir("templates")
	for _, e := range entries {
		if name := e.Name(); name != "layout.html" && name != "parts.html" {
			t := template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+name))
			pages[strings.TrimSuffix(name, ".html")] = t
		}
	}
}

// policy allows what the pages need: their own stylesheet, script and forms.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func setHeader(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
}

// asset answers with a file of this version.
func (q *request) asset(path string) error {
	name, ok := strings.CutPrefix(path, version+"/")
	if !ok || assets[name] == "" {
		return errNotFound
	}
	content, _ := files.ReadFile("assets/" + name) // is embedded
	q.w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	q.write(http.StatusOK, assets[name], content)
	return nil
}

// view is what templates get.
type view struct {
	*request
	Title string
	Data  any // the page's own
}

// render writes a page. Nothing is sent if its template fails.
func (q *request) render(status int, name, title string, data any) error {
	var b bytes.Buffer
	if err := pages[name].Execute(&b, &view{q, title, data}); err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	q.write(status, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// show renders the page of the navigation that the route is.
func (q *request) show(status int, data any) error {
	for _, s := range sections {
		for _, p := range s.Pages {
			if p.Path == q.page {
				return q.render(status, cmp.Or(p.Path, "overview"), p.Title, data)
			}
		}
	}
	return errNotFound
}

func (q *request) write(status int, contentType string, body []byte) {
	q.w.Header().Set("Content-Type", contentType)
	q.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	q.w.WriteHeader(status)
	if q.Method != http.MethodHead {
		_, _ = q.w.Write(body) // an error means that the visitor is gone
	}
}

// To is the address of a path of the dashboard.
func (v *view) To(path string) string { return v.base + path }

// At is the address of a page of the site.
func (v *view) At(parts ...string) string { return v.base + v.at(strings.Join(parts, "/")) }

// Of is the address of a site.
func (v *view) Of(s Site) string { return v.base + "/" + s.Organization + "/" + s.Name }

// Asset is the address of a file.
func (v *view) Asset(name string) string { return v.base + own + "assets/" + version + "/" + name }

// May reports whether the visitor has a role at the site.
func (v *view) May(role string) bool {
	if v.Site == nil {
		return v.Visitor != nil && v.Visitor.Admin
	}
	return v.Visitor.In(v.Site.Organization) >= map[string]Role{"member": Member, "admin": Admin}[role]
}

// Role is the visitor's role at the site.
func (v *view) Role() string {
	if v.Site == nil {
		return ""
	}
	return v.Visitor.In(v.Site.Organization).String()
}

// Organizations reports whether the visitor sees sites of several.
func (v *view) Organizations() bool {
	return slices.ContainsFunc(v.Sites, func(s Site) bool { return s.Organization != v.Sites[0].Organization })
}

// Page is the page in the navigation that this one belongs to.
func (v *view) Page() string { return v.page }

// functions are those of templates.
var functions = template.FuncMap{
	"count":    thousands,
	"short":    func(n int, s string) string { return short.Excerpt(s, n) },
	"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"utc":      func(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04") + " UTC" },
	"add":      func(a, b int) int { return a + b },
	"join":     strings.Join,
	"plural":   plural,
	"expiries": func() []string { return expiries },
	"expiry":   strings.NewReplacer("never", "Never", "d", " days").Replace,
	"share": func(s *float64) string {
		if s == nil {
			return "–"
		}
		return percent(*s)
	},
	"percent": percent,
	"decimal": func(n *float64) string {
		if n == nil {
			return "–"
		}
		return strconv.FormatFloat(*n, 'f', 1, 64)
	},
	"mood": func(state string) string {
		switch state {
		case "yes", "up", "done", "public":
			return "good"
		case "partly", "locked":
			return "warn"
		case "no", "down", "failed", "not served":
			return "bad"
		}
		return ""
	},
	"seconds":  func(ms int64) string { return lasted(time.Duration(ms) * time.Millisecond) },
	"lasted":   lasted,
	"periods":  func() []int { return periods },
	"sections": func() any { return sections },
	"states":   func() []string { return []string{"new", "done", "dismissed"} },
	"form": func(v *view, id, action string, state string, note string) any { // of the state and the note of an entry
		return struct {
			V                       *view
			ID, Action, State, Note string
		}{v, id, action, state, note}
	},
	// ending is of a list: more of it and its files, or why it is empty and what to do
	// then: "begin" with the box, or see the whole list at a path.
	"ending": func(v *view, title, text, then string) any {
		return struct {
			V                 *view
			Title, Text, Then string
		}{v, title, text, then}
	},
	"icon": icon,
}

// thousands writes a whole number with commas.
func thousands(n any) string {
	number, _ := strconv.ParseInt(fmt.Sprint(n), 10, 64)
	return humanize.Comma(number)
}

func plural(n any, one, many string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// icons are drawn in a square of 24.
var icons = map[string]string{
	"home":     "M4 11.5 12 5l8 6.5V20h-5.5v-5h-5v5H4z",
	"key":      "M14.5 9.5a4.5 4.5 0 1 0-4 4.47L12 12.5h2V11h1.5zM13 13l7 7M17 17l2-2",
	"file":     "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
	"gone":     "M6 3h8l4 4v14H6zM14 3v4h4M9.5 11.5l5 5M14.5 11.5l-5 5",
	"search":   "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
	"question": "M4 5h16v11H12l-4 4v-4H4zM10 9a2 2 0 1 1 2.6 1.9c-.4.2-.6.4-.6.9M12 13.6v.1",
	"chat":     "M4 5h16v11H12l-4 4v-4H4zM8 9h8M8 12h5",
	"thumb":    "M7 10v10H4V10zM7 10l4-7c1.5 0 2.4 1 2.2 2.4L12.7 9H19c1 0 1.6.9 1.4 1.8l-1.6 7.5c-.2 1-1 1.7-2 1.7H7",
	"play":     "M7 4.5v15l12-7.5z",
	"list":     "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
	"user":     "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 20c1-4 4-6 8-6s7 2 8 6",
	"check":    "M5 12.5l4.5 4.5L19 7.5",
	"alert":    "M12 4l9 16H3zM12 10v4M12 17v.01",
	"copy":     "M9 9h11v11H9zM5 15H4V4h11v1",
	"switch":   "M8 10l4-4 4 4M8 14l4 4 4-4",
}

// icon draws an icon that says nothing to those who don't see it.
func icon(name string) template.HTML {
	return template.HTML(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="` + icons[name] + `"/></svg>`) //nolint:gosec // constants
}

func lasted(d time.Duration) string {
	if d < 100*time.Millisecond {
		return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}
