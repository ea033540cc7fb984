package insights

import (
	"fmt"
	"time"
)

// Period is a number of whole days, UTC. Both ends belong to it.
type Period struct{ From, To Date }

// Date is a day, UTC, as days since 1970-01-01.
type Date int64

// DateOf returns the day of a time.
func DateOf(t time.Time) Date {
	s := t.Unix()
	if s < 0 {
		return 0
	}
	return Date(s / (24 * 60 * 60))
}

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

// Cursor continues a list after its last entry: pass that entry's Cursor. The
// zero value begins it.
type Cursor struct {
	At int64 `json:"at"` // Unix seconds
	ID int64 `json:"id"`
}

// IsZero reports whether the list begins.
func (c Cursor) IsZero() bool { return c == Cursor{} }

// Counts are a site's numbers. Rates are nil where there is nothing to divide
// by: null is not 0.
type Counts struct {
	// Searches are the last queries of typing sessions in the widget, and all
	// searches of other clients.
	Searches int64 `json:"searches"`
	// NoResult are searches without a hit, Weak those whose best hit scored
	// below weakScore.
	NoResult int64 `json:"no_result"`
	Weak     int64 `json:"weak"`
	// Tracked are searches with a hit whose clicks are reported, Clicked those
	// with at least one click, Clicks all clicks.
	Tracked   int64 `json:"tracked"`
	Clicked   int64 `json:"clicked"`
	Clicks    int64 `json:"clicks"`
	Positions int64 `json:"-"` // sum of the clicks' positions

	// Conversations are those that began, Replies all replies.
	Conversations int64 `json:"conversations"`
	Replies       int64 `json:"replies"`
	// Yes, Partly and No are replies by whether the documentation answered.
	// Failed ones had no answer, or lost their reader.
	Yes    int64 `json:"answered_yes"`
	Partly int64 `json:"answered_partly"`
	No     int64 `json:"answered_no"`
	Failed int64 `json:"failed"`

	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`

	// Up and Down are votes for replies and pages.
	Up   int64 `json:"up"`
	Down int64 `json:"down"`
}

// NoResultRate is the share of searches without a hit.
func (c Counts) NoResultRate() *float64 { return ratio(c.NoResult, c.Searches) }

// ClickRate is Clicked ÷ Tracked.
func (c Counts) ClickRate() *float64 { return ratio(c.Clicked, c.Tracked) }

// MeanPosition is the mean position of clicks, from 1.
func (c Counts) MeanPosition() *float64 { return ratio(c.Positions, c.Clicks) }

// AnsweredRate is Yes ÷ (Yes + Partly + No).
func (c Counts) AnsweredRate() *float64 { return ratio(c.Yes, c.Yes+c.Partly+c.No) }

// Satisfaction is Up ÷ (Up + Down). Hide it below MinVotes votes.
func (c Counts) Satisfaction() *float64 { return ratio(c.Up, c.Up+c.Down) }

// MinVotes is the number of votes below which a satisfaction says nothing.
const MinVotes = 10

func ratio(n, of int64) *float64 {
	if of == 0 {
		return nil
	}
	r := float64(n) / float64(of)
	return &r
}

// Overview is a site's numbers in a period and in the one before it.
type Overview struct {
	Counts
	Before Counts `json:"before"`
	// FirstToken are the percentiles of the time to the first token in
	// milliseconds, nil without replies.
	FirstToken *Percentiles `json:"first_token_ms"`
	// BySource are the searches and replies by source.
	BySource map[Source]SourceCounts `json:"by_source"`
}

// SourceCounts are the requests of one source.
type SourceCounts struct {
	Searches int64 `json:"searches"`
	Replies  int64 `json:"replies"`
}

// Percentiles of a time. They are estimated from counts in buckets, whose
// bounds are a quarter apart.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Day is the numbers of one day.
type Day struct {
	Date Date `json:"date"`
	Counts
}

// SearchKind selects queries.
type SearchKind string

// The kinds of queries.
const (
	// TopSearches are all queries by how often they were searched for.
	TopSearches SearchKind = "top"
	// NoResult are queries by how often they found nothing.
	NoResult SearchKind = "no_result"
	// WeakSearches are queries by how often their best hit was weak.
	WeakSearches SearchKind = "weak"
	// LowClicks are queries that were tracked at least MinTracked times and
	// clicked in less than LowClickRate of them, by the searches without a click.
	LowClicks SearchKind = "low_clicks"
)

// Bounds of LowClicks.
const (
	MinTracked   = 5
	LowClickRate = 0.2
)

// SearchQuery selects queries.
type SearchQuery struct {
	Period
	Kind SearchKind // default: TopSearches
	// Limit is 1–500, default 50.
	Limit, Offset int
}

// QueryStats are the numbers of one query.
type QueryStats struct {
	Query    string `json:"query"`
	Searches int64  `json:"searches"`
	NoResult int64  `json:"no_result"`
	Weak     int64  `json:"weak"`
	Tracked  int64  `json:"tracked"`
	Clicked  int64  `json:"clicked"`
	Clicks   int64  `json:"clicks"`
	// ClickRate is Clicked ÷ Tracked, nil without tracked searches.
	ClickRate *float64 `json:"click_rate"`
	// MeanPosition is that of the clicks, from 1; nil without clicks.
	MeanPosition *float64 `json:"mean_position"`
	// TopPage is the page clicked most, as far as clicks are still stored.
	TopPage string `json:"top_page,omitempty"`
	// Last is the last day on which it was searched for.
	Last Date `json:"last"`
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

// GapQuery selects unanswered questions.
type GapQuery struct {
	Period
	// State narrows the list; "" is all. A gap that was asked for again after
	// it was marked as done is new again.
	State State
	// Page narrows the list to questions nearest to a page; "" is all.
	Page string
	// Group narrows it to one group; "" is all.
	Group string
	// Limit is 1–500, default 50.
	Limit, Offset int
}

// Gap is a group of unanswered questions with the same stems.
type Gap struct {
	// Group names it; see Store.SetGap.
	Group string `json:"group"`
	// Wording is its most frequent one.
	Wording string `json:"wording"`
	// Asked is how often in the period: No and Partly answered.
	Asked  int64 `json:"asked"`
	No     int64 `json:"no"`
	Partly int64 `json:"partly"`
	// Up and Down are the votes for these replies.
	Up   int64 `json:"up"`
	Down int64 `json:"down"`
	// Pages are those nearest to the questions, at most three, the most
	// frequent first: where to write.
	Pages []string `json:"pages"`
	// Thread is the newest conversation with it.
	Thread string    `json:"thread"`
	Last   time.Time `json:"last"`
	State  State     `json:"state"`
	Note   string    `json:"note,omitempty"`
}

// GapPage is a page with the unanswered questions nearest to it.
type GapPage struct {
	// Page is "" for questions that no page is near to.
	Page  string `json:"page"`
	Asked int64  `json:"asked"`
	// Wordings are the most frequent ones, at most five.
	Wordings []string  `json:"wordings"`
	Last     time.Time `json:"last"`
}

// ConversationQuery selects conversations.
type ConversationQuery struct {
	Period
	// Answered is yes, partly, no or failed: conversations with such a reply.
	Answered string
	// Feedback is up, down, any or none.
	Feedback string
	// Page is where the conversation began; a * at the end matches the pages
	// below.
	Page string
	// Text is words that one of the questions has, in any form.
	Text   string
	Before Cursor
	// Limit is 1–500, default 50.
	Limit int
}

// Conversation is a thread with at least one reply.
type Conversation struct {
	Thread string    `json:"thread"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
	// Turns counts the questions; a regenerated answer adds none.
	Turns int64 `json:"turns"`
	// Question is the first one.
	Question string `json:"question"`
	// Page is where it was asked.
	Page   string `json:"page,omitempty"`
	Source Source `json:"source"`
	Yes    int64  `json:"answered_yes"`
	Partly int64  `json:"answered_partly"`
	No     int64  `json:"answered_no"`
	Failed int64  `json:"failed"`
	Up     int64  `json:"up"`
	Down   int64  `json:"down"`
	Cursor Cursor `json:"cursor"`
}

