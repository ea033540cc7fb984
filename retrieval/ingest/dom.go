package ingest

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// parseHTML parses a page. The parser refuses trees that are nested too
// deeply; their text is then read without the tags that only group.
func parseHTML(src []byte) (*html.Node, error) {
	root, err := html.Parse(bytes.NewReader(src))
	if err != nil {
		root, err = html.Parse(bytes.NewReader(flatten(src)))
	}
	return root, err
}

// parseFragment is parseHTML for what is inside a body.
func parseFragment(src []byte) (*html.Node, error) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(bytes.NewReader(src), body)
	if err != nil {
		nodes, err = html.ParseFragment(bytes.NewReader(flatten(src)), body)
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	return body, err
}

// flatten drops all tags except those that separate blocks or hide text.
func flatten(src []byte) []byte {
	var out bytes.Buffer
	z := html.NewTokenizer(bytes.NewReader(src))
	for {
		switch t := z.Next(); t {
		case html.ErrorToken:
			return out.Bytes()
		case html.TextToken, html.CommentToken, html.DoctypeToken:
			out.Write(z.Raw())
		default:
			raw := bytes.Clone(z.Raw())
			name, _ := z.TagName()
			switch atom.Lookup(name) {
			case atom.Html, atom.Head, atom.Title, atom.Meta, atom.Link, atom.Body, atom.H1, atom.H2, atom.H3, atom.H4,
				atom.P, atom.Script, atom.Style, atom.Br:
				out.Write(raw)
			default:
				out.WriteByte(' ')
			}
		}
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func hasClass(n *html.Node, class string) bool {
	for c := range strings.FieldsSeq(attr(n, "class")) {
		if strings.EqualFold(c, class) {
			return true
		}
	}
	return false
}

// walk visits n and the elements below it, in order. It looks below an
// element if visit returns true.
func walk(n *html.Node, visit func(*html.Node) bool) {
	if n.Type == html.ElementNode && !visit(n) {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

// findAll returns the outermost elements below root, or root itself, for
// which is returns true.
func findAll(root *html.Node, is func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	walk(root, func(n *html.Node) bool {
		if is(n) {
			out = append(out, n)
			return false
		}
		return n.DataAtom != atom.Template && n.DataAtom != atom.Svg
	})
	return out
}

func within(n, ancestor *html.Node) bool {
	for n != nil && n != ancestor {
		n = n.Parent
	}
	return n != nil
}

// firstElement is n's first child element other than empty link targets, nil
// if text comes before it.
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

// nextElement and previousElement are the elements next to n, nil if there is
// none or text comes before it.
func nextElement(n *html.Node) *html.Node {
	return besides(n, func(n *html.Node) *html.Node { return n.NextSibling })
}

func previousElement(n *html.Node) *html.Node {
	return besides(n, func(n *html.Node) *html.Node { return n.PrevSibling })
}

func besides(n *html.Node, step func(*html.Node) *html.Node) *html.Node {
	for n = step(n); n != nil && n.Type != html.ElementNode; n = step(n) {
		if n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" {
			return nil
		}
	}
	return n
}

// textOf is the text below n with white space collapsed.
func textOf(n *html.Node) string { return collapse(rawText(n)) }

// rawText is the text below n as it is written.
func rawText(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var out strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			out.WriteString(d.Data)
		}
	}
	return out.String()
}

func isHeading(n *html.Node) bool { return headingTags.tag(n) }

// headingLevel is 0 for anything but a heading.
func headingLevel(n *html.Node) int {
	if isHeading(n) {
		return int(n.Data[1] - '0')
	}
	return 0
}

func isList(n *html.Node) bool { return n.DataAtom == atom.Ul || n.DataAtom == atom.Ol }
