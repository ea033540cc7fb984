package assistant

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
)

// conclude judges a model's answer: whether the documentation answered, what
// it cites, and which of its identifiers are in no passage. An answer without
// a link gets links to its passages, unless the client shows them anyway.
func (r *run) conclude(context.Context) error {
	if r.out.text.Len() == 0 {
		return nil
	}
	r.res.Unverified = r.unverified()
	for i, ids := 0, r.cited(); i < len(r.found.passages); i++ { // those that were not shown before
		if p := &r.found.passages[i]; !p.sent && slices.Contains(ids, p.ID) {
			r.sendSources(r.found.passages[i : i+1])
		}
	}
	cited, unanswered := len(r.cited()) > 0, r.out.answer.marks.First || len(r.found.passages) == 0
	switch {
	case unanswered:
		r.res.Answered = "no"
	case cited && !r.out.answer.marks.Seen:
		r.res.Answered = "yes"
	default:
		r.res.Answered = "partly"
	}
	switch {
	case cited:
	case unanswered:
		text := r.support()
		if r.incomplete() {
			text = "\n\n" + r.say(notChecked) + text
		}
		if len(r.found.passages) > 0 {
			text = firstPages(r.found.passages) + text
		}
		r.out.write([]byte(strings.TrimLeft(text, "\n")))
	case len(r.found.passages) > 0 && !r.in.SourcesApart:
		r.out.write([]byte(r.say(sourcesLabel) + firstPages(r.found.passages)))
	}
	return nil
}

// firstPages is a list of links to the first three passages.
func firstPages(ps []Passage) string {
	var list strings.Builder
	for _, p := range ps[:min(3, len(ps))] {
		list.WriteString("\n- " + citation.Link(p.Title, p.URL))
	}
	return list.String()
}

// support is the paragraph that names the support URL, if there is one.
func (r *run) support() string {
	if r.a.Site.SupportURL == "" {
		return ""
	}
	return "\n\n" + fmt.Sprintf(r.say(askSupport), citation.Link("", r.a.Site.SupportURL))
}

// cited returns the ids of the sources that the answer links to: by section,
// or by page where it links to another part of it.
func (r *run) cited() []string {
	if r.out.answer.links == nil {
		return nil
	}
	urls := r.out.answer.links.Cited()
	pages := make(map[string]bool)
	for _, u := range urls {
		if !slices.ContainsFunc(r.found.passages, func(p Passage) bool { return p.URL == u }) {
			page, _, _ := strings.Cut(u, "#")
			pages[page] = true
		}
	}
	var ids []string
	for i := range r.found.passages {
		p := &r.found.passages[i]
		if slices.Contains(urls, p.URL) || pages[p.document.URL] {
			ids = append(ids, p.ID)
			delete(pages, p.document.URL)
		}
	}
	return ids
}
