package ingest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// noteTitles are the classes of headings of notes and cards within a section.
var noteTitles = set("alert-heading admonition-title callout-title card-title alert__title notice-title")

var attributeID = regexp.MustCompile(`#([^\s{}]+)`)

// markdownHeading returns a Markdown heading's text and anchor: its id, else
// an explicit one in braces, else the anchor found, else a slug. It keeps the
// heading's links.
func (w *writer) markdownHeading(n *html.Node, text, anchor string) (string, string) {
	for _, a := range findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.A }) {
		if href := attr(a, "href"); !strings.Contains(href, "#") {
			w.keepLink(href, textOf(a))
		}
	}
	if text == "" {
		for _, img := range findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.Img }) {
			text = strings.TrimSpace(text + " " + attr(img, "alt"))
		}
	}
	if attr(n, "id") != "" && w.slugs.style != "goldmark" {
		return text, anchor
	}
	source := rawText(n)
	if strings.HasPrefix(source, "\n") || strings.HasSuffix(source, "\n") {
		source = text // HTML in several lines
	}
	if last := n.LastChild; last != nil && last.Type == html.TextNode {
		if m := attributes.FindString(source); m != "" {
			text = strings.TrimSpace(text[:max(0, strings.LastIndexByte(text, '{'))])
			source = strings.TrimSpace(source[:len(source)-len(m)])
			if id := attributeID.FindStringSubmatch(m); id != nil && anchor == "" {
				w.slugs.reserve(id[1])
				return text, id[1]
			}
		}
	}
	slug := w.slugs.id(source)
	return text, cmp.Or(anchor, slug)
}

// headingText is a heading without the links to itself that generators add.
func headingText(n *html.Node) string {
	var b strings.Builder
	var add func(*html.Node)
	add = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
			return
		}
		if isBadge(n) {
			b.WriteByte(' ')
			defer b.WriteByte(' ')
		}
		if n.DataAtom == atom.Br || n.DataAtom == atom.Span && (hasClass(n, "clip") || hasClass(n, "text")) {
			b.WriteByte(' ') // VitePress shows these spans of a front page's heading as lines
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode || !isHeadingExtra(c) {
				add(c)
			}
		}
	}
	add(n)
	return strings.TrimSpace(strings.TrimRight(collapse(b.String()), "¶"))
}

func isHeadingExtra(n *html.Node) bool {
	return skippedTags[n.DataAtom] || n.DataAtom == atom.Button || hidden(n) || isPermalink(n) ||
		skippedRoles[attr(n, "role")] && attr(n, "role") != "doc-backlink" || // Sphinx links headings back to the contents
		hasAttr(n, "data-footnote-ref") ||
		inSet(n, skippedClasses) || strings.Contains(strings.ToLower(attr(n, "class")), "hash-link")
}

var (
	permalinkTexts    = []string{"", "¶", "#", "§", "🔗", "link", "anchor", "permalink", "\uf0c1", "⚓", "∞"}
	permalinkPrefixes = []string{"link to this", "permalink", "direct link to", "section titled", "permanent link"}
)

// isPermalink reports whether n is a heading's link to itself. One that
// wraps the heading's own words is not.
func isPermalink(n *html.Node) bool {
	if n.DataAtom != atom.A || !strings.Contains(attr(n, "href"), "#") {
		return false
	}
	text := strings.ToLower(textOf(n))
	return slices.Contains(permalinkTexts, text) ||
		slices.ContainsFunc(permalinkPrefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// headingAnchor is the id by which a link reaches the heading: its own, that
// of a section that begins with it, one inside it, that of an empty target
// right before it, of any element that begins with it, or of an element around
// it that its permalink names.
func headingAnchor(n *html.Node) string {
	return cmp.Or(anchorOf(attr(n, "id")), enclosingAnchor(n, isSection), innerAnchor(n), precedingAnchor(n),
		enclosingAnchor(n, func(p *html.Node) bool { return n.DataAtom != atom.H1 }), permalinkAnchor(n))
}

func isSection(n *html.Node) bool {
	return n.DataAtom == atom.Section || n.DataAtom == atom.Header || n.DataAtom == atom.Hgroup || hasClass(n, "section")
}

// enclosingAnchor is the id of the nearest element that begins with the heading
// and may give it its id. That of the page's content is none.
func enclosingAnchor(n *html.Node, may func(*html.Node) bool) string {
	for p := n.Parent; p != nil && p.DataAtom != atom.Main && p.DataAtom != atom.Body && opens(n); n, p = p, p.Parent {
		if id := anchorOf(attr(p, "id")); id != "" && may(p) {
			return id
		}
	}
	return ""
}

// mostEmpty is how many empty elements, such as targets of an index, may stand
// before a heading that begins an element.
const mostEmpty = 30

// opens reports whether nothing that readers see is before n in its parent.
func opens(n *html.Node) bool {
	s := n.PrevSibling
	for i := 0; s != nil && i < mostEmpty && !textBelow(s); i++ {
		s = s.PrevSibling
	}
	return s == nil
}

// permalinkAnchor is the id of an element around the heading, up to the third,
// to which a link in or right before the heading leads.
func permalinkAnchor(n *html.Node) (anchor string) {
	links := findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.A })
	if before := previousElement(n); before != nil && before.DataAtom == atom.A {
		links = append(links, before)
	}
	for _, a := range links {
		target, ok := strings.CutPrefix(attr(a, "href"), "#")
		for p, up := n.Parent, 0; ok && target != "" && p != nil && up < 3; p, up = p.Parent, up+1 {
			if attr(p, "id") == target {
				return anchorOf(target)
			}
		}
	}
	return ""
}

func innerAnchor(n *html.Node) string {
	target := ""
	walk(n, func(c *html.Node) bool {
		if c != n && c.DataAtom != atom.Button {
			target = cmp.Or(target, targetAnchor(c))
		}
		return target == "" && !skippedTags[c.DataAtom]
	})
	return target
}

func precedingAnchor(n *html.Node) string {
	s := n.PrevSibling
	for s != nil && s.Type == html.TextNode && strings.TrimSpace(s.Data) == "" {
		s = s.PrevSibling
	}
	if s == nil || textOf(s) != "" {
		return ""
	}
	if s.DataAtom == atom.P && s.FirstChild != nil {
		s = s.FirstChild
	}
	if s.DataAtom == atom.A || s.DataAtom == atom.Span || s.DataAtom == atom.Div {
		return targetAnchor(s)
	}
	return ""
}

func targetAnchor(n *html.Node) string {
	id := anchorOf(attr(n, "id"))
	if n.DataAtom == atom.A {
		id = cmp.Or(id, anchorOf(attr(n, "name")))
	}
	return id
}
