package database

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// clickWindow is how long after a search a click still belongs to it.
const clickWindow = 30 * 60

// batchMemory is how long the ids of batches are remembered.
const batchMemory = 24 * 60 * 60

// batch is a batch that is being stored.
type batch struct {
	*tx
	sites   map[insights.Scope]int64
	queries map[queryKey]*queryRow
	days    rollups
}

type queryKey struct {
	site int64
	text string
}

type queryRow struct{ id, seen, none, weak, unclicked, first, last int64 }

// Append stores a batch and counts it, in one transaction.
func (s *Store) Append(ctx context.Context, in insights.Batch) error {
	var sites map[insights.Scope]int64
	err := s.transaction(ctx, func(t *tx) error {
		now := time.Now().Unix()
		if in.ID != "" {
			n, err := t.exec(`insert into docs_batches (id, at) values (?, ?) on conflict do nothing`, in.ID, now)
			if err != nil || n == 0 {
				return err
			}
		}
		b := &batch{tx: t, queries: map[queryKey]*queryRow{}, days: newRollups()}
		var err error
		if b.sites, err = s.nameSites(t, in.Events); err != nil {
			return err
		}
		sites = b.sites
		for _, step := range []func([]insights.Event) error{b.nameQueries, b.addSearches, b.addReplies, b.addClicks, b.addVotes} {
			if err := step(in.Events); err != nil {
				return err
			}
		}
		return b.days.write(t)
	})
	if err == nil { // only what was committed is remembered
		for in, id := range sites {
			s.remember(in, id)
		}
	}
	return err
}

// nameSites finds or adds the numbers of the sites. Here and below, rows are
// written in one order, so that two processes don't wait for each other.
func (s *Store) nameSites(t *tx, events []insights.Event) (map[insights.Scope]int64, error) {
	sites := map[insights.Scope]int64{}
	s.mu.RLock()
	for i := range events {
		in := events[i].Scope
		sites[in] = s.sites[in]
	}
	s.mu.RUnlock()
	for _, in := range slices.SortedFunc(maps.Keys(sites), func(a, b insights.Scope) int {
		return cmp.Or(strings.Compare(a.Organization, b.Organization), strings.Compare(a.Site, b.Site))
	}) {
		if sites[in] != 0 {
			continue
		}
		if _, err := t.exec(`insert into docs_sites (organization, name) values (?, ?) on conflict do nothing`, in.Organization, in.Site); err != nil {
			return nil, fmt.Errorf("adding a site: %w", err)
		}
		var id int64
		err := t.each(func(scan func(...any) error) error { return scan(&id) },
			`select id from docs_sites where organization = ? and name = ?`, in.Organization, in.Site)
		if err != nil {
			return nil, err
		}
		sites[in] = id
	}
	return sites, nil
}

