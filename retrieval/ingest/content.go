package ingest

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

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
			case a.Key == "data-docs-content", a.Key == "data-pagefind-body":
				mark(n, a.Key)
			case a.Key == "role" && a.Val == "main", a.Key == "id" && contentIDs.has(a.Val):
				mark(n, a.Key)
			}
		}
		if n.DataAtom == atom.Article || n.DataAtom == atom.Main {
			mark(n, n.Data)
		}
		return n.DataAtom != atom.Template && n.DataAtom != atom.Svg
	})
	for _, key := range []string{"data-docs-content", "data-pagefind-body"} {
		if len(marked[key]) > 0 {
			return marked[key], false
		}
	}
	article := marked["article"]
	// An article without the page's heading may be a card or a teaser.
	if h1 := findHeading(root); len(article) > 1 || len(article) == 1 && h1 != nil && !within(h1, article[0]) {
		article = nil
	}
	for _, roots := range [][]*html.Node{article, marked["main"], first(marked["role"]), first(marked["id"])} {
		if slices.ContainsFunc(roots, textBelow) {
			return roots, false
		}
	}
	return body(root), true
}

// body is the whole page.
func body(root *html.Node) []*html.Node {
	if found := findAll(root, func(n *html.Node) bool { return n.DataAtom == atom.Body }); len(found) > 0 {
		return found[:1]
	}
	return []*html.Node{root} // a frameset
}

func first(nodes []*html.Node) []*html.Node { return nodes[:min(len(nodes), 1)] }

// textBelow reports whether n holds text that readers see.
func textBelow(n *html.Node) bool {
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data) != ""
	}
	if skippedTags.tag(n) {
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
				score = min(score, 0)
			}
		}
		if score > best && headingText(n) != "" {
			found, best = n, score
		}
	}
	return found
}
