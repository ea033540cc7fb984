package retrieval

import "testing"

func TestMarkedTextHasItsCodeAndNoImages(t *testing.T) {
	for _, c := range []struct {
		name, text string
		marks      Marks
		want       string
	}{
		{"no marks", "plain", nil, "plain"},
		{"code", "run sudo caddy trust now", Marks(nil).Append(4, 16, false), "run `sudo caddy trust` now"},
		{"code with a backtick", "type a`b", Marks(nil).Append(5, 3, false), "type `` a`b ``"},
		{"an image between paragraphs", "One.\n\nThe map\n\nTwo.", Marks(nil).Append(6, 7, true), "One.\n\n\n\nTwo."},
		{"an image in a list", "- The map\n- two", Marks(nil).Append(2, 7, true), "\n- two"},
		{"several", "set a and b", Marks(nil).Append(4, 1, false).Append(5, 1, false), "set `a` and `b`"},
		{"marks of another text", "ab", Marks(nil).Append(1, 9, false), "ab"},
		{"damaged marks", "ab", Marks{0x80}, "ab"},
		{"a length that overflows", "ab", Marks{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "ab"},
	} {
		if got := (&Section{Text: c.text, Marks: c.marks}).Marked(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
