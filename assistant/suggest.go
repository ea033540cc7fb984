package assistant

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// maxSuggestions is how many follow-up questions end a reply.
const maxSuggestions = 3

// suggest sends follow-up questions as a data part: {"questions": […]}. They
// come from the sections beside those that were used, so that each has an
// answer, and cost no further call of the model.
func (r *run) suggest() {
	if !r.a.Site.Suggestions || r.res.Answered == "no" {
		return
	}
	used := make(map[string]bool)
	for i := range r.passages {
		used[strings.ToLower(heading(&r.passages[i], r.passages[i].section))] = true
	}
	asked := stems(r.q.asked, r.q.language)
	var questions []string
	for i := range r.passages {
		p := &r.passages[i]
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
				questions = append(questions, h)
			} else {
				questions = append(questions, fmt.Sprintf(r.q.language.say(asks), h))
			}
			break // one of a passage
		}
	}
	if len(questions) == 0 {
		return
	}
	b, _ := json.Marshal(map[string][]string{"questions": questions}) // strings only
	r.out.send(&reply.Event{Kind: reply.Data, Name: "suggestions", JSON: b})
}

// heading is what a section is about: generic headings with their page.
func heading(p *passage, section int) string {
	h := oneLine(p.document.Sections[section].Heading)
	if h != "" && len(strings.Fields(h)) < 2 && p.document.Title != "" && !strings.EqualFold(h, p.document.Title) {
		return p.document.Title + ": " + h
	}
	return h
}

// subset tells whether all telling words of a heading were asked about.
func subset(h string, asked map[string]bool, l Language) bool {
	for _, t := range terms(h, l) {
		if !asked[t.stem] {
			return false
		}
	}
	return true
}
