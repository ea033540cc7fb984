package ingest

import (
	"bytes"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// dialect chooses a parser.
type dialect struct {
	mdx bool // neither indented code nor raw HTML
	// notes: with footnotes. Pages with more than maxFootnotes do without.
	notes bool
	// ids: headings get goldmark's own ids.
	ids bool
}

// parsers are safe for use by several goroutines.
var parsers = func() map[dialect]parser.Parser {
	m := map[dialect]parser.Parser{}
	for _, mdx := range []bool{false, true} {
		for _, notes := range []bool{false, true} {
			for _, ids := range []bool{false, true} {
				d := dialect{mdx, notes, ids}
				m[d] = d.parser()
				if ids {
					m[d].AddOptions(parser.WithAutoHeadingID())
				}
			}
		}
	}
	return m
}()

// parser makes a parser of GitHub's Markdown with footnotes and definition
// lists.
func (d dialect) parser() parser.Parser {
	extensions := []goldmark.Extender{extension.Table, extension.Strikethrough, extension.TaskList, extension.DefinitionList}
	if d.notes {
		extensions = append(extensions, extension.Footnote)
	}
	if !d.mdx {
		return goldmark.New(goldmark.WithExtensions(extensions...)).Parser()
	}
	p := parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewSetextHeadingParser(), 100),
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
		),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(extensions...))
	return p
}

// markdown reads a Markdown or MDX page into doc.
func (in *Ingester) markdown(doc *retrieval.Document, src []byte, mdx bool) (warnings []string, err error) {
	front, body, err := splitFrontMatter(src)
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("its front matter is broken, so only its plain lines are read: %v", err))
	}
	switch {
	case front.truth("draft"):
		return nil, fmt.Errorf("%w: it is a draft", errSkip)
	case front.truth("noindex", "unlisted", "hidden", "search_exclude", "searchexclude"), strings.Contains(front.text("robots"), "noindex"):
		return nil, fmt.Errorf("%w: its front matter keeps it from search", errSkip)
	case strings.TrimSuffix(path.Base(doc.File), path.Ext(doc.File)) == "404":
		return nil, fmt.Errorf("%w: it is an error page", errSkip)
	}
	body, odd := bounded(prepare(body, mdx))
	warnings = append(warnings, odd...)
	base, _ := url.Parse(doc.URL)
	w := &markdownWalker{src: body, slugs: slugger{style: in.options.Anchors}}
	w.b = &builder{in: in, base: base}
	w.html = &htmlWalker{b: w.b}
	if w.slugs.style != "goldmark" { // which gives HTML's headings none
		w.html.slug = w.slugs.id
	}
	notes := bytes.Count(body, []byte("[^"))
	if notes > maxFootnotes {
		warnings = append(warnings, fmt.Sprintf("it has %d footnote marks, which are read as text", notes))
	}
	d := dialect{mdx: mdx, notes: notes <= maxFootnotes, ids: w.slugs.style == "goldmark"}
	w.blocks(parsers[d].Parse(text.NewReader(body)))
	doc.Title = front.text("title")
	w.b.flush()
	w.b.finish()
	if doc.Title == "" {
		doc.Title = w.b.firstHeading()
	}
	if doc.Title == "" {
		doc.Title = front.text("sidebartitle", "sidebar_label", "linktitle", "nav_title", "navtitle")
	}
	if doc.Title == "" {
		doc.Title = humanize(path.Base(doc.Page))
	}
	doc.Description = front.text("description", "summary", "excerpt", "og:description")
	doc.Tags = front.list("tags")
	doc.Keywords = tidyList(append(front.list("keywords"), front.text("sidebartitle", "sidebar_label", "linktitle")))
	doc.Breadcrumbs = front.list("breadcrumbs")
	doc.Deprecated = front.truth("deprecated") || front.text("deprecated") != ""
	doc.Sections = w.b.end(doc.Title)
	doc.Links = w.b.links
	in.setScope(doc, front.text("version"), front.text("lang", "language", "locale"))
	if len(doc.Sections) == 0 && doc.Description != "" {
		doc.Sections = []retrieval.Section{{Text: doc.Description}}
	}
	if len(doc.Sections) == 0 && len(bytes.TrimSpace(body)) > 0 {
		// A page that a script or component fills: it is found by its title.
		doc.Sections = []retrieval.Section{{Text: doc.Title}}
	}
	return warnings, nil
}

// firstHeading is the title of a page that names none: its first h1, or its
// first heading if that opens the page.
func (b *builder) firstHeading() string {
	if h := b.firstH1(); h != "" {
		return h
	}
	if len(b.sections) > 0 {
		return b.sections[0].Heading
	}
	return ""
}

