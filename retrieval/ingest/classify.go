package ingest

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// changelogTitle matches titles, movedText the text of a page that has no other.
var (
	changelogTitle = regexp.MustCompile(`(?i)^(?:changelog|change log|release notes|what['’]s new|version history|release history)`)
	movedText      = regexp.MustCompile(`(?i)\b(?:page|document|documentation|content|section|article|site)\b.{0,60}\b(?:has|have|was|is|been) (?:\w+ )?(?:moved|relocated|renamed|merged)\b|` +
		`\b(?:is|are|was|were) no longer (?:available|distributed|included|maintained|published|shipped)\b`)
)

// longestStub is how long a page is, in bytes, that says only where another is.
const longestStub = 400

// kindOfPage returns what a page is. root has all that it says, also what it says
// as other pages do; deprecated and old are what it says of itself.
func kindOfPage(doc *retrieval.Document, root *html.Node, deprecated, old bool) retrieval.Kind {
	name, _, _ := strings.Cut(doc.Page, "#")
	segments := strings.Split(strings.ToLower(name), "/")
	segments = slices.DeleteFunc(segments, func(s string) bool { return docsSegments.has(s) || isConventional(s) })
	title := strings.ToLower(doc.Title)
	switch {
	case deprecated || strings.Contains(title, "(deprecated)") || strings.HasPrefix(title, "[deprecated]"):
		return retrieval.Deprecated
	case old:
		return retrieval.Old
	case slices.ContainsFunc(segments, changelogNames.has) || changelogTitle.MatchString(doc.Title):
		return retrieval.Changelog
	case len(segments) > 0 && blogNames.has(segments[0]), len(doc.Breadcrumbs) > 0 && blogNames.has(strings.ToLower(doc.Breadcrumbs[0])):
		return retrieval.Blog
	case sourceExtensions.has(strings.ToLower(path.Ext(name))), strings.HasSuffix(name, "_source"):
		return retrieval.Listing
	case unreleased.has(doc.Version):
		return retrieval.Next
	case len(doc.Sections) == 1 && len(doc.Sections[0].Text) < longestStub && movedText.MatchString(textOf(root)):
		return retrieval.Moved
	}
	return retrieval.Current
}

// oldVersion matches what a banner says about a version that isn't maintained.
var (
	oldVersion = regexp.MustCompile(`(?i)no longer|unmaintained|not maintained|out ?(?:of )?-?dated?\b|older? version|deprecated|` +
		`end[- ]of[- ]life|archived|not the latest|unsupported`)
	bannerName = regexp.MustCompile(`(?i)version-?(?:banner|warning)|deprecat(?:ed|ion)-(?:banner|warning)|outdated`)
)

// oldBanner reports whether a banner of the page says that it belongs to a
// version that is not maintained.
func oldBanner(root *html.Node) bool {
	return slices.ContainsFunc(findAll(root, func(n *html.Node) bool {
		return (hasClass(n, "pageinfo") || bannerName.MatchString(attr(n, "class")+" "+attr(n, "id"))) && !skippedTags.tag(n) && !hidden(n)
	}), func(n *html.Node) bool { return oldVersion.MatchString(textOf(n)) })
}

// relate sets which other pages have the same content as doc: its original and
// its translations.
func (in *Ingester) relate(doc *retrieval.Document, h head) {
	base, err := url.Parse(doc.URL)
	if err != nil {
		return
	}
	// A site that is built for another host names its pages there.
	host := base.Host
	if u, err := url.Parse(h.canonical); err == nil && u.Host != "" {
		host = u.Host
	}
	page := func(href string) string {
		u, err := base.Parse(strings.TrimSpace(href))
		if err != nil || href == "" || u.Host != base.Host && u.Host != host || u.RawQuery != "" {
			return ""
		}
		return "/" + in.pageOf(u)
	}
	if doc.Canonical = page(h.canonical); doc.Canonical == "/"+doc.Page {
		doc.Canonical = ""
	}
	var pages []string
	for _, href := range h.alternates {
		if p := page(href); p != "" {
			pages = append(pages, p)
		}
	}
	if doc.Translations = page(h.alternates["x-default"]); doc.Translations == "" && len(h.alternates) > 1 && len(pages) > 0 {
		doc.Translations = slices.Min(pages)
	}
	if untranslated := withoutLanguage(doc.Page, doc.File); doc.Translations == "" && untranslated != doc.Page {
		doc.Translations = "/" + untranslated
	}
}

// humanize makes a title of a file's or folder's name.
func humanize(name string) string {
	name = strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(name, "-", " "), "_", " "))
	if name == "" || strings.ToLower(name) != name {
		return name
	}
	r := []rune(name)
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}
