package meilisearch

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxFilterValue is the longest value that the server takes in a filter, in
// bytes. No page of ours carries a longer one.
const maxFilterValue = 468

// filterOf writes a query's filter in the server's language. ok is false
// where nothing can match.
func filterOf(f retrieval.Filter) (expression string, ok bool) {
	var parts []string
	for _, x := range []struct{ attribute, value string }{
		{"version", normal(f.Version)}, {"language", normalLanguage(f.Language)}, {"tags", normal(f.Tag)},
	} {
		if x.value == "" {
			continue
		}
		if len(x.value) > maxFilterValue {
			return "", false
		}
		parts = append(parts, x.attribute+" = "+quote(x.value))
	}
	return strings.Join(parts, " AND "), true
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quote makes a filter's value of any text. The server reads a quoted value
// twice: it ends at the first quotation mark that has no backslash before
// it, and then escapes are resolved. Escaping the marks alone would let a
// value that ends in a backslash write the rest of the filter.
func quote(value string) string { return `"` + quoter.Replace(value) + `"` }

func normal(value string) string { return strings.ToLower(strings.TrimSpace(value)) }

// normalLanguage also takes pt_BR for pt-BR.
func normalLanguage(tag string) string { return strings.ReplaceAll(normal(tag), "_", "-") }
