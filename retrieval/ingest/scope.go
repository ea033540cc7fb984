package ingest

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/short"
)

type scope struct {
	value string
	globs globs
}

func compileScopes(scopes []Scope) (out []scope) {
	for _, s := range scopes {
		out = append(out, scope{s.Value, compileGlobs(s.Paths)})
	}
	return out
}

// choose returns the value of the first scope whose paths match, else the
// page's, else the one that its path has by convention, else the default.
func choose(scopes []scope, candidates []string, own, convention string) string {
	fallback := ""
	for _, s := range scopes {
		if len(s.globs) == 0 {
			fallback = s.value
		} else if s.globs.match(candidates) {
			return s.value
		}
	}
	return cmp.Or(own, convention, fallback)
}

// setScope sets doc's version, language and readers. ownLanguage is what the
// page says of its content, frameLanguage what it says of itself.
func (in *Ingester) setScope(doc *retrieval.Document, ownVersion, ownLanguage, frameLanguage string) {
	candidates := in.candidates(doc.File)
	version, folder := conventional(doc.Page, doc.File)
	if ambiguousLanguages.has(folder) && !slices.ContainsFunc(in.languages, func(s scope) bool { return strings.EqualFold(s.value, folder) }) &&
		detected(doc, language.English) != language.Language(folder) {
		folder = ""
	}
	if doc.Version = choose(in.versions, candidates, clean(ownVersion), version); version != "" && doc.Version != version {
		doc.Folders = append(doc.Folders, version)
	}
	doc.Language = choose(in.languages, candidates, languageTag(ownLanguage), folder)
	first, _, _ := strings.Cut(doc.Page, "/")
	if !slices.ContainsFunc(in.languages, func(s scope) bool { return s.globs.match(candidates) }) {
		doc.Language = spoken(doc)
	} else if _, region, _ := strings.Cut(doc.Language, "-"); strings.EqualFold(region, first) {
		doc.Folders = append(doc.Folders, first)
	}
	for _, readers := range []string{folder, languageTag(frameLanguage)} {
		if readers != "" && doc.Language != "" && baseLanguage(readers) != baseLanguage(doc.Language) {
			doc.Readers = readers
			break
		}
	}
}

// proofText is how much text, in bytes, shows that a page has another language
// than it says.
const proofText = 500

// spoken returns the language of a page's text if the page is certainly not in
// the one it says: many translations that were never made say they were.
func spoken(doc *retrieval.Document) string {
	said := language.Of(doc.Language)
	if said == "" {
		return doc.Language
	}
	if found := detected(doc, said); found != said {
		return string(found)
	}
	return doc.Language
}

// detected returns the language of a page's prose, fallback unless it clearly is
// another.
func detected(doc *retrieval.Document, fallback language.Language) language.Language {
	var prose strings.Builder
	for i := range doc.Sections {
		for n, text := range strings.Split(doc.Sections[i].Text, "```") {
			if n%2 == 0 && prose.Len() < 3*proofText {
				prose.WriteString(text)
			}
		}
	}
	if prose.Len() < proofText {
		return fallback
	}
	text := prose.String()
	return language.Detect(text[:min(len(text), 3*proofText)], fallback)
}

func baseLanguage(tag string) string {
	base, _, _ := strings.Cut(tag, "-")
	return strings.ToLower(base)
}

var (
	versionSegment  = regexp.MustCompile(`^(?:v\d{1,4}(?:\.(?:\d{1,4}|x)){0,3}|\d{1,4}\.(?:\d{1,4}|x)(?:\.(?:\d{1,4}|x)){0,2})(?:-[a-z0-9.]{1,12})?$`)
	languageSegment = regexp.MustCompile(`^([a-z]{2})(?:[-_](?:[A-Z][a-z]{3}|[A-Z]{2}|[a-z]{2}|[a-z]{4}|\d{3}))?$`)
	languageValue   = regexp.MustCompile(`^[a-zA-Z]{2,3}(?:[-_][a-zA-Z0-9]{2,8}){0,3}$`)
)

// conventional reads version and language from the leading folders of a
// page: /v2/, /2.x/, /docs/next/, /fr/, /pt-BR/v1.2/. API versions further
// down (/reference/v1/users) are topics.
func conventional(page, file string) (version, language string) {
	segments := strings.Split(page, "/")
	// The last segment is the page itself unless it is a folder's own page.
	if !isIndex(path.Base(file)) && !strings.HasSuffix(file, "/") {
		stem := segments[len(segments)-1]
		if i := strings.LastIndexByte(stem, '.'); i > 0 && knownLanguages.has(stem[i+1:]) {
			language = stem[i+1:] // page.fr.md
		}
		segments = segments[:len(segments)-1]
	}
	below := false // below "docs" or a language
	for i, s := range segments {
		switch m := languageSegment.FindStringSubmatch(s); {
		case i > 3:
			return version, language
		case docsSegments.has(s):
			below = true
		case language == "" && m != nil && knownLanguages.has(m[1]):
			language, below = languageTag(s), true
		case version == "" && (versionSegment.MatchString(s) || movingVersions.has(s) || below && maybeVersions.has(s)):
			version, below = s, true
		default:
			return version, language
		}
	}
	return version, language
}

// withoutLanguage is the name of a page without the language in it.
func withoutLanguage(page, file string) string {
	_, language := conventional(page, file)
	if language == "" {
		return page
	}
	segments := strings.Split(page, "/")
	for i, s := range segments {
		stem, suffix, _ := strings.Cut(s, ".")
		switch {
		case languageTag(s) == language:
			return strings.Join(slices.Delete(segments, i, i+1), "/")
		case i == len(segments)-1 && suffix == language:
			segments[i] = stem
		}
	}
	return strings.Join(segments, "/")
}

// isConventional reports whether a path consists of versions and languages
// alone.
func isConventional(p string) bool {
	for s := range strings.SplitSeq(p, "/") {
		if version, language := conventional(s+"/x", "x.md"); version == "" && language == "" {
			return false
		}
	}
	return true
}

// DefaultLanguage returns the language of a site's front page, else of most of
// its pages for readers of any language (hreflang="x-default"), else of most of
// its pages. It is "" if no page has a language.
func DefaultLanguage(documents []*retrieval.Document) string {
	pages := map[string]int{}
	for _, d := range documents {
		switch {
		case d.Language == "":
		case d.Page == "":
			return d.Language
		case d.XDefault:
			pages[d.Language] += 1 << 30
		default:
			pages[d.Language]++
		}
	}
	most := ""
	for _, language := range slices.Sorted(maps.Keys(pages)) {
		if pages[language] > pages[most] {
			most = language
		}
	}
	return most
}

// languageTag normalizes a page's language: "pt_BR" is "pt-BR". It returns ""
// for anything but a language tag.
func languageTag(s string) string {
	s = strings.TrimSpace(s)
	if !languageValue.MatchString(s) || strings.EqualFold(s, "und") {
		return ""
	}
	return strings.ReplaceAll(s, "_", "-")
}

// clean normalizes a short metadata value to one line of bounded length.
func clean(s string) string {
	return short.Bytes(short.Line(s), maxMetadata)
}

// maxMetadata bounds titles, descriptions, tags and the like, in bytes.
const maxMetadata = 1000
