package encoding

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of feedback and events.
const (
	maxComment  = 1000 // characters
	maxReasons  = 10
	maxReason   = 50   // characters
	maxPagePath = 300  // characters
	maxPosition = 1000 // of a clicked result
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
	d := NewDecoder(body)
	f := new(Feedback)
	rated := false
	d.Object(func(name []byte) {
		switch string(name) {
		case "threadId":
			f.ThreadID = d.optional(maxThreadID)
			if f.ThreadID != "" && !validThreadID(f.ThreadID) {
				d.Fail("", "the threadId of an earlier reply (letters, digits, - and _)")
			}
		case "messageId":
			f.MessageID = d.optional(200)
		case "path":
			f.Path = d.optional(maxPagePath)
		case "rating":
			rated = true
			switch f.Rating = d.optional(10); f.Rating {
			case "up", "down", "":
			default:
				d.Fail("", `"up", "down" or null`)
			}
		case "reasons":
			f.Reasons = nil
			if d.Null() {
				return
			}
			d.Array(func(i int) {
				if i >= maxReasons {
					d.Fail("", "left out: at most 10 reasons are possible")
					return
				}
				f.Reasons = append(f.Reasons, d.optional(maxReason))
			})
		case "comment":
			f.Comment = d.optional(maxComment)
		}
	})
	d.End()
	switch err := d.Err(); {
	case err != nil:
		return nil, err
	case !rated:
		return nil, errorf("rating", `rating must be "up", "down" or null`)
	case f.ThreadID == "" && f.Path == "":
		return nil, errorf("threadId", "threadId must be that of a reply, or path that of a page")
	case f.ThreadID != "" && f.Path != "":
		return nil, errorf("path", "path must be left out for feedback to a reply, or threadId for feedback to a page")
	}
	return f, nil
}

// optional reads a string of at most that many characters, or null.
func (d *Decoder) optional(most int) string {
	if d.Null() {
		return ""
	}
	s := strings.TrimSpace(d.Text(most + 1))
	if utf8.RuneCountInString(s) > most {
		d.Fail("", "shorter: at most "+strconv.Itoa(most)+" characters are possible")
	}
	return s
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
	d := NewDecoder(body)
	e := new(Event)
	placed := false
	d.Object(func(name []byte) {
		switch string(name) {
		case "type":
			switch e.Type = d.optional(20); e.Type {
			case "search", "click":
			default:
				d.Fail("", `"search" or "click"`)
			}
		case "query":
			e.Query = d.optional(MaxQuery)
		case "hits":
			e.Hits = d.Integer(0, 1_000_000)
		case "path":
			e.Path, placed = d.optional(maxPagePath), true
		case "position":
			e.Position = d.Integer(1, maxPosition)
		}
	})
	d.End()
	switch err := d.Err(); {
	case err != nil:
		return nil, err
	case e.Type == "":
		return nil, errorf("type", `type must be "search" or "click"`)
	case e.Query == "":
		return nil, errorf("query", "query must be what was searched for, 1 to %d characters", MaxQuery)
	case e.Type == "click" && !placed:
		return nil, errorf("path", "path must be that of the result that was clicked")
	case e.Type == "click" && e.Position == 0:
		return nil, errorf("position", "position must be that of the result that was clicked, from 1")
	}
	return e, nil
}
