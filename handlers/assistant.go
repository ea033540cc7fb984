package handlers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/encoding/datastream"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Assistant is http.handlers.docs_assistant: POST
// /v1/assistant/{domain}/message, for version 4 of the AI SDK, and
// /v2/assistant/{domain}/message, for 5 and later. It stays closed (401)
// unless an identity was set before it, by the authentication handler with
// the docs_key provider.
type Assistant struct {
	// Sites are those that this route serves. Default: the sites whose url
	// has the request's host, and where there is none, all sites.
	Sites []string `json:"sites,omitempty"`

	// MaxBody is the longest body read, in bytes. Default: 1 MB.
	MaxBody int64 `json:"max_body,omitempty"`

	// FinishEvent says whether v2's finish event carries threadId at its top
	// level: "literal" always, "sdk" never (AI SDK releases up to 5.0.216,
	// 6.0.230 and 7.0.31 reject it), "auto" where the request does not come
	// from an AI SDK transport. Default: auto.
	FinishEvent string `json:"finish_event,omitempty"`

	// MaxConcurrentReplies bounds the replies under way for a site. More wait
	// up to two seconds for a place, then get 503. Where routes of one site
	// differ, that of the first request counts. Default: 5000.
	MaxConcurrentReplies int `json:"max_concurrent_replies,omitempty"`

	// WriteTimeout is how long a client may leave what we send unread before
	// its reply is ended, and the model's with it. Default: 30s.
	WriteTimeout caddy.Duration `json:"write_timeout,omitempty"`

	// Anonymous opens the endpoint to everyone, without a key. Limits by
	// organization then count all of them together.
	Anonymous bool `json:"anonymous,omitempty"`

	app *app.App
	log *slog.Logger
}

// CaddyModule returns the Caddy module information.
func (Assistant) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.docs_assistant",
		New: func() caddy.Module { return new(Assistant) },
	}
}

// Provision finds the app.
func (a *Assistant) Provision(ctx caddy.Context) (err error) {
	a.log = ctx.Slogger()
	switch a.FinishEvent {
	case "", "auto", "literal", "sdk":
	default:
		return fmt.Errorf("docs_assistant: finish_event %q is not known; write auto, literal or sdk", a.FinishEvent)
	}
	if a.MaxConcurrentReplies == 0 {
		a.MaxConcurrentReplies = 5000
	}
	if a.WriteTimeout <= 0 {
		a.WriteTimeout = caddy.Duration(writeTimeout)
	}
	a.app, err = docsApp(ctx)
	return err
}

// NamedSites returns the sites that the app docs must have when it starts.
func (a *Assistant) NamedSites() []string { return a.Sites }

func (a *Assistant) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok || e.api != apiAssistant {
		return next.ServeHTTP(w, r)
	}
	// What stands on the stack while the model talks costs its kilobytes for
	// every reader: what comes before has functions of its own.
	l, err := a.open(w, r, e)
	if err != nil || l == nil {
		return err
	}
	defer l.close()
	return l.ended(l.reply())
}

// open admits a request and begins its reply; nil if there is none.
func (a *Assistant) open(w http.ResponseWriter, r *http.Request, e endpoint) (l *live, err error) {
	site, key, err := admit(w, r, a.app, a.Sites, a.Anonymous, e.site)
	if err != nil {
		return nil, err
	}
	if e.resume {
		// Replies are not kept running for clients that left: there is never
		// one to resume, which chat hooks want told by 204 and nothing else.
		w.WriteHeader(http.StatusNoContent)
		return nil, nil
	}
	body, err := readBody(w, r, a.MaxBody)
	if err != nil {
		return nil, err
	}
	return a.accept(w, r, e, site, key, body)
}

// accept begins the reply to a request that was admitted and read.
func (a *Assistant) accept(w http.ResponseWriter, r *http.Request, e endpoint, site *app.LiveSite, key *access.Key, body []byte) (*live, error) {
	req, err := decode(w, r, e.version, body)
	if err != nil {
		return nil, err
	}
	if a.app.Exiting() { // it began while the body came
		return nil, stopped(w, a.app, site.Name)
	}
	release, ok := site.Acquire()
	if !ok {
		a.app.Refused(site.Name, "not_ready")
		return nil, searchFailed(w, retrieval.ErrNotReady)
	}
	if !site.Enter(r.Context(), a.MaxConcurrentReplies) {
		release()
		a.app.Refused(site.Name, "busy")
		w.Header().Set("Retry-After", "5")
		return nil, fail(http.StatusServiceUnavailable, "busy", "too many replies are under way for this site; try again in a few seconds", nil)
	}
	l := &live{Assistant: a, w: w, r: r, version: e.version, site: site, release: release}
	if key != nil {
		l.keyID = key.ID
	}
	begun := false
	defer func() {
		if !begun { // a panic
			if l.closed != nil {
				l.closed()
			}
			site.Leave()
			release()
		}
	}()
	l.begin(req)
	begun = true
	return l, nil
}

// decode reads a request of one of the two generations.
func decode(w http.ResponseWriter, r *http.Request, version int, body []byte) (req *reply.Request, err error) {
	if version == 1 {
		h := w.Header()
		h.Set("Deprecation", "@1753747200") // RFC 9745; 2025-07-29: the day AI SDK 5 came out
		if v2 := v2Address(r); v2 != "" {
			h.Set("Link", "<"+v2+`>; rel="successor-version"`)
		}
		req, err = datastream.Decode(body)
	} else {
		req, err = uimessage.Decode(body)
	}
	if err != nil {
		return nil, badRequest(err)
	}
	return req, nil
}

