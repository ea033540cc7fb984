package app

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/thread"
)

const (
	defaultTTL = 30 * 24 * time.Hour

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

// threads are the conversations. Configurations share them: a reply that
// began before a reload appends to the same memory that the next question
// reads.
type threads struct {
	*thread.Keeper
	storing chan struct{} // holds an element for each turn that is being stored
	pending sync.RWMutex  // read-locked while a turn is being stored
}

type threadsKey struct{ ttl time.Duration }

// Destruct waits until all turns are stored.
func (t *threads) Destruct() error {
	t.pending.Lock()
	defer t.pending.Unlock()
	return nil
}

// threadsTTL is how long threads are kept, 0 for not at all.
func (a *App) threadsTTL() time.Duration {
	switch {
	case a.Threads == nil || !a.Threads.Off && a.Threads.TTL == 0:
		return defaultTTL
	case a.Threads.Off:
		return 0
	}
	return time.Duration(a.Threads.TTL)
}

// openThreads finds or makes the threads of a ttl.
func (a *App) openThreads() (err error) {
	ttl := a.threadsTTL()
	a.threads, err = share(&a.holds, threadsKey{ttl}, func() (*threads, error) {
		k := thread.NewKeeper(a.store, thread.Options{Off: ttl == 0, TTL: ttl, Log: a.ctx.Slogger()})
		return &threads{Keeper: k, storing: make(chan struct{}, maxStoring)}, nil
	})
	return err
}

// keep stores a turn, as far as the client received it. It waits a moment, so
// that the next question finds the turn in every process. A storage that
// takes longer does not keep the client's stream open: within this process
// the next question waits for the turn.
func (a *App) keep(ctx context.Context, r *Reply, res *assistant.Result) {
	outcome := r.outcome()
	turn := thread.Turn{
		At: time.Now(), Question: res.Question, MessageID: r.QuestionID, Answer: res.Answer, Sources: res.Sources,
		Answered: res.Answered, Model: res.Model, Partial: outcome != "answered" && outcome != "extractive",
		Locked: r.Site.reach != nil && r.Site.reach.AnyLocked(res.Sources),
	}
	t := a.threads
	stored := make(chan struct{})
	t.pending.RLock()
	go func() {
		defer t.pending.RUnlock()
		defer close(stored)
		t.storing <- struct{}{}
		defer func() { <-t.storing }()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
		defer cancel()
		ctx, endStep := a.Step(ctx, "keep")
		err := t.Append(ctx, r.Thread, r.Owner, turn, r.Regenerated)
		endStep(err)
		if err != nil {
			collectors.threadsFailed.Inc()
			a.log.Error("the conversation could not be stored; the reply went on", zap.String("thread", r.Thread), zap.String("request_id", r.RequestID), zap.Error(err))
		}
	}()
	select {
	case <-stored:
	case <-time.After(keepWait):
	}
}
