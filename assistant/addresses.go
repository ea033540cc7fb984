package assistant

import (
	"bytes"
	"strings"
)

// angle reads what begins with "<".
func (n *inline) angle(dst, s []byte, whole bool) ([]byte, int) {
	if len(s) == 1 {
		if whole {
			return n.puts(dst, "&lt;"), 1
		}
		return dst, 0
	}
	c := s[1]
	if !isAlnum(c) && c != '/' && c != '!' && c != '?' {
		if c == '[' || c == '&' || c == '`' || c == '<' {
			return n.puts(dst, "&lt;"), 1
		}
		return n.put(dst, '<'), 1
	}
	m, partial := scheme(s[1:])
	if m == 0 {
		if partial && !whole {
			return dst, 0
		}
		return n.puts(dst, "&lt;"), 1
	}
	s, whole, full := window(s, whole)
	end := bytes.IndexAny(s, "> \t")
	if end < 0 {
		if !whole && !full {
			return dst, 0
		}
		return n.puts(dst, "&lt;"), 1
	}
	if s[end] != '>' {
		return n.puts(dst, "&lt;"), 1
	}
	return n.putAddress(dst, s[1:end], false), end + 1
}

// harmlessEntities may stand in an answer. Others could spell an address that
// some renderers would find after decoding them.
var harmlessEntities = map[string]bool{"lt": true, "gt": true, "amp": true, "quot": true, "nbsp": true, "apos": true, "#39": true, "copy": true, "mdash": true, "ndash": true, "hellip": true, "rarr": true, "larr": true, "times": true}

func (n *inline) entity(dst, s []byte, whole bool) ([]byte, int) {
	i := 1
	for i < len(s) && i < 34 && (isAlnum(s[i]) || s[i] == '#' && i == 1) {
		i++
	}
	switch {
	case i == len(s) && !whole && i < 34:
		return dst, 0
	case i < len(s) && s[i] == ';' && i > 1:
		if harmlessEntities[string(s[1:i])] {
			return n.put(dst, s[:i+1]...), i + 1
		}
		return n.puts(dst, "&amp;"), 1
	}
	if n.inLink && i == len(s) {
		return n.puts(dst, "&amp;"), 1
	}
	return n.put(dst, '&'), 1
}

// address reads what may be a bare address.
func (n *inline) address(dst, s []byte, whole bool) ([]byte, int) {
	if isAlnum(n.last()) {
		return n.put(dst, s[0]), 1
	}
	m, partial := scheme(s)
	if m == 0 {
		if partial && !whole {
			return dst, 0
		}
		return n.put(dst, s[0]), 1
	}
	s, whole, full := window(s, whole)
	end := m
	for end < len(s) && s[end] > ' ' && s[end] != '<' && s[end] != '`' && s[end] != '|' && s[end] != '"' && s[end] != '[' && s[end] != ']' {
		end++
	}
	if end == len(s) && !whole && !full {
		return dst, 0
	}
	if end == m {
		// "https://" or "www." alone is a word.
		if bytes.IndexByte(s[:m], '\\') >= 0 {
			return dst, m
		}
		return n.put(dst, s[:m]...), m
	}
	bare := end == len(s) && whole || end < len(s) && isSpace(s[end])
	// Signs at the end belong to the sentence.
	for end > m {
		c := s[end-1]
		if strings.IndexByte("?!.,:;*_~'\\", c) >= 0 || c == ')' && bytes.Count(s[:end], []byte(")")) > bytes.Count(s[:end], []byte("(")) {
			end--
			bare = bare && strings.IndexByte("?!.,:", c) >= 0
			continue
		}
		break
	}
	return n.putAddress(dst, s[:end], bare), end
}

// putAddress passes on an address that readers can follow, and any other as
// code, which no renderer links.
func (n *inline) putAddress(dst, address []byte, bare bool) []byte {
	a := string(address)
	if url, ok := n.links.resolve(a); ok {
		if n.inLink {
			return n.puts(dst, plainAddress(url, false))
		}
		n.links.cite(url)
		switch {
		case bare && !strings.HasPrefix(url, "/"):
			return n.puts(dst, url)
		case strings.HasPrefix(url, "/"):
			return n.puts(dst, "["+plainAddress(url, true)+"]("+url+")")
		}
		return n.puts(dst, "<"+url+">")
	}
	if n.unsure || n.inLink || n.last() == '`' || n.last() == '\\' {
		return n.puts(dst, plainAddress(a, false))
	}
	dst = n.put(dst, '`')
	dst = n.puts(dst, strings.NewReplacer("`", "", "\\", "").Replace(plainAddress(a, localHost(a) || n.links.quoted(a))))
	dst = n.put(dst, '`')
	n.dropped = true
	return dst
}

// plainAddress is an address that is not linked: without its scheme, and
// without www, which renderers take for one.
func plainAddress(a string, keep bool) string {
	if keep {
		return a
	}
	out := make([]byte, 0, len(a))
	for i := 0; i < len(a); {
		if len(out) == 0 || !isAlnum(out[len(out)-1]) {
			if m, _ := scheme([]byte(a[i:])); m > 0 {
				i += m
				continue
			}
		}
		out = append(out, a[i])
		i++
	}
	a = string(out)
	return strings.NewReplacer("://", ":", "[", "", "]", "", "<", "", "&", "&amp;").Replace(a)
}

// schemes are the beginnings of what renderers take for an address.
var schemes = [...]string{"http://", "https://", "ftp://", "www."}

// scheme returns the length of "http://", "https://", "ftp://" or "www." at
// the beginning of s, letter case and backslashes aside, 0 if there is none.
// partial tells that more of s could make one.
func scheme(s []byte) (n int, partial bool) {
	for _, want := range schemes {
		i, j := 0, 0
		for i < len(s) && j < len(want) {
			switch {
			case s[i]|0x20 == want[j] && want[j] >= 'a' || s[i] == want[j]:
				i++
				j++
			case s[i] == '\\' && j >= 3:
				i++
			default:
				i, j = len(s)+1, -1
			}
			if j < 0 {
				break
			}
		}
		if j == len(want) {
			return i, false
		}
		if i == len(s) {
			partial = true
		}
	}
	return 0, partial
}

// endsScheme tells whether the text passed on ends in the beginning of a
// scheme, such that what follows could complete it.
func (n *inline) endsScheme() bool {
	for k := 1; k <= len(n.tail); k++ {
		s := n.tail[len(n.tail)-k:]
		if k < len(n.tail) && isAlnum(n.tail[len(n.tail)-k-1]) {
			continue
		}
		if m, partial := scheme(s); m == k || m == 0 && partial {
			return true
		}
	}
	return false
}
