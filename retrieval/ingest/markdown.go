package ingest

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	renderhtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// newConverter renders GitHub's Markdown, with footnotes if wanted and
// definition lists, as HTML. MDX has no indented code. With headingIDs headings get goldmark's own
// ids, as Caddy's templates make them.
func newConverter(mdx, footnotes, headingIDs bool) goldmark.Markdown {
	extensions := []goldmark.Extender{extension.Table, extension.Strikethrough, extension.TaskList, extension.DefinitionList}
	if footnotes {
		extensions = append(extensions, extension.Footnote)
	}
	blocks := parser.DefaultBlockParsers()
	if mdx {
		blocks = slices.DeleteFunc(blocks, func(p util.PrioritizedValue) bool { return p.Value == parser.NewCodeBlockParser() })
	}
	p := parser.NewParser(parser.WithBlockParsers(blocks...), parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...))
	if headingIDs {
		p.AddOptions(parser.WithAutoHeadingID())
	}
	return goldmark.New(
		goldmark.WithParser(p),
		goldmark.WithExtensions(extensions...),
		goldmark.WithRendererOptions(renderhtml.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(nodeRenderer{}, 100))),
	)
}

// nodeRenderer renders the nodes of which goldmark's HTML would lose
// something, or add something that is not the page's text.
type nodeRenderer struct{}

func (nodeRenderer) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindFencedCodeBlock, renderFence)
	reg.Register(ast.KindRawHTML, renderInlineTag)
	reg.Register(east.KindFootnoteList, renderOnly(ast.WalkContinue))
	reg.Register(east.KindFootnote, renderFootnote)
	reg.Register(east.KindFootnoteLink, renderFootnoteLink)
	reg.Register(east.KindFootnoteBacklink, renderOnly(ast.WalkSkipChildren))
}

var (
	// fenceInclude matches a line that mdBook replaces with a file.
	fenceInclude = regexp.MustCompile(`(?m)^[ \t]*\{\{#\w*(?:include|playground)\b[^}\n]*\}\}[ \t]*\n?`)
	fenceTitle   = regexp.MustCompile(`(?:^|\s)(?:title|file|filename|caption|name)=(?:"([^"]*)"|'([^']*)')`)
)

// renderFence keeps the title of a code block, and a language in Pandoc's
// notation ({.python .class}).
func renderFence(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.FencedCodeBlock)
	info := ""
	if n.Info != nil {
		info = strings.TrimPrefix(strings.TrimSpace(string(n.Info.Segment.Value(src))), "{.")
	}
	if m := fenceTitle.FindStringSubmatch(info); m != nil {
		fmt.Fprintf(w, "<p>%s</p>\n", html.EscapeString(m[1]+m[2]))
	}
	language := info[:strings.IndexAny(info+" ", " \t{}[],:;=\"'()")]
	if strings.HasPrefix(info[len(language):], "=") {
		language = "" // an attribute
	}
	code := fenceInclude.ReplaceAllString(string(n.Lines().Value(src)), "")
	fmt.Fprintf(w, "<pre><code class=\"language-%s\">%s</code></pre>\n", language, html.EscapeString(code))
	return ast.WalkSkipChildren, nil
}

// renderInlineTag keeps the inline tags that leave text. Others, such as a
// <T> that is meant literally, could hide the rest of the page.
func renderInlineTag(w util.BufWriter, src []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := string(node.(*ast.RawHTML).Segments.Value(src))
	if low := strings.ToLower(tag); entering && (strings.HasPrefix(low, "<br") || strings.HasPrefix(low, "<img")) {
		_, _ = w.WriteString(tag)
	}
	return ast.WalkSkipChildren, nil
}

func renderFootnote(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprintf(w, `<div data-footnote="%d">`, node.(*east.Footnote).Index)
	} else {
		_, _ = w.WriteString("</div>\n")
	}
	return ast.WalkContinue, nil
}

// renderFootnoteLink hides the number, which is part of a heading's id and
// not of the text.
func renderFootnoteLink(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		fmt.Fprintf(w, "<sup hidden data-footnote-ref>%d</sup>", node.(*east.FootnoteLink).Index)
	}
	return ast.WalkContinue, nil
}

