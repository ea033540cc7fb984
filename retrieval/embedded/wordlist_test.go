package embedded

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// editDistance is that of distances, computed over the whole matrix.
func editDistance(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			d[i][j] = min(d[i-1][j-1]+same, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// randomWords returns words that have much in common, some of them with
// characters of several bytes.
func randomWords(r *rand.Rand, n int) (words []string) {
	alphabet := []rune("abcéü設")
	for range n {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		words = append(words, b.String())
	}
	slices.Sort(words)
	return slices.Compact(words)
}

func TestCorrectionsAreAllWordsAtASmallDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := randomWords(r, 3000)
	var w wordListWriter
	for i, text := range words {
		w.add(text, uint32(i+1))
	}
	list := w.list()
	for range 200 {
		query := []rune(words[r.IntN(len(words))])
		query[r.IntN(len(query))] = 'd'
		var want []string
		limit := 1
		if len(query) >= longWord {
			limit = 2
		}
		for _, text := range words {
			other := []rune(text)
			d := editDistance(query, other)
			if len(query) < minCorrected || d > limit || other[0] != query[0] && (len(query) < firstLetterFrom || d > 1) {
				continue
			}
			want = append(want, fmt.Sprint(text, " ", d))
		}
		var got []string
		for _, s := range list.corrections(string(query)) {
			d := 1
			if s.weight == twoEdits {
				d = 2
			}
			if words[s.places-1] != s.text {
				t.Fatalf("%s has the places of %s", s.text, words[s.places-1])
			}
			got = append(got, fmt.Sprint(s.text, " ", d))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", string(query), got, want)
		}
		prefix := string(query[:1])
		for _, s := range list.complete(prefix) {
			if !strings.HasPrefix(s.text, prefix) {
				t.Errorf("%s is completed to %s", prefix, s.text)
			}
		}
	}
}

func TestListsCountWordsAndTerms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var words wordList
	var terms termList
	places, counts := map[string]int{}, map[uint32]termCount{}
	for range 5 {
		newPlaces, newCounts := map[string]int{}, map[uint32]termCount{}
		for _, w := range randomWords(r, 300) {
			n := r.IntN(400) - 100
			newPlaces[w] = n
			if places[w] += n; places[w] <= 0 {
				delete(places, w)
			}
			h, c := stemHash(w), termCount{max(0, n), max(0, n-r.IntN(2))}
			newCounts[h] = c
			if c = (termCount{counts[h].sections + c.sections, counts[h].pages + c.pages}); c != (termCount{}) {
				counts[h] = c
			}
		}
		words, terms = words.changed(newPlaces), terms.changed(newCounts)
	}
	words, err := readWordList(words.data, words.n)
	if err != nil {
		t.Fatal(err)
	}
	if terms, err = readTermList(terms.data, terms.n); err != nil {
		t.Fatal(err)
	}
	got, last := map[string]int{}, ""
	for r := words.readerAt(0); r.read(); {
		if string(r.word) <= last {
			t.Fatalf("%q is behind %q", r.word, last)
		}
		last = string(r.word)
		got[last] = int(r.places)
	}
	if fmt.Sprint(got) != fmt.Sprint(places) {
		t.Errorf("words %v, want %v", got, places)
	}
	if terms.n != len(counts) {
		t.Errorf("%d terms, want %d", terms.n, len(counts))
	}
	for h, want := range counts {
		if c, _, ok := terms.find(h); !ok || c != want {
			t.Errorf("term %x: %v, want %v", h, c, want)
		}
		if _, _, ok := terms.find(h + 1); ok != (counts[h+1] != termCount{}) {
			t.Errorf("term %x is found", h+1)
		}
	}
}

// Whatever a list or counts were damaged to, reading them ends without a panic.
func FuzzLists(f *testing.F) {
	w := wordListWriter{}
	for i, text := range randomWords(rand.New(rand.NewPCG(5, 6)), 40) {
		w.add(text, uint32(i+1))
	}
	terms := (&termList{}).changed(map[uint32]termCount{7: {1, 1}, 1 << 31: {300, 2}})
	f.Add(w.list().data, w.n, terms.data, terms.n)
	f.Add([]byte{0x80, 0, 1, 'a', 1}, 1, []byte{0x80, 0, 1}, 1)
	_, words := Analyze(page("a/b", "Title", "A heading", "Some text."))
	f.Add([]byte{0, 1, 'a', 1, 1, 200, 1}, 2, words[0].Counts, 3)
	f.Fuzz(func(t *testing.T, a []byte, n int, b []byte, m int) {
		newCountReader(map[uint32]uint32{1: 1}).read(b)
		if n < 0 || m < 0 || n > 1<<20 || m > 1<<20 {
			return
		}
		if l, err := readWordList(a, n); err == nil {
			l.suggest("abcdé", true)
			l.suggest("aaaaaaaaaa", true)
			l.changed(map[string]int{"abc": 1})
		}
		if l, err := readTermList(b, m); err == nil {
			l.find(7)
			l.changed(map[uint32]termCount{8: {1, 1}})
		}
	})
}
