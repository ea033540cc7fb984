package agents

import (
	"iter"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/short"
)

// withoutFrontMatter returns the text of a page that ingest wrote.
func withoutFrontMatter(md string) string {
	if rest, ok := strings.CutPrefix(md, "---\n"); ok {
		if _, body, ok := strings.Cut(rest, "\n---\n"); ok {
			return strings.TrimLeft(body, "\n")
		}
	}
	return md
}

// writtenHeading matches a heading that links to its anchor, as ingest writes
// it.
var writtenHeading = regexp.MustCompile(`^(#{1,6}) (?:\[(.*)\]|(.*) \[#\])\((?:<#([^<>]*)>|#([^()\s]*))\)$`)

// sectionOf returns the section of a page whose heading has an anchor, up to
// the next heading of its level, and the heading.
func sectionOf(text, anchor string) (section, heading string, ok bool) {
	if anchor == "" {
		return "", "", false
	}
	if plain, err := url.PathUnescape(anchor); err == nil {
		anchor = plain
	}
	start, level := -1, 0
	at := 0
	for line, open := range lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		if open == "" && strings.HasPrefix(bare, "#") {
			mark := len(bare) - len(strings.TrimLeft(bare, "#"))
			if start >= 0 && mark <= level && strings.HasPrefix(bare[mark:], " ") {
				return strings.TrimSpace(text[start:at]), heading, true
			}
			if m := writtenHeading.FindStringSubmatch(bare); m != nil && start < 0 {
				found, err := url.PathUnescape(m[4] + m[5])
				if err == nil && found == anchor {
					start, level, heading = at, len(m[1]), plainHeading(m[2]+m[3])
				}
			}
		}
		at += len(line)
	}
	if start < 0 {
		return "", "", false
	}
	return strings.TrimSpace(text[start:]), heading, true
}

// plainHeading is a heading without its marks.
func plainHeading(s string) string {
	return strings.NewReplacer("`", "", "*", "", `\`, "").Replace(s)
}

// lines yields the lines of Markdown, each with the line that opened the code
// block that it is in, "" outside and for that line itself.
func lines(text string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		open, fence := "", ""
		for line := range strings.Lines(text) {
			if !yield(line, open) {
				return
			}
			bare := strings.TrimLeft(strings.TrimRight(line, "\n"), " >")
			switch {
			case open == "" && strings.HasPrefix(bare, "```"):
				open, fence = line, bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
			case open != "" && strings.HasPrefix(bare, fence) && strings.Trim(bare, "`") == "":
				open = ""
			}
		}
	}
}

// Tokens estimates the tokens of a text, rather too many than too few: four
// letters of English are one, and so is a letter of other scripts.
func Tokens(s string) int {
	ascii := 0
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			ascii++
		}
	}
	return ascii*2/7 + (utf8.RuneCountInString(s) - ascii)
}

// within is the beginning of a text that fits into a number of tokens.
func within(text string, room int) string {
	if n := Tokens(text); n > room {
		text = short.Runes(text, utf8.RuneCountInString(text)*room/n) + "…"
	}
	return text
}

// split cuts a text into parts of at most limit tokens: at headings and
// paragraphs if it can, within code blocks, which are then closed and opened
// again, only if it must.
func split(text string, limit int) []string {
	if Tokens(text) <= limit {
		return []string{text}
	}
	var parts []string
	var part strings.Builder
	size := 0
	best, bestSize := 0, 0 // where the part may end well
	end := func(at int) {
		s := part.String()
		head, rest := s[:at], s[at:]
		parts = append(parts, strings.TrimRight(head, "\n"))
		part.Reset()
		part.WriteString(rest)
		size = Tokens(rest)
		best, bestSize = 0, 0
	}
	for line, open := range lines(text) {
		for Tokens(line) > limit/2 { // a line of a minified file, say
			cutAt := len(line) / 2
			for cutAt > 0 && !utf8.RuneStart(line[cutAt]) {
				cutAt--
			}
			if size > 0 {
				end(part.Len())
			}
			part.WriteString(line[:cutAt])
			size = Tokens(line[:cutAt])
			line = line[cutAt:]
		}
		n := Tokens(line)
		if size+n > limit {
			switch {
			case bestSize > limit/2:
				end(best)
			case open != "":
				part.WriteString(closing(open) + "\n")
				end(part.Len())
				part.WriteString(open)
				size = Tokens(open)
			default:
				end(part.Len())
			}
		}
		if open == "" && (strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "") && part.Len() > 0 {
			best, bestSize = part.Len(), size
		}
		part.WriteString(line)
		size += n
	}
	if strings.TrimSpace(part.String()) != "" {
		parts = append(parts, strings.TrimRight(part.String(), "\n"))
	}
	return parts
}

// closing is the line that closes the code block that a line opens.
func closing(open string) string {
	bare := strings.TrimLeft(open, " >")
	prefix := open[:len(open)-len(bare)]
	return prefix + bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
}

// A part of a long page has the anchor of its section, if it is one, and its
// number as fragment: #install&part=2.
const partMark = "&part="

func partID(anchor string, number int) string { return anchor + partMark + strconv.Itoa(number) }

// splitPart is the reverse of partID. The number is 0 without one.
func splitPart(fragment string) (anchor string, number int) {
	i := strings.LastIndex(fragment, partMark)
	if i < 0 {
		return fragment, 0
	}
	n, err := strconv.Atoi(fragment[i+len(partMark):])
	if err != nil || n < 1 {
		return fragment, 0
	}
	return fragment[:i], n
}
