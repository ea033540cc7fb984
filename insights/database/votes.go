package database

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// Feedback returns votes.
func (s *Store) Feedback(ctx context.Context, in insights.Scope, q insights.FeedbackQuery) (list []insights.Feedback, err error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	limit, _ := pageOf(q.Limit, 0)
	from, to := bounds(q.Period)
	where, args := []string{"v.site = ?", "v.at >= ?", "v.at < ?"}, []any{site, from, to}
	if q.State != "" {
		where, args = append(where, "v.state = ?"), append(args, string(q.State))
	}
	switch q.Rating {
	case "":
	case "up", "down":
		where, args = append(where, "v.rating = ?"), append(args, ratingOf(q.Rating))
	default:
		return nil, fmt.Errorf("rating %q must be up or down", q.Rating)
	}
	if q.Comments {
		where = append(where, "v.comment <> ''")
	}
	at, id := before(q.Before)
	where, args = append(where, "(v.at < ? or v.at = ? and v.id < ?)"), append(args, at, at, id)
	err = s.each(ctx, func(scan func(...any) error) error {
		var f insights.Feedback
		var at, rating int64
		var reasons, source, state string
		err := scan(&f.ID, &at, &f.Thread, &f.Message, &f.Page, &rating, &reasons, &f.Comment, &source, &state, &f.Note, &f.Question)
		f.At, f.Rating, f.Reasons, f.Source, f.State = time.Unix(at, 0).UTC(), nameOf(rating), split(reasons), insights.Source(source), insights.State(state)
		if f.Thread == "" {
			f.Path = f.Page
		}
		f.Cursor = insights.Cursor{At: at, ID: f.ID}
		list = append(list, f)
		return err
	}, `select v.id, v.at, v.thread, v.message, v.page, v.rating, v.reasons, v.comment, v.source, v.state, v.note,
			coalesce((select r.question from docs_replies r where r.site = v.site and r.thread = v.thread and r.message = v.message limit 1), '')
		from docs_votes v where `+strings.Join(where, " and ")+` order by v.at desc, v.id desc limit ?`, append(args, limit)...)
	return list, err
}

// SetFeedback sets the state and the note of a vote.
func (s *Store) SetFeedback(ctx context.Context, in insights.Scope, id int64, state insights.State, note string) error {
	site, ok, err := s.site(ctx, in)
	if err != nil {
		return err
	}
	if !ok {
		return insights.ErrUnknown
	}
	return s.transaction(ctx, func(t *tx) error {
		n, err := t.exec(`update docs_votes set state = ?, note = ? where site = ? and id = ?`, string(state), cutNote(note), site, id)
		if err == nil && n == 0 {
			return insights.ErrUnknown
		}
		return err
	})
}

// FeedbackPages returns the votes by page.
func (s *Store) FeedbackPages(ctx context.Context, in insights.Scope, p insights.Period) (list []insights.PageVotes, err error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	from, to := bounds(p)
	err = s.each(ctx, func(scan func(...any) error) error {
		var v insights.PageVotes
		err := scan(&v.Path, &v.Up, &v.Down)
		list = append(list, v)
		return err
	}, `select page, sum(case when rating = 1 then 1 else 0 end), sum(case when rating = -1 then 1 else 0 end) as down
		from docs_votes where site = ? and at >= ? and at < ? and thread = '' group by page order by down desc, page limit 500`, site, from, to)
	return list, err
}

// AddAudit stores who did what.
func (s *Store) AddAudit(ctx context.Context, a insights.Audit) error {
	return s.transaction(ctx, func(t *tx) error {
		if a.At.IsZero() {
			a.At = time.Now()
		}
		_, err := t.exec(`insert into docs_audit (at, organization, site, who, what, target) values (?, ?, ?, ?, ?, ?)`,
			a.At.Unix(), a.Organization, a.Site, cutNote(a.Who), cutNote(a.What), cutNote(a.Target))
		return err
	})
}

// Audit returns who did what, the newest first.
func (s *Store) Audit(ctx context.Context, in insights.Scope, from insights.Cursor, limit int) (list []insights.Audit, err error) {
	limit, _ = pageOf(limit, 0)
	at, id := before(from)
	args := []any{in.Organization}
	where := ""
	if in.Site != "" {
		where = " and site = ?"
		args = append(args, in.Site)
	}
	err = s.each(ctx, func(scan func(...any) error) error {
		var a insights.Audit
		err := scan(&a.Cursor.ID, &a.Cursor.At, &a.Organization, &a.Site, &a.Who, &a.What, &a.Target)
		a.At = time.Unix(a.Cursor.At, 0).UTC()
		list = append(list, a)
		return err
	}, `select id, at, organization, site, who, what, target from docs_audit
		where organization = ?`+where+` and (at < ? or at = ? and id < ?) order by at desc, id desc limit ?`, append(args, at, at, id, limit)...)
	return list, err
}
