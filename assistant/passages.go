package assistant

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// passage is a part of a page that an answer may rest on.
type passage struct {
	id         string // of its source: s1, s2, …
	document   *retrieval.Document
	section    int // the section that was found; its neighbours may be in text
	score      float64
	url, title string
	text       string
	tokens     int
}

// Bounds of what is chosen from the hits.
const (
	perPage        = 2    // sections of a page, unless the question is about that page
	defaultTokens  = 6000 // of all passages
	shortSection   = 60   // tokens: what follows it on the page is added …
	neighbourhood  = 350  // … up to so many tokens
	longestShare   = .4   // of the budget that one passage may take
	leastTokens    = 80   // a passage cut shorter than this is left out
	spare          = 10   // hits asked for beyond those wanted
	charsPerToken  = 4    // estimate where there is no model and nothing is spent
	relevanceFloor = .25  // of the best score: below, a hit is company, not an answer
)

// search finds the passages for a query.
func (r *run) search(ctx context.Context, query retrieval.Query, n int) ([]passage, error) {
	query.Limit = min(50, 2*n+spare)
	hits, err := r.a.Search.Search(ctx, query)
	if err != nil {
		return nil, err
	}
	if r.q.other != "" {
		other := query
		other.Text = r.q.other
		more, err := r.a.Search.Search(ctx, other)
		if err != nil {
			return nil, err
		}
		hits = merge(hits, more)
	}
	return r.choose(hits, query, n), nil
}

// mergeRank makes the first places of a list count more than the next, and
// not much more than that.
const mergeRank = 10

// merge makes one list of the hits for a question alone and for the same with
// what was said before it, by their places in both: scores of queries
// with different words don't compare.
func merge(hits, other []retrieval.Hit) []retrieval.Hit {
	type place struct {
		hit    retrieval.Hit
		weight float64
	}
	type id struct {
		page    string
		section int
	}
	at := make(map[id]int)
	var places []place
	add := func(list []retrieval.Hit) {
		for i, h := range list {
			k := id{h.Document.Page, h.Section}
			j, ok := at[k]
			if !ok {
				j = len(places)
				at[k] = j
				places = append(places, place{hit: h})
			}
			places[j].weight += 1 / float64(mergeRank+i)
			places[j].hit.Score = max(places[j].hit.Score, h.Score)
		}
	}
	add(hits)
	add(other)
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(b.weight, a.weight) })
	out := make([]retrieval.Hit, len(places))
	for i, p := range places {
		out[i] = p.hit
	}
	return out
}

// choose makes passages of the best hits, within the budget of tokens.
func (r *run) choose(hits []retrieval.Hit, query retrieval.Query, n int) []passage {
	budget := r.a.passageBudget() - r.spentTokens
	longest := max(leastTokens, int(float64(budget)*longestShare))
	focus := r.focus(hits, query)

	out := make([]passage, 0, min(n, len(hits)))
	for _, h := range hits {
		if len(out) == n || budget < leastTokens {
			break
		}
		d := h.Document
		if d == nil || h.Section < 0 || h.Section >= len(d.Sections) {
			continue
		}
		most := perPage
		if d.Page == focus {
			most = n
		}
		if ofPage(out, d.Page) >= most || r.covered(out, d, h.Section) {
			continue
		}
		if len(out) > 0 && h.Score < out[0].score*relevanceFloor {
			break
		}
		text, tokens := r.passageText(hits, d, h.Section, query.Text, min(budget, longest))
		if text == "" {
			continue
		}
		budget -= tokens
		out = append(out, passage{
			document: d, section: h.Section, score: h.Score,
			url: sectionURL(d, h.Section), title: sectionTitle(d, h.Section),
			text: text, tokens: tokens,
		})
	}
	return together(out)
}

// ofPage counts the passages of a page.
func ofPage(ps []passage, page string) (n int) {
	for i := range ps {
		if ps[i].document.Page == page {
			n++
		}
	}
	return n
}

// focus returns the page that the question is about: the one that it names
// by its title, or the reader's own page where that one is found best.
func (r *run) focus(hits []retrieval.Hit, query retrieval.Query) string {
	const none = "\x00" // no page's name
	if len(hits) == 0 {
		return none
	}
	if p := r.q.page; p != nil && hits[0].Document != nil && hits[0].Document.Page == p.Page {
		return p.Page
	}
	if d := hits[0].Document; r.q.leans && d != nil && slices.Contains(query.Boost, d.Page) {
		return d.Page // the page that is being talked about
	}
	asked := r.q.terms()
	missing := func(t term) bool {
		return !slices.ContainsFunc(asked, func(own term) bool { return own.stem == t.stem })
	}
	var title []term
	for _, h := range hits[:min(3, len(hits))] {
		if h.Document == nil {
			continue
		}
		title = addTerms(title[:0], h.Document.Title, r.q.language)
		if len(title) < 2 && !(len(title) == 1 && title[0].name) {
			continue // one plain word ("Install") names a topic, not a page
		}
		if !slices.ContainsFunc(title, missing) {
			return h.Document.Page
		}
	}
	return none
}

