package database

import (
	"context"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// Export calls each with the events of a period.
func (s *Store) Export(ctx context.Context, in insights.Scope, p insights.Period, each func(insights.Event) error) error {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return err
	}
	from, to := bounds(p)
	event := func(at int64, source string) insights.Event {
		return insights.Event{At: time.Unix(at, 0).UTC(), Scope: in, Source: insights.Source(source)}
	}
	for _, kind := range []struct {
		query string
		read  func(scan func(...any) error) error
	}{
		{
			`select s.at, s.source, coalesce(q.text, ''), s.hits, s.top, s.tracked, s.language
			from docs_searches s left join docs_queries q on q.id = s.query where s.site = ? and s.at >= ? and s.at < ? order by s.at, s.id`,
			func(scan func(...any) error) error {
				var at, tracked int64
				var source string
				x := new(insights.Search)
				if err := scan(&at, &source, &x.Query, &x.Hits, &x.Top, &tracked, &x.Language); err != nil {
					return err
				}
				x.Tracked = tracked != 0
				e := event(at, source)
				e.Search = x
				return each(e)
			},
		},
		{
			`select c.at, c.source, coalesce(q.text, ''), c.page, c.position
			from docs_clicks c left join docs_queries q on q.id = c.query where c.site = ? and c.at >= ? and c.at < ? order by c.at, c.id`,
			func(scan func(...any) error) error {
				var at int64
				var source string
				x := new(insights.Click)
				if err := scan(&at, &source, &x.Query, &x.Path, &x.Position); err != nil {
					return err
				}
				e := event(at, source)
				e.Click = x
				return each(e)
			},
		},
		{
			`select ` + replyColumns + ` from docs_replies r where r.site = ? and r.at >= ? and r.at < ? order by r.at, r.id`,
			func(scan func(...any) error) error {
				var t insights.Turn
				if err := scanReply(scan, &t); err != nil {
					return err
				}
				e := event(t.At.Unix(), string(t.Source))
				e.Reply = &t.Reply
				return each(e)
			},
		},
		{
			`select v.at, v.source, v.thread, v.message, v.page, v.rating, v.reasons, v.comment
			from docs_votes v where v.site = ? and v.at >= ? and v.at < ? order by v.at, v.id`,
			func(scan func(...any) error) error {
				var at, rating int64
				var source, reasons string
				x := new(insights.Vote)
				if err := scan(&at, &source, &x.Thread, &x.Message, &x.Path, &rating, &reasons, &x.Comment); err != nil {
					return err
				}
				x.Rating, x.Reasons = nameOf(rating), split(reasons)
				e := event(at, source)
				e.Vote = x
				return each(e)
			},
		},
	} {
		if err := s.each(ctx, kind.read, kind.query, site, from, to); err != nil {
			return err
		}
	}
	return nil
}
