package citation

import (
	"strings"
	"testing"
)

// repeats are pieces whose repetition costs a parser that looks back or ahead
// without a limit quadratic time.
var repeats = []string{
	"[", "]", "![", "[[", "[a", "[]", "[](", "](", "[x](", "[x](/n)", "[1](/n)", "[-](/n)", "[x](/install)", "[x]: /install\n", "[x](\"", "[x](<", "[\\[", "[`",
	"`", "``", "` ", "`` ` ", "`a`` ", "`[", "`[`` ", "`|", "|", "|-", "\\|", "\n-|-\n",
	"*", "**", "*a ", "**a", "_", "*a_ ", "~", "~~", "\\", "\\\\", "htt\\", "http\\", "&", "&a", "&amp;", "&#",
	"<", "<a", "<a ", "<!--", "<http://", "<http://a", "\\<", ">", "> ", ">\n", "- ", "-", "1. ", "1", "   ", "\t", "\n", "\n\n", "- a\n  ", "```", "~~~", "```\n", "``` a", "~~~ a", "- ```\n",
	"http", "http:", "http:/", "https://", "http://a", "http://a ", "http:\\/", "x:", "/", "//", "www.", "www.a", "w", ".", "a.", "a.com", ".com", "@", "a@", "a@b", "a@b ", "a@b.c ", "é", "\"", "'", "(", ")", "[x] (",
}

// steps returns how many bytes a Checker looks at for n bytes of a piece
// repeated behind another one, in deltas of so many bytes, and the most that it
// holds back.
func steps(before, piece string, n, delta int) (steps, held int) {
	text := []byte(before + strings.Repeat(piece, n/len(piece)))
	c := NewChecker(acme())
	for i := 0; i < len(text); i += delta {
		c.Append(nil, text[i:min(i+delta, len(text))])
		held = max(held, len(c.held))
	}
	c.End(nil)
	return c.steps, held
}

func TestTimeGrowsWithTheTextOnly(t *testing.T) {
	t.Parallel()
	const n = 6 * maxHold
	for _, before := range []string{"", "`", "a ", "[", "```", "| a | b |\n|---|---|\n", "[x](", "http:"} {
		for _, piece := range repeats {
			deltas := []int{4 * n}
			if before == "" {
				deltas = append(deltas, 3)
			}
			for _, delta := range deltas {
				for _, parts := range [][2]string{{before, piece}, {"", before + piece}} {
					one, _ := steps(parts[0], parts[1], n, delta)
					two, held := steps(parts[0], parts[1], 2*n, delta)
					if two > 3*one {
						t.Errorf("%q, then %q repeated: %d steps, twice the text %d", parts[0], parts[1], one, two)
					}
					if held > maxHold {
						t.Errorf("%q, then %q repeated: %d bytes are held back", parts[0], parts[1], held)
					}
				}
			}
		}
	}
}
