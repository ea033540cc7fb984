// Package short makes texts shorter. Each function returns valid UTF-8 for
// valid UTF-8.
package short

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line collapses white space, line ends included, to single spaces.
func Line(s string) string { return strings.Join(strings.Fields(s), " ") }

// Count is a number with what it counts, in the plural unless it is one.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// Bytes returns at most the first n bytes, cut between two characters.
func Bytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// Runes returns at most the first n characters.
func Runes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Excerpt returns the beginning of a text, as one line of at most n characters.
// It ends one that is cut with "…", if possible between two words.
func Excerpt(s string, n int) string {
	s = Line(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	s = Runes(s, n-1)
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return strings.TrimRight(s, " ,.;:") + "…"
}
