package ingest

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxNested is how deep lists and quotes are nested in written Markdown. What
// is deeper is written at this depth.
const maxNested = 12

// maxTabLists is for how many lists of tabs of a page their panels are looked
// for.
const maxTabLists = 500

// writer writes parsed HTML as Markdown. It leaves out what htmlWalker leaves
// out.
type writer struct {
	walk *htmlWalker
	base *url.URL // of the page
	// labels are the names of tabs by the panels that they open.
	labels   map[*html.Node]string
	level    int  // of the heading above
	titled   bool // a heading of level 1 was written
	nested   int  // lists and quotes around
	tabLists int
}

// flow collects the blocks of one element.
type flow struct {
	w    *writer
	out  []string
	line inline
	// list is the marker of the list that is the last block, 0 for other blocks.
	list byte
}

// blocks returns the content of an element as blocks.
func (w *writer) blocks(parent *html.Node) []string {
	f := flow{w: w}
	f.children(parent)
	f.flush()
	return f.out
}

func (f *flow) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		f.node(c)
	}
}

// apart writes each of an element's children as a block.
func (f *flow) apart(n *html.Node) {
	f.flush()
	f.children(n)
	f.flush()
}

// add ends the paragraph and appends a block.
func (f *flow) add(blocks ...string) {
	f.flush()
	for _, b := range blocks {
		if b != "" {
			f.out, f.list = append(f.out, b), 0
		}
	}
}

func (f *flow) flush() {
	s := f.line.String()
	f.line = inline{}
	if s == "" || len(s) < 160 && pageNote.MatchString(plainText(s)) {
		return
	}
	f.out, f.list = append(f.out, escapeStarts(s)), 0
}

// writtenTarget matches the target of a written link.
var writtenTarget = regexp.MustCompile(`\]\([^()\s]*\)|\[`)

// plainText is written inline Markdown without its links.
func plainText(s string) string { return writtenTarget.ReplaceAllString(s, "") }

// isWritten reports whether an element is a separate block in Markdown.
func isWritten(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Ul, atom.Ol, atom.Menu, atom.Li, atom.Dl, atom.Dt, atom.Dd, atom.Table, atom.Tr, atom.Pre, atom.Thead, atom.Tbody, atom.Td, atom.Th:
		return true
	}
	return isBlock(n) || isHeading(n) || attr(n, "role") == "tablist"
}

// hasBlock reports whether blocks are below an element.
func (w *htmlWalker) hasBlock(n *html.Node) bool {
	if known, ok := w.blockBelow[n]; ok {
		return known
	}
	found := false
	for c := n.FirstChild; c != nil && !found; c = c.NextSibling {
		found = c.Type == html.ElementNode && !skippedTags[c.DataAtom] && (isWritten(c) || w.hasBlock(c))
	}
	if w.blockBelow == nil {
		w.blockBelow = map[*html.Node]bool{}
	}
	w.blockBelow[n] = found
	return found
}

func (w *writer) skips(n *html.Node) bool {
	return w.walk.page && w.walk.isTag(n) || w.walk.skips(n) && !isFootnoteMark(n)
}

func (f *flow) node(n *html.Node) {
	w := f.w
	if w.walk.furniture[n] {
		return
	}
	if n.Type != html.ElementNode {
		w.inline(&f.line, n)
		return
	}
	if w.skips(n) {
		return
	}
	if label := w.labels[n]; label != "" {
		f.add("**" + label + "**")
	}
	if level := headingLevel(n); level > 0 {
		f.flush()
		f.heading(n, level)
		return
	}
	if f.tabs(n) {
		return
	}
	if kind := admonitionKind(n); kind != "" && w.nested <= maxNested {
		f.add(w.quoted(f.admonition(n, kind))...)
		return
	}
	switch n.DataAtom {
	case atom.Pre:
		f.add(fences(n)...)
	case atom.Hr:
		f.add("---")
	case atom.Ul, atom.Ol, atom.Menu:
		f.listOf(n)
	case atom.Li: // outside of a list
		f.apart(n)
	case atom.Blockquote:
		if w.nested > maxNested {
			f.apart(n)
			return
		}
		if blocks := w.inner(n); len(blocks) > 0 {
			blocks[0] = writtenCallout.ReplaceAllString(blocks[0], "$1\n")
			f.add(w.quoted(blocks)...)
		}
	case atom.Dl:
		f.definitions(n)
	case atom.Table:
		f.table(n)
	case atom.Summary:
		if w.walk.hasBlock(n) {
			f.apart(n)
			return
		}
		var l inline
		w.inlines(&l, n)
		f.add(l.wrapped("**"))
	case atom.Figcaption:
		var l inline
		w.inlines(&l, n)
		f.add(l.wrapped("*"))
	case atom.Div:
		if mark := attr(n, "data-footnote"); mark != "" {
			f.add("[^" + mark + "]: " + strings.Join(indentRest(w.inner(n), "    "), "\n\n"))
			return
		}
		f.apart(n)
	default:
		switch {
		case isBlock(n):
			f.apart(n)
		case !w.walk.hasBlock(n):
			w.inline(&f.line, n)
		case n.DataAtom == atom.A:
			f.card(n)
		default:
			f.children(n)
		}
	}
}

