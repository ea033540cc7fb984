package database

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// Conversations returns conversations by their last reply.
func (s *Store) Conversations(ctx context.Context, in insights.Scope, q insights.ConversationQuery) (list []insights.Conversation, err error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	limit, _ := pageOf(q.Limit, 0)
	from, to := bounds(q.Period)
	where, args := []string{"c.site = ?", "c.last >= ?", "c.last < ?"}, []any{site, from, to}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	switch q.Answered {
	case "":
	case "yes", "partly", "no", "failed":
		add("c." + q.Answered + " > 0")
	default:
		return nil, fmt.Errorf("answered %q must be yes, partly, no or failed", q.Answered)
	}
	switch q.Feedback {
	case "":
	case "up", "down":
		add("c." + q.Feedback + " > 0")
	case "any":
		add("c.up + c.down > 0")
	case "none":
		add("c.up + c.down = 0")
	default:
		return nil, fmt.Errorf("feedback %q must be up, down, any or none", q.Feedback)
	}
	if page, below := strings.CutSuffix(q.Page, "*"); below {
		add(`c.page like ? escape '\'`, like(page)+"%")
	} else if q.Page != "" {
		add("c.page = ?", q.Page)
	}
	if q.Text != "" {
		has := []string{"r.site = c.site", "r.thread = c.thread"}
		var values []any
		for stem := range strings.FieldsSeq(insights.Stems(q.Text)) {
			has, values = append(has, `r.stems like ? escape '\'`), append(values, "% "+like(stem)+"%")
		}
		if len(values) == 0 {
			return nil, nil
		}
		add("exists (select 1 from docs_replies r where "+strings.Join(has, " and ")+")", values...)
	}
	if !q.Before.IsZero() {
		add("(c.last < ? or c.last = ? and c.id < ?)", q.Before.At, q.Before.At, q.Before.ID)
	}
	err = s.each(ctx, func(scan func(...any) error) error {
		var c insights.Conversation
		var first, last int64
		var source string
		err := scan(&c.Cursor.ID, &c.Thread, &first, &last, &c.Turns, &c.Question, &c.Page, &source,
			&c.Yes, &c.Partly, &c.No, &c.Failed, &c.Up, &c.Down)
		c.First, c.Last, c.Source = time.Unix(first, 0).UTC(), time.Unix(last, 0).UTC(), insights.Source(source)
		c.Cursor.At = last
		list = append(list, c)
		return err
	}, `select c.id, c.thread, c.first, c.last, c.turns, c.question, c.page, c.source, c.yes, c.partly, c.no, c.failed, c.up, c.down
		from docs_conversations c where `+strings.Join(where, " and ")+` order by c.last desc, c.id desc limit ?`, append(args, limit)...)
	return list, err
}

// like escapes a text for a pattern.
func like(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// replyColumns are those that replyOf scans.
const replyColumns = `r.at, r.thread, r.message, r.question, r.outcome, r.answered, r.model, r.language, r.source,
	r.page, r.nearest, r.cited, r.input_tokens, r.output_tokens, r.first_token, r.took, r.replaced`

// scanReply scans replyColumns into a turn, and more after them.
func scanReply(scan func(...any) error, t *insights.Turn, more ...any) error {
	var at, replaced int64
	var source, cited string
	r := &t.Reply
	err := scan(append([]any{
		&at, &r.Thread, &r.Message, &r.Question, &r.Outcome, &r.Answered, &r.Model, &r.Language, &source,
		&r.Page, &r.Nearest, &cited, &r.InputTokens, &r.OutputTokens, &r.FirstToken, &r.Took, &replaced,
	}, more...)...)
	t.At, t.Source, t.Replaced, r.Cited = time.Unix(at, 0).UTC(), insights.Source(source), replaced != 0, split(cited)
	return err
}

// Turns returns the replies of a conversation.
func (s *Store) Turns(ctx context.Context, in insights.Scope, thread string) (turns []insights.Turn, err error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	err = s.each(ctx, func(scan func(...any) error) error {
		var t insights.Turn
		var rating int64
		err := scanReply(scan, &t, &rating, &t.Comment)
		t.Rating = nameOf(rating)
		turns = append(turns, t)
		return err
	}, `select `+replyColumns+`, coalesce(v.rating, 0), coalesce(v.comment, '')
		from docs_replies r left join docs_votes v on v.site = r.site and v.thread = r.thread and v.thread <> '' and v.message = r.message
		where r.site = ? and r.thread = ? order by r.id limit 500`, site, thread)
	return turns, err
}

// Slowest returns replies by the time to their first token.
func (s *Store) Slowest(ctx context.Context, in insights.Scope, p insights.Period, limit int) (turns []insights.Turn, err error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	from, to := bounds(p)
	err = s.each(ctx, func(scan func(...any) error) error {
		var t insights.Turn
		err := scanReply(scan, &t)
		turns = append(turns, t)
		return err
	}, `select `+replyColumns+` from docs_replies r where r.id in (
			select id from docs_replies where site = ? and at >= ? and at < ? and first_token > 0 order by first_token desc, id desc limit ?)
		order by r.first_token desc, r.id desc`, site, from, to, min(max(limit, 1), 50))
	return turns, err
}

func nameOf(rating int64) string {
	switch rating {
	case 1:
		return "up"
	case -1:
		return "down"
	}
	return ""
}

// before is the cursor of a list as parameters: the newest entry without one.
func before(c insights.Cursor) (at, id int64) {
	if c.IsZero() {
		return math.MaxInt64, math.MaxInt64
	}
	return c.At, c.ID
}
