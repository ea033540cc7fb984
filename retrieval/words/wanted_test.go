package words

import (
	"slices"
	"strings"
	"testing"
)

// FuzzWantedWords compares the words found by their beginnings with those of
// the whole text.
func FuzzWantedWords(f *testing.F) {
	for _, text := range []string{
		"Run caddy reverse-proxy --from :80, or use file_server (fileServer) with C++ and HTTP/3.",
		"@scope/pkg .env $attrs e.g. www.example.com it's James’s camelCase HTTPServer A B c",
		"naïve 証明書 of files; a-b-c, end. x/y #id ?raw [link](to) ünder underlining", "- _x_ a_ 1.2.3",
	} {
		f.Add(text, "file")
		f.Add(text, "a")
	}
	f.Fuzz(func(t *testing.T, text, word string) {
		type found struct {
			word       string
			plain      bool
			start, end int
		}
		words := []string{word}
		Split(text, func(w string, _ bool) {
			if len(words) < 5 {
				words = append(words, w)
			}
		})
		wanted := &Beginnings{}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" || w != strings.ToLower(w) })
		for _, w := range words {
			wanted.Add(w)
		}
		collect := func(of *Beginnings) (out []found) {
			Spans(text, of, func(w string, plain bool, start, end int) {
				if slices.Contains(words, w) {
					out = append(out, found{w, plain, start, end})
				}
			})
			return out
		}
		if got, want := collect(wanted), collect(nil); !slices.Equal(got, want) {
			t.Errorf("%q\n%v\nwant %v", text, got, want)
		}
	})
}
