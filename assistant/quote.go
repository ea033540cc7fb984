package assistant

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// quotation is what is quoted of a passage.
type quotation struct {
	passage *passage
	blocks  []string
}

// fragment is a sentence, a list item or a code block.
type fragment struct {
	passage, block int
	text           string
	code, item     bool
	words          map[string]bool
	score          float64
}

// quote chooses the passages to quote, and what of them.
func quote(best []passage, asked []term, l language.Language) []quotation {
	var ps []fragment
	for i := range best[:min(quotedPassages, len(best))] {
		if i >= leastPassages && best[i].score < quotedShare*best[0].score {
			break
		}
		ps = append(ps, split(i, best[i].text, l)...)
	}
	// A word that is in every fragment says nothing about which one answers.
	frequency := make(map[string]int)
	for i := range ps {
		for w := range ps[i].words {
			frequency[w]++
		}
	}
	for i := range ps {
		p := &ps[i]
		for _, t := range asked {
			if p.words[t.stem] {
				w := math.Log(1 + float64(len(ps))/float64(frequency[t.stem]))
				if t.name {
					w *= 1.5
				}
				p.score += w
			}
		}
		// The first sentences of a section say what it is about.
		if p.block == 0 {
			p.score += .3
		}
	}
	var out []quotation
	for i := range best[:min(quotedPassages, len(best))] {
		var own []*fragment
		for j := range ps {
			if ps[j].passage == i {
				own = append(own, &ps[j])
			}
		}
		if len(own) == 0 {
			continue
		}
		if blocks := pick(own); len(blocks) > 0 {
			out = append(out, quotation{&best[i], blocks})
		}
	}
	return out
}

// pick takes the fragments of a passage that say most, in the passage's order,
// and joins them to paragraphs, lists and code blocks again.
func pick(own []*fragment) []string {
	order := slices.Clone(own)
	slices.SortStableFunc(order, func(a, b *fragment) int { return cmp.Compare(b.score, a.score) })
	chosen := make(map[*fragment]bool)
	chars, codes := 0, 0
	take := func(p *fragment) {
		if chosen[p] {
			return
		}
		if p.code {
			if codes < quoteCodes {
				chosen[p] = true
				codes++
			}
			return
		}
		if n := utf8.RuneCountInString(p.text); chars == 0 || chars+n <= quoteChars {
			chosen[p] = true
			chars += n
		}
	}
	after := make(map[*fragment]*fragment, len(own))
	for i := range own[1:] {
		after[own[i]] = own[i+1]
	}
	for _, p := range order[:min(4, len(order))] {
		if p.score > 0 || len(chosen) == 0 {
			take(p)
			if next := after[p]; chosen[p] && next != nil && next.code {
				take(next) // what a sentence introduces
			}
		}
	}
	for i, p := range own {
		if !chosen[p] || i+1 >= len(own) {
			continue
		}
		if strings.HasSuffix(p.text, ":") || strings.HasSuffix(p.text, "：") {
			for _, n := range own[i+1:] {
				if n.block != own[i+1].block {
					break
				}
				take(n)
			}
		}
	}
	// Code without a word about it, and a list's items without what they are
	// items of, are hard to read.
	for i, p := range own {
		if chosen[p] && (p.code || p.item) && i > 0 && !own[i-1].code && own[i-1].block != p.block {
			take(own[i-1])
		}
	}
	// A sentence that ends in a colon and introduces nothing is left out.
	for i, p := range own {
		if chosen[p] && len(chosen) > 1 && strings.HasSuffix(p.text, ":") && (i+1 == len(own) || !chosen[own[i+1]]) {
			delete(chosen, p)
		}
	}
	var out []string
	last := -1
	for _, p := range own {
		if !chosen[p] {
			continue
		}
		switch {
		case p.code:
			out = append(out, shorten(p.text))
			last = -1
		case p.block == last && p.item:
			out[len(out)-1] += "\n" + codeSpans(p.text)
		case p.block == last:
			sep := " "
			if r, _ := utf8.DecodeLastRuneInString(out[len(out)-1]); r > 0x3000 {
				sep = ""
			}
			out[len(out)-1] += sep + codeSpans(p.text)
		default:
			out = append(out, codeSpans(p.text))
			last = p.block
		}
	}
	return out
}

// shorten cuts a code block at a line, saying so in the block.
func shorten(code string) string {
	lines := strings.Split(code, "\n")
	if len(lines) <= quoteLines+2 {
		return code
	}
	return strings.Join(append(lines[:quoteLines+1:quoteLines+1], "…", lines[len(lines)-1]), "\n")
}

// split splits a passage into fragments.
func split(passage int, text string, l language.Language) []fragment {
	var out []fragment
	add := func(block int, text string, code, item bool) {
		if text = strings.TrimRightFunc(text, unicode.IsSpace); strings.TrimSpace(text) == "" || text == "[…]" {
			return
		}
		out = append(out, fragment{passage: passage, block: block, text: text, code: code, item: item, words: stems(text, l)})
	}
	for i, b := range splitBlocks(text) {
		switch {
		case b.code:
			add(i, b.text, true, false)
		case strings.HasPrefix(b.text, "#"): // a heading within: context, not an answer
		case isTable(b.text):
			for _, row := range tableItems(b.text) {
				add(i, row, false, true)
			}
		default:
			var prose []string
			item := ""
			flush := func() {
				if item != "" {
					add(i, item, false, true)
				}
				for _, s := range sentences(strings.Join(prose, " ")) {
					add(i, s, false, false)
				}
				item, prose = "", prose[:0]
			}
			for line := range strings.SplitSeq(b.text, "\n") {
				trimmed := strings.TrimSpace(line)
				switch {
				case strings.HasPrefix(trimmed, "- "), isNumbered(trimmed):
					flush()
					item = trimmed
				case item != "":
					item += " " + trimmed
				default:
					prose = append(prose, trimmed)
				}
			}
			flush()
		}
	}
	return out
}

func isNumbered(line string) bool {
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	return n > 0 && n < 4 && strings.HasPrefix(line[n:], ". ")
}

// sentences splits prose at the ends of sentences. A full stop inside code
// or an abbreviation is none: what follows it must look like a beginning.
func sentences(prose string) []string {
	var out []string
	from := 0
	code := false
	for i, r := range prose {
		switch r {
		case '`':
			code = !code
		case '。', '！', '？':
			end := i + utf8.RuneLen(r)
			out = append(out, strings.TrimSpace(prose[from:end]))
			from = end
		case '.', '!', '?':
			rest := prose[i+1:]
			if code || len(rest) < 2 || rest[0] != ' ' {
				continue
			}
			next, _ := utf8.DecodeRuneInString(rest[1:])
			word := prose[from:i]
			if j := strings.LastIndexByte(word, ' '); j >= 0 {
				word = word[j+1:]
			}
			if unicode.IsLower(next) || r == '.' && (len(word) < 2 || strings.Contains(word, ".")) {
				continue // "e.g. this", "v. 2"
			}
			out = append(out, strings.TrimSpace(prose[from:i+1]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(prose[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}
