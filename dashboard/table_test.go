package dashboard

import "testing"

func TestSpreadsheetsCalculateNoText(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"a = b; c - d":              "a = b; c - d",
		"=HYPERLINK(1)":             "'=HYPERLINK(1)",
		"＝A1":                       "'＝A1",
		"hello;=HYPERLINK(1)":       "hello;'=HYPERLINK(1)",
		"hello;;\t@SUM(1)":          "hello;;\t'@SUM(1)",
		"hello; \"=HYPERLINK(1)\"":  "hello;' \"=HYPERLINK(1)\"",
		"hello\n\r\n+1;-2\x00;\x00": "hello\n\r\n'+1;'-2;",
		"\t=1":                      "\t'=1",
	} {
		if got := plainCell(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
