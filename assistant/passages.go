package assistant

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Passage is a section of a page that an answer may rest on.
type Passage struct {
	ID     string  `json:"id"` // of its source: s1, s2, …
	URL    string  `json:"url"`
	Title  string  `json:"title"`
	Score  float64 `json:"score"`
	Tokens int     `json:"tokens"`
	Text   string  `json:"text"`

	document *retrieval.Document
	section  int
	sent     bool // to the client, as a source
}

// passage makes a passage of a section, unless it has no text within the budget.
func (f *findings) passage(d *retrieval.Document, section int, score float64, query string, budget int) (p Passage, ok bool) {
	text := f.passageText(d, section, query, budget)
	return Passage{
		URL: sectionURL(d, section), Title: sectionTitle(d, section), Score: score, Tokens: Tokens(text), Text: text,
		document: d, section: section,
	}, text != ""
}

// add adds passages that were found and names their sources. It returns those
// that are new.
func (f *findings) add(ps []Passage) []Passage {
	from := len(f.passages)
	for _, p := range ps {
		p.ID = "s" + strconv.Itoa(len(f.passages)+1)
		f.passages = append(f.passages, p)
		f.links.Passages = append(f.links.Passages, citation.Passage{Page: p.document, URL: p.URL, Title: p.Title, Text: p.Text})
	}
	return f.passages[from:]
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
func (f *findings) choose(ctx context.Context, hits []retrieval.Hit, query string, n int) []Passage {
	left := f.budget
	share := max(leastTokens, int(float64(left)*longestShare))
	longest := share
	out := make([]Passage, 0, min(n, len(hits)))
	whole := map[string]*retrieval.Document{}
	for _, h := range hits {
		if len(out) == n || left < leastTokens || len(out) > 0 && h.Score < out[0].Score*relevanceFloor {
			break
		}
		d := h.Document
		if d.Outline {
			if whole[d.Page] == nil {
				whole[d.Page] = f.whole(ctx, &h)
			}
			if d = whole[d.Page]; h.Section >= len(d.Sections) {
				continue
			}
		}
		if f.covered(out, d, h.Section) {
			continue
		}
		p, ok := f.passage(d, h.Section, h.Score, query, min(left, longest))
		if !ok { // code that is longer
			p, ok = f.passage(d, h.Section, h.Score, query, min(left, share))
		}
		if ok {
			left, longest = left-p.Tokens, min(longest, usualTokens)
			out = append(out, p)
		}
	}
	return out
}

// fill adds further sections of the best pages, by the question's words that they
// hold: the search has at most two of a page.
func (f *findings) fill(out []Passage, query string, n int) []Passage {
	if n <= len(out) {
		return out
	}
	left := f.budget
	for i := range out {
		left -= out[i].Tokens
	}
	more := candidates(out, filledPages, func(s *retrieval.Section) []unit { return []unit{{parts: []part{{text: s.Text}}}} })
	rate(more, newFinder(distinct(terms(query, f.q.language)), f.q.language))
	slices.SortStableFunc(more, byRating)
	for _, c := range more {
		if len(out) == n || left < leastTokens {
			break
		}
		if c.rank >= 0 || c.cover <= 0 || f.covered(out, c.document, c.section) {
			continue
		}
		if p, ok := f.passage(c.document, c.section, c.score, query, min(left, usualTokens)); ok {
			left -= p.Tokens
			out = append(out, p)
		}
	}
	return out
}

// whole returns the document of a hit whose Document is an outline. If the page
// can't be had, it ends with the section.
func (f *findings) whole(ctx context.Context, h *retrieval.Hit) *retrieval.Document {
	d, section := h.Document, h.Section
	full, err := f.index.Page(ctx, d.Page)
	if err == nil && full != nil && section < len(full.Sections) && full.Sections[section].Heading == d.Sections[section].Heading {
		return full
	}
	c := *d
	c.Sections = slices.Clone(d.Sections[:section+1])
	c.Sections[section].Text = h.Content()
	return &c
}

// covered reports whether a section's text is already in a passage, in out or
// of an earlier search for the same reply.
func (f *findings) covered(out []Passage, d *retrieval.Document, section int) bool {
	text := f.text(d, section)
	in := func(p Passage) bool {
		return p.document.Page == d.Page && (p.section == section || text != "" && strings.Contains(p.Text, text))
	}
	return slices.ContainsFunc(out, in) || slices.ContainsFunc(f.passages, in)
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
