package citation

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// angle reads what begins with "<".
func (n *inline) angle(s []byte, whole, full bool) (used int) {
	if len(s) == 1 && !whole {
		return 0
	}
	if len(s) > 1 {
		c := s[1]
		if !isAlnum(c) && strings.IndexByte("/!?[&`<\\", c) < 0 {
			n.put('<')
			return 1
		}
		m, partial := scheme(s[1:])
		if m == 0 && partial && !whole && !full {
			return 0
		}
		if m > 0 {
			end := bytes.IndexAny(s, "> \t")
			if end < 0 && !whole && !full {
				return 0
			}
			if end >= 0 && s[end] == '>' {
				n.putURL(string(s[1:end]), false)
				return end + 1
			}
		}
	}
	n.puts("&lt;")
	return 1
}

// bareURL reads what may be a URL in the text, which many renderers link.
func (n *inline) bareURL(s []byte, whole, full bool) (used int) {
	if isAlnum(n.last()) {
		n.put(s[0])
		return 1
	}
	m, partial := scheme(s)
	if m == 0 {
		if partial && !whole && !full {
			return 0
		}
		n.put(s[0])
		return 1
	}
	end := m
	for end < len(s) && s[end] > ' ' && strings.IndexByte("<`|\"[]", s[end]) < 0 {
		end++
	}
	if end == len(s) && !whole && !full {
		return 0
	}
	bare := end == len(s) && whole && !n.nested || end < len(s) && isSpace(s[end])
	// Punctuation at the end belongs to the sentence. Renderers agree on one mark.
	all := end
	for end > m {
		c := s[end-1]
		if strings.IndexByte("?!.,:;*_~'\\", c) < 0 && !(c == ')' && bytes.Count(s[:end], []byte(")")) > bytes.Count(s[:end], []byte("("))) {
			break
		}
		end--
		bare = bare && end+1 == all && strings.IndexByte("?!.,", c) >= 0
	}
	if end == m { // "https://" or "www." alone is a word, which micromark links
		word, www := bytes.CutSuffix(bytes.ReplaceAll(s[:m], []byte{'\\'}, nil), []byte("."))
		n.put(word...)
		if www {
			n.puts(`\.`)
		}
		n.dropped = true
		return m
	}
	n.putURL(string(s[:end]), bare)
	return end
}

// putURL passes on a URL that may be linked, and any other as code, which no
// renderer links. bare says that renderers find its end without marks.
func (n *inline) putURL(text string, bare bool) {
	if url, ok := n.check.resolve(text); ok {
		if n.inLink {
			n.puts(plainURL(url))
			return
		}
		n.check.cited[url] = true
		url = markdownURL(url)
		switch {
		case strings.HasPrefix(url, "/"):
			n.puts("[" + url + "](" + url + ")")
		case bare:
			n.puts(url)
		case n.last() == '\\': // which would escape the "<"
			n.puts(" <" + url + ">")
		default:
			n.puts("<" + url + ">")
		}
		return
	}
	n.putPlain(text)
}

// putPlain passes on a URL that must not be linked, as code where that is
// possible.
func (n *inline) putPlain(text string) {
	if (n.inLink || n.unsure) && n.endsScheme() {
		n.put(' ') // "https://<https://host>" must not become "https://host"
	}
	before := len(n.line)
	if n.inLink || n.unsure || n.last() == '`' || n.last() == '\\' {
		n.inner([]byte(plainURL(text)), n.inLink)
		n.escapeBlock(before)
	} else {
		if !localURL(text) && !n.check.site.quotes(text) {
			text = plainURL(text)
		}
		if text = strings.NewReplacer("`", "", "\\", "").Replace(text); text != "" {
			n.puts("`" + text + "`")
		}
		n.dropped = true
	}
	if len(n.line) == before {
		n.puts(`\[\]`) // without anything in its place, the line could begin otherwise
	}
}

// plainURL is a URL as text that no renderer links: without its scheme and
// "www.".
func plainURL(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if len(out) == 0 || !isAlnum(out[len(out)-1]) {
			if m, _ := scheme([]byte(s[i:])); m > 0 {
				i += m
				continue
			}
		}
		out = append(out, s[i])
		i++
	}
	return strings.NewReplacer("://", ":", "[", "", "]", "", "<", "", "&", "&amp;").Replace(string(out))
}

// localURL reports whether a URL is of the reader's own machine or network, or
// of one of the names reserved for examples: it may then be shown as it is.
func localURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	h := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(h); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsUnspecified()
	}
	names := []string{"localhost", "example.com", "example.org", "example.net", "example", "test", "internal"}
	return slices.ContainsFunc(names, func(s string) bool { return h == s || strings.HasSuffix(h, "."+s) })
}

// scheme returns the length of the scheme that s begins with, or of what else
// renderers take for the beginning of a URL, regardless of case and backslashes,
// 0 if there is none. partial says that more of s could make one.
func scheme(s []byte) (n int, partial bool) {
	for _, want := range [...]string{"http://", "https://", "ftp://", "www."} {
		i, j := 0, 0
		for i < len(s) && j < len(want) {
			if c := s[i]; c == want[j] || c|0x20 == want[j] && isAlnum(c) {
				j++
			} else if c != '\\' || j < 3 {
				break
			}
			i++
		}
		if j == len(want) {
			return i, false
		}
		partial = partial || i == len(s)
	}
	return 0, partial
}

// endsScheme reports whether the text passed on ends in a scheme or in the
// beginning of one, which what follows could complete.
func (n *inline) endsScheme() bool {
	for k := 1; k <= min(8, len(n.line)); k++ {
		from := len(n.line) - k
		if from > 0 && isAlnum(n.line[from-1]) {
			continue
		}
		if m, partial := scheme(n.line[from:]); m == k || m == 0 && partial {
			return true
		}
	}
	return false
}
