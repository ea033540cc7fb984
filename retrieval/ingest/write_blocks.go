package ingest

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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
	labels map[*html.Node]string
	// blockBelow remembers which elements have blocks below them.
	blockBelow map[*html.Node]bool
	level      int  // of the heading above
	titled     bool // a heading of level 1 was written
	nested     int  // lists and quotes around
	tabLists   int
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
func (w *writer) hasBlock(n *html.Node) bool {
	if known, ok := w.blockBelow[n]; ok {
		return known
	}
	found := false
	for c := n.FirstChild; c != nil && !found; c = c.NextSibling {
		found = c.Type == html.ElementNode && !skippedTags[c.DataAtom] && (isWritten(c) || w.hasBlock(c))
	}
	w.blockBelow[n] = found
	return found
}

func (w *writer) skips(n *html.Node) bool {
	return w.walk.page && w.walk.isTag(n) || w.walk.skips(n) && !isFootnoteMark(n)
}

func (f *flow) node(n *html.Node) {
	w := f.w
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
		f.add(w.fence(n))
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
		case !w.hasBlock(n):
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

// fence writes a code block.
func (w *writer) fence(n *html.Node) string {
	var code strings.Builder
	preText(&code, n)
	return fenced(codeLanguage(n), code.String())
}

func fenced(language, code string) string {
	code = strings.TrimLeft(strings.TrimRight(code, " \t\n"), "\n")
	if strings.TrimSpace(code) == "" {
		return ""
	}
	fence := fenceFor(code)
	return fence + language + "\n" + code + "\n" + fence
}

// listOf writes a list. One right after another gets the other marker, which
// keeps them apart.
func (f *flow) listOf(n *html.Node) {
	w := f.w
	f.flush()
	if w.nested > maxNested {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			f.node(c)
		}
		return
	}
	var items [][]string
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || w.skips(c) {
			continue
		}
		item := flow{w: w}
		w.nested++
		if c.DataAtom == atom.Li {
			if box := findCheckbox(c); box != nil {
				mark := "[ ] "
				if hasAttr(box, "checked") {
					mark = "[x] "
				}
				item.line.raw(mark)
			}
			item.children(c)
		} else {
			item.node(c)
		}
		item.flush()
		w.nested--
		if len(item.out) > 0 {
			items = append(items, item.out)
		}
	}
	if len(items) == 0 {
		return
	}
	marker := byte('-')
	number := 1
	if n.DataAtom == atom.Ol {
		marker = '.'
		if start, err := strconv.Atoi(attr(n, "start")); err == nil && start >= 0 && start < 1e8 {
			number = start
		}
	}
	if f.list == marker {
		marker = map[byte]byte{'-': '*', '.': ')'}[marker]
	}
	loose := slices.ContainsFunc(items, func(blocks []string) bool { return len(blocks) > 1 && !isTight(blocks) })
	var b strings.Builder
	for i, blocks := range items {
		mark := string(marker) + " "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number+i) + string(marker) + " "
		}
		between := "\n"
		if loose {
			between = "\n\n"
		}
		if i > 0 {
			b.WriteString(between)
		}
		indent := strings.Repeat(" ", len(mark))
		if startsIndented(blocks[0]) { // code may not begin in the marker's line
			b.WriteString(strings.TrimRight(mark, " ") + "\n" + indent)
		} else {
			b.WriteString(mark)
		}
		b.WriteString(indentLines(strings.Join(blocks, between), indent))
	}
	f.add(b.String())
	f.list = marker
}

// startsIndented reports whether a block can't follow a list marker.
func startsIndented(block string) bool { return strings.HasPrefix(block, "    ") }

// isTight reports whether an item is a paragraph with lists below it.
func isTight(blocks []string) bool {
	for i, b := range blocks {
		isList := listStart.MatchString(b)
		if (i == 0) == isList && i > 0 || i > 0 && strings.Contains(b, "\n\n") {
			return false
		}
		if i == 0 && (strings.HasPrefix(b, "```") || strings.HasPrefix(b, "|") || strings.HasPrefix(b, "> ")) {
			return false
		}
	}
	return true
}

var listStart = regexp.MustCompile(`^(?:[-*]|\d+[.)]) `)

// indentLines indents all lines but the first; empty ones stay empty.
func indentLines(s, indent string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\n"+indent), "\n"+indent+"\n", "\n\n")
}

