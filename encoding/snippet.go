package encoding

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

const (
	// maxSnippetText bounds what is read of a section for its snippet, in bytes.
	maxSnippetText = 100_000
	// maxSnippetSpans bounds the words that a snippet is chosen by.
	maxSnippetSpans = 500
	// leadIn is how far before its first word a snippet may begin, as a share
	// of its length.
	leadIn = .4
)

// snippet returns the part of a section's text that says most about a query,
// on one line and at most limit characters (UTF-16 code units, as JavaScript
// counts) long, and the query's words in it. "…" marks an end that is cut.
// Without any word, it is the beginning of the text. limit is at least 20.
func snippet(text string, mark retrieval.Marker, limit int) (string, []retrieval.Span) {
	text = oneLine(short.Bytes(text, maxSnippetText))
	spans := mark(text)
	if len(text) <= limit || len(text) <= 3*limit && units(text) <= limit { // a unit has at most three bytes
		return text, spans
	}
	start := 0
	if len(spans) > 0 {
		start = bestStart(text, spans[:min(len(spans), maxSnippetSpans)], limit)
	}
	start = min(start, tailStart(text, limit-1))
	start += len(text[start:]) - len(strings.TrimPrefix(text[start:], "· "))
	head, room := "", limit-1 // for "…" at the end
	if start > 0 {
		head, room = "…", room-1
	}
	end := start + fitting(text[start:], room)
	tail := "…"
	switch rest := strings.TrimSpace(text[end:]); {
	case rest == "":
		tail = ""
	case units(rest) <= 1: // which takes no more than "…"
		end, tail = len(text), ""
	default:
		end = start + lastBreak(text[start:end], text[end:])
	}
	part := text[start:end]
	if tail != "" {
		part = strings.TrimRight(part, " .·")
	}
	var in []retrieval.Span
	for _, s := range spans {
		if s.Start >= start && s.End <= start+len(part) {
			s.Start += len(head) - start
			s.End += len(head) - start
			in = append(in, s)
		}
	}
	return head + part + tail, in
}

// bestStart returns where to begin a snippet: before the words that together
// weigh most within its length. A word that occurs again adds little.
func bestStart(text string, spans []retrieval.Span, limit int) int {
	room := limit - int(leadIn*float64(limit))
	// Where each span begins and ends, in characters.
	from, words, last := 0, 0, 0
	begin, end := make([]int, len(spans)), make([]int, len(spans))
	for i, s := range spans {
		last += units(text[from:s.Start])
		from, words = s.Start, max(words, s.Word+1)
		begin[i], end[i] = last, last+units(text[s.Start:s.End])
	}
	best := -1.0
	from = 0
	seen := make([]int, words) // by word, the last start that has it, from 1
	for i, first := range spans {
		if i > 0 && spans[i-1].Start == first.Start {
			continue
		}
		value, reach := 0.0, 0
		for j, s := range spans[i:] {
			if reach = max(reach, end[i+j]); reach-begin[i] > room {
				break
			}
			if seen[s.Word] == i+1 {
				value += s.Weight / 10
				continue
			}
			seen[s.Word] = i + 1
			value += s.Weight
		}
		if value > best {
			best, from = value, first.Start
		}
	}
	// Begin with the sentence, or else a few words before.
	back := lastUnits(text[:from], int(leadIn*float64(limit))-2)
	if back == 0 {
		return 0
	}
	before := text[back:from]
	sentence := -1
	for _, end := range []string{". ", "! ", "? ", ": ", "。", "！", "？"} {
		if i := strings.LastIndex(before, end); i >= 0 {
			sentence = max(sentence, i+len(end))
		}
	}
	if sentence >= 0 {
		return back + sentence
	}
	if i := strings.IndexByte(before, ' '); i >= 0 {
		return back + i + 1
	}
	middle := from - len(before)/2
	for !utf8.RuneStart(text[middle]) {
		middle++
	}
	return middle
}

// tailStart returns where the last n characters of a text begin, or the first
// word in them.
func tailStart(text string, n int) int {
	start := lastUnits(text, n)
	if i := strings.IndexByte(text[start:], ' '); i >= 0 && start > 0 && text[start-1] != ' ' {
		return start + i + 1
	}
	return start
}

// lastUnits returns where the last n characters of s begin.
func lastUnits(s string, n int) int {
	start := len(s)
	for start > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:start])
		if n -= utf16.RuneLen(r); n < 0 {
			break
		}
		start -= size
	}
	return start
}

// fitting returns how many bytes of s are at most n characters.
func fitting(s string, n int) int {
	for i, r := range s {
		if n -= utf16.RuneLen(r); n < 0 {
			return i
		}
	}
	return len(s)
}

// lastBreak returns where to end s, which rest follows, so that no word is
// cut.
func lastBreak(s, rest string) int {
	last, _ := utf8.DecodeLastRuneInString(s)
	next, _ := utf8.DecodeRuneInString(rest)
	if !unicode.IsLetter(last) || !unicode.IsLetter(next) || last >= 0x2e80 {
		return len(s)
	}
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		return i
	}
	return len(s)
}

// oneLine returns a section's text without fences, marks of lists, and white
// space other than single spaces. Outside of code, "·" separates the cells of
// tables.
func oneLine(text string) string {
	out := make([]byte, 0, len(text))
	inCode, inTable := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			inCode, inTable = !inCode, false
			continue
		}
		row := !inCode && line != "" && (inTable || strings.Contains(line, " | "))
		if row && inTable && !strings.HasPrefix(line, "| ") {
			out = append(out, " ·"...)
		}
		inTable = row
		for word := range strings.FieldsSeq(strings.TrimPrefix(line, "- ")) {
			if len(out) > 0 {
				out = append(out, ' ')
			}
			if word == "|" && !inCode {
				word = "·"
			}
			out = append(out, word...)
		}
	}
	return string(out)
}

// units is the length of a text in UTF-16 code units.
func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
