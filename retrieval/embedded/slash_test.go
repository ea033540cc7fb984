package embedded

import "testing"

func TestWordsBehindASlashOfAnyScript(t *testing.T) {
	for _, text := range []string{"TCP/日本語", "Astro/한국어", "a/ไทย", "x/_", "a/é", "UI/界面 b", "a/ー"} {
		n := 0
		splitWords(text, func(string, kind) { n++ })
		if n == 0 {
			t.Errorf("no words in %q", text)
		}
	}
}
