package embedded

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Nothing of the pages outside of a set shows: what is found, with its scores
// and corrections, is what an index of the set alone finds.
func TestASearchOfSomePagesIsThatOfAnIndexOfThem(t *testing.T) {
	var all []*retrieval.Document
	for i := range 40 {
		all = append(all, page(fmt.Sprintf("guide/%d", i), fmt.Sprintf("Guide %d of certificates", i),
			fmt.Sprintf("Renewal%d: How certificates number%d are renewed, with a proxy and zebrafish%d.", i, i, i)))
	}
	vectors := make([][][]float32, len(all))
	for i, d := range all {
		for j := range d.Sections {
			vectors[i] = append(vectors[i], []float32{float32(i), float32(j + 1), 1})
		}
	}
	for name, has := range map[string]func(i int) bool{
		"every page":      func(int) bool { return true },
		"no page":         func(int) bool { return false },
		"every third":     func(i int) bool { return i%3 == 0 },
		"the second half": func(i int) bool { return i >= 20 },
	} {
		set := map[string]bool{}
		var some []*retrieval.Document
		var someVectors [][][]float32
		for i, d := range all {
			if has(i) {
				set[d.Page] = true
				some, someVectors = append(some, d), append(someVectors, vectors[i])
			}
		}
		whole, alone := opened(t, Options{}), opened(t, Options{})
		if err := whole.Replace(t.Context(), all, of(vectors)); err != nil {
			t.Fatal(err)
		}
		if err := alone.Replace(t.Context(), some, of(someVectors)); err != nil {
			t.Fatal(err)
		}
		pages := &retrieval.PageSet{Has: func(p string) bool { return set[p] }}
		for _, text := range []string{"certificates", "renewal7", "renewal8", "zebrafish7", "zebrafsih8", "certficate", "how are certificates renewed", "zebra", "nothing of that"} {
			for _, vector := range [][]float32{nil, {8, 1, 1}} {
				q := retrieval.Query{Text: text, Vector: vector, Limit: 50}
				want := search(t, alone, q)
				q.Pages = pages
				for range 2 { // from the cache, too
					if got := search(t, whole, q); !reflect.DeepEqual(got, want) {
						t.Errorf("%s, %q: found %v, want %v", name, text, got, want)
					}
				}
			}
		}
	}
}