// live is a reply under way. What it holds is kept here, and not on the
// stack, which with thousands of readers is most of what a stream costs.
type live struct {
	*Assistant
	w       http.ResponseWriter
	r       *http.Request
	version int
	site    *app.LiveSite
	release func() // of the site
	closed  func() // tells that the reply is no longer open
	keyID   string
	owner   thread.Owner
	in      assistant.Input
	stream  stream
	started time.Time

	ctx    context.Context // of the reply: also ended by the process's end
	cancel context.CancelCauseFunc
	traced context.Context
	step   func(error) // ends the span
	limit  *time.Timer // nil for none

	hurried chan struct{} // closed once hurry has run
	calm    func() bool
}

// begin makes ready what a good request's reply needs.
func (l *live) begin(req *reply.Request) {
	l.started = time.Now()
	l.owner = thread.Owner{Organization: l.site.Organization, Site: l.site.Name, Fingerprint: req.Fingerprint}
	l.in = assistant.Input{Request: req, MessageID: "msg_" + rand.Text(), RequestID: rand.Text()[:9], Trace: l.app.Step}
	l.closed = l.app.Opened(l.site.Name)
	l.traced, l.step = l.app.Step(l.r.Context(), "reply")
	l.ctx, l.cancel = l.app.ReplyContext(l.traced, l.r.ProtoMajor)
	if limit := writeLimit(l.r); limit > 0 {
		l.limit = time.AfterFunc(limit, func() { l.cancel(errTimeLimit) })
	}
	l.in.ThreadID, l.in.History = l.conversation(l.ctx, req, l.owner)
	l.w.Header().Set("X-Thread-Id", l.in.ThreadID)
	l.stream.open(l.w, l.r, l.version, l.literal(req), time.Duration(l.WriteTimeout))
	// A reader who left what we sent unread must not hold up the end either.
	l.hurried = make(chan struct{})
	l.calm = context.AfterFunc(l.ctx, func() { l.stream.hurry(); close(l.hurried) })
}

func (l *live) reply() (*assistant.Result, error) {
	return l.site.Assistant().Reply(l.ctx, &l.in, &l.stream)
}

// ended tells of the reply's end, in the stream where that can be.
func (l *live) ended(res *assistant.Result, err error) error {
	s := &l.stream
	if errors.Is(err, assistant.ErrNothingToSay) && !s.begun() {
		l.app.Refused(l.site.Name, "search")
		l.step(err)
		return searchFailed(l.w, err)
	}
	gone := l.r.Context().Err() != nil || s.broken()
	if cause := context.Cause(l.ctx); err != nil && !gone && errors.Is(cause, errTimeLimit) {
		err = cause
		s.fail("This answer took longer than the server allows. Please ask again.")
	} else if err != nil && !gone && errors.Is(cause, app.ErrStopping) {
		err = cause
		if !s.begun() {
			l.step(err)
			return stopped(l.w, l.app, l.site.Name)
		}
		s.fail("The server is being restarted and could not finish this answer. Please ask again.")
	}
	l.app.Replied(l.traced, &app.Reply{
		Site: l.site, Owner: l.owner, Thread: l.in.ThreadID, Regenerated: l.in.Regenerate,
		Key: l.keyID, RequestID: l.in.RequestID, Version: l.version, Took: time.Since(l.started),
		Result: res, Err: err, Gone: gone,
	})
	l.step(err)
	return nil
}

// close lets go of everything. The response is not ours after it.
func (l *live) close() {
	if !l.calm() {
		<-l.hurried // it uses the response
	}
	l.stream.close()
	if l.limit != nil {
		l.limit.Stop()
	}
	l.cancel(nil)
	l.closed()
	l.site.Leave()
	l.release()
}

// errTimeLimit is the cause with which a reply ends that comes near the
// server's own limit.
var errTimeLimit = errors.New("the reply took longer than the server's write timeout")

// writeLimit is how long a reply may take where the operator has set the
// server's write timeout: Caddy cuts the response then, over HTTP/3 even so
// that it looks whole, and lets no handler have more. 0: no limit.
func writeLimit(r *http.Request) time.Duration {
	srv, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return 0
	}
	limit := time.Duration(srv.WriteTimeout)
	return limit - min(time.Second, limit/3)
}

// conversation is the thread that a request goes on with, and its turns.
func (a *Assistant) conversation(ctx context.Context, req *reply.Request, owner thread.Owner) (id string, history []assistant.Turn) {
	ctx, ended := a.app.Step(ctx, "thread")
	defer ended(nil)
	t, _ := a.app.Conversations().Open(ctx, req.ThreadID, owner)
	turns := t.Turns
	if req.Regenerate && len(turns) > 0 {
		turns = turns[:len(turns)-1]
	}
	for _, t := range turns {
		history = append(history, assistant.Turn{Question: t.Question, Answer: t.Answer, Sources: t.Sources})
	}
	return t.ID, history
}

// stopped refuses a request that comes while the process ends.
func stopped(w http.ResponseWriter, a *app.App, site string) error {
	a.Refused(site, "stopping")
	w.Header().Set("Retry-After", "5")
	w.Header().Set("Connection", "close")
	return fail(http.StatusServiceUnavailable, "stopping", "the server is being restarted; try again in a few seconds", nil)
}

// literal decides the form of v2's finish event.
func (a *Assistant) literal(req *reply.Request) bool {
	switch a.FinishEvent {
	case "literal":
		return true
	case "sdk":
		return false
	}
	return !req.Transport
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Assistant)(nil)
	_ caddyhttp.MiddlewareHandler = (*Assistant)(nil)
)
