package ingest

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxNested is how deep lists and quotes are nested in written Markdown. What
// is deeper is written at this depth.
const maxNested = 12

// maxTabLists is for how many lists of tabs of a page their panels are looked
// for.
const maxTabLists = 500

// writer writes parsed HTML as Markdown (see stream.go).
type writer struct {
	in   *Ingester
	base *url.URL // of the page
	// page: the HTML is a whole page, with navigation to leave out. framed: its
	// content is not marked, so the site's frame is left out, too.
	page, framed bool
	// slugs makes the ids of headings in rendered Markdown; nil for pages.
	slugs *slugger

	headers []retrieval.Section // of the sections; the first has no heading
	current int                 // of headers
	path    [5]string           // the current heading of each level
	links   []retrieval.Link

	// furniture are the nodes that repeat on most pages of the folder, usual
	// the headings that do.
	furniture map[*html.Node]bool
	usual     []string
	// blockBelow remembers which elements have blocks below them.
	blockBelow map[*html.Node]bool
	// labels are the names of tabs by the panels that they open.
	labels   map[*html.Node]string
	level    int  // of the heading above
	titled   bool // a heading of level 1 was written
	nested   int  // lists and quotes around
	terms    int  // that opened sections
	tabLists int
	quiet    bool // links are not kept
}

// write writes the children of the elements that hold a page's text.
func (w *writer) write(roots []*html.Node) string {
	w.headers = make([]retrieval.Section, 1)
	var out []string
	for _, r := range roots {
		out = append(out, w.blocks(r)...)
	}
	return strings.Join(out, "\n\n")
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

// pageNote matches blocks about the page that generators and themes add.
var pageNote = regexp.MustCompile(`(?i)^(?:` +
	`(?:this |the )?(?:page |was |is )*last (?:updated|modified|edited|changed|reviewed|built)\b.{0,40}\d.{0,60}|` +
	`(?:edit|improve|view source of) this page(?: on \w+)?|version: ?v?\d[\w.-]*)$`)

func (f *flow) flush() {
	s := images(f.line.String())
	f.line = inline{}
	if s == "" || len(s) < 300 && pageNote.MatchString(plainOf(s)) {
		return
	}
	f.out, f.list = append(f.out, escapeStarts(s)), 0
}

// images returns a block without the marks of its images, unless it has nothing
// else: an image within a sentence is part of it.
func images(s string) string {
	if strings.IndexByte(s, imageBegins) < 0 {
		return s
	}
	within := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == syntax || c == linkMark:
			i = closing(s, i)
		case c == imageBegins || c == imageEnds:
			within = c == imageBegins
		case c < escape && c != ' ' && c != '\n' && !within:
			return withoutImages(s)
		}
	}
	return s
}

func withoutImages(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\xfc", ""), "\xfd", "")
}

// isBlock counts custom elements as blocks.
func isBlock(n *html.Node) bool {
	return blockTags.tag(n) || n.DataAtom == 0 && n.Type == html.ElementNode && strings.Contains(n.Data, "-")
}

// isWritten reports whether an element is a separate block in Markdown.
func isWritten(n *html.Node) bool {
	return writtenTags.tag(n) || isBlock(n) || attr(n, "role") == "tablist"
}

// hasBlock reports whether blocks are below an element.
func (w *writer) hasBlock(n *html.Node) bool {
	if known, ok := w.blockBelow[n]; ok {
		return known
	}
	found := false
	for c := n.FirstChild; c != nil && !found; c = c.NextSibling {
		found = !skippedTags.tag(c) && (isWritten(c) || w.hasBlock(c))
	}
	if w.blockBelow == nil {
		w.blockBelow = map[*html.Node]bool{}
	}
	w.blockBelow[n] = found
	return found
}

