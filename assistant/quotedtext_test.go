package assistant

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuotedTextLooksAsOnItsPage(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"words pass", "Run the installer, then reload.", "Run the installer, then reload."},
		{"placeholders are code", "site <name> defines a site.", "site `<name>` defines a site."},
		{"each word is a span", "docs [<@matcher>] <site> [<root>] defines a site", "docs `[<@matcher>]` `<site>` `[<root>]` defines a site"},
		{"globs are code", "Write /blog/* for all below /blog/.", "Write `/blog/*` for all below /blog/."},
		{"stars alone are code", "* matches one part, ** also slashes.", "`*` matches one part, `**` also slashes."},
		{"identifiers are code", "Set max_body (or --wait) to {env.SIZE}.", "Set `max_body` (or `--wait`) to `{env.SIZE}`."},
		{"comparisons pass", "if a < b & c > d - e", "if a < b & c > d - e"},
		{"entities are code", "Write &lt; for a sign.", "Write `&lt;` for a sign."},
		{"code spans that are there stay", "Use `<site>` and ``a` b`` and max_body.", "Use `<site>` and ``a` b`` and `max_body`."},
		{"a backtick alone passes", "Type ` and <b>.", "Type ` and `<b>`."},
		{"addresses are left to the check", "See https://a.example/x_y_z.", "See https://a.example/x_y_z."},
		{"other scripts pass", "日本語 – größer_als «x»", "日本語 – größer_als «x»"},
		{"a list's mark stays", "- clean_urls serves pages", "- `clean_urls` serves pages"},
	} {
		if got := codeSpans(c.in); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestTablesAreQuotedAsLists(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{
			"with a head", "word | meaning | default\nmax_body <size> | The longest body. | 1MB\nerrors pass | Errors go on. | ",
			[]string{"- `max_body` `<size>`: The longest body. (default: 1MB)", "- errors pass: Errors go on."},
		},
		{"the description can be in any column", "field | type | meaning\nsha256 | string | The key's hash in hex.", []string{"- sha256: The key's hash in hex. (type: string)"}},
		{"prose is no code", "what | becomes\na link to a host of allow_links, or <b> | itself", []string{"- a link to a host of `allow_links`, or `<b>`: itself"}},
		{"with empty cells", "word | meaning | default | example\noff | No limits. | | rate off\non | Limits stand alone. | | | ", []string{"- off: No limits. (example: rate off)", "- on: Limits stand alone."}},
		{"with an empty last cell in its head", "Options |\n--host [host] | The host name.\n--port <port> | The port.", []string{"- `--host` `[host]`: The host name.", "- `--port` `<port>`: The port."}},
		{"with an empty first cell in a head of two", "| ours\nkeys | made by hand", []string{"- keys (ours: made by hand)"}},
		{"two columns", "status | meaning\n404 | not there\n503 | not ready", []string{"- 404: not there", "- 503: not ready"}},
		{"with an empty first cell in its head", " | Admin | User\nread | ✅ | ❌\nwrite | ✅ | ❌", []string{"- read (Admin: ✅; User: ❌)", "- write (Admin: ✅; User: ❌)"}},
		{"with an empty first cell in a row", "word | meaning | default\noff | No limits at all. | 1\n | Limits stand alone. | 2", []string{"- off: No limits at all. (default: 1)", "- Limits stand alone. (default: 2)"}},
		{"without a head", "This is a sentence. | It says something.\na | b", []string{"- This is a sentence.: It says something.", "- a: b"}},
	} {
		if !isTable(c.in) {
			t.Errorf("%s: no table", c.name)
		}
		if got := tableItems(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	for _, no := range []string{"one | line", "a | b\nplain", "Run a | b or\nc | d and that.\nSo"} {
		if isTable(no) {
			t.Errorf("%q is a table", no)
		}
	}
	a := acme(nil)
	x := a.Search.(*fakeIndex)
	x.documents[1].Sections[1].Text = "Timeouts of backends.\n\nword | meaning | default\ndial_timeout <time> | bounds connecting | 3s\nread_timeout <time> | bounds reading | none"
	_, rec := mustReply(t, a, ask("What is the default dial_timeout?"))
	if !strings.Contains(rec.text(), "\n- `dial_timeout` `<time>`: bounds connecting (default: 3s)") || strings.Contains(rec.text(), "&lt;") {
		t.Errorf("%s", rec.text())
	}
}

func TestStarterQuestions(t *testing.T) {
	starters := []string{"How do I install Acme on Linux?", "What does it cost?", "Which certificates can I use?", "A fourth?"}
	for _, c := range []struct {
		name, question string
		suggestions    bool
		want           string
	}{
		{"end a reply that has no answer", "Which frobnicate_widget bakes bread for penguins on Mars?", false, `{"questions":["How do I install Acme on Linux?","What does it cost?","Which certificates can I use?"]}`},
		{"leave a reply alone that has one", "What is the default dial_timeout?", false, ""},
		{"replace follow-up questions if there are none", "POST /v1/search score?", true, `{"questions":["How do I install Acme on Linux?","What does it cost?","Which certificates can I use?"]}`},
		{"leave out what was just asked", "how do I  install Acme on Linux", true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := acme(nil)
			a.Site.StarterQuestions, a.Site.Suggestions = starters, c.suggestions
			in := ask(c.question)
			in.PageSize = 1
			_, rec := mustReply(t, a, in)
			got := ""
			if d := rec.of(9); len(d) > 0 {
				got = string(d[0].JSON)
			}
			if c.want == "" && strings.Contains(got, "install Acme on Linux") || c.want != "" && got != c.want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestBadRewritesAreNotSearchedFor(t *testing.T) {
	for _, c := range []struct{ question, rewrite, want string }{
		{"and on Windows?", "How do I install Acme on Windows?", "How do I install Acme on Windows?"},
		{"and on Windows?", "and on Windows?", ""},
		{"and on Windows?", "I'm sorry, I can't help with that.", ""},
		{"and on Windows?", "How do I install Acme on Linux?", ""},
		{"can I turn that off?", "Can I turn off the Linux package's service?", "Can I turn off the Linux package's service?"},
		{"und unter Windows?", "Wie installiere ich Acme unter Windows?", "Wie installiere ich Acme unter Windows?"},
		{"and when it stops?", "What happens to the Acme package when it shuts down?", "What happens to the Acme package when it shuts down?"},
	} {
		a := acme(&script{rounds: []round{{text: good}}, rewrite: c.rewrite})
		mustReply(t, a, ask(c.question, userSaid("How do I install the Acme package on Linux?"), assistantSaid("With apt. The service starts by itself.")))
		queries := a.Search.(*fakeIndex).queries
		if q := queries[len(queries)-1].Text; len(queries) < 2 && c.want != "" || len(queries) > 1 && (q == c.rewrite) != (c.want != "") {
			t.Errorf("%q rewritten as %q: searched for %q", c.question, c.rewrite, q)
		}
	}
}

func TestARewriteThatIsLateHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &script{rewriteHangs: true}
		a := acme(m)
		began := time.Now()
		for i := range 2 * rewriteFailures {
			m.rounds = append(m.rounds, round{text: good})
			_, rec := mustReply(t, a, ask("and on Windows?", userSaid("How do I install Acme on Linux?"), assistantSaid("With apt.")))
			if rec.text() != good || m.rewrites != min(i+1, rewriteFailures) && m.rewrites != rewriteFailures+1 {
				t.Errorf("reply %d: %q, %d rewrites", i, rec.text(), m.rewrites)
			}
		}
		if took := time.Since(began); took > (rewriteFailures+1)*rewriteTime {
			t.Errorf("%v", took)
		}
	})
}

func TestAQuestionThatMayGoOnIsSearchedForBothWays(t *testing.T) {
	a := acme(nil)
	mustReply(t, a, ask("how long must the client wait?", userSaid("What are dial timeouts of a backend?"), assistantSaid("They bound connecting.")))
	qs := a.Search.(*fakeIndex).queries
	if len(qs) != 2 || strings.Contains(qs[0].Text, "backend") || !strings.Contains(qs[1].Text, "backend") {
		t.Errorf("%+v", qs)
	}
}

func TestTextOfTheNextStepFollowsAnEmptyLine(t *testing.T) {
	call := []ToolCall{{ID: "c1", Name: "search", Arguments: `{"query":"dial timeout backend"}`}}
	m := &script{rounds: []round{{text: "Look.", calls: call}, {text: good}}}
	_, rec := mustReply(t, acme(m), ask("How do I install Acme on Linux?"))
	if got, want := rec.text(), "Look.\n\n"+good; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
