package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
)

// Reply is a reply that has ended, one way or another.
type Reply struct {
	Site        *LiveSite
	Owner       thread.Owner
	Thread      string
	Regenerated bool
	Key         string
	RequestID   string
	Version     int
	Took        time.Duration
	// Result is nil if there was no answer at all.
	Result *assistant.Result
	Err    error
	// Gone is true if the client left before the end.
	Gone bool
}

// outcome is the reply's end in one of a few words.
func (r *Reply) outcome() string {
	switch {
	case r.Gone:
		return "gone"
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

	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("site", site), slog.String("outcome", outcome), slog.String("request_id", r.RequestID),
		slog.String("thread", r.Thread), slog.String("fp", hashFingerprint(r.Owner)), slog.String("key", r.Key),
		slog.Int("version", r.Version), slog.String("model", res.Model), slog.String("answered", res.Answered),
		slog.Int("passages", res.Passages), slog.String("finish", res.Reason),
		slog.Duration("retrieval", res.Retrieval), slog.Duration("first_token", res.FirstToken), slog.Duration("took", r.Took),
	}
	if res.Usage.Known {
		attrs = append(attrs, slog.Int("input_tokens", res.Usage.InputTokens), slog.Int("output_tokens", res.Usage.OutputTokens))
	}
	if res.Failed != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("failed", res.Failed.Error()))
	}
	if r.Err != nil && !r.Gone {
		level = slog.LevelError
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	a.log.LogAttrs(ctx, level, "reply", attrs...)
}

// hashFingerprint is a fingerprint for the log: the same for the same reader
// of a site, and of no use elsewhere.
func hashFingerprint(o thread.Owner) string {
	if o.Fingerprint == thread.Anonymous {
		return thread.Anonymous
	}
	sum := sha256.Sum256([]byte(o.Organization + "\x00" + o.Site + "\x00" + o.Fingerprint))
	return hex.EncodeToString(sum[:6])
}

// Opened counts a reply as under way until the function it returns is called.
func (a *App) Opened(site string) (closed func()) {
	g := collectors.open.WithLabelValues(site)
	g.Inc()
	return g.Dec
}

// Refused counts a request that was answered with 503. why is one of
// a few words.
func (a *App) Refused(site, why string) { collectors.refused.WithLabelValues(site, why).Inc() }
