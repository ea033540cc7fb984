package ingest

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlWalker writes the text of parsed HTML into a builder.
type htmlWalker struct {
	b *builder
	// page: the HTML is a whole page, with navigation to leave out.
	page bool
	// framed: the page's content is not marked, so the site's frame is left
	// out, too.
	framed bool
	// written: the page is written as Markdown, so text that search ignores is
	// kept.
	written bool
	// slugs makes the ids of headings in rendered Markdown; nil for pages.
	slugs *slugger
	tags  []string
	terms int // that opened sections
	// furniture are the nodes that repeat on most pages of the folder, usual
	// the headings that do.
	furniture map[*html.Node]bool
	usual     []string
	// blockBelow remembers which elements have blocks below them.
	blockBelow map[*html.Node]bool
}

func (w *htmlWalker) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

// blockTags separate their text from what comes before and after.
var blockTags = map[atom.Atom]bool{
	atom.Address: true, atom.Article: true, atom.Aside: true, atom.Blockquote: true, atom.Body: true,
	atom.Center: true, atom.Details: true, atom.Div: true, atom.Fieldset: true, atom.Figcaption: true,
	atom.Figure: true, atom.Footer: true, atom.Form: true, atom.Header: true, atom.Hgroup: true, atom.Hr: true,
	atom.Html: true, atom.Legend: true, atom.Main: true, atom.P: true, atom.Section: true, atom.Summary: true,
	atom.Caption: true, atom.Video: true, atom.Option: true, atom.Label: true,
}

// isBlock counts custom elements as blocks.
func isBlock(n *html.Node) bool {
	return blockTags[n.DataAtom] || n.DataAtom == 0 && strings.Contains(n.Data, "-")
}

func (w *htmlWalker) node(n *html.Node) {
	b := w.b
	if w.furniture[n] {
		return
	}
	switch n.Type {
	case html.TextNode:
		w.text(n)
		return
	case html.ElementNode:
	default:
		return
	}
	if w.page && w.isTag(n) || w.skips(n) {
		return
	}
	if level := headingLevel(n); level > 0 {
		w.heading(n, level)
		return
	}
	if w.page && isApart(n) {
		b.words(" ")
		defer b.words(" ")
	}
	if attr(n, "role") == "tablist" {
		w.tabs(n)
		return
	}
	switch n.DataAtom {
	case atom.Pre:
		w.pre(n)
	case atom.Br:
		b.newline()
	case atom.Img:
		if alt := attr(n, "alt"); len(alt) < 500 && hasLetter(alt) {
			b.words(" ")
			b.mark(imageBegins)
			b.words(alt)
			b.mark(imageEnds)
			b.words(" ")
		}
	case atom.Code, atom.Samp, atom.Tt:
		b.mark(codeBegins)
		w.children(n)
		b.mark(codeEnds)
	case atom.A:
		start := len(b.line)
		w.children(n)
		if start < len(b.line) {
			b.link(attr(n, "href"), string(b.line[start:]))
		} else if start > len(b.line) || start == 0 {
			b.link(attr(n, "href"), textOf(n)) // blocks within a link, as in cards
		}
	case atom.Ul, atom.Ol, atom.Menu:
		w.indented(n)
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
		w.indented(n)
	case atom.Table:
		w.table(n)
	case atom.Tr:
		w.row(n)
	case atom.Button:
		b.words(" ")
		w.children(n)
		b.words(" ")
	default:
		block := isBlock(n)
		if block {
			b.flush()
		}
		w.children(n)
		if block {
			b.flush()
		}
	}
}

func hasLetter(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}

