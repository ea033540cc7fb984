package app

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
)

// Reply is a reply that has ended, one way or another.
type Reply struct {
	Site        *LiveSite
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

// Replied keeps the turn in its thread, counts it, and writes one line to
// the log. The line holds neither question nor answer.
func (a *App) Replied(ctx context.Context, r *Reply) {
	res := r.Result
	if res == nil {
		res = &assistant.Result{}
	}
	outcome := r.outcome()
	if res.Question != "" && (res.Answer != "" || r.Gone) {
		a.keep(ctx, r, res)
	}
	a.recordReply(r, res)

	m, site := collectors, r.Site.Name
	m.replies.WithLabelValues(site, "v"+strconv.Itoa(r.Version), outcome, res.Model).Inc()
	if res.FirstToken > 0 {
		m.firstToken.WithLabelValues(site).Observe(res.FirstToken.Seconds())
	}
	if res.Retrieval > 0 {
		m.retrieval.WithLabelValues(site).Observe(res.Retrieval.Seconds())
	}
	if res.Usage.Known {
		m.tokens.WithLabelValues(site, "input").Add(float64(res.Usage.InputTokens))
		m.tokens.WithLabelValues(site, "output").Add(float64(res.Usage.OutputTokens))
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
		fields = append(fields, zap.Int("input_tokens", res.Usage.InputTokens), zap.Int("output_tokens", res.Usage.OutputTokens))
	}
	if res.Failed != nil {
		level = zapcore.WarnLevel
		fields = append(fields, zap.NamedError("failed", res.Failed))
	}
	if r.Err != nil && !r.Gone {
		level = zapcore.ErrorLevel
		fields = append(fields, zap.Error(r.Err))
	}
	a.log.Log(level, "reply", fields...)
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

// Refused counts a request that was answered with 503.
func (a *App) Refused(site, why string) { collectors.refused.WithLabelValues(site, why).Inc() }
