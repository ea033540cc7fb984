// Package contract is what the API promises to clients: its description as an
// OpenAPI 3.1 document, and its types for TypeScript. Tests hold both against
// the code and against a running server.
package contract

import (
	_ "embed"
	"encoding/json"
	"runtime/debug"
	"strings"
	"sync"
)

//go:embed openapi.json
var document string

//go:embed types.d.ts
var types []byte

// OpenAPI returns the OpenAPI document of the API at a URL, like
// https://docs.acme.com, with the name of a site there as the example of a
// domain, and the server as that of an origin.
func OpenAPI(server, site string) []byte {
	scheme, rest, _ := strings.Cut(server, "://")
	host, _, _ := strings.Cut(rest, "/")
	url, _ := json.Marshal(server) // strings always marshal
	origin, _ := json.Marshal(scheme + "://" + host)
	names := strings.NewReplacer(
		`"version": "0.0.0"`, `"version": "`+Release()+`"`, `"url": "https://docs.acme.com"`, `"url": `+string(url), `"example": "acme"`, `"example": "`+site+`"`,
		`"example": "https://docs.acme.com"`, `"example": `+string(origin),
	)
	return []byte(names.Replace(document))
}

// Release is the version of this module, as in its tag, or "unknown" in a build
// without one.
var Release = sync.OnceValue(func() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append([]*debug.Module{&build.Main}, build.Deps...) {
			if m.Path == "github.com/caddy-docs/caddy-docs" && m.Version != "" {
				return m.Version
			}
		}
	}
	return "unknown"
})

// Types returns the declarations of the API's types.
func Types() []byte { return types }
