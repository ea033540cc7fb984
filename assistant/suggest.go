package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/short"
)

// maxSuggestions is how many follow-up questions end a reply.
const maxSuggestions = 3

// suggest sends follow-up questions as a data part: {"questions": […]}. If there
// are none, and after a reply that has no answer, they are the operator's
// starter questions. With SuggestionsFence they are in the text instead.
func (r *run) suggest(context.Context) error {
	var questions []string
	if r.site.Suggestions && r.res.Answered != "no" {
		asked, urls := r.followUps()
		if r.site.SuggestionsFence {
			r.out.write(fenced(asked, urls))
			return nil
		}
		questions = asked
	} else if r.site.SuggestionsFence {
		return nil // starter questions have no page to link to
	}
	if len(questions) == 0 && (r.site.Suggestions || r.res.Answered == "no") {
		questions = r.q.unasked(r.site.StarterQuestions)
	}
	if len(questions) > 0 {
		b, _ := json.Marshal(map[string][]string{"questions": questions}) // can't fail
		r.out.send(reply.Event{Kind: reply.Data, Name: "suggestions", JSON: b})
	}
	return nil
}

// unasked are the starter questions that were not asked before.
func (q *inquiry) unasked(starters []string) []string {
	fold := func(s string) string { return strings.ToLower(strings.TrimRight(short.Line(s), "?？ ")) }
	asked := map[string]bool{fold(q.asked): true, "": true}
	for _, m := range q.earlier {
		asked[fold(short.Bytes(m.Text, 1000))] = true
	}
	var out []string
	for _, s := range starters {
		if f := fold(s); !asked[f] && len(out) < maxSuggestions {
			asked[f] = true
			out = append(out, short.Line(s))
		}
	}
	return out
}

// fenced writes follow-up questions as Mintlify's assistant does, one
// (text)[url] a line.
func fenced(questions, urls []string) []byte {
	if len(questions) == 0 {
		return nil
	}
	b := []byte("\n\n```suggestions\n")
	plain := strings.NewReplacer("(", "", ")", "", "`", "")
	for i, q := range questions {
		b = fmt.Appendf(b, "(%s)[%s]\n", plain.Replace(q), strings.ReplaceAll(urls[i], "]", "%5D"))
	}
	return append(b, "```"...)
}

// followUps are made of the headings near the best passages, so that each has an
// answer and none costs a call of the model.
func (r *run) followUps() (questions, urls []string) {
	used, best := make(map[string]bool), r.found.passages[:r.shown]
	for i := range best {
		used[strings.ToLower(heading(&best[i], best[i].section))] = true
	}
	asked := stems(r.q.asked, r.q.language)
	for i := range best {
		p := &best[i]
		for _, j := range []int{p.section + 1, p.section + 2, p.section - 1} {
			if j < 0 || j >= len(p.document.Sections) || len(questions) == maxSuggestions {
				continue
			}
			h := heading(p, j)
			n := utf8.RuneCountInString(h)
			if used[strings.ToLower(h)] || n < 4 || n > 80 || strings.TrimSpace(p.document.Sections[j].Text) == "" || subset(h, asked, r.q.language) {
				continue
			}
			used[strings.ToLower(h)] = true
			if !strings.HasSuffix(h, "?") && !strings.HasSuffix(h, "？") {
				h = fmt.Sprintf(r.say(asks), h)
			}
			questions, urls = append(questions, h), append(urls, sectionURL(p.document, j))
			break // one for each passage
		}
	}
	return questions, urls
}

// heading is a section's heading, one word with the page's title before it.
func heading(p *Passage, section int) string {
	h := short.Line(p.document.Sections[section].Heading)
	if h != "" && len(strings.Fields(h)) < 2 && p.document.Title != "" && !strings.EqualFold(h, p.document.Title) {
		return p.document.Title + ": " + h
	}
	return h
}

// subset reports whether all terms of a heading were asked about.
func subset(h string, asked map[string]bool, l language.Language) bool {
	return !slices.ContainsFunc(terms(h, l), func(t term) bool { return !asked[t.stem] })
}
