package insights_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/caddy-docs/caddy-docs/caddytest/pgserver"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/postgres"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
)

var (
	server     *pgserver.Server
	serverErr  error
	serverOnce sync.Once
	databases  atomic.Int64
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "docs-pg-")
	if err != nil {
		panic(err)
	}
	_ = os.Chmod(dir, 0o755) // Postgres runs as another user where this is root
	pgDir = filepath.Join(dir, "pg")
	code := m.Run()
	if server != nil {
		server.Stop()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var pgDir string

// newDSN is an empty Postgres database.
func newDSN(t testing.TB) string {
	serverOnce.Do(func() { server, serverErr = pgserver.New(pgDir) })
	if errors.Is(serverErr, pgserver.ErrMissing) {
		t.Skip(serverErr)
	}
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	dsn, err := server.Create(fmt.Sprintf("test%d", databases.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// onBoth runs a test on an empty store of each kind.
func onBoth(t *testing.T, f func(t *testing.T, s *insights.Store)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "new folder", "in?sights#.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		f(t, s)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s, err := postgres.Open(t.Context(), newDSN(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		f(t, s)
	})
}

var (
	acme  = insights.Scope{Organization: "acme-inc", Site: "acme"}
	other = insights.Scope{Organization: "other", Site: "acme"} // the same name, another organization
	noon  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	week  = insights.LastDays(7, noon)
)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func search(minutes int, query string, hits int, more ...func(*insights.Event)) insights.Event {
	e := insights.Event{
		At: at(minutes), Scope: acme, Source: insights.Widget, Key: "widget",
		Search: &insights.Search{Query: query, Hits: hits, Tracked: true},
	}
	for _, f := range more {
		f(&e)
	}
	return e
}

func click(minutes int, query, path string, position int) insights.Event {
	return insights.Event{At: at(minutes), Scope: acme, Source: insights.Widget, Click: &insights.Click{Query: query, Path: path, Position: position}}
}

func reply(minutes int, thread, question, answered string, more ...func(*insights.Reply)) insights.Event {
	r := &insights.Reply{
		Thread: thread, Message: fmt.Sprintf("msg_%s_%d", thread, minutes), Question: question, Outcome: "answered", Answered: answered,
		Model: "m", Language: "en", Page: "guide/start", Nearest: "guide/proxy", Cited: []string{"guide/proxy", "ref"},
		InputTokens: 100, OutputTokens: 10, CachedTokens: 60, FirstToken: 400, Took: 900,
	}
	for _, f := range more {
		f(r)
	}
	return insights.Event{At: at(minutes), Scope: acme, Source: insights.API, Key: "key_1", Reply: r}
}

func vote(minutes int, thread, message, rating, comment string) insights.Event {
	return insights.Event{At: at(minutes), Scope: acme, Source: insights.Widget, Vote: &insights.Vote{
		Thread: thread, Message: message, Rating: rating, Comment: comment, Reasons: []string{"wrong", "outdated"},
	}}
}

func of(in insights.Scope, e insights.Event) insights.Event {
	e.Scope = in
	return e
}

// A column that is forgotten somewhere would be 0 in all tests.
func TestEachFieldOfAReplyIsStored(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		e := reply(0, "t", "How do I start?", "yes")
		want := reflect.ValueOf(*e.Reply)
		put(t, s, e)
		turns, err := s.Turns(t.Context(), acme, "t")
		if err != nil || len(turns) != 1 {
			t.Fatal(turns, err)
		}
		got := reflect.ValueOf(turns[0].Reply)
		for i := range want.NumField() {
			switch name := want.Type().Field(i).Name; {
			case name == "Regenerated": // a replaced turn has it
			case want.Field(i).IsZero():
				t.Errorf("reply() of this file sets no %s", name)
			case !reflect.DeepEqual(got.Field(i).Interface(), want.Field(i).Interface()):
				t.Errorf("%s is %v, want %v", name, got.Field(i), want.Field(i))
			}
		}
	})
}

var batches atomic.Int64

