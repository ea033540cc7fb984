package insights

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// Export calls each with the events of a period that are still stored, by kind
// and oldest first.
func (s *Store) Export(ctx context.Context, in Scope, p Period, each func(Event) error) error {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return err
	}
	for _, kind := range []struct {
		query   string
		columns func(*Event) []any
	}{
		{`select s.at, s.source, coalesce(q.text, ''), s.hits, s.top, s.tracked, s.language
			from docs_searches s left join docs_queries q on q.id = s.query where s.site = ? and s.at >= ? and s.at < ? order by s.at, s.id`, func(e *Event) []any {
			e.Search = new(Search)
			return into(as(&e.At, timeOf), &e.Source, &e.Search.Query, &e.Search.Hits, &e.Search.Top, &e.Search.Tracked, &e.Search.Language)
		}},
		{`select c.at, c.source, coalesce(q.text, ''), c.page, c.position
			from docs_clicks c left join docs_queries q on q.id = c.query where c.site = ? and c.at >= ? and c.at < ? order by c.at, c.id`, func(e *Event) []any {
			e.Click = new(Click)
			return into(as(&e.At, timeOf), &e.Source, &e.Click.Query, &e.Click.Path, &e.Click.Position)
		}},
		{`select r.at, r.source, ` + turnColumns + ` from docs_replies r where r.site = ? and r.at >= ? and r.at < ? order by r.at, r.id`, func(e *Event) []any {
			t := new(Turn)
			e.Reply = &t.Reply
			return append(into(as(&e.At, timeOf), &e.Source), t.into()...)
		}},
		{`select v.at, v.source, v.thread, v.message, v.page, v.rating, v.reasons, v.comment
			from docs_votes v where v.site = ? and v.at >= ? and v.at < ? order by v.at, v.id`, func(e *Event) []any {
			e.Vote = new(Vote)
			return into(as(&e.At, timeOf), &e.Source, &e.Vote.Thread, &e.Vote.Message, &e.Vote.Path, as(&e.Vote.Rating, nameOf), as(&e.Vote.Reasons, lines), &e.Vote.Comment)
		}},
	} {
		err := s.reading(ctx).each(func(rows *sql.Rows) error {
			e := Event{Scope: in}
			if err := rows.Scan(kind.columns(&e)...); err != nil {
				return err
			}
			return each(e)
		}, kind.query, append([]any{site}, p.bounds()...)...)
		if err != nil {
			return err
		}
	}
	return nil
}

// WriteLine writes an event as a line of JSON, its kind in front.
func WriteLine(w io.Writer, e Event) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Kind string `json:"kind"`
		Event
	}{e.Kind(), e})
}

// FileOutlet returns an outlet of a Recorder that appends lines to a file. It
// opens the file for each batch, so that the file may be moved away at any time.
func FileOutlet(file string) func(lines []byte) error {
	return func(lines []byte) error {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		before, err := f.Stat()
		if err == nil {
			if _, err = f.Write(lines); err != nil {
				_ = f.Truncate(before.Size()) // no half lines on a full disk
			}
		}
		if closing := f.Close(); err == nil {
			err = closing
		}
		return err
	}
}