// nameQueries finds or adds the numbers of the queries, and counts how often
// they were searched for.
func (b *batch) nameQueries(events []insights.Event) error {
	for i := range events {
		e := &events[i]
		text := ""
		switch {
		case e.Search != nil:
			text = e.Search.Query
		case e.Click != nil:
			text = e.Click.Query
		}
		if text == "" {
			continue
		}
		key, day := queryKey{b.sites[e.Scope], text}, int64(insights.DateOf(e.At))
		q := b.queries[key]
		if q == nil {
			q = &queryRow{first: day, last: day}
			b.queries[key] = q
		}
		if s := e.Search; s != nil {
			q.seen++
			q.none += bit(s.Hits == 0)
			q.weak += bit(s.Weak())
			q.unclicked += bit(tracked(s))
		}
		q.first, q.last = min(q.first, day), max(q.last, day)
	}
	keys := slices.SortedFunc(maps.Keys(b.queries), func(x, y queryKey) int {
		return cmp.Or(cmp.Compare(x.site, y.site), strings.Compare(x.text, y.text))
	})
	for part := range slices.Chunk(keys, 50) {
		args := make([]any, 0, 8*len(part))
		for _, k := range part {
			q := b.queries[k]
			args = append(args, k.site, k.text, q.seen, q.none, q.weak, q.unclicked, q.first, q.last)
		}
		// Scalar min and max have other names in Postgres, hence case.
		err := b.each(func(scan func(...any) error) error {
			var k queryKey
			var id int64
			if err := scan(&id, &k.site, &k.text); err != nil {
				return err
			}
			b.queries[k].id = id
			return nil
		}, `insert into docs_queries (site, text, seen, none, weak, unclicked, first, last) values `+
			strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?, ?, ?, ?, ?), ", len(part)), ", ")+`
			on conflict (site, text) do update set
				seen = docs_queries.seen + excluded.seen, none = docs_queries.none + excluded.none,
				weak = docs_queries.weak + excluded.weak, unclicked = docs_queries.unclicked + excluded.unclicked,
				first = case when excluded.first < docs_queries.first then excluded.first else docs_queries.first end,
				last = case when excluded.last > docs_queries.last then excluded.last else docs_queries.last end
			returning id, site, text`, args...)
		if err != nil {
			return fmt.Errorf("adding queries: %w", err)
		}
	}
	return nil
}

// query returns the number of a query, nil for "".
func (b *batch) query(site int64, text string) any {
	if q := b.queries[queryKey{site, text}]; q != nil {
		return q.id
	}
	return nil
}

// tracked reports whether clicks on the hits of a search are reported.
func tracked(s *insights.Search) bool { return s.Tracked && s.Hits > 0 }

func (b *batch) addSearches(events []insights.Event) error {
	var rows [][]any
	for i := range events {
		e := &events[i]
		if e.Search == nil {
			continue
		}
		s, site := e.Search, b.sites[e.Scope]
		query := b.query(site, s.Query)
		var top any
		if s.Top != nil {
			top = *s.Top
		}
		rows = append(rows, []any{site, e.At.Unix(), query, s.Hits, top, bit(tracked(s)), 0, s.Language, string(e.Source)})

		c := insights.Counts{Searches: 1, NoResult: bit(s.Hits == 0), Weak: bit(s.Weak()), Tracked: bit(tracked(s))}
		b.days.site(site, e, c)
		b.days.query(site, e, query, c)
		b.days.key(site, e, c)
	}
	return b.insert("docs_searches (site, at, query, hits, top, tracked, clicks, language, source)", 9, rows, "")
}

// addClicks adds clicks, each to the newest tracked search for its query that
// has none yet.
func (b *batch) addClicks(events []insights.Event) error {
	var rows [][]any
	for i := range events {
		e := &events[i]
		if e.Click == nil {
			continue
		}
		c, site, at := e.Click, b.sites[e.Scope], e.At.Unix()
		query := b.query(site, c.Query)
		rows = append(rows, []any{site, at, query, c.Path, c.Position, string(e.Source)})

		counts := insights.Counts{Clicks: 1, Positions: int64(c.Position)}
		if query != nil {
			if err := b.clicked(site, e, query); err != nil {
				return fmt.Errorf("adding a click: %w", err)
			}
		}
		b.days.site(site, e, counts)
		b.days.query(site, e, query, counts)
	}
	return b.insert("docs_clicks (site, at, query, page, position, source)", 6, rows, "")
}

// clicked marks the search that a click belongs to, and counts it on the day of
// the search.
func (b *batch) clicked(site int64, e *insights.Event, query any) error {
	at, searched := e.At.Unix(), int64(-1)
	err := b.each(func(scan func(...any) error) error { return scan(&searched) }, `update docs_searches set clicks = 1 where id = (
		select id from docs_searches
		where query = ? and tracked = 1 and clicks = 0 and at between ? and ?
		order by at desc, id desc limit 1) returning at`, query, at-clickWindow, at+60)
	if err != nil || searched < 0 {
		return err
	}
	search := insights.Event{At: time.Unix(searched, 0), Source: e.Source}
	b.days.site(site, &search, insights.Counts{Clicked: 1})
	b.days.query(site, &search, query, insights.Counts{Clicked: 1})
	_, err = b.exec(`update docs_queries set unclicked = unclicked - 1 where id = ?`, query)
	return err
}

func (b *batch) addReplies(events []insights.Event) error {
	for i := range events {
		if events[i].Reply == nil {
			continue
		}
		if err := b.addReply(&events[i]); err != nil {
			return fmt.Errorf("adding a reply: %w", err)
		}
	}
	return nil
}

// tally counts a reply by whether it was answered.
func tally(r *insights.Reply) (c insights.Counts) {
	switch {
	case !r.Judged():
		c.Failed = 1
	case r.Answered == "yes":
		c.Yes = 1
	case r.Answered == "partly":
		c.Partly = 1
	default:
		c.No = 1
	}
	return c
}

func (b *batch) addReply(e *insights.Event) error {
	r, site, at := e.Reply, b.sites[e.Scope], e.At.Unix()
	now, before := tally(r), insights.Counts{}
	turns := 1
	if r.Regenerated {
		var id int64
		old := insights.Reply{}
		err := b.each(func(scan func(...any) error) error { return scan(&id, &old.Outcome, &old.Answered) },
			`select id, outcome, answered from docs_replies where site = ? and thread = ? and replaced = 0 order by id desc limit 1`, site, r.Thread)
		if err != nil {
			return err
		}
		if id != 0 {
			turns, before = 0, tally(&old)
			if _, err := b.exec(`update docs_replies set replaced = 1 where id = ?`, id); err != nil {
				return err
			}
		}
	}
	answered := r.Answered
	if !r.Judged() {
		answered = ""
	}
	err := b.insert(`docs_replies (site, at, thread, message, question, stems, outcome, answered, model, language, source,
		page, nearest, cited, input_tokens, output_tokens, first_token, took, replaced)`, 19, [][]any{{
		site, at, r.Thread, r.Message, r.Question, insights.Stems(r.Question), r.Outcome, answered, r.Model, r.Language, string(e.Source),
		r.Page, r.Nearest, strings.Join(r.Cited, "\n"), r.InputTokens, r.OutputTokens, r.FirstToken, r.Took, 0,
	}}, "")
	if err != nil {
		return err
	}

	n, err := b.exec(`update docs_conversations set last = case when last < ? then ? else last end, turns = turns + ?,
		yes = yes + ?, partly = partly + ?, no = no + ?, failed = failed + ? where site = ? and thread = ?`,
		at, at, turns, now.Yes-before.Yes, now.Partly-before.Partly, now.No-before.No, now.Failed-before.Failed, site, r.Thread)
	if err != nil {
		return err
	}
	count := now
	count.Replies, count.InputTokens, count.OutputTokens = 1, int64(r.InputTokens), int64(r.OutputTokens)
	if n == 0 {
		count.Conversations = 1
		err := b.insert(`docs_conversations (site, thread, first, last, turns, question, page, source, yes, partly, no, failed, up, down)`, 14,
			[][]any{{site, r.Thread, at, at, 1, r.Question, r.Page, string(e.Source), now.Yes, now.Partly, now.No, now.Failed, 0, 0}}, "")
		if err != nil {
			return err
		}
	}
	b.days.site(site, e, count)
	b.days.key(site, e, count)
	if r.FirstToken > 0 {
		b.days.latency(site, e, r.FirstToken)
	}
	return nil
}

func (b *batch) addVotes(events []insights.Event) error {
	for i := range events {
		if events[i].Vote == nil {
			continue
		}
		if err := b.addVote(&events[i]); err != nil {
			return fmt.Errorf("adding a vote: %w", err)
		}
	}
	return nil
}

// addVote adds a vote, or replaces the one that its message has.
func (b *batch) addVote(e *insights.Event) error {
	v, site, at := e.Vote, b.sites[e.Scope], e.At.Unix()
	rating := ratingOf(v.Rating)
	row := []any{site, at, v.Thread, v.Message, v.Path, rating, strings.Join(v.Reasons, "\n"), v.Comment, string(e.Source), string(insights.New), ""}
	const into = "docs_votes (site, at, thread, message, page, rating, reasons, comment, source, state, note)"
	if v.Thread == "" {
		if rating == 0 || v.Path == "" {
			return nil
		}
		b.days.site(site, e, insights.Counts{Up: bit(rating > 0), Down: bit(rating < 0)})
		return b.insert(into, 11, [][]any{row}, "")
	}

	message, page, err := b.voted(site, v)
	if err != nil || message == "" && !v.Known {
		return err
	}
	row[3], row[4] = message, cmp.Or(v.Path, page)
	var old struct {
		id, at, rating int64
		source         string
	}
	err = b.each(func(scan func(...any) error) error { return scan(&old.id, &old.at, &old.rating, &old.source) },
		`select id, at, rating, source from docs_votes where site = ? and thread = ? and message = ?`, site, v.Thread, message)
	if err != nil {
		return err
	}
	if old.id != 0 {
		gone := insights.Event{At: time.Unix(old.at, 0), Source: insights.Source(old.source)}
		b.days.site(site, &gone, insights.Counts{Up: -bit(old.rating > 0), Down: -bit(old.rating < 0)})
		if _, err := b.exec(`delete from docs_votes where id = ?`, old.id); err != nil {
			return err
		}
	}
	up, down := bit(rating > 0)-bit(old.rating > 0), bit(rating < 0)-bit(old.rating < 0)
	if _, err := b.exec(`update docs_conversations set up = up + ?, down = down + ? where site = ? and thread = ?`, up, down, site, v.Thread); err != nil {
		return err
	}
	if rating == 0 {
		return nil
	}
	b.days.site(site, e, insights.Counts{Up: bit(rating > 0), Down: bit(rating < 0)})
	return b.insert(into, 11, [][]any{row}, "")
}

// voted returns the message that a vote is for and the page where it was
// asked: the message that it names, else the last one of its thread, since
// chat hooks have their own ids; "" if the thread has none.
func (b *batch) voted(site int64, v *insights.Vote) (message, page string, err error) {
	err = b.each(func(scan func(...any) error) error { return scan(&message, &page) },
		`select message, page from docs_replies where site = ? and thread = ?
		order by case when message = ? then 0 else 1 end, id desc limit 1`, site, v.Thread, v.Message)
	return message, page, err
}

func ratingOf(rating string) int64 {
	switch rating {
	case "up":
		return 1
	case "down":
		return -1
	}
	return 0
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
