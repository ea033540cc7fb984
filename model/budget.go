package model

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/store"
)

// Limit is what may be spent in a window: Tokens and Requests (0 for no such
// limit) per hour or day. Windows begin at the full hour or day, UTC.
type Limit struct {
	Tokens, Requests int64
	Per              time.Duration
}

// Budget bounds what the replies of a site spend. Before it asks the model, a
// reply reserves the most it can cost (Take), and settles the actual cost
// afterwards (Spend). However many begin at once, together they spend at most
// the limit and one reply.
//
// The store holds a record for each process, so that several can share a
// budget. A record is written ahead in steps of a hundredth of the limit: a
// crash can lose that much of the budget, but never extends it. Processes see
// each other's spending up to shareAfter late.
//
// A Budget is safe for concurrent use. Keep one over reloads; Close stores the
// exact figures.
type Budget struct {
	site  string // part of the keys in store
	limit Limit
	store store.Store // keeps what was spent over restarts
	log   *slog.Logger
	id    string // of this process's record

	mu       sync.Mutex
	window   time.Time
	spent    amount
	reserved amount
	stored   amount // in this process's record
	others   amount // in the other records of this window
	looked   time.Time
	syncing  bool // a goroutine runs sync
	closed   bool
	work     sync.WaitGroup
}

type amount struct {
	Tokens   int64 `json:"tokens"`
	Requests int64 `json:"requests"`
}

func (a amount) plus(b amount) amount { return amount{a.Tokens + b.Tokens, a.Requests + b.Requests} }

// record is what one process has spent, in the store.
type record struct {
	Window time.Time `json:"window"`
	amount
}

const (
	// shareAfter is how old the view of other processes' spending may be.
	shareAfter   = 15 * time.Second
	storeTimeout = 5 * time.Second
	maxRecord    = 1 << 10 // bytes
)

// NewBudget reads what was spent of a site's budget in this window. A failure of
// the store is logged, and it is read again later.
func NewBudget(ctx context.Context, site string, l Limit, s store.Store, log *slog.Logger) *Budget {
	b := &Budget{site: site, limit: l, store: s, log: log, id: rand.Text()[:16]}
	b.window = b.windowAt(time.Now())
	b.look(ctx)
	return b
}

func (b *Budget) windowAt(t time.Time) time.Time { return t.UTC().Truncate(b.limit.Per) }

// Ticket is a reservation. Spend or Cancel must be called once, even if the reply
// failed.
type Ticket struct {
	b      *Budget
	window time.Time
	tokens int64
}

// Take reserves a request of at most tokens, prompt and answer together. It
// returns nil if the budget is spent.
func (b *Budget) Take(tokens int64) *Ticket {
	tokens = max(tokens, 0)
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.startSync()
	b.startWindow()
	used := b.used()
	if l := b.limit; l.Tokens > 0 && used.Tokens >= l.Tokens || l.Requests > 0 && used.Requests >= l.Requests {
		return nil
	}
	b.reserved = b.reserved.plus(amount{tokens, 1})
	return &Ticket{b: b, window: b.window, tokens: tokens}
}

// Spend settles the reservation with the tokens that the reply cost.
func (t *Ticket) Spend(tokens int64) { t.settle(amount{tokens, 1}) }

// Cancel returns the reservation: no model was asked.
func (t *Ticket) Cancel() { t.settle(amount{}) }

func (t *Ticket) settle(a amount) {
	b := t.b
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.startSync()
	b.startWindow()
	if t.window.Equal(b.window) {
		b.reserved = b.reserved.plus(amount{-t.tokens, -1})
	}
	// A reply that began in an earlier window counts in this one.
	b.spent = b.spent.plus(a)
}

// Left returns what is left of the limit in this window (-1 for no such limit),
// with reservations counted as spent, and when the next window begins.
func (b *Budget) Left() (tokens, requests int64, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.startSync()
	b.startWindow()
	used := b.used()
	tokens, requests = -1, -1
	if n := b.limit.Tokens; n > 0 {
		tokens = max(0, n-used.Tokens)
	}
	if n := b.limit.Requests; n > 0 {
		requests = max(0, n-used.Requests)
	}
	return tokens, requests, b.window.Add(b.limit.Per)
}

