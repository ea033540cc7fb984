package meilisearch_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// circle is a site of n pages with vectors of a number of dimensions: the first 60
// lie on an arc, the others are orthogonal to the first. Fifty are
// nearer to it than p1, which words alone find.
func circle(n, dimensions int) (docs []*retrieval.Document, vectors [][][]float32) {
	for i := range n {
		docs = append(docs, page(fmt.Sprintf("p%d", i), fmt.Sprintf("Title%d", i), fmt.Sprintf("Text: common word%d", i)))
		angle := float64(i) * .005
		if i == 1 {
			angle = .28
		} else if i >= 60 {
			angle = math.Pi / 2
		}
		v := make([]float32, dimensions)
		v[0], v[1] = float32(math.Cos(angle)), float32(math.Sin(angle))
		vectors = append(vectors, [][]float32{v})
	}
	return docs, vectors
}

// scoreOf is the score of the page p1, which words find alone.
func scoreOf(t *testing.T, x retrieval.Index, vector []float32) float64 {
	t.Helper()
	for _, h := range search(t, x, retrieval.Query{Text: "word1 quagga okapi", Vector: vector, Limit: 200}) {
		if h.Document.Page == "p1" {
			return h.Score
		}
	}
	t.Fatal("the page with the word is not found")
	return 0
}

func TestVectorsOfUnchangedPagesAreNotReadAgain(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	docs, vectors := circle(120, 3)
	read := map[int]int{}
	counted := func(i int) [][]float32 {
		read[i]++
		return vectors[i]
	}
	publish := func(want int) {
		t.Helper()
		clear(read)
		if err := x.Replace(t.Context(), docs, counted); err != nil {
			t.Fatal(err)
		}
		e, err := embedded.Open(embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Replace(t.Context(), docs, of(vectors)); err != nil {
			t.Fatal(err)
		}
		query := make([]float32, len(vectors[0][0]))
		query[0] = 1
		if got, want := scoreOf(t, x, query), scoreOf(t, e, query); math.Abs(got-want) > .01 {
			t.Errorf("the score is %v, that of the embedded index %v", got, want)
		}
		if len(read) > want {
			t.Errorf("the vectors of %d pages were read, want at most %d", len(read), want)
		}
	}
	publish(120)
	docs[7], vectors[7] = page("p7", "Title7", "Text: common other"), [][]float32{{0, 0, 1}}
	publish(2) // one of a page that is known shows that the length is the same
	docs, vectors = docs[:90], vectors[:90]
	publish(1)
	x.Close()
	x = open(t, o) // after a restart
	docs[8], vectors[8] = page("p8", "Title8", "Text: common other"), [][]float32{{0, 0, 1}}
	publish(2)
	_, vectors = circle(90, 4) // the embedder makes others now
	publish(90)
}

func TestVectorsOfAnotherModelAreReplaced(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Model = "one"
	x := open(t, o)
	docs, vectors := circle(120, 3)
	near := vectors[1]
	vectors[1] = vectors[119]
	replace(t, x, docs, vectors)
	x.Close()
	o.Model = "two"
	x = open(t, o)
	vectors[1] = near
	replace(t, x, docs, vectors)
	e, err := embedded.Open(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Replace(t.Context(), docs, of(vectors)); err != nil {
		t.Fatal(err)
	}
	if got, want := scoreOf(t, x, []float32{1, 0, 0}), scoreOf(t, e, []float32{1, 0, 0}); math.Abs(got-want) > .01 {
		t.Errorf("the score is %v, that of the embedded index %v", got, want)
	}
}

func TestWhatIsLostFromTheDataFolderIsWrittenAgain(t *testing.T) {
	t.Parallel()
	o := options(t)
	replace(t, open(t, o), site(), nil)
	files, err := filepath.Glob(filepath.Join(o.Dir, "pages-*.bin"))
	if err != nil || len(files) == 0 {
		t.Fatal("no pages are in the data folder", err)
	}
	for _, name := range files {
		if err := os.Truncate(name, 0); err != nil {
			t.Fatal(err)
		}
	}
	x := open(t, o)
	if _, err := x.Search(t.Context(), retrieval.Query{Text: "proxy", Limit: 5}); err == nil {
		t.Error("a search has results without the pages")
	}
	if x.Documents() != nil {
		t.Error("the pages are not asked for again")
	}
	replace(t, x, site(), nil)
	if len(search(t, x, retrieval.Query{Text: "proxy", Limit: 5})) == 0 {
		t.Error("nothing is found when they are there again")
	}
}
