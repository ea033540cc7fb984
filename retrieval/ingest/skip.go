package ingest

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// skips reports whether n is not the page's text.
func (w *writer) skips(n *html.Node) bool {
	switch {
	case n.Type != html.ElementNode:
		return false
	case skippedTags.tag(n) || hidden(n):
		return true
	case !w.page:
		return false // the page's author wrote it
	}
	for _, key := range []string{"data-docs-ignore", "data-pagefind-ignore", "data-docsearch-ignore", "data-footnote-ref", "data-footnote-backref"} {
		if hasAttr(n, key) {
			return true
		}
	}
	role := attr(n, "role")
	return isTag(n) || w.skipsTag(n) || skippedRoles.has(role) || role == "banner" && w.framed || skipsClass(n) || isContents(n)
}

// isTag reports whether n shows a tag of the page.
func isTag(n *html.Node) bool {
	return n.DataAtom == atom.A && slices.Contains(strings.Fields(attr(n, "rel")), "tag") || hasClass(n, "md-tag")
}

func (w *writer) skipsTag(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Footer:
		return len(findAll(n, isHeading)) == 0
	case atom.Header:
		return w.framed && len(findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.H1 })) == 0
	case atom.Aside:
		return w.framed
	case atom.Button:
		return attr(n, "role") != "tab"
	case atom.Time: // when the page was published
		title := previousElement(n)
		return title != nil && title.DataAtom == atom.H1
	case atom.Span: // VitePress's label on a code block
		return n.Parent != nil && hasClass(n, "lang") && classLanguage(n.Parent) != ""
	}
	return false
}

func skipsClass(n *html.Node) bool {
	if isHeading(n) || n.DataAtom == atom.Section || n.DataAtom == atom.Body {
		return false // "comments" and the like as topics
	}
	return skippedClasses.class(n) || skippedClasses.has(strings.ToLower(attr(n, "id"))) && n.DataAtom != atom.Article ||
		hasClass(n, "pageinfo") && oldVersion.MatchString(textOf(n))
}

// contentsTitle matches the titles of a page's own contents.
var contentsTitle = regexp.MustCompile(`(?i)^(?:(?:table of |page )?contents|on this page|in this article)$`)

// isContents reports whether n is the heading of a list of links to the
// sections of the page or to the pages below it, or that list.
func isContents(n *html.Node) bool {
	heading, list := n, n
	switch {
	case isHeading(n):
		list = nextElement(n)
	case isList(n):
		heading = previousElement(n)
	default:
		return false
	}
	return heading != nil && list != nil && isHeading(heading) && isList(list) &&
		contentsTitle.MatchString(headingText(heading)) && onlyLinks(list)
}

// onlyLinks reports whether all words below n are in links.
func onlyLinks(n *html.Node) bool {
	if n.Type == html.TextNode {
		return !hasLetter(n.Data)
	}
	if n.DataAtom == atom.A && hasAttr(n, "href") {
		return true
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if !onlyLinks(c) {
			return false
		}
	}
	return true
}

// hidden reports whether readers never see n. The panels of tabs are hidden
// until they are chosen, so they count as seen.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		gone := false
		switch a.Key {
		case "hidden":
			gone = a.Val != "until-found"
		case "aria-hidden":
			gone = a.Val == "true" && n.DataAtom != atom.Pre && n.DataAtom != atom.Code
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			gone = strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
		}
		if gone {
			class := strings.ToLower(attr(n, "class"))
			return attr(n, "role") != "tabpanel" && !(strings.Contains(class, "tab") &&
				(strings.Contains(class, "pane") || strings.Contains(class, "content")))
		}
	}
	return false
}
