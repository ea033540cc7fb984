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

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Reply is a reply that has ended, one way or another.
type Reply struct {
	Site        *Site
	Owner       thread.Owner
	Thread      string
	QuestionID  string
	Regenerated bool
	// From is what asked, and Page where.
	From Asker
	Page string
	// Message is the id of the answer.
	Message   string
	RequestID string
	Version   int
	Took      time.Duration
	// Result is nil if there was no answer at all.
	Result *assistant.Result
	Err    error
	// Gone is true if the client left before the end.
	Gone bool
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
	r.Record(res)

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
		zap.String("thread", r.Thread), zap.String("fp", hashFingerprint(r.Owner)), zap.String("key", r.From.Key),
		zap.Int("version", r.Version), zap.String("model", res.Model), zap.String("answered", res.Answered),
		zap.Int("passages", res.Passages), zap.String("finish", res.Reason),
		zap.Duration("retrieval", res.Retrieval), zap.Duration("first_token", res.FirstToken), zap.Duration("took", r.Took),
	}
	if res.Usage.Known {
		fields = append(fields, zap.Int("input_tokens", res.Usage.InputTokens), zap.Int("output_tokens", res.Usage.OutputTokens), zap.Int("cached_tokens", res.Usage.CachedTokens))
	}
	if res.Failed != nil {
		level = zapcore.WarnLevel
		fields = append(fields, zap.NamedError("failed", res.Failed))
	}
	if r.Err != nil && !r.Gone {
		level = zapcore.ErrorLevel
		fields = append(fields, zap.Error(r.Err))
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
func (r *Reply) Record(res *assistant.Result) {
	if res.Question == "" {
		return
	}
	e := r.From.event(r.Site)
	e.Reply = &insights.Reply{
		Thread: r.Thread, Message: r.Message, Question: res.Question, Outcome: r.outcome(), Answered: res.Answered,
		Model: res.Model, Language: res.Language, Page: r.Page, Nearest: res.Nearest, Cited: res.CitedPages,
		InputTokens: res.Usage.InputTokens, OutputTokens: res.Usage.OutputTokens, CachedTokens: res.Usage.CachedTokens,
		FirstToken: milliseconds(res.FirstToken), Took: milliseconds(r.Took), Regenerated: r.Regenerated,
	}
	r.Site.Recording.add(e)
}
