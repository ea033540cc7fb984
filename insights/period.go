package insights

import (
	"fmt"
	"time"
)

// Query narrows the list that it is passed to. What is not set narrows nothing.
type Query struct {
	Period
	// Kind is that of searches, TopSearches by default.
	Kind string
	// State is that of gaps and votes. A gap that was asked for again after it
	// was marked as done is new again.
	State string
	// Answered selects conversations with such a reply: yes, partly, no or failed.
	Answered string
	// Feedback is up or down, for conversations also any or none.
	Feedback string
	// Comments selects votes with a comment.
	Comments bool
	// Page is the page nearest to questions, or where conversations began; there,
	// a * at the end matches the pages below.
	Page string
	// Group is one group of unanswered questions.
	Group string
	// Text is words that a question of a conversation has, in any form.
	Text string

	// Limit is 1–500, default 50.
	Limit int
	// Offset skips gaps, searches and pages, Before continues conversations, votes
	// and the audit trail.
	Offset int
	Before Cursor
}

// Period is a number of whole days, UTC. Both ends belong to it.
type Period struct{ From, To Date }

// Date is a day, UTC, as days since 1970-01-01.
type Date int64

// DateOf returns the day of a time.
func DateOf(t time.Time) Date { return Date(t.Unix() / (24 * 60 * 60)) }

// ParseDate reads a day like 2026-11-22.
func ParseDate(s string) (Date, error) {
	t, err := time.ParseInLocation(time.DateOnly, s, time.UTC)
	if err != nil || t.Unix() < 0 {
		return 0, fmt.Errorf("%q must be a day like 2026-11-22", s)
	}
	return DateOf(t), nil
}

// Time returns the beginning of the day.
func (d Date) Time() time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }

// String returns the day like 2026-11-22.
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// MarshalText returns the day like 2026-11-22.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a day like 2026-11-22.
func (d *Date) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDate(string(text))
	return err
}

// LastDays returns the period of n days that ends today.
func LastDays(n int, now time.Time) Period {
	to := DateOf(now)
	return Period{From: to - Date(max(n, 1)) + 1, To: to}
}

// Before returns the period of the same length before this one, to compare
// with.
func (p Period) Before() Period {
	n := p.To - p.From + 1
	return Period{From: p.From - n, To: p.From - 1}
}

// Days returns the number of days.
func (p Period) Days() int { return int(p.To - p.From + 1) }

// bounds are the parameters of "at >= ? and at < ?".
func (p Period) bounds() []any { return []any{p.From.Time().Unix(), (p.To + 1).Time().Unix()} }
