package ingest

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// decode returns a page's bytes as valid UTF-8 without byte order mark, NUL
// and carriage returns. HTML may declare another encoding.
func decode(data []byte, isHTML bool) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data = data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		utf16 := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
		if out, err := utf16.NewDecoder().Bytes(data); err == nil {
			data = out
		}
	}
	// A stray NUL is dropped. Several near the beginning mean an image or
	// archive with the wrong name.
	if head := data[:min(len(data), 8<<10)]; bytes.Count(head, []byte{0}) > len(head)/1000 {
		return nil, errBinary
	}
	if !utf8.Valid(data) {
		if isHTML {
			if e, name, _ := charset.DetermineEncoding(data, ""); name != "utf-8" {
				if out, err := e.NewDecoder().Bytes(data); err == nil {
					data = out
				}
			}
		}
		if !utf8.Valid(data) {
			if broken(data[:min(len(data), 8<<10)]) {
				return nil, errBinary
			}
			data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
		}
	}
	data = bytes.ReplaceAll(data, []byte{0}, nil)
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n")), nil
}

// broken reports whether more than a tenth of the bytes are not UTF-8. Text in
// an 8-bit encoding stays below that, compressed data does not.
func broken(head []byte) bool {
	bad := 0
	for _, r := range string(head) {
		if r == utf8.RuneError {
			bad++
		}
	}
	return bad > len(head)/10
}
