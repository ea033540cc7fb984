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

// id returns the id of the next heading of the page.
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
	return s.unique(slug)
}

// reserve takes an explicit id, which later headings then avoid.
func (s *slugger) reserve(id string) {
	if _, taken := s.used[id]; !taken {
		s.used[id] = 0
	}
}

// unique appends -1, -2 … as github-slugger does: it counts under the bare
// slug and passes over numbers that are taken.
func (s *slugger) unique(slug string) string {
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
	var b strings.Builder
	// JavaScript's lower case of İ is two runes, Go's one.
	for _, r := range strings.ToLower(strings.ReplaceAll(s, "İ", "i\u0307")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || wordRune(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

// wordRune is Ruby's \p{Word}, which GitHub's ids use.
func wordRune(r rune) bool {
	if r < 0x80 {
		return r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic)
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
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if r == '_' || r == '-' || r == '.' || unicode.IsSpace(r) || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.M, r) {
			b.WriteRune(r)
		}
	}
	slug := strings.TrimLeftFunc(strings.Join(strings.Fields(b.String()), "-"), func(r rune) bool { return !unicode.IsLetter(r) })
	return cmp.Or(slug, "section")
}
