package embedded

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// movingVersions are names that generators give to versions that move.
const movingVersions = " latest stable next current main master dev nightly "

// variantsOf numbers the pages that are one page in several versions or
// languages: those whose paths differ only in the segments that name the
// version and the language. A page without variants has 0.
func variantsOf(docs []*retrieval.Document) []uint32 {
	out := make([]uint32, len(docs))
	first := map[string]int{}
	last := uint32(0)
	for i, d := range docs {
		if d.Version == "" && d.Language == "" {
			continue
		}
		path := neutralPath(d)
		j, ok := first[path]
		if !ok {
			first[path] = i
			continue
		}
		if out[j] == 0 {
			last++
			out[j] = last
		}
		out[i] = out[j]
	}
	return out
}

// neutralPath is a page's path without the segments that name its version or
// language.
func neutralPath(d *retrieval.Document) string {
	version := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(d.Version)), "v")
	language := languageTag(d.Language)
	base, _, _ := strings.Cut(language, "-")
	var kept []string
	for s := range strings.SplitSeq(strings.ToLower(d.Page), "/") {
		tag := languageTag(s)
		switch {
		case tag != "" && (tag == language || tag == base):
		case version != "" && strings.TrimPrefix(s, "v") == version:
		case s != "" && strings.Contains(movingVersions, " "+s+" "):
		default:
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, "/")
}
