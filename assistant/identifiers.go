package assistant

import (
	"bytes"
	"cmp"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxUnverified bounds the identifiers reported.
const maxUnverified = 20

// unverified returns the identifiers in the answer's code that stand neither
// in a passage nor in what the reader wrote or showed.
func (r *run) unverified() []string {
	if r.check == nil || len(r.check.links.code) == 0 {
		return nil
	}
	buf := lowered.Get().(*[]byte)
	known := (*buf)[:0]
	defer func() {
		if *buf = known; cap(known) <= maxLowered {
			lowered.Put(buf)
		}
	}()
	add := func(s string) { known = append(appendLower(known, s), '\n') }
	for i := range r.passages {
		add(r.passages[i].title)
		add(r.passages[i].text)
		add(r.passages[i].url)
	}
	add(r.q.asked)
	for _, c := range r.in.Context {
		add(c.Value)
	}
	for _, u := range r.q.earlier {
		if u.byUser {
			add(u.text)
		}
	}
	add(r.a.Site.Instructions)
	var out []string
	seen := make(map[string]bool)
	for id := range identifiers(string(r.check.links.code)) {
		lower := strings.ToLower(id)
		if seen[lower] || bytes.Contains(known, []byte(lower)) {
			continue
		}
		seen[lower] = true
		if out = append(out, id); len(out) == maxUnverified {
			break
		}
	}
	return out
}

// lowered are buffers for the passages of an answer in small letters.
var lowered = sync.Pool{New: func() any { b := make([]byte, 0, 32<<10); return &b }}

// maxLowered is the largest buffer that is kept.
const maxLowered = 256 << 10

// appendLower appends s in small letters.
func appendLower(dst []byte, s string) []byte {
	from := len(dst)
	dst = append(dst, s...)
	for i := from; i < len(dst); i++ {
		switch c := dst[i]; {
		case c >= utf8.RuneSelf:
			return append(dst[:from], strings.ToLower(s)...)
		case c >= 'A' && c <= 'Z':
			dst[i] = c + ('a' - 'A')
		}
	}
	return dst
}

// identifiers yields what looks like the name of an option, flag, function
// or variable: words with a sign or a capital inside, words before "(", and
// words that are a whole code span.
func identifiers(code string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(code, "\n") {
			alone := !strings.ContainsAny(strings.TrimSpace(line), " \t")
			i := 0
			for i < len(line) {
				if !identByte(line[i]) {
					i++
					continue
				}
				j := i
				for j < len(line) && (identByte(line[j]) || (line[j] == '.' || line[j] == '-') && j+1 < len(line) && identByte(line[j+1])) {
					j++
				}
				word := strings.TrimRight(line[i:j], "-.")
				start := i
				i = j
				letters := strings.TrimLeft(word, "-$@_.0123456789")
				if len(letters) < 3 || strings.Contains(line[max(0, start-3):start], "/") {
					continue
				}
				inside := letters[1:]
				if strings.HasPrefix(word, "--") || strings.HasPrefix(word, "$") || strings.ContainsAny(inside, "_") ||
					inside != strings.ToLower(inside) && letters != strings.ToUpper(letters) ||
					j < len(line) && line[j] == '(' || alone && !strings.ContainsAny(line, "/:<>\"'=,;") {
					if !yield(cmp.Or(word, letters)) {
						return
					}
				}
			}
		}
	}
}

func identByte(b byte) bool {
	return isAlnum(b) || b == '_' || b == '-' || b == '$' || b == '@'
}
