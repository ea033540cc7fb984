package retrieval_test

import (
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
		"a table and a pipe":                 {"who | limit\nan address | 5\n\n```bash\na | b\n```\n", "who · limit an address · 5 a | b", words("limit")},
		"control characters":                 {"a \x1b[31mb\x00 c\u00a0d\x7f \x01", "a \x1b[31mb\x00 c d\x7f \x01", words("x")},
		"around the words":                   {long + "Here the needle is. " + long, "…Here the needle is. Some filler is said here again. Some…", words("needle")},
		"between the cells of a table":       {long + "\n\n" + strings.Repeat("cell | other cell | a needle | last\n", 9) + long, "…other cell · a needle · last cell · other cell · a needle…", words("needle")},
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
			got, spans := retrieval.Snippet(c.text, c.mark, 60)
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

func TestMerge(t *testing.T) {
	got := retrieval.Merge([]retrieval.Span{{Start: 8, End: 13}, {Start: 0, End: 7}, {Start: 7, End: 8}, {Start: 20, End: 21}, {Start: 2, End: 3}})
	if len(got) != 2 || got[0].Start != 0 || got[0].End != 13 || got[1].Start != 20 {
		t.Errorf("%v", got)
	}
}
