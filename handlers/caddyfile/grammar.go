package caddyfile

import (
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

// roots are the words that open the blocks: the global option docs and the
// directives.
func roots() []word {
	s := new(settings)
	return []word{
		{name: "docs", forms: []form{{block: (&option{app: new(options.App)}).words()}}},
		{name: "docs", forms: []form{{args: "[<@matcher>] [<site> [<root>]]", block: docsWords(new(options.Site), s)}}},
		{name: apiAssistant, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(apiAssistant)}}},
		{name: apiSearch, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(apiSearch)}}},
		{name: directiveWidget, forms: []form{{args: "[<@matcher>] [<site>...]", example: "acme", block: s.words(directiveWidget)}}},
		{name: dashboardDirective, forms: []form{{args: "[<@matcher>] [<site>...]", block: dashboardWords(new(ui.Dashboard))}}},
		{name: directiveMCP, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(directiveMCP)}}},
		{name: directiveLLMs, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(directiveLLMs)}}},
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
