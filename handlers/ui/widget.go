// Package ui has the handlers of what people see: the widget in pages, the page
// that works without JavaScript, and the dashboard.
package ui

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/widget"
)

// Widget is http.handlers.docs_widget. It serves the search-and-ask box for
// readers: GET /v1/widget/{domain}.js, a script with the site's settings in it,
// and the chunks that the script loads at first use. With inject, it puts the
// tag of that script into the HTML pages of the handlers behind it.
//
// The script is public and the same for every page, so any origin may load it.
// What it asks for needs a token, which only the site's own pages get.
type Widget struct {
	handlers.Route

	// Puts the script's tag into the HTML pages that the handlers behind this
	// one serve: that of the only site above, or without one that of the site
	// whose url has the request's host. Default: false.
	Inject bool `json:"inject,omitempty"`

	// What opens the box: a button at the "bottom-right" or "bottom-left", "none",
	// or the CSS selector of elements of the page. Default: the search button or
	// field of the site's generator, and on pages without one a button at the
	// bottom right.
	Position string `json:"position,omitempty"`

	// Set to "off" to keep the generator's own search, and a button for the box
	// beside it. Default: on.
	Replace string `json:"replace,omitempty"`

	// The color of buttons and marks: any CSS color. Default: that of the page's
	// links.
	Accent string `json:"accent,omitempty"`

	// "auto" (as the CSS property color-scheme of the page, and without it as the
	// reader's system), "light", "dark", or the attribute of the page's html or
	// body element that marks its dark mode, like [data-theme=dark]. Default: auto.
	Theme string `json:"theme,omitempty"`

	// The keys that open the box, like mod+k, where mod is Ctrl, or Command on
	// a Mac; several with commas; "off" for none. Default: mod+k.
	Shortcut string `json:"shortcut,omitempty"`

	// The text in the empty search field, at most 200 characters. Default: in
	// the page's language.
	Placeholder string `json:"placeholder,omitempty"`

	// The heading of the box, at most 200 characters. Default: the site's name.
	Title string `json:"title,omitempty"`

	// What the box offers: search, ask, feedback (on answers), page_feedback
	// (on pages), page_menu (below the heading of a page). Default: search, ask and feedback.
	Features []string `json:"features,omitempty"`

	// The texts of the box by language: the name of a JSON file with the texts
	// to replace. Default: none.
	Strings map[string]string `json:"strings,omitempty"`

	// How long the reader's browser keeps a conversation: "session", "local"
	// (until the reader deletes it) or "off". Default: session.
	Conversations string `json:"conversations,omitempty"`

	// Up to five questions to begin with. Default: the site's starter
	// questions.
	Starters []string `json:"starters,omitempty"`

	// Set to "text" to put questions and queries into the events that the box
	// sends to the page. Default: plain, without them.
	Events string `json:"events,omitempty"`

	strings map[string]map[string]string // texts by language and place

	assets *sync.Map // what was served: *asset by site and chunk
}

const (
	maxStringsFile = 64 << 10 // bytes
	maxLabel       = 200      // characters
	maxStarters    = 5
)

func (*Widget) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_widget", New: func() caddy.Module { return new(Widget) }}
}

// Provision finds the app and reads the files of strings.
func (wd *Widget) Provision(ctx caddy.Context) (err error) {
	wd.assets = new(sync.Map)
	wd.strings = make(map[string]map[string]string)
	for name, file := range wd.Strings {
		if wd.strings[name], err = readStrings(file); err != nil {
			return &options.FieldError{Field: "strings", Problem: fmt.Sprintf("%s: %v", name, err)}
		}
	}
	return wd.Route.Provision(ctx)
}

// readStrings reads a file of texts, as the script takes them.
func readStrings(file string) (texts map[string]string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxStringsFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxStringsFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxStringsFile)
	}
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, fmt.Errorf(`%s must be a JSON object of texts, like {"open": "Search the docs"}: %w`, file, err)
	}
	if texts, err = widget.Texts(texts); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return texts, nil
}

