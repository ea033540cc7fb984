package model

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Store keeps what a budget has spent: Caddy's storage, with keys below docs/. Get
// of a key that isn't there returns an error.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	// List returns the keys that begin with prefix, whole.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Limit is what may be spent in a window: Tokens or Requests (0: no such
// limit) Per an hour or a day. Windows begin at the full hour or day, UTC.
type Limit struct {
	Tokens, Requests int64
	Per              time.Duration
}

// BudgetOptions configure a Budget.
type BudgetOptions struct {
	// Site names the budget; it is part of the keys in Store.
	Site  string
	Limit Limit
	// Store, nil to keep nothing over restarts.
	Store Store
	Log   *slog.Logger
	// Now is the clock, default time.Now.
	Now func() time.Time
}

// Budget bounds what a site's replies spend. A reply reserves the most that
// it can cost before it asks the model (Take) and settles what it did cost
// (Spend): however many start at once, together they spend at most the limit
// and one reply.
//
// What is spent is stored ahead, in steps of a hundredth of the limit: a
// crash can lose that much of the budget but gives nothing back. Each
// process has a record of its own, so that several on one storage share the
// budget; they see each other's spending up to shareAfter late.
//
// It is safe for concurrent use. Keep one over reloads; Close stores the
// exact figures.
type Budget struct {
	o  BudgetOptions
	id string

	mu       sync.Mutex
	window   time.Time
	spent    amount
	reserved amount
	stored   amount // what the record in the store says
	others   amount // what other records of this window say
	looked   time.Time
	saving   bool // a goroutine brings the store up to date
	again    bool // and has to write
	closed   bool
	work     sync.WaitGroup
}

type amount struct {
	Tokens   int64 `json:"tokens"`
	Requests int64 `json:"requests"`
}

func (a amount) plus(b amount) amount { return amount{a.Tokens + b.Tokens, a.Requests + b.Requests} }

// record is what the store holds of one process.
type record struct {
	Window time.Time     `json:"window"`
	Per    time.Duration `json:"per"`
	amount
}

const (
	// shareAfter is how old a view of other processes' spending may be.
	shareAfter = 15 * time.Second
	storeTime  = 5 * time.Second
)