func put(t testing.TB, s *insights.Store, events ...insights.Event) {
	t.Helper()
	if err := s.Append(t.Context(), fmt.Sprint(batches.Add(1)), events); err != nil {
		t.Fatal(err)
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

func overview(t testing.TB, s *insights.Store, in insights.Scope) insights.Overview {
	t.Helper()
	return must[insights.Overview](t)(s.Overview(t.Context(), in, week))
}

func TestNumbersOfAPeriod(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		weak := .1
		put(t, s,
			search(0, "install", 3), search(1, "install", 3), search(2, "nothing", 0),
			search(3, "vague", 2, func(e *insights.Event) { e.Search.Top = &weak }),
			search(4, "api call", 1, func(e *insights.Event) { e.Source, e.Key, e.Search.Tracked = insights.API, "key_1", false }),
			click(5, "install", "guide/install", 2), click(6, "never searched", "x", 1),
			reply(10, "a", "How?", "yes"), reply(11, "a", "And then?", "no"), reply(12, "b", "Why?", "partly"),
			reply(13, "c", "Fails?", "", func(r *insights.Reply) { r.Outcome, r.FirstToken = "failed", 0 }),
			vote(14, "a", "", "up", ""),
			search(-8*24*60, "install", 0), // in the period before
			of(other, search(0, "secret of others", 0)),
		)
		o := overview(t, s, acme)
		equal(t, "counts", o.Counts, insights.Counts{
			Searches: 5, NoResult: 1, Weak: 1, Tracked: 3, Clicked: 1, Clicks: 2, Positions: 3,
			Conversations: 3, Replies: 4, Yes: 1, Partly: 1, No: 1, Failed: 1, InputTokens: 400, OutputTokens: 40, CachedTokens: 240, Up: 1,
		})
		equal(t, "before", o.Before, insights.Counts{Searches: 1, NoResult: 1})
		equal(t, "by source", o.BySource, map[string]insights.SourceCounts{"widget": {Searches: 4}, "api": {Searches: 1, Replies: 4}})
		if p := o.FirstToken; p == nil || p.P50 < 300 || p.P50 > 410 || p.P95 < p.P50 || p.P95 > 480 {
			t.Errorf("first token: %+v", p)
		}
		if r := o.ClickRate(); r == nil || *r != 1.0/3 {
			t.Errorf("click rate: %v", r)
		}
		days := must[[]insights.Day](t)(s.Days(t.Context(), acme, week))
		if len(days) != 7 || days[6].Date.String() != "2026-11-20" || days[6].Searches != 5 || days[0].Counts != (insights.Counts{}) {
			t.Errorf("days: %+v", days)
		}
		use := must[[]insights.KeyDay](t)(s.KeyUse(t.Context(), acme, week))
		day := insights.DateOf(noon)
		equal(t, "use of keys", use, []insights.KeyDay{{Key: "key_1", Date: day, Searches: 1, Replies: 4}, {Key: "widget", Date: day, Searches: 4}})

		empty := overview(t, s, insights.Scope{Organization: "acme-inc", Site: "unknown"})
		if empty.Counts != (insights.Counts{}) || empty.NoResultRate() != nil || empty.FirstToken != nil {
			t.Errorf("an unknown site: %+v", empty)
		}
	})
}

func TestABatchIsStoredOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		b := []insights.Event{search(0, "install", 1), reply(1, "a", "How?", "no")}
		for range 2 {
			if err := s.Append(t.Context(), "the same", b); err != nil {
				t.Fatal(err)
			}
		}
		if o := overview(t, s, acme); o.Searches != 1 || o.Replies != 1 || o.Conversations != 1 {
			t.Errorf("%+v", o.Counts)
		}
	})
}

func TestSearchesByKind(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		weak := .2
		var events []insights.Event
		for i := range 6 {
			events = append(events, search(i, "unclicked", 4), search(i+1000, "clicked", 4))
		}
		events = append(events, click(1001, "clicked", "b", 2), click(1002, "clicked", "a", 1), click(1003, "clicked", "a", 3))
		for i := range 3 {
			events = append(events, search(i-24*60, "missing", 0))
		}
		events = append(events, search(0, "missing", 1), search(2, "vague", 2, func(e *insights.Event) { e.Search.Top = &weak }), search(2, "typo", 0))
		events = append(events, of(other, search(0, "foreign", 0)))
		put(t, s, events...)

		names := func(kind string, limit, offset int) (names []string) {
			t.Helper()
			for _, q := range must[[]insights.QueryStats](t)(s.Searches(t.Context(), acme, insights.Query{Period: insights.LastDays(7, at(2000)), Kind: kind, Limit: limit, Offset: offset})) {
				names = append(names, q.Query)
			}
			return names
		}
		equal(t, "top", names(insights.TopSearches, 0, 0), []string{"clicked", "unclicked", "missing", "typo", "vague"})
		equal(t, "second page", names(insights.TopSearches, 2, 2), []string{"missing", "typo"})
		equal(t, "no result", names(insights.NoResult, 0, 0), []string{"missing", "typo"})
		equal(t, "weak", names(insights.WeakSearches, 0, 0), []string{"vague"})
		equal(t, "low clicks", names(insights.LowClicks, 0, 0), []string{"unclicked"})

		all := must[[]insights.QueryStats](t)(s.Searches(t.Context(), acme, insights.Query{Period: insights.LastDays(7, at(2000))}))
		c := all[slices.IndexFunc(all, func(q insights.QueryStats) bool { return q.Query == "clicked" })]
		if c.Tracked != 6 || c.Clicked != 3 || *c.ClickRate != .5 || *c.MeanPosition != 2 || c.TopPage != "a" {
			t.Errorf("clicked: %+v", c)
		}
		m := all[slices.IndexFunc(all, func(q insights.QueryStats) bool { return q.Query == "missing" })]
		if m.Searches != 4 || m.NoResult != 3 || m.ClickRate == nil || *m.ClickRate != 0 || m.MeanPosition != nil || m.Last.String() != "2026-11-20" {
			t.Errorf("missing: %+v", m)
		}
		if _, err := s.Searches(t.Context(), acme, insights.Query{Kind: "worst"}); err == nil || !strings.Contains(err.Error(), "low_clicks") {
			t.Errorf("an unknown kind: %v", err)
		}
	})
}

