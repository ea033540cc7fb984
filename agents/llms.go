// Package agents is what programs that read documentation get of a site:
// llms.txt (this file) and the tools of the Model Context Protocol. It is pure,
// and the only importer of the protocol's SDK.
package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/short"
)

// maxIndex is the length of llms.txt and of each of its parts in characters.
// Clients cut what is longer, and afdocs warns of it.
const maxIndex = 50_000

// maxDescription is the length of a page's description in llms.txt.
const maxDescription = 300

// Page is a public page.
type Page struct {
	Title, Description string
	// Markdown is the URL of the page as Markdown.
	Markdown string
	// Section is the name of the part of the site that the page belongs to, ""
	// for pages at the top.
	Section           string
	Language, Version string
}

// section is a list of pages under one heading.
type section struct {
	title, slug string
	lines       []string
	size        int   // characters
	pages       []int // by their place
}

// The files of whole texts: that of llms.txt, and where those of other languages
// and versions are.
const (
	fullFile   = "llms-full.txt"
	fullFolder = "llms-full/"
)

// Index returns llms.txt and its parts by their names below the site's URL:
// "llms.txt", and "llms/guide.txt" where one file would be longer than
// maxIndex. Pages and sections keep the order of pages. Pages of languages and
// versions that are not the site's are in parts that "llms/others.txt" lists:
// who reads llms.txt as a whole has no use for each page in ten languages. full
// has the pages of the files with whole texts: "llms-full.txt" those of llms.txt,
// and files like "llms-full/language-fr.txt" the others.
func Index(site About, pages []Page) (files map[string]string, full map[string][]int) {
	sections, others := sectionsOf(site, pages)
	files, full = map[string]string{}, map[string][]int{fullFile: nil}
	for _, s := range sections {
		full[fullFile] = append(full[fullFile], s.pages...)
	}
	slices.Sort(full[fullFile])
	if len(others) > 0 {
		var lines []string
		for _, s := range others {
			name := fullFolder + s.slug + ".txt"
			full[name] = s.pages
			s.move(site, files)
			s.add(fmt.Sprintf("- [%s, in one file](%s/%s)", escape(s.title), site.URL, name))
			lines = append(lines, s.lines...)
		}
		files[othersFile] = fmt.Sprintf("# %s: %s\n\n> Part of %s/llms.txt\n\n%s\n", short.Line(site.Title), othersTitle, site.URL, strings.Join(lines, "\n"))
		link := &section{title: "Optional"} // which the proposal has for what may be skipped
		link.add(fmt.Sprintf("- [%s](%s/%s): lists of the same documentation", othersTitle, site.URL, othersFile))
		sections = append(sections, link)
	}
	head := indexHead(site, len(full[fullFile]))
	total := utf8.RuneCountInString(head)
	for _, s := range sections {
		total += s.size + utf8.RuneCountInString(s.title) + 6
	}
	// The largest sections move to separate files until the rest fits.
	bySize := slices.Clone(sections)
	slices.SortStableFunc(bySize, func(a, b *section) int { return cmp.Compare(b.size, a.size) })
	for _, s := range bySize {
		if total <= maxIndex {
			break
		}
		total -= s.size
		s.move(site, files)
		total += s.size
	}
	var b strings.Builder
	b.WriteString(head)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.title, strings.Join(s.lines, "\n"))
	}
	files["llms.txt"] = b.String()
	return files, full
}

// The file of other languages and versions.
const (
	othersFile  = "llms/others.txt"
	othersTitle = "Other languages and versions"
)

func indexHead(site About, pages int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n\n", short.Line(site.Title), cmp.Or(short.Line(site.Description), "The documentation of "+short.Line(site.Title)+"."))
	fmt.Fprintf(&b, "Each link below leads to a page as Markdown. Every page of %s has this form at its URL with .md, or with the header Accept: text/markdown. %s in one file: %s/%s\n", site.URL, short.Count(pages, "page"), site.URL, fullFile)
	return b.String()
}