// formOf are the forms of values in the tag. quoted is what a selector has in quotes
// or after a backslash, brackets the innermost pair, and selector a list with a
// class for each such pair. corner is no element, but a place that the button can't
// have.
var formOf = struct{ color, quoted, brackets, selector, corner, theme, shortcut *regexp.Regexp }{
	color:    regexp.MustCompile(`^(#[0-9A-Fa-f]{3,8}|[A-Za-z]+|[a-z-]+\([-+.,%/ 0-9A-Za-z]+\))$`),
	quoted:   regexp.MustCompile(`\\.|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'`),
	brackets: regexp.MustCompile(`\([^\\"'()[\]{}<;]+\)|\[[^\\"'()[\]{}<;]+\]`),
	selector: regexp.MustCompile(strings.ReplaceAll(`^P(\s*[\s,>+~]\s*P)*$`, "P", `([*]|(#|\.|::?)?-{0,2}[\pL_][-\w\pL]*)+`)),
	corner:   regexp.MustCompile(`^((top|bottom|left|right|center)[-\w]*|off)$`),
	theme:    regexp.MustCompile(`^(|auto|light|dark|\[[A-Za-z_:][-\w:.]*([~|^$*]?=("[^"<>]*"|'[^'<>]*'|[-\w]+))?\]|\.[-\w]+)$`),
	shortcut: regexp.MustCompile(`^((mod|ctrl|alt|shift|meta)\+)*\S$`),
}

func (wd *Widget) Validate() error {
	c := new(options.Checker)
	c.Sites(wd.Sites)
	if wd.Inject && len(wd.Sites) > 1 {
		c.Fail("inject", "takes at most one site, the one whose box the pages get; %d are named", len(wd.Sites))
	}
	if formOf.corner.MatchString(wd.Position) || wd.Position != "" && !isSelector(wd.Position) {
		c.OneOf("position", wd.Position, "bottom-right", "bottom-left", "none", "a CSS selector like #search")
	}
	c.OneOf("replace", wd.Replace, "on", "off")
	if a := wd.Accent; a != "" && (len(a) > 100 || !formOf.color.MatchString(a)) {
		c.Fail("accent", "%q must be a CSS color like #0a7, teal or rgb(0 120 90)", a)
	}
	if t := wd.Theme; len(t) > 200 || !formOf.theme.MatchString(t) {
		c.Fail("theme", "%q must be auto, light, dark, or the attribute that marks dark pages, like [data-theme=dark]", t)
	}
	if wd.Shortcut != "off" {
		for _, keys := range strings.FieldsFunc(wd.Shortcut, func(r rune) bool { return r == ',' || r == ' ' }) {
			if !formOf.shortcut.MatchString(strings.ToLower(keys)) {
				c.Fail("shortcut", "%q must be keys like mod+k or ctrl+shift+f, or off", keys)
			}
		}
	}
	c.Text("placeholder", wd.Placeholder, maxLabel)
	c.Text("title", wd.Title, maxLabel)
	for i, f := range wd.Features {
		if slices.Contains(wd.Features[:i], f) {
			c.Fail("features", "%s is named twice", f)
		}
		c.OneOf("features", cmp.Or(f, " "), "search", "ask", "feedback", "page_feedback", "page_menu")
	}
	for name := range wd.Strings {
		if language.Of(name) == "" {
			c.Fail("strings", "%q must be a language like de or fr", name)
		}
	}
	c.OneOf("conversations", wd.Conversations, "session", "local", "off")
	c.Questions("starters", wd.Starters, maxStarters)
	c.OneOf("events", wd.Events, "plain", "text")
	return c.Err()
}

// isSelector reports whether a text looks like a CSS selector of at most 200
// bytes: its quotes and brackets are closed. The names in it are not looked up.
func isSelector(s string) bool {
	if len(s) > 200 {
		return false
	}
	s = formOf.quoted.ReplaceAllString(s, "x")
	for formOf.brackets.MatchString(s) {
		s = formOf.brackets.ReplaceAllString(s, ".x")
	}
	return formOf.selector.MatchString(s)
}

func (wd *Widget) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if wd.Inject {
		return wd.inject(w, r, next)
	}
	name, chunk, ok := handlers.SiteOf(r, handlers.APIWidget)
	if !ok {
		return next.ServeHTTP(w, r)
	}
	script, err := wd.script(w, r, name, chunk)
	if err != nil {
		return err
	}
	script.serve(w, r)
	return nil
}

