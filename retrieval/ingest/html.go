package ingest

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// html reads an HTML page into doc, whose URL may be below site.
func (in *Ingester) html(doc *retrieval.Document, src []byte, site *url.URL) (*reading, error) {
	root, err := parseHTML(src)
	if err != nil {
		return nil, fmt.Errorf("%w: its HTML can't be parsed: %v", errSkip, err)
	}
	h := readHead(root)
	name := path.Base(doc.Page)
	switch {
	case h.noindex:
		return nil, fmt.Errorf("%w: its robots meta says noindex", errSkip)
	case h.refresh:
		return nil, fmt.Errorf("%w: it only sends readers to another page", errSkip)
	case isErrorPage(doc):
		return nil, fmt.Errorf("%w: it is an error page", errSkip)
	case h.sphinx && (name == "search" || strings.HasPrefix(name, "genindex") || strings.HasSuffix(name, "modindex")):
		return nil, fmt.Errorf("%w: it is a generated index of names", errSkip)
	}
	roots, framed := contentRoots(root)
	if !h.sphinx && listPage.MatchString(doc.Page) && (h.generator != "" || h.taxonomy || listsPages(roots)) {
		return nil, fmt.Errorf("%w: it is a generated list of pages", errSkip)
	}
	if u, ok := in.canonical(doc.Page, doc.URL, h.canonical); ok {
		doc.URL = u
	}
	r := in.write(doc, site, roots, framed, in.repeated.Load())
	if r.isEmpty() && len(r.w.furniture) > 0 { // never a page's only text
		r = in.write(doc, site, roots, framed, new(repetition))
	}
	if r.isEmpty() && !framed { // the text is elsewhere, as on front pages
		roots = body(root)
		r = in.write(doc, site, roots, true, in.repeated.Load())
	}
	r.date = h.date
	h1, tops := topHeadings(r.w.headers)
	if n := findHeading(root); h1 == "" && n != nil {
		if h1 = headingText(n); isSiteName(h1, h.title) { // mdBook's bar
			h1, h.siteName = "", cmp.Or(h.siteName, h1)
		}
	}
	if doc.Page != "" && isSiteName(h1, h.title) { // Node.js: the same heading on each page
		h1, h.siteName = "", cmp.Or(h.siteName, h1)
	}
	title, ogTitle := clean(h.title), clean(h.ogTitle)
	if ogTitle == title { // Docusaurus adds the site's name to both
		ogTitle = withoutSiteName(title, cmp.Or(h.siteName, title))
	}
	title = withoutSiteName(title, h.siteName)
	if h1 == "" || tops > 1 {
		h1 = cmp.Or(shownTitle(root, title, h1 != ""), h1)
	}
	doc.Title = cmp.Or(clean(h1), ogTitle, title, humanize(name))
	doc.Description = clean(h.description)
	for _, n := range findAll(root, isTag) {
		h.tags = append(h.tags, textOf(n))
	}
	doc.Tags = tidyList(h.tags)
	doc.Keywords = tidyList(h.keywords)
	doc.Breadcrumbs = breadcrumbTrail(root, doc.Title)
	doc.Sections, r.without = sectionsOf(r.stream, r.w.headers, doc.Title, r.w.usual)
	if len(doc.Sections) > 1 && doc.Sections[0].Heading == h.siteName {
		doc.Sections[0].Heading = ""
	}
	doc.Links = r.w.links
	if _, doc.XDefault = in.canonical(doc.Page, doc.URL, h.alternates["x-default"]); h.canonical != "" {
		doc.XDefault = doc.XDefault || h.canonical == h.alternates["x-default"] // a site that is also served at another host
	}
	in.setScope(doc, h.version, cmp.Or(contentLanguage(roots[0]), h.ownLanguage, h.language), h.language)
	in.relate(doc, h)
	doc.Kind = kindOfPage(doc, roots[0], h.deprecated, oldBanner(root))
	return r, nil
}

