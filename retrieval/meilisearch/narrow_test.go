package meilisearch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// A search that is narrowed to some pages finds them however many others are
// nearer to the query: the server leaves those out itself.
func TestTheServerSearchesThePagesOfASetOnly(t *testing.T) {
	t.Parallel()
	var docs []*retrieval.Document
	var vectors [][][]float32
	for i := range 600 {
		docs = append(docs, page(fmt.Sprintf(`p/%d "x\`, i), "Proxy", "One: upstream"))
		v := []float32{1, float32(i) / 1000}
		if i >= 300 {
			v[0] = -1 // unlike the query, as most pages are
		}
		vectors = append(vectors, [][]float32{v})
	}
	x := open(t, options(t))
	replace(t, x, docs, vectors)
	few := []string{docs[297].Page, docs[299].Page}
	for name, set := range map[string]*retrieval.PageSet{
		"a few":        {Has: func(page string) bool { return slices.Contains(few, page) }},
		"one left out": {Has: func(page string) bool { return page != docs[0].Page }},
		"none":         {Has: func(string) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			q := retrieval.Query{Text: "zebra", Vector: []float32{1, 0}, Limit: 20, Pages: set}
			got := pages(search(t, x, q))
			for _, p := range got {
				if !set.Has(p) {
					t.Errorf("%q is found", p)
				}
			}
			want := 0
			for _, d := range docs {
				if set.Has(d.Page) {
					want++
				}
			}
			if len(got) != min(want, q.Limit) {
				t.Errorf("%d pages are found, want %d", len(got), min(want, q.Limit))
			}
		})
	}
}

// The front page has no name, and a server matches no empty values.
func TestTheFrontPageIsFoundWherePagesAreNamed(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.ViewKey, o.SearchKey = clientKeys(t, o)
	x := open(t, o)
	front := page("", "Welcome", "One: The zebra upstream.", "Two: A zebra again.")
	docs := append(site(), front)
	x.SetPublic(func(*retrieval.Document) bool { return true })
	replace(t, x, docs, nil)
	search := func(x *meilisearch.Index, text string, in ...string) []string {
		t.Helper()
		set := &retrieval.PageSet{Has: func(page string) bool { return slices.Contains(in, page) }}
		return pages(search(t, x, retrieval.Query{Text: text, Pages: set}))
	}
	o.Dir = t.TempDir()
	joined := open(t, o)
	eventually(t, "it begins with the state in the server", func() bool { return len(joined.Documents()) == len(docs) })
	for name, x := range map[string]*meilisearch.Index{"a process with the pages": x, "one without": joined} {
		if got := search(x, "zebra", ""); !slices.Contains(got, "") {
			t.Errorf("%s: the front page alone: %q are found", name, got)
		}
		if got := search(x, "zebra", "", "install"); !slices.Contains(got, "") {
			t.Errorf("%s: the front page of two: %q are found", name, got)
		}
		if got := search(x, "upstream", "guide/proxy", "guide/files", "guide/tls", "install"); len(got) == 0 || slices.Contains(got, "") {
			t.Errorf("%s: the others: %q are found", name, got)
		}
	}
	found, err := sdk.New(o.URLs[0], sdk.WithAPIKey(o.ViewKey)).MultiSearch(&sdk.MultiSearchRequest{Queries: []*sdk.SearchRequest{
		{IndexUID: strings.TrimPrefix(uidOf(o), "_"), Query: "zebra", AttributesToRetrieve: []string{"page"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if hits := found.Results[0].Hits; len(hits) != 1 || string(hits[0]["page"]) != `"/"` {
		t.Errorf("the view returns %v", hits)
	}
}

// Pages that name no language are in the one that a query wants as likely as
// those that name it.
func TestPagesWithoutALanguageAreNoOthers(t *testing.T) {
	t.Parallel()
	var docs []*retrieval.Document
	for i := range 100 {
		docs = append(docs, page(fmt.Sprint("p/", i), "Proxy", "One: How the upstream of this proxy is found"))
	}
	docs = append(docs, page("en", "English", "One: How the words of this page are found"), page("de", "Deutsch", "One: Wie der proxy die upstreams findet"))
	docs[100].Language, docs[101].Language = "en", "de"
	x := open(t, options(t))
	replace(t, x, docs, nil)
	for name, q := range map[string]retrieval.Query{
		"no language": {Text: "proxy"},
		"English":     {Text: "proxy", Prefer: retrieval.Filter{Language: "en"}},
	} {
		q.Limit = 100
		if n := len(search(t, x, q)); n < 100 {
			t.Errorf("%s: %d pages are found", name, n)
		}
	}
}

// What few pages have instead of a word of the query must not hide those that
// have the word.
func TestOtherWordsAreFoundBesideThoseOfTheQuery(t *testing.T) {
	t.Parallel()
	var docs []*retrieval.Document
	for i := range 150 {
		docs = append(docs, page(fmt.Sprint("p/", i), "Files", "One: How the file of a server and the config of a backend are found"))
	}
	docs = append(docs, page("joined", "Fileserver", "One: What the fileserver does"), page("synonym", "Upstream", "One: What the upstream does"),
		page("typed", "Conf", "One: What a conf does"), page("corrected", "Backens", "One: What backens do"))
	o := options(t)
	o.Synonyms = [][]string{{"backend", "upstream"}}
	x := open(t, o)
	replace(t, x, docs, nil)
	for query, other := range map[string]string{
		"file server": "joined",
		"backend":     "synonym",
		"upstream":    "synonym",
		"conf":        "typed",
		"backenx":     "corrected",
	} {
		got := pages(search(t, x, retrieval.Query{Text: query, Limit: 100}))
		if len(got) < 50 || !slices.Contains(got, other) {
			t.Errorf("%s: %d pages are found, %s among them: %v", query, len(got), other, slices.Contains(got, other))
		}
	}
}