// The rarer queries of a site are not looked at where the totals show that they
// can't be among the first: the result must be the same.
func TestSearchesAreThoseOfAFullCount(t *testing.T) {
	if testing.Short() {
		t.Skip("much work of one goroutine")
	}
	onBoth(t, func(t *testing.T, s *insights.Store) {
		random := rand.New(rand.NewPCG(1, 2))
		zipf := rand.NewZipf(random, 1.2, 3, 299)
		type count struct{ searches, none, weak, tracked, clicked int64 }
		days := map[insights.Date]map[string]*count{}
		for day := range 10 {
			var events []insights.Event
			date := insights.DateOf(noon) - insights.Date(day)
			days[date] = map[string]*count{}
			for i := range 300 {
				// Other queries are frequent each day.
				query := fmt.Sprint("q", (zipf.Uint64()+uint64(37*day))%300)
				c := days[date][query]
				if c == nil {
					c = new(count)
					days[date][query] = c
				}
				e := search(-day*24*60+i, query, random.IntN(3), func(e *insights.Event) {
					top := .1 + float64(random.IntN(2))
					e.Search.Top, e.Search.Tracked = &top, true
				})
				events = append(events, e)
				c.searches++
				c.none += bit(e.Search.Hits == 0)
				c.weak += bit(e.Search.Weak())
				if e.Search.Hits > 0 {
					c.tracked++
					if random.IntN(8) == 0 {
						c.clicked++
						events = append(events, click(-day*24*60+i, query, "a", 1))
					}
				}
			}
			put(t, s, events...)
		}
		for _, n := range []int{2, 10} {
			p := insights.Period{From: insights.DateOf(noon) - insights.Date(n) + 1, To: insights.DateOf(noon)}
			total := map[string]*count{}
			for date := p.From; date <= p.To; date++ {
				for query, c := range days[date] {
					if total[query] == nil {
						total[query] = new(count)
					}
					to := total[query]
					to.searches, to.none, to.weak, to.tracked, to.clicked = to.searches+c.searches, to.none+c.none, to.weak+c.weak, to.tracked+c.tracked, to.clicked+c.clicked
				}
			}
			for kind, of := range map[string]func(c *count) int64{
				insights.TopSearches:  func(c *count) int64 { return c.searches },
				insights.NoResult:     func(c *count) int64 { return c.none },
				insights.WeakSearches: func(c *count) int64 { return c.weak },
				insights.LowClicks: func(c *count) int64 {
					if c.tracked < insights.MinTracked || float64(c.clicked) >= insights.LowClickRate*float64(c.tracked) {
						return 0
					}
					return c.tracked - c.clicked
				},
			} {
				var want []int64
				for _, c := range total {
					if v := of(c); v > 0 {
						want = append(want, v)
					}
				}
				slices.SortFunc(want, func(a, b int64) int { return int(b - a) })
				for _, limit := range []int{3, 500} {
					for _, offset := range []int{0, 20} {
						list := must[[]insights.QueryStats](t)(s.Searches(t.Context(), acme, insights.Query{Period: p, Kind: kind, Limit: limit, Offset: offset}))
						part := want[min(offset, len(want)):min(offset+limit, len(want))]
						got := []int64{}
						for _, q := range list {
							c := total[q.Query]
							if q.Searches != c.searches || q.NoResult != c.none || q.Weak != c.weak || q.Tracked != c.tracked || q.Clicked != c.clicked {
								t.Errorf("%s of %d days: %+v, want %+v", kind, n, q, c)
							}
							got = append(got, of(c))
						}
						equal(t, fmt.Sprintf("%s of %d days, %d from %d", kind, n, limit, offset), got, part)
					}
				}
			}
		}
	})
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func TestAClickAfterMidnightCountsOnTheDayOfItsSearch(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		const midnight = 12 * 60 // minutes after noon
		put(t, s, search(midnight-5, "late", 1, func(e *insights.Event) { e.Search.Tracked = true }))
		put(t, s, click(midnight+5, "late", "a", 1))
		day := insights.DateOf(noon)
		list := must[[]insights.QueryStats](t)(s.Searches(t.Context(), acme, insights.Query{Period: insights.Period{From: day, To: day}}))
		if len(list) != 1 || list[0].Tracked != 1 || list[0].Clicked != 1 || list[0].Clicks != 0 {
			t.Errorf("%+v", list)
		}
		if after := must[insights.Overview](t)(s.Overview(t.Context(), acme, insights.Period{From: day + 1, To: day + 1})); after.Clicked != 0 || after.Clicks != 1 {
			t.Errorf("%+v", after.Counts)
		}
	})
}