// renderOnly renders what is below a node, or nothing of it.
func renderOnly(status ast.WalkStatus) renderer.NodeRendererFunc {
	return func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) { return status, nil }
}

// markdown reads a Markdown or MDX page into doc: as HTML, like a browser.
func (in *Ingester) markdown(doc *retrieval.Document, src []byte, mdx bool, site *url.URL) (r *reading, warnings []string, err error) {
	front, body, err := splitFrontMatter(src)
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("the front matter is broken, so only its plain lines are read: %v", err))
	}
	_, unpublished := front.flag("published")
	switch {
	case front.truth("draft"), unpublished:
		return nil, nil, fmt.Errorf("%w: it is a draft", errSkip)
	case front.truth("noindex", "unlisted", "hidden", "search_exclude", "searchexclude"), strings.Contains(front.text("robots"), "noindex"):
		return nil, nil, fmt.Errorf("%w: its front matter keeps it from search", errSkip)
	case isErrorPage(doc):
		return nil, nil, fmt.Errorf("%w: it is an error page", errSkip)
	}
	body, odd := bounded(prepare(body, mdx))
	warnings = append(warnings, odd...)
	footnotes := bytes.Count(body, []byte("[^"))
	if footnotes > maxFootnotes {
		warnings = append(warnings, fmt.Sprintf("the page has %d footnote marks, which are read as text", footnotes))
	}
	var rendered bytes.Buffer
	if err := newConverter(mdx, footnotes <= maxFootnotes, in.options.Anchors == "goldmark").Convert(body, &rendered); err != nil {
		return nil, nil, fmt.Errorf("rendering Markdown: %w", err)
	}
	root, err := parseFragment(rendered.Bytes())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: its HTML can't be parsed: %v", errSkip, err)
	}
	w := &writer{in: in, base: baseOf(doc, site), slugs: &slugger{style: in.options.Anchors, used: map[string]int{}}}
	r = &reading{w: w, stream: w.write([]*html.Node{root}), date: front.text("lastmod", "last_modified_at", "updated", "last_updated", "lastupdated", "date")}
	doc.Title = cmp.Or(front.text("title"), firstHeading(r), front.text("sidebartitle", "sidebar_label", "linktitle", "nav_title", "navtitle"), humanize(path.Base(doc.Page)))
	doc.Description = front.text("description", "summary", "excerpt", "og:description")
	doc.Tags = front.list("tags")
	doc.Keywords = tidyList(append(front.list("keywords"), front.text("sidebartitle", "sidebar_label", "linktitle")))
	doc.Breadcrumbs = front.list("breadcrumbs")
	doc.Sections, r.without = sectionsOf(r.stream, w.headers, doc.Title, nil)
	doc.Links = w.links
	in.setScope(doc, front.text("version"), front.text("lang", "language", "locale"), "")
	in.relate(doc, head{})
	doc.Kind = kindOfPage(doc, root, front.truth("deprecated") || front.text("deprecated") != "", false)
	if layout := front.text("layout", "type"); doc.Kind == retrieval.Current && blogNames.has(layout) {
		doc.Kind = retrieval.Blog
	}
	if len(doc.Sections) == 0 && len(bytes.TrimSpace(body)) > 0 {
		// A page that a script or component fills is found by its title.
		doc.Sections = []retrieval.Section{{Text: cmp.Or(doc.Description, doc.Title)}}
	}
	return r, warnings, nil
}

// firstHeading is the title of a page that names none: its first h1, or its
// first heading if that opens the page.
func firstHeading(r *reading) string {
	if h, _ := topHeadings(r.w.headers); h != "" || len(r.w.headers) == 1 || r.stream[0] != sectionMark {
		return h
	}
	return r.w.headers[1].Heading
}

// languageName normalizes a code block's language.
func languageName(s string) string {
	s = strings.ToLower(strings.Trim(s, ".-"))
	if len(s) > 30 || plainLanguages.has(s) {
		return ""
	}
	return s
}