// sectionsOf groups pages: those of the site's language and version, and others.
func sectionsOf(site About, pages []Page) (first, others []*section) {
	byTitle := map[string]*section{}
	slugs := map[string]bool{"others": true}
	for i, p := range pages {
		var also []string // terms that distinguish the section from those before it
		if p.Version != "" && site.Version != "" && !strings.EqualFold(p.Version, site.Version) {
			also = append(also, "version "+p.Version)
		}
		if p.Language != "" && site.Language != "" && !sameLanguage(p.Language, site.Language) {
			also = append(also, "language "+p.Language)
		}
		title := cmp.Or(short.Line(p.Section), "Pages")
		if len(also) > 0 {
			title = upperFirst(strings.Join(also, ", "))
		}
		s := byTitle[title]
		if s == nil {
			s = &section{title: title, slug: slugOf(title, slugs)}
			byTitle[title] = s
			if len(also) > 0 {
				others = append(others, s)
			} else {
				first = append(first, s)
			}
		}
		s.add(p.line())
		s.pages = append(s.pages, i)
	}
	return first, others
}

// line is a page in a list.
func (p Page) line() string {
	line := "- [" + escape(short.Line(p.Title)) + "](" + p.Markdown + ")"
	if d := short.Excerpt(p.Description, maxDescription); d != "" {
		line += ": " + d
	}
	return line
}

func (s *section) add(line string) {
	s.lines = append(s.lines, line)
	s.size += utf8.RuneCountInString(line) + 1
}

// move puts the lines of a section into files, and leaves the links to these.
func (s *section) move(site About, files map[string]string) {
	count, parts := len(s.lines), s.split()
	s.lines, s.size = nil, 0
	for i, part := range parts {
		name, title := "llms/"+s.slug+".txt", s.title
		if len(parts) > 1 {
			name = fmt.Sprintf("llms/%s-%d.txt", s.slug, i+1)
			title = fmt.Sprintf("%s, part %d of %d", s.title, i+1, len(parts))
		}
		files[name] = fmt.Sprintf("# %s: %s\n\n> Part of %s/llms.txt\n\n%s\n", short.Line(site.Title), title, site.URL, strings.Join(part, "\n"))
		s.add(fmt.Sprintf("- [%s](%s/%s): %d of %s", escape(title), site.URL, name, len(part), short.Count(count, "page")))
	}
}

// sameLanguage ignores the region: pages in en-US are those of a site in en.
func sameLanguage(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return strings.EqualFold(a, b)
}

// split returns a section's lines in parts that fit into a file.
func (s *section) split() [][]string {
	const room = maxIndex - 1000 // for the head
	var parts [][]string
	size := 0
	for _, line := range s.lines {
		n := utf8.RuneCountInString(line) + 1
		if len(parts) == 0 || size+n > room {
			parts, size = append(parts, nil), 0
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], line)
		size += n
	}
	return parts
}

// slugOf is the name of a section's file. used has those that are taken.
func slugOf(title string, used map[string]bool) string {
	slug := strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), "-"), "-")
	if len(slug) > 60 {
		slug = strings.Trim(slug[:60], "-")
	}
	slug = cmp.Or(slug, "part")
	for base, n := slug, 2; used[slug]; n++ {
		slug = base + "-" + strconv.Itoa(n)
	}
	used[slug] = true
	return slug
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// NewestVersion returns the version that most readers want: the one that is
// called stable or latest, else the highest number. "" if no page has a
// version.
func NewestVersion(versions []string) string {
	best := ""
	for _, v := range versions {
		if v != "" && (best == "" || compareVersions(v, best) > 0) {
			best = v
		}
	}
	return best
}

func compareVersions(a, b string) int {
	rank := func(v string) int { // the higher, the likelier readers want it
		v = strings.ToLower(v)
		switch number := strings.IndexFunc(strings.TrimPrefix(v, "v"), unicode.IsDigit) == 0; {
		case v == "stable":
			return 4
		case v == "current", v == "latest", v == "lts":
			return 3
		case number && !strings.Contains(v, "-"):
			return 2
		case number: // a prerelease
			return 1
		}
		return 0 // next, main, nightly
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	split := func(v string) []string {
		return strings.FieldsFunc(v, func(r rune) bool { return r == '.' || r == '-' || r == 'v' || r == 'V' })
	}
	x, y := split(a), split(b)
	for i := range min(len(x), len(y)) {
		n, errN := strconv.Atoi(x[i])
		m, errM := strconv.Atoi(y[i])
		c := cmp.Compare(n, m)
		if errN != nil || errM != nil {
			c = cmp.Compare(x[i], y[i])
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// escape keeps a title from ending its link.
func escape(s string) string {
	return strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]").Replace(s)
}
