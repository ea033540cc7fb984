package citation

import (
	"bytes"
	"slices"
)

// blocks follows Markdown's block structure as far as is needed to know what
// is fenced code: quotes and list items, since a fence ends with the container
// block that it is in. It reads the characters that begin each line.
type blocks struct {
	prefix bool   // at the beginning of a line, before its content
	line   []byte // the line's prefix so far
	blank  bool   // the line before was blank

	// containers are CommonMark's container blocks: 0 for a quote, for the item of
	// a list by how much its content is indented.
	containers []int

	fence  byte // '`' or '~' in a fenced block, else 0
	length int  // of the opening fence
	info   bool // in the line of the opening fence

	// doubt is set where renderers could see other containers than we do.
	doubt bool
	// distrust is set for good once a fence was opened in doubt: nothing is
	// taken for code any more.
	distrust bool
}

const maxContainers = 16

// more takes a byte of the line's prefix: characters that may begin blocks and
// that are harmless by themselves. false ends the prefix.
func (k *blocks) more(ch byte) bool {
	if bytes.IndexByte([]byte(" \t>-+*.)`~0123456789"), ch) < 0 {
		return false
	}
	k.line = append(k.line, ch)
	return true
}

func (k *blocks) endLine() {
	k.prefix = true
	k.line = k.line[:0]
	k.info = false
}

// begin reads the prefix of a line whose next byte is next. If the line is
// running text, it returns the part of the prefix that belongs to it. It
// clears p where a paragraph ends.
func (k *blocks) begin(next byte, p *paragraph) (prefix []byte, text bool) {
	k.prefix = false
	line := expandTabs(k.line)
	end := next == '\n'
	matched, rest := k.match(line, end)
	if k.fence != 0 {
		if matched == len(k.containers) {
			if end && k.closes(rest) {
				k.fence, k.blank = 0, false
				k.distrust = k.distrust || bytes.IndexByte(k.line, '\t') >= 0 // for marked a tab is text
			} else if end && k.closesForMarked(rest) {
				k.fence, k.blank, k.distrust = 0, false, true
			}
			return nil, false
		}
		k.fence = 0 // its container has ended
	}

	wasBlank := k.blank
	k.blank = end && indentation(rest) == len(rest)
	if k.blank {
		k.blankLine(matched, len(line) == 0)
		*p = paragraph{}
		return nil, false
	}

	open, rest := k.open(k.containers[:matched], rest, end, wasBlank)
	ind := indentation(rest)
	run := rest[ind:]
	n := 0
	for n < len(run) && run[n] == run[0] {
		n++
	}
	fence := ind <= 3 && n >= 3 && (run[0] == '`' || run[0] == '~')
	rule := ind <= 3 && isRule(run, end)
	if len(open) > matched || fence || rule || wasBlank || next == '#' || matched == len(k.containers) {
		if matched < len(k.containers) {
			// What was open has ended, and doubts about it with it.
			k.doubt = k.doubt && matched > 0
		}
		if len(open) == 0 {
			k.doubt = false
		}
		k.containers = open
	} else {
		// Text right after text continues in the containers of the line before
		// (lazy continuation), if that was a paragraph's.
		k.doubt = true
	}
	if ind > 3 && !fence && n >= 3 {
		k.doubt = true
	}
	if len(open) >= maxContainers {
		k.distrust = true
	}
	if !fence || run[0] == '`' && bytes.IndexByte(run[n:], '`') >= 0 { // backticks in the info string: a code span
		return run, true
	}
	if k.doubt && len(k.containers) > 0 {
		k.distrust = true
	}
	*p = paragraph{unsure: k.distrust}
	if !k.distrust {
		k.fence, k.length, k.info = run[0], n, true
	}
	return nil, false
}

// match returns how many of the open containers a line continues, and what
// follows their marks.
func (k *blocks) match(line []byte, end bool) (matched int, rest []byte) {
	for _, width := range k.containers {
		ind := indentation(line)
		switch {
		case width == 0:
			if ind > 3 || ind == len(line) || line[ind] != '>' {
				return matched, line
			}
			line = bytes.TrimPrefix(line[ind+1:], []byte(" "))
		case ind == len(line) && end:
			line = nil // blank lines belong to items
		case ind >= width:
			line = line[width:]
		default:
			return matched, line
		}
		matched++
	}
	return matched, line
}

