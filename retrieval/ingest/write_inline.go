package ingest

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// inline is running text as Markdown. White space collapses.
type inline struct {
	out   []byte
	space bool // white space is due before the next word
	lead  bool // white space was before the first word
	// single: line breaks become blanks, as in headings. cell: they become
	// <br>, and blocks are separated by it, as in the cells of tables. plain:
	// there is only text.
	single, cell, plain bool
}

// String returns the text without white space around it.
func (l *inline) String() string { return strings.TrimSpace(string(l.out)) }

// raw writes Markdown as it is.
func (l *inline) raw(s string) {
	if s == "" {
		return
	}
	l.due()
	if n := len(l.out); strings.HasPrefix(s, "\xf7[") && n > 0 && l.out[n-1] == '!' {
		l.out = append(l.out[:n-1], escape, '!') // no image
	}
	l.out = append(l.out, s...)
}

func (l *inline) due() {
	l.lead = l.lead || l.space && len(l.out) == 0
	if r := l.last(); l.space && r != 0 && r != '\n' && r != ' ' {
		l.out = append(l.out, ' ')
	}
	l.space = false
}

// last is the last rune that is not a mark; 0 if there is none.
func (l *inline) last() rune {
	n := len(l.out)
	for n > 0 && l.out[n-1] >= escape {
		n--
	}
	if n == 0 {
		return 0
	}
	r, _ := utf8.DecodeLastRune(l.out[:n])
	return r
}

// br is a hard line break.
func (l *inline) br() {
	s := bytes.TrimRight(l.out, " ")
	l.space = false
	switch {
	case len(s) == 0 || s[len(s)-1] == '\n' || bytes.HasSuffix(s, []byte(cellBreak)):
	case l.single:
		l.space = true
	case l.cell:
		l.out = append(s, cellBreak...)
	default:
		l.out = append(s, "\xf7  \xf9\n"...)
	}
}

// cellBreak is a line break in a cell, for plain text a blank.
const cellBreak = "\xf7<br>\xf9\xf8 \xf9"

// text writes text, with the characters escaped that Markdown would read
// otherwise.
func (l *inline) text(s string) {
	for i, r := range s {
		switch {
		case r == '\u200b' || r == '\u00ad' || r == '\ufeff' || r == '\u2060':
			continue
		case unicode.IsSpace(r):
			l.space = true
			continue
		}
		l.due()
		if l.escapes(s, i, r) {
			l.out = append(l.out, escape)
		}
		l.out = utf8.AppendRune(l.out, r)
	}
}

// escapes reports whether the rune at s[i] would be read as markup.
func (l *inline) escapes(s string, i int, r rune) bool {
	if r >= utf8.RuneSelf || l.plain {
		return false
	}
	rest := s[i+1:]
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case '\\':
		return rest == "" || strings.IndexByte("\\`*_{}[]()#+-.!<>|~&", rest[0]) >= 0
	case '`':
		return true
	case '*':
		before := l.last()
		return !(isBlank(before) && isBlank(next))
	case '_':
		before := l.last()
		return !(isWord(before) && isWord(next)) && !(isBlank(before) && isBlank(next))
	case '~':
		return strings.HasPrefix(rest, "~")
	case '<':
		return next == '/' || next == '!' || next == '?' || next < utf8.RuneSelf && unicode.IsLetter(next)
	case '&':
		end := strings.IndexByte(rest[:min(len(rest), 33)], ';') + 1
		return end > 0 && html.UnescapeString("&"+rest[:end]) != "&"+rest[:end]
	case ']':
		return next == '(' || next == '[' || next == ':'
	case '[':
		return next == '^'
	}
	return false
}

func isWord(r rune) bool  { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
func isBlank(r rune) bool { return r == 0 || r == utf8.RuneError || unicode.IsSpace(r) }

// lineStart matches the beginning of a line that would be another block.
var lineStart = regexp.MustCompile(`(?m)^(?:(#{1,6}|[-+*]|>)(?:[ \t]|$)|(\d{1,9})([.)])(?:[ \t]|$)|(>)|(=+[ \t]*$|-{2,}[ \t]*$)|(~~~|:::))`)

// escapeStarts escapes what would make a paragraph another block.
func escapeStarts(s string) string {
	if !strings.ContainsAny(s[:1], "#-+*>0123456789=~:") && !strings.Contains(s, "\n") {
		return s
	}
	return lineStart.ReplaceAllStringFunc(s, func(m string) string {
		if i := strings.IndexAny(m, ".)"); i > 0 && m[0] >= '0' && m[0] <= '9' {
			return m[:i] + "\xf5" + m[i:]
		}
		return "\xf5" + m
	})
}

// inlines writes the children of n.
func (w *writer) inlines(l *inline, n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.inline(l, c)
	}
}