func (f *flow) node(n *html.Node) {
	w := f.w
	if w.furniture[n] {
		return
	}
	if n.Type != html.ElementNode {
		w.inline(&f.line, n)
		return
	}
	if w.skips(n) && !isFootnoteMark(n) {
		return
	}
	if label := w.labels[n]; label != "" {
		f.add(between("**", label, "**"))
	}
	if level := headingLevel(n); level > 0 {
		f.flush()
		f.heading(n, level)
		return
	}
	if f.tabs(n) {
		return
	}
	if kind := noteKind(n); kind != "" && w.nested <= maxNested {
		if blocks := f.note(n, kind); len(blocks) > 0 {
			f.add(inQuote(blocks))
		}
		return
	}
	switch n.DataAtom {
	case atom.Pre:
		f.add(fences(n)...)
	case atom.Hr:
		f.add(asSyntax("---"))
	case atom.Ul, atom.Ol, atom.Menu:
		if w.page && hasClass(n.Parent, "toctree-l1") {
			f.sectionsOfPage(n)
			return
		}
		f.listOf(n)
	case atom.Li: // outside of a list
		f.apart(n)
	case atom.Blockquote:
		if w.nested > maxNested {
			f.apart(n)
			return
		}
		if blocks := w.nest(n); len(blocks) > 0 {
			blocks[0] = writtenCallout.ReplaceAllString(blocks[0], "\xf7$1\n\xf9")
			f.add(inQuote(blocks))
		}
	case atom.Dl:
		f.definitions(n)
	case atom.Table:
		f.table(n)
	case atom.Summary:
		if w.hasBlock(n) {
			f.apart(n)
			return
		}
		f.add(w.wrapped(n, "**"))
	case atom.Figcaption:
		f.add(w.wrapped(n, "*"))
	case atom.Div:
		if mark := attr(n, "data-footnote"); mark != "" {
			f.add(asSyntax("[^"+mark+"]: ") + indentLines(strings.Join(w.nest(n), "\n\n"), asSyntax("    ")))
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

var writtenCallout = regexp.MustCompile(`^(\[!\w+\][+-]?)\s+`)

// nest returns the content of an element that nests its blocks.
func (w *writer) nest(n *html.Node) []string {
	w.nested++
	defer func() { w.nested-- }()
	return w.blocks(n)
}

// wrapped is the text of n between two marks, "" without a word.
func (w *writer) wrapped(n *html.Node, mark string) string {
	var l inline
	w.inlines(&l, n)
	s := l.String()
	if s == "" || strings.Contains(s, mark) || strings.HasSuffix(s, `\`) {
		return s
	}
	return between(mark, s, mark)
}

// inQuote writes blocks as one quote.
func inQuote(blocks []string) string {
	return "\xf6" + strings.ReplaceAll(strings.Join(blocks, "\n\n"), "\n", "\n\xf6")
}

// heading writes a heading that links to itself, and begins a section or,
// below h4, a paragraph.
func (f *flow) heading(n *html.Node, level int) {
	w := f.w
	text, anchor := headingText(n), headingAnchor(n)
	l := inline{single: true}
	w.headingInlines(&l, n)
	written := l.String()
	if w.slugs != nil {
		text, anchor = w.markdownHeading(n, text, anchor)
		written = attributes.ReplaceAllString(written, "")
	}
	written = strings.TrimSpace(strings.TrimRight(written, "¶ "))
	text, anchor = clean(text), anchorOf(anchor)
	if text != "" {
		w.level, w.titled = level, w.titled || level == 1
		f.add(w.section(level, text, anchor) + headingLine(level, written, anchor, level > 4))
	}
}

// section begins a section below the headings of lower levels.
func (w *writer) section(level int, text, anchor string) string {
	if level >= len(w.path) {
		return ""
	}
	above := slices.DeleteFunc(slices.Clone(w.path[1:level]), func(h string) bool { return h == "" })
	clear(w.path[level:])
	w.path[level] = text
	w.current = len(w.headers)
	w.headers = append(w.headers, retrieval.Section{Anchor: anchor, Heading: text, Path: above, Level: level})
	return startOf(w.current)
}

// resume continues the section that was current when its values were taken.
func (f *flow) resume(section int, path [5]string) {
	f.flush()
	f.w.path, f.w.current = path, section
	if n := len(f.out); n > 0 {
		f.out[n-1] += startOf(section)
	}
}

// headingLine is a heading as Markdown, of which plain text has the words if
// they are visible. A heading that has links gets another one to its anchor.
func headingLine(level int, text, anchor string, visible bool) string {
	open, end := strings.Repeat("#", level)+" ", ""
	target := "#" + (&url.URL{Fragment: anchor}).EscapedFragment()
	if strings.ContainsAny(target, "()") {
		target = "<" + target + ">"
	}
	switch {
	case anchor == "":
	case strings.Contains(text, "]("):
		end = " [#](" + target + ")"
	default:
		open, text, end = open+"[", linkText(text), "]("+target+")"
	}
	if visible {
		return between(open, text, end)
	}
	return asSyntax(open + text + end)
}

// fences writes the code blocks of a pre.
func fences(pre *html.Node) (blocks []string) {
	for _, c := range codesOf(pre) {
		var text strings.Builder
		preText(&text, c)
		if code := strings.TrimLeft(strings.TrimRight(text.String(), " \t\n"), "\n"); strings.TrimSpace(code) != "" {
			fence := fenceFor(code)
			blocks = append(blocks, fence+codeLanguage(c)+"\n"+code+"\n"+fence)
		}
	}
	return blocks
}

// card writes a link around blocks: after them.
func (f *flow) card(n *html.Node) {
	f.apart(n)
	f.w.keepLink(attr(n, "href"), textOf(n))
	if href := f.w.address(attr(n, "href")); href != "" && !isPermalink(n) {
		f.add(asSyntax("[→](" + href + ")"))
	}
}

// isFootnoteMark reports whether n is the mark of a footnote in rendered
// Markdown.
func isFootnoteMark(n *html.Node) bool {
	return n.DataAtom == atom.Sup && hasAttr(n, "data-footnote-ref")
}

// isApart reports whether browsers most likely show n apart from the text
// around it: a badge, or a styled element right after another one where both
// have words.
func isApart(n *html.Node) bool {
	p := n.PrevSibling
	if isBadge(n) || p == nil || p.Type != html.ElementNode || attr(n, "class") == "" && attr(p, "class") == "" {
		return isBadge(n)
	}
	before, _ := utf8.DecodeLastRuneInString(rawText(p))
	after, _ := utf8.DecodeRuneInString(rawText(n))
	return hasLetter(string(before)) && hasLetter(string(after))
}

func isBadge(n *html.Node) bool {
	return n.DataAtom == atom.Span && strings.Contains(strings.ToLower(attr(n, "class")), "badge")
}

// maxTerms bounds the terms of a page that open sections.
const maxTerms = 3000

// termAnchor is the id of a term that opens a section, so that an option, a
// method or a setting can be linked. It is "" for other elements.
func (w *writer) termAnchor(n *html.Node) string {
	if !w.page || n.DataAtom != atom.Dt || w.terms == maxTerms || strings.IndexFunc(textOf(n), unicode.IsLetter) < 0 {
		return ""
	}
	return cmp.Or(anchorOf(attr(n, "id")), innerAnchor(n), anchorAtEnd(previousElement(n)))
}

// anchorAtEnd is the first of the empty targets with which a definition ends. They
// are those of the next term, as makeinfo writes them.
func anchorAtEnd(dd *html.Node) (anchor string) {
	if dd == nil || dd.DataAtom != atom.Dd {
		return ""
	}
	for c := dd.LastChild; c != nil && !textBelow(c); c = c.PrevSibling {
		if c.Type == html.ElementNode && c.DataAtom != atom.Span && c.DataAtom != atom.A {
			break
		}
		anchor = cmp.Or(targetAnchor(c), anchor)
	}
	return anchor
}

// target is the URL to which a link leads, nil if it is none.
func (w *writer) target(href string) *url.URL {
	if href = strings.TrimSpace(href); href == "" || len(href) > 2000 {
		return nil
	}
	u, _ := w.base.Parse(href)
	return u
}

// maxLinks bounds the links kept of one page. Index pages of large references
// have thousands.
const maxLinks = 500

// keepLink keeps a link to a page of the site, and returns whether it did.
func (w *writer) keepLink(href, text string) bool {
	text = clean(text)
	if text == "" || len(text) > 200 || w.quiet || len(w.links) == maxLinks {
		return false
	}
	u := w.target(href)
	if u == nil {
		return false
	}
	page, anchor, ok := w.in.link(w.base, u)
	if ok {
		w.links = append(w.links, retrieval.Link{Page: page, Anchor: anchor, Text: text})
	}
	return ok
}

// linked marks the text of the link that was kept last.
func (w *writer) linked(text string) string {
	return "\xff" + strconv.Itoa(len(w.links)-1) + "\xf9" + text + "\xff\xf9"
}

func hasLetter(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}
