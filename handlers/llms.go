package handlers

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/fallback"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// LLMs is http.handlers.docs_llms. On the host of a site it serves what
// programs read instead of the site's HTML:
//
//	<page>.md        the page as Markdown; also the page itself for clients
//	                 that prefer text/markdown to text/html
//	<page>.md?ask=…  what the documentation says about a question
//	/llms.txt        the list of the public pages, with its parts /llms/*.txt
//	/llms-full.txt   the text of the public pages of the site's language and
//	                 newest version, with the others in /llms-full/*.txt
//	/sitemap.xml     the URLs of all public pages
//
// Where the site answers 404 to a program, one that prefers Markdown or asks for
// a path with .md, it gets the nearest public pages as Markdown, with that status.
//
// The site's own files win: each of these is served only where the site would
// answer 404, or with an HTML page for a path at which no file is. A page is
// served as Markdown only to a request that the site's own routes answer with
// 200, and lists only to clients that may open the front page. Responses to
// requests for pages get a Link to their Markdown and Vary: Accept. All other
// requests pass.
type LLMs struct {
	Route

	// A site that this route defines, as the directive docs does.
	Define *options.Definition `json:"define,omitempty"`

	// What the operator allows others to do with the pages, as the values of the
	// header Content-Signal: "search=yes", "ai-train=no". Default: no header.
	ContentSignal []string `json:"content_signal,omitempty"`

	log    *zap.Logger
	asks   *ClientLimit
	encode *encode.Encode
}

// asksPerHour is how many questions each client may ask of pages.
const asksPerHour = 600

func (LLMs) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_llms", New: func() caddy.Module { return new(LLMs) }}
}

// Provision finds the app and checks the site that this route defines.
func (l *LLMs) Provision(ctx caddy.Context) error {
	l.log = ctx.Logger()
	if err := l.Route.Provision(ctx); err != nil {
		return err
	}
	l.asks = &ClientLimit{Zone: "docs_llms_ask", Limit: Limit{asksPerHour, caddy.Duration(time.Hour)}}
	l.encode = newEncode("zstd", "gzip") // a site without encode would send megabytes as they are
	return errors.Join(l.asks.Provision(ctx), l.encode.Provision(ctx), l.Define.Provision(ctx))
}

// newEncode returns a handler that compresses responses with the first of the
// encodings that the client accepts. The caller provisions it.
func newEncode(encodings ...string) *encode.Encode {
	e := &encode.Encode{EncodingsRaw: caddy.ModuleMap{}, Prefer: encodings}
	for _, name := range encodings {
		e.EncodingsRaw[name] = nil
	}
	return e
}

func (l *LLMs) Cleanup() error {
	return l.asks.Cleanup()
}

// DefinedSite returns the site that this route defines, nil for none.
func (l *LLMs) DefinedSite() *options.Definition { return l.Define }

func (l *LLMs) Validate() error {
	c := new(options.Checker)
	c.Sites(l.Sites)
	for _, signal := range l.ContentSignal {
		if !contentSignal.MatchString(signal) {
			c.Fail("content_signal", "%q must be like search=yes or ai-train=no", signal)
		}
	}
	c.Add(l.Define.Validate())
	return c.Err()
}

// contentSignal is a value of the header Content-Signal.
var contentSignal = regexp.MustCompile(`^[a-z]+(-[a-z]+)*=(yes|no)$`)

func (l *LLMs) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if reach.IsInside(r) || r.Method != http.MethodGet && r.Method != http.MethodHead || !l.app.AwaitStart(r.Context()) {
		return next.ServeHTTP(w, r)
	}
	live, path, release := Hold(l.app, l.Sites, r)
	if live == nil {
		return next.ServeHTTP(w, r)
	}
	defer release()
	ctx := AsReader(r)
	if !agents.WantsMarkdown(r) && !strings.HasSuffix(path, ".md") {
		return l.serve(ctx, w, r, live, path, next)
	}
	// The same for a page that this client can't open, if its lock responds with 404.
	return fallback.Unless(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		return l.serve(ctx, w, r, live, path, next)
	}), func() error {
		l.missing(w, r, live.Pages().MissingMarkdown(ctx, BaseURL(live, r), path))
		return nil
	}, func(status int, _ http.Header) bool {
		return status == http.StatusNotFound && live.Known() && live.Reach.Refuses(ctx) == 0
	})
}

// missing responds to a program that asked for a page that isn't there.
func (l *LLMs) missing(w http.ResponseWriter, r *http.Request, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/markdown; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache") // shared caches would send it to browsers, too
	h.Add("Vary", "Accept")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, text) //nolint:gosec // Markdown, with nosniff; an error means that the client is gone
	}
}

