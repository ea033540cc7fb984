package assistant

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/short"
)

// passageText is a section's text, cut to its best part if it is long; "" if
// that does not fit.
func (f *findings) passageText(d *retrieval.Document, section int, query string, budget int) string {
	text, l := cmp.Or(f.text(d, section), d.Sections[section].Heading), f.q.language
	switch {
	case Tokens(text) <= budget:
		return text
	case budget < leastTokens:
		return ""
	}
	return cut(text, distinct(terms(query, l)), budget, l)
}

// longestLink bounds the address of a link in a passage, in bytes.
const longestLink = 200

// linkable reports whether a link of a passage can have an address as it is.
func linkable(address string) bool {
	return len(address) <= longestLink && !strings.ContainsAny(address, " ()<>[]")
}

// text is a section as the model reads it: with its code, and the links to pages
// that the reader can open.
func (f *findings) text(d *retrieval.Document, section int) string {
	return strings.TrimSpace(d.Sections[section].Marked(func(i int) string {
		if i >= len(d.Links) || f.publicURL == nil {
			return ""
		}
		l := d.Links[i]
		path, known := f.paths[l.Page]
		if !known {
			path = f.know(l.Page, f.publicURL(l.Page))
		}
		if path == "" || l.Anchor == "" {
			return path
		}
		if path += "#" + l.Anchor; !linkable(path) {
			return ""
		}
		return path
	}))
}

// know keeps the path of a page that the reader can open, "" for another, and
// returns it.
func (f *findings) know(page, address string) (path string) {
	if u, err := url.Parse(address); err == nil && linkable(address) {
		path = u.EscapedPath()
	}
	f.paths[page] = path
	return path
}

// cut keeps the blocks (paragraphs, lists, whole code blocks) around the one
// that holds most terms of the query, within the budget. What is left out is
// marked.
func cut(text string, wanted []term, budget int, l language.Language) string {
	blocks := splitBlocks(text)
	best, bestScore := 0, -1.0
	found := newFinder(wanted, l)
	for i, b := range blocks {
		// Of two blocks with the same terms the earlier one introduces the other.
		if s := float64(len(found.in(short.Bytes(b.text, 4000)))) - float64(i)/float64(len(blocks)); s > bestScore {
			best, bestScore = i, s
		}
	}
	from, to := best, best+1
	tokens := Tokens(blocks[best].text)
	if tokens > budget {
		if blocks[best].kind == partCode {
			return ""
		}
		return wholeLinks(clipTokens(blocks[best].text, budget)) + " […]"
	}
	from, to = around(from, to, len(blocks), budget-tokens, func(i int) int { return Tokens(blocks[i].text) })
	var b strings.Builder
	if from > 0 {
		b.WriteString("[…]\n\n")
	}
	for i := from; i < to; i++ {
		if i > from {
			b.WriteString("\n\n")
		}
		b.WriteString(blocks[i].text)
	}
	if to < len(blocks) {
		b.WriteString("\n\n[…]")
	}
	return b.String()
}

// wholeLinks is a text that was cut, without a link that has no end.
func wholeLinks(text string) string {
	if i := strings.LastIndex(text, "]("); i >= 0 && !strings.Contains(text[i:], ")") {
		return strings.TrimRight(text[:max(0, strings.LastIndexByte(text[:i], '['))], " ")
	}
	return text
}

// around grows the range from, to of n blocks, whose sizes are known, by their
// neighbors, as far as there is room.
func around(from, to, n, room int, size func(int) int) (int, int) {
	for grown := true; grown; {
		grown = false
		if to < n && size(to) <= room {
			room -= size(to)
			to, grown = to+1, true
		}
		if from > 0 && size(from-1) <= room {
			from, grown = from-1, true
			room -= size(from)
		}
	}
	return from, to
}

// splitBlocks splits a section's text (retrieval.Section.Text) at its empty
// lines, leaving code whole.
func splitBlocks(text string) []part {
	var out []part
	var cur []string
	fence := ""
	flush := func(kind int) {
		if t := strings.Trim(strings.Join(cur, "\n"), "\n"); strings.TrimSpace(t) != "" {
			out = append(out, part{kind: kind, text: t})
		}
		cur = cur[:0]
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			cur = append(cur, line)
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
				flush(partCode)
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush(partProse)
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
			cur = append(cur, line)
		case trimmed == "":
			flush(partProse)
		default:
			cur = append(cur, line)
		}
	}
	if fence != "" {
		cur = append(cur, fence)
		flush(partCode)
	}
	flush(partProse)
	return out
}
