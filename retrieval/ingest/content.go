package ingest

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// contentClasses mark the text of a page in the HTML of well-known
// generators, the surest first.
var contentClasses = []string{
	"theme-doc-markdown",                          // Docusaurus
	"vp-doc",                                      // VitePress
	"md-content__inner",                           // MkDocs Material
	"td-content",                                  // Docsy
	"sl-markdown-content",                         // Starlight
	"bd-article",                                  // PyData theme of Sphinx
	"rst-content",                                 // Read the Docs theme
	"markdown-section",                            // Docsify
	"theme-default-content", "theme-hope-content", // VuePress
	"nextra-content",
	"gh-doc", "book-page", "markdown-body", // GitBook, Hugo Book, GitHub styles
}

// contentRoots returns the elements that hold a page's text. framed reports
// that they include the site's header, menus and footer.
func contentRoots(root *html.Node) (roots []*html.Node, framed bool) {
	for _, key := range []string{"data-docs-content", "data-pagefind-body"} {
		if roots = findAll(root, func(n *html.Node) bool { return hasAttr(n, key) }); len(roots) > 0 {
			return roots, false
		}
	}
	for _, class := range contentClasses {
		if roots = findAll(root, func(n *html.Node) bool { return hasClass(n, class) }); hasText(roots) {
			return roots, false
		}
	}
	if roots = first(findAll(root, func(n *html.Node) bool { return attr(n, "itemprop") == "articleBody" })); hasText(roots) {
		return roots, false
	}
	articles := findAll(root, func(n *html.Node) bool { return n.DataAtom == atom.Article })
	h1 := findHeading(root)
	// An article without the page's heading may be a card or a teaser.
	if len(articles) == 1 && hasText(articles) && (h1 == nil || within(h1, articles[0])) {
		return articles, false
	}
	for _, is := range []func(*html.Node) bool{
		func(n *html.Node) bool { return n.DataAtom == atom.Main },
		func(n *html.Node) bool { return attr(n, "role") == "main" },
	} {
		if roots = findAll(root, is); hasText(first(roots)) {
			return roots, false
		}
	}
	if roots = first(findAll(root, func(n *html.Node) bool { return contentIDs[attr(n, "id")] })); hasText(roots) {
		return roots, false
	}
	if hasText(articles) && h1 == nil {
		return articles, false
	}
	return body(root), true
}

// body is the whole page.
func body(root *html.Node) []*html.Node {
	if roots := first(findAll(root, func(n *html.Node) bool { return n.DataAtom == atom.Body })); len(roots) > 0 {
		return roots
	}
	return []*html.Node{root}
}

var contentIDs = set("content main-content content-area mw-content-text docs-content")

func first(nodes []*html.Node) []*html.Node { return nodes[:min(len(nodes), 1)] }

// hasText reports whether one of the nodes holds text that readers see.
func hasText(nodes []*html.Node) bool {
	return slices.ContainsFunc(nodes, textBelow)
}

func textBelow(n *html.Node) bool {
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data) != ""
	}
	if n.Type == html.ElementNode && skippedTags[n.DataAtom] {
		return false
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if textBelow(c) {
			return true
		}
	}
	return false
}

// findHeading is the page's h1, preferably one in main or an article, and in
// the site's header only if there is no other.
func findHeading(root *html.Node) *html.Node {
	var found *html.Node
	best := -1
	for _, n := range findAll(root, func(n *html.Node) bool { return n.DataAtom == atom.H1 }) {
		score := 1
		for p := n.Parent; p != nil; p = p.Parent {
			switch p.DataAtom {
			case atom.Main, atom.Article:
				score = 2
			case atom.Nav, atom.Aside, atom.Footer, atom.Dialog:
				score = -9
			case atom.Header:
				if score == 1 {
					score = 0
				}
			}
		}
		if score > best && headingText(n) != "" {
			found, best = n, score
		}
	}
	return found
}
