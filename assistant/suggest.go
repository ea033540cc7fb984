package assistant

import (
	"context"
	"encoding/json"
	"fmt"
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
	site := &r.a.Site
	var questions []string
	if site.Suggestions && r.res.Answered != "no" {
		found := r.followUps()
		if site.SuggestionsFence {
			r.answer.send([]byte(fenced(found)))
			return nil
		}
		for _, f := range found {
			questions = append(questions, f.text)
		}
	} else if site.SuggestionsFence {
		return nil // starter questions have no page to link to
	}
	if len(questions) == 0 && (site.Suggestions || r.res.Answered == "no") {
		questions = r.starters()
	}
	if len(questions) > 0 {
		b, _ := json.Marshal(map[string][]string{"questions": questions}) // can't fail
		r.out.send(reply.Event{Kind: reply.Data, Name: "suggestions", JSON: b})
	}
	return nil
}

// starters are the operator's questions that were not asked before.
func (r *run) starters() []string {
	fold := func(s string) string { return strings.ToLower(strings.TrimRight(short.Line(s), "?？ ")) }
	asked := map[string]bool{fold(r.q.asked): true, "": true}
	for _, u := range r.q.earlier {
		asked[fold(short.Bytes(u.text, 1000))] = true
	}
	var out []string
	for _, s := range r.a.Site.StarterQuestions {
		if f := fold(s); !asked[f] && len(out) < maxSuggestions {
			asked[f] = true
			out = append(out, short.Line(s))
		}
	}
	return out
}

// followUp is a question and the section that answers it.
type followUp struct{ text, url string }

// fenced writes follow-up questions as Mintlify's assistant does, one
// (text)[url] a line.
func fenced(found []followUp) string {
	if len(found) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\n```suggestions\n")
	plain := strings.NewReplacer("(", "", ")", "", "`", "")
	for _, f := range found {
		fmt.Fprintf(&b, "(%s)[%s]\n", plain.Replace(f.text), strings.ReplaceAll(f.url, "]", "%5D"))
	}
	b.WriteString("```")
	return b.String()
}

// followUps are made of the headings near the best passages, so that each has an
// answer and none costs a call of the model.
func (r *run) followUps() []followUp {
	used, best := make(map[string]bool), r.passages[:r.shown]
	for i := range best {
		used[strings.ToLower(heading(&best[i], best[i].section))] = true
	}
	asked := stems(r.q.asked, r.q.language)
	var questions []followUp
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
			if strings.HasSuffix(h, "?") || strings.HasSuffix(h, "？") {
				questions = append(questions, followUp{h, sectionURL(p.document, j)})
			} else {
				questions = append(questions, followUp{fmt.Sprintf(r.say(asks), h), sectionURL(p.document, j)})
			}
			break // one for each passage
		}
	}
	return questions
}

// heading is a section's heading, one word with the page's title before it.
func heading(p *passage, section int) string {
	h := short.Line(p.document.Sections[section].Heading)
	if h != "" && len(strings.Fields(h)) < 2 && p.document.Title != "" && !strings.EqualFold(h, p.document.Title) {
		return p.document.Title + ": " + h
	}
	return h
}

// subset reports whether all terms of a heading were asked about.
func subset(h string, asked map[string]bool, l language.Language) bool {
	for _, t := range terms(h, l) {
		if !asked[t.stem] {
			return false
		}
	}
	return true
}
