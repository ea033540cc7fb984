package meilisearch

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxFilterValue is the server's limit of a value in a filter, in bytes. No
// page has a longer one.
const maxFilterValue = 468

// filterOf returns a query's filter as an expression for the server. ok is
// false if nothing can match.
func filterOf(f retrieval.Filter) (expression string, ok bool) {
	var conditions []string
	for _, x := range []struct{ attribute, value string }{
		{"version", normal(f.Version)}, {"language", normalLanguage(f.Language)}, {"tags", normal(f.Tag)},
	} {
		if x.value == "" {
			continue
		}
		if len(x.value) > maxFilterValue {
			return "", false
		}
		conditions = append(conditions, x.attribute+" = "+quote(x.value))
	}
	return strings.Join(conditions, " AND "), true
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// quote quotes any text as a value in a filter. The server decodes a value
// twice: it ends at the first quotation mark without a backslash before it, and
// then escapes are resolved. If only quotation marks were escaped, a value
// with a backslash could change the filter.
func quote(value string) string { return `"` + quoter.Replace(value) + `"` }

func normal(value string) string { return strings.ToLower(strings.TrimSpace(value)) }

// normalLanguage also accepts pt_BR for pt-BR.
func normalLanguage(tag string) string { return strings.ReplaceAll(normal(tag), "_", "-") }
