package ingest

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// slugger makes the ids of a page's Markdown headings.
type slugger struct {
	style string         // see Options.Anchors
	used  map[string]int // ids, with the last number appended to each
}

// id returns the id of the next heading of the page. It appends -1, -2 … as
// github-slugger does: it counts under the bare slug and passes over numbers
// that are taken.
func (s *slugger) id(heading string) string {
	var slug string
	switch s.style {
	case "none", "goldmark": // which the parser makes
		return ""
	case "gitlab":
		slug = gitlabSlug(heading)
	case "pandoc":
		slug = pandocSlug(heading)
	default:
		slug = githubSlug(heading)
	}
	id := slug
	for _, taken := s.used[id]; taken; _, taken = s.used[id] {
		s.used[slug]++
		id = slug + "-" + strconv.Itoa(s.used[slug])
	}
	s.used[id] = 0
	return id
}

// githubSlug lowers the case, drops all but letters, marks, decimal digits,
// connectors, hyphens and blanks, and makes each blank a hyphen.
func githubSlug(s string) string {
	// JavaScript's lower case of İ is two runes, Go's one.
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic): // Ruby's \p{Word}
			return r
		}
		return -1
	}, strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")))
}

// gitlabSlug is GitHub's with runs of hyphens as one; a number alone gets a
// prefix.
func gitlabSlug(s string) string {
	slug := githubSlug(strings.TrimSpace(s))
	for strings.Contains(slug, "--") {
		slug = strings.ReplaceAll(slug, "--", "-")
	}
	if slug != "" && strings.Trim(slug, "0123456789") == "" {
		slug = "anchor-" + slug
	}
	return slug
}

// pandocSlug follows the manual's rules of auto_identifiers: all but
// letters, digits, _ - . is dropped, white space becomes hyphens, and the
// result begins with a letter.
func pandocSlug(s string) string {
	slug := strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-.", r) || unicode.IsSpace(r) || unicode.In(r, unicode.L, unicode.N, unicode.M) {
			return r
		}
		return -1
	}, strings.ToLower(s))
	slug = strings.TrimLeftFunc(strings.Join(strings.Fields(slug), "-"), func(r rune) bool { return !unicode.IsLetter(r) })
	return cmp.Or(slug, "section")
}
