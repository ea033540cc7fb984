package assistant

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// manySections is a page whose sections all speak of widgets, and another.
func manySections() *fakeIndex {
	long := strings.Repeat("It says more about it in one more sentence now. ", 12)
	d := &retrieval.Document{Page: "widgets", URL: "https://docs.acme.com/widgets", Title: "Widget Handbook", Language: "en"}
	for i := range 6 {
		d.Sections = append(d.Sections, retrieval.Section{Anchor: fmt.Sprintf("s%d", i), Heading: fmt.Sprintf("Part %d", i), Level: 2, Text: fmt.Sprintf("Widgets spin in place %d. ", i) + long})
	}
	other := &retrieval.Document{Page: "gears", URL: "https://docs.acme.com/gears", Title: "Gears", Language: "en", Sections: []retrieval.Section{
		{Anchor: "g", Heading: "Gears", Level: 1, Text: "Gears drive widgets."},
		{Anchor: "teeth", Heading: "Teeth", Level: 2, Text: "Each gear has twelve teeth."},
	}}
	return &fakeIndex{documents: []*retrieval.Document{d, other}}
}

// firstHits has only the first hits of a search.
type firstHits struct {
	*fakeIndex
	hits int
}

func (f firstHits) Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	hits, err := f.fakeIndex.Search(ctx, q)
	return hits[:min(len(hits), f.hits)], err
}