// closes reports whether a line ends the fenced block: a run of its character
// at least as long as the opening one, with only white space behind it.
func (k *blocks) closes(line []byte) bool {
	ind := indentation(line)
	run := bytes.TrimRight(line[ind:], " ")
	return ind <= 3 && len(run) >= k.length && len(bytes.Trim(run, string(k.fence))) == 0
}

// closesForMarked reports whether a line that doesn't end the block does so for
// marked, which takes a run of both characters.
func (k *blocks) closesForMarked(line []byte) bool {
	if indentation(line) > 3 {
		return false
	}
	run := bytes.TrimSpace(line)
	n := len(run) - len(bytes.TrimLeft(run, string(k.fence)))
	return n >= k.length && len(bytes.Trim(run, "`~")) == 0
}

func (k *blocks) blankLine(matched int, empty bool) {
	if matched < len(k.containers) && !empty {
		k.doubt = true
	}
	if matched == 0 && empty {
		// Quotes end at an empty line. Items may go on after it.
		if i := slices.Index(k.containers, 0); i >= 0 {
			k.containers = k.containers[:i]
		}
	}
}

// open returns the containers with those that a line begins, and what follows
// their marks.
func (k *blocks) open(open []int, rest []byte, end, wasBlank bool) ([]int, []byte) {
	matched := len(open)
	for len(open) < maxContainers {
		ind := indentation(rest)
		if ind > 3 || len(rest) == ind || isRule(rest[ind:], end) {
			break
		}
		mark := rest[ind:]
		if mark[0] == '>' {
			rest = bytes.TrimPrefix(mark[1:], []byte(" "))
			open = append(slices.Clip(open), 0)
			continue
		}
		n, first := listMark(mark, end)
		if n == 0 {
			break
		}
		spaces := indentation(mark[n:])
		width := ind + n + spaces
		empty := end && spaces == len(mark[n:])
		if spaces > 4 || empty {
			width, spaces = ind+n+1, min(1, spaces)
		}
		if (!first || empty) && !wasBlank && len(open) == matched && matched == len(k.containers) {
			k.doubt = true // can't interrupt a paragraph, if there is one
		}
		rest = mark[n+spaces:]
		open = append(slices.Clip(open), width)
	}
	return open, rest
}

// expandTabs replaces tabs by spaces up to the next multiple of four.
func expandTabs(line []byte) []byte {
	if bytes.IndexByte(line, '\t') < 0 {
		return line
	}
	var out []byte
	for _, c := range line {
		if c != '\t' {
			out = append(out, c)
			continue
		}
		out = append(out, "    "[:4-len(out)%4]...)
	}
	return out
}

// leading returns how many bytes at the beginning are of a set.
func leading(s []byte, set string) int { return len(s) - len(bytes.TrimLeft(s, set)) }

func indentation(line []byte) int { return leading(line, " ") }

// isRule reports whether a line is a thematic break.
func isRule(line []byte, end bool) bool {
	if !end || len(line) == 0 || line[0] != '-' && line[0] != '*' {
		return false
	}
	n := 0
	for _, c := range line {
		switch c {
		case line[0]:
			n++
		case ' ':
		default:
			return false
		}
	}
	return n >= 3
}

// listMark returns the length of the list mark that a line begins with, 0
// without one, and whether it is one that may follow text.
func listMark(line []byte, end bool) (n int, first bool) {
	switch line[0] {
	case '-', '+', '*':
		n, first = 1, true
	default:
		if n = min(9, leading(line, "0123456789")); n == 0 || n == len(line) || line[n] != '.' && line[n] != ')' {
			return 0, false
		}
		first = n == 1 && line[0] == '1'
		n++
	}
	if n < len(line) && line[n] == ' ' || n == len(line) && end {
		return n, first
	}
	return 0, false
}
