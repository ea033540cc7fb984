package encoding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
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
	// Explain asks for the results' Why. No body can.
	Explain bool
}

// DecodeSearch reads the body of a search. It returns an *Error if the body is
// invalid. Null means that a field is left out; unknown fields are ignored.
func DecodeSearch(body []byte) (*Search, error) {
	var b struct {
		Query          string    `json:"query"`
		PageSize       *float64  `json:"pageSize"`
		ScoreThreshold float64   `json:"scoreThreshold"`
		Offset         *float64  `json:"offset"`
		Fields         *[]string `json:"fields"`
		Filter         filter    `json:"filter"`
	}
	err := decode(body, &b, "query")
	if err != nil {
		return nil, err
	}
	s := &Search{Query: strings.TrimSpace(b.Query), Threshold: b.ScoreThreshold, Filter: retrieval.Filter(b.Filter.trimmed())}
	if s.PageSize, err = whole("pageSize", b.PageSize, 1, MaxHits, DefaultHits); err != nil {
		return nil, err
	}
	if s.Offset, err = whole("offset", b.Offset, 0, retrieval.MaxHits, 0); err != nil {
		return nil, err
	}
	if b.Fields != nil {
		s.NoContent, s.NoSnippet = true, true
		for i, f := range *b.Fields {
			switch f {
			case "content":
				s.NoContent = false
			case "snippet":
				s.NoSnippet = false
			default:
				return nil, mustBe(fmt.Sprintf("fields[%d]", i), "content or snippet")
			}
		}
	}
	switch {
	case s.Query == "":
		return nil, errorf("query", "query must be a string of 1 to %d characters", MaxQuery)
	case utf8.RuneCountInString(s.Query) > MaxQuery:
		return nil, errorf("query", "query must be at most %d characters long", MaxQuery)
	case s.Threshold < 0 || s.Threshold > 1:
		return nil, mustBe("scoreThreshold", "")
	}
	return s, nil
}

// filter is what both kinds of requests filter by.
type filter struct {
	Version  string `json:"version"`
	Language string `json:"language"`
	Tag      string `json:"tag"`
	Site     string `json:"site"`
}

func (f filter) trimmed() filter {
	for _, s := range []*string{&f.Version, &f.Language, &f.Tag, &f.Site} {
		*s = strings.TrimSpace(short.Runes(*s, maxName))
	}
	return f
}