func TestUnansweredQuestionsAreGroupedByTheirWords(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		elsewhere := func(r *insights.Reply) { r.Nearest = "guide/tls" }
		put(t, s,
			reply(0, "a", "How do I configure proxies?", "no"),
			reply(1, "b", "Configuring a proxy", "no", elsewhere),
			reply(2, "c", "Configuring a proxy", "partly"),
			reply(3, "d", "Where are certificates stored?", "no", elsewhere),
			reply(4, "e", "What is Caddy?", "yes"),
			reply(5, "f", "???", "no"),
			reply(6, "g", "Certificate lifetime", "no", elsewhere, func(r *insights.Reply) { r.Outcome = "failed" }),
			vote(7, "a", "msg_a_0", "down", ""),
			of(other, reply(0, "z", "Foreign question", "no")),
		)
		list := func(q insights.Query) []insights.Gap {
			t.Helper()
			q.Period = week
			return must[[]insights.Gap](t)(s.Unanswered(t.Context(), acme, q))
		}
		gaps := list(insights.Query{})
		if len(gaps) != 2 {
			t.Fatalf("%d groups: %+v", len(gaps), gaps)
		}
		g := gaps[0]
		if g.Wording != "Configuring a proxy" || g.Asked != 3 || g.No != 2 || g.Partly != 1 || g.Down != 1 || g.Thread != "c" || g.State != insights.New || !g.Last.Equal(at(2)) {
			t.Errorf("the first group: %+v", g)
		}
		equal(t, "pages", g.Pages, []string{"guide/proxy", "guide/tls"})
		if by := list(insights.Query{Page: "guide/tls"}); len(by) != 2 || by[0].Asked != 1 {
			t.Errorf("of a page: %+v", by)
		}

		if err := s.SetGap(t.Context(), acme, g.Group, insights.Done, "page written"); err != nil {
			t.Fatal(err)
		}
		if done := list(insights.Query{State: insights.Done}); len(done) != 1 || done[0].Note != "page written" {
			t.Errorf("done: %+v", done)
		}
		if open := list(insights.Query{State: insights.New}); len(open) != 1 || open[0].Asked != 1 {
			t.Errorf("new: %+v", open)
		}
		again := reply(0, "h", "proxy: configure?", "no")
		again.At = time.Now().Add(time.Hour)
		put(t, s, again)
		open := must[[]insights.Gap](t)(s.Unanswered(t.Context(), acme, insights.Query{Period: insights.Period{From: week.From, To: insights.DateOf(again.At)}, State: insights.New}))
		if len(open) != 2 || open[0].Asked != 4 {
			t.Errorf("asked again: %+v", open)
		}
		if err := s.SetGap(t.Context(), other, g.Group, insights.Done, ""); !errors.Is(err, insights.ErrUnknown) {
			t.Errorf("a group of another organization: %v", err)
		}

		pages := must[[]insights.GapPage](t)(s.UnansweredPages(t.Context(), acme, insights.Query{Period: week}))
		if len(pages) != 2 || pages[0].Page != "guide/proxy" || pages[0].Asked != 2 || len(pages[1].Wordings) != 2 {
			t.Errorf("pages: %+v", pages)
		}
	})
}

