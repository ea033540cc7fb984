package encoding

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of feedback and events.
const (
	maxComment  = 1000 // characters
	maxReasons  = 10
	maxReason   = 50   // characters
	maxPagePath = 300  // characters
	maxPosition = 1000 // of a clicked result
	maxHits     = 1_000_000
)

// Feedback is the body of a vote for a reply or a page.
type Feedback struct {
	// ThreadID and MessageID name the reply; Path names the page instead.
	ThreadID, MessageID, Path string
	// Rating is up, down, or "" to withdraw a vote.
	Rating  string
	Reasons []string
	Comment string
}

// DecodeFeedback reads the body of a vote. It returns an *Error if the body is
// invalid. Null means that a field is left out; unknown fields are ignored.
func DecodeFeedback(body []byte) (*Feedback, error) {
	var b struct {
		ThreadID  string         `json:"threadId"`
		MessageID string         `json:"messageId"`
		Path      *string        `json:"path"` // "" is the front page's
		Rating    jsontext.Value `json:"rating"`
		Reasons   []string       `json:"reasons"`
		Comment   string         `json:"comment"`
	}
	if err := decode(body, &b, "rating"); err != nil {
		return nil, err
	}
	f := &Feedback{ThreadID: b.ThreadID, MessageID: b.MessageID, Rating: text(b.Rating, 10), Reasons: b.Reasons, Comment: b.Comment}
	if b.Path != nil {
		f.Path = *b.Path
	}
	if len(f.Reasons) > maxReasons {
		return nil, mustBe(fmt.Sprintf("reasons[%d]", maxReasons), fmt.Sprintf("left out: the maximum is %d reasons", maxReasons))
	}
	for i := range f.Reasons {
		if err := shorten(fmt.Sprintf("reasons[%d]", i), &f.Reasons[i], maxReason); err != nil {
			return nil, err
		}
	}
	err := cmp.Or(shorten("threadId", &f.ThreadID, maxThreadID), shorten("messageId", &f.MessageID, 200),
		shorten("path", &f.Path, maxPagePath), shorten("comment", &f.Comment, maxComment))
	switch {
	case err != nil:
		return nil, err
	case f.ThreadID != "" && !validThreadID(f.ThreadID):
		return nil, errorf("threadId", "threadId must be that of an earlier reply (letters, digits, - and _)")
	case f.Rating != "up" && f.Rating != "down" && string(b.Rating) != "null" && string(b.Rating) != `""`:
		return nil, mustBe("rating", `"up", "down" or null`)
	case f.ThreadID == "" && b.Path == nil:
		return nil, errorf("threadId", "threadId must be that of a reply, or path that of a page")
	case f.ThreadID != "" && f.Path != "":
		return nil, errorf("path", "path must be left out for feedback to a reply, or threadId for feedback to a page")
	}
	return f, nil
}

func shorten(field string, s *string, most int) error {
	if *s = strings.TrimSpace(*s); utf8.RuneCountInString(*s) > most {
		return mustBe(field, fmt.Sprintf("shorter: the maximum is %d characters", most))
	}
	return nil
}

// Event is the body of an event.
type Event struct {
	// Type is search, the final query of a typing session, or click.
	Type  string
	Query string
	// Hits is how many results a search showed.
	Hits int
	// Path is the clicked result's, Position counts from 1.
	Path     string
	Position int
}

// DecodeEvent reads the body of an event. It returns an *Error if the body is
// invalid. Unknown fields are ignored.
func DecodeEvent(body []byte) (*Event, error) {
	var b struct {
		Type     string   `json:"type"`
		Query    string   `json:"query"`
		Hits     *float64 `json:"hits"`
		Path     *string  `json:"path"`
		Position *float64 `json:"position"`
	}
	if err := decode(body, &b, "type and query"); err != nil {
		return nil, err
	}
	e := &Event{Type: b.Type, Query: b.Query}
	if b.Path != nil {
		e.Path = *b.Path
	}
	var hits, position error
	e.Hits, hits = whole("hits", b.Hits, 0, maxHits, 0)
	e.Position, position = whole("position", b.Position, 1, maxPosition, 0)
	if err := cmp.Or(hits, position, shorten("query", &e.Query, MaxQuery), shorten("path", &e.Path, maxPagePath)); err != nil {
		return nil, err
	}
	switch {
	case e.Type != "search" && e.Type != "click":
		return nil, mustBe("type", `"search" or "click"`)
	case e.Query == "":
		return nil, errorf("query", "query must be what was searched for, 1 to %d characters", MaxQuery)
	case e.Type == "click" && b.Path == nil:
		return nil, errorf("path", "path must be that of the result that was clicked")
	case e.Type == "click" && e.Position == 0:
		return nil, errorf("position", "position must be that of the result that was clicked, from 1")
	}
	return e, nil
}
