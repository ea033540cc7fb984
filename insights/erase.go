package insights

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Erasure names what to delete: exactly one of its fields is set.
type Erasure struct {
	// Thread is a conversation.
	Thread string `json:"thread,omitempty"`
	// Text erases every query, question, comment and missing page that contains it,
	// in any case, and the conversations with it. At least minErase characters.
	Text string `json:"text,omitempty"`
	// Day erases all of a day, UTC.
	Day *Date `json:"day,omitempty"`
}

// minErase is the length of the shortest text that can be erased.
const minErase = 3

// Check returns an error unless exactly one field is set.
func (e *Erasure) Check() error {
	n := 0
	for _, set := range []bool{e.Thread != "", e.Text != "", e.Day != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("name one thing to erase: a thread, a text or a day")
	}
	if e.Text != "" && len([]rune(e.Text)) < minErase {
		return fmt.Errorf("text %q must have at least %d characters: everything that contains it is erased", e.Text, minErase)
	}
	return nil
}

// Erased says what was deleted.
type Erased struct {
	Rows int64 `json:"rows"`
	// Threads are the conversations: of Store.Erase those whose texts must be
	// deleted as well where threads are kept, of the admin API those whose texts
	// were.
	Threads []string `json:"threads,omitempty"`
}

// Erase deletes what an erasure names. Only the erasure of a day deletes its
// counts as well.
func (s *Store) Erase(ctx context.Context, in Scope, e Erasure) (done Erased, err error) {
	if err := e.Check(); err != nil {
		return done, err
	}
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return done, err
	}
	err = s.transaction(ctx, func(t *session) error {
		x := &eraser{session: t, site: site, done: &done}
		switch {
		case e.Thread != "":
			return x.threads([]string{e.Thread})
		case e.Text != "":
			return x.text(e.Text)
		}
		return x.day(*e.Day)
	})
	return done, err
}

type eraser struct {
	*session
	site int64
	done *Erased
}

func (x *eraser) delete(from string, args ...any) error {
	n, err := x.exec("delete from "+from, args...)
	x.done.Rows += n
	return err
}

func (x *eraser) threads(ids []string) error {
	for _, id := range ids {
		for _, table := range []string{"docs_replies", "docs_conversations", "docs_votes"} {
			if err := x.delete(table+" where site = ? and thread = ?", x.site, id); err != nil {
				return err
			}
		}
	}
	x.done.Threads = append(x.done.Threads, ids...)
	// A group without questions goes: its name is words of them.
	err := x.delete(`docs_gaps where site = ? and not exists (
		select 1 from docs_replies r where r.site = docs_gaps.site and r.stems = docs_gaps.stems)`, x.site)
	if err != nil {
		return err
	}
	return x.delete(`docs_missing where site = ? and not exists (
		select 1 from docs_day_missing r where r.site = docs_missing.site and r.path = docs_missing.path)`, x.site)
}

// containing returns the ids of rows whose text contains another. Databases fold
// case differently, so that Go compares.
func containing[T cmp.Ordered](x *eraser, text, query string) (ids []T, err error) {
	var id T
	var in string
	err = x.scan(into(&id, &in), func() {
		if strings.Contains(strings.ToLower(in), strings.ToLower(text)) {
			ids = append(ids, id)
		}
	}, query, slices.Repeat([]any{x.site}, strings.Count(query, "?"))...)
	slices.Sort(ids)
	return slices.Compact(ids), err
}

func (x *eraser) text(text string) error {
	queries, err := containing[int64](x, text, `select id, text from docs_queries where site = ?`)
	if err != nil {
		return err
	}
	votes, err := containing[int64](x, text, `select id, comment from docs_votes where site = ?`)
	if err != nil {
		return err
	}
	threads, err := containing[string](x, text, `select thread, question from docs_replies where site = ?
		union all select thread, question from docs_conversations where site = ?
		union all select thread, comment from docs_votes where site = ? and thread <> ''`)
	if err != nil {
		return err
	}
	for _, id := range queries {
		for _, from := range []string{
			"docs_searches where query = ?", "docs_clicks where query = ?", "docs_day_query where query = ? and site = ?", "docs_queries where id = ?",
		} {
			if err := x.delete(from, []any{id, x.site}[:strings.Count(from, "?")]...); err != nil {
				return err
			}
		}
	}
	for _, id := range votes {
		if err := x.delete("docs_votes where id = ?", id); err != nil {
			return err
		}
	}
	for _, of := range []string{"path", "sent", "target"} {
		found, err := containing[string](x, text, `select `+of+`, `+of+` from docs_day_missing where site = ?`)
		if err != nil {
			return err
		}
		for _, v := range found {
			if err := x.delete("docs_day_missing where site = ? and "+of+" = ?", x.site, v); err != nil {
				return err
			}
		}
	}
	return x.threads(threads)
}

