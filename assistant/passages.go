package assistant

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// passage is a section of a page that an answer may rest on.
type passage struct {
	id         string // of its source: s1, s2, …
	document   *retrieval.Document
	section    int // its neighbours may be in text
	score      float64
	url, title string
	text       string
	tokens     int
	sent       bool // to the client, as a source
}

// Bounds of what is chosen from the hits.
const (
	defaultTokens  = 6000 // of all passages
	longestShare   = .4   // of the budget, for the best passage
	usualTokens    = 400  // of any other
	leastTokens    = 80   // a passage that is cut shorter is left out
	relevanceFloor = .25  // of the best score, below which a hit is left out
)

// choose makes passages of the best hits, within the budget of tokens.
func (r *run) choose(ctx context.Context, hits []retrieval.Hit, query retrieval.Query, n int) []passage {
	budget := r.a.passageBudget()
	share := max(leastTokens, int(float64(budget)*longestShare))
	longest := share

	out := make([]passage, 0, min(n, len(hits)))
	whole := map[string]*retrieval.Document{}
	for _, h := range hits {
		if len(out) == n || budget < leastTokens {
			break
		}
		d := h.Document
		if d == nil || h.Section < 0 || h.Section >= len(d.Sections) {
			continue
		}
		if r.covered(out, d, h.Section) {
			continue
		}
		if len(out) > 0 && h.Score < out[0].score*relevanceFloor {
			break
		}
		if d.Outline {
			if whole[d.Page] == nil {
				whole[d.Page] = r.whole(ctx, d, h.Section)
			}
			if d = whole[d.Page]; h.Section >= len(d.Sections) {
				continue
			}
		}
		text, tokens := r.passageText(d, h.Section, query.Text, min(budget, longest))
		if text == "" { // code that is longer
			text, tokens = r.passageText(d, h.Section, query.Text, min(budget, share))
		}
		if text == "" {
			continue
		}
		budget -= tokens
		longest = min(longest, usualTokens)
		out = append(out, passage{
			document: d, section: h.Section, score: h.Score,
			url: sectionURL(d, h.Section), title: sectionTitle(d, h.Section),
			text: text, tokens: tokens,
		})
	}
	return out
}

// fill adds further sections of the best pages, by the question's words that they
// hold: the search has at most two of a page.
func (r *run) fill(out []passage, query string, n int) []passage {
	left := r.a.passageBudget()
	for i := range out {
		left -= out[i].tokens
	}
	more := candidates(out)
	rate(more, distinct(terms(query, r.q.language)), r.q.language)
	slices.SortStableFunc(more, byRating)
	for _, c := range more {
		if len(out) == n || left < leastTokens {
			break
		}
		if c.rank >= 0 || c.cover <= 0 || r.covered(out, c.document, c.section) {
			continue
		}
		text, tokens := r.passageText(c.document, c.section, query, min(left, usualTokens))
		if text == "" {
			continue
		}
		left -= tokens
		out = append(out, passage{
			document: c.document, section: c.section, score: c.score,
			url: c.url(), title: c.title(), text: text, tokens: tokens,
		})
	}
	return out
}

// whole returns the document of a hit that has the texts of the sections found
// alone. If the page can't be had, it ends with the section.
func (r *run) whole(ctx context.Context, d *retrieval.Document, section int) *retrieval.Document {
	full, err := r.a.Search.Page(ctx, d.Page)
	if err == nil && full != nil && section < len(full.Sections) && full.Sections[section].Heading == d.Sections[section].Heading {
		return full
	}
	c := *d
	c.Sections = d.Sections[:section+1]
	return &c
}

// covered reports whether a section's text is already in a passage, in out or
// of an earlier search for the same reply.
func (r *run) covered(out []passage, d *retrieval.Document, section int) bool {
	text := strings.TrimSpace(d.Sections[section].Marked())
	in := func(p passage) bool {
		return p.document.Page == d.Page && (p.section == section || text != "" && strings.Contains(p.text, text))
	}
	return slices.ContainsFunc(out, in) || slices.ContainsFunc(r.passages, in)
}

// sectionURL is the URL of a section.
func sectionURL(d *retrieval.Document, i int) string {
	if a := d.Sections[i].Anchor; a != "" {
		return d.URL + "#" + a
	}
	return d.URL
}

// sectionTitle is what a link to a section is called.
func sectionTitle(d *retrieval.Document, i int) string {
	h := d.Sections[i].Heading
	switch {
	case h == "" || strings.EqualFold(h, d.Title):
		return cmp.Or(d.Title, d.Page, d.URL)
	case d.Title == "":
		return h
	}
	return d.Title + " › " + h
}

func (a *Assistant) passageBudget() int { return cmp.Or(a.PassageTokens, defaultTokens) }
