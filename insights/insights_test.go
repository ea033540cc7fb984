package insights

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"why does jane.doe+docs@mail.example.co.uk fail":    "why does [email] fail",
		"mail müller@bücher.example":                        "mail [email]",
		"my key svc_dsc_0123456789abcdefghij is refused":    "my key [secret] is refused",
		"sk-proj-abc123DEF456ghi789 does not work":          "[secret] does not work",
		"ghp_16C7e42F292c6912E7710c838347Ae178B4a":          "[secret]",
		"AKIAIOSFODNN7EXAMPLE":                              "[secret]",
		"Authorization: Bearer abcDEF123456":                "Authorization: Bearer [secret]",
		"curl -H 'X-Api-Key: k3yk3yk3y'":                    "curl -H 'X-Api-Key: [secret]'",
		`{"password": "hunter2!x"}`:                         `{"password": "[secret]"}`,
		"postgres://app:s3cret@db.internal:5432/x":          "postgres://app:[secret]@db.internal:5432/x",
		"4111 1111 1111 1111 was declined":                  "[card] was declined",
		"4111-1111-1111-1112 is no card":                    "4111-1111-1111-1112 is no card",
		"order 1234567890123":                               "order 1234567890123",
		"d41d8cd98f00b204e9800998ecf8427e":                  "[secret]",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n":           "[secret]",
		"jane＠example.com":                                  "[email]",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP": "[secret]",
		"Authorization: Basic dXNlcjpwYXNz":                 "Authorization: Basic [secret]",
		"psql --password s3cret99x":                         "psql --password [secret]",
		"PGPASSWORD=abc12345 psql":                          "PGPASSWORD=[secret] psql",
		"my password is Hunter2Hunter2":                     "my password is [secret]",
		"/callback?api_key=abc123def&x=1":                   "/callback?api_key=[secret]&x=1",
		"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/b":   "aws_secret_access_key = [secret]",
		"4111.1111.1111.1111":                               "[card]",
		"378282246310005":                                   "[card]",
		"run --Deploy-Key abc123def":                        "run --Deploy-Key [secret]",
		"PWD: abc123def, passwd=abc123def, bearer abc123de": "PWD: [secret], passwd=[secret], bearer [secret]",
		"paſſword=abc123def and TO\u212aEN=abc123def":       "paſſword=[secret] and TO\u212aEN=[secret]",
		"my secret is abc123def":                            "my secret is [secret]",
		// Documentation is full of these.
		"the token is required, my password is forgotten":  "the token is required, my password is forgotten",
		"caddy docs key create --key-file secrets.txt":     "caddy docs key create --key-file secrets.txt",
		"Authorization: Bearer {env.TOKEN}":                "Authorization: Bearer {env.TOKEN}",
		"Authorization: Bearer $TOKEN":                     "Authorization: Bearer $TOKEN",
		"from 192.168.100.200 to 10.0.0.1, v1.22.333.4444": "from 192.168.100.200 to 10.0.0.1, v1.22.333.4444",
		"bearer authentication with caddy":                 "bearer authentication with caddy",
		"what is api_key: string for":                      "what is api_key: string for",
		"token: {env.TOKEN} in the Caddyfile":              "token: {env.TOKEN} in the Caddyfile",
		"http.handlers.reverse_proxy":                      "http.handlers.reverse_proxy",
		"AbstractSingletonProxyFactoryBean2":               "AbstractSingletonProxyFactoryBean2",
		"UTF-8 and ISO-8859-1, TLS1.3, @types/node, a@b":   "UTF-8 and ISO-8859-1, TLS1.3, @types/node, a@b",
		"how do I set max_concurrent_replies to 5000":      "how do I set max_concurrent_replies to 5000",
		"docs.example.com/guide/2024-10-01-release-notes/": "docs.example.com/guide/2024-10-01-release-notes/",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestCleanBoundsAndRedactsWhatIsStored(t *testing.T) {
	long := strings.Repeat("ß word ", 10_000)
	vote := Event{Vote: &Vote{Path: "a", Rating: "down", Comment: long + "\x00", Reasons: make([]string, 100)}}
	reply := Event{Reply: &Reply{Question: "I am jane@example.com " + long, Cited: []string{"a\nb"}, InputTokens: -5}}
	search := Event{Search: &Search{Query: "  Install\tCADDY \n" + long, Tracked: true}}
	for _, e := range []*Event{&vote, &reply, &search} {
		if !(Privacy{}).Clean(e) {
			t.Fatal("not stored")
		}
	}
	if n := utf8.RuneCountInString(vote.Vote.Comment); n != maxComment || len(vote.Vote.Reasons) != maxList {
		t.Errorf("comment of %d characters, %d reasons", n, len(vote.Vote.Reasons))
	}
	if q := reply.Reply.Question; !strings.HasPrefix(q, "I am [email] ß word") || utf8.RuneCountInString(q) != maxQuestion || reply.Reply.Cited[0] != "a b" || reply.Reply.InputTokens != 0 {
		t.Errorf("%+v", reply.Reply)
	}
	if q := search.Search.Query; !strings.HasPrefix(q, "install caddy ß word") || utf8.RuneCountInString(q) != maxQuery {
		t.Errorf("%q", q)
	}
}

