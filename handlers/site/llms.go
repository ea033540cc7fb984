package site

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/agents"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// LLMs returns llms.txt and its parts, and the pages of the files with whole
// texts, by their place in Public (agents.Index). base is the site's URL without
// a slash at its end. They are written once for each state of the pages.
func (s *Pages) LLMs(base string) (files map[string]string, full map[string][]int) {
	l := s.llms.Load()
	if l == nil || l.base != base {
		l = &llms{base: base}
		l.files, l.full = s.writeLLMs(base)
		s.llms.Store(l)
	}
	return l.files, l.full
}

func (s *Pages) writeLLMs(base string) (files map[string]string, full map[string][]int) {
	about := s.About(base)
	about.Language, about.Version = s.favored()
	pages := make([]agents.Page, len(s.Public))
	for i, d := range s.Public {
		pages[i] = s.listed(base, d)
		pages[i].Section, pages[i].Language, pages[i].Version = partOf(d), cmp.Or(s.untranslated(d, s.Public[0]), d.Language), d.Version
	}
	return agents.Index(about, pages)
}

// Sitemap returns sitemap.xml.
func (s *Pages) Sitemap(base string) []byte {
	urls := make([]string, len(s.Public))
	for i, d := range s.Public {
		urls[i] = Absolute(base, d.URL)
	}
	return agents.Sitemap(urls)
}

// languageFolder is the name of a folder with the pages of a language.
var languageFolder = regexp.MustCompile(`^(?i)[a-z]{2}(-[a-z]{2,4})?$`)

// untranslated returns the language whose folder has a page that is not
// translated yet, "" for any other page: generators put a copy of the default
// language's page there, which is not the one for readers of other languages
// (hreflang="x-default").
func (s *Pages) untranslated(d, front *retrieval.Document) string {
	if !front.XDefault || d.XDefault || d.Language != front.Language {
		return ""
	}
	folder, _, _ := strings.Cut(strings.TrimPrefix(moved.PathOf(d), s.site.Prefix+"/"), "/")
	language, _, _ := strings.Cut(folder, "-")
	own, _, _ := strings.Cut(d.Language, "-")
	if !languageFolder.MatchString(folder) || strings.EqualFold(language, own) {
		return ""
	}
	return folder
}

// maxNamed is how many languages and versions of a site are named.
const maxNamed = 20

// About is what the tools of agents say of the site.
func (s *Pages) About(base string) agents.About {
	about := agents.About{Name: s.site.Name, Title: s.site.Title(), URL: base}
	_, version := s.favored()
	about.Description = s.description
	about.Languages, about.Versions = s.Languages(), named(version, s.versions)
	return about
}

// Languages returns the languages of the public pages to name, that of most
// readers first.
func (s *Pages) Languages() []string {
	language, _ := s.favored()
	return named(language, s.languages)
}

// named returns the values to name, the favored one first.
func named(favored string, all []string) (some []string) {
	for _, s := range append([]string{favored}, all...) {
		if s != "" && len(s) <= 50 && len(some) < maxNamed && !slices.Contains(some, s) {
			some = append(some, s)
		}
	}
	return some
}