func indentRest(blocks []string, indent string) []string {
	out := make([]string, len(blocks))
	for i, b := range blocks {
		out[i] = indentLines(b, indent)
		if i > 0 {
			out[i] = indent + out[i]
		}
	}
	return out
}

// findCheckbox returns the checkbox that a task begins with.
func findCheckbox(li *html.Node) *html.Node {
	n := firstElement(li)
	for n != nil && (n.DataAtom == atom.P || n.DataAtom == atom.Label) {
		n = firstElement(n)
	}
	if n != nil && n.DataAtom == atom.Input && attr(n, "type") == "checkbox" {
		return n
	}
	return nil
}

// definitions writes a definition list: documented objects of Sphinx as
// headings, others as a list of terms.
func (f *flow) definitions(n *html.Node) {
	w := f.w
	f.flush()
	level := w.level
	var items []string
	flushItems := func() {
		if len(items) > 0 {
			f.add(strings.Join(items, "\n"))
			items = nil
		}
	}
	objects := false
	for _, c := range definitionParts(n) {
		if c.Type != html.ElementNode || w.skips(c) {
			continue
		}
		id := anchorOf(attr(c, "id"))
		switch {
		case w.walk.page && c.DataAtom == atom.Dt && hasClass(c, "sig") && id != "":
			flushItems()
			objects = true
			w.level = min(max(level, 1)+1, 6)
			f.add(headingLine(w.level, codeSpan(headingText(c)), id))
		case c.DataAtom == atom.Dd && (objects || w.nested > maxNested):
			flushItems()
			f.apart(c)
		case c.DataAtom == atom.Dt:
			var l inline
			w.inlines(&l, c)
			term := l.String()
			if term != "" && !strings.ContainsAny(term, "*`[") {
				term = "**" + term + "**"
			}
			if term != "" {
				items = append(items, "- "+indentLines(term, "  "))
			}
		case c.DataAtom == atom.Dd:
			blocks := w.inner(c)
			switch {
			case len(blocks) == 0:
			case len(items) == 0:
				f.add(blocks...)
			default:
				items = append(items, "\n  "+indentLines(strings.Join(blocks, "\n\n"), "  ")+"\n")
			}
		}
	}
	for i := range items {
		if i == len(items)-1 {
			items[i] = strings.TrimSuffix(items[i], "\n")
		}
	}
	flushItems()
	w.level = level
}

// definitionParts are the children of a definition list, also those grouped
// in elements.
func definitionParts(n *html.Node) (parts []*html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom == atom.Div && (c.FirstChild != nil && findAll(c, func(n *html.Node) bool { return n.DataAtom == atom.Dt }) != nil) {
			parts = append(parts, definitionParts(c)...)
			continue
		}
		parts = append(parts, c)
	}
	return parts
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

// tabs finds the panels of a list of tabs and reports whether n is one. Each
// panel begins with its tab's label.
func (f *flow) tabs(n *html.Node) bool {
	isTab := func(n *html.Node) bool { return attr(n, "role") == "tab" }
	var isPanel func(*html.Node) bool
	switch {
	case attr(n, "role") == "tablist":
		isPanel = func(n *html.Node) bool { return attr(n, "role") == "tabpanel" }
	case hasClass(n, "tabbed-labels"): // MkDocs Material
		isTab = func(n *html.Node) bool { return n.DataAtom == atom.Label }
		isPanel = func(n *html.Node) bool { return hasClass(n, "tabbed-block") }
	case hasClass(n, "tabs") && n.Parent != nil && hasClass(n.Parent, "vp-code-group"): // VitePress
		isTab = func(n *html.Node) bool { return n.DataAtom == atom.Label }
		isPanel = func(n *html.Node) bool {
			return n.Parent != nil && hasClass(n.Parent, "blocks") && n.DataAtom == atom.Div
		}
	default:
		return false
	}
	f.flush()
	var labels []string
	for _, t := range findAll(n, isTab) {
		var l inline
		l.single = true
		f.w.inlines(&l, t)
		labels = append(labels, l.String())
	}
	f.w.tabLists++
	for p, up := n.Parent, 0; p != nil && up < 3 && f.w.tabLists < maxTabLists; p, up = p.Parent, up+1 {
		panels := findAll(p, isPanel)
		if len(panels) != len(labels) || len(panels) == 0 || within(n, panels[0]) {
			continue
		}
		if f.w.labels == nil {
			f.w.labels = map[*html.Node]string{}
		}
		for i, panel := range panels {
			f.w.labels[panel] = strings.ReplaceAll(labels[i], "*", "")
		}
		return true
	}
	f.add(strings.Join(labels, " | "))
	return true
}

