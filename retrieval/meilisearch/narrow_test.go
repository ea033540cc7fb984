package meilisearch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
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
