package embedded

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// twins numbers the pages that are one page in several versions or
// languages: those whose paths differ in nothing but the parts that name
// the version and the language. 0 is a page without twins.
func twins(docs []*retrieval.Document) []uint32 {
	out := make([]uint32, len(docs))
	first := map[string]int{}
	var n uint32
	for i, d := range docs {
		if d.Version == "" && d.Language == "" {
			continue
		}
		key := neutralPath(d)
		j, ok := first[key]
		if !ok {
			first[key] = i
			continue
		}
		if out[j] == 0 {
			n++
			out[j] = n
		}
		out[i] = out[j]
	}
	return out
}

// neutralPath is a page's path without the parts that name its version or
// language.
func neutralPath(d *retrieval.Document) string {
	version, language := normal(d.Version), normalLanguage(d.Language)
	base, _, _ := strings.Cut(language, "-")
	parts := strings.Split(strings.ToLower(d.Page), "/")
	kept := parts[:0]
	for _, p := range parts {
		l := strings.ReplaceAll(p, "_", "-")
		if l != "" && (l == language || l == base) || version != "" && (p == version || strings.TrimPrefix(p, "v") == strings.TrimPrefix(version, "v")) || released[p] {
			continue
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, "/")
}

// released are names that generators give to moving versions.
var released = map[string]bool{"latest": true, "stable": true, "next": true, "current": true, "main": true, "master": true, "dev": true, "nightly": true}