// NewBudget reads what was spent in this window. A store that doesn't answer
// is logged and asked again later.
func NewBudget(ctx context.Context, o BudgetOptions) (*Budget, error) {
	switch l := o.Limit; {
	case l.Tokens < 0 || l.Requests < 0 || l.Tokens == 0 && l.Requests == 0:
		return nil, errors.New("a budget needs a number of tokens or requests above 0, such as: budget 2M tokens per day")
	case l.Per != time.Hour && l.Per != 24*time.Hour:
		return nil, fmt.Errorf("a budget is per hour or per day, not per %v", l.Per)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Budget{o: o, id: rand.Text()[:16]}
	b.window = b.windowAt(o.Now())
	b.look(ctx)
	return b, nil
}

func (b *Budget) windowAt(t time.Time) time.Time { return t.UTC().Truncate(b.o.Limit.Per) }

// Ticket is what a reply reserved. Spend or Cancel must be called, also when
// the reply failed; only the first call counts. A nil Ticket can be settled.
type Ticket struct {
	b      *Budget
	window time.Time
	tokens int64
	once   sync.Once
}

// Take reserves a request of at most tokens, prompt and answer together. It
// returns nil where the budget is spent: the reply should then be extractive.
func (b *Budget) Take(tokens int64) *Ticket {
	tokens = max(tokens, 0)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	used := b.used()
	if l := b.o.Limit; l.Tokens > 0 && used.Tokens >= l.Tokens || l.Requests > 0 && used.Requests >= l.Requests {
		return nil
	}
	b.reserved = b.reserved.plus(amount{tokens, 1})
	b.save()
	return &Ticket{b: b, window: b.window, tokens: tokens}
}

// Spend settles the reservation: tokens is what the reply did cost; below 0
// where the model didn't say, and the whole reservation counts.
func (t *Ticket) Spend(tokens int64) {
	if t == nil {
		return
	}
	if tokens < 0 {
		tokens = t.tokens
	}
	t.settle(amount{tokens, 1})
}

// Cancel gives the reservation back: the model was never asked.
func (t *Ticket) Cancel() {
	if t != nil {
		t.settle(amount{})
	}
}

func (t *Ticket) settle(a amount) {
	t.once.Do(func() {
		b := t.b
		b.mu.Lock()
		defer b.mu.Unlock()
		b.turn()
		if t.window.Equal(b.window) {
			b.reserved = b.reserved.plus(amount{-t.tokens, -1})
		}
		// A reply that began in an earlier window is paid for in this one.
		b.spent = b.spent.plus(a)
		b.save()
	})
}

// Left returns what is left of the limit in this window, reservations
// counted as spent (-1: no such limit), and when the next window begins.
func (b *Budget) Left() (tokens, requests int64, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn()
	used := b.used()
	tokens, requests = -1, -1
	if n := b.o.Limit.Tokens; n > 0 {
		tokens = max(0, n-used.Tokens)
	}
	if n := b.o.Limit.Requests; n > 0 {
		requests = max(0, n-used.Requests)
	}
	return tokens, requests, b.window.Add(b.o.Limit.Per)
}

// Limit returns the limit.
func (b *Budget) Limit() Limit { return b.o.Limit }

func (b *Budget) used() amount { return b.spent.plus(b.reserved).plus(b.others) }

// turn begins a new window when its time has come, and looks at the other
// records when the last look is old.
func (b *Budget) turn() {
	now := b.o.Now()
	if w := b.windowAt(now); w.After(b.window) {
		b.window = w
		b.spent, b.reserved, b.stored, b.others = amount{}, amount{}, amount{}, amount{}
	}
	if b.o.Store != nil && !b.closed && !b.saving && now.Sub(b.looked) >= shareAfter {
		b.saving = true
		b.work.Go(func() { b.update(true) })
	}
}

// save sees to it that the record is ahead of what is used, in the
// background.
func (b *Budget) save() {
	if b.o.Store == nil || b.closed {
		return
	}
	used := b.spent.plus(b.reserved)
	if (b.o.Limit.Tokens == 0 || used.Tokens <= b.stored.Tokens) && (b.o.Limit.Requests == 0 || used.Requests <= b.stored.Requests) {
		return
	}
	b.again = true
	if !b.saving {
		b.saving = true
		b.work.Go(func() { b.update(false) })
	}
}

// update reads the other records, if look is set, and writes ours as long
// as that is wanted.
func (b *Budget) update(look bool) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), storeTime)
		if look {
			b.look(ctx)
			look = false
		}
		b.mu.Lock()
		if !b.again {
			b.saving = false
			b.mu.Unlock()
			cancel()
			return
		}
		b.again = false
		ahead := amount{b.o.Limit.Tokens/100 + 1, b.o.Limit.Requests/100 + 1}
		r := record{Window: b.window, Per: b.o.Limit.Per, amount: b.spent.plus(b.reserved).plus(ahead)}
		b.mu.Unlock()
		if err := b.put(ctx, r); err != nil {
			b.o.Log.Warn("storing what the budget has spent failed", "site", b.o.Site, "error", err)
		}
		cancel()
		b.mu.Lock()
		if r.Window.Equal(b.window) {
			b.stored = r.amount // also after an error: the next step tries again
		}
		b.mu.Unlock()
	}
}

func (b *Budget) prefix() string { return "docs/budget/" + b.o.Site + "/" }

func (b *Budget) put(ctx context.Context, r record) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.o.Store.Put(ctx, b.prefix()+b.id, v)
}

// look sums what other processes, and earlier runs of this one, have spent
// in this window, and deletes what is of no use any more.
func (b *Budget) look(ctx context.Context) {
	if b.o.Store == nil {
		return
	}
	b.mu.Lock()
	window, now := b.window, b.o.Now()
	b.looked = now
	b.mu.Unlock()
	keys, err := b.o.Store.List(ctx, b.prefix())
	if err != nil {
		b.o.Log.Warn("reading what the budget has spent failed", "site", b.o.Site, "error", err)
		return
	}
	var sum amount
	for _, key := range keys {
		if strings.HasSuffix(key, "/"+b.id) {
			continue
		}
		v, err := b.o.Store.Get(ctx, key)
		var r record
		if err != nil || json.Unmarshal(v, &r) != nil || r.Tokens < 0 || r.Requests < 0 {
			continue
		}
		switch {
		case !r.Window.Before(window):
			sum = sum.plus(r.amount)
		case now.Sub(r.Window) > 48*time.Hour:
			_ = b.o.Store.Delete(ctx, key)
		}
	}
	b.mu.Lock()
	if b.window.Equal(window) {
		b.others = sum
	}
	b.mu.Unlock()
}

// Close stores the exact figures; open reservations count as spent. What is
// settled afterwards is not stored.
func (b *Budget) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.work.Wait()
	b.mu.Lock()
	used := b.spent.plus(b.reserved)
	r := record{Window: b.window, Per: b.o.Limit.Per, amount: used}
	b.mu.Unlock()
	if b.o.Store == nil || used == (amount{}) {
		return nil
	}
	if err := b.put(ctx, r); err != nil {
		return fmt.Errorf("storing the budget of site %q: %w", b.o.Site, err)
	}
	return nil
}
