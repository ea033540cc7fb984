package embedded

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
			kind       kind
			start, end int
		}
		words := []string{word}
		splitWords(text, func(w string, _ kind) {
			if len(words) < 5 {
				words = append(words, w)
			}
		})
		wanted := &beginnings{}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" || w != strings.ToLower(w) })
		for _, w := range words {
			wanted.add(w)
		}
		collect := func(of *beginnings) (out []found) {
			splitWanted(text, of, func(w string, k kind, start, end int) {
				if slices.Contains(words, w) {
					out = append(out, found{w, k, start, end})
				}
			})
			return out
		}
		if got, want := collect(wanted), collect(nil); !slices.Equal(got, want) {
			t.Errorf("%q\n%v\nwant %v", text, got, want)
		}
	})
}
