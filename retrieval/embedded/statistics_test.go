package embedded

import (
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// statistics are those of documents, encoded and read again.
func statistics(t *testing.T, stopWords []string, documents ...*retrieval.Document) *Statistics {
	t.Helper()
	w, err := words.NewWording(nil, stopWords)
	if err != nil {
		t.Fatal(err)
	}
	tally := words.NewTable().Tally()
	for _, d := range documents {
		tally.Add(words.CountPage(d))
	}
	table, err := words.ReadTable(tally.Table().Encode())
	if err != nil {
		t.Fatal(err)
	}
	return NewStatistics(table, w)
}

func TestTermsAreThoseOfALanguage(t *testing.T) {
	de, en := page("de/editor", "Editor", "Werkzeuge", "Richte deinen Code ein."), page("en/code", "Code", "Style", "How codes are written.")
	more := page("en/more", "More", "Codes", "What codes mean.")
	de.Language, en.Language, more.Language = "de", "en", "en"
	read := statistics(t, nil, de, en, more).Read(retrieval.Query{Text: "codes written", Question: true})
	for tag, want := range map[string][]string{"de": {"cod"}, "en": {"written", "code"}, "ja": {"written", "code"}, "": {"written", "code"}} {
		var got []string
		terms, _ := read.Terms(tag, 10)
		for _, term := range terms {
			got = append(got, term.Stem)
		}
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("in %q: %q, want %q", tag, got, want)
		}
	}
}

func TestTokensAreWhatAnotherEngineIsAsked(t *testing.T) {
	ja := page("ja/proxy", "リバースプロキシ", "設定", "リバースプロキシの設定方法を説明します。")
	ja.Language = "ja"
	x := statistics(t, nil, append(manual(), ja)...)
	for _, c := range []struct {
		name, query, want string
		n                 int
	}{
		{"without marks and stop words", "How do I set --read-timeout for an upstream?", "timeout upstream", 10},
		{"the rarest", "requests to a folder of certificates", "request", 1},
		{"without what nobody knows", "qqqqqqq upstream", "upstream", 10},
		{"pairs of characters are one word each, of any script", "設定方法", "x", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tokens []string
			terms, _ := x.Read(retrieval.Query{Text: c.query, Question: true}).Terms("", c.n)
			for _, term := range terms {
				tokens = append(tokens, words.Token(term.Stem))
			}
			if got := strings.Join(tokens, " "); !strings.Contains(got, c.want) || strings.ContainsFunc(got, func(r rune) bool { return r > 'z' || r == '-' }) || strings.Contains(got, "qq") {
				t.Errorf("%q gives %q, want %q", c.query, got, c.want)
			}
		})
	}
}
