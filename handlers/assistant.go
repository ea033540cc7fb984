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
	if a.app, err = docsApp(ctx); err != nil {
		return err
	}
	a.app.Expect("assistant", a.Sites)
	return nil
}

func (a *Assistant) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok || e.api != apiAssistant {
		return next.ServeHTTP(w, r)
	}
	site, key, err := admit(w, r, a.app, a.Sites, a.Anonymous, e.site)
	if err != nil {
		return err
	}
	if e.resume {
		// Replies are not kept running for clients that left: there is never
		// one to resume, which chat hooks want told by 204 and nothing else.
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	body, err := readBody(w, r, a.MaxBody)
	if err != nil {
		return err
	}
	decode := uimessage.Decode
	if e.version == 1 {
		decode = datastream.Decode
		h := w.Header()
		h.Set("Deprecation", "@1753747200") // RFC 9745; 2025-07-29: the day AI SDK 5 came out
		if v2 := v2Address(r); v2 != "" {
			h.Set("Link", "<"+v2+`>; rel="successor-version"`)
		}
	}
	req, err := decode(body)
	if err != nil {
		return badRequest(err)
	}
	id := ""
	if key != nil {
		id = key.ID
	}
	return a.reply(w, r, e, site, id, req)
}

// reply makes the reply once the request is known to be good.
func (a *Assistant) reply(w http.ResponseWriter, r *http.Request, e endpoint, site *app.Running, keyID string, req *reply.Request) error {
	if a.app.Exiting() { // it began while the body came
		return stopped(w, a.app, site.Name)
	}
	release, ok := site.Acquire()
	if !ok {
		a.app.Refused(site.Name, "not_ready")
		return searchFailed(w, retrieval.ErrNotReady)
	}
	defer release()
	if !site.Enter(r.Context(), a.MaxConcurrentReplies) {
		a.app.Refused(site.Name, "busy")
		w.Header().Set("Retry-After", "5")
		return fail(http.StatusServiceUnavailable, "busy", "too many replies are under way for this site; try again in a few seconds", nil)
	}
	defer site.Leave()
	defer a.app.Opened(site.Name)()

	traced, ended := a.app.Step(r.Context(), "reply")
	ctx, cancel := a.app.ReplyContext(traced, r.ProtoMajor)
	defer cancel(nil)
	if limit := writeLimit(r); limit > 0 {
		defer time.AfterFunc(limit, func() { cancel(errTimeLimit) }).Stop()
	}
	started := time.Now()
	owner := thread.Owner{Organization: site.Organization, Site: site.Name, Fingerprint: req.Fingerprint}
	in := &assistant.Input{
		Request: req, MessageID: "msg_" + rand.Text(), RequestID: rand.Text()[:9], Trace: a.app.Step,
	}
	in.ThreadID, in.History = a.conversation(ctx, req, owner)

	w.Header().Set("X-Thread-Id", in.ThreadID)
	s := newStream(w, e.version, a.literal(req), time.Duration(a.WriteTimeout))
	defer s.close()
	// A reader who left what we sent unread must not hold up the end either.
	hurried := make(chan struct{})
	off := context.AfterFunc(ctx, func() { s.hurry(); close(hurried) })
	defer func() {
		if !off() {
			<-hurried // it uses the response, which is not ours after the return
		}
	}()
	res, err := site.Assistant().Reply(ctx, in, s)
	if errors.Is(err, assistant.ErrNothingToSay) && !s.begun() {
		a.app.Refused(site.Name, "search")
		ended(err)
		return searchFailed(w, err)
	}
	gone := r.Context().Err() != nil || s.broken()
	if cause := context.Cause(ctx); err != nil && !gone && errors.Is(cause, errTimeLimit) {
		err = cause
		s.fail("This answer took longer than the server allows. Please ask again.")
	} else if err != nil && !gone && errors.Is(cause, app.ErrStopping) {
		err = cause
		if !s.begun() {
			ended(err)
			return stopped(w, a.app, site.Name)
		}
		s.fail("The server is being restarted and could not finish this answer. Please ask again.")
	}
	a.app.Replied(traced, &app.Reply{
		Site: site, Owner: owner, Thread: in.ThreadID, Regenerated: req.Regenerate,
		Key: keyID, RequestID: in.RequestID, Version: e.version, Took: time.Since(started),
		Result: res, Err: err, Gone: gone,
	})
	ended(err)
	return nil
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
