package handlers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Assistant is http.handlers.docs_assistant: POST
// /v1/assistant/{domain}/message, for version 4 of the AI SDK, and
// /v2/assistant/{domain}/message, for 5 and later. It stays closed (401)
// unless an identity was set before it, by the authentication handler with
// the docs_key provider.
type Assistant struct {
	KeyedRoute

	// The longest request body, in bytes, from 1,000 to 100,000,000, without
	// images and other files that are not text: those are skipped while a body
	// of up to 20,000,000 bytes is read. Default: 1,000,000.
	MaxBody int64 `json:"max_body,omitempty"`

	// Whether v2's finish event carries threadId at its top level: "literal"
	// always, "sdk" never (AI SDK releases up to 5.0.216, 6.0.230 and 7.0.31
	// reject it), "auto" unless the request comes from an AI SDK transport.
	// Default: auto.
	FinishEvent string `json:"finish_event,omitempty"`

	// The most replies in progress at a time for a site, from 1 to 1,000,000.
	// Further ones wait up to two seconds, then get 503. Routes of one site with
	// the same number share it; others count their own replies. Default: 5000.
	MaxConcurrentReplies int `json:"max_concurrent_replies,omitempty"`

	// How long a client may leave what was sent unread before its reply is
	// ended, and the model's with it, from 1s to 1h. Default: 30s.
	WriteTimeout caddy.Duration `json:"write_timeout,omitempty"`
}

func (Assistant) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_assistant", New: func() caddy.Module { return new(Assistant) }}
}

func (a *Assistant) Provision(ctx caddy.Context) error {
	a.FinishEvent = cmp.Or(a.FinishEvent, "auto")
	a.MaxConcurrentReplies = cmp.Or(a.MaxConcurrentReplies, 5000)
	a.WriteTimeout = cmp.Or(a.WriteTimeout, caddy.Duration(30*time.Second))
	return a.KeyedRoute.Provision(ctx)
}

func (a *Assistant) Validate() error {
	c := new(options.Checker)
	c.Sites(a.Sites)
	c.Number("max_body", int(a.MaxBody), minMaxBody, maxMaxBody)
	c.OneOf("finish_event", a.FinishEvent, "auto", "literal", "sdk")
	c.Number("max_concurrent_replies", a.MaxConcurrentReplies, 1, 1_000_000)
	c.Duration("write_timeout", a.WriteTimeout, time.Second, time.Hour)
	return c.Err()
}

func (a *Assistant) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	e, ok := endpointOf(r)
	if !ok || e.api != apiAssistant {
		return next.ServeHTTP(w, r)
	}
	site, key, err := a.admit(w, r, e.site, a.Anonymous)
	if err != nil {
		return err
	}
	if e.resume {
		// Replies don't outlive their clients, so there is never one to resume,
		// which chat hooks expect as 204.
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	body, err := readBody(w, r, a.MaxBody, maxFiles)
	if err != nil {
		return err
	}
	if e.version == 1 {
		w.Header().Set("Deprecation", "@1753747200") // RFC 9745; AI SDK 5 came out on 2025-07-29
		if v2 := v2Path(r); v2 != "" {
			w.Header().Set("Link", "<"+v2+`>; rel="successor-version"`)
		}
	}
	req, err := encoding.DecodeRequest(body, e.version)
	if err != nil {
		return badRequest(err)
	}
	if a.app.Exiting() { // since it was admitted
		return stopping(w, site.Name)
	}
	release, ok := site.Acquire()
	if !ok {
		observe.Refused(site.Name, "not_ready")
		return SearchFailed(w, retrieval.ErrNotReady)
	}
	defer release()
	freeSlot, ok := site.TakeSlot(r.Context(), a.MaxConcurrentReplies)
	if !ok {
		observe.Refused(site.Name, "busy")
		w.Header().Set("Retry-After", "5")
		return Fail(http.StatusServiceUnavailable, "busy", "too many replies are in progress for this site; try again in a few seconds", nil)
	}
	defer freeSlot()
	return a.reply(w, r, e.version, site, key, req)
}

// reply answers a request that was admitted and read.
func (a *Assistant) reply(w http.ResponseWriter, r *http.Request, version int, live *site.Site, key *access.Key, req *reply.Request) error {
	in := askerOf(r, live, key).Reply(version, req, RequestID(r))
	in.SourcesApart = in.Source == insights.Widget
	ctx, endSpan := observe.Step(AsReader(r), "reply")
	a.conversation(ctx, in)
	w.Header().Set("X-Thread-Id", in.ThreadID)
	w.Header().Set("X-Thread-Key", threadKey(in.ThreadID, in.Owner))

	s := newStream(w, in.RequestID, version, a.literal(req), time.Duration(a.WriteTimeout))
	defer s.close()
	in.Run(ctx, r.ProtoMajor, s)
	begun, broken := s.state()
	in.Gone = in.Gone || broken
	defer endSpan(in.Err)
	if err := in.Err; err != nil && !in.Gone {
		switch {
		case errors.Is(err, site.ErrTimeLimit):
			s.fail("time_limit", "This answer took longer than the server allows. Please ask again.")
		case errors.Is(err, site.ErrStopping):
			if !begun {
				return stopping(w, live.Name)
			}
			s.fail("stopping", "The server is being restarted and could not finish this answer. Please ask again.")
		case errors.Is(err, assistant.ErrNothingToSay) && !begun:
			observe.Refused(live.Name, "search")
			return SearchFailed(w, err)
		}
	}
	in.End(ctx)
	return nil
}

// conversation adds the thread that a request continues, and its turns before the
// question except those about pages that the reader can no longer open. A client
// that sends the conversation itself may have these, too.
func (a *Assistant) conversation(ctx context.Context, in *site.Reply) {
	ctx, endSpan := observe.Step(ctx, "thread")
	defer endSpan(nil)
	known := in.Request.ThreadID
	if in.ThreadKey != "" && in.ThreadKey != threadKey(known, in.Owner) {
		known = ""
	}
	t, _ := a.app.Shared().Threads.Open(ctx, known, in.Owner)
	in.ThreadID = t.ID
	for _, t := range t.Before(in.QuestionID, in.Regenerate) {
		sealed := in.Site.Sealed(ctx, &t)
		if !sealed || len(in.Messages) > 1 {
			in.Earlier = append(in.Earlier, t)
		}
		if sealed {
			continue
		}
		in.History = append(in.History, reply.Message{Role: reply.User, Text: t.Question},
			reply.Message{Role: reply.Assistant, Text: t.Answer, Sources: t.Sources})
	}
}

// threadKey is what clients of Mintlify's API keep beside the id of a thread. It
// proves no more than the id and the fp that it is made of: it is for clients
// that continue a thread only with both.
func threadKey(id string, o thread.Owner) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"thread key", o.Organization, o.Site, o.Fingerprint, id}, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// literal reports whether the client takes a literal finish event of v2.
func (a *Assistant) literal(req *reply.Request) bool {
	return a.FinishEvent != "sdk" && (a.FinishEvent != "auto" || !req.Transport)
}
