package citation

import (
	"slices"
	"strings"
	"testing"
)

func TestTheMarkIsFoundHoweverItIsWritten(t *testing.T) {
	for in, want := range map[string]string{
		"[[no-answer]] It isn't there.":         "It isn't there.",
		"**[[NO-ANSWER]]** It isn't there.":     "It isn't there.",
		"`[no_answer]`: It isn't there.":        "It isn't there.",
		"\\[\\[no-answer\\]\\] It isn't there.": "It isn't there.",
		"【no-answer】文档没有说明。":                    "文档没有说明。",
		"「No Answer」 It isn't there.":           "It isn't there.",
		"no-answer It isn't there.":             "It isn't there.",
		"It isn't there.\n\n(no-answer)":        "It isn't there.\n\n",
		"It isn't there. [[no-answer]]":         "It isn't there. ",
	} {
		for _, size := range []int{1, 2, 5, 100} {
			if got, seen := unmarked(in, size); got != want || !seen {
				t.Errorf("%q in pieces of %d: %q, %t", in, size, got, seen)
			}
		}
	}
	for _, in := range []string{
		"No answer is given in time.", "The timeout is `no-answers-after`.", "`answered` is `no` (see [Install](/install)).", "[no](/a) answer", "no-answering",
		"Set (no) answer", "[[no-ans", "「」", "*no*", "&#91;x&#93;", strings.Repeat("[", 200), "a [no-answer-mode] b",
	} {
		for _, size := range []int{1, 3, 100} {
			if got, seen := unmarked(in, size); got != in || seen {
				t.Errorf("%q in pieces of %d: %q, %t", in, size, got, seen)
			}
		}
	}
}

func TestLittleIsHeldBackForAMark(t *testing.T) {
	for _, piece := range []string{"[", "*", "&#91;", "【", "[no-", "no-answer", "&", "[&#", "(no-answer", "[no-answer]"} {
		var m Marks
		for range 200 {
			if m.Append(nil, []byte(piece)); len(m.held) > maxMark {
				t.Fatalf("%q repeated: %d bytes are held back", piece, len(m.held))
			}
		}
	}
}

// unmarked passes a text on in pieces of so many characters.
func unmarked(text string, size int) (string, bool) {
	var m Marks
	var out []byte
	for piece := range slices.Chunk([]rune(text), size) {
		out = m.Append(out, []byte(string(piece)))
	}
	return string(m.End(out)), m.Seen
}
