package insights

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// clickWindow is how long after a search a click still belongs to it.
const clickWindow = 30 * 60

// batchMemory is how long the ids of batches are remembered.
const batchMemory = 24 * 60 * 60

// batch is a batch that is being stored.
type batch struct {
	*session
	sites   map[Scope]int64
	queries map[queryKey]*queryRow
	days    map[dayKey]*Counts
	missing map[missingKey]*missingRow
	pages   map[missingKey]map[string]map[string]bool // of a site's day: the addresses that it counts, with their sources
	rows    [][]any                                   // of the kind of events that is being added
}

type queryKey struct {
	site int64
	text string
}

type queryRow struct{ id, seen, none, weak, unclicked, first, last int64 }

// Append stores a batch of clean events and counts it, in one transaction. A
// batch whose id, unless it is "", is stored already changes nothing: storing
// one twice, after an error that came too late, is harmless.
func (s *Store) Append(ctx context.Context, id string, events []Event) error {
	b := &batch{
		sites: map[Scope]int64{}, queries: map[queryKey]*queryRow{}, days: map[dayKey]*Counts{},
		missing: map[missingKey]*missingRow{}, pages: map[missingKey]map[string]map[string]bool{},
	}
	s.mu.RLock()
	for i := range events {
		b.sites[events[i].Scope] = s.sites[events[i].Scope]
	}
	s.mu.RUnlock()
	err := s.transaction(ctx, func(t *session) error {
		b.session = t
		if id != "" {
			n, err := t.exec(`insert into docs_batches (id, at) values (?, ?) on conflict do nothing`, id, time.Now().Unix())
			if err != nil || n == 0 {
				return err
			}
		}
		if err := b.nameSites(); err != nil {
			return err
		}
		if err := b.nameQueries(events); err != nil {
			return err
		}
		for _, kind := range []struct {
			name  string
			add   func(*Event) error
			table string // of b.rows
		}{
			{"search", b.addSearch, "docs_searches (site, at, query, hits, top, tracked, clicks, language, source)"},
			{"reply", b.addReply, ""},
			{"click", b.addClick, "docs_clicks (site, at, query, page, position, source)"},
			{"vote", b.addVote, ""},
			{"missing", b.addMissing, ""},
		} {
			for i := range events {
				if e := &events[i]; e.Kind() == kind.name {
					if err := kind.add(e); err != nil {
						return fmt.Errorf("adding a %s: %w", kind.name, err)
					}
				}
			}
			if err := b.insert(kind.table, b.rows, "", nil, nil); err != nil {
				return err
			}
			b.rows = nil
		}
		if err := b.addMissingDays(); err != nil {
			return err
		}
		return b.addDays()
	})
	if err == nil { // only what was committed is remembered
		for in, site := range b.sites {
			if site != 0 {
				s.remember(in, site)
			}
		}
	}
	return err
}

// nameSites finds or adds the numbers of the sites. Here and below, rows are
// written in one order, so that two processes don't wait for each other.
func (b *batch) nameSites() error {
	for _, in := range slices.SortedFunc(maps.Keys(b.sites), func(a, b Scope) int {
		return cmp.Or(strings.Compare(a.Organization, b.Organization), strings.Compare(a.Site, b.Site))
	}) {
		if b.sites[in] != 0 {
			continue
		}
		if _, err := b.exec(`insert into docs_sites (organization, name) values (?, ?) on conflict do nothing`, in.Organization, in.Site); err != nil {
			return fmt.Errorf("adding a site: %w", err)
		}
		var id int64
		if _, err := b.get(into(&id), `select id from docs_sites where organization = ? and name = ?`, in.Organization, in.Site); err != nil {
			return err
		}
		b.sites[in] = id
	}
	return nil
}

// nameQueries finds or adds the numbers of the queries, and counts how often
// they were searched for.
func (b *batch) nameQueries(events []Event) error {
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
		key, day := queryKey{b.sites[e.Scope], text}, int64(DateOf(e.At))
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
	rows := make([][]any, len(keys))
	for i, k := range keys {
		q := b.queries[k]
		rows[i] = []any{k.site, k.text, q.seen, q.none, q.weak, q.unclicked, q.first, q.last}
	}
	var k queryKey
	var id int64
	// Scalar min and max have other names in Postgres, hence case.
	return b.insert("docs_queries (site, text, seen, none, weak, unclicked, first, last)", rows, `on conflict (site, text) do update set
			seen = docs_queries.seen + excluded.seen, none = docs_queries.none + excluded.none,
			weak = docs_queries.weak + excluded.weak, unclicked = docs_queries.unclicked + excluded.unclicked,
			first = case when excluded.first < docs_queries.first then excluded.first else docs_queries.first end,
			last = case when excluded.last > docs_queries.last then excluded.last else docs_queries.last end
		returning id, site, text`, into(&id, &k.site, &k.text), func() { b.queries[k].id = id })
}

// query returns the number of a query, nil for "".
func (b *batch) query(site int64, text string) any {
	if q := b.queries[queryKey{site, text}]; q != nil {
		return q.id
	}
	return nil
}

// tracked reports whether clicks on the hits of a search are reported.
func tracked(s *Search) bool { return s.Tracked && s.Hits > 0 }

