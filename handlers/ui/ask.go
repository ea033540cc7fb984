package ui

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Ask is http.handlers.docs_ask: /v1/ask/{domain}?q=…, a page that searches the
// site and works without JavaScript. GET shows results; a button on the page
// sends POST, which also shows an answer, so that crawlers, which only follow
// links, cost nothing. It needs no key: limit it by docs_client_limit.
type Ask struct {
	handlers.Route

	// The most replies in progress at a time for a site, from 1 to 1,000,000,
	// together with those of docs_assistant where it has the same number.
	// Default: 5000.
	MaxConcurrentReplies int `json:"max_concurrent_replies,omitempty"`

	log *zap.Logger
}

const (
	askResults = 10
	maxAskBody = 16 << 10
)

func (Ask) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_ask", New: func() caddy.Module { return new(Ask) }}
}

func (a *Ask) Provision(ctx caddy.Context) error {
	a.log = ctx.Logger()
	a.MaxConcurrentReplies = cmp.Or(a.MaxConcurrentReplies, 5000)
	return a.Route.Provision(ctx)
}

func (a *Ask) Validate() error {
	c := new(options.Checker)
	c.Sites(a.Sites)
	c.Number("max_concurrent_replies", a.MaxConcurrentReplies, 1, 1_000_000)
	return c.Err()
}

func (a *Ask) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	name, _, ok := handlers.SiteOf(r, handlers.APIAsk)
	if !ok {
		return next.ServeHTTP(w, r)
	}
	live, err := a.Open(w, r, name)
	if err != nil {
		return err
	}
	query := r.URL.Query()
	if r.Method == http.MethodPost {
		if err := handlers.RefuseOthers(r, live); err != nil {
			return err
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxAskBody)
		clearDeadline := handlers.BodyDeadline(w, r, maxAskBody)
		err := r.ParseForm()
		clearDeadline()
		if err != nil {
			return handlers.Fail(http.StatusBadRequest, "bad_request", "the form is invalid; open this page again", err)
		}
		query = r.PostForm
	}
	release, ok := live.Acquire()
	if !ok {
		return handlers.SearchFailed(w, retrieval.ErrNotReady)
	}
	defer release()

	from := site.Asker{Site: live, Source: insights.Widget} // for readers without JavaScript
	texts, lang := handlers.Texts(r)
	p := &askPage{
		T: texts, Lang: lang,
		Site: live.Title(), Home: cmp.Or(live.Config.URL, "/"), Style: template.CSS(askStyle), //nolint:gosec // ours
		Query: strings.TrimSpace(query.Get("q")), Path: handlers.OriginalURL(r).EscapedPath(), Support: live.Config.SupportURL,
	}
	switch n := utf8.RuneCountInString(p.Query); {
	case n > encoding.MaxQuery:
		p.Query, p.Problem = "", fmt.Sprintf(p.T["tooLong"], encoding.MaxQuery)
	case n > 0:
		a.search(r, from, p, query.Get("offset"))
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", p.Lang)
	h.Set("Content-Security-Policy", askPolicy)
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Accept-Language")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	if r.Method == http.MethodPost && p.Query != "" {
		a.answer(r, from, p)
	}
	var body bytes.Buffer
	if err := askTemplate.Execute(&body, p); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = body.WriteTo(w) // an error means that the client is gone
	}
	return nil
}

// askPage is what the page shows.
type askPage struct {
	T                                map[string]string
	Lang                             string
	Site, Home, Query, Path, Support string
	Style                            template.CSS
	Problem                          string
	Results                          []encoding.Result
	Searched                         bool
	Next, Previous                   string
	Answered                         bool
	Answer                           template.HTML
	Sources                          []reply.Event
}

// piece is a part of a text, marked if the query has it.
type piece struct {
	Text string
	Mark bool
}

// pieces splits a text at ranges of UTF-16 code units.
func pieces(text string, ranges [][2]int) (out []piece) {
	units := utf16.Encode([]rune(text))
	at := 0
	add := func(to int, mark bool) {
		if to > at {
			out = append(out, piece{string(utf16.Decode(units[at:to])), mark})
			at = to
		}
	}
	for _, r := range ranges {
		add(r[0], false)
		add(r[1], true)
	}
	add(len(units), false)
	return out
}

// search fills in the results.
func (a *Ask) search(r *http.Request, from site.Asker, p *askPage, offset string) {
	first, err := strconv.Atoi(offset)
	if err != nil || first < 0 || first > retrieval.MaxHits {
		first = 0
	}
	q := &encoding.Search{Query: p.Query, PageSize: askResults, Offset: first}
	results, total, err := from.Results(handlers.AsReader(r), q)
	if err != nil {
		a.log.Error("search failed", zap.String("site", from.Name), zap.String("request_id", handlers.RequestID(r)), zap.Error(err))
		p.Problem = p.T["unavailable"]
		return
	}
	if r.Method == http.MethodGet { // a question is recorded as such
		from.Searched(q, results)
	}
	p.Searched, p.Results = true, results
	link := func(to int) string {
		return p.Path + "?" + url.Values{"q": {p.Query}, "offset": {strconv.Itoa(to)}}.Encode()
	}
	if first+askResults < total {
		p.Next = link(first + askResults)
	}
	if first > 0 {
		p.Previous = link(max(0, first-askResults))
	}
}

// answer asks the assistant, as docs_assistant does.
func (a *Ask) answer(r *http.Request, from site.Asker, p *askPage) {
	req, err := encoding.DecodeRequest(question("anonymous", p.Query), encoding.V2)
	if err != nil {
		p.Problem = p.T["failed"]
		return
	}
	freeSlot, ok := from.TakeSlot(r.Context(), a.MaxConcurrentReplies)
	if !ok {
		observe.Refused(from.Name, "busy")
		p.Problem = p.T["busy"]
		return
	}
	defer freeSlot()

	ctx, endSpan := observe.Step(handlers.AsReader(r), "reply")
	in := from.Reply(2, req, handlers.RequestID(r))
	t, _ := a.App().Shared().Threads.Open(ctx, "", in.Owner)
	in.ThreadID, in.SourcesApart = t.ID, true
	sources := new(sourceSink)
	in.Run(ctx, r.ProtoMajor, sources)
	in.End(ctx)
	endSpan(in.Err)
	res := in.Result
	if res == nil || res.Answer == "" {
		p.Problem = p.T["failed"]
		return
	}
	answer := citation.HTML(res.Answer, func(destination string) string { return destination })
	p.Answered, p.Sources = true, sources.list
	p.Answer = template.HTML(answer) //nolint:gosec // HTML leaves HTML out and refuses dangerous links
}

// sourceSink keeps the sources of a reply.
type sourceSink struct{ list []reply.Event }

func (s *sourceSink) Send(e *reply.Event) error {
	if e.Kind == reply.Source {
		s.list = append(s.list, *e)
	}
	return nil
}

func (*sourceSink) Flush() error { return nil }

//go:embed ask.html
var askSourceText string

//go:embed ask.css
var askStyle string

var (
	askTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"pieces": pieces}).Parse(askSourceText))
	// askPolicy lets the page have its own stylesheet and forms, and nothing
	// else.
	askPolicy = "default-src 'none'; style-src 'sha256-" + styleHash() + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

func styleHash() string {
	sum := sha256.Sum256([]byte(askStyle))
	return base64.StdEncoding.EncodeToString(sum[:])
}

var _ reply.Sink = (*sourceSink)(nil) // interface guard