// inline writes a node within running text.
func (w *writer) inline(l *inline, n *html.Node) {
	if w.furniture[n] {
		return
	}
	switch {
	case n.Type == html.TextNode:
		s := n.Data
		if p := n.Parent; !w.page && p != nil && n.NextSibling == nil && p.DataAtom != atom.Code && strings.Contains(s, "{:") {
			s = attributes.ReplaceAllString(s, "")
		}
		l.text(s)
		return
	case isFootnoteMark(n):
		l.raw(asSyntax("[^" + textOf(n) + "]"))
		return
	case n.Type != html.ElementNode || w.skips(n):
		return
	}
	if w.page && (isBadge(n) || !l.plain && isApart(n)) {
		l.space = true
		defer func() { l.space = true }()
	}
	if l.plain && n.DataAtom != atom.Br {
		if n.DataAtom == atom.A {
			w.keepLink(attr(n, "href"), textOf(n))
		}
		if n.DataAtom != atom.Img {
			w.inlines(l, n)
		}
		return
	}
	switch n.DataAtom {
	case atom.Br:
		l.br()
	case atom.Img:
		w.image(l, n)
	case atom.A:
		w.link(l, n)
	case atom.Code, atom.Samp, atom.Tt:
		w.code(l, n)
	case atom.Strong, atom.B:
		w.wrap(l, n, "**")
	case atom.Em, atom.I, atom.Cite, atom.Dfn:
		w.wrap(l, n, "*")
	case atom.Del, atom.S, atom.Strike:
		w.wrap(l, n, "~~")
	case atom.Kbd, atom.Sub, atom.Sup:
		w.inner(l, n, inline{single: true}, func(s string, _ bool) string { return between("<"+n.Data+">", s, "</"+n.Data+">") })
	case atom.Q:
		l.raw(`"`)
		w.inlines(l, n)
		l.raw(`"`)
	case atom.Math:
		for _, tex := range findAll(n, func(n *html.Node) bool { return n.Data == "annotation" }) {
			l.raw(between("$", textOf(tex), "$"))
		}
	case atom.Pre:
		var code strings.Builder
		preText(&code, n)
		l.space = true
		for i, line := range strings.Split(strings.Trim(code.String(), "\n"), "\n") {
			if i > 0 {
				l.br()
			}
			if line = strings.TrimRight(line, " \t"); line != "" {
				l.raw(codeSpan(line))
			}
		}
		l.space = true
	default:
		l.separate(n)
		w.inlines(l, n)
		l.separate(n)
	}
}

// separate keeps a block within running text apart from what is around it.
func (l *inline) separate(n *html.Node) {
	switch {
	case !isWritten(n):
	case l.cell && !bytes.HasSuffix(l.out, []byte(cellItem)):
		l.br()
	default:
		l.space = true
	}
}

// inner passes the text of n, and whether white space ends it, to write, and
// writes the result. White space at the edges of the text stays outside.
func (w *writer) inner(l *inline, n *html.Node, inner inline, write func(s string, ends bool) string) {
	w.inlines(&inner, n)
	s := inner.String()
	l.space = l.space || inner.lead || s == "" && inner.space
	if s != "" {
		l.raw(write(s, inner.space))
		l.space = inner.space
	}
}

