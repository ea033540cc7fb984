package citation

import (
	"fmt"
	"strings"
)

// Link returns a Markdown link. Without a title its text is the URL, without
// the scheme.
func Link(title, url string) string {
	text := linkText(title)
	if title == "" {
		text = plainURL(url)
	}
	return "[" + text + "](" + markdownURL(url) + ")"
}

var linkTextEscapes = strings.NewReplacer("\\", "\\\\", "[", "\\[", "]", "\\]", "<", "&lt;", "&", "&amp;", "`", "\\`", "*", "\\*", "!", "\\!", "\n", " ")

// linkText escapes plain text for use as a link's text. An underscore inside a
// word means nothing in Markdown.
func linkText(s string) string {
	s = linkTextEscapes.Replace(s)
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '_' && !(i > 0 && isAlnum(s[i-1]) && i+1 < len(s) && isAlnum(s[i+1])) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// markdownURL escapes a URL so that nothing in it ends a link or begins
// something else.
func markdownURL(url string) string {
	var b strings.Builder
	for i := 0; i < len(url); i++ {
		switch c := url[i]; c {
		case '(', ')', '<', '>', '[', ']', '\\', '`', '*', ' ', '|', '"', '\t', '\n':
			fmt.Fprintf(&b, "%%%02X", c)
		case '&':
			b.WriteString("&amp;")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescapeMarkdown(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isPunct(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isAlnum(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' }

func isPunct(b byte) bool {
	return b >= '!' && b <= '/' || b >= ':' && b <= '@' || b >= '[' && b <= '`' || b >= '{' && b <= '~'
}
