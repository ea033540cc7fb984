package ingest

import (
	"cmp"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// attributes matches an explicit id or class list at the end of a heading or
// paragraph: {#id}, {#id .class}, { #id }, {: #id .class}.
var attributes = regexp.MustCompile(`\s*\{:?\s*(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*))(?:\s+(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*)))*\s*\}\s*$`)

// markdownHeading returns a Markdown heading's text and anchor: its id, else
// an explicit one in braces, else the anchor found, else a slug.
func (w *writer) markdownHeading(n *html.Node, text, anchor string) (string, string) {
	if attr(n, "id") != "" && w.slugs.style != "goldmark" {
		return text, anchor
	}
	source := rawText(n)
	if strings.Trim(source, "\n") != source {
		source = text // HTML in several lines
	}
	if m := attributes.FindString(source); m != "" && n.LastChild.Type == html.TextNode {
		text = strings.TrimSpace(text[:max(0, strings.LastIndexByte(text, '{'))])
		source = strings.TrimSpace(strings.TrimSuffix(source, m))
		for word := range strings.FieldsSeq(strings.Trim(m, " {:}")) {
			if id, ok := strings.CutPrefix(word, "#"); ok && anchor == "" {
				w.slugs.used[id] += 0 // later headings avoid it
				return text, id
			}
		}
	}
	slug := w.slugs.id(source)
	return text, cmp.Or(anchor, slug)
}

// headingText is a heading without the links to itself that generators add, or
// the words of its images if there is nothing else.
func headingText(n *html.Node) string {
	l := inline{single: true, plain: true}
	(&writer{page: true}).headingInlines(&l, n)
	if len(l.out) == 0 {
		for _, img := range findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.Img }) {
			l.text(attr(img, "alt") + " ")
		}
	}
	return strings.TrimSpace(strings.TrimRight(l.String(), "¶"))
}

// headingInlines writes a heading's words without the links to itself. The links
// of a page's headings are not kept.
func (w *writer) headingInlines(l *inline, n *html.Node) {
	defer func(quiet bool) { w.quiet = quiet }(w.quiet)
	w.quiet = w.page
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.DataAtom == atom.Button || isPermalink(c) || hasAttr(c, "data-footnote-ref"):
		case attr(c, "role") != "doc-backlink" && w.skips(c): // Sphinx links headings back to the contents
		case c.DataAtom == atom.A && strings.HasPrefix(attr(c, "href"), "#"), c.DataAtom == atom.Div, c.DataAtom == atom.Span && !isBadge(c):
			// VitePress shows these spans of a front page's heading as lines.
			l.space = l.space || w.page && (hasClass(c, "clip") || hasClass(c, "text"))
			w.headingInlines(l, c)
		default:
			w.inline(l, c)
		}
	}
}

// permalinkText matches the texts of links to a heading.
var permalinkText = regexp.MustCompile(`(?i)^(?:[¶#§🔗⚓∞\x{f0c1}]?|link|anchor|(?:link to this|permalink|direct link to|section titled|permanent link).*)$`)

// isPermalink reports whether n is a heading's link to itself. One that
// wraps the heading's own words is not.
func isPermalink(n *html.Node) bool {
	return n.DataAtom == atom.A && strings.Contains(attr(n, "href"), "#") && permalinkText.MatchString(textOf(n))
}

// headingAnchor is the id by which a link reaches the heading: its own, that
// of a section that begins with it, one inside it, that of an empty target
// right before it, of any element that begins with it, or of an element around
// it that its permalink names.
func headingAnchor(n *html.Node) string {
	return cmp.Or(anchorOf(attr(n, "id")), enclosingAnchor(n, func(p *html.Node) bool { return sectionTags.tag(p) || hasClass(p, "section") }),
		innerAnchor(n), precedingAnchor(n),
		enclosingAnchor(n, func(p *html.Node) bool { return n.DataAtom != atom.H1 }), permalinkAnchor(n))
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

// mostEmpty is how many elements without text, such as targets of an index, may
// stand before a heading that begins an element.
const mostEmpty = 30

// opens reports whether nothing that readers see is before n in its parent, other
// than links, with which makeinfo leads from each section to the next.
func opens(n *html.Node) bool {
	s := n.PrevSibling
	for i := 0; s != nil && i < mostEmpty && (!textBelow(s) || findAll(s, isHeading) == nil && onlyLinks(s)); i++ {
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
		return target == "" && !skippedTags.tag(c)
	})
	return target
}

func precedingAnchor(n *html.Node) string {
	s := previousElement(n)
	if s == nil || textOf(s) != "" {
		return ""
	}
	if s.DataAtom == atom.P {
		for s = s.FirstChild; s != nil && s.Type != html.ElementNode; {
			s = s.NextSibling
		}
	}
	if s != nil && (s.DataAtom == atom.A || s.DataAtom == atom.Span || s.DataAtom == atom.Div) {
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
