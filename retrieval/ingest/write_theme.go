package ingest

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

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
			f.w.labels[panel] = strings.ReplaceAll(plainOf(labels[i]), "*", "")
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
	first, titled := asSyntax("[!"+kind+"]"), false
	addTitle := func(s string) {
		if s = plainOf(s); s != "" && !strings.EqualFold(strings.Trim(s, ":"), kind) {
			first, titled = first+between("\n**", strings.ReplaceAll(s, "*", ""), "**"), true
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
	if len(blocks) > 0 && !titled && kindOf(blocks[0]) == paragraphBlock {
		blocks[0] = asSyntax("[!"+kind+"]\n") + blocks[0]
		return blocks
	}
	return append([]string{first}, blocks...)
}