func TestConversations(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		put(t, s,
			reply(0, "a", "How to install?", "yes"),
			reply(1, "a", "And on Windows?", "no"),
			reply(2, "b", "Zertifikate verwalten", "partly", func(r *insights.Reply) { r.Page = "de/tls" }),
			reply(3, "c", "100% CPU_load", "yes"),
			vote(4, "b", "", "down", "not what I asked"),
			of(other, reply(9, "z", "Foreign install", "no")),
		)
		// The second answer to the same question.
		put(t, s, reply(5, "c", "100% CPU_load", "no", func(r *insights.Reply) { r.Regenerated = true }))
		threads := func(q insights.Query) (ids []string) {
			t.Helper()
			q.Period = week
			for _, c := range must[[]insights.Conversation](t)(s.Conversations(t.Context(), acme, q)) {
				ids = append(ids, c.Thread)
			}
			return ids
		}
		equal(t, "all", threads(insights.Query{}), []string{"c", "b", "a"})
		equal(t, "no", threads(insights.Query{Answered: "no"}), []string{"c", "a"})
		equal(t, "yes", threads(insights.Query{Answered: "yes"}), []string{"a"})
		equal(t, "down", threads(insights.Query{Feedback: "down"}), []string{"b"})
		equal(t, "without votes", threads(insights.Query{Feedback: "none"}), []string{"c", "a"})
		equal(t, "page", threads(insights.Query{Page: "de/*"}), []string{"b"})
		equal(t, "words", threads(insights.Query{Text: "INSTALLING"}), []string{"a"})
		equal(t, "words of a pattern", threads(insights.Query{Text: "cpu_"}), []string{"c"})
		equal(t, "no words", threads(insights.Query{Text: "%"}), []string(nil))

		first := must[[]insights.Conversation](t)(s.Conversations(t.Context(), acme, insights.Query{Period: week, Limit: 2}))
		rest := threads(insights.Query{Before: first[1].Cursor})
		equal(t, "after the second", rest, []string{"a"})
		c := first[0]
		if c.Turns != 1 || c.No != 1 || c.Yes != 0 || c.Question != "100% CPU_load" || c.Source != insights.API {
			t.Errorf("a regenerated answer: %+v", c)
		}

		turns := must[[]insights.Turn](t)(s.Turns(t.Context(), acme, "b"))
		if len(turns) != 1 || turns[0].Rating != "down" || turns[0].Comment != "not what I asked" || !slices.Equal(turns[0].Cited, []string{"guide/proxy", "ref"}) || turns[0].FirstToken != 400 {
			t.Errorf("turns: %+v", turns)
		}
		if turns := must[[]insights.Turn](t)(s.Turns(t.Context(), acme, "c")); len(turns) != 2 || !turns[0].Replaced || turns[1].Replaced {
			t.Errorf("turns: %+v", turns)
		}
		if turns := must[[]insights.Turn](t)(s.Turns(t.Context(), acme, "z")); len(turns) != 0 {
			t.Errorf("another organization's conversation: %+v", turns)
		}
		for _, q := range []insights.Query{{Answered: "maybe"}, {Feedback: "sideways"}} {
			if _, err := s.Conversations(t.Context(), acme, q); err == nil {
				t.Errorf("no error for %+v", q)
			}
		}
	})
}

func TestTheSlowestReplies(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		for i, ms := range []int64{900, 0, 3000, 100, 5000} {
			put(t, s, reply(i, fmt.Sprint("t", ms), "Why?", "yes", func(r *insights.Reply) { r.FirstToken = ms }))
		}
		put(t, s, reply(-10*24*60, "earlier", "Why?", "yes", func(r *insights.Reply) { r.FirstToken = 9000 }))
		put(t, s, of(insights.Scope{Organization: "acme", Site: "other"}, reply(0, "elsewhere", "Why?", "yes", func(r *insights.Reply) { r.FirstToken = 9000 })))
		threads := func(limit int) (names []string) {
			for _, turn := range must[[]insights.Turn](t)(s.Slowest(t.Context(), acme, week, limit)) {
				names = append(names, turn.Thread)
			}
			return names
		}
		equal(t, "three", threads(3), []string{"t5000", "t3000", "t900"})
		equal(t, "all", threads(100), []string{"t5000", "t3000", "t900", "t100"})
		equal(t, "at least one", threads(0), []string{"t5000"})
	})
}

