package assistant

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

func TestWhatIsAskedIsWithoutWordsOfAsking(t *testing.T) {
	for question, want := range map[string]string{
		"How do I find out who is on call?": "call",
		"How do I find the way out?":        "find",
		"サーバーを追加":                           "サー ーバ バー ーを を追 追加",
		"プリンタを追加するにはどうすればいいですか?":            "プリ リン ンタ タを を追 追加 加す",
		"どうすればいいですか":                        "どう うす すれ れば ばい いい いで",
		"如何添加打印机?":                          "添加 加打 打印 印机",
		"为什么打印机不工作":                         "打印 印机 机不 不工 工作",
	} {
		q := &inquiry{asked: question}
		q.understand(language.English)
		var got []string
		for _, t := range q.askedTerms() {
			got = append(got, t.word)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}