// isApart reports whether browsers most likely show n apart from the text
// around it: a badge, or a styled element right after another one where both
// have words.
func isApart(n *html.Node) bool {
	if isBadge(n) {
		return true
	}
	p := n.PrevSibling
	if p == nil || p.Type != html.ElementNode || attr(n, "class") == "" && attr(p, "class") == "" {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(rawText(p))
	after, _ := utf8.DecodeRuneInString(rawText(n))
	if !unicode.IsLetter(before) && !unicode.IsDigit(before) || !unicode.IsLetter(after) && !unicode.IsDigit(after) {
		return false
	}
	for ; n != nil; n = n.Parent {
		if gluedTags[n.DataAtom] || inSet(n, gluedClasses) {
			return false
		}
	}
	return true
}

// gluedTags and gluedClasses are on code and formulas, whose words consist of
// several elements.
var (
	gluedTags    = map[atom.Atom]bool{atom.Code: true, atom.Kbd: true, atom.Samp: true, atom.Math: true}
	gluedClasses = set("sig katex mathjax math highlight")
)

func isBadge(n *html.Node) bool {
	return n.DataAtom == atom.Span && strings.Contains(strings.ToLower(attr(n, "class")), "badge")
}

func (w *htmlWalker) indented(n *html.Node) {
	w.b.flush()
	w.b.indent += 2
	w.children(n)
	w.b.flush()
	w.b.indent -= 2
}

// isTag reports whether n shows tags of the page, and keeps them.
func (w *htmlWalker) isTag(n *html.Node) bool {
	if n.DataAtom == atom.A && attr(n, "rel") == "tag" {
		return true // kept by the caller, who looks outside of the content as well
	}
	if !hasClass(n, "md-tags") {
		return false
	}
	for _, t := range findAll(n, func(n *html.Node) bool { return hasClass(n, "md-tag") }) {
		w.tags = append(w.tags, textOf(t))
	}
	return true
}

var (
	// callout matches the beginning of a GitHub or Obsidian callout: [!NOTE] Title.
	callout = regexp.MustCompile(`^\[!\w+\][+-]?\s*`)
	// attributes matches an explicit id or class list at the end of a heading
	// or paragraph: {#id}, {#id .class}, { #id }, {: #id .class}.
	attributes = regexp.MustCompile(`\s*\{:?\s*(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*))(?:\s+(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*)))*\s*\}\s*$`)
)

// text writes a text node. In Markdown it leaves out the marks that dialects
// put at the beginning of a quote and at the end of a paragraph.
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

// tabs writes the labels of tabs in one line; their panels follow.
func (w *htmlWalker) tabs(n *html.Node) {
	w.b.flush()
	var labels []string
	for _, t := range findAll(n, func(n *html.Node) bool { return attr(n, "role") == "tab" }) {
		labels = append(labels, textOf(t))
	}
	w.b.words(strings.Join(labels, " | "))
	w.b.flush()
}

// maxTerms bounds the terms of a page that open sections.
const maxTerms = 3000

// termAnchor is the id of a term that opens a section, so that an option, a
// method or a setting can be linked. It is "" for other elements.
func (w *htmlWalker) termAnchor(n *html.Node) string {
	if !w.page || n.DataAtom != atom.Dt || w.terms == maxTerms || strings.IndexFunc(textOf(n), unicode.IsLetter) < 0 {
		return ""
	}
	return firstOf(anchorOf(attr(n, "id")), innerAnchor(n))
}

// definitions reads a definition list.
func (w *htmlWalker) definitions(n *html.Node) {
	b := w.b
	b.flush()
	outer, path := b.current, b.path
	opened := false
	for _, c := range definitionParts(n) {
		switch id := w.termAnchor(c); {
		case id != "":
			signature := hasClass(c, "sig")
			// A second term of the same definition starts no section.
			if !opened || b.current.Anchor == "" || b.text.Len() > 0 {
				if opened {
					b.path = path
				}
				opened = true
				w.terms++
				heading := headingText(c)
				if signature {
					heading = id
				}
				b.heading(min(max(outer.Level, 1)+1, 4), heading, id)
				if !signature {
					continue
				}
			}
			b.words(headingText(c))
			b.flush()
		case opened && c.DataAtom == atom.Dd:
			w.children(c)
			b.flush()
		default:
			if opened && c.DataAtom == atom.Dt && (b.seen || b.text.Len() > 0) {
				b.resume(outer, path)
				opened = false
			}
			w.node(c)
		}
	}
	b.flush()
	if opened {
		b.resume(outer, path)
	}
}

// table writes each row as a line. Tables that only lay out line numbers
// next to code are code.
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

var (
	numberedTables = set("highlighttable lntable rouge-table rouge-line-table codehilitetable code-table")
	numberCells    = set("linenos gutter lntd")
)

func numbered(n *html.Node) bool {
	return inSet(n, numberedTables) ||
		len(findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.Td && inSet(n, numberCells) })) > 0
}

func (w *htmlWalker) row(n *html.Node) {
	w.b.flush()
	first := true
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th {
			continue
		}
		if !first {
			w.b.words(" | ")
		}
		first = false
		w.cell(c)
	}
	w.b.endRow()
}

// cell writes a table cell into the row's line, whatever blocks it holds.
func (w *htmlWalker) cell(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			w.text(c)
		case c.Type != html.ElementNode || w.skips(c):
		case c.DataAtom == atom.A:
			start := len(w.b.line)
			w.cell(c)
			w.b.link(attr(c, "href"), string(w.b.line[start:]))
		case c.DataAtom == atom.Img:
			w.b.words(" " + attr(c, "alt") + " ")
		case c.DataAtom == atom.Code || c.DataAtom == atom.Samp || c.DataAtom == atom.Tt:
			w.b.mark(codeBegins)
			w.cell(c)
			w.b.mark(codeEnds)
		case isBlock(c) || c.DataAtom == atom.Br || c.DataAtom == atom.Li || c.DataAtom == atom.Pre || c.DataAtom == atom.Td || c.DataAtom == atom.Tr:
			w.b.words(" ")
			w.cell(c)
			w.b.words(" ")
		default:
			w.cell(c)
		}
	}
}
