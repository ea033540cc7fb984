package database

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// Erase deletes what an erasure names.
func (s *Store) Erase(ctx context.Context, in insights.Scope, e insights.Erasure) (done insights.Erased, err error) {
	if err := e.Check(); err != nil {
		return done, err
	}
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return done, err
	}
	err = s.transaction(ctx, func(t *tx) error {
		x := &eraser{tx: t, site: site}
		switch {
		case e.Thread != "":
			err = x.threads([]string{e.Thread})
		case e.Text != "":
			err = x.text(e.Text)
		default:
			err = x.day(*e.Day)
		}
		done = insights.Erased{Rows: x.rows, Threads: x.erased}
		return err
	})
	return done, err
}

type eraser struct {
	*tx
	site   int64
	rows   int64
	erased []string
}

func (x *eraser) delete(from string, args ...any) error {
	n, err := x.exec("delete from "+from, args...)
	x.rows += n
	return err
}

// threads deletes conversations.
func (x *eraser) threads(ids []string) error {
	for _, id := range ids {
		for _, table := range []string{"docs_replies", "docs_conversations", "docs_votes"} {
			if err := x.delete(table+" where site = ? and thread = ?", x.site, id); err != nil {
				return err
			}
		}
	}
	x.erased = append(x.erased, ids...)
	return x.emptyGaps()
}

// emptyGaps deletes groups without questions: their names are words of them.
func (x *eraser) emptyGaps() error {
	return x.delete(`docs_gaps where site = ? and not exists (
		select 1 from docs_replies r where r.site = docs_gaps.site and r.stems = docs_gaps.stems)`, x.site)
}

// text deletes what contains a text. Databases fold case differently, so that
// Go compares.
func (x *eraser) text(text string) error {
	wanted := strings.ToLower(text)
	found := func(ids *[]any) func(func(...any) error) error {
		return func(scan func(...any) error) error {
			var id any
			var s string
			if err := scan(&id, &s); err != nil {
				return err
			}
			if strings.Contains(strings.ToLower(s), wanted) {
				*ids = append(*ids, id)
			}
			return nil
		}
	}
	var queries, threads, votes []any
	for _, look := range []struct {
		ids   *[]any
		query string
	}{
		{&queries, `select id, text from docs_queries where site = ?`},
		{&threads, `select thread, question from docs_replies where site = ?`},
		{&threads, `select thread, question from docs_conversations where site = ?`},
		{&threads, `select thread, comment from docs_votes where site = ? and thread <> ''`},
		{&votes, `select id, comment from docs_votes where site = ?`},
	} {
		if err := x.each(found(look.ids), look.query, x.site); err != nil {
			return err
		}
	}
	for _, id := range queries {
		for _, table := range []string{"docs_searches where query", "docs_clicks where query", "docs_day_query where site = ? and query", "docs_queries where id"} {
			args := []any{id}
			if strings.Contains(table, "?") {
				args = []any{x.site, id}
			}
			if err := x.delete(table+" = ?", args...); err != nil {
				return err
			}
		}
	}
	for _, id := range votes {
		if err := x.delete("docs_votes where id = ?", id); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	var ids []string
	for _, id := range threads {
		if name := fmt.Sprint(id); !seen[name] {
			seen[name] = true
			ids = append(ids, name)
		}
	}
	return x.threads(ids)
}

// day deletes a day, with its counts.
func (x *eraser) day(d insights.Date) error {
	from, to := d.Time().Unix(), (d + 1).Time().Unix()
	var ids []string
	err := x.each(func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, `select distinct thread from docs_replies where site = ? and at >= ? and at < ?`, x.site, from, to)
	if err != nil {
		return err
	}
	for _, table := range []string{"docs_searches", "docs_clicks", "docs_votes"} {
		if err := x.delete(table+" where site = ? and at >= ? and at < ?", x.site, from, to); err != nil {
			return err
		}
	}
	for _, table := range []string{"docs_day_site", "docs_day_query", "docs_day_key", "docs_day_latency"} {
		if err := x.delete(table+" where site = ? and day = ?", x.site, int64(d)); err != nil {
			return err
		}
	}
	err = x.delete(`docs_queries where site = ? and first <= ? and last >= ? and not exists (
		select 1 from docs_day_query d where d.site = docs_queries.site and d.query = docs_queries.id and d.day between docs_queries.first and docs_queries.last)`,
		x.site, int64(d), int64(d))
	if err != nil {
		return err
	}
	return x.threads(ids)
}

// slice is how many rows one transaction of Prune deletes at most, so that
// batches don't wait for it.
const slice = 5000

// Prune deletes what is older than its retention.
func (s *Store) Prune(ctx context.Context, now time.Time, retention time.Duration) (total int64, err error) {
	sites := map[int64]bool{}
	err = s.each(ctx, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		sites[id] = true
		return err
	}, `select id from docs_sites`)
	if err != nil {
		return 0, err
	}
	cutoff := now.Add(-retention).Unix()
	day := int64(insights.DateOf(now.Add(-retention)))
	oldest := int64(insights.DateOf(now.Add(-insights.Rollups)))
	run := func(query string, args ...any) error {
		for {
			var n int64
			err := s.transaction(ctx, func(t *tx) (err error) {
				n, err = t.exec(query, args...)
				return err
			})
			total += n
			if err != nil || n == 0 {
				return err
			}
		}
	}
	for site := range sites {
		for _, table := range []string{"searches", "clicks", "replies", "votes"} {
			err := run(`delete from docs_`+table+` where id in (select id from docs_`+table+` where site = ? and at < ? limit ?)`, site, cutoff, slice)
			if err != nil {
				return total, err
			}
		}
		for _, step := range []struct {
			query string
			args  []any
		}{
			{`delete from docs_conversations where id in (select id from docs_conversations where site = ? and last < ? limit ?)`, []any{site, cutoff, slice}},
			// A rare text has at most Frequent - 1 days, between first and last.
			{`delete from docs_day_query where site = ? and (day, query) in (
				select d.day, d.query from docs_queries q join docs_day_query d on d.site = q.site and d.query = q.id and d.day in (q.first, q.last)
				where q.site = ? and q.seen < ? and q.last < ? limit ?)`, []any{site, site, insights.Frequent, day, slice}},
			{
				`delete from docs_queries where id in (select id from docs_queries where site = ? and (seen < ? and last < ? or last < ?) limit ?)`,
				[]any{site, insights.Frequent, day, oldest, slice},
			},
			{`delete from docs_gaps where site = ? and at < ? and not exists (
				select 1 from docs_replies r where r.site = docs_gaps.site and r.stems = docs_gaps.stems)`, []any{site, cutoff}},
			{`delete from docs_day_query where site = ? and day < ? and query in (
				select query from docs_day_query where site = ? and day < ? limit ?)`, []any{site, oldest, site, oldest, slice}},
			{`delete from docs_day_site where site = ? and day < ?`, []any{site, oldest}},
			{`delete from docs_day_key where site = ? and day < ?`, []any{site, oldest}},
			{`delete from docs_day_latency where site = ? and day < ?`, []any{site, oldest}},
		} {
			if err := run(step.query, step.args...); err != nil {
				return total, err
			}
		}
	}
	if err := run(`delete from docs_audit where at < ?`, now.Add(-insights.Rollups).Unix()); err != nil {
		return total, err
	}
	return total, run(`delete from docs_batches where at < ?`, now.Unix()-batchMemory)
}
