package reply

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEscapedTextIsTheInsideOfAJSONString(t *testing.T) {
	for _, s := range []string{
		"", "plain", "line\nbreak\r\n\ttab", `quote " and \ backslash`, "\x00\x01\x1f\x7f",
		"sep \u2028 \u2029", "emoji 😀 é 漢", "bad \xff\xfe byte", "cut \xe2\x82",
	} {
		got := Escape([]byte("x"), s)
		if got[0] != 'x' {
			t.Fatalf("Escape(%q) did not append", s)
		}
		var plain string
		if err := json.Unmarshal([]byte(`"`+string(got[1:])+`"`), &plain); err != nil {
			t.Errorf("Escape(%q) = %q: %v", s, got[1:], err)
		}
		// A conversion to runes replaces every byte that is not UTF-8.
		if want := string([]rune(s)); plain != want {
			t.Errorf("Escape(%q) reads back as %q, want %q", s, plain, want)
		}
		if back := string(Unescape(nil, got[1:])); back != plain {
			t.Errorf("Unescape(%q) = %q, encoding/json reads %q", got[1:], back, plain)
		}
	}
}

func TestUnescape(t *testing.T) {
	for escaped, want := range map[string]string{
		`\ud83d\ude00`:       "😀",
		`\uD83D\uDE00!`:      "😀!",
		`a\ud83d`:            "a\uFFFD",
		`\ude00b`:            "\uFFFDb",
		`\ud83dx\ude00`:      "\uFFFDx\uFFFD",
		`\ud83d\ud83d\ude00`: "\uFFFD😀",
		`\\ud83d`:            `\ud83d`,
		`\/\b\f\n\r\t\"\\`:   "/\b\f\n\r\t\"\\",
		`é\u0041`:            "éA",
		`\u12`:               `\u12`,
		`\u12xy.`:            `\u12xy.`,
		`\q`:                 `\q`,
		`end\`:               `end\`,
	} {
		if got := string(Unescape(nil, []byte(escaped))); got != want {
			t.Errorf("Unescape(%s) = %q, want %q", escaped, got, want)
		}
	}
}

func TestHalvesOfSurrogatePairsAreJoined(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{`a\ud83d`, `\ude00b`}, `a\ud83d\ude00b`},
		{[]string{`a\ud83d`}, `a\ufffd`},
		{[]string{`a\ud83d`, ``, `b`}, `a\ufffdb`},
		{[]string{`\\ud83d`, `\ude00`}, `\\ud83d\ufffd`},
		{[]string{`\q"`, "\n"}, `\\q\"\n`},
		{[]string{`a`, `\ud83d`, `\ude00`, "\tb"}, `a\ud83d\ude00\tb`},
	} {
		var j, k Joiner
		var got, plain []byte
		for _, p := range c.pieces {
			got = j.Append(got, []byte(p))
			plain = k.AppendPlain(plain, []byte(p))
		}
		if want := string(Unescape(nil, got)); string(plain) != want || k.Held() != j.Held() {
			t.Errorf("%q: the plain text is %q, want %q", c.pieces, plain, want)
		}
		if got = j.Close(got); string(got) != c.want || j.Held() {
			t.Errorf("%q: %s, want %s", c.pieces, got, c.want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\"\\\n\x00😀\xff")
	f.Fuzz(func(t *testing.T, s string) {
		escaped := Escape(nil, s)
		var plain string
		if err := json.Unmarshal(append(append([]byte{'"'}, escaped...), '"'), &plain); err != nil {
			t.Fatalf("%q: %v", escaped, err)
		}
		if got := Unescape(nil, escaped); string(got) != plain {
			t.Fatalf("Unescape gives %q, encoding/json %q", got, plain)
		}
		if utf8.ValidString(s) && plain != s {
			t.Fatalf("%q came back as %q", s, plain)
		}
	})
}

func FuzzUnescape(f *testing.F) {
	f.Add([]byte(`\ud83d\ude00 \q \u12`))
	f.Fuzz(func(t *testing.T, s []byte) {
		got := Unescape(nil, s)
		var want string
		if utf8.Valid(s) && json.Unmarshal(append(append([]byte{'"'}, s...), '"'), &want) == nil && want != string(got) {
			t.Fatalf("Unescape(%q) = %q, encoding/json reads %q", s, got, want)
		}
		var j Joiner
		if joined := j.Close(j.Append(nil, s)); utf8.Valid(s) && !json.Valid(append(append([]byte{'"'}, joined...), '"')) {
			t.Fatalf("%q is joined to %q, which is no JSON", s, joined)
		}
	})
}

func BenchmarkEscape(b *testing.B) {
	s := strings.Repeat("plain text with a \"quote\" and é\n", 20)
	var dst []byte
	b.ReportAllocs()
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		dst = Escape(dst[:0], s)
	}
}