// serve is ServeHTTP for a path of a site.
func (l *LLMs) serve(ctx context.Context, w http.ResponseWriter, r *http.Request, live *site.Site, path string, next caddyhttp.Handler) error {
	hasFile := func() bool { return live.HasFile(path) }
	if serve := l.file(live, strings.TrimPrefix(path, live.Prefix+"/")); serve != nil {
		return fallback.UnlessFile(w, r, next, hasFile, func() error {
			if status := live.Reach.Refuses(ctx); status != 0 {
				return caddyhttp.Error(status, nil)
			}
			l.public(w.Header())
			if !live.Known() { // clients would take an empty list for the whole site
				w.Header().Set("Retry-After", "2")
				http.Error(w, "Not all pages of the site have been checked yet. Try again in a few seconds.", http.StatusServiceUnavailable)
				return nil // an error would be logged
			}
			return l.encode.ServeHTTP(w, r, caddyhttp.HandlerFunc(serve))
		})
	}
	if name, ok := strings.CutSuffix(path, ".md"); ok {
		d := live.Pages().AtMarkdown(path)
		if !live.CanOpen(ctx, name, d) {
			reach.Keep(r, forMarkdownKey, true)
			return next.ServeHTTP(w, r)
		}
		reach.Keep(r, markdownKey, true)
		return fallback.UnlessFile(w, r, next, hasFile, func() error { return l.page(w, r, live, d, false) })
	}
	d := live.Pages().At(path)
	if d == nil {
		return next.ServeHTTP(w, r)
	}
	asked := agents.WantsMarkdown(r)
	if !live.Reach.MayKnow(ctx, d) && !(asked && live.CanOpen(ctx, path, d)) { // a missing page may be answered alike
		return fallback.WhenServed(w, r, next, nil, func(http.Header) { live.Reach.Saw(ctx, d) })
	}
	base := BaseURL(live, r)
	markdown := site.Absolute(base, live.MarkdownURL(d.URL))
	all := html.EscapeString(base + "/llms.txt")
	reach.Keep(r, linksKey, [2]string{
		`<link rel="alternate" type="text/markdown" href="` + html.EscapeString(markdown) + `"><link rel="llms-txt" href="` + all + `">`,
		`<docs-agents hidden><a href="` + all + `">For AI agents: the list of all pages, as Markdown</a></docs-agents>`,
	})
	negotiated := func() error { return l.page(w, r, live, d, true) }
	if !asked {
		negotiated = nil
	}
	return fallback.WhenServed(w, r, next, negotiated, func(h http.Header) {
		h.Add("Vary", "Accept")
		if negotiated == nil {
			h.Add("Link", "<"+markdown+`>; rel="alternate"; type="text/markdown"`)
			h.Add("Link", "<"+base+`/llms.txt>; rel="llms-txt"`)
			l.signal(h)
			live.Reach.Saw(ctx, d)
		}
	})
}

// linksKey is what a request for a page keeps the links under that lead to its
// Markdown and to llms.txt.
const linksKey = "docs_links"

// LinksOf returns elements for the head of a page and one for the beginning of
// its body, "" if nothing serves what they link. Programs that turn a page into
// text leave its head out, and see the one in the body; people don't. No style
// of a site is for an element of this name.
func LinksOf(r *http.Request) (head, body string) {
	links, _ := reach.Kept(r, linksKey).([2]string)
	return links[0], links[1]
}

// markdownKey is what a request keeps for which there is Markdown if the site has
// nothing.
const markdownKey = "docs_markdown"

// HasResponse reports whether something else than the site responds to a request
// for which the site has nothing: a page is Markdown there, or the path is one of
// the API.
func HasResponse(r *http.Request) bool { return reach.Kept(r, markdownKey) != nil || likeAPI(r) }

// forMarkdownKey is what a request for the Markdown of a page keeps that isn't there.
const forMarkdownKey = "docs_for_markdown"

// ForMarkdown reports whether a request is for the Markdown of a page that isn't
// there, where that of others is.
func ForMarkdown(r *http.Request) bool { return reach.Kept(r, forMarkdownKey) != nil }

// siteAt returns the site that a request is for, and the path in it: of the
// sites of a route the one with the longest path in its URL.
func siteAt(a *app.App, sites []string, r *http.Request) (live *site.Site, path string) {
	served := a.Served(sites, r.Host)
	for _, p := range []string{OriginalURL(r).Path, r.URL.Path} {
		for _, s := range served {
			if strings.HasPrefix(p+"/", s.Prefix+"/") && (live == nil || len(s.Prefix) > len(live.Prefix)) {
				live, path = s, p
			}
		}
		if live != nil {
			break
		}
	}
	return live, path
}

// Hold is siteAt with the site held until release, nil for one that ends.
func Hold(a *app.App, sites []string, r *http.Request) (live *site.Site, path string, release func()) {
	if live, path = siteAt(a, sites, r); live != nil {
		var ok bool
		if release, ok = live.Acquire(); !ok {
			live = nil
		}
	}
	return live, path, release
}

// BaseURL is the site's URL without a slash at its end: the configured one,
// else the host of the request.
func BaseURL(live *site.Site, r *http.Request) string {
	if live.Config.URL != "" {
		return live.Config.URL
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: r.Host}).String()
}

