package ingest

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlWalker writes the text of parsed HTML into a builder.
type htmlWalker struct {
	b *builder
	// page: the HTML is a whole page, with navigation to leave out.
	page bool
	// bodyRoot: no content element was found, so the site's frame is inside.
	bodyRoot bool
	// slugs makes the ids of headings without one, of rendered Markdown only.
	slugs *slugger
	tags  []string
}

// fragment reads rendered Markdown.
func (w *htmlWalker) fragment(rendered []byte) error {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(bytes.NewReader(rendered), body)
	if err != nil {
		if nodes, err = html.ParseFragment(bytes.NewReader(flatten(rendered)), body); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		w.node(n)
	}
	w.b.flush()
	return nil
}

func (w *htmlWalker) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

// blockTags end the paragraph before them and their own.
var blockTags = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Body: true,
	atom.Center: true, atom.Details: true, atom.Div: true, atom.Fieldset: true, atom.Figcaption: true,
	atom.Figure: true, atom.Footer: true, atom.Form: true, atom.Header: true, atom.Hgroup: true, atom.Hr: true,
	atom.Html: true, atom.Legend: true, atom.Main: true, atom.P: true, atom.Section: true, atom.Summary: true,
	atom.Caption: true, atom.Video: true, atom.Option: true,
}

func (w *htmlWalker) node(n *html.Node) {
	b := w.b
	switch n.Type {
	case html.TextNode:
		w.text(n)
		return
	case html.ElementNode:
	case html.DocumentNode:
		w.children(n)
		return
	default:
		return
	}
	if w.page && n.DataAtom == atom.A && attr(n, "rel") == "tag" {
		return // the page's tags, read apart
	}
	if w.page && hasClass(n, "md-tags") {
		for _, t := range findAll(n, func(n *html.Node) bool { return hasClass(n, "md-tag") }) {
			w.tags = append(w.tags, textOf(t))
		}
		return
	}
	if w.skips(n) {
		return
	}
	if level := headingLevel(n); level > 0 {
		w.heading(n, level)
		return
	}
	switch n.DataAtom {
	case atom.Pre:
		w.pre(n)
	case atom.Br:
		b.newline()
	case atom.Img:
		if alt := attr(n, "alt"); alt != "" && len(alt) < 500 {
			b.words(" " + alt + " ")
		}
	case atom.A:
		start := len(b.line)
		w.children(n)
		if start <= len(b.line) && start < len(b.line) {
			b.link(attr(n, "href"), string(b.line[start:]))
		} else if start > len(b.line) || len(b.line) == 0 {
			b.link(attr(n, "href"), textOf(n)) // a card: blocks within a link
		}
	case atom.Ul, atom.Ol, atom.Menu:
		if attr(n, "role") == "tablist" {
			w.tabs(n)
			return
		}
		b.flush()
		b.indent += 2
		w.children(n)
		b.flush()
		b.indent -= 2
		b.marker = ""
	case atom.Li:
		b.flush()
		if b.indent > 0 {
			b.marker = "- "
		}
		w.children(n)
		b.flush()
		b.marker = ""
	case atom.Dl:
		w.definitions(n)
	case atom.Dt:
		b.flush()
		b.kind = term
		w.children(n)
		b.flush()
		b.kind = paragraph
	case atom.Dd:
		b.flush()
		b.indent += 2
		w.children(n)
		b.flush()
		b.indent -= 2
	case atom.Table:
		w.table(n)
	case atom.Tr:
		w.row(n)
	case atom.Button:
		b.words(" ")
		w.children(n)
		b.words(" ")
	default:
		switch {
		case attr(n, "role") == "tablist":
			w.tabs(n)
		case blockTags[n.DataAtom] || displayed(n):
			b.flush()
			w.children(n)
			b.flush()
		default:
			w.children(n)
		}
	}
}

// displayed reports whether an inline element stands as a block by a class
// that generators use so.
func displayed(n *html.Node) bool {
	return n.DataAtom == atom.Label || n.Data == "starlight-tabs" || strings.Contains(n.Data, "-") && n.DataAtom == 0
}

// tabs writes the labels of tabs in one line; their panels follow.
func (w *htmlWalker) tabs(n *html.Node) {
	w.b.flush()
	for _, t := range findAll(n, func(n *html.Node) bool { return attr(n, "role") == "tab" }) {
		if len(w.b.line) > 0 {
			w.b.words(" | ")
		}
		w.b.words(textOf(t))
	}
	w.b.flush()
}

// callout is the first line of a GitHub or Obsidian callout: [!NOTE] Title.
var callout = regexp.MustCompile(`^\[!\w+\][+-]?\s*`)

// attributes is an explicit id or class list at the end of a heading or
// paragraph: {#id}, {#id .class}, { #id }, {: #id .class}.
var attributes = regexp.MustCompile(`\s*\{:?\s*(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*))(?:\s+(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*)))*\s*\}\s*$`)

var attributeID = regexp.MustCompile(`#([^\s{}]+)`)

