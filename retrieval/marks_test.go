package retrieval

import "testing"

func TestMarkedTextHasItsCodeAndNoImages(t *testing.T) {
	for _, c := range []struct {
		name, text string
		marks      Marks
		want       string
	}{
		{"no marks", "plain", nil, "plain"},
		{"code", "run sudo caddy trust now", Marks(nil).Append(4, MarkCode, 16), "run `sudo caddy trust` now"},
		{"code with a backtick", "type a`b", Marks(nil).Append(5, MarkCode, 3), "type `` a`b ``"},
		{"an image between paragraphs", "One.\n\nThe map\n\nTwo.", Marks(nil).Append(6, MarkImage, 7), "One.\n\n\n\nTwo."},
		{"an image in a list", "- The map\n- two", Marks(nil).Append(2, MarkImage, 7), "\n- two"},
		{"several", "set a and b", Marks(nil).Append(4, MarkCode, 1).Append(5, MarkCode, 1), "set `a` and `b`"},
		{"a link with code", "see a b, c", Marks(nil).Append(4, MarkLink, 0).Append(0, MarkCode, 3).Append(0, MarkLinkEnd, 1), "see [`a b`](/1), c"},
		{"a link to nowhere", "see a", Marks(nil).Append(4, MarkLink, 0).Append(1, MarkLinkEnd, 9), "see a"},
		{"a link with a bracket", "see a]", Marks(nil).Append(4, MarkLink, 0).Append(2, MarkLinkEnd, 1), "see a]"},
		{"an end without a beginning", "see a", Marks(nil).Append(4, MarkLinkEnd, 1), "see a"},
		{"marks of another text", "ab", Marks(nil).Append(1, MarkCode, 9), "ab"},
		{"damaged marks", "ab", Marks{0x80}, "ab"},
		{"a length that overflows", "ab", Marks{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "ab"},
	} {
		if got := (&Section{Text: c.text, Marks: c.marks}).Marked(func(link int) string { return map[int]string{1: "/1"}[link] }); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
