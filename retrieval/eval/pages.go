// Package eval measures a search against judgements: which pages each query
// should find. It computes nDCG@10 and other metrics, by group of queries,
// lists the worst queries, compares two runs, and proposes queries from a
// site's pages. It counts pages, not sections: the paths of a run are reduced
// to pages, each at its best rank.
package eval

import (
	"cmp"
	"regexp"
	"strings"
)

// surplus matches what is no part of a page's path: the host, and index and the
// extension at its end.
var surplus = regexp.MustCompile(`^https?://[^/]+|(?:(?:^|/)(?:_?index|README))?(?i:\.(?:mdx?|html?|rst|ipynb|markdown|txt))?$`)

// Page returns the page of a path or URL: without host, query, fragment,
// extension and index as the last segment, in lower case. The front page is
// "index".
func Page(path string) string {
	path, _, _ = strings.Cut(path, "#")
	path, _, _ = strings.Cut(path, "?")
	path = surplus.ReplaceAllString(strings.Trim(strings.TrimSpace(path), "/"), "")
	return cmp.Or(strings.ToLower(strings.Trim(path, "/")), "index")
}

// Pages returns the pages of paths, each at its best rank.
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