// file returns what serves a file of a site, nil for other files.
func (l *LLMs) file(live *site.Site, name string) func(http.ResponseWriter, *http.Request) error {
	switch {
	case name == "llms.txt", strings.HasPrefix(name, "llms/") && strings.HasSuffix(name, ".txt"):
		return func(w http.ResponseWriter, r *http.Request) error {
			files, _ := live.Pages().LLMs(BaseURL(live, r))
			text, ok := files[name]
			if !ok {
				return caddyhttp.Error(http.StatusNotFound, nil)
			}
			serveText(w, r, "text/plain; charset=utf-8", []byte(text))
			return nil
		}
	case name == "llms-full.txt", strings.HasPrefix(name, "llms-full/") && strings.HasSuffix(name, ".txt"):
		return func(w http.ResponseWriter, r *http.Request) error { return l.full(w, r, live, name) }
	case name == "sitemap.xml":
		return func(w http.ResponseWriter, r *http.Request) error {
			serveText(w, r, cmp.Or(w.Header().Get("Content-Type"), "application/xml"), live.Pages().Sitemap(BaseURL(live, r)))
			return nil
		}
	}
	return nil
}

// serveText serves a text that everyone may read and keep, if they ask whether
// it is still the newest.
func serveText(w http.ResponseWriter, r *http.Request, contentType string, text []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "public, no-cache")
	}
	sum := sha256.Sum256(text)
	h.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// page serves a page as Markdown: at its own URL if negotiated, else at the
// URL with .md.
func (l *LLMs) page(w http.ResponseWriter, r *http.Request, live *site.Site, d *retrieval.Document, negotiated bool) error {
	base := BaseURL(live, r)
	if question := r.URL.Query().Get("ask"); question != "" && !negotiated {
		return l.answer(w, r, live, base, d, question)
	}
	md, err := live.Index.Markdown(d, base, true)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("a page can't be served as Markdown", zap.String("site", live.Name), zap.String("page", d.File), zap.Error(err))
		}
		return caddyhttp.Error(http.StatusNotFound, nil)
	}
	h, public := w.Header(), live.Reach.View().IsPublic(d)
	if public {
		l.public(h)
	}
	if negotiated || !public { // shared caches often ignore Vary: Accept
		h.Set("Cache-Control", "private, no-cache")
	}
	if !negotiated {
		h.Set("X-Robots-Tag", "noindex")
	}
	h.Add("Link", "<"+base+`/llms.txt>; rel="llms-txt"`)
	md = agents.LeadToList(md, base)
	h.Set("X-Markdown-Tokens", strconv.Itoa(agents.Tokens(string(md))))
	return l.encode.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		serveText(w, r, "text/markdown; charset=utf-8", md)
		return nil
	}))
}

// public lets pages of every origin read a response that everyone gets.
func (l *LLMs) public(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "ETag, Link, X-Markdown-Tokens")
	l.signal(h)
}

// signal says what the operator allows others to do with a response.
func (l *LLMs) signal(h http.Header) {
	if len(l.ContentSignal) > 0 {
		h.Set("Content-Signal", strings.Join(l.ContentSignal, ", "))
	}
}

// answer serves what the documentation says about a question, as this reader may
// see it. Pages of other origins can't read it: the reader's address may open
// more than a stranger's.
func (l *LLMs) answer(w http.ResponseWriter, r *http.Request, live *site.Site, base string, d *retrieval.Document, question string) error {
	if left, wait := l.asks.limiter.Take(client(r)); left < 0 {
		return overLimit(w, wait)
	}
	ctx := AsReader(r)
	text, err := agents.Answer(ctx, live.AgentDocs(base), question, site.Absolute(base, d.URL), base+"/llms.txt")
	if err != nil {
		return SearchFailed(w, err)
	}
	if reach.Incomplete(ctx) {
		w.Header().Set("X-Results-Incomplete", "true")
	}
	w.Header().Set("Cache-Control", "private, no-store")
	w.Header().Set("X-Robots-Tag", "noindex")
	serveText(w, r, "text/markdown; charset=utf-8", text)
	return nil
}

// full serves the public pages one after the other, without holding them.
func (l *LLMs) full(w http.ResponseWriter, r *http.Request, live *site.Site, name string) error {
	base := BaseURL(live, r)
	now := live.Pages()
	_, full := now.LLMs(base)
	pages, ok := full[name]
	if !ok {
		return caddyhttp.Error(http.StatusNotFound, nil)
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cache-Control", "public, no-cache")
	sum := sha256.Sum256([]byte(now.Tag + base + name))
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	h.Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	out := bufio.NewWriterSize(w, 32<<10) // what is written in small pieces is not compressed
	fmt.Fprintf(out, "# %s\n\n> %s. The list of them: %s/llms.txt\n\n", live.Title(), short.Count(len(pages), "page"), base)
	for _, i := range pages {
		md, err := live.Index.Markdown(now.Public[i], base, false)
		if err != nil {
			continue // it is gone, and so from the next list
		}
		if _, err := out.Write(append(md, '\n')); err != nil || r.Context().Err() != nil {
			return nil // the client is gone
		}
	}
	_ = out.Flush() // an error means that the client is gone
	return nil
}
