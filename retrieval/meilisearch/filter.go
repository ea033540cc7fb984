package meilisearch

import (
	"slices"
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

// maxFilterPages is how many pages an expression names at most.
const maxFilterPages = 500

// pageFilter returns an expression that the pages of in match, and those of
// out don't, by the names of the fewer ones. ok is false if they are too many
// to name, or if the server would take two names for one: it ignores case.
func pageFilter(in, out []*retrieval.Document) (expression string, ok bool) {
	if len(out) == 0 {
		return "", true
	}
	named, others, operator := in, out, ""
	if len(out) < len(in) {
		named, others, operator = out, in, "NOT "
	}
	if len(named) > maxFilterPages {
		return "", false
	}
	names, lower := make([]string, len(named)), make(map[string]bool, len(named))
	for i, d := range named {
		if len(d.Page) > maxFilterValue {
			return "", false
		}
		names[i], lower[strings.ToLower(d.Page)] = d.Page, true
	}
	if slices.ContainsFunc(others, func(d *retrieval.Document) bool { return lower[strings.ToLower(d.Page)] }) {
		return "", false
	}
	return operator + pagesNamed(names...), true
}

// pagesNamed returns an expression that the pages with the names match. An empty
// value matches nothing: the front page, whose name is empty, is asked for
// otherwise.
func pagesNamed(names ...string) string {
	front := slices.Contains(names, "")
	quoted := make([]string, 0, len(names))
	for _, name := range names {
		if name != "" {
			quoted = append(quoted, quote(name))
		}
	}
	expression := "page IN [" + strings.Join(quoted, ", ") + "]"
	if front {
		return "(page IS EMPTY OR " + expression + ")"
	}
	return expression
}

// and returns an expression that matches what both do. An empty one matches
// everything.
func and(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " AND " + b
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
