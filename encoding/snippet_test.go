package encoding

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// words marks words as they are written, the first ones with more weight.
func words(list ...string) retrieval.Marker {
	return func(text string) (spans []retrieval.Span) {
		for at := range text {
			for i, w := range list {
				if strings.HasPrefix(text[at:], w) {
					spans = append(spans, retrieval.Span{Start: at, End: at + len(w), Word: i, Weight: float64(len(list) - i)})
				}
			}
		}
		return spans
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("Some filler is said here again. ", 20)
	for name, c := range map[string]struct {
		text, want string
		mark       retrieval.Marker
	}{
		"a short text is whole, on one line": {"One.\n\n- two\n- three\n\n```bash\ncode  here\n```\n", "One. two three code here", words("two")},
		"a table and a pipe":                 {"who | limit\nan address | 5\n\n```bash\na | b\n```\n", "who · limit · an address · 5 a | b", words("limit")},
		"rows that lack cells":               {"who | limit | per\nall\n| 5\nan address | 6\n\nOn\ntwo lines.", "who · limit · per · all · 5 · an address · 6 On two lines.", words("limit")},
		"control characters":                 {"a \x1b[31mb\x00 c\u00a0d\x7f \x01", "a \x1b[31mb\x00 c d\x7f \x01", words("x")},
		"around the words":                   {long + "Here the needle is. " + long, "…Here the needle is. Some filler is said here again. Some…", words("needle")},
		"between the cells of a table":       {long + "\n\n" + strings.Repeat("cell | other cell | a needle | last\n", 9) + long, "…other cell · a needle · last · cell · other cell · a…", words("needle")},
		"a cell's beginning":                 {long + "\n\na-long-word-without-a-space | needle | in | hay | " + long, "…needle · in · hay · Some filler is said here again. Some…", words("needle")},
		"a sentence's end":                   {"The needle ends with a sentence, and it has 53 letters. " + long, "The needle ends with a sentence, and it has 53 letters…", words("needle")},
		"where both words are":               {"A needle. " + long + "A needle in hay. " + long, "…A needle in hay. Some filler is said here again. Some…", words("needle", "hay")},
		"the rarer word wins":                {"All hay hay hay. " + long + "A needle. " + long, "…A needle. Some filler is said here again. Some filler is…", words("needle", "hay")},
		"no word: the beginning":             {long, "Some filler is said here again. Some filler is said here…", words("x")},
		"the end is not cut":                 {long + "It ends with a needle.", "…Some filler is said here again. It ends with a needle.", words("needle")},
		"no spaces":                          {strings.Repeat("証明書", 60) + "針" + strings.Repeat("証明書", 60), "", words("針")},
		"empty":                              {"", "", words("x")},
		"not UTF-8":                          {strings.Repeat("\xff", 300), "", words("x")},
		"emoji count twice":                  {strings.Repeat("🦔", 100), "", words("x")},
	} {
		t.Run(name, func(t *testing.T) {
			got, spans := snippet(c.text, c.mark, 60)
			if n := len(utf16.Encode([]rune(got))); n > 60 {
				t.Errorf("%d characters: %q", n, got)
			}
			if c.want != "" && got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			all := c.mark(got)
			if len(spans) != len(all) {
				t.Errorf("%d spans of %d in %q", len(spans), len(all), got)
			}
			for i := range spans {
				if i < len(all) && (spans[i].Start != all[i].Start || spans[i].End != all[i].End) {
					t.Errorf("span %v, want %v in %q", spans[i], all[i], got)
				}
			}
		})
	}
}

func TestRangesThatTouchAreOne(t *testing.T) {
	got := ranges("0123456 89abc", []retrieval.Span{{Start: 0, End: 7}, {Start: 2, End: 3}, {Start: 7, End: 8}, {Start: 8, End: 11}, {Start: 12, End: 13}})
	if want := [][2]int{{0, 11}, {12, 13}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("The ﬁle server… \xff 証明書 http.Server-x", "server")
	f.Add("\xff", "")
	f.Fuzz(func(t *testing.T, text, word string) {
		if word == "" {
			word = " "
		}
		part, spans := snippet(text, words(word), 60)
		for _, s := range spans {
			if s.Start < 0 || s.End > len(part) || s.Start >= s.End {
				t.Fatalf("span %+v of %q", s, part)
			}
		}
	})
}
