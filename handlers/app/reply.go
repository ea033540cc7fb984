package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/semaphore"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// keepTimeout bounds how long the storage may take to keep a turn. The
// reader has the answer by then.
const keepTimeout = 5 * time.Second

// keepPatience is how long the end of a stream waits for the storage: chat
// hooks show a reply as unfinished until its body ends.
const keepPatience = 100 * time.Millisecond

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

	m, site := a.metrics, r.Site.Name
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

// keep stores the turn, as far as the client got it. It waits a moment, so
// that the next question finds it in every process; a storage that takes
// longer does not keep the client's stream open: within this process the
// keeper has the next question wait for it.
func (a *App) keep(ctx context.Context, r *Reply, res *assistant.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	turn := thread.Turn{
		At: time.Now(), Question: res.Question, Answer: res.Answer, Sources: res.Sources,
		Answered: res.Answered, Model: res.Model, Partial: r.outcome() != "answered" && r.outcome() != "extractive",
	}
	done := make(chan struct{})
	keeping.Go(func() {
		defer cancel()
		defer close(done)
		ctx, ended := a.Step(ctx, "keep")
		weight := a.store.weight()
		err := storing.Acquire(ctx, weight)
		if err == nil {
			err = a.threads.Append(ctx, r.Thread, r.Owner, turn, r.Regenerated)
			storing.Release(weight)
		}
		ended(err)
		if err != nil {
			a.metrics.threadsFailed.Inc()
			a.log.Error("the conversation could not be kept; the reply went on", "thread", r.Thread, "request_id", r.RequestID, "error", err)
		}
	})
	patience := time.NewTimer(keepPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
}

// keeping are the turns that are being stored. The process does not end
// before they are (Cleanup).
var keeping sync.WaitGroup

// storing bounds how many turns are stored at a time (threadfiles.go).
var storing = semaphore.NewWeighted(storingAtOnce)

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
	g := a.metrics.open.WithLabelValues(site)
	g.Inc()
	return g.Dec
}

// Refused counts a request that was answered with 503. why is one of
// a few words.
func (a *App) Refused(site, why string) { a.metrics.refused.WithLabelValues(site, why).Inc() }

// Search searches the site. It is what both the search endpoint and the
// assistant use.
func (r *LiveSite) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	if r.index == nil {
		return nil, retrieval.ErrNotReady
	}
	ctx, s := startSpan(ctx, "docs.search")
	hits, err := r.index.searcher.Search(ctx, q)
	s.SetAttributes(attribute.Int("docs.hits", len(hits)))
	endSpan(s, err)
	outcome := "hits"
	switch {
	case err != nil:
		outcome = "failed"
	case len(hits) == 0:
		outcome = "none"
	}
	collectors.searches.WithLabelValues(r.Name, outcome).Inc()
	return hits, err
}

// Page returns a page of the site, nil if there is none of that name.
func (r *LiveSite) Page(ctx context.Context, page string) (*retrieval.Document, error) {
	if r.index == nil {
		return nil, retrieval.ErrNotReady
	}
	return r.index.index.Page(ctx, page)
}
