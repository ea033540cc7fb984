package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/caddy-docs/caddy-docs/caddytest/pgserver"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/postgres"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
)

const (
	// monthlyEvents is what a site records in a month.
	monthlyEvents = 1_000_000
	monthDays     = 30

	maxQuery95 = 200 * time.Millisecond
	maxStoreMB = 250
)

var benchScope = insights.Scope{Organization: "acme", Site: "acme"}

// benchInsights measures the queries of the dashboard over a month of one
// site, in SQLite and, where it is installed, in Postgres.
func benchInsights(ctx context.Context, b *bench) error {
	n := monthlyEvents
	if b.short {
		n /= 20
	}
	end := time.Now().UTC().Truncate(24 * time.Hour)
	var stores []string
	if b.only != "postgres" {
		stores = append(stores, "SQLite")
	}
	dsn := ""
	if b.only != "sqlite" {
		address, stop, err := startPostgres(b.dir)
		switch {
		case err == nil:
			dsn, stores = address, append(stores, "Postgres")
			defer stop()
		case !errors.Is(err, pgserver.ErrMissing):
			return err
		}
	}
	s := series{}
	rows := make([][]string, 0, 30)
	for _, name := range stores {
		store, size, err := openBench(ctx, name, filepath.Join(b.dir, "insights.db"), dsn)
		if err != nil {
			return err
		}
		began := time.Now()
		threads, err := fillStore(ctx, store, n, end)
		if err != nil {
			return err
		}
		s.add(name+" events/s", float64(n)/time.Since(began).Seconds())
		mb, err := size()
		if err != nil {
			return err
		}
		s.add(name+" MB", mb)
		for i, q := range dashboardQueries(store, end, threads) {
			took, cpu := make([]time.Duration, 0, 20*b.rounds), cpuTime()
			for round := range 20 * b.rounds {
				began := time.Now()
				if err := q.run(ctx, round); err != nil {
					return fmt.Errorf("%s: %s: %w", name, q.name, err)
				}
				took = append(took, time.Since(began))
			}
			cpu = (cpuTime() - cpu) / time.Duration(len(took))
			p50, p95 := quantile(took, .5), quantile(took, .95)
			if len(rows) <= i {
				rows = append(rows, []string{q.name})
			}
			if name == "SQLite" { // Postgres uses CPU time in other processes
				rows[i] = append(rows[i], number(ms(cpu)))
			}
			rows[i] = append(rows[i], number(ms(p50)), result(ms(p95), fmt.Sprintf("≤ %d", maxQuery95.Milliseconds()), p95 <= maxQuery95))
		}
		// A day beyond the retention, while nothing else runs.
		began = time.Now()
		gone, err := store.Prune(ctx, end.Add(48*time.Hour), monthDays*24*time.Hour)
		if err != nil {
			return err
		}
		s.add(name+" prune rows/s", float64(gone)/time.Since(began).Seconds())
		if err := store.Close(); err != nil {
			return err
		}
	}
	head := []string{"query"}
	for _, name := range stores {
		if name == "SQLite" {
			head = append(head, "SQLite, CPU time, ms")
		}
		head = append(head, name+", p50, ms", "p95, ms")
	}
	table(fmt.Sprintf("The dashboard's queries over %d events of %d days of one site", n, monthDays), head, rows)
	figure := func(title, name string, limit float64) []string {
		row := []string{title}
		for _, store := range stores {
			v := s.median(store + name)
			if limit > 0 {
				row = append(row, result(v, fmt.Sprintf("≤ %v", limit), v <= limit))
			} else {
				row = append(row, number(v))
			}
		}
		return row
	}
	table("The store", append([]string{""}, stores...), [][]string{
		figure("size, MB", " MB", maxStoreMB),
		figure("events stored in batches of 1,000, a second", " events/s", 0),
		figure("rows deleted after the retention, a second", " prune rows/s", 0),
	})
	return nil
}

func startPostgres(dir string) (dsn string, stop func(), err error) {
	// Postgres runs as another user, who must get through to its folder.
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // nobody can list it
		return "", nil, err
	}
	server, err := pgserver.New(filepath.Join(dir, "postgres"))
	if err != nil {
		return "", nil, err
	}
	if dsn, err = server.Create("insights"); err != nil {
		server.Stop()
		return "", nil, err
	}
	return dsn, server.Stop, nil
}