var writtenCallout = regexp.MustCompile(`^(\[!\w+\][+-]?) +`)

// inner is the content of an element that nests its blocks.
func (w *writer) inner(n *html.Node) []string {
	w.nested++
	defer func() { w.nested-- }()
	return w.blocks(n)
}

// quoted writes blocks as one quote.
func (w *writer) quoted(blocks []string) []string {
	if len(blocks) == 0 {
		return nil
	}
	s := "> " + strings.ReplaceAll(strings.Join(blocks, "\n\n"), "\n", "\n> ")
	return []string{strings.ReplaceAll(s, "> \n", ">\n")}
}

// heading writes a heading that links to itself.
func (f *flow) heading(n *html.Node, level int) {
	w := f.w
	anchor := headingAnchor(n)
	var l inline
	l.single = true
	if w.walk.slugs != nil {
		_, anchor = w.walk.markdownHeading(n, headingText(n), anchor)
		w.headingInlines(&l, n)
		if s := l.String(); anchor != "" || strings.HasSuffix(s, "}") {
			l.out = []byte(attributes.ReplaceAllString(s, ""))
		}
	} else {
		w.headingInlines(&l, n)
	}
	text := strings.TrimSpace(strings.TrimRight(l.String(), "¶ "))
	if text == "" {
		return
	}
	if attr(n, "id") == "" && inSet(n, noteTitles) {
		f.add("**" + text + "**")
		return
	}
	w.level = level
	w.titled = w.titled || level == 1
	f.add(headingLine(level, text, anchorOf(anchor)))
}

// headingLine is a heading as Markdown. A heading that has links gets another
// one to its anchor.
func headingLine(level int, text, anchor string) string {
	mark := strings.Repeat("#", level) + " "
	target := "#" + (&url.URL{Fragment: anchor}).EscapedFragment()
	if strings.ContainsAny(target, "()") {
		target = "<" + target + ">"
	}
	switch {
	case anchor == "":
		return mark + text
	case strings.Contains(text, "]("):
		return mark + text + " [#](" + target + ")"
	}
	return mark + "[" + linkText(text) + "](" + target + ")"
}

// headingInlines writes a heading's words without the links to itself.
func (w *writer) headingInlines(l *inline, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && isHeadingExtra(c) {
			continue
		}
		if c.Type == html.ElementNode && w.walk.page && (c.DataAtom == atom.Span && (hasClass(c, "clip") || hasClass(c, "text"))) {
			l.text(" ")
		}
		if c.DataAtom == atom.A && w.selfLink(c) || c.DataAtom == atom.Div || c.DataAtom == atom.Span {
			w.headingInlines(l, c)
			continue
		}
		w.inline(l, c)
	}
}

// selfLink reports whether a heading's link leads to an anchor of its page.
func (w *writer) selfLink(a *html.Node) bool { return strings.HasPrefix(attr(a, "href"), "#") }

// fences writes the code blocks of a pre.
func fences(pre *html.Node) (blocks []string) {
	for _, c := range codesOf(pre) {
		var code strings.Builder
		preText(&code, c)
		blocks = append(blocks, fenced(codeLanguage(c), code.String()))
	}
	return blocks
}

func fenced(language, code string) string {
	code = strings.TrimLeft(strings.TrimRight(code, " \t\n"), "\n")
	if strings.TrimSpace(code) == "" {
		return ""
	}
	fence := fenceFor(code)
	return fence + language + "\n" + code + "\n" + fence
}

// card writes a link around blocks: the first of them becomes the link.
func (f *flow) card(n *html.Node) {
	blocks := f.w.blocks(n)
	href := f.w.address(attr(n, "href"))
	if len(blocks) > 0 && href != "" && !isPermalink(n) {
		if m := headingMark.FindString(blocks[0]); !strings.Contains(blocks[0], "](") && !strings.Contains(blocks[0], "\n") {
			blocks[0] = m + "[" + linkText(blocks[0][len(m):]) + "](" + href + ")"
		} else {
			blocks = append(blocks, "[→]("+href+")")
		}
	}
	f.add(blocks...)
}

var headingMark = regexp.MustCompile(`^#{1,6} `)

// isFootnoteMark reports whether n is the mark of a footnote in rendered
// Markdown.
func isFootnoteMark(n *html.Node) bool {
	return n.DataAtom == atom.Sup && hasAttr(n, "data-footnote-ref")
}

func footnoteMark(n *html.Node) string { return fmt.Sprintf("[^%s]", textOf(n)) }