func (x *eraser) day(d Date) error {
	from, to := d.Time().Unix(), (d + 1).Time().Unix()
	ids, err := rowsOf(x.session, func(id *string) []any { return into(id) }, `select distinct thread from docs_replies
		where site = ? and at >= ? and at < ?`, x.site, from, to)
	if err != nil {
		return err
	}
	for _, table := range []string{"docs_searches", "docs_clicks", "docs_votes"} {
		if err := x.delete(table+" where site = ? and at >= ? and at < ?", x.site, from, to); err != nil {
			return err
		}
	}
	for _, table := range []string{"docs_day_site", "docs_day_query", "docs_day_key", "docs_day_latency", "docs_day_missing"} {
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

// Prune deletes what is older than the retention, in slices, until ctx ends or
// nothing is left. It returns how many rows it deleted.
func (s *Store) Prune(ctx context.Context, now time.Time, retention time.Duration) (total int64, err error) {
	sites, err := rowsOf(s.reading(ctx), func(id *int64) []any { return into(id) }, `select id from docs_sites`)
	if err != nil {
		return 0, err
	}
	cutoff := now.Add(-retention).Unix()
	day := int64(DateOf(now.Add(-retention)))
	oldest := int64(DateOf(now.Add(-rollups)))
	run := func(query string, args ...any) error {
		for {
			var n int64
			err := s.transaction(ctx, func(t *session) (err error) {
				n, err = t.exec(query, args...)
				return err
			})
			total += n
			if err != nil || n == 0 {
				return err
			}
		}
	}
	raw := func(table, at string) string {
		return `delete from docs_` + table + ` where id in (select id from docs_` + table + ` where site = ? and ` + at + ` < ? limit ?)`
	}
	for _, site := range sites {
		for _, step := range []struct {
			query string
			args  []any
		}{
			{raw("searches", "at"), []any{site, cutoff, slice}},
			{raw("clicks", "at"), []any{site, cutoff, slice}},
			{raw("replies", "at"), []any{site, cutoff, slice}},
			{raw("votes", "at"), []any{site, cutoff, slice}},
			{raw("conversations", "last"), []any{site, cutoff, slice}},
			// A rare text has at most frequent - 1 days, between first and last.
			{`delete from docs_day_query where site = ? and (day, query) in (
				select d.day, d.query from docs_queries q join docs_day_query d on d.site = q.site and d.query = q.id and d.day in (q.first, q.last)
				where q.site = ? and q.seen < ? and q.last < ? limit ?)`, []any{site, site, frequent, day, slice}},
			{`delete from docs_queries where id in (
				select id from docs_queries where site = ? and (seen < ? and last < ? or last < ?) limit ?)`, []any{site, frequent, day, oldest, slice}},
			{`delete from docs_gaps where site = ? and at < ? and not exists (
				select 1 from docs_replies r where r.site = docs_gaps.site and r.stems = docs_gaps.stems)`, []any{site, cutoff}},
			{`delete from docs_day_missing where site = ? and day = (select min(day) from docs_day_missing where site = ? and day < ?)`, []any{site, site, day}},
			{`delete from docs_missing where site = ? and at < ? and not exists (
				select 1 from docs_day_missing r where r.site = docs_missing.site and r.path = docs_missing.path)`, []any{site, cutoff}},
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
	if err := run(`delete from docs_audit where at < ?`, now.Add(-rollups).Unix()); err != nil {
		return total, err
	}
	if err := run(`delete from docs_batches where at < ?`, now.Unix()-batchMemory); err != nil || s.Shrink == nil {
		return total, err
	}
	return total, s.Shrink(ctx)
}
