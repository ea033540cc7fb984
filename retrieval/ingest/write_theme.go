package ingest

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// tabs finds the panels of a list of tabs and reports whether n is one: by its
// role, or as labels beside an element that has a child for each. Each panel
// begins with its tab's label.
func (f *flow) tabs(n *html.Node) bool {
	isPanel := func(n *html.Node) bool { return attr(n, "role") == "tabpanel" }
	byRole := attr(n, "role") == "tablist"
	var tabs []*html.Node
	if byRole {
		tabs = findAll(n, func(n *html.Node) bool { return attr(n, "role") == "tab" })
	} else if n.DataAtom == atom.Div {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom == atom.Label {
				tabs = append(tabs, c)
			}
		}
		beside := nextElement(n)
		isPanel = func(c *html.Node) bool { return c.Parent == beside }
	}
	if !byRole && len(tabs) == 0 {
		return false
	}
	var labels []string
	for _, t := range tabs {
		l := inline{single: true, plain: true}
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
		f.flush()
		return true
	}
	if byRole {
		f.add(strings.Join(labels, " | "))
	}
	return byRole
}

// noteKind returns GitHub's kind of a note, "" for other elements.
func noteKind(n *html.Node) string {
	switch n.DataAtom {
	case atom.Div, atom.Aside, atom.Section, atom.Details, atom.Blockquote:
	default:
		return ""
	}
	if !noteClasses.class(n) {
		return ""
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(attr(n, "class")), func(r rune) bool { return r <= ' ' || r == '-' || r == '_' }) {
		if kind := kindOfNote(word); kind != "" {
			return kind
		}
	}
	return "NOTE"
}

// kindOfNote is GitHub's name of a kind of notes, "" for other words.
func kindOfNote(word string) string {
	switch set := sets[word]; {
	case set&notes != 0:
		return "NOTE"
	case set&tips != 0:
		return "TIP"
	case set&warnings != 0:
		return "WARNING"
	case set&cautions != 0:
		return "CAUTION"
	case word == "important":
		return "IMPORTANT"
	}
	return ""
}

var noteTitle = regexp.MustCompile(`(?i)(?:admonition|alert|block|container|callout|aside)[-_]*(?:title|heading)|(?:^|\s)(?:alert-)?title(?:\s|$)`)

// note writes a note: its kind as GitHub writes it, its title unless that is
// the kind, its text. It is nil for one whose text is left out, unless its title
// says more than the kind.
func (f *flow) note(n *html.Node, kind string) []string {
	w := f.w
	text := ""
	walk(n, func(c *html.Node) bool {
		if c == n || text != "" || w.nested > maxNested || c.DataAtom != atom.Summary && !noteTitle.MatchString(attr(c, "class")) {
			return text == ""
		}
		l := inline{single: true, plain: true}
		w.inlines(&l, c)
		text = l.String()
		c.Attr = append(c.Attr, html.Attribute{Key: "hidden"}) // written already
		return false
	})
	blocks := w.nest(n)
	if text == "" && hasAttr(n, "data-title") && len(blocks) > 0 {
		text, blocks = plainOf(blocks[0]), blocks[1:]
	}
	if len(blocks) == 0 && (text == "" || kindOfNote(strings.ToLower(strings.Trim(strings.ReplaceAll(text, " ", ""), ":"))) != "") {
		for d := range n.Descendants() {
			if w.furniture[d] { // all that it says
				return nil
			}
		}
	}
	first := asSyntax("[!" + kind + "]")
	if text != "" && !strings.EqualFold(strings.Trim(text, ":"), kind) {
		first += between("\n**", strings.ReplaceAll(text, "*", ""), "**")
	} else if len(blocks) > 0 && kindOf(blocks[0]) == 'p' {
		blocks[0] = asSyntax("[!"+kind+"]\n") + blocks[0]
		return blocks
	}
	return append([]string{first}, blocks...)
}