// openBench opens an empty store, and returns how to find out its size in MB.
func openBench(ctx context.Context, name, file, dsn string) (*insights.Store, func() (float64, error), error) {
	if name == "SQLite" {
		s, err := sqlite.Open(ctx, file)
		return s, func() (float64, error) {
			var total float64
			for _, suffix := range []string{"", "-wal"} {
				info, err := os.Stat(file + suffix)
				if err != nil {
					return 0, err
				}
				total += float64(info.Size()) / 1e6
			}
			return total, nil
		}, err
	}
	s, err := postgres.Open(ctx, dsn)
	return s, func() (float64, error) {
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return 0, err
		}
		defer func() { _ = c.Close(ctx) }()
		// Autovacuum does this within minutes.
		if _, err := c.Exec(ctx, "vacuum analyze"); err != nil {
			return 0, err
		}
		var size float64
		err = c.QueryRow(ctx, "select pg_database_size(current_database()) / 1e6").Scan(&size)
		return size, err
	}, err
}

// fillStore records a month that ends with the day of end: most events are
// searches, whose texts follow Zipf's law. It returns the threads.
func fillStore(ctx context.Context, store *insights.Store, n int, end time.Time) (threads []string, err error) {
	m := newMonth(n, end)
	for batch := range slices.Chunk(m.times(n), 1000) {
		events := make([]insights.Event, 0, len(batch))
		for _, at := range batch {
			e := m.event(at)
			if (insights.Privacy{}).Clean(&e) {
				events = append(events, e)
			}
		}
		if err := store.Append(ctx, fmt.Sprint(batch[0].UnixNano(), len(m.threads)), events); err != nil {
			return nil, err
		}
	}
	return m.threads, nil
}

// month generates the events of a site.
type month struct {
	*corpus
	begin   time.Time
	queries []string
	query   *rand.Zipf
	asked   []string
	ask     *rand.Zipf
	pages   []string
	threads []string
	last    *insights.Reply
	found   string // the last query with a hit
}

func newMonth(n int, end time.Time) *month {
	m := &month{corpus: newCorpus(10_000), begin: end.Add(-(monthDays - 1) * 24 * time.Hour)}
	words := func(least, most int) string {
		w := make([]string, least+m.rnd.IntN(most-least+1))
		for i := range w {
			w[i] = m.vocab[m.words.Uint64()]
		}
		return strings.Join(w, " ")
	}
	for range n / 10 {
		m.queries = append(m.queries, words(1, 4))
	}
	for range n / 50 {
		m.asked = append(m.asked, "How do I "+words(2, 5)+" with "+words(1, 4)+"?")
	}
	for range 1000 {
		m.pages = append(m.pages, strings.ReplaceAll(words(2, 3), " ", "/"))
	}
	m.query = rand.NewZipf(m.rnd, 1.07, 10, uint64(len(m.queries)-1))
	m.ask = rand.NewZipf(m.rnd, 1.07, 10, uint64(len(m.asked)-1))
	return m
}

// times are those of n events, in order.
func (m *month) times(n int) []time.Time {
	all := make([]time.Time, n)
	step := monthDays * 24 * time.Hour / time.Duration(n)
	for i := range all {
		all[i] = m.begin.Add(time.Duration(i) * step)
	}
	return all
}

func (m *month) event(at time.Time) insights.Event {
	e := insights.Event{At: at, Scope: benchScope, Source: insights.Widget}
	if m.rnd.IntN(4) == 0 {
		e.Source, e.Key = insights.API, fmt.Sprint("key-", m.rnd.IntN(5))
	}
	switch p := m.rnd.IntN(100); {
	case p < 4:
		e.Reply = m.reply()
	case p < 5 && m.last != nil:
		e.Vote = &insights.Vote{Thread: m.last.Thread, Message: m.last.Message, Rating: "up", Known: true}
		if m.rnd.IntN(3) == 0 {
			e.Vote.Rating, e.Vote.Reasons, e.Vote.Comment = "down", []string{"incomplete"}, "It says nothing of "+m.queries[m.query.Uint64()]
		}
	case p < 12 && m.found != "":
		e.Source, e.Key = insights.Widget, ""
		e.Click = &insights.Click{Query: m.found, Path: m.one(m.pages), Position: 1 + m.rnd.IntN(5)}
	default:
		s := &insights.Search{Query: m.queries[m.query.Uint64()], Hits: m.rnd.IntN(11), Language: "en", Tracked: e.Source == insights.Widget}
		if s.Hits > 0 {
			top := m.rnd.Float64()
			s.Top, m.found = &top, s.Query
		}
		e.Search = s
	}
	return e
}

