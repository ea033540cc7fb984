package insights

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

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
	Source string `json:"source"`
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
	Source string `json:"source"`
	// Replaced is set if the reader asked for another answer.
	Replaced bool `json:"replaced,omitempty"`
	// Rating is up, down or "".
	Rating  string `json:"rating,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// Conversations returns conversations by their last reply, the newest first.
func (s *Store) Conversations(ctx context.Context, in Scope, q Query) ([]Conversation, error) {
	where, args := "c.site = ? and c.last >= ? and c.last < ?", q.bounds()
	add := func(condition string, values ...any) {
		where, args = where+" and "+condition, append(args, values...)
	}
	if q.Answered != "" {
		if !slices.Contains([]string{"yes", "partly", "no", "failed"}, q.Answered) {
			return nil, fmt.Errorf("answered %q must be yes, partly, no or failed", q.Answered)
		}
		add("c." + q.Answered + " > 0")
	}
	if q.Feedback != "" {
		votes := map[string]string{"up": "c.up > 0", "down": "c.down > 0", "any": "c.up + c.down > 0", "none": "c.up + c.down = 0"}[q.Feedback]
		if votes == "" {
			return nil, fmt.Errorf("feedback %q must be up, down, any or none", q.Feedback)
		}
		add(votes)
	}
	if page, below := strings.CutSuffix(q.Page, "*"); below {
		add(`c.page like ? escape '\'`, like(page)+"%")
	} else if q.Page != "" {
		add("c.page = ?", q.Page)
	}
	if q.Text != "" {
		has := "r.site = c.site and r.thread = c.thread"
		var values []any
		for stem := range strings.FieldsSeq(Stems(q.Text)) {
			has, values = has+` and r.stems like ? escape '\'`, append(values, "% "+like(stem)+"%")
		}
		if len(values) == 0 {
			return nil, nil
		}
		add("exists (select 1 from docs_replies r where "+has+")", values...)
	}
	add("(c.last < ? or c.last = ? and c.id < ?)", q.Before.args()...)
	return list(ctx, s, in, func(c *Conversation) []any {
		return into(&c.Cursor.ID, &c.Cursor.At, &c.Thread, as(&c.First, timeOf), as(&c.Last, timeOf), &c.Turns, &c.Question, &c.Page, &c.Source,
			&c.Yes, &c.Partly, &c.No, &c.Failed, &c.Up, &c.Down)
	}, `select c.id, c.last, c.thread, c.first, c.last, c.turns, c.question, c.page, c.source, c.yes, c.partly, c.no, c.failed, c.up, c.down
		from docs_conversations c where `+where+` order by c.last desc, c.id desc limit ?`, append(args, limited(q.Limit))...)
}

// like escapes a text for a pattern.
func like(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// turnColumns are the columns of docs_replies that go where turn.into says.
const turnColumns = `r.at, r.thread, r.message, r.question, r.outcome, r.answered, r.model, r.language, r.source,
	r.page, r.nearest, r.cited, r.input_tokens, r.output_tokens, r.cached_tokens, r.first_token, r.took, r.replaced`

func (t *Turn) into() []any {
	return into(as(&t.At, timeOf), &t.Thread, &t.Message, &t.Question, &t.Outcome, &t.Answered, &t.Model, &t.Language, &t.Source,
		&t.Page, &t.Nearest, as(&t.Cited, lines), &t.InputTokens, &t.OutputTokens, &t.CachedTokens, &t.FirstToken, &t.Took, &t.Replaced)
}

// Turns returns the replies of a conversation, oldest first, with their votes.
// Answers are in package thread.
func (s *Store) Turns(ctx context.Context, in Scope, thread string) ([]Turn, error) {
	return list(ctx, s, in, func(t *Turn) []any { return append(t.into(), as(&t.Rating, nameOf), &t.Comment) },
		`select `+turnColumns+`, coalesce(v.rating, 0), coalesce(v.comment, '')
		from docs_replies r left join docs_votes v on v.site = r.site and v.thread = r.thread and v.thread <> '' and v.message = r.message
		where r.site = ? and r.thread = ? order by r.id limit 500`, thread)
}

// Slowest returns the replies with the longest time to the first token, up to
// 50, the slowest first.
func (s *Store) Slowest(ctx context.Context, in Scope, p Period, limit int) ([]Turn, error) {
	return list(ctx, s, in, (*Turn).into, `select `+turnColumns+` from docs_replies r where r.id in (
			select id from docs_replies where site = ? and at >= ? and at < ? and first_token > 0 order by first_token desc, id desc limit ?)
		order by r.first_token desc, r.id desc`, append(p.bounds(), min(max(limit, 1), 50))...)
}

// Cursor continues a list after its last entry: pass that entry's Cursor. The
// zero value begins it.
type Cursor struct {
	At int64 `json:"at"` // Unix seconds
	ID int64 `json:"id"`
}

// args are the parameters of "(at < ? or at = ? and id < ?)".
func (c Cursor) args() []any {
	if c == (Cursor{}) {
		c = Cursor{math.MaxInt64, math.MaxInt64}
	}
	return []any{c.At, c.At, c.ID}
}
