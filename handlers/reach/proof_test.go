package reach

import (
	"hash/maphash"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func htmlAnswer(body string) answer {
	return answer{status: 200, contentType: "text/html; charset=utf-8", body: []byte(body), hash: maphash.String(seed, body) + uint64(len(body))}
}

// Words that the response for a missing page has, too, prove nothing: every
// page has them in its menu.
func TestFewWordsOfAMenuProveNothing(t *testing.T) {
	menu := "<nav>Buy more milk <a>Home</a></nav>"
	d := &retrieval.Document{Title: "Plan", File: "plan.md", Sections: []retrieval.Section{{Text: "Buy more milk"}}}
	for body, want := range map[string]bool{"<p>Log in": false, "<p>Not here": false} {
		s := &Gate{}
		w := &walls{look: func(_ string, use func(answer)) error { use(htmlAnswer(menu + body)); return nil }}
		if got := s.proves(t.Context(), htmlAnswer(menu+"<p>Log in"), d, w, "/plan", false) == Public; got != want {
			t.Errorf("after %q it is %t", body, got)
		}
	}
	plain := &walls{look: func(_ string, use func(answer)) error { use(htmlAnswer("nothing")); return nil }}
	if (&Gate{}).proves(t.Context(), htmlAnswer("<p>Buy more milk"), d, plain, "/plan", false) != Public {
		t.Error("the page's own text proves nothing")
	}
	down := &walls{look: func(string, func(answer)) error { return t.Context().Err() }}
	if (&Gate{}).proves(t.Context(), htmlAnswer("<p>Buy more milk"), d, down, "/plan", false) == Public {
		t.Error("few words prove a page while nothing else answers")
	}
	file := &Gate{Options: Options{File: func(*retrieval.Document) ([]byte, bool, error) { return []byte("<p>Log in"), true, nil }}}
	if file.proves(t.Context(), htmlAnswer("<p>Log in"), d, down, "/plan", false) != Public {
		t.Error("the file's own bytes prove nothing")
	}
}

// A secret that was removed before the page was unlocked is still in the index.
func TestAFileThatHasChangedProvesNothingNew(t *testing.T) {
	d := &retrieval.Document{Title: "Plan", File: "plan.md", Sections: []retrieval.Section{{Text: "A long plan without end and with a password like zeppelin"}}}
	s := &Gate{Options: Options{File: func(*retrieval.Document) ([]byte, bool, error) { return []byte("<p>Nothing"), false, nil }}}
	for body, afterPublic := range map[string]State{"<p>Nothing": Public, "<p>A long plan without end and with a password like that": Public, "<p>Log in": Locked} {
		if got := s.proves(t.Context(), htmlAnswer(body), d, nil, "/plan", false); got != Unknown {
			t.Errorf("%q makes the page %s", body, got)
		}
		if got := s.proves(t.Context(), htmlAnswer(body), d, nil, "/plan", true); got != afterPublic {
			t.Errorf("%q makes a public page %s", body, got)
		}
	}
}
