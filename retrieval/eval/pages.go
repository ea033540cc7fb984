// Package eval measures a search against judgements: which pages a query
// should find. It computes nDCG@10 and its kin, by group of queries, lists
// the worst, compares two runs, and proposes queries from a site's own
// pages. Everything counts pages, not sections: a run's paths are reduced
// to pages, the best place of each page counts.
package eval

import (
	"regexp"
	"strings"
)

var (
	host      = regexp.MustCompile(`^https?://[^/]+`)
	extension = regexp.MustCompile(`(?i)\.(mdx?|html?|rst|ipynb|markdown|txt)$`)
	index     = regexp.MustCompile(`(^|/)(_?index|README)$`)
)

// Page reduces a path or address to the page it stands for: without host,
// query, fragment, extension and a last segment that is an index, in lower
// case. The front page is "index".
func Page(path string) string {
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	path = host.ReplaceAllString(strings.TrimSpace(path), "")
	path = extension.ReplaceAllString(strings.Trim(path, "/"), "")
	path = strings.ToLower(strings.Trim(index.ReplaceAllString(path, ""), "/"))
	if path == "" {
		return "index"
	}
	return path
}

// Pages reduces paths to pages, each at its best place.
func Pages(paths []string) []string {
	out := make([]string, 0, len(paths))
	seen := make(map[string]bool, len(paths))
	for _, p := range paths {
		if p = Page(p); !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