func TestAMessageHasOneVote(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		put(t, s, reply(0, "a", "One?", "yes"), reply(1, "a", "Two?", "yes"), of(other, reply(0, "z", "Foreign?", "yes")))
		put(t, s,
			vote(2, "a", "msg_a_0", "up", "first"),
			vote(3, "a", "msg_a_0", "down", "changed my mind"),
			vote(4, "a", "a chat hook's own id", "up", ""), // the last message
			vote(5, "a", "", "down", ""),                   // the same
			vote(6, "z", "", "down", "not their thread"),
			vote(7, "unknown", "", "down", "no such thread"),
		)
		o := overview(t, s, acme)
		if o.Up != 0 || o.Down != 2 {
			t.Errorf("up %d down %d", o.Up, o.Down)
		}
		put(t, s, vote(8, "a", "", "", ""), vote(9, "early", "", "up", "")) // withdrawn; not known
		known := vote(9, "early", "", "up", "")
		known.Vote.Known = true // its reply is in another process's batch
		put(t, s, known)
		page := insights.Event{At: at(10), Scope: acme, Source: insights.Widget, Vote: &insights.Vote{Path: "guide/start", Rating: "down", Comment: "typo"}}
		put(t, s, page, page)
		if o := overview(t, s, acme); o.Up != 1 || o.Down != 3 {
			t.Errorf("up %d down %d", o.Up, o.Down)
		}
		if c := must[[]insights.Conversation](t)(s.Conversations(t.Context(), acme, insights.Query{Period: week})); c[0].Up != 0 || c[0].Down != 1 {
			t.Errorf("conversation: %+v", c[0])
		}

		list := must[[]insights.Feedback](t)(s.Feedback(t.Context(), acme, insights.Query{Period: week}))
		if len(list) != 4 || list[0].Path != "guide/start" || list[3].Comment != "changed my mind" || list[3].Question != "One?" || list[3].Page != "guide/start" {
			t.Fatalf("%+v", list)
		}
		equal(t, "reasons", list[3].Reasons, []string{"wrong", "outdated"})
		id := list[3].ID
		if err := s.SetFeedback(t.Context(), acme, id, insights.Dismissed, "known"); err != nil {
			t.Fatal(err)
		}
		for _, in := range []insights.Scope{other, {Organization: "x", Site: "y"}} {
			if err := s.SetFeedback(t.Context(), in, id, insights.Done, ""); !errors.Is(err, insights.ErrUnknown) {
				t.Errorf("another organization's vote: %v", err)
			}
		}
		dismissed := must[[]insights.Feedback](t)(s.Feedback(t.Context(), acme, insights.Query{Period: week, State: insights.Dismissed, Feedback: "down", Comments: true}))
		if len(dismissed) != 1 || dismissed[0].Note != "known" {
			t.Errorf("%+v", dismissed)
		}
		rest := must[[]insights.Feedback](t)(s.Feedback(t.Context(), acme, insights.Query{Period: week, Before: list[1].Cursor}))
		if len(rest) != 2 {
			t.Errorf("after the second: %+v", rest)
		}
		pages := must[[]insights.PageVotes](t)(s.FeedbackPages(t.Context(), acme, insights.Query{Period: week}))
		equal(t, "pages", pages, []insights.PageVotes{{Path: "guide/start", Down: 2}})
	})
}

func TestAudit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		for i, what := range []string{"key created", "key revoked", "conversation erased"} {
			if err := s.AddAudit(t.Context(), insights.Audit{At: at(i), Scope: acme, Who: "ann", What: what, Target: "key_1"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.AddAudit(t.Context(), insights.Audit{Scope: other, Who: "eve", What: "foreign"}); err != nil {
			t.Fatal(err)
		}
		list := must[[]insights.Audit](t)(s.Audit(t.Context(), acme, insights.Query{Limit: 2}))
		if len(list) != 2 || list[0].What != "conversation erased" || list[0].Who != "ann" || !list[0].At.Equal(at(2)) {
			t.Fatalf("%+v", list)
		}
		rest := must[[]insights.Audit](t)(s.Audit(t.Context(), insights.Scope{Organization: "acme-inc"}, insights.Query{Before: list[1].Cursor}))
		if len(rest) != 1 || rest[0].What != "key created" {
			t.Errorf("%+v", rest)
		}
	})
}

