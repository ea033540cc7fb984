package agents

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/short"
)

// notChecked is what a result says that may lack pages.
const notChecked = "not every page could be checked for this reader in time; the same search in a few seconds may find more"

// Answer returns what the documentation says about a question, as Markdown: the
// texts of the best sections, those of the page at a URL first. No model has
// written it.
func Answer(ctx context.Context, docs Docs, question, page, all string) ([]byte, error) {
	question = short.Line(short.Excerpt(question, maxQuery))
	hits, err := docs.Search(ctx, question, "", "", searchLimit)
	if err != nil {
		return nil, err
	}
	place := func(h Hit) int {
		if address, _, _ := strings.Cut(h.URL, "#"); address == page {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(place(a), place(b)) })
	var b strings.Builder
	fmt.Fprintf(&b, "> %s\n\n", question)
	room := searchTokens
	for _, h := range hits {
		text := within(h.Text, room)
		fmt.Fprintf(&b, "## [%s](%s)\n\n", escape(short.Line(h.name())), h.URL)
		if room -= Tokens(text); text != "" {
			b.WriteString(text + "\n\n")
		}
		if room < leastText {
			break
		}
	}
	switch {
	case docs.Incomplete(ctx):
		b.WriteString(notChecked + "\n\n")
	case len(hits) == 0:
		b.WriteString("Nothing in the documentation matches. Try fewer or different words.\n\n")
	}
	fmt.Fprintf(&b, "---\n\nThe whole page: %s\n\nAll pages of this documentation: %s\n", page, all)
	return []byte(b.String()), nil
}

// Missing is what a program gets, as Markdown, where no page is that it may read.
// It doesn't repeat the path that was asked for: links of others choose it. ask is
// a URL that takes ?ask=, "" for none.
func Missing(nearest []Page, ask, base string) string {
	var b strings.Builder
	b.WriteString("# 404: there is no such page\n\n")
	if len(nearest) > 0 {
		b.WriteString("The nearest pages of this documentation:\n\n")
		for _, p := range nearest {
			b.WriteString(p.line() + "\n")
		}
		b.WriteString("\n")
	}
	if ask != "" {
		fmt.Fprintf(&b, "To search it, put a question into this URL: %s?ask=how+to\n\n", ask)
	}
	fmt.Fprintf(&b, "All pages of this documentation: %s/llms.txt\n", base)
	return b.String()
}