// markdownWalker writes a parsed page into a builder.
type markdownWalker struct {
	src   []byte
	b     *builder
	slugs slugger
	html  *htmlWalker
}

func (w *markdownWalker) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.block(n)
	}
}

func (w *markdownWalker) block(n ast.Node) {
	b := w.b
	switch n := n.(type) {
	case *ast.Heading:
		w.heading(n)
	case *ast.Paragraph, *ast.TextBlock:
		b.flush()
		w.inlines(n)
		w.trimAttributes()
		b.flush()
	case *ast.FencedCodeBlock:
		w.fence(n)
	case *ast.CodeBlock:
		b.fence("", string(n.Lines().Value(w.src)))
	case *ast.HTMLBlock:
		raw := n.Lines().Value(w.src)
		if n.HasClosure() {
			raw = append(bytes.Clone(raw), n.ClosureLine.Value(w.src)...)
		}
		w.html.fragment(raw)
	case *ast.List:
		b.flush()
		b.indent += 2
		w.blocks(n)
		b.flush()
		b.indent -= 2
		b.marker = ""
	case *ast.ListItem:
		b.flush()
		b.marker = "- "
		w.blocks(n)
		b.flush()
		b.marker = ""
	case *ast.Blockquote:
		b.flush()
		w.quote(n)
	case *east.Table:
		b.flush()
		w.table(n)
	case *east.DefinitionTerm:
		b.flush()
		w.inlines(n)
		b.kind = term
		b.flush()
		b.kind = paragraph
	case *east.DefinitionDescription:
		b.flush()
		b.indent += 2
		w.blocks(n)
		b.flush()
		b.indent -= 2
	case *ast.ThematicBreak:
		b.flush()
	default:
		w.blocks(n)
	}
}

// attributes is an explicit id or class list at the end of a heading or
// paragraph: {#id}, {#id .class}, { #id }, {: #id .class}.
var attributes = regexp.MustCompile(`\s*\{:?\s*(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*))(?:\s+(?:[#.][^\s{}]+|[\w-]+=(?:"[^"{}]*"|[^\s{}]*)))*\s*\}\s*$`)

var attributeID = regexp.MustCompile(`#([^\s{}]+)`)

func (w *markdownWalker) heading(n *ast.Heading) {
	b := w.b
	b.flush()
	lines := n.Lines()
	raw := ""
	if lines.Len() > 0 {
		last := lines.At(lines.Len() - 1)
		raw = string(last.Value(w.src))
	}
	w.inlines(n)
	heading := strings.TrimSpace(string(b.line))
	b.line, b.space = b.line[:0], false
	id, source := "", w.headingSource(nil, n)
	if strings.HasSuffix(strings.TrimSpace(raw), "}") {
		if m := attributes.FindString(raw); m != "" {
			if i := strings.LastIndexByte(heading, '{'); i >= 0 {
				heading = strings.TrimSpace(heading[:i])
			}
			if i := bytes.LastIndexByte(source, '{'); i >= 0 {
				source = bytes.TrimSpace(source[:i])
			}
			if a := attributeID.FindStringSubmatch(m); a != nil {
				id = a[1]
			}
		}
	}
	if own, ok := n.AttributeString("id"); ok {
		// goldmark's own, as Caddy's templates use it: it reads no {#id}.
		b, _ := own.([]byte)
		id = string(b)
	} else if id != "" {
		w.slugs.reserve(id)
	} else {
		id = w.slugs.id(string(source))
	}
	if n.Level > 4 {
		b.words(heading)
		b.flush()
		return
	}
	b.heading(n.Level, heading, id)
}

// headingSource is a heading's text as its ids are made of it: white space
// as it was written, footnotes' numbers in, pictures out.
func (w *markdownWalker) headingSource(out []byte, parent ast.Node) []byte {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			v := n.Segment.Value(w.src)
			if _, code := parent.(*ast.CodeSpan); code || n.IsRaw() {
				out = append(out, v...)
			} else {
				out = append(out, unescape(v)...)
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				out = append(out, '\n')
			}
		case *ast.String:
			out = append(out, n.Value...)
		case *ast.AutoLink:
			out = append(out, n.Label(w.src)...)
		case *east.FootnoteLink:
			out = strconv.AppendInt(out, int64(n.Index), 10)
		case *ast.Image, *ast.RawHTML, *east.FootnoteBacklink:
		default:
			out = w.headingSource(out, n)
		}
	}
	return out
}

// trimAttributes drops a class list that ends a paragraph ({: .note}).
func (w *markdownWalker) trimAttributes() {
	b := w.b
	if len(b.line) == 0 || b.line[len(b.line)-1] != '}' {
		return
	}
	if m := attributes.Find(b.line); m != nil && bytes.ContainsAny(m, ":") && bytes.Contains(m, []byte("{:")) {
		b.line = b.line[:len(b.line)-len(m)]
	}
}

