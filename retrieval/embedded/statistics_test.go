package embedded

import (
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
	table := NewTable()
	for _, d := range documents {
		table.Add(d)
	}
	if table, err = ReadTable(table.Encode()); err != nil {
		t.Fatal(err)
	}
	return table.Statistics(w)
}

func TestKeyTermsAreWhatAnotherEngineIsAsked(t *testing.T) {
	ja := page("ja/proxy", "リバースプロキシ", "設定", "リバースプロキシの設定方法を説明します。")
	ja.Language = "ja"
	x := statistics(t, nil, append(manual(), ja)...)
	for _, c := range []struct {
		name, query, want string
		n                 int
	}{
		{"without marks and stop words", "How do I set --read-timeout for an upstream?", "set read timeout upstream", 10},
		{"the rarest, in the order of the text", "requests to a folder of certificates", "requests folder", 2},
		{"without what nobody knows", "qqqqqqq upstream", "upstream", 10},
		{"runs of characters where no spaces are written", "リバースプロキシの設定方法を教えて", "リバースプロキシの設定方法を", 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := x.KeyTerms(retrieval.Query{Text: c.query, Question: true}, c.n); got != c.want {
				t.Errorf("%q gives %q, want %q", c.query, got, c.want)
			}
		})
	}
}