func TestPrivacyDropsTextsAndClicks(t *testing.T) {
	p := Privacy{NoTexts: true, NoClicks: true}
	search := Event{Search: &Search{Query: "secret", Hits: 2, Tracked: true}}
	reply := Event{Reply: &Reply{Question: "secret"}}
	vote := Event{Vote: &Vote{Comment: "secret", Reasons: []string{"secret"}}}
	if !p.Clean(&search) || search.Search.Query != "" || search.Search.Hits != 2 || search.Search.Tracked {
		t.Errorf("%+v", search.Search)
	}
	if !p.Clean(&reply) || reply.Reply.Question != "" {
		t.Errorf("%+v", reply.Reply)
	}
	if !p.Clean(&vote) || vote.Vote.Comment != "" || vote.Vote.Reasons != nil {
		t.Errorf("%+v", vote.Vote)
	}
	if p.Clean(&Event{Click: &Click{Query: "secret"}}) {
		t.Error("a click is stored")
	}
}

func TestStemsOfQuestionsWithTheSameWords(t *testing.T) {
	for _, same := range [][]string{
		{"How do I configure proxies?", "configuring a PROXY", "proxy, configured"},
		{"Wie konfiguriere ich Zertifikate?", "ich konfiguriere die Zertifikate!"},
		{"how to", "How to?"},
	} {
		want := Stems(same[0])
		for _, s := range same {
			if got := Stems(s); got != want || got == "" {
				t.Errorf("%q: %q, want %q", s, got, want)
			}
		}
	}
	if s := Stems("?!"); s != "" {
		t.Errorf("%q", s)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("jane@example.com sk-abcdefghij0123456789 4111 1111 1111 1111\x00\xff")
	f.Fuzz(func(t *testing.T, text string) {
		e := Event{Vote: &Vote{Comment: text, Path: text, Reasons: []string{text}}}
		(Privacy{}).Clean(&e)
		s := Event{Search: &Search{Query: text}}
		(Privacy{}).Clean(&s)
		for _, got := range []string{e.Vote.Comment, e.Vote.Path, e.Vote.Reasons[0], s.Search.Query, Stems(text)} {
			if !utf8.ValidString(got) && utf8.ValidString(text) || strings.Contains(got, "\x00") || utf8.RuneCountInString(got) > 3000 {
				t.Errorf("%q", got)
			}
		}
	})
}

func TestWhatIsStoredOfMissingPages(t *testing.T) {
	for _, c := range []struct{ in, want Missing }{
		{Missing{Path: "/old/page/?token=abc#x", To: "/new/#y"}, Missing{Path: "/old/page", To: "/new"}},
		{Missing{Path: "/"}, Missing{Path: "/"}},
		{Missing{Path: "/reset/d41d8cd98f00b204e9800998ecf8427e/jane@example.com"}, Missing{Path: "/reset/[secret]/[email]"}},
		{Missing{Path: "/" + strings.Repeat("ü", 500)}, Missing{Path: "/" + strings.Repeat("ü", 99)}},
		{Missing{Path: "/a\x00\xffb\n"}, Missing{Path: "/a b\n"}},
		{Missing{Path: "/a", From: "/guide/?q=secret"}, Missing{Path: "/a", From: "/guide"}},
		{Missing{Path: "/a", From: "https://jane:pw@Forum.Example:8443/thread/1?user=jane"}, Missing{Path: "/a", From: "https://forum.example"}},
		{Missing{Path: "/a", From: "http://203.0.113.7/x"}, Missing{Path: "/a"}},
		{Missing{Path: "/a", From: "http://[2001:db8::1]:80/x"}, Missing{Path: "/a"}},
		{Missing{Path: "/a", From: "javascript:alert(1)"}, Missing{Path: "/a"}},
		{Missing{Path: "/a", Agent: "ClaudeBot"}, Missing{Path: "/a", Agent: "ClaudeBot"}},
		{Missing{Path: "/a", Agent: "<script>"}, Missing{Path: "/a", Agent: Program}},
	} {
		e := Event{Missing: &c.in}
		if !(Privacy{}).Clean(&e) || *e.Missing != c.want {
			t.Errorf("%+v:\n got %+v\nwant %+v", c.in, *e.Missing, c.want)
		}
	}
	e := Event{Missing: &Missing{Path: "/a", From: "/b"}}
	if (Privacy{NoClicks: true}).Clean(&e); e.Missing.From != "" {
		t.Errorf("with clicks off: %+v", *e.Missing)
	}
}

func TestAgentsAreKnownByTheirNames(t *testing.T) {
	for userAgent, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36": "",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0":                            "",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)":          "GPTBot",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot":       "ChatGPT-User",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)":         "ClaudeBot",
		"claude-user (claude-code/2.0; +https://support.anthropic.com/)":                                                  "Claude-User",
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)":                                        "Googlebot",
		"Mozilla/5.0 (compatible; SomeCrawler/1.0)":                                                                       Program,
		"curl/8.9.1":                    Program,
		"python-requests/2.32":          Program,
		"":                              Program,
		strings.Repeat("GPTBo ", 10000): Program,
	} {
		if got := AgentOf(userAgent); got != want {
			t.Errorf("%q is %q, want %q", userAgent, got, want)
		}
	}
}
