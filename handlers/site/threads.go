package site

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/store"
)

const (
	// keepTimeout bounds how long the storage may take to store a turn. The
	// reader has the answer by then.
	keepTimeout = 5 * time.Second

	// keepWait is how long the end of a stream waits for the storage: chat hooks
	// show a reply as unfinished until its body ends.
	keepWait = 100 * time.Millisecond

	// maxStoring bounds how many turns are stored at a time: each may hold a
	// thread of the system while a disk writes, and Go ends a process that has
	// 10,000 of them.
	maxStoring = 64
)

// Threads are the conversations. Configurations share them: a reply that
// began before a reload appends to the same memory that the next question
// reads.
type Threads struct {
	*thread.Conversations
	// TTL is how long conversations are kept; 0: not at all.
	TTL     time.Duration
	storing chan struct{} // holds an element for each turn that is being stored
	pending sync.RWMutex  // read-locked while a turn is being stored
}

// Destruct waits until all turns are stored.
func (t *Threads) Destruct() error {
	t.pending.Lock()
	defer t.pending.Unlock()
	return nil
}

// NewThreads returns the conversations in a store, which are kept for a time; 0:
// not at all.
func NewThreads(in store.Store, ttl time.Duration, log *slog.Logger) *Threads {
	return &Threads{Conversations: thread.New(in, ttl, log), TTL: ttl, storing: make(chan struct{}, maxStoring)}
}

// keep stores a turn, as far as the client received it. It waits a moment, so
// that the next question finds the turn in every process. A storage that
// takes longer does not keep the client's stream open: within this process
// the next question waits for the turn.
func (t *Threads) keep(ctx context.Context, r *Reply, res *assistant.Result) {
	outcome, view := r.outcome(), r.Site.Reach.View()
	turn := thread.Turn{
		At: time.Now(), Question: res.Question, MessageID: r.QuestionID, Answer: res.Answer, Sources: res.Sources,
		Answered: res.Answered, Model: res.Model, Partial: outcome != "answered" && outcome != "extractive",
		Given: res.Given,
	}
	for i := range r.Earlier {
		turn.Follow(&r.Earlier[i])
	}
	turn.Given = view.Locked(turn.Given)
	turn.Locked = turn.Locked || view.AnyLocked(turn.Pages())
	stored := make(chan struct{})
	t.pending.RLock()
	go func() {
		defer t.pending.RUnlock()
		defer close(stored)
		t.storing <- struct{}{}
		defer func() { <-t.storing }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
		defer cancel()
		ctx, endStep := observe.Step(ctx, "keep")
		err := t.Append(ctx, r.ThreadID, r.Owner, turn, r.Regenerate)
		endStep(err)
		if err != nil {
			observe.Metrics.ThreadsFailed.Inc()
			r.Site.Log.Error("the conversation could not be stored; the reply was not affected", zap.String("thread", r.ThreadID), zap.String("request_id", r.RequestID), zap.Error(err))
		}
	}()
	select {
	case <-stored:
	case <-time.After(keepWait):
	}
}
