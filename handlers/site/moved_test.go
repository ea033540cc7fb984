package site

import "testing"

func TestARedirectIsALineOfACaddyfile(t *testing.T) {
	for _, c := range [][3]string{
		{"/old", "/new#part", "redir /old /new#part permanent"},
		{"/my page", "/new%20page", `redir "/my page" /new%20page permanent`},
		{"/#1", "/new", `redir "/#1" /new permanent`},
		{"/old", "", ""},
		{"/*", "/new", ""}, {"/{path}", "/new", ""}, {"/a\" b", "/new", ""}, {"/a\nrespond ok", "/new", ""}, {"/a%20b", "/new", ""},
	} {
		if got := redirectLine(c[0], c[1]); got != c[2] {
			t.Errorf("%q to %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
