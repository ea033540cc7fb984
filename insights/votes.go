package insights

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Feedback is a vote and what became of it.
type Feedback struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	Vote
	// Question is the one that was answered, "" for pages.
	Question string `json:"question,omitempty"`
	// Page is where it was asked, or the page of the vote.
	Page   string `json:"page,omitempty"`
	Source string `json:"source"`
	State  string `json:"state"`
	Note   string `json:"note,omitempty"`
	Cursor Cursor `json:"cursor"`
}

// Feedback returns votes, the newest first.
func (s *Store) Feedback(ctx context.Context, in Scope, q Query) ([]Feedback, error) {
	where, args := "", q.bounds()
	if q.State != "" {
		where, args = where+" and v.state = ?", append(args, q.State)
	}
	if rating := ratingOf(q.Feedback); rating != 0 {
		where, args = where+" and v.rating = ?", append(args, rating)
	} else if q.Feedback != "" {
		return nil, fmt.Errorf("feedback %q must be up or down", q.Feedback)
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
func (s *Store) SetFeedback(ctx context.Context, in Scope, id int64, state string, note string) error {
	return s.change(ctx, in, func(t *session, site int64) error {
		n, err := t.exec(`update docs_votes set state = ?, note = ? where site = ? and id = ?`, state, cutNote(note), site, id)
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
func (s *Store) FeedbackPages(ctx context.Context, in Scope, q Query) ([]PageVotes, error) {
	return list(ctx, s, in, func(v *PageVotes) []any { return into(&v.Path, &v.Up, &v.Down) },
		`select page, sum(case when rating = 1 then 1 else 0 end), sum(case when rating = -1 then 1 else 0 end) as down
		from docs_votes where site = ? and at >= ? and at < ? and thread = '' group by page order by down desc, page limit ? offset ?`, append(q.bounds(), limited(q.Limit), max(q.Offset, 0))...)
}

// The states of gaps and feedback: what an operator has made of them.
const (
	New       = "new"
	Done      = "done"
	Dismissed = "dismissed"
)

// ParseState reads a state; "" is New.
func ParseState(s string) (string, error) {
	if s = cmp.Or(s, New); !slices.Contains([]string{New, Done, Dismissed}, s) {
		return "", fmt.Errorf("state %q must be new, done or dismissed", s)
	}
	return s, nil
}

// ratingOf is a rating as it is stored: 1 up, -1 down.
func ratingOf(rating string) int64 { return bit(rating == "up") - bit(rating == "down") }

func nameOf(rating int64) string {
	return map[int64]string{1: "up", -1: "down"}[rating]
}