// covered tells whether a section's text is already in a passage, here or of
// an earlier search of the same reply.
func (r *run) covered(out []passage, d *retrieval.Document, section int) bool {
	text := strings.TrimSpace(d.Sections[section].Text)
	in := func(p passage) bool {
		return p.document.Page == d.Page && (p.section == section || text != "" && strings.Contains(p.text, text))
	}
	return slices.ContainsFunc(out, in) || slices.ContainsFunc(r.passages, in)
}

// together puts the passages of one page next to each other, in the page's
// order, at the place of the best of them: a model reads them as one text.
func together(ps []passage) []passage {
	for i, p := range ps {
		of := func(o passage) bool { return o.document.Page == p.document.Page }
		first := slices.IndexFunc(ps[:i], of)
		if first < 0 {
			continue
		}
		at := first // among those of its page, which stand together
		for at < i && of(ps[at]) && ps[at].section <= p.section {
			at++
		}
		copy(ps[at+1:i+1], ps[at:i])
		ps[at] = p
	}
	return ps
}

// passageText is a section's text; that of a short one with what follows it
// below the same heading, that of a long one cut to its best part.
func (r *run) passageText(hits []retrieval.Hit, d *retrieval.Document, i int, query string, budget int) (string, int) {
	s := &d.Sections[i]
	text := strings.TrimSpace(s.Text)
	tokens := r.count(text)
	if tokens > budget {
		if budget < leastTokens {
			return "", 0
		}
		text = r.cut(text, query, budget)
		return text, r.count(text)
	}
	for j := i + 1; tokens < shortSection && j < len(d.Sections); j++ {
		next := &d.Sections[j]
		// A section's own parts belong to it; of an introduction before the
		// first heading, the first section is the continuation.
		if next.Level <= s.Level && !(s.Level == 0 && j == i+1) {
			break
		}
		if slices.ContainsFunc(hits, func(h retrieval.Hit) bool { return h.Document == d && h.Section == j }) {
			break // stands for itself, with its own address
		}
		more := r.count(next.Text)
		if more > min(neighbourhood, budget-tokens) {
			break
		}
		text = strings.TrimSpace(text + "\n\n" + strings.Repeat("#", max(1, next.Level)) + " " + next.Heading + "\n\n" + strings.TrimSpace(next.Text))
		tokens += more + 8
	}
	if text == "" {
		text = s.Heading
	}
	return text, tokens
}

// cut keeps the blocks (paragraphs, lists, whole code blocks) around the one
// that says most about the query, within the budget. What is left out is
// marked, so that nobody takes the part for the whole.
func (r *run) cut(text, query string, budget int) string {
	blocks := splitBlocks(text)
	have := make(map[string]bool)
	for _, t := range terms(query, r.q.language) {
		have[t.stem] = true
	}
	best, bestScore := 0, -1.0
	for i, b := range blocks {
		seen := map[string]bool{}
		for _, t := range terms(clip(b.text, 4000), r.q.language) {
			if have[t.stem] {
				seen[t.stem] = true
			}
		}
		// An early block that says as much as a late one introduces it.
		if s := float64(len(seen)) - float64(i)/float64(len(blocks)); s > bestScore {
			best, bestScore = i, s
		}
	}
	from, to := best, best+1
	tokens := r.count(blocks[best].text)
	if tokens > budget {
		if blocks[best].code {
			return ""
		}
		// One paragraph longer than the budget: its beginning, by characters,
		// shrunk until it fits.
		t := blocks[best].text
		for n := budget * charsPerToken; n > 0 && r.count(t) > budget; n = n * 9 / 10 {
			t = clip(t, n)
		}
		return t + " […]"
	}
	for grown := true; grown; {
		grown = false
		if to < len(blocks) {
			if n := r.count(blocks[to].text); tokens+n <= budget {
				tokens, to, grown = tokens+n, to+1, true
			}
		}
		if from > 0 {
			if n := r.count(blocks[from-1].text); tokens+n <= budget {
				tokens, from, grown = tokens+n, from-1, true
			}
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("[…]\n\n")
	}
	for i := from; i < to; i++ {
		if i > from {
			b.WriteString("\n\n")
		}
		b.WriteString(blocks[i].text)
	}
	if to < len(blocks) {
		b.WriteString("\n\n[…]")
	}
	return b.String()
}

// block is a paragraph, a list or a fenced code block of a section's text.
type block struct {
	text string
	code bool
}

// splitBlocks splits a section's text (retrieval.Section.Text) at its empty
// lines, leaving code whole.
func splitBlocks(text string) []block {
	var out []block
	var cur []string
	fence := ""
	flush := func(code bool) {
		if t := strings.Trim(strings.Join(cur, "\n"), "\n"); strings.TrimSpace(t) != "" {
			out = append(out, block{t, code})
		}
		cur = cur[:0]
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			cur = append(cur, line)
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
				flush(true)
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush(false)
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
			cur = append(cur, line)
		case trimmed == "":
			flush(false)
		default:
			cur = append(cur, line)
		}
	}
	if fence != "" {
		cur = append(cur, fence)
		flush(true)
	}
	flush(false)
	return out
}

// count counts tokens, exactly where a model is paid for them.
func (r *run) count(text string) int {
	if r.a.Model == nil {
		return int(math.Ceil(float64(len(text)) / charsPerToken))
	}
	return r.a.tokens.count(text)
}

// sectionURL is the address of a section.
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