// Limit returns the limit.
func (b *Budget) Limit() Limit { return b.limit }

func (b *Budget) used() amount { return b.spent.plus(b.reserved).plus(b.others) }

// startWindow begins a new window when its time has come.
func (b *Budget) startWindow() {
	if w := b.windowAt(time.Now()); w.After(b.window) {
		b.window = w
		b.spent, b.reserved, b.stored, b.others = amount{}, amount{}, amount{}, amount{}
	}
}

// due returns whether the other records are to be read, and whether this
// process's is to be written.
func (b *Budget) due() (look, put bool) {
	used, limit := b.spent.plus(b.reserved), b.limit
	put = limit.Tokens > 0 && used.Tokens > b.stored.Tokens || limit.Requests > 0 && used.Requests > b.stored.Requests
	return time.Since(b.looked) >= shareAfter, put
}

// startSync starts sync in the background if there is something to do.
func (b *Budget) startSync() {
	if look, put := b.due(); !b.closed && !b.syncing && (look || put) {
		b.syncing = true
		b.work.Go(b.sync)
	}
}

// sync reads and writes the store until nothing is due.
func (b *Budget) sync() {
	for {
		b.mu.Lock()
		look, put := b.due()
		if !look && !put {
			b.syncing = false
			b.mu.Unlock()
			return
		}
		ahead := amount{b.limit.Tokens/100 + 1, b.limit.Requests/100 + 1}
		r := record{b.window, b.spent.plus(b.reserved).plus(ahead)}
		b.mu.Unlock()

		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		if look {
			b.look(ctx)
		}
		if put {
			if err := b.put(ctx, r); err != nil {
				b.log.Warn("what a budget has spent could not be stored", "site", b.site, "error", err)
			}
			b.mu.Lock()
			if r.Window.Equal(b.window) {
				b.stored = r.amount // after an error, too: the next step tries again
			}
			b.mu.Unlock()
		}
		cancel()
	}
}

func (b *Budget) prefix() string { return "docs/budget/" + b.site + "/" }

func (b *Budget) put(ctx context.Context, r record) error {
	v, _ := json.Marshal(r) // a time and numbers always marshal
	return b.store.Put(ctx, b.prefix()+b.id, v)
}

// look sums what other processes, and earlier runs of this one, have spent in
// this window. It deletes records older than two days.
func (b *Budget) look(ctx context.Context) {
	b.mu.Lock()
	window, now := b.window, time.Now()
	b.looked = now
	b.mu.Unlock()
	keys, err := b.store.List(ctx, b.prefix())
	if err != nil {
		b.log.Warn("what a budget has spent could not be read", "site", b.site, "error", err)
		return
	}
	var sum amount
	for _, key := range keys {
		if strings.HasSuffix(key, "/"+b.id) {
			continue
		}
		v, err := b.store.Get(ctx, key)
		var r record
		if err != nil || store.Decode(v, maxRecord, &r) != nil || r.Tokens < 0 || r.Requests < 0 {
			continue
		}
		switch {
		case !r.Window.Before(window):
			sum = sum.plus(r.amount)
		case now.Sub(r.Window) > 48*time.Hour:
			_ = b.store.Delete(ctx, key)
		}
	}
	b.mu.Lock()
	if b.window.Equal(window) {
		b.others = sum
	}
	b.mu.Unlock()
}

// Close stores the exact figures. Open reservations count as spent; what is
// settled later is not stored.
func (b *Budget) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.work.Wait()
	b.mu.Lock()
	used := b.spent.plus(b.reserved)
	r := record{b.window, used}
	b.mu.Unlock()
	if used == (amount{}) {
		return nil
	}
	if err := b.put(ctx, r); err != nil {
		return fmt.Errorf("storing the budget of site %q: %w", b.site, err)
	}
	return nil
}
