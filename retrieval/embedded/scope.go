package embedded

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// scope is what pages are for. Sites have few, so a query is compared with
// scopes and not with pages.
type scope struct {
	version, language, readers string
	kind                       retrieval.Kind
	words                      language.Language
}

// scopesOf returns the scopes of pages, and the number of each page's.
func scopesOf(docs []*retrieval.Document, counted []*words.PageWords) (scopes []scope, of []uint32) {
	numbers := map[scope]uint32{}
	of = make([]uint32, len(docs))
	for i, d := range docs {
		s := scope{d.Version, languageTag(d.Language), languageTag(d.Readers), d.Kind, counted[i].Language}
		n, ok := numbers[s]
		if !ok {
			n = uint32(len(scopes))
			numbers[s], scopes = n, append(scopes, s)
		}
		of[i] = n
	}
	return scopes, of
}

// judgement is what a query says of the pages of a scope.
type judgement struct {
	allowed bool    // by the filter
	factor  float32 // of their values, for the reader's version and language
	kind    float32 // of their values, for what they are
	order   uint64  // among copies, see copyOfOriginal
}

// kindFactors are the factors of pages that are no current documentation,
// unless a query has one of the words that ask for their kind. A version's
// number, such as 2.11, asks for those that are about versions.
var kindFactors = map[retrieval.Kind]struct {
	factor  float32
	words   string
	version bool
}{
	retrieval.Blog:       {.8, "blog post posts news announcement announcing", true},
	retrieval.Changelog:  {.7, "changelog changes changed release releases whatsnew news added", true},
	retrieval.Deprecated: {.7, "deprecated deprecation legacy removed obsolete", false},
	retrieval.Old:        {.7, "old older previous legacy", true},
	retrieval.Next:       {.8, "next unreleased nightly beta preview upcoming", true},
	retrieval.Listing:    {.6, "source code implementation", false},
	retrieval.Moved:      {.5, "moved renamed", false},
}

var versionNumber = regexp.MustCompile(`(?:^|[\s(])v?\d+\.\d+(?:[.\w-]*)|(?:^|\s)(?:19|20)\d\d(?:\s|-|$)`)

// kindFactor returns the factor of a kind of pages for a query.
func (p *parsedQuery) kindFactor(k retrieval.Kind) float32 {
	f, ok := kindFactors[k]
	if !ok || f.version && p.version || slices.ContainsFunc(p.plain, func(w string) bool { return strings.Contains(" "+f.words+" ", " "+w+" ") }) {
		return 1
	}
	return f.factor
}

// wanted returns the language of the pages that a query wants. A question asked
// in French wants French pages, whatever the reader's language.
func (p *parsedQuery) wanted(q *retrieval.Query) string {
	wanted := cmp.Or(q.Filter.Language, q.Prefer.Language)
	if q.Filter.Language == "" && p.language != "" && language.Of(wanted) != p.language {
		wanted = string(p.language)
	}
	return languageTag(wanted)
}

// judge judges the scopes for a query.
func (g *generation) judge(q *retrieval.Query, p *parsedQuery) []judgement {
	version, wanted := cmp.Or(q.Filter.Version, q.Prefer.Version), p.wanted(q)
	reads := wanted // of translations that are found
	if q.Filter.Language == "" && p.language == language.English {
		// Readers of every language search for names and messages in English.
		reads = languageTag(cmp.Or(q.Prefer.Language, wanted))
	}
	out := make([]judgement, len(g.scopes))
	for i, s := range g.scopes {
		j := &out[i]
		j.factor, j.kind = 1, p.kindFactor(s.kind)
		if (s.kind == retrieval.Old || s.kind == retrieval.Next) && same(version, s.version) {
			j.kind = 1
		}
		j.allowed = (q.Filter.Version == "" || same(q.Filter.Version, s.version)) &&
			(q.Filter.Language == "" || speaks(s.language, wanted) || speaks(s.readers, wanted))
		if q.Filter.Version == "" && same(version, s.version) {
			j.factor *= preferredFactor
		}
		if q.Filter.Language == "" && len(g.languages) > 1 && wanted != "" && (speaks(s.language, wanted) || s.words == language.Of(wanted)) {
			j.factor *= preferredFactor
		}
		switch { // 0 is best
		case reads == s.language:
		case speaks(s.language, reads):
			j.order = 1 << languageShift
		case speaks(s.readers, reads):
			j.order = 2 << languageShift
		case speaks(s.language, languageTag(q.Prefer.Language)):
			j.order = 3 << languageShift
		default:
			j.order = otherLanguage << languageShift
		}
		if version != "" && !same(version, s.version) {
			j.order |= unwantedVersion
		}
	}
	return out
}

// filtered returns for each page whether it matches a query's filter, nil if
// all do.
func (g *generation) filtered(f retrieval.Filter, scopes []judgement) []bool {
	if f == (retrieval.Filter{}) {
		return nil
	}
	out := make([]bool, len(g.docs))
	for i, d := range g.docs {
		out[i] = scopes[g.scope[i]].allowed && (f.Site == "" || same(f.Site, d.Source)) &&
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
// en takes en-us.
func speaks(of, wanted string) bool {
	base, _, _ := strings.Cut(of, "-")
	return wanted != "" && (of == wanted || base == wanted)
}

// languageTag is a language tag in lower case, with pt_BR written as pt-br.
func languageTag(tag string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-")
}
