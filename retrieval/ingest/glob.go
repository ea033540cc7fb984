package ingest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// globs are compiled patterns on page paths.
type globs []*regexp.Regexp

func (g globs) match(candidates []string) bool {
	return slices.ContainsFunc(g, func(re *regexp.Regexp) bool { return slices.ContainsFunc(candidates, re.MatchString) })
}

func compileGlobs(word string, patterns []string) (globs, error) {
	var out globs
	for _, p := range patterns {
		re, err := compileGlob(p)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", word, p, err)
		}
		out = append(out, re)
	}
	return out, nil
}

// compileGlob reads one pattern. A missing slash at the front is added.
func compileGlob(p string) (*regexp.Regexp, error) {
	switch {
	case p == "":
		return nil, errors.New("the path is empty; write a path of pages like /guide/*")
	case strings.Contains(p, "://"):
		return nil, errors.New("write the path only, like /guide/*, without scheme and host")
	case strings.ContainsAny(p, " \t\r\n"):
		return nil, errors.New("a path holds no white space; write each path as a separate word")
	case strings.Contains(p, "***"):
		return nil, errors.New("write * within a segment of the path or ** across segments")
	case strings.Contains(p, "#"):
		return nil, errors.New("pages are chosen by path, without #anchor")
	}
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	if strings.HasSuffix(p, "*") && !strings.HasSuffix(p, "**") {
		p += "*" // at the end, one star crosses slashes
	}
	// "/**/x" is also "/x".
	syntax := strings.NewReplacer(`/\*\*/`, `/(?:.*/)?`, `\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`)
	re, err := regexp.Compile(`(?s)^` + syntax.Replace(regexp.QuoteMeta(p)) + `$`)
	if err != nil {
		return nil, fmt.Errorf("reading it as a pattern: %w", err)
	}
	return re, nil
}
