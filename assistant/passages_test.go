package assistant

import (
	"fmt"
	"strings"
	"testing"
	"time"

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

func TestSectionsOfAPage(t *testing.T) {
	explain := func(question, current string) *Explanation {
		a := acme(nil)
		a.Search = manySections()
		in := ask(question)
		in.CurrentPath = current
		e, err := a.Explain(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	of := func(e *Explanation, page string) (n int) {
		for _, p := range e.Passages {
			if strings.HasPrefix(p.URL, "https://docs.acme.com/"+page) {
				n++
			}
		}
		return n
	}
	if e := explain("How do widgets spin?", ""); of(e, "widgets") != 2 || of(e, "gears") == 0 {
		t.Errorf("a page gives %d of %d passages", of(e, "widgets"), len(e.Passages))
	}
	if e := explain("What does the Widget Handbook say on how widgets spin?", ""); of(e, "widgets") < 3 {
		t.Errorf("a page that the question names gives only %d passages", of(e, "widgets"))
	}
	if e := explain("How do widgets spin?", "/widgets"); of(e, "widgets") < 3 {
		t.Errorf("the page that the reader is on gives only %d passages", of(e, "widgets"))
	}
}

func TestAShortSectionTakesInItsParts(t *testing.T) {
	a := acme(nil)
	a.Search = manySections()
	e, err := a.Explain(t.Context(), ask("Does it drive anything?"))
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Passages) == 0 || !strings.Contains(e.Passages[0].Text, "## Teeth") || !strings.Contains(e.Passages[0].Text, "twelve teeth") {
		t.Errorf("%+v", e.Passages)
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