func (b *batch) addSearch(e *Event) error {
	s, site := e.Search, b.sites[e.Scope]
	query := b.query(site, s.Query)
	b.rows = append(b.rows, []any{site, e.At.Unix(), query, s.Hits, s.Top, bit(tracked(s)), 0, s.Language, e.Source})

	c := Counts{Searches: 1, NoResult: bit(s.Hits == 0), Weak: bit(s.Weak()), Tracked: bit(tracked(s))}
	b.count(bySource, site, e.At, e.Source, c)
	b.count(byQuery, site, e.At, query, c)
	b.count(byKey, site, e.At, e.Key, c)
	return nil
}

// addClick adds a click to the newest tracked search for its query that has
// none yet. It is counted as clicked on the day of the search.
func (b *batch) addClick(e *Event) error {
	c, site, at := e.Click, b.sites[e.Scope], e.At.Unix()
	query := b.query(site, c.Query)
	b.rows = append(b.rows, []any{site, at, query, c.Path, c.Position, e.Source})
	counts := Counts{Clicks: 1, Positions: int64(c.Position)}
	b.count(bySource, site, e.At, e.Source, counts)
	b.count(byQuery, site, e.At, query, counts)
	if query == nil {
		return nil
	}
	var searched time.Time
	found, err := b.get(into(as(&searched, timeOf)), `update docs_searches set clicks = 1 where id = (
		select id from docs_searches
		where query = ? and tracked = 1 and clicks = 0 and at between ? and ?
		order by at desc, id desc limit 1) returning at`, query, at-clickWindow, at+60)
	if err != nil || !found {
		return err
	}
	b.count(bySource, site, searched, e.Source, Counts{Clicked: 1})
	b.count(byQuery, site, searched, query, Counts{Clicked: 1})
	_, err = b.exec(`update docs_queries set unclicked = unclicked - 1 where id = ?`, query)
	return err
}

// tally counts a reply by whether it was answered.
func tally(r *Reply) (c Counts) {
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

func (b *batch) addReply(e *Event) error {
	r, site, at := e.Reply, b.sites[e.Scope], e.At.Unix()
	now, before := tally(r), Counts{}
	turns := 1
	if r.Regenerated {
		var id int64
		old := Reply{}
		_, err := b.get(into(&id, &old.Outcome, &old.Answered),
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
	err := b.add(`docs_replies (site, at, thread, message, question, stems, outcome, answered, model, language, source,
		page, nearest, cited, input_tokens, output_tokens, cached_tokens, first_token, took, replaced)`,
		site, at, r.Thread, r.Message, r.Question, Stems(r.Question), r.Outcome, answered, r.Model, r.Language, e.Source,
		r.Page, r.Nearest, strings.Join(r.Cited, "\n"), r.InputTokens, r.OutputTokens, r.CachedTokens, r.FirstToken, r.Took, 0)
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
	count.Replies, count.CachedTokens = 1, int64(r.CachedTokens)
	count.InputTokens, count.OutputTokens = int64(r.InputTokens), int64(r.OutputTokens)
	if n == 0 {
		count.Conversations = 1
		err := b.add(`docs_conversations (site, thread, first, last, turns, question, page, source, yes, partly, no, failed, up, down)`,
			site, r.Thread, at, at, 1, r.Question, r.Page, e.Source, now.Yes, now.Partly, now.No, now.Failed, 0, 0)
		if err != nil {
			return err
		}
	}
	b.count(bySource, site, e.At, e.Source, count)
	b.count(byKey, site, e.At, e.Key, count)
	if r.FirstToken > 0 {
		b.count(byBucket, site, e.At, bucketOf(r.FirstToken), Counts{Replies: 1})
	}
	return nil
}

// addVote adds a vote, or replaces the one that its message has.
func (b *batch) addVote(e *Event) error {
	v, site, at := e.Vote, b.sites[e.Scope], e.At.Unix()
	rating := ratingOf(v.Rating)
	row := []any{
		site, at, v.Thread, v.Message, v.Path, rating, strings.Join(v.Reasons, "\n"), v.Comment, e.Source, New, "",
	}
	const table = "docs_votes (site, at, thread, message, page, rating, reasons, comment, source, state, note)"
	if v.Thread == "" {
		if rating == 0 {
			return nil
		}
		row[4] = cmp.Or(v.Path, "/")
		b.count(bySource, site, e.At, e.Source, Counts{Up: bit(rating > 0), Down: bit(rating < 0)})
		return b.add(table, row...)
	}

	// The vote is for the message that it names, else for the last one of its
	// thread, since chat hooks have their own ids.
	var message, page string
	_, err := b.get(into(&message, &page), `select message, page from docs_replies where site = ? and thread = ?
		order by case when message = ? then 0 else 1 end, id desc limit 1`, site, v.Thread, v.Message)
	if err != nil || message == "" && !v.Known {
		return err
	}
	row[3], row[4] = message, cmp.Or(v.Path, page)
	var old struct {
		id, rating int64
		at         time.Time
		source     string
	}
	found, err := b.get(into(&old.id, as(&old.at, timeOf), &old.rating, &old.source),
		`select id, at, rating, source from docs_votes where site = ? and thread = ? and message = ?`, site, v.Thread, message)
	if err != nil {
		return err
	}
	if found {
		b.count(bySource, site, old.at, old.source, Counts{Up: -bit(old.rating > 0), Down: -bit(old.rating < 0)})
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
	b.count(bySource, site, e.At, e.Source, Counts{Up: bit(rating > 0), Down: bit(rating < 0)})
	return b.add(table, row...)
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