func (m *month) reply() *insights.Reply {
	thread := fmt.Sprintf("thr_%032x", len(m.threads))
	if m.last != nil && m.rnd.IntN(3) == 0 { // a further question
		thread = m.last.Thread
	} else {
		m.threads = append(m.threads, thread)
	}
	r := &insights.Reply{
		Thread: thread, Message: fmt.Sprintf("msg_%016x", m.rnd.Uint64()), Question: m.asked[m.ask.Uint64()],
		Outcome: "answered", Answered: []string{"yes", "yes", "yes", "partly", "no"}[m.rnd.IntN(5)], Model: "gpt-5-mini", Language: "en",
		Page: m.one(m.pages), Nearest: m.one(m.pages), Cited: []string{m.one(m.pages), m.one(m.pages)},
		InputTokens: 3000, OutputTokens: 200, FirstToken: 200 + m.rnd.Int64N(3000), Took: 4000,
	}
	m.last = r
	return r
}

// storeQuery is a query of the dashboard.
type storeQuery struct {
	name string
	run  func(ctx context.Context, round int) error
}

// dashboardQueries are all that the dashboard, the report and the commands ask.
func dashboardQueries(s *insights.Store, end time.Time, threads []string) []storeQuery {
	p := insights.LastDays(monthDays, end)
	in := benchScope
	var list []storeQuery
	add := func(name string, run func(ctx context.Context, round int) error) {
		list = append(list, storeQuery{name, run})
	}
	add("overview", func(ctx context.Context, _ int) error { _, err := s.Overview(ctx, in, p); return err })
	add("days", func(ctx context.Context, _ int) error { _, err := s.Days(ctx, in, p); return err })
	for _, kind := range []string{insights.TopSearches, insights.NoResult, insights.WeakSearches, insights.LowClicks} {
		add("searches: "+strings.ReplaceAll(kind, "_", " "), func(ctx context.Context, round int) error {
			_, err := s.Searches(ctx, in, insights.Query{Period: p, Kind: kind, Offset: 50 * (round % 4)})
			return err
		})
	}
	add("searches of 7 days: no result", func(ctx context.Context, _ int) error {
		_, err := s.Searches(ctx, in, insights.Query{Period: insights.LastDays(7, end), Kind: insights.NoResult})
		return err
	})
	for _, state := range []string{"", insights.New} {
		add(strings.TrimSuffix("unanswered: "+state, ": "), func(ctx context.Context, round int) error {
			_, err := s.Unanswered(ctx, in, insights.Query{Period: p, State: state, Offset: 50 * (round % 4)})
			return err
		})
	}
	add("unanswered by page", func(ctx context.Context, round int) error {
		_, err := s.UnansweredPages(ctx, in, insights.Query{Period: p, Offset: 50 * (round % 4)})
		return err
	})
	for _, c := range []struct {
		name string
		q    insights.Query
	}{
		{"conversations", insights.Query{}},
		{"conversations: not answered", insights.Query{Answered: "no"}},
		{"conversations: thumbs down", insights.Query{Feedback: "down"}},
		{"conversations: failed (none)", insights.Query{Answered: "failed"}},
		{"conversations: page", insights.Query{Page: "server*"}},
		{"conversations: a frequent word", insights.Query{Text: "server"}},
		{"conversations: a word of none", insights.Query{Text: "zebra"}},
	} {
		c.q.Period = p
		add(c.name, func(ctx context.Context, _ int) error { _, err := s.Conversations(ctx, in, c.q); return err })
	}
	add("transcript", func(ctx context.Context, round int) error {
		_, err := s.Turns(ctx, in, threads[round*7919%len(threads)])
		return err
	})
	add("feedback", func(ctx context.Context, _ int) error {
		_, err := s.Feedback(ctx, in, insights.Query{Period: p})
		return err
	})
	add("feedback: down, with a comment", func(ctx context.Context, _ int) error {
		_, err := s.Feedback(ctx, in, insights.Query{Period: p, Feedback: "down", Comments: true, State: insights.New})
		return err
	})
	add("feedback by page", func(ctx context.Context, _ int) error {
		_, err := s.FeedbackPages(ctx, in, insights.Query{Period: p})
		return err
	})
	add("slowest replies", func(ctx context.Context, _ int) error { _, err := s.Slowest(ctx, in, p, 5); return err })
	add("key use", func(ctx context.Context, _ int) error { _, err := s.KeyUse(ctx, in, p); return err })
	add("audit", func(ctx context.Context, _ int) error { _, err := s.Audit(ctx, in, insights.Query{}); return err })
	return list
}
