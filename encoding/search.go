package encoding

import (
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Bounds of a search.
const (
	DefaultHits = 10
	MaxHits     = 50
	MaxQuery    = 1_000 // characters
)

// Search is the body of a search.
type Search struct {
	// Query is 1–1,000 characters, without white space around it.
	Query string
	// PageSize is the most hits wanted: 1–50, default 10.
	PageSize int
	// Threshold is the body's scoreThreshold: 0–1, default 0.
	Threshold float64
	Filter    retrieval.Filter
	// Offset is how many hits are skipped: 0–100.
	Offset int
	// NoContent and NoSnippet leave out what the body's fields don't name.
	NoContent, NoSnippet bool
}

// DecodeSearch reads the body of a search. It returns an *Error if the body is
// invalid. Null means that a field is left out; unknown fields are ignored.
func DecodeSearch(body []byte) (*Search, error) {
	d := NewDecoder(body)
	if d.peek() == 0 && d.pos >= len(d.data) {
		return nil, errorf("", "the body is empty: it must be a JSON object with query")
	}
	s := Search{PageSize: DefaultHits}
	d.Object(func(name []byte) {
		switch string(name) {
		case "query":
			s.Query = ""
			if !d.Null() {
				s.Query = strings.TrimSpace(d.String())
			}
			if utf8.RuneCountInString(s.Query) > MaxQuery {
				d.Fail("", "at most 1000 characters long")
			}
		case "pageSize":
			s.PageSize = DefaultHits
			if !d.Null() {
				s.PageSize = d.Integer(1, MaxHits)
			}
		case "scoreThreshold":
			s.Threshold = 0
			if !d.Null() {
				const wanted = "a number from 0 to 1"
				s.Threshold = d.Number(wanted)
				if d.err == nil && !(s.Threshold >= 0 && s.Threshold <= 1) {
					d.Fail("", wanted)
				}
			}
		case "offset":
			s.Offset = 0
			if !d.Null() {
				s.Offset = d.Integer(0, retrieval.MaxHits)
			}
		case "fields":
			s.NoContent, s.NoSnippet = false, false
			if !d.Null() {
				s.NoContent, s.NoSnippet = true, true
				d.Array(func(int) {
					switch d.String() {
					case "content":
						s.NoContent = false
					case "snippet":
						s.NoSnippet = false
					default:
						d.Fail("", "content or snippet")
					}
				})
			}
		case "filter":
			s.Filter = retrieval.Filter{}
			if !d.Null() {
				s.Filter.Version, s.Filter.Language, s.Filter.Tag = d.filter(true)
			}
		}
	})
	d.End()
	if err := d.Err(); err != nil {
		return nil, err
	}
	if s.Query == "" {
		return nil, errorf("query", "query must be a string of 1 to %d characters", MaxQuery)
	}
	return &s, nil
}
