package assistant

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// unit is the least of a section that is quoted: a paragraph, with the lists,
// tables and code blocks that it introduces.
type unit struct {
	parts []part
	words map[string]bool // of what is asked
}

type partKind uint8

const (
	partProse partKind = iota
	partLabel          // a short line that names what follows
	partList
	partTable
	partCode
)

// part is a block of a unit. The items of a list and the rows of a table are
// quoted whole or not at all.
type part struct {
	kind  partKind
	text  string
	items []string
}

// longestIntroduction is how many characters a paragraph without a colon has
// that belongs to the list or code below it.
const longestIntroduction = 300

// longestLabel is how many characters a line has that names what follows it.
const longestLabel = 60

// headingsOf returns the headings of a page, in lower case.
func headingsOf(d *retrieval.Document) map[string]bool {
	headings := make(map[string]bool, len(d.Sections))
	for _, s := range d.Sections {
		headings[strings.ToLower(s.Heading)] = true
	}
	return headings
}

// split splits a section's text into units, without those that are about the
// page or lead through it. headings are those of the page.
func split(text string, headings map[string]bool) []unit {
	var out []unit
	last := partProse
	bound := true // the last part introduces the next one
	asks := false // the last part is a question, which the next one answers
	for _, b := range splitBlocks(text) {
		if !b.code {
			b.text = dedent(b.text)
		}
		p := partOf(b)
		switch {
		case isByline(&p):
			continue
		case len(out) == 0, p.kind == partLabel, p.kind == partList && last == partCode, p.kind == partProse && last != partLabel && !asks && !continues(b.text), !bound && last == partProse:
			out = append(out, unit{parts: []part{p}})
		default:
			u := &out[len(out)-1]
			u.parts = append(u.parts, p)
		}
		last = p.kind
		asks = p.asks()
		bound = introduces(p.text) || utf8.RuneCountInString(p.text) <= longestIntroduction
	}
	kept := out[:0]
	for _, u := range out {
		if !u.parts[len(u.parts)-1].asks() && !isContents(u.parts, headings) {
			kept = append(kept, u)
		}
	}
	return kept
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

// asks reports whether a part is a question.
func (p *part) asks() bool {
	return p.kind == partProse && (strings.HasSuffix(p.text, "?") || strings.HasSuffix(p.text, "？")) && utf8.RuneCountInString(p.text) <= longestIntroduction
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
		out = clipCharacters(text, room) + " "
	}
	return out + "[…]"
}

// valuable returns the items that hold nearly as much of what is asked as the
// best one, in their order.
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
		if values[i] >= .6*best && (n <= room || len(out) == 0) {
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

func partOf(b block) part {
	switch {
	case b.code:
		return part{kind: partCode, text: b.text}
	case isTable(b.text):
		return part{kind: partTable, text: b.text, items: tableItems(b.text)}
	}
	lines := strings.Split(b.text, "\n")
	if isItem(lines[0]) {
		p := part{kind: partList, text: b.text}
		for _, line := range lines {
			if n := len(p.items); n > 0 && (!isItem(line) || line[0] == ' ' || line[0] == '\t') {
				p.items[n-1] += "\n" + line
			} else {
				p.items = append(p.items, line)
			}
		}
		return p
	}
	if last, _ := utf8.DecodeLastRuneInString(b.text); len(lines) == 1 && utf8.RuneCountInString(b.text) <= longestLabel && !strings.ContainsRune(".!?。！？…", last) {
		return part{kind: partLabel, text: b.text}
	}
	return part{kind: partProse, text: b.text}
}

func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, "- ") || isNumbered(line)
}

// continues reports whether a paragraph goes on after a list or code, rather
// than beginning something: it begins with a small letter.
func continues(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLower(r)
}

// isContents reports whether a unit is a list of links: a table of contents,
// further reading, the pages below. Its items are headings of the page, or
// none is a sentence and none introduces them.
func isContents(parts []part, headings map[string]bool) bool {
	links, sentences, known, items := false, false, 0, 0
	for _, p := range parts {
		switch p.kind {
		case partLabel:
			sentences = sentences || introduces(p.text)
		case partList:
			links = true
			for line := range strings.SplitSeq(p.text, "\n") {
				item := strings.ReplaceAll(strings.TrimLeft(line, "- \t"), "`", "")
				items++
				if headings[strings.ToLower(item)] {
					known++
				}
				r, _ := utf8.DecodeLastRuneInString(item)
				if strings.ContainsRune(".!?;。！？", r) || strings.ContainsAny(item, "=<>{}") || utf8.RuneCountInString(item) > 120 {
					sentences = true
				}
			}
		case partProse:
			if !links && len(parts) > 1 && utf8.RuneCountInString(p.text) <= longestLabel {
				continue
			}
			sentences = true
		default:
			return false
		}
	}
	return links && (!sentences || known >= 3 && known*3 >= items*2)
}

// introduces reports whether a text ends so that something must follow.
func introduces(text string) bool {
	return strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")
}

var byline = regexp.MustCompile(`(?i)^(by|von|par|por|di) \p{Lu}|\b(min|minutes?) read\b|^(last )?(updated|published|modified|edited)( on| at|:)|^\W*((jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w* \d{1,2},? \d{4}|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{4})\W*$|^(edit this page|on this page|table of contents|try it in the playground)\b`)

// isByline reports whether a block is about the page: its author, date or
// tools.
func isByline(p *part) bool {
	return (p.kind == partLabel || p.kind == partProse) && len(p.text) <= 100 && byline.MatchString(p.text)
}
