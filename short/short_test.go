package short

import (
	"testing"
	"unicode/utf8"
)

func TestTextsAreCutBetweenCharacters(t *testing.T) {
	const text = "Straße nach 東京, über  Köln"
	for n := range len(text) + 2 {
		b, r, e := Bytes(text, n), Runes(text, n), Excerpt(text, n+1)
		if !utf8.ValidString(b) || !utf8.ValidString(r) || !utf8.ValidString(e) {
			t.Errorf("%d: %q, %q, %q", n, b, r, e)
		}
		if len(b) > n || len(b) < min(n, len(text))-2 {
			t.Errorf("%q has not %d bytes", b, n)
		}
		if got := utf8.RuneCountInString(r); got != min(n, utf8.RuneCountInString(text)) {
			t.Errorf("%q has not %d characters", r, n)
		}
		if utf8.RuneCountInString(e) > n+1 {
			t.Errorf("%q has more than %d characters", e, n+1)
		}
	}
}

func TestExcerptsEndBetweenWords(t *testing.T) {
	for n, want := range map[int]string{100: "one two, three", 14: "one two, three", 13: "one two…", 9: "one two…", 4: "one…", 3: "on…"} {
		if got := Excerpt("one two, three", n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Line(" one\n\ttwo  "); got != "one two" {
		t.Errorf("%q", got)
	}
}

func TestOneIsSingular(t *testing.T) {
	for n, want := range map[int]string{0: "0 pages", 1: "1 page", 2: "2 pages"} {
		if got := Count(n, "page"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