// admonitionKinds are the kinds of notes by the words in their classes, as
// GitHub knows them.
var admonitionKinds = map[string]string{
	"note": "NOTE", "info": "NOTE", "information": "NOTE", "seealso": "NOTE", "abstract": "NOTE", "question": "NOTE", "example": "NOTE", "primary": "NOTE",
	"secondary": "NOTE", "versionadded": "NOTE", "versionchanged": "NOTE", "quote": "NOTE", "todo": "NOTE", "check": "TIP", "default": "NOTE",
	"tip": "TIP", "hint": "TIP", "success": "TIP", "important": "IMPORTANT",
	"warning": "WARNING", "warn": "WARNING", "attention": "WARNING", "deprecated": "WARNING",
	"caution": "CAUTION", "danger": "CAUTION", "error": "CAUTION", "failure": "CAUTION", "bug": "CAUTION", "fail": "CAUTION",
}

// admonitionClass matches a class of the elements that notes are.
var admonitionClass = regexp.MustCompile(`^(?:admonition|theme-admonition|custom-block|hint-container|custom-container|starlight-aside|markdown-alert|alert|callout|nextra-callout|admonitionblock)$`)

// admonitionKind returns GitHub's kind of a note, "" for other elements.
func admonitionKind(n *html.Node) string {
	switch n.DataAtom {
	case atom.Div, atom.Aside, atom.Section, atom.Details, atom.Blockquote:
	default:
		return ""
	}
	list := classes(n)
	if !slices.ContainsFunc(list, func(c string) bool { return admonitionClass.MatchString(strings.ToLower(c)) }) {
		return ""
	}
	for _, c := range list {
		for word := range strings.FieldsFuncSeq(strings.ToLower(c), func(r rune) bool { return r == '-' || r == '_' }) {
			if kind := admonitionKinds[word]; kind != "" {
				return kind
			}
		}
	}
	return "NOTE"
}

var admonitionTitle = regexp.MustCompile(`(?i)(?:admonition|alert|block|container|callout|aside)[-_]*(?:title|heading)|^(?:alert-)?title$`)

// admonition writes a note: its kind as GitHub writes it, its title unless
// that is the kind, its text.
func (f *flow) admonition(n *html.Node, kind string) []string {
	w := f.w
	var title *html.Node
	walk(n, func(c *html.Node) bool {
		if title == nil && c != n && w.nested <= maxNested && (c.DataAtom == atom.Summary || slices.ContainsFunc(classes(c), admonitionTitle.MatchString)) {
			title = c
		}
		return title == nil
	})
	first := "[!" + kind + "]"
	addTitle := func(s string) {
		if s != "" && !strings.EqualFold(strings.Trim(s, "*:"), kind) {
			first += "\n**" + strings.ReplaceAll(s, "*", "") + "**"
		}
	}
	if title != nil {
		var l inline
		l.single = true
		w.inlines(&l, title)
		addTitle(l.String())
		title.Attr = append(title.Attr, html.Attribute{Key: "hidden"}) // written already
	}
	blocks := w.inner(n)
	if title == nil && hasAttr(n, "data-title") && len(blocks) > 0 {
		addTitle(blocks[0])
		blocks = blocks[1:]
	}
	if len(blocks) > 0 && !strings.Contains(first, "\n") && isPlainBlock(blocks[0]) {
		blocks[0] = first + "\n" + blocks[0]
		return blocks
	}
	return append([]string{first}, blocks...)
}

// isPlainBlock reports whether a block is a paragraph.
func isPlainBlock(s string) bool {
	return !listStart.MatchString(s) && !headingMark.MatchString(s) && !strings.HasPrefix(s, "```") && !strings.HasPrefix(s, "|") && !strings.HasPrefix(s, ">")
}

// isFootnoteMark reports whether n is the mark of a footnote in rendered
// Markdown.
func isFootnoteMark(n *html.Node) bool {
	return n.DataAtom == atom.Sup && hasAttr(n, "data-footnote-ref")
}

func footnoteMark(n *html.Node) string { return fmt.Sprintf("[^%s]", textOf(n)) }
