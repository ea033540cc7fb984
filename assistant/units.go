package assistant

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/short"
)

// unit is the least of a section that is quoted: a paragraph, with the lists,
// tables and code blocks that it introduces.
type unit struct {
	parts []part
	words map[string]bool // of what is asked
}

const (
	partProse = iota
	partList
	partTable
	partCode
)

// part is a block of a unit. The items of a list and the rows of a table are
// quoted whole or not at all.
type part struct {
	kind  int // partProse, …
	text  string
	items []string
}

// split splits a section's text into units.
func split(text string) []unit {
	var out []unit
	var last part
	for _, p := range splitBlocks(text) {
		if p.kind != partCode {
			p = partOf(dedent(p.text))
		}
		if len(out) == 0 || p.kind == partProse || last.kind == partProse && !introduces(last.text) {
			out = append(out, unit{})
		}
		u := &out[len(out)-1]
		u.parts = append(u.parts, p)
		last = p
	}
	return out
}

// dedent removes the indentation that all lines of a block have, as in the
// paragraphs of a list's item: Markdown would make code of it.
func dedent(text string) string {
	if text == "" || text[0] != ' ' {
		return text
	}
	lines := strings.Split(text, "\n")
	least := len(text)
	for _, line := range lines {
		least = min(least, len(line)-len(strings.TrimLeft(line, " ")))
	}
	for i := range lines {
		lines[i] = lines[i][least:]
	}
	return strings.Join(lines, "\n")
}

func (u *unit) text() string {
	var b strings.Builder
	for _, p := range u.parts {
		b.WriteString(p.text + "\n\n")
	}
	return b.String()
}

func (u *unit) chars() (n int) {
	for _, p := range u.parts {
		n += utf8.RuneCountInString(p.text)
	}
	return n
}

// markdown writes a part within so many characters. Of a long list it keeps
// the items with most value; cut code ends with a link to the rest.
func (p *part) markdown(room int, value func(string) float64, url string) string {
	switch p.kind {
	case partCode:
		return shorten(p.text, room, url)
	case partList, partTable:
		items := slices.Clone(p.items)
		if utf8.RuneCountInString(p.text) > room {
			items = valuable(items, room, value)
		}
		for i, item := range items {
			if p.kind == partTable {
				break // tableItems did
			}
			lines := strings.Split(item, "\n")
			for j, line := range lines {
				indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
				lines[j] = indent + codeSpans(line[len(indent):])
			}
			items[i] = strings.Join(lines, "\n")
		}
		return strings.Join(items, "\n")
	}
	text := codeSpans(p.text)
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	out := ""
	for _, s := range sentences(text) {
		if utf8.RuneCountInString(out+s) > room {
			break
		}
		out += s + " "
	}
	if out == "" {
		out = short.Runes(text, room) + " "
	}
	return out + "[…]"
}

// valuable returns the items that hold most of what is asked, in their order.
func valuable(items []string, room int, value func(string) float64) []string {
	best := 0.
	values := make([]float64, len(items))
	for i, item := range items {
		values[i] = value(item)
		best = max(best, values[i])
	}
	var out []string
	for i, item := range items {
		n := utf8.RuneCountInString(item)
		if values[i] == best && (n <= room || len(out) == 0) {
			out = append(out, item)
			room -= n
		}
	}
	return out
}

// shorten cuts a code block at a line, and adds a link to the rest.
func shorten(code string, room int, url string) string {
	if utf8.RuneCountInString(code) <= room {
		return code
	}
	lines := strings.Split(code, "\n")
	last := len(lines) - 1
	room -= utf8.RuneCountInString(lines[0] + lines[last])
	keep := 1
	for ; keep < last; keep++ {
		if room -= utf8.RuneCountInString(lines[keep]) + 1; room < 0 {
			break
		}
	}
	rest := citation.Link("…", url)
	if keep == 1 {
		return rest
	}
	return strings.Join(append(lines[:keep:keep], lines[last]), "\n") + "\n\n" + rest
}

func partOf(text string) part {
	if isTable(text) {
		return part{kind: partTable, text: text, items: tableItems(text)}
	}
	lines := strings.Split(text, "\n")
	if isItem(lines[0]) {
		p := part{kind: partList, text: text}
		for _, line := range lines {
			if n := len(p.items); n > 0 && (!isItem(line) || line[0] == ' ' || line[0] == '\t') {
				p.items[n-1] += "\n" + line
			} else {
				p.items = append(p.items, line)
			}
		}
		return p
	}
	return part{kind: partProse, text: text}
}

func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, "- ") || isNumbered(line)
}

// introduces reports whether a text ends so that something must follow.
func introduces(text string) bool {
	return strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")
}
