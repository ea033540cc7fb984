package assistant

import (
	"context"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
)

const (
	extractiveName = "extractive"
	mostLinks      = 4   // below a quote, or instead of one
	longestLine    = 320 // characters of what is said beside each
)

// extract writes the extractive reply, if there is no answer yet: the section
// that is nearest to the question, and links to the next ones.
func (r *run) extract(ctx context.Context) error {
	if r.out.text.Len() > 0 {
		return nil
	}
	ctx, ended := r.trace(ctx, "extract")
	defer ended(nil)
	r.res.Extractive = true
	r.res.Model = extractiveName
	r.out.answer = checked{links: r.found.checker(ctx)}
	v := r.found.judge()
	r.res.Answered = v.answered
	var b strings.Builder
	if r.a.Model != nil {
		b.WriteString(r.say(modelUnavailable) + "\n\n")
	}
	switch {
	case v.quoted != nil:
		p := closest
		if v.answered == "yes" {
			p = found
		}
		b.WriteString(r.say(p) + "\n\n**" + citation.Link(v.quoted.title(), v.quoted.url()) + "**\n\n" + strings.Join(v.quote, "\n\n"))
		if links := v.links(); links != "" {
			b.WriteString("\n\n" + r.say(seeAlso) + "\n" + links)
		}
	case len(v.nearest) == 0:
		b.WriteString(r.say(notFoundAtAll))
	default:
		b.WriteString(r.say(notFound) + "\n" + v.links())
	}
	if r.res.Answered != "yes" {
		b.WriteString(r.support())
	}
	r.out.write(r.out.answer.append([]byte(b.String())))
	r.out.write(r.out.answer.end())
	return nil
}

// links lists the closest sections that are not quoted, each with a line of its
// text.
func (v *verdict) links() string {
	var b strings.Builder
	seen := make(map[string]bool)
	if v.quoted != nil {
		seen[v.quoted.url()] = true
	}
	most := len(seen) + mostLinks
	for _, c := range v.nearest {
		if seen[c.url()] || len(seen) == most {
			continue
		}
		seen[c.url()] = true
		b.WriteString("\n- " + citation.Link(c.title(), c.url()))
		if line := c.line(v.value, longestLine); line != "" {
			b.WriteString(": " + line)
		}
	}
	return b.String()
}

// askedTerms are the terms of the question, and those of the search text where
// the question has hardly any or may continue what was said before, or has an
// error pasted into it.
func (q *inquiry) askedTerms() []term {
	asked := distinct(q.terms)
	if said := slices.DeleteFunc(slices.Clone(asked), isHiragana); len(said) > 0 {
		asked = said
	}
	own := len(asked)
	switch {
	case q.other != "":
		asked = distinct(append(asked, terms(q.other, q.language)...))
	case own < 2 || q.leans || q.pasted != "" && own < leastTerms:
		asked = distinct(append(asked, terms(q.query.Text, q.language)...))
	}
	for i := range asked[own:] {
		asked[own+i].before = true
	}
	return asked
}
