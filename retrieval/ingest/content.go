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
	marked := map[string][]*html.Node{} // outermost elements by what marks them
	mark := func(n *html.Node, by string) {
		if list := marked[by]; len(list) == 0 || !within(n, list[len(list)-1]) {
			marked[by] = append(list, n)
		}
	}
	walk(root, func(n *html.Node) bool {
		for _, a := range n.Attr {
			switch {
			case a.Key == "class":
				for class := range strings.FieldsSeq(a.Val) {
					if class = strings.ToLower(class); slices.Contains(contentClasses, class) {
						mark(n, class)
					}
				}
			case a.Key == "data-docs-content" || a.Key == "data-pagefind-body":
				mark(n, a.Key)
			case a.Key == "itemprop" && a.Val == "articleBody", a.Key == "role" && a.Val == "main":
				mark(n, a.Val)
			case a.Key == "id" && contentIDs[a.Val]:
				mark(n, "id")
			}
		}
		if n.DataAtom == atom.Article || n.DataAtom == atom.Main {
			mark(n, "<"+n.Data)
		}
		return n.DataAtom != atom.Template && n.DataAtom != atom.Svg
	})
	for _, key := range []string{"data-docs-content", "data-pagefind-body"} {
		if len(marked[key]) > 0 {
			return marked[key], false
		}
	}
	for _, class := range contentClasses {
		if hasText(marked[class]) {
			return marked[class], false
		}
	}
	if roots = first(marked["articleBody"]); hasText(roots) {
		return roots, false
	}
	h1, articles := findHeading(root), marked["<article"]
	// An article without the page's heading may be a card or a teaser.
	if len(articles) == 1 && hasText(articles) && (h1 == nil || within(h1, articles[0])) {
		return articles, false
	}
	if hasText(first(marked["<main"])) {
		return marked["<main"], false
	}
	if hasText(first(marked["main"])) {
		return marked["main"], false
	}
	if roots = first(marked["id"]); hasText(roots) {
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
