package site

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/insights"
)

// ErrStopping is the cause with which replies are ended when the process stops.
var ErrStopping = errors.New("the server is stopping")

// ErrTimeLimit is the error of a reply that ends because the server's write
// timeout is near.
var ErrTimeLimit = errors.New("the reply took longer than the server's write timeout")

// Reply is the reply to a request: Run makes it, and End keeps, counts and logs
// it.
type Reply struct {
	*assistant.Input
	Asker
	Owner thread.Owner
	// Version is the generation of the protocol, 1 or 2.
	Version int

	// Earlier are the stored turns whose text may be in the prompt.
	Earlier []thread.Turn

	// Result is nil if there was no answer at all.
	Result *assistant.Result
	Err    error
	// Gone is true if the client left before the end.
	Gone bool

	began time.Time
}

// Reply begins the reply to a request.
func (a Asker) Reply(version int, req *reply.Request, requestID string) *Reply {
	return &Reply{
		Input: &assistant.Input{Request: req, MessageID: "msg_" + requestID, RequestID: requestID},
		Asker: a, Owner: thread.Owner{Organization: a.Organization, Site: a.Name, Fingerprint: req.Fingerprint},
		Version: version, began: time.Now(),
	}
}

// Run has the site's assistant reply, in the context of a request over HTTP/1, 2
// or 3. The reply ends with ErrTimeLimit before the server's write timeout, and
// with ErrStopping when the process is about to end.
func (r *Reply) Run(ctx context.Context, protoMajor int, sink reply.Sink) {
	g := observe.Metrics.Open.WithLabelValues(r.Site.Name)
	g.Inc()
	defer g.Dec()
	client := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end := func() { cancel(ErrStopping) }
	defer context.AfterFunc(r.Site.Stopping, end)()
	if protoMajor >= 3 {
		defer context.AfterFunc(r.Site.StoppingH3, end)()
	}
	if limit := writeLimit(ctx); limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, ErrTimeLimit)
		defer stop()
	}
	r.Trace = observe.Step
	r.Incomplete = func() bool { return reach.Incomplete(ctx) }
	r.Result, r.Err = r.Site.Assistant().Reply(ctx, r.Input, sink)
	if cause := context.Cause(ctx); r.Err != nil && (cause == ErrTimeLimit || cause == ErrStopping) {
		r.Err = cause
	}
	r.Gone = client.Err() != nil
}

// writeLimit is how long a reply may take where the operator has set the
// server's write timeout; 0: no limit. Caddy cuts the response then, and over
// HTTP/3 the cut looks like a whole response, so the reply ends a little
// before it, with an error.
func writeLimit(ctx context.Context) time.Duration {
	srv, ok := ctx.Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server)
	if !ok {
		return 0
	}
	limit := time.Duration(srv.WriteTimeout)
	return limit - min(time.Second, limit/3)
}

// outcome classifies the reply for metrics and log.
func (r *Reply) outcome() string {
	switch {
	case r.Gone:
		return "disconnected"
	case errors.Is(r.Err, ErrStopping):
		return "stopped"
	case r.Result == nil || r.Err != nil || r.Result.Reason == "error":
		return "failed"
	case r.Result.Extractive:
		return "extractive"
	}
	return "answered"
}

// End keeps the turn in its thread, counts it, and writes one line to the log.
// The line holds neither question nor answer.
func (r *Reply) End(ctx context.Context) {
	res := r.Result
	if res == nil {
		res = &assistant.Result{}
	}
	outcome := r.outcome()
	if res.Question != "" && (res.Answer != "" || r.Gone) {
		r.Site.Threads.keep(ctx, r, res)
	}
	r.Record()

	m, site := observe.Metrics, r.Site.Name
	m.Replies.WithLabelValues(site, "v"+strconv.Itoa(r.Version), outcome, res.Model).Inc()
	if res.FirstToken > 0 {
		m.FirstToken.WithLabelValues(site).Observe(res.FirstToken.Seconds())
	}
	if res.Retrieval > 0 {
		m.Retrieval.WithLabelValues(site).Observe(res.Retrieval.Seconds())
	}
	if res.Usage.Known {
		m.Tokens.WithLabelValues(site, "input").Add(float64(res.Usage.InputTokens))
		m.Tokens.WithLabelValues(site, "output").Add(float64(res.Usage.OutputTokens))
		m.CachedTokens.WithLabelValues(site).Add(float64(res.Usage.CachedTokens))
	}

	level := zapcore.InfoLevel
	fields := []zap.Field{
		zap.String("site", site), zap.String("outcome", outcome), zap.String("request_id", r.RequestID),
		zap.String("thread", r.ThreadID), zap.String("fp", hashFingerprint(r.Owner)), zap.String("key", r.Asker.Key),
		zap.Int("version", r.Version), zap.String("model", res.Model), zap.String("answered", res.Answered),
		zap.Int("passages", res.Passages), zap.String("finish", res.Reason),
		zap.Duration("retrieval", res.Retrieval), zap.Duration("first_token", res.FirstToken), zap.Duration("took", time.Since(r.began)),
	}
	if res.Usage.Known {
		fields = append(fields, zap.Int("input_tokens", res.Usage.InputTokens), zap.Int("output_tokens", res.Usage.OutputTokens), zap.Int("cached_tokens", res.Usage.CachedTokens))
	}
	err := r.Err
	switch {
	case res.Failed != nil && res.Reason == "error" && !r.Gone: // the reader got no whole answer
		err = errors.Join(res.Failed, err)
	case res.Failed != nil:
		level = zapcore.WarnLevel
		fields = append(fields, zap.NamedError("failed", res.Failed))
	}
	if err != nil && !r.Gone {
		level = zapcore.ErrorLevel
		fields = append(fields, zap.Error(err))
	}
	r.Site.Log.Log(level, "reply", fields...)
}

// hashFingerprint returns a client's fingerprint for the log: the same for each
// reply to that client on a site, and different on other sites.
func hashFingerprint(o thread.Owner) string {
	if o.Fingerprint == thread.Anonymous {
		return thread.Anonymous
	}
	sum := sha256.Sum256([]byte(o.Organization + "\x00" + o.Site + "\x00" + o.Fingerprint))
	return hex.EncodeToString(sum[:6])
}

// Record records the reply.
func (r *Reply) Record() {
	res := r.Result
	if res == nil || res.Question == "" {
		return
	}
	e := r.event()
	e.Reply = &insights.Reply{
		Thread: r.ThreadID, Message: r.MessageID, Question: res.Question, Outcome: r.outcome(), Answered: res.Answered,
		Model: res.Model, Language: res.Language, Page: r.CurrentPath, Nearest: res.Nearest, Cited: res.CitedPages,
		InputTokens: res.Usage.InputTokens, OutputTokens: res.Usage.OutputTokens, CachedTokens: res.Usage.CachedTokens,
		FirstToken: milliseconds(res.FirstToken), Took: milliseconds(time.Since(r.began)), Regenerated: r.Regenerate,
	}
	r.Site.Recording.add(e)
}
