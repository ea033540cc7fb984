package ingest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// glob is a compiled pattern on page paths. Most are a prefix with a star,
// so those skip the regular expression.
type glob struct {
	prefix string
	re     *regexp.Regexp
}

func (g glob) match(p string) bool {
	if g.re == nil {
		return strings.HasPrefix(p, g.prefix)
	}
	return g.re.MatchString(p)
}

func matchAny(globs []glob, candidates []string) bool {
	for _, g := range globs {
		if slices.ContainsFunc(candidates, g.match) {
			return true
		}
	}
	return false
}

func compileGlobs(word string, patterns []string) ([]glob, error) {
	var globs []glob
	for _, p := range patterns {
		g, err := compileGlob(p)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", word, p, err)
		}
		globs = append(globs, g)
	}
	return globs, nil
}

// compileGlob reads one pattern. A missing slash at the front is added.
func compileGlob(p string) (glob, error) {
	switch {
	case p == "":
		return glob{}, fmt.Errorf("the path is empty; write a path of pages like /guide/*")
	case strings.Contains(p, "://"):
		return glob{}, fmt.Errorf("write the path only, like /guide/*, without scheme and host")
	case strings.ContainsAny(p, " \t\r\n"):
		return glob{}, fmt.Errorf("a path holds no white space; write each path as a word of its own")
	case strings.Contains(p, "***"):
		return glob{}, fmt.Errorf("write * within a segment of the path or ** across segments")
	case strings.ContainsAny(p, "#"):
		return glob{}, fmt.Errorf("pages are chosen by path, without #anchor")
	}
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	if i := strings.IndexAny(p, "*?"); i == len(p)-1 && p[i] == '*' || i >= 0 && p[i:] == "**" {
		return glob{prefix: p[:i]}, nil
	}
	var re strings.Builder
	re.WriteString(`(?s)^`)
	for i := 0; i < len(p); i++ {
		switch {
		case strings.HasPrefix(p[i:], "/**/"):
			re.WriteString(`/(?:.*/)?`) // "/**/x" is also "/x"
			i += 3
		case strings.HasPrefix(p[i:], "**"):
			re.WriteString(`.*`)
			i++
		case p[i] == '*' && i == len(p)-1:
			re.WriteString(`.*`)
		case p[i] == '*':
			re.WriteString(`[^/]*`)
		case p[i] == '?':
			re.WriteString(`[^/]`)
		default:
			j := i
			for j < len(p) && p[j] != '*' && p[j] != '?' && !strings.HasPrefix(p[j:], "/**/") {
				j++
			}
			re.WriteString(regexp.QuoteMeta(p[i:j]))
			i = j - 1
		}
	}
	re.WriteString(`$`)
	compiled, err := regexp.Compile(re.String())
	if err != nil {
		return glob{}, fmt.Errorf("the path can't be read as a pattern")
	}
	return glob{re: compiled}, nil
}
