package command

import (
	"io"
	"strings"
	"unicode"
)

// plain is a text without what could drive the operator's terminal: control
// characters other than line feeds and tabs, and those that change the
// direction of the text around them. Pages, models and servers write such
// texts.
func plain(s string) string { return without(s, "\n\t") }

// printable is plain for a text on one line.
func printable(s string) string { return without(spaces.Replace(s), "") }

var spaces = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

func without(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) && !strings.ContainsRune(keep, r) {
			return -1
		}
		return r
	}, s)
}

// plainWriter makes what is written plain. A write must not split a character.
type plainWriter struct{ to io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, plain(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
