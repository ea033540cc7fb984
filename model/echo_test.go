package model

import (
	"strings"
	"testing"
)

func TestMessagesDoNotQuoteTheRequest(t *testing.T) {
	prompt := "Passages\n\n[s1] How rockets are launched\n\nFill the tank, then light the fuse.\n\nQuestion\nWhy does Jane Roe's \"rocket\" <leak> fuel?\n"
	for _, c := range []struct{ message, text, want string }{
		{"maximum context length is 8192 tokens, you requested 9000 (code context_length_exceeded)", prompt, ""},
		{"model gpt-9 does not exist (type invalid_request_error)", prompt, ""},
		{"invalid prompt: " + prompt, prompt, "invalid prompt: …"},
		{`messages[1].content is refused: "Why does Jane Roe's \"rocket\" \u003cleak\u003e fuel?"`, prompt, `messages[1].content is refused: " …`},
		{"refused: WHY DOES JANE ROE", prompt, "refused: …"},
		{"blocked words: hunter2, in input", "Question\nhunter2\n", "blocked words: …"},
		{"blocked: パスワードを忘れた。", "Question\nパスワードを忘れた\n", "blocked: …"},
		{"unexpected value ok", "ok", ""},
		{"", prompt, ""},
	} {
		want := c.want
		if want == "" {
			want = c.message
		} else {
			want += " (the rest quotes the request)"
		}
		if got := withoutEcho(c.message, c.text); got != want {
			t.Errorf("%q becomes %q, want %q", c.message, got, want)
		}
	}
}

func BenchmarkWithoutEcho(b *testing.B) {
	message, text := strings.Repeat("some other words ", maxMessage/17), strings.Repeat("the text of a long prompt ", 4000)
	b.ReportAllocs()
	for b.Loop() {
		withoutEcho(message, text)
	}
}
