package embedded

import (
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// filtered returns for each page whether it matches a filter, nil if the
// filter is empty and all do.
func (g *generation) filtered(f retrieval.Filter) []bool {
	if f == (retrieval.Filter{}) {
		return nil
	}
	out := make([]bool, len(g.docs))
	for i, d := range g.docs {
		out[i] = (f.Version == "" || same(f.Version, d.Version)) &&
			(f.Language == "" || speaks(d.Language, f.Language)) &&
			(f.Tag == "" || slices.ContainsFunc(d.Tags, func(t string) bool { return same(f.Tag, t) }))
	}
	return out
}

// same reports whether two values are equal, letter case and surrounding
// spaces aside. Empty ones are equal to none.
func same(a, b string) bool {
	a = strings.TrimSpace(a)
	return a != "" && strings.EqualFold(a, strings.TrimSpace(b))
}

// speaks reports whether a page in a language is among those of a wanted one:
// en takes en-US.
func speaks(of, wanted string) bool {
	of, wanted = languageTag(of), languageTag(wanted)
	base, _, _ := strings.Cut(of, "-")
	return wanted != "" && (of == wanted || base == wanted)
}

// languageTag is a language tag in lower case, with pt_BR written as pt-br.
func languageTag(tag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-")
}