// wrap writes emphasis. White space within it moves out, and a mark that
// Markdown would not take for one is left out.
func (w *writer) wrap(l *inline, n *html.Node, mark string) {
	w.inner(l, n, inline{single: l.single, cell: l.cell}, func(s string, ends bool) string {
		before := l.last()
		first, _ := utf8.DecodeRuneInString(s)
		last, _ := utf8.DecodeLastRuneInString(s)
		left := l.space || before != rune(mark[0]) && (!isWord(before) || isWord(first))
		right := ends || !isWord(nextRune(n)) || isWord(last)
		if !left || !right || strings.Contains(s, mark) || strings.Contains(s, "\n") || strings.HasSuffix(s, `\`) {
			return s
		}
		return between(mark, s, mark)
	})
}

// nextRune is the first rune of the text right after an element, a blank if
// something else follows.
func nextRune(n *html.Node) rune {
	for n = n.NextSibling; n != nil && n.Type == html.ElementNode; n = n.FirstChild {
	}
	if n == nil || n.Data == "" {
		return ' '
	}
	r, _ := utf8.DecodeRuneInString(n.Data)
	return r
}

// code writes a code span, as a link if a single link is all of it.
func (w *writer) code(l *inline, n *html.Node) {
	kept := len(w.links)
	w.inner(l, n, inline{single: true, plain: true}, func(text string, _ bool) string {
		s := codeSpan(text)
		if links := findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.A }); len(links) == 1 && textOf(links[0]) == text {
			if href := w.address(attr(links[0], "href")); href != "" {
				if len(w.links) > kept {
					s = w.linked(s)
				}
				s = between("[", s, "]("+href+")")
			}
		}
		if l.last() == '`' && !l.space {
			s = asSyntax("\u200b") + s // two spans would be one
		}
		return s
	})
}

// codeSpan writes code of one line.
func codeSpan(s string) string {
	fence := strings.Repeat("`", longestRun(s)+1)
	pad := ""
	if s[0] == '`' || s[len(s)-1] == '`' {
		pad = " "
	}
	return "\xfa" + between(fence+pad, s, pad+fence) + "\xfb"
}

// longestRun is the length of the longest run of backticks in code.
func longestRun(code string) (longest int) {
	for run := range strings.FieldsFuncSeq(code, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return longest
}

// link writes a link, or only its words if it leads nowhere.
func (w *writer) link(l *inline, n *html.Node) {
	if w.page && isPermalink(n) {
		return
	}
	href := w.address(attr(n, "href"))
	w.inner(l, n, inline{single: true}, func(s string, _ bool) string {
		kept := w.keepLink(attr(n, "href"), plainOf(s))
		switch {
		case href == "" || strings.Contains(s, "](") && s[0] != imageBegins:
			return s
		case s == href && !strings.ContainsAny(s, " <>") && strings.Contains(s, "://"):
			return between("<", s, ">")
		}
		if s = linkText(s); kept {
			s = w.linked(s)
		}
		return between("[", s, "]("+href+")")
	})
}

// linkText escapes the brackets that would end a link's text, if they are not
// in pairs.
func linkText(s string) string {
	paired := strings.Count(s, "[") == strings.Count(s, "]") && strings.IndexByte(s, ']') >= strings.IndexByte(s, '[')
	if paired && !strings.Contains(s, "\xf5[") && !strings.Contains(s, "\xf5]") || s[0] == imageBegins {
		return s
	}
	return strings.NewReplacer("\xf5[", "\xf5[", "\xf5]", "\xf5]", "[", "\xf5[", "]", "\xf5]").Replace(s)
}

// address makes a link's target absolute. It is "" for one that leads nowhere.
func (w *writer) address(href string) string {
	u := w.target(href)
	if u == nil || strings.TrimSpace(href) == "#" {
		return ""
	}
	switch s := u.String(); {
	case u.Scheme == "javascript", u.Scheme == "data", u.Scheme == "vbscript", u.Scheme == "blob", strings.ContainsAny(s, "<>"):
		return ""
	case strings.ContainsAny(s, "() "):
		return "<" + s + ">"
	default:
		return s
	}
}

// image writes an image by its alternative text. Those without are decoration.
func (w *writer) image(l *inline, n *html.Node) {
	alt := inline{single: true}
	if s := attr(n, "alt"); len(s) < 500 && hasLetter(s) {
		alt.text(s)
	}
	s := alt.String()
	if s == "" {
		return
	}
	if src := w.address(cmp.Or(attr(n, "src"), attr(n, "data-src"))); src != "" {
		s = between("![", linkText(s), "]("+src+")")
	}
	l.space = true
	l.raw("\xfc" + s + "\xfd")
	l.space = true
}