// shownTitle returns what of a <title> the page shows above its first section,
// "" if nothing: all of it, or what is before or after a colon. What is before
// it must be a heading, else it may be the site's name. If the h1s are those of
// sections, only what is above them counts.
func shownTitle(root *html.Node, title string, sections bool) (shown string) {
	if title == "" {
		return ""
	}
	_, after, _ := strings.Cut(title, ": ")
	before := title[:max(0, strings.LastIndex(title, ": "))]
	headed := false
	for n := range root.Descendants() {
		text := ""
		switch {
		case n.DataAtom == atom.H1 && sections, headingLevel(n) > 0 && headed:
			return shown
		case headingLevel(n) > 0:
			headed = !sections
			if text = headingText(n); headed && strings.EqualFold(text, before) {
				return text
			}
		case n.Type == html.TextNode && n.Parent.DataAtom != atom.Title:
			text = collapse(n.Data)
		}
		if text != "" && (strings.EqualFold(text, title) || strings.EqualFold(text, after)) {
			shown = text
		}
	}
	return shown
}

// isErrorPage reports whether a page is the site's error page: 404, at the top or
// below a language or version.
func isErrorPage(doc *retrieval.Document) bool {
	dir, name := path.Split(doc.Page)
	return (name == "404" || name == "404.html") && (dir == "" || isConventional(strings.TrimSuffix(dir, "/")))
}

// write writes the text below the elements that hold it.
func (in *Ingester) write(doc *retrieval.Document, site *url.URL, roots []*html.Node, framed bool, repeated *repetition) *reading {
	w := &writer{in: in, base: baseOf(doc, site), page: true, framed: framed}
	w.furnish(repeated, doc.File, roots)
	return &reading{w: w, stream: w.write(roots)}
}

// contentLanguage is the language of an element or of one around it within the
// page: an untranslated page has the content of another language.
func contentLanguage(n *html.Node) string {
	for ; n != nil && n.DataAtom != atom.Html; n = n.Parent {
		if language := languageTag(attr(n, "lang")); language != "" {
			return language
		}
	}
	return ""
}

// listPage matches the pages on which generators list others by tag, author,
// date or number. They repeat other pages' text.
var listPage = regexp.MustCompile(`^(?:[a-z]{2}(?:-[A-Za-z]{2,4})?/)?(?:` +
	`(?:docs/|blog/|news/|posts/)?(?:tags|categories)(?:/[^/]+)?|` +
	`(?:blog|news|posts)/(?:category|authors?|archives?)(?:/[^/]+){0,2}|` +
	`(?:authors|archives)/[^/]+)(?:/page/\d+)?$|(?:^|/)page/\d+$`)

// isSiteName reports whether a heading is the site's name: what follows the
// page's own title in the <title>.
func isSiteName(heading, title string) bool {
	title, heading = clean(title), clean(heading)
	at := len(title) - len(heading)
	if heading == "" || at < 0 || !strings.EqualFold(title[at:], heading) {
		return false
	}
	own := title[:at]
	return slices.ContainsFunc(titleSeparators, func(sep string) bool { return len(own) > len(sep) && strings.HasSuffix(own, sep) })
}

var titleSeparators = []string{" | ", " — ", " – ", " · ", " :: ", " - "}

// listsPages reports whether a page's text is a list of links to pages: all
// headings below the title are such links or, without headings, all items of
// its lists.
func listsPages(roots []*html.Node) bool {
	var items []*html.Node
	for _, is := range []func(*html.Node) bool{
		func(n *html.Node) bool { return headingLevel(n) > 1 },
		func(n *html.Node) bool { return n.DataAtom == atom.Li },
	} {
		for _, r := range roots {
			items = append(items, findAll(r, is)...)
		}
		if len(items) > 0 {
			break
		}
	}
	return len(items) > 0 && !slices.ContainsFunc(items, func(n *html.Node) bool {
		toPage := findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.A && !strings.HasPrefix(attr(n, "href"), "#") })
		return len(toPage) == 0 || !onlyLinks(n)
	})
}

// withoutSiteName drops what follows the last separator of a <title>.
func withoutSiteName(title, site string) string {
	for _, sep := range titleSeparators {
		if i := strings.LastIndex(title, sep); i > 0 {
			if site == "" || sep != " - " || strings.EqualFold(title[i+len(sep):], site) {
				return strings.TrimSpace(title[:i])
			}
		}
	}
	return title
}