var fenceLanguage = regexp.MustCompile(`^[\w+#.-]+`)

var fenceTitle = regexp.MustCompile(`(?:^|\s)(?:title|file|filename|caption|name)=(?:"([^"]*)"|'([^']*)')`)

func (w *markdownWalker) fence(n *ast.FencedCodeBlock) {
	info := ""
	if n.Info != nil {
		info = strings.TrimSpace(string(n.Info.Segment.Value(w.src)))
	}
	code := string(n.Lines().Value(w.src))
	info = strings.TrimPrefix(info, "{.") // pandoc: {.python .class}
	if m := fenceTitle.FindStringSubmatch(info); m != nil {
		w.b.flush()
		w.b.words(m[1] + m[2])
		w.b.flush()
	}
	w.b.fence(languageName(fenceLanguage.FindString(info)), code)
}

// alert is the first line of a GitHub or Obsidian callout: [!NOTE] Title.
var alert = regexp.MustCompile(`^\[!\w+\][+-]?\s*`)

func (w *markdownWalker) quote(n *ast.Blockquote) {
	first := n.FirstChild()
	if p, ok := first.(*ast.Paragraph); ok {
		w.inlines(p)
		w.b.line = alert.ReplaceAll(w.b.line, nil)
		w.b.flush()
		first = first.NextSibling()
	}
	for c := first; c != nil; c = c.NextSibling() {
		w.block(c)
	}
}

func (w *markdownWalker) table(n *east.Table) {
	b := w.b
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		for c := r.FirstChild(); c != nil; c = c.NextSibling() {
			if c.PreviousSibling() != nil {
				b.words(" | ")
			}
			w.inlines(c)
		}
		b.endRow()
	}
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

func (w *markdownWalker) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		w.inline(n)
	}
}

func (w *markdownWalker) inline(n ast.Node) {
	b := w.b
	switch n := n.(type) {
	case *ast.Text:
		v := n.Segment.Value(w.src)
		if n.IsRaw() {
			b.words(string(v))
		} else {
			b.words(unescape(v))
		}
		switch {
		case n.HardLineBreak():
			b.newline()
		case n.SoftLineBreak():
			b.space = true
		}
	case *ast.String:
		b.words(string(n.Value))
	case *ast.CodeSpan:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				b.words(string(t.Segment.Value(w.src)))
			}
		}
	case *ast.Link:
		start := len(b.line)
		w.inlines(n)
		if start <= len(b.line) {
			b.link(string(n.Destination), string(b.line[start:]))
		}
	case *ast.AutoLink:
		b.words(string(n.Label(w.src)))
	case *ast.Image:
		if n.Parent() != nil && n.Parent().Kind() == ast.KindHeading {
			return // not part of GitHub's ids
		}
		w.inlines(n)
	case *ast.RawHTML:
		w.rawInline(n.Segments.Value(w.src))
	case *east.TaskCheckBox, *east.FootnoteLink, *east.FootnoteBacklink:
	default:
		w.inlines(n)
	}
}

// rawInline reads one inline tag. Those that leave nothing, which are nearly
// all, are told by their first letters.
func (w *markdownWalker) rawInline(tag []byte) {
	if len(tag) < 4 || tag[1] != 'b' && tag[1] != 'B' && tag[1] != 'i' && tag[1] != 'I' {
		return
	}
	if name := strings.ToLower(string(tag[1:min(len(tag), 4)])); !strings.HasPrefix(name, "br") && name != "img" {
		return
	}
	z := html.NewTokenizer(bytes.NewReader(tag))
	switch z.Next() {
	case html.StartTagToken, html.SelfClosingTagToken:
		t := z.Token()
		switch t.Data {
		case "br":
			w.b.newline()
		case "img":
			w.b.words(attribute(t.Attr, "alt"))
		}
	}
}

// unescape resolves backslash escapes and entities of Markdown text.
func unescape(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 && bytes.IndexByte(v, '&') < 0 {
		return string(v)
	}
	var out strings.Builder
	start := 0
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) && util.IsPunct(v[i+1]) {
			out.WriteString(html.UnescapeString(string(v[start:i])))
			out.WriteByte(v[i+1])
			i++
			start = i + 1
		}
	}
	out.WriteString(html.UnescapeString(string(v[start:])))
	return out.String()
}

// languageName tidies a code block's language.
func languageName(s string) string {
	s = strings.ToLower(strings.Trim(s, ".-"))
	switch s {
	case "default", "none", "text", "plaintext", "plain", "txt", "notranslate", "nohighlight", "no-highlight", "fallback":
		return ""
	}
	if len(s) <= 30 {
		return s
	}
	return ""
}
