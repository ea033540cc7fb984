package encoding

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/short"
)

// maxAttachment is the number of characters of a text file that are read.
const maxAttachment = 20_000

// attachment reads a file of a message. Only data URLs (RFC 2397) of types
// text/* are decoded; nothing is fetched.
func attachment(name, mediaType string, url jsontext.Value) reply.Attachment {
	a := reply.Attachment{Name: name, MediaType: mediaType}
	// The longest encoding of maxAttachment: four bytes a character, each as
	// %XX.
	raw := []byte(text(url, maxAttachment*4*3+1_000))
	if !hasScheme(raw, "data:") {
		return a
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
		a.MediaType = short.Runes(kind, maxName)
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
	text := short.Runes(string([]rune(string(plain))), maxAttachment)
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
	s := strings.NewReplacer("-", "+", "_", "/", " ", "", "\t", "", "%3D", "=", "%3d", "=", "%", "").Replace(string(data))
	s, _, _ = strings.Cut(s, "=")
	plain := make([]byte, base64.RawStdEncoding.DecodedLen(len(s)))
	n, _ := base64.RawStdEncoding.Decode(plain, []byte(s)) // skips line ends
	return plain[:n]
}

// decodePercent decodes %XX and keeps everything else.
func decodePercent(data []byte) []byte {
	plain := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		c := data[i]
		if c == '%' && i+2 < len(data) {
			if n, err := hex.DecodeString(string(data[i+1 : i+3])); err == nil {
				c = n[0]
				i += 2
			}
		}
		plain = append(plain, c)
	}
	return plain
}
