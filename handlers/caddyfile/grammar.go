package caddyfile

import (
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

// Grammar returns the whole grammar as the manual shows it, from the tables
// that the parser walks: first the global option, then the directives.
func Grammar() string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, w := range roots()[:1] {
		w.write(&b, 1)
	}
	b.WriteString("}\n")
	for _, w := range roots()[1:] {
		b.WriteByte('\n')
		w.write(&b, 0)
	}
	return b.String()
}

// roots are the words that open the blocks: the global option docs and the
// directives.
func roots() []word {
	s := new(settings)
	return []word{
		{name: "docs", forms: []form{{block: (&option{app: new(options.App)}).words()}}},
		{name: "docs", forms: []form{{args: "[<@matcher>] [<site> [<root>]]", block: docsWords(new(options.Site), s), optional: true}}},
		{name: apiAssistant, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(apiAssistant), optional: true}}},
		{name: apiSearch, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(apiSearch), optional: true}}},
		{name: directiveWidget, forms: []form{{args: "[<@matcher>] [<site>...]", example: "acme", block: append([]word{s.injectWord()}, s.widgetWords()...), optional: true}}},
		{name: dashboardDirective, forms: []form{{args: "[<@matcher>] [<site>...]", block: dashboardWords(new(ui.Dashboard)), optional: true}}},
		{name: directiveMCP, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(directiveMCP), optional: true}}},
		{name: directiveLLMs, forms: is("[<@matcher>] [<site>...]", "")},
	}
}

func (w *word) write(b *strings.Builder, depth int) {
	indent := strings.Repeat("\t", depth)
	for _, f := range w.forms {
		b.WriteString(indent + strings.TrimSpace(w.name+" "+f.args))
		if f.block != nil {
			b.WriteString(" {\n")
			for _, inner := range f.block {
				inner.write(b, depth+1)
			}
			b.WriteString(indent + "}")
		}
		b.WriteByte('\n')
	}
}

// homes names the blocks that have a word, for the error about a word in the
// wrong block; "" if none has it.
func homes(name string) string {
	var found []string
	var look func(w word, path string)
	look = func(w word, path string) {
		for _, f := range w.forms {
			for _, inner := range f.block {
				if inner.name == name && !slices.Contains(found, path) {
					found = append(found, path)
				}
				look(inner, inner.name)
			}
		}
	}
	for i, w := range roots() {
		path := "the directive " + w.name
		if i == 0 {
			path = "the global option docs"
		}
		look(w, path)
	}
	if len(found) > 2 {
		found = append([]string{strings.Join(found[:len(found)-1], ", ")}, found[len(found)-1])
	}
	return strings.Join(found, " and ")
}