func TestErase(t *testing.T) {
	fill := func(t *testing.T, s *insights.Store) {
		put(t, s,
			search(0, "jane doe's password", 0), search(1, "install", 2), click(2, "jane doe's password", "x", 1),
			reply(3, "a", "I am Jane Doe, help", "no"), reply(4, "a", "Still no", "no"), reply(5, "b", "Install?", "yes"),
			vote(6, "b", "", "down", "call JANE DOE"), vote(7, "a", "", "down", ""),
			search(-24*60, "yesterday", 1), reply(-24*60, "y", "Yesterday?", "no"),
			of(other, search(0, "jane doe elsewhere", 0)),
		)
	}
	left := func(t *testing.T, s *insights.Store, in insights.Scope) string {
		t.Helper()
		var b strings.Builder
		err := s.Export(t.Context(), in, insights.LastDays(30, at(60*24)), func(e insights.Event) error {
			fmt.Fprintf(&b, "%s %+v %+v %+v %+v\n", e.Kind(), e.Search, e.Click, e.Reply, e.Vote)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range must[[]insights.QueryStats](t)(s.Searches(t.Context(), in, insights.Query{Period: week})) {
			fmt.Fprintln(&b, "query", q.Query)
		}
		for _, g := range must[[]insights.Gap](t)(s.Unanswered(t.Context(), in, insights.Query{Period: week})) {
			fmt.Fprintln(&b, "gap", g.Wording, g.Group)
		}
		return b.String()
	}
	t.Run("text", func(t *testing.T) {
		onBoth(t, func(t *testing.T, s *insights.Store) {
			fill(t, s)
			if err := s.SetGap(t.Context(), acme, insights.Stems("I am Jane Doe, help"), insights.Done, ""); err != nil {
				t.Fatal(err)
			}
			done := must[insights.Erased](t)(s.Erase(t.Context(), acme, insights.Erasure{Text: "Jane Doe"}))
			slices.Sort(done.Threads)
			equal(t, "threads", done.Threads, []string{"a", "b"})
			if text := left(t, s, acme); strings.Contains(strings.ToLower(text), "jane") || !strings.Contains(text, "query install") || !strings.Contains(text, "Yesterday?") {
				t.Error(text)
			}
			if text := left(t, s, other); !strings.Contains(text, "jane doe elsewhere") {
				t.Error("another organization's text is gone")
			}
			if o := overview(t, s, acme); o.Searches != 3 {
				t.Errorf("the counts have gone too: %+v", o.Counts)
			}
		})
	})
	t.Run("thread", func(t *testing.T) {
		onBoth(t, func(t *testing.T, s *insights.Store) {
			fill(t, s)
			if done := must[insights.Erased](t)(s.Erase(t.Context(), other, insights.Erasure{Thread: "a"})); done.Rows != 0 {
				t.Errorf("another organization erased %d rows", done.Rows)
			}
			if done := must[insights.Erased](t)(s.Erase(t.Context(), acme, insights.Erasure{Thread: "a"})); done.Rows != 4 {
				t.Errorf("%+v", done)
			}
			if text := left(t, s, acme); strings.Contains(text, "Jane Doe, help") || !strings.Contains(text, "Install?") {
				t.Error(text)
			}
		})
	})
	t.Run("day", func(t *testing.T) {
		onBoth(t, func(t *testing.T, s *insights.Store) {
			fill(t, s)
			day := insights.DateOf(noon)
			done := must[insights.Erased](t)(s.Erase(t.Context(), acme, insights.Erasure{Day: &day}))
			slices.Sort(done.Threads)
			equal(t, "threads", done.Threads, []string{"a", "b"})
			if text := left(t, s, acme); strings.Contains(text, "install") || !strings.Contains(text, "query yesterday") || !strings.Contains(text, "Yesterday?") {
				t.Error(text)
			}
			if o := overview(t, s, acme); o.Searches != 1 || o.Replies != 1 {
				t.Errorf("%+v", o.Counts)
			}
		})
	})
	t.Run("unclear", func(t *testing.T) {
		onBoth(t, func(t *testing.T, s *insights.Store) {
			for _, e := range []insights.Erasure{{}, {Text: "ab"}, {Text: "abc", Thread: "a"}} {
				if _, err := s.Erase(t.Context(), acme, e); err == nil {
					t.Errorf("no error for %+v", e)
				}
			}
		})
	})
}

func TestPruneKeepsCountsAndFrequentTexts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		const day = 24 * 60
		var events []insights.Event
		for i := range 3 {
			events = append(events, search(-100*day+i, "frequent", 1))
		}
		events = append(events, search(-100*day, "rare", 1), search(-99*day, "rare", 0), search(-500*day, "ancient", 1), search(-500*day, "ancient", 1), search(-500*day, "ancient", 1),
			click(-100*day, "frequent", "x", 1), reply(-100*day, "old", "Old question?", "no"), vote(-100*day, "old", "", "up", ""),
			search(0, "fresh", 1), reply(0, "new", "New question?", "no"))
		put(t, s, events...)
		if err := s.SetGap(t.Context(), acme, insights.Stems("Old question?"), insights.Done, ""); err != nil {
			t.Fatal(err)
		}
		n := must[int64](t)(s.Prune(t.Context(), noon, 90*24*time.Hour))
		if n < 10 {
			t.Errorf("%d rows", n)
		}
		if n := must[int64](t)(s.Prune(t.Context(), noon, 90*24*time.Hour)); n != 0 {
			t.Errorf("%d rows are left for a second run", n)
		}
		year := insights.LastDays(700, noon)
		var texts []string
		for _, q := range must[[]insights.QueryStats](t)(s.Searches(t.Context(), acme, insights.Query{Period: year})) {
			texts = append(texts, q.Query)
		}
		equal(t, "texts", texts, []string{"frequent", "fresh"})
		o := must[insights.Overview](t)(s.Overview(t.Context(), acme, year))
		if o.Searches != 6 || o.Replies != 2 || o.Up != 1 {
			t.Errorf("counts: %+v", o.Counts)
		}
		count := 0
		if err := s.Export(t.Context(), acme, year, func(insights.Event) error { count++; return nil }); err != nil {
			t.Fatal(err)
		}
		if count != 2 {
			t.Errorf("%d events are left", count)
		}
	})
}

