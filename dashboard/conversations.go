package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/short"
)

// Answer is a question and its answer, as the reader saw it.
type Answer struct {
	At             time.Time
	Question, Text string
	// HTML is Text as the reader saw it.
	HTML template.HTML
	// Sources are the URLs of the pages that the answer was made from.
	Sources []string
	// Partial is set if the answer broke off.
	Partial bool
	// Locked is set if the visitor's own request can't open all pages that the
	// answer may quote.
	Locked bool

	// Masked is set if addresses and secrets in it are not shown.
	Masked bool

	// Turn is what was recorded of it, nil for nothing.
	Turn *insights.Turn
	// Kept is set if the conversation has the answer. It may be older than
	// conversations are kept, or the reader has asked again.
	Kept bool
}

// conversations lists them, the newest first.
func conversations(q *request) error {
	values := q.URL.Query()
	query := insights.Query{
		Period: q.period(), Answered: q.choice("answered", "", "yes", "partly", "no", "failed"),
		Feedback: q.choice("feedback", "", "up", "down", "any", "none"),
		Page:     short.Runes(strings.Trim(strings.TrimSpace(values.Get("on")), "/"), 300),
		Text:     short.Runes(strings.TrimSpace(values.Get("text")), maxTry),
	}
	store, err := q.insights()
	if err != nil {
		return err
	}
	if q.format != "" {
		if err := q.audit(store, "conversations exported", ""); err != nil {
			return err
		}
	}
	return table[insights.Conversation]{
		columns: "conversation first last question questions page source answered_yes answered_partly answered_no failed up down",
		cells: func(c *insights.Conversation) []any {
			return []any{c.Thread, when(c.First), when(c.Last), c.Question, c.Turns, c.Page, c.Source, c.Yes, c.Partly, c.No, c.Failed, c.Up, c.Down}
		},
		at: func(c *insights.Conversation) insights.Cursor { return c.Cursor },
	}.list(q, "conversations", query, store.Conversations, query)
}

// conversation shows what a reader asked and was answered.
func conversation(q *request) error {
	store, err := q.insights()
	if err != nil {
		return err
	}
	data := struct {
		Thread string
		Turns  []Answer
		Masked bool // an address or a secret is not shown
	}{Thread: q.params["thread"]}
	what := "conversation read"
	if q.URL.Query().Get("show") != "" {
		if q.Visitor.In(q.Site.Organization) < Member {
			return fail(http.StatusForbidden, "What is masked is shown to members of the organization.")
		}
		q.unmasked, what = true, "conversation shown unmasked"
	}
	if data.Turns, err = q.transcript(data.Thread); err != nil {
		return err
	}
	if len(data.Turns) == 0 {
		return fail(http.StatusNotFound, "There is no such conversation. It may have been erased, or be older than the time that conversations are kept.")
	}
	if err := q.audit(store, what, data.Thread); err != nil {
		return err
	}
	data.Masked = slices.ContainsFunc(data.Turns, func(a Answer) bool { return a.Masked })
	return q.render(http.StatusOK, "conversation", "Conversation", data)
}

// eraseConversation deletes a conversation everywhere.
func eraseConversation(q *request) error {
	store, err := q.insights()
	if err != nil {
		return err
	}
	thread := q.params["thread"]
	turns, err := q.transcript(thread)
	if err != nil {
		return err
	}
	if len(turns) == 0 {
		return fail(http.StatusNotFound, "There is no such conversation. It may have been erased already.")
	}
	if err := q.audit(store, "conversation erased", thread); err != nil {
		return err
	}
	if _, err := q.d.server.Erase(q.Context(), q.Site.Name, insights.Erasure{Thread: thread}); err != nil {
		return fmt.Errorf("erasing a conversation: %w", err)
	}
	return q.redirect(q.at("conversations"), nil)
}

// sameTurn is how far the time of a recorded reply may be from that of its
// turn in the conversation.
const sameTurn = 10 * time.Second

// transcript joins what is kept of a conversation with what was recorded of
// it, oldest first.
func (q *request) transcript(thread string) ([]Answer, error) {
	store, err := q.insights()
	if err != nil {
		return nil, err
	}
	turns, err := store.Turns(q.Context(), q.scope(), thread)
	if err != nil {
		return nil, q.stored(err)
	}
	kept, err := q.d.server.Conversation(q.Request, q.Site.Name, thread)
	if err != nil {
		return nil, fmt.Errorf("reading a conversation: %w", err)
	}
	used := make([]bool, len(turns))
	locked := false
	for i := range kept {
		a := &kept[i]
		a.Kept = true
		best := -1
		for j := range turns {
			away := turns[j].At.Sub(a.At).Abs()
			if !used[j] && away <= sameTurn && (best < 0 || away < turns[best].At.Sub(a.At).Abs()) {
				best = j
			}
		}
		if best >= 0 {
			used[best], a.Turn = true, &turns[best]
		}
		// What follows a locked answer may repeat it.
		locked = locked || a.Locked
		if a.Locked = locked && !q.Visitor.Admin; a.Locked {
			a.Text = ""
		}
		if question, text := insights.Redact(a.Question), insights.Redact(a.Text); !q.unmasked {
			a.Masked = question != a.Question || text != a.Text
			a.Question, a.Text = question, text
		}
		a.HTML = q.Site.rendered(a.Text)
	}
	for j := range turns {
		if !used[j] {
			kept = append(kept, Answer{At: turns[j].At, Question: turns[j].Question, Turn: &turns[j]})
		}
	}
	slices.SortStableFunc(kept, func(a, b Answer) int { return cmp.Compare(a.At.Unix(), b.At.Unix()) })
	return kept, nil
}

// maxAnswer is how many characters of an answer are shown.
const maxAnswer = 20_000

// rendered is an answer as its reader saw it. Its links were checked when it
// was made; paths are of the site, not of the dashboard.
func (s *Site) rendered(answer string) template.HTML {
	html := citation.HTML(short.Runes(answer, maxAnswer), func(destination string) string {
		u, err := url.Parse(destination)
		if err != nil {
			return ""
		}
		if base, err := url.Parse(s.URL); err == nil && u.Host == "" && u.Scheme == "" {
			u = base.ResolveReference(u)
		}
		if u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return ""
		}
		return u.String()
	})
	return template.HTML(html) //nolint:gosec // HTML leaves out tags and what is no link to http or https
}
