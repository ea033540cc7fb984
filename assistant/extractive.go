package assistant

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
)

const (
	extractiveName = "extractive"
	mostLinks      = 4 // below a quote, or instead of one
	linksPerPage   = 2
	// The first of the links instead of a quote is the likeliest to answer.
	longestFirstLine = 320
	longestLine      = 160
)

// extract writes the extractive reply, if there is no answer yet. If the
// documentation surely answers, it quotes: one section, or two if both do.
// Otherwise it only links to the closest sections, with a line of each.
func (r *run) extract(ctx context.Context) error {
	if r.answer.text.Len() > 0 {
		return nil
	}
	ctx, ended := r.trace(ctx, "extract")
	defer ended(nil)
	r.res.Extractive = true
	r.res.Model = extractiveName
	r.answer.check = r.newChecker(ctx)

	v := r.verdict()
	r.res.Answered = v.answered
	var b strings.Builder
	if r.a.Model != nil {
		b.WriteString(r.say(modelUnavailable) + "\n\n")
	}
	switch {
	case len(v.quotes) > 0:
		b.WriteString(r.say(found))
		for _, q := range v.quotes {
			b.WriteString("\n\n**" + citation.Link(q.title(), q.url()) + "**\n\n" + strings.Join(q.blocks, "\n\n"))
		}
		if links := v.links(); links != "" {
			b.WriteString("\n\n" + r.say(seeAlso) + "\n" + links)
		}
	case len(v.nearest) == 0:
		b.WriteString(r.say(notFoundAtAll))
	case v.answered == "partly":
		b.WriteString(r.say(closest) + "\n" + v.links())
	default:
		b.WriteString(r.say(notFound) + "\n" + v.links())
	}
	if r.res.Answered != "yes" {
		b.WriteString(r.support())
	}
	r.answer.say(b.String())
	return nil
}

// verdict judges whether the passages answer.
func (r *run) verdict() verdict { return judge(r.byScore(), r.askedTerms(), r.q.language) }

// links lists the closest sections that are not quoted. Without a quote, each
// has a line of its text.
func (v *verdict) links() string {
	var b strings.Builder
	pages := make(map[string]int)
	seen := make(map[string]bool)
	for _, q := range v.quotes {
		seen[q.url()] = true
	}
	for _, c := range v.nearest {
		if len(seen)-len(v.quotes) == mostLinks {
			break
		}
		if seen[c.url()] || pages[c.document.Page] == linksPerPage {
			continue
		}
		seen[c.url()] = true
		pages[c.document.Page]++
		b.WriteString("\n- " + citation.Link(c.title(), c.url()))
		if len(v.quotes) == 0 {
			longest := longestLine
			if len(seen) == 1 {
				longest = longestFirstLine
			}
			if line := c.line(v.value, longest); line != "" {
				b.WriteString(": " + line)
			}
		}
	}
	return b.String()
}

// byScore returns the passages, best first.
func (r *run) byScore() []passage {
	best := slices.Clone(r.passages)
	slices.SortStableFunc(best, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	return best
}

// askedTerms are the terms of the question, and those of the search text where
// the question has hardly any.
func (r *run) askedTerms() []term {
	own := distinct(r.q.terms)
	if len(own) >= 2 {
		return own
	}
	all := distinct(append(slices.Clone(own), terms(r.q.query.Text, r.q.language)...))
	for i := len(own); i < len(all); i++ {
		all[i].earlier = true
	}
	return all
}