func TestExportGivesWhatWasStored(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		top := .75
		events := []insights.Event{
			search(0, "install", 3, func(e *insights.Event) { e.Search.Top, e.Search.Language = &top, "en" }),
			click(1, "install", "guide/install#linux", 2), reply(2, "a", "How?", "no"), vote(3, "a", "msg_a_2", "down", "no"),
		}
		put(t, s, events...)
		var got []insights.Event
		if err := s.Export(t.Context(), acme, week, func(e insights.Event) error { got = append(got, e); return nil }); err != nil {
			t.Fatal(err)
		}
		for i := range events {
			events[i].Key = "" // keys are counted by day, not stored with events
		}
		events[3].Vote.Path = "guide/start" // where it was asked
		equal(t, "events", got, events)

		stop := errors.New("enough")
		if err := s.Export(t.Context(), acme, week, func(insights.Event) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("the error of each: %v", err)
		}
	})
}

// The first schema's key of docs_day_query had no counts, and nothing counted
// cached tokens and missing pages.
func TestAPostgresDatabaseOfTheFirstSchemaIsMigrated(t *testing.T) {
	t.Parallel()
	dsn := newDSN(t)
	store := func() *insights.Store {
		s, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	put(t, store(), search(0, "install", 1))
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	for _, statement := range []string{
		"alter table docs_day_query drop constraint docs_day_query_pkey, add primary key (site, query, day)",
		"alter table docs_replies drop column cached_tokens",
		"alter table docs_day_site drop column cached_tokens",
		"drop table docs_day_missing, docs_missing",
		"update docs_schema set version = 1",
	} {
		if _, err := c.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	s := store()
	put(t, s, search(1, "install", 1), missing(1, "/old", "", "", ""))
	list, err := s.Searches(t.Context(), acme, insights.Query{Period: week})
	if err != nil || len(list) != 1 || list[0].Searches != 2 {
		t.Errorf("%+v %v", list, err)
	}
	var key string
	err = c.QueryRow(t.Context(), "select indexdef from pg_indexes where indexname = 'docs_day_query_pkey'").Scan(&key)
	if err != nil || !strings.Contains(key, "INCLUDE (searches") {
		t.Errorf("the key is %q (%v)", key, err)
	}
}

func TestHostileTexts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		texts := []string{"'; drop table docs_sites; --", "<script>alert(1)</script>", "\u202eevil", "=1+1", "\x00null", "\xff\xfe", strings.Repeat("long ", 30_000), "שלום עולם", "100%_\\"}
		var events []insights.Event
		for i, text := range texts {
			events = append(events, search(i, text, 0), reply(i, fmt.Sprint("t", i), text, "no"), click(i, text, text, -5), vote(i, fmt.Sprint("t", i), "", "down", text))
		}
		for i := range events {
			if !(insights.Privacy{}).Clean(&events[i]) {
				t.Fatal("not stored")
			}
		}
		put(t, s, events...)
		if o := overview(t, s, acme); o.Searches != int64(len(texts)) || o.Down != int64(len(texts)) {
			t.Errorf("%+v", o.Counts)
		}
		for _, text := range texts {
			_ = must[[]insights.Conversation](t)(s.Conversations(t.Context(), acme, insights.Query{Period: week, Text: text}))
		}
		_ = must[[]insights.Gap](t)(s.Unanswered(t.Context(), acme, insights.Query{Period: week}))
	})
}

// patiently does what the recorder does where another process holds the lock of
// a slow machine for longer than lockTimeout: it tries again.
func patiently(do func() error) (err error) {
	for range 20 {
		if err = do(); err == nil {
			return nil
		}
	}
	return err
}

func TestTwoProcessesWriteAtTheSameTime(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) func() (*insights.Store, error){
		"sqlite": func(t *testing.T) func() (*insights.Store, error) {
			file := filepath.Join(t.TempDir(), "x.db")
			return func() (*insights.Store, error) { return sqlite.Open(context.Background(), file) }
		},
		"postgres": func(t *testing.T) func() (*insights.Store, error) {
			dsn := newDSN(t)
			return func() (*insights.Store, error) { return postgres.Open(context.Background(), dsn) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := open(t)
			var wait sync.WaitGroup
			for p := range 3 {
				wait.Go(func() {
					var s *insights.Store
					err := patiently(func() (err error) { s, err = open(); return err }) // all of them migrate
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = s.Close() }()
					for i := range 10 {
						var events []insights.Event
						for j := range 50 {
							events = append(events, search(j, fmt.Sprint("query ", (j*7+p*13)%50), 1), reply(j, fmt.Sprint(p, "-", i, "-", j), "Why?", "no"))
						}
						id := fmt.Sprint(p, "/", i)
						if err := patiently(func() error { return s.Append(context.Background(), id, events) }); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wait.Wait()
			s := must[*insights.Store](t)(open())
			defer func() { _ = s.Close() }()
			if o := overview(t, s, acme); o.Searches != 1500 || o.Conversations != 1500 {
				t.Errorf("%+v", o.Counts)
			}
		})
	}
}
