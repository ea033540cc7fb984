package assistant

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

func TestWhatAFollowUpIsAbout(t *testing.T) {
	proxy := []reply.Message{userSaid("How do I set up the reverse proxy?"), assistantSaid("With `reverse_proxy`.")}
	thanked := append(proxy[:2:2], userSaid("Perfect, thank you!"), assistantSaid("You're welcome."))
	for _, c := range []struct {
		name, question string
		earlier        []reply.Message
		holds, lacks   string // words of the query that is searched for
		other          bool   // a second query is searched for
	}{
		{"a pronoun needs the turn before", "and how do I stop it?", proxy, "reverse", "", false},
		{"thanks are no subject", "and how do I stop it?", thanked, "reverse", "Perfect", false},
		{"a complete question with a weak pointer is searched alone, too", "What is the default port of the admin interface?", proxy, "admin", "reverse", true},
		{"a complete question with a pronoun is, too", "How do I delete the certificate of a server when it has expired?", proxy, "certificate", "", true},
		{"one with another of them", "How do I add some certificate to another host?", proxy, "certificate", "reverse", true},
		{"Spanish", "¿y cómo lo elimino?", []reply.Message{userSaid("¿Cómo configuro el proxy inverso?"), assistantSaid("Así.")}, "inverso", "", false},
		{"Japanese", "それを削除するにはどうすればいいですか？", []reply.Message{userSaid("証明書を追加するには？"), assistantSaid("はい。")}, "証明", "", true},
		{"Chinese", "那么它的默认超时时间是多少？", []reply.Message{userSaid("怎么配置反向代理？"), assistantSaid("这样。")}, "反向", "", true},
		{"Korean", "그것을 삭제하려면 어떻게 해야 하나요?", []reply.Message{userSaid("인증서를 추가하려면?"), assistantSaid("네.")}, "인증", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := acme(nil).Explain(t.Context(), ask(c.question, c.earlier...))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(e.Query+e.Other, c.holds) || c.lacks != "" && strings.Contains(e.Query, c.lacks) || (e.Other != "") != c.other {
				t.Errorf("searched for %q and %q", e.Query, e.Other)
			}
		})
	}
}

func TestARepeatedQuestionIsNoRewrite(t *testing.T) {
	q := &inquiry{words: "and not write it to disk but keep its permalink?", earlier: []reply.Message{
		userSaid("How do I keep a page out of page collections?"), assistantSaid("Set `list: never`."),
	}}
	q.language = q.detect(language.English)
	for text, want := range map[string]bool{
		"How do I keep a page out of page collections?":                          false,
		"How do I keep a page out of collections?":                               false,
		"How do I keep the permalink of a page, but not write the page to disk?": true,
	} {
		if usable, _ := q.rewrittenAs(text); usable != want {
			t.Errorf("%q is usable: %t", text, usable)
		}
	}
}
