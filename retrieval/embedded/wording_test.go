package embedded

import (
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestStopWordsOfASite(t *testing.T) {
	docs := []*retrieval.Document{
		page("acme", "Acme", "About", "Acme is what this is about.", "Acme again", "Acme and acme."),
		page("logging", "Logging", "Acme logs", "Where acme writes its log files."),
		page("flags", "Flags", "Command line", "The flag --acme names the acme."),
	}
	plain := opened(t, Options{}, docs...)
	x := opened(t, Options{StopWords: []string{"Acme", "です", "ました"}}, docs...)
	for _, c := range []struct{ name, query, page string }{
		{"are left out beside another word", "acme logging", "logging"},
		{"are found in a query without other words", "acme", "acme"},
		{"are found beside stop words of the language", "the acme", "flags"},
		{"are found in a question of nothing else", "what is the acme", "acme"},
		{"leave an identifier that holds them", "--acme", "flags"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits := search(t, x, retrieval.Query{Text: c.query})
			if len(hits) == 0 || hits[0].Document.Page != c.page {
				t.Errorf("%q finds %v, want %s first", c.query, pages(hits), c.page)
			}
		})
	}
	if got := search(t, x, retrieval.Query{Text: "acme logging"}); len(got) != 1 {
		t.Errorf("pages with nothing but the stop word are found: %v", pages(got))
	}
	if got := search(t, plain, retrieval.Query{Text: "acme logging"}); len(got) < 3 {
		t.Errorf("without stop words only %v is found", pages(got))
	}
	if got, want := search(t, x, retrieval.Query{Text: "acme logging"})[0].Score, search(t, x, retrieval.Query{Text: "logging"})[0].Score; got != want {
		t.Errorf("the score is %v, that of the query without the word %v", got, want)
	}
	if got, _ := statistics(t, []string{"acme"}, x.Documents()...).Read(retrieval.Query{Text: "where does acme write logging", Question: true}).Terms("", 10); slices.ContainsFunc(got, func(term Term) bool { return term.Stem == "acme" }) {
		t.Errorf("terms: %s", got)
	}
	for _, bad := range []string{"", "…", "two words", "file-server"} {
		if _, err := Open(Options{StopWords: []string{bad}}); err == nil || !strings.Contains(err.Error(), "stop_words") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