// text writes a text node, without the marks that dialects of Markdown put
// at the beginning of a quote and at the end of a paragraph.
func (w *htmlWalker) text(n *html.Node) {
	s := n.Data
	if p := n.Parent; !w.page && p != nil && p.DataAtom != atom.Code {
		if p.DataAtom == atom.P && p.Parent != nil && p.Parent.DataAtom == atom.Blockquote && len(w.b.line) == 0 {
			s = callout.ReplaceAllString(s, "")
		}
		if n.NextSibling == nil && strings.Contains(s, "{:") {
			s = attributes.ReplaceAllString(s, "")
		}
	}
	w.b.words(s)
}

// heading starts a section, or, below h4, writes a paragraph.
func (w *htmlWalker) heading(n *html.Node, level int) {
	text, anchor := headingText(n), headingAnchor(n)
	if w.slugs != nil {
		text, anchor = w.markdownHeading(n, text, anchor)
	}
	for _, a := range findAll(n, func(n *html.Node) bool { return w.slugs != nil && n.DataAtom == atom.A }) {
		if href := attr(a, "href"); !strings.Contains(href, "#") {
			w.b.link(href, textOf(a))
		}
	}
	if level > 4 || isNoteTitle(n) {
		w.b.flush()
		w.b.words(text)
		w.b.flush()
		return
	}
	w.b.heading(level, text, anchor)
}

// markdownHeading returns a Markdown heading's text and anchor: its id, else
// an explicit one in braces, else the anchor found, else a slug.
func (w *htmlWalker) markdownHeading(n *html.Node, text, anchor string) (string, string) {
	if attr(n, "id") != "" && w.slugs.style != "goldmark" {
		return text, anchor
	}
	if text == "" {
		for _, img := range findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.Img }) {
			text = strings.TrimSpace(text + " " + attr(img, "alt"))
		}
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
	return text, firstOf(anchor, w.slugs.id(source))
}

// rawText is all text below n, white space as it is.
func rawText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(rawText(c))
	}
	return b.String()
}

// isNoteTitle reports whether a heading is that of a note or card within a
// section, which has no anchor.
func isNoteTitle(n *html.Node) bool {
	if attr(n, "id") != "" {
		return false
	}
	for _, c := range classes(n) {
		switch strings.ToLower(c) {
		case "alert-heading", "admonition-title", "callout-title", "card-title", "alert__title", "notice-title":
			return true
		}
	}
	return false
}

// headingText is a heading without the links to itself that generators add.
func headingText(n *html.Node) string {
	var b builder
	var add func(*html.Node)
	add = func(n *html.Node) {
		switch n.Type {
		case html.TextNode:
			b.words(n.Data)
			return
		case html.ElementNode:
			if skippedTags[n.DataAtom] || n.DataAtom == atom.Button || hidden(n) || isPermalink(n) {
				return
			}
			for _, c := range classes(n) {
				c = strings.ToLower(c)
				if skippedClasses[c] || strings.Contains(c, "hash-link") {
					return
				}
			}
			if n.DataAtom == atom.Br || n.DataAtom == atom.Span && (hasClass(n, "clip") || hasClass(n, "text")) {
				b.words(" ") // VitePress sets the parts of a front page's heading in lines
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			add(c)
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		add(c)
	}
	return strings.TrimSpace(strings.TrimRight(string(b.line), "¶"))
}

// isPermalink reports whether n is a heading's link to itself. One that
// wraps the heading's own words is not.
func isPermalink(n *html.Node) bool {
	if n.DataAtom != atom.A {
		return false
	}
	if !strings.HasPrefix(attr(n, "href"), "#") && !strings.Contains(attr(n, "href"), "#") {
		return false
	}
	switch text := strings.ToLower(textOf(n)); {
	case text == "", text == "¶", text == "#", text == "§", text == "🔗", text == "link", text == "anchor", text == "permalink", text == "\uf0c1", text == "⚓", text == "∞":
		return true
	case strings.HasPrefix(text, "link to this"), strings.HasPrefix(text, "permalink"), strings.HasPrefix(text, "direct link to"), strings.HasPrefix(text, "section titled"), strings.HasPrefix(text, "permanent link"):
		return true
	}
	return false
}

// headingAnchor is the id by which a link reaches the heading: its own, an
// enclosing section's of which it is the first element, one inside it, or
// an empty target right before it.
func headingAnchor(n *html.Node) string {
	if id := anchorOf(attr(n, "id")); id != "" {
		return id
	}
	// <section id> or <div class=section id> that opens with the heading, and
	// Docsy's and Astro's wrappers around heading and permalink.
	for p, at := n.Parent, n; p != nil && p.Type == html.ElementNode; p, at = p.Parent, p {
		if firstElement(p) != at {
			break
		}
		switch p.DataAtom {
		case atom.Section, atom.Div, atom.Header, atom.Article, atom.Hgroup:
		default:
			p = nil
		}
		if p == nil {
			break
		}
		if id := anchorOf(attr(p, "id")); id != "" && (p.DataAtom == atom.Section || p.DataAtom == atom.Header || p.DataAtom == atom.Hgroup || hasClass(p, "section")) {
			return id
		}
	}
	target := ""
	walk(n, func(c *html.Node) bool {
		if target == "" && c != n {
			if id := anchorOf(attr(c, "id")); id != "" {
				target = id
			} else if name := anchorOf(attr(c, "name")); name != "" && c.DataAtom == atom.A {
				target = name
			}
		}
		return target == "" && !skippedTags[c.DataAtom]
	})
	if target != "" {
		return target
	}
	for s := n.PrevSibling; s != nil; s = s.PrevSibling {
		if s.Type == html.TextNode && strings.TrimSpace(s.Data) == "" {
			continue
		}
		if s.Type != html.ElementNode {
			break
		}
		if s.DataAtom == atom.P && strings.TrimSpace(textOf(s)) == "" {
			if c := firstElement(s); c != nil {
				s = c
			}
		}
		if s.DataAtom != atom.A && s.DataAtom != atom.Span && s.DataAtom != atom.Div || textOf(s) != "" {
			break
		}
		if id := anchorOf(attr(s, "id")); id != "" {
			return id
		}
		return anchorOf(attr(s, "name"))
	}
	return ""
}

// firstElement is n's first child element, empty targets and blanks aside.
func firstElement(n *html.Node) *html.Node {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode && strings.TrimSpace(c.Data) != "":
			return nil
		case c.Type == html.ElementNode && (c.DataAtom == atom.Span || c.DataAtom == atom.A) && textOf(c) == "":
		case c.Type == html.ElementNode:
			return c
		}
	}
	return nil
}

