// Package caddyfile is the Caddyfile grammar of caddy-docs: the global option
// docs and the directives docs, assistant and search. It turns them into the
// JSON of the app "docs" and into routes of the handlers; what they mean is
// decided there.
//
// The tables of words (siteWords, modelWords …) are the one place where the
// grammar stands. Errors name file and line and say what to write.
package caddyfile

import (
	"sync"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

// Register adds the global option and the directives to the Caddyfile
// adapter. Each directive comes before invoke: behind basic_auth, so that
// private documentation stays private, and before handle and route, which
// would take the API's addresses away. Further calls do nothing.
func Register() { register() }

var register = sync.OnceFunc(func() {
	httpcaddyfile.RegisterGlobalOption("docs", parseOption)
	directive("docs", parseDocs)
	if !docsOnly {
		directive(apiAssistant, func(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
			return parseAPI(h, apiAssistant)
		})
		directive(apiSearch, func(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
			return parseAPI(h, apiSearch)
		})
	}
})

func directive(name string, parse httpcaddyfile.UnmarshalFunc) {
	httpcaddyfile.RegisterDirective(name, parse)
	httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, "invoke")
}
