// Package caddyfile is the Caddyfile grammar of caddy-docs: the global option
// docs and the directives. It turns them into the JSON of the app "docs" and
// into routes of its handlers.
//
// The grammar is defined by tables of words (siteWords, modelWords …). It only
// reads words; the modules check the values in Validate. Errors name file and
// line and say what to write.
package caddyfile

import (
	"fmt"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

// Register adds the global option and the directives to the Caddyfile
// adapter. Each directive comes after basic_auth, so that private documentation
// stays private, and after encode, which compresses pages with the widget's tag.
// It comes before templates, handle and route, which make those pages, would run
// Markdown, or would take the API's requests. assistant and search come before
// docs, so that one of them next to docs has separate settings.
func Register() {
	httpcaddyfile.RegisterGlobalOption("docs", parseOption)
	for _, api := range []string{apiAssistant, apiSearch, directiveWidget, directiveMCP, directiveLLMs} {
		if docsOnly && (api == apiAssistant || api == apiSearch) {
			continue
		}
		directive(api, func(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) { return parseAPI(h, api) })
	}
	directive("docs", parseDocs)
	directive(dashboardDirective, parseDashboard)
}

func directive(name string, parse httpcaddyfile.UnmarshalFunc) {
	defer func() {
		if p := recover(); p != nil { // two plugins with a directive of one name
			panic(fmt.Sprintf("caddy-docs: %v; build with -tags docsonly to leave out the directives assistant and search: docs does what both do", p))
		}
	}()
	httpcaddyfile.RegisterDirective(name, parse)
	httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, "templates")
}
