package encoding

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// maxAttachment is the number of characters of a text file that are read.
const maxAttachment = 20_000

// attachment reads a file of a message. url is a JSON value or nil. Only data
// URLs (RFC 2397) of types text/* are decoded; nothing is fetched.
func attachment(name, mediaType string, url []byte) reply.Attachment {
	a := reply.Attachment{Name: name, MediaType: mediaType}
	if len(url) < 2 || url[0] != '"' {
		return a
	}
	// The longest encoding of maxAttachment: four bytes a character, each as
	// %XX, each of those as \uXXXX.
	const longest = maxAttachment*4*3*6 + 1_000
	raw := url[1 : len(url)-1]
	if !hasScheme(raw, "data:") {
		return a
	}
	cutOff := len(raw) > longest
	if cutOff {
		raw = raw[:longest]
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = reply.Unescape(make([]byte, 0, len(raw)), raw)
	}
	head, data, ok := bytes.Cut(raw[len("data:"):], []byte(","))
	if !ok || len(head) > 1_000 {
		return a
	}
	parameters := strings.Split(string(head), ";")
	kind := strings.TrimSpace(parameters[0])
	inBase64 := strings.EqualFold(strings.TrimSpace(parameters[len(parameters)-1]), "base64")
	if kind == "" || inBase64 && len(parameters) == 1 {
		// The RFC's default is text/plain; the client's type is better.
		kind = "text/plain"
		if mediaType != "" {
			kind = mediaType
		}
	}
	if a.MediaType == "" {
		a.MediaType = cut(kind, maxName)
	}
	if !hasScheme([]byte(kind), "text/") {
		return a
	}
	var plain []byte
	if inBase64 {
		plain = decodeBase64(data)
	} else {
		plain = decodePercent(data)
	}
	plain = bytes.TrimPrefix(plain, []byte("\xef\xbb\xbf"))
	text := cut(string([]rune(string(plain))), maxAttachment)
	a.Text = strings.ReplaceAll(text, "\x00", " ")
	return a
}

// hasScheme reports whether s begins with prefix, letter case aside.
func hasScheme(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(string(s[:len(prefix)]), prefix)
}

// decodeBase64 decodes both alphabets of base64, with and without padding, up
// to the first error or maxAttachment.
func decodeBase64(data []byte) []byte {
	const longest = (maxAttachment*4 + 3) / 3 * 4
	clean := make([]byte, 0, min(len(data), longest))
	for i := 0; i < len(data) && len(clean) < longest; i++ {
		c := data[i]
		switch {
		case c == '%': // padding is often %3D
			if i+2 < len(data) && strings.EqualFold(string(data[i+1:i+3]), "3d") {
				i = len(data)
			}
			continue
		case c == '=':
			i = len(data)
			continue
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			continue
		case c == '-':
			c = '+'
		case c == '_':
			c = '/'
		}
		clean = append(clean, c)
	}
	plain := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, _ := base64.RawStdEncoding.Decode(plain, clean)
	return plain[:n]
}

// decodePercent decodes %XX and keeps everything else.
func decodePercent(data []byte) []byte {
	plain := make([]byte, 0, min(len(data), maxAttachment*4))
	for i := 0; i < len(data) && len(plain) < maxAttachment*4; i++ {
		c := data[i]
		if c == '%' && i+2 < len(data) {
			high, low := unhex(data[i+1]), unhex(data[i+2])
			if high >= 0 && low >= 0 {
				c = byte(high<<4 | low)
				i += 2
			}
		}
		plain = append(plain, c)
	}
	return plain
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
