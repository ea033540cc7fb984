package citation

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// answers renders them. It leaves HTML out, which is goldmark's default.
// The policy of our pages allows no style attributes.
var answers = goldmark.New(goldmark.WithExtensions(
	extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough,
))

// HTML renders a checked answer as HTML, for pages of this module without
// scripts. href returns the address of a link by its destination; where that is
// "", or a script, the link's text alone is shown. Images are their text, so
// that no page loads any, and headings have level 3. What may be wider than the
// page is reachable by keyboard.
func HTML(answer string, href func(destination string) string) string {
	source := []byte(answer)
	checked := func(destination []byte) []byte {
		to := []byte(href(string(destination)))
		if html.IsDangerousURL(to) {
			return nil
		}
		return to
	}
	doc := answers.Parser().Parse(text.NewReader(source))
	var change []ast.Node // links and what is inside of them: parents first
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = 3
		case *ast.Link, *ast.AutoLink, *ast.Image:
			if entering {
				change = append(change, n)
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	for _, n := range change {
		switch n := n.(type) {
		case *ast.Image:
			unwrap(n)
		case *ast.AutoLink:
			label := ast.NewString(n.Label(source))
			n.Parent().InsertBefore(n.Parent(), n, label)
			if to := checked(n.URL(source)); len(to) > 0 && n.AutoLinkType == ast.AutoLinkURL {
				link := ast.NewLink()
				link.Destination = to
				link.SetAttributeString("rel", []byte("noreferrer noopener"))
				n.Parent().InsertBefore(n.Parent(), n, link)
				link.AppendChild(link, label)
			}
			n.Parent().RemoveChild(n.Parent(), n)
		case *ast.Link:
			to := checked(n.Destination)
			if len(to) == 0 {
				unwrap(n)
				continue
			}
			n.Destination, n.Title = to, nil
			n.SetAttributeString("rel", []byte("noreferrer noopener"))
		}
	}
	var out bytes.Buffer
	_ = answers.Renderer().Render(&out, source, doc) // a buffer takes everything
	// In texts, goldmark escapes these tags.
	return strings.NewReplacer("<pre>", `<pre tabindex="0">`, "<table>", `<table tabindex="0">`).Replace(out.String())
}

// Code returns the code of an answer: its spans and the lines of its blocks, each
// on a line.
func Code(answer string) string {
	source := []byte(answer)
	var b bytes.Buffer
	_ = ast.Walk(answers.Parser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		case *ast.CodeSpan:
			if !entering {
				b.WriteByte('\n')
				break
			}
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					b.Write(t.Value(source))
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unwrap puts what a node has inside of it in its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for c := n.FirstChild(); c != nil; c = n.FirstChild() {
		parent.InsertBefore(parent, n, c)
	}
	parent.RemoveChild(parent, n)
}