// definitions reads a definition list. Those of Sphinx's API reference give
// each documented object a section of its own, so that it can be linked.
func (w *htmlWalker) definitions(n *html.Node) {
	b := w.b
	b.flush()
	outer, path := b.current, b.path
	objects := false
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Dt && w.page && hasClass(c, "sig") && anchorOf(attr(c, "id")) != "" {
			level := min(max(outer.Level, 1)+1, 4)
			if objects && b.current.Anchor != "" && b.text.Len() == 0 {
				// A second signature of the same object.
				b.words(headingText(c))
				b.flush()
				continue
			}
			if objects {
				b.path = path
			}
			objects = true
			b.heading(level, attr(c, "id"), attr(c, "id"))
			b.words(headingText(c))
			b.flush()
			continue
		}
		if objects && c.DataAtom == atom.Dd {
			w.children(c)
			b.flush()
			continue
		}
		w.node(c)
	}
	b.flush()
	if objects {
		b.resume(outer, path)
	}
}

// table writes a row a line. Tables that only lay out line numbers beside
// code are code.
func (w *htmlWalker) table(n *html.Node) {
	w.b.flush()
	if numbered(n) {
		if pres := findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.Pre }); len(pres) > 0 {
			w.pre(pres[len(pres)-1])
			return
		}
	}
	w.children(n)
	w.b.flush()
}

func numbered(n *html.Node) bool {
	for _, c := range []string{"highlighttable", "lntable", "rouge-table", "rouge-line-table", "codehilitetable", "code-table"} {
		if hasClass(n, c) {
			return true
		}
	}
	return len(findAll(n, func(n *html.Node) bool {
		return n.DataAtom == atom.Td && (hasClass(n, "linenos") || hasClass(n, "gutter") || hasClass(n, "lntd"))
	})) > 0
}

// endRow ends a table row; rows without a word are left out.
func (b *builder) endRow() {
	if len(bytes.Trim(b.line, " |\n")) == 0 {
		b.line, b.space = b.line[:0], false
		return
	}
	b.line = bytes.ReplaceAll(b.line, []byte("\n"), []byte(" "))
	b.kind = row
	b.flush()
	b.kind = paragraph
}

func (w *htmlWalker) row(n *html.Node) {
	b := w.b
	b.flush()
	first := true
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		if !first {
			b.words(" | ")
		}
		first = false
		w.cell(c)
	}
	b.endRow()
}

// cell writes a table cell into the row's line, whatever blocks it holds.
func (w *htmlWalker) cell(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			w.b.words(c.Data)
		case c.Type != html.ElementNode || w.skips(c):
		case c.DataAtom == atom.A:
			start := len(w.b.line)
			w.cell(c)
			w.b.link(attr(c, "href"), string(w.b.line[start:]))
		case c.DataAtom == atom.Img:
			w.b.words(" " + attr(c, "alt") + " ")
		case blockTags[c.DataAtom] || c.DataAtom == atom.Br || c.DataAtom == atom.Li || c.DataAtom == atom.Pre || c.DataAtom == atom.Td || c.DataAtom == atom.Tr:
			w.b.words(" ")
			w.cell(c)
			w.b.words(" ")
		default:
			w.cell(c)
		}
	}
}