// script returns what an endpoint serves.
func (wd *Widget) script(w http.ResponseWriter, r *http.Request, name, chunk string) (*asset, error) {
	var config []byte
	if chunk == "" {
		site, err := wd.Open(w, r, name)
		if err != nil {
			return nil, err
		}
		if config, err = wd.config(site); err != nil {
			return nil, err
		}
	}
	key := name + "/" + chunk
	if known, ok := wd.assets.Load(key); ok && bytes.Equal(known.(*asset).config, config) {
		return known.(*asset), nil
	}
	body, ok := widget.Chunk(chunk)
	if !ok {
		body = widget.Loader(config)
	}
	a := newAsset(body, chunk != "")
	a.config = config
	wd.assets.Store(key, a)
	return a, nil
}

// config is the configuration in the script; see Config in widget/src/types.ts.
// It has the settings of the handler, and what the site adds to them.
func (wd *Widget) config(site *site.Site) ([]byte, error) {
	settings := *wd
	settings.Sites = nil
	settings.Title = cmp.Or(wd.Title, site.Config.Name)
	if len(settings.Starters) == 0 {
		settings.Starters = site.Config.StarterQuestions
	}
	return json.Marshal(struct {
		Widget
		Site    string                       `json:"site"`
		Strings map[string]map[string]string `json:"strings,omitempty"` // in place of the files
		Support string                       `json:"support,omitempty"`
		MCP     bool                         `json:"mcp,omitempty"`
	}{
		settings, site.Name, widget.Label(wd.strings, site.Pages().Languages()), supportLink(site.Config.SupportURL),
		wd.App().MCP(site.Name) != "" && slices.Contains(wd.Features, "page_menu"),
	})
}

// supportLink returns a support_url with a place for the conversation's ID.
func supportLink(support string) string {
	u, err := url.Parse(support)
	if support == "" || err != nil {
		return support
	}
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&thread={t}", "&")
	return u.String()
}

// asset is a script in memory, compressed once.
type asset struct {
	body      []byte
	encoded   map[string][]byte // body by Content-Encoding
	hash      string
	immutable bool
	config    []byte // of the site; nil for a chunk
}

func newAsset(body []byte, immutable bool) *asset {
	sum := sha256.Sum256(body)
	a := &asset{body: body, encoded: make(map[string][]byte), hash: hex.EncodeToString(sum[:8]), immutable: immutable}
	quality := 9
	if immutable {
		quality = brotli.BestCompression // takes 60 ms, so it is not for the script of each site
	}
	compress := func(encoding string, writer func(io.Writer) io.WriteCloser) {
		var b bytes.Buffer
		w := writer(&b)
		_, _ = w.Write(body)
		_ = w.Close() // writes to memory don't fail
		a.encoded[encoding] = b.Bytes()
	}
	compress("br", func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, quality) })
	compress("gzip", func(w io.Writer) io.WriteCloser {
		z, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // the level is valid
		return z
	})
	return a
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	// The script is the same for all origins, unlike what the guard set.
	h.Del("Vary")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Del("Access-Control-Expose-Headers")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "public, max-age=300")
	if a.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := a.body
	h.Set("ETag", `"`+a.hash+`"`)
	for _, encoding := range encode.AcceptedEncodings(r, []string{"br", "gzip"}) {
		if a.encoded[encoding] != nil {
			body = a.encoded[encoding]
			h.Set("ETag", `"`+a.hash+"."+encoding+`"`)
			h.Set("Content-Encoding", encoding)
			break
		}
	}
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+a.hash) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) //nolint:gosec // our own script; an error means that the client is gone
	}
}

// Interface guards. What Caddy provisions and validates by an interface, it
// silently leaves alone without it.
var (
	_ = []caddyhttp.MiddlewareHandler{(*Ask)(nil), (*Dashboard)(nil), (*NotFound)(nil), (*Widget)(nil)}
	_ = []caddy.Provisioner{(*Ask)(nil), (*Dashboard)(nil), (*NotFound)(nil), (*Widget)(nil)}
	_ = []caddy.Validator{(*Ask)(nil), (*Dashboard)(nil), (*NotFound)(nil), (*Widget)(nil)}
)