// Turn is a reply of a conversation.
type Turn struct {
	At time.Time `json:"at"`
	Reply
	Source Source `json:"source"`
	// Replaced is set if the reader asked for another answer.
	Replaced bool `json:"replaced,omitempty"`
	// Rating is up, down or "".
	Rating  string `json:"rating,omitempty"`
	Comment string `json:"comment,omitempty"`
}

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

// PageVotes are the votes for one page.
type PageVotes struct {
	Path string `json:"path"`
	Up   int64  `json:"up"`
	Down int64  `json:"down"`
}

// KeyDay is the use of a key on one day. Key is "widget" for browser tokens.
type KeyDay struct {
	Key      string `json:"key"`
	Date     Date   `json:"date"`
	Searches int64  `json:"searches"`
	Replies  int64  `json:"replies"`
}

// Audit is who did what in the dashboard or on the command line.
type Audit struct {
	At time.Time `json:"at"`
	Scope
	// Who did it, such as a user's name.
	Who string `json:"who"`
	// What was done, such as "key created" or "conversation read".
	What string `json:"what"`
	// Target is what it was done to, such as a key's id or a thread.
	Target string `json:"target,omitempty"`
	Cursor Cursor `json:"cursor"`
}

// Erasure names what to delete: exactly one of its fields is set.
type Erasure struct {
	// Thread is a conversation.
	Thread string `json:"thread,omitempty"`
	// Text erases every query, question and comment that contains it, in any
	// case, and the conversations with it. At least minErase characters.
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
	// Threads are the conversations whose texts must be deleted as well, from
	// where threads are kept.
	Threads []string `json:"threads,omitempty"`
}
