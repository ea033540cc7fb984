package ingest

import (
	"cmp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// codesOf returns the code blocks in a pre: its code elements if readers choose
// one of them by its language, as in Node.js' manual, or else the pre.
func codesOf(pre *html.Node) []*html.Node {
	codes := findAll(pre, func(n *html.Node) bool { return n.Parent == pre && n.DataAtom == atom.Code && classLanguage(n) != "" })
	if len(codes) < 2 {
		return []*html.Node{pre}
	}
	return codes
}

func preText(out *strings.Builder, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			out.WriteString(strings.ReplaceAll(c.Data, "\u200b", ""))
		case html.ElementNode:
			if c.DataAtom == atom.Br {
				out.WriteByte('\n')
			}
			if skippedTags.tag(c) || c.DataAtom == atom.Button || isLineNumber(c) || hasClass(c, "boring") { // mdBook hides these lines
				continue
			}
			preText(out, c)
			if blockTags.tag(c) || c.DataAtom == atom.Li || c.DataAtom == atom.Tr {
				if s := out.String(); len(s) > 0 && s[len(s)-1] != '\n' {
					out.WriteByte('\n')
				}
			}
		}
	}
}

func isLineNumber(n *html.Node) bool {
	return lineNumberClasses.class(n) || skippedClasses.class(n) || hasAttr(n, "data-line-number") && n.FirstChild == nil
}

// codeLanguage looks for a code block's language on the pre, the code in it
// and the elements around it.
func codeLanguage(n *html.Node) string {
	for c := firstElement(n); c != nil && (c.DataAtom == atom.Pre || c.DataAtom == atom.Code); c = firstElement(c) {
		n = c
	}
	for i := 0; n != nil && i < 8 && n.DataAtom != atom.Body; i++ {
		if l := classLanguage(n); l != "" {
			return languageName(l)
		}
		n = n.Parent
	}
	return ""
}

func classLanguage(n *html.Node) string {
	if l := cmp.Or(attr(n, "data-lang"), attr(n, "data-language")); l != "" {
		return l
	}
	list := strings.Fields(attr(n, "class"))
	for i, c := range list {
		for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-"} {
			if l, ok := strings.CutPrefix(c, prefix); ok && l != "" && l != "wrapper" && l != "content" {
				return l
			}
		}
		if (c == "sourceCode" || c == "brush:") && i+1 < len(list) {
			return strings.Trim(list[i+1], ";")
		}
	}
	return ""
}
