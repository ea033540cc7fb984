package insights

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// FeedbackQuery selects votes.
type FeedbackQuery struct {
	Period
	// State and Rating (up, down) narrow the list; "" is all.
	State  State
	Rating string
	// Comments selects only votes with a comment.
	Comments bool
	Before   Cursor
	// Limit is 1–500, default 50.
	Limit int
}

// Feedback is a vote and what became of it.
type Feedback struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	Vote
	// Question is the one that was answered, "" for pages.
	Question string `json:"question,omitempty"`
	// Page is where it was asked, or the page of the vote.
	Page   string `json:"page,omitempty"`
	Source Source `json:"source"`
	State  State  `json:"state"`
	Note   string `json:"note,omitempty"`
	Cursor Cursor `json:"cursor"`
}

// Feedback returns votes, the newest first.
func (s *Store) Feedback(ctx context.Context, in Scope, q FeedbackQuery) ([]Feedback, error) {
	where, args := "", q.bounds()
	if q.State != "" {
		where, args = where+" and v.state = ?", append(args, string(q.State))
	}
	switch q.Rating {
	case "":
	case "up", "down":
		where, args = where+" and v.rating = ?", append(args, ratingOf(q.Rating))
	default:
		return nil, fmt.Errorf("rating %q must be up or down", q.Rating)
	}
	if q.Comments {
		where += " and v.comment <> ''"
	}
	return list(ctx, s, in, func(f *Feedback) []any {
		return into(&f.ID, as(&f.At, timeOf), &f.Thread, &f.Message, &f.Page, &f.Path, as(&f.Rating, nameOf), as(&f.Reasons, lines),
			&f.Comment, &f.Source, &f.State, &f.Note, &f.Cursor.ID, &f.Cursor.At, &f.Question)
	}, `select v.id, v.at, v.thread, v.message, v.page, case when v.thread = '' then v.page else '' end, v.rating, v.reasons,
			v.comment, v.source, v.state, v.note, v.id, v.at,
			coalesce((select r.question from docs_replies r where r.site = v.site and r.thread = v.thread and r.message = v.message limit 1), '')
		from docs_votes v where v.site = ? and v.at >= ? and v.at < ?`+where+` and (v.at < ? or v.at = ? and v.id < ?)
		order by v.at desc, v.id desc limit ?`, append(slices.Concat(args, q.Before.args()), limited(q.Limit))...)
}

// SetFeedback sets the state and the note of a vote. It returns ErrUnknown if
// the site has no such vote.
func (s *Store) SetFeedback(ctx context.Context, in Scope, id int64, state State, note string) error {
	return s.change(ctx, in, func(t *session, site int64) error {
		n, err := t.exec(`update docs_votes set state = ?, note = ? where site = ? and id = ?`, string(state), cutNote(note), site, id)
		if err == nil && n == 0 {
			return ErrUnknown
		}
		return err
	})
}

// PageVotes are the votes for one page.
type PageVotes struct {
	Path string `json:"path"`
	Up   int64  `json:"up"`
	Down int64  `json:"down"`
}

// FeedbackPages returns the votes by page, the most down votes first.
func (s *Store) FeedbackPages(ctx context.Context, in Scope, p Period) ([]PageVotes, error) {
	return list(ctx, s, in, func(v *PageVotes) []any { return into(&v.Path, &v.Up, &v.Down) },
		`select page, sum(case when rating = 1 then 1 else 0 end), sum(case when rating = -1 then 1 else 0 end) as down
		from docs_votes where site = ? and at >= ? and at < ? and thread = '' group by page order by down desc, page limit 500`, p.bounds()...)
}

// State is what an operator has made of an entry.
type State string

// The states of gaps and feedback.
const (
	New       State = "new"
	Done      State = "done"
	Dismissed State = "dismissed"
)

// ParseState reads a state; "" is New.
func ParseState(s string) (State, error) {
	switch State(s) {
	case "", New:
		return New, nil
	case Done, Dismissed:
		return State(s), nil
	}
	return "", fmt.Errorf("state %q must be new, done or dismissed", s)
}

// ratingOf is a rating as it is stored: 1 up, -1 down.
func ratingOf(rating string) int64 { return bit(rating == "up") - bit(rating == "down") }

func nameOf(rating int64) string {
	return map[int64]string{1: "up", -1: "down"}[rating]
}
