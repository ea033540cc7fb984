package ingest

import (
	"regexp"
	"slices"
	"strings"
)

// globs are compiled patterns on page paths.
type globs []*regexp.Regexp

func (g globs) match(candidates []string) bool {
	return slices.ContainsFunc(g, func(re *regexp.Regexp) bool { return slices.ContainsFunc(candidates, re.MatchString) })
}

// compileGlobs reads patterns. A missing slash at the front is added, and "/**/x"
// is also "/x".
func compileGlobs(patterns []string) (out globs) {
	syntax := strings.NewReplacer(`/\*\*/`, `/(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`)
	for _, p := range patterns {
		p = "/" + strings.TrimPrefix(p, "/")
		if strings.HasSuffix(p, "*") && !strings.HasSuffix(p, "**") {
			p += "*" // at the end, one star crosses slashes
		}
		out = append(out, regexp.MustCompile(`(?s)^`+syntax.Replace(regexp.QuoteMeta(p))+`$`))
	}
	return out
}
