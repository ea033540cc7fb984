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
	if r.answer.text.Len() == 0 {
		return nil
	}
	r.res.Unverified = r.unverified()
	for i, ids := 0, r.cited(); i < len(r.passages); i++ { // those that were not shown before
		if p := &r.passages[i]; !p.sent && slices.Contains(ids, p.id) {
			r.sendSources(r.passages[i : i+1])
		}
	}
	cited, unanswered := len(r.cited()) > 0, r.answer.marks.first || len(r.passages) == 0
	switch {
	case unanswered:
		r.res.Answered = "no"
	case cited && !r.answer.marks.seen:
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
		if len(r.passages) > 0 {
			text = r.firstPages() + text
		}
		r.answer.send([]byte(strings.TrimLeft(text, "\n")))
	case len(r.passages) > 0 && !r.in.SourcesApart:
		r.answer.send([]byte(r.say(sourcesLabel) + r.firstPages()))
	}
	return nil
}

// firstPages is a list of links to the first three passages.
func (r *run) firstPages() string {
	var list strings.Builder
	for _, p := range r.passages[:min(3, len(r.passages))] {
		list.WriteString("\n- " + citation.Link(p.title, p.url))
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
	if r.answer.check == nil {
		return nil
	}
	urls := r.answer.check.Cited()
	pages := make(map[string]bool)
	for _, u := range urls {
		if !slices.ContainsFunc(r.passages, func(p passage) bool { return p.url == u }) {
			page, _, _ := strings.Cut(u, "#")
			pages[page] = true
		}
	}
	var ids []string
	for i := range r.passages {
		p := &r.passages[i]
		if slices.Contains(urls, p.url) || pages[p.document.URL] {
			ids = append(ids, p.id)
			delete(pages, p.document.URL)
		}
	}
	return ids
}