func TestAModelGetsWhatElseItsPagesHoldOfTheQuestion(t *testing.T) {
	index := manySections()
	index.documents[0].Sections[4].Text = "Widgets spin backwards after a pause. " + strings.Repeat("It goes on. ", 20)
	sections := func(m Model) (urls []string) {
		a := acme(m)
		a.Search = firstHits{index, 1}
		e, err := a.Explain(t.Context(), ask("When do widgets spin backwards?"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range e.Passages {
			urls = append(urls, p.URL)
		}
		return urls
	}
	if with, without := sections(&script{}), sections(nil); len(without) != 1 || len(with) < 3 || !slices.Contains(with, "https://docs.acme.com/widgets#s4") {
		t.Errorf("without a model %q, with one %q", without, with)
	}
}

func TestTimeEndsTheSearching(t *testing.T) {
	m := &script{rounds: []round{
		{calls: []ToolCall{{ID: "c", Name: "search", Arguments: `{"query":"timeouts"}`}}},
		{answer: func(p *Prompt) string { return fmt.Sprintf("%d tools. %s", len(p.Tools), good) }},
	}}
	a := acme(m)
	a.Patience = time.Nanosecond
	if _, rec := mustReply(t, a, ask("How do I install Acme on Linux?")); rec.text() != "0 tools. "+good {
		t.Errorf("%q", rec.text())
	}
}

func TestAPromptIsTheSameUpToTheReadersMessage(t *testing.T) {
	m := &script{rounds: []round{{text: good}, {text: good}}}
	a := acme(m)
	mustReply(t, a, ask("How do I install Acme on Linux?", userSaid("Hello"), assistantSaid("Hi.")))
	mustReply(t, a, ask("Which certificates can I use?"))
	for _, p := range m.prompts {
		if len(p.Messages) != 2 || p.Messages[0].Content != m.prompts[0].Messages[0].Content || p.Messages[1].Role != "user" {
			t.Errorf("%+v", p.Messages)
		}
	}
}

// Read pages go on where they ended, and nothing is given twice.
func TestAPageIsReadOnFromAnAnchor(t *testing.T) {
	x := manySections()
	for i := range x.documents[0].Sections {
		x.documents[0].Sections[i].Text += strings.Repeat("Many more words follow here. ", 150)
	}
	call := func(page string) round {
		return round{calls: []ToolCall{{ID: "c", Name: "read_page", Arguments: fmt.Sprintf(`{"page":%q}`, page)}}}
	}
	m := &script{rounds: []round{call("/widgets"), call("/widgets#s2"), {text: good}}}
	a := acme(m)
	a.Search = x
	mustReply(t, a, ask("What are teeth?"))
	last := m.prompts[len(m.prompts)-1].Messages
	var results []string
	for _, message := range last {
		if message.Role == "tool" {
			results = append(results, message.Content)
		}
	}
	if len(results) != 2 || !strings.Contains(results[0], "next: https://docs.acme.com/widgets#s2") || !strings.Contains(results[1], "in place 2.") || strings.Contains(results[1], "in place 0.") {
		t.Errorf("%.200q", results)
	}
}

func TestFurtherPassagesBecomeSourcesIfTheyAreCited(t *testing.T) {
	in := ask("How do I install Acme with a certificate for the backend?")
	in.PageSize = 1
	second := ""
	a := acme(&script{rounds: []round{{answer: func(p *Prompt) string {
		addresses := strings.Split(p.Messages[1].Content, "\nAddress: ")
		second, _, _ = strings.Cut(addresses[2], "\n")
		return "So ([x](" + second + "))."
	}}}})
	res, rec := mustReply(t, a, in)
	if sources := rec.of(reply.Source); len(sources) != 2 || sources[1].URL != second || len(res.Cited) != 1 || len(res.Sources) != 2 {
		t.Errorf("%d sources, cited %q, kept %q", len(sources), res.Cited, res.Sources)
	}
}

// link makes a link of a word in a section of the site's first page, all of whose
// pages but the last are public.
func link(a *Assistant, section int, word string, to retrieval.Link) {
	x := a.Search.(*fakeIndex)
	d := x.documents[0]
	s := &d.Sections[section]
	s.Marks = retrieval.Marks(nil).Append(strings.Index(s.Text, word), retrieval.MarkLink, 0).Append(len(word), retrieval.MarkLinkEnd, len(d.Links))
	d.Links = append(d.Links, to)
	a.Site.PublicURL = func(page string) string {
		if page == "api" || strings.Contains(page, "gone") {
			return ""
		}
		return "https://docs.acme.com/" + page
	}
}

func TestPassagesLinkOnlyToPagesThatTheReaderCanOpen(t *testing.T) {
	for _, c := range []struct {
		name, question string
		to             retrieval.Link
		want           string // for Linux
		tool           string
	}{
		{"a public page", "Which systems?", retrieval.Link{Page: "guide/tls"}, "[Linux](/guide/tls)", ""},
		{"a section", "Which systems?", retrieval.Link{Page: "guide/tls", Anchor: "own-certificate"}, "[Linux](/guide/tls#own-certificate)", ""},
		{"a page that is not public", "Which systems?", retrieval.Link{Page: "api"}, "Linux", ""},
		{"a page that is not public, found for this reader", "Which systems take a query?", retrieval.Link{Page: "api", Anchor: "search"}, "[Linux](/api#search)", ""},
		{"a page that is gone", "Which systems?", retrieval.Link{Page: "gone"}, "Linux", ""},
		{"a long address", "Which systems?", retrieval.Link{Page: strings.Repeat("long", 60)}, "Linux", ""},
		{"a long anchor", "Which systems?", retrieval.Link{Page: "guide/tls", Anchor: strings.Repeat("long", 60)}, "Linux", ""},
		{"an address that would end the link", "Which systems?", retrieval.Link{Page: "guide/tls", Anchor: "a) b"}, "Linux", ""},
		{"a page that the model reads", "Teeth?", retrieval.Link{Page: "guide/tls"}, "[Linux](/guide/tls)", "install"},
	} {
		m := &script{rounds: []round{{text: good}}}
		if c.tool != "" {
			m.rounds = []round{{calls: []ToolCall{{ID: "c", Name: "read_page", Arguments: fmt.Sprintf(`{"page":%q}`, c.tool)}}}, {text: good}}
		}
		a := acme(m)
		link(a, 0, "Linux", c.to)
		mustReply(t, a, ask(c.question))
		p := m.prompts[len(m.prompts)-1].Messages
		if text := p[len(p)-1].Content; !strings.Contains(text, "Acme runs on "+c.want+", macOS") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
	a := acme(nil)
	link(a, 0, "Linux", retrieval.Link{Page: "guide/tls"})
	if _, rec := mustReply(t, a, ask("Which systems does Acme run on?")); !strings.Contains(rec.text(), "Acme runs on Linux, macOS") {
		t.Errorf("a quote has links: %s", rec.text())
	}
}

func TestALinkIsNotCutInTwo(t *testing.T) {
	for cut, want := range map[string]string{
		"see [a](/a) and [b](/b": "see [a](/a) and", "see [a](/a) and": "see [a](/a) and", "a](b": "", "see [a": "see [a",
	} {
		if got := wholeLinks(cut); got != want {
			t.Errorf("%q: %q, want %q", cut, got, want)
		}
	}
}
