package assistant

import (
	"bytes"
)

// blocks follows Markdown's block structure as far as is needed to know what
// is fenced code: quotes and list items, since the end of one ends the fence
// in it. It reads the signs that begin each line.
type blocks struct {
	prefix bool // at the beginning of a line, before its content
	info   bool // in the line that opens the fence
	blank  bool // the line before was blank
	fence  byte // '`' or '~' in a fenced block
	// doubt is set where renderers could see other containers than we do.
	doubt bool
	// distrust is set for good once a fence was opened in doubt: nothing is
	// taken for code any more.
	distrust bool

	line       []byte // so far, while prefix
	length     int    // of the fence
	indent     int    // of the fence
	containers []container
}

// container is a quote or, with width above 0, a list item whose content is
// indented by width.
type container struct{ width int }

const maxPrefix, maxContainers = 256, 16

// more takes a byte of the line's prefix: signs that may begin blocks and
// that are harmless by themselves. false ends the prefix.
func (k *blocks) more(ch byte) bool {
	if len(k.line) >= maxPrefix {
		return false
	}
	switch ch {
	case ' ', '\t', '>', '-', '+', '*', '.', ')', '`', '~', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		k.line = append(k.line, ch)
		return true
	}
	return false
}

func (k *blocks) endLine() {
	k.prefix = true
	k.line = k.line[:0]
	k.info = false
}

// begin reads the prefix of a line whose next byte is next. If the line is
// running text, it returns the part of the prefix that belongs to it.
func (k *blocks) begin(next byte, unsure *bool) (prefix []byte, text bool) {
	k.prefix = false
	line := expandTabs(k.line)
	end := next == '\n'
	pos := 0
	matched := 0
	for _, c := range k.containers {
		ind := indentation(line[pos:])
		rest := line[pos+ind:]
		if c.width == 0 {
			if ind > 3 || len(rest) == 0 || rest[0] != '>' {
				break
			}
			pos += ind + 1
			if pos < len(line) && line[pos] == ' ' {
				pos++
			}
		} else if len(rest) == 0 && end {
			pos = len(line) // blank lines belong to items
		} else if ind >= c.width {
			pos += c.width
		} else {
			break
		}
		matched++
	}

	rest := line[pos:]
	blank := end && len(bytes.TrimLeft(rest, " ")) == 0
	if k.fence != 0 {
		if matched == len(k.containers) {
			ind := indentation(rest)
			run := bytes.TrimRight(rest[ind:], " ")
			if end && ind <= 3 && len(run) >= k.length && len(bytes.Trim(run, string(k.fence))) == 0 {
				k.fence = 0
				k.blank = false
			}
			return nil, false
		}
		k.fence = 0 // its container has ended
	}

	wasBlank := k.blank
	k.blank = blank
	if blank {
		if matched < len(k.containers) && len(line) > 0 {
			k.doubt = true
		}
		if matched == 0 && len(line) == 0 {
			// Quotes end at an empty line. Items may go on after it.
			for i, c := range k.containers {
				if c.width == 0 {
					k.containers = k.containers[:i]
					break
				}
			}
		}
		*unsure = false
		return nil, false
	}

	open := k.containers[:matched]
	pushed := false
	for len(open) < maxContainers {
		ind := indentation(rest)
		if ind > 3 || len(rest) == ind || isRule(rest[ind:], end) {
			break
		}
		mark := rest[ind:]
		if mark[0] == '>' {
			n := ind + 1
			if n < len(rest) && rest[n] == ' ' {
				n++
			}
			rest = rest[n:]
			open = append(open, container{})
			pushed = true
			continue
		}
		n, first := listMark(mark, end)
		if n == 0 {
			break
		}
		spaces := indentation(mark[n:])
		width := ind + n + spaces
		empty := end && len(bytes.TrimLeft(mark[n:], " ")) == 0
		if spaces > 4 || empty {
			width, spaces = ind+n+1, min(1, spaces)
		}
		if (!first || empty) && !wasBlank && !pushed && matched == len(k.containers) {
			k.doubt = true // can't interrupt a paragraph, if there is one
		}
		rest = rest[ind+n+spaces:]
		open = append(open, container{width: width})
		pushed = true
	}

	ind := indentation(rest)
	run := rest[min(ind, len(rest)):]
	n := 0
	for n < len(run) && run[n] == run[0] {
		n++
	}
	fence := ind <= 3 && n >= 3 && (run[0] == '`' || run[0] == '~')
	rule := ind <= 3 && isRule(run, end)
	switch {
	case pushed || fence || rule || wasBlank || next == '#' || matched == len(k.containers):
		if matched < len(k.containers) {
			// What was open has ended, doubts about it with it.
			k.doubt = k.doubt && matched > 0
		}
		if len(open) == 0 {
			k.doubt = false
		}
		k.containers = append(k.containers[:0], open...)
	default:
		// Text right after text goes on in the containers of the line before
		// ("lazy continuation"), if that was a paragraph's.
		k.doubt = true
	}
	if ind > 3 && !fence && n >= 3 {
		k.doubt = true
	}
	if len(open) >= maxContainers {
		k.distrust = true
	}
	if !fence {
		return run, true
	}
	if run[0] == '`' && bytes.IndexByte(run[n:], '`') >= 0 {
		return run, true // backticks in the info string: a code span
	}
	if k.doubt && len(k.containers) > 0 {
		k.distrust = true
	}
	if k.distrust {
		*unsure = true
		return nil, false
	}
	*unsure = false
	k.fence, k.length, k.indent, k.info = run[0], n, ind, true
	return nil, false
}

// expandTabs replaces tabs by spaces up to the next multiple of four.
func expandTabs(line []byte) []byte {
	if bytes.IndexByte(line, '\t') < 0 {
		return line
	}
	out := make([]byte, 0, len(line)+8)
	for _, c := range line {
		if c != '\t' {
			out = append(out, c)
			continue
		}
		out = append(out, "    "[:4-len(out)%4]...)
	}
	return out
}

func indentation(line []byte) int {
	n := 0
	for n < len(line) && line[n] == ' ' {
		n++
	}
	return n
}

// isRule tells whether a line is a thematic break.
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
		for n < len(line) && n < 9 && line[n] >= '0' && line[n] <= '9' {
			n++
		}
		if n == 0 || n == len(line) || line[n] != '.' && line[n] != ')' {
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
