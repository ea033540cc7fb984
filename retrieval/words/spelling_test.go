package words

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
	places := map[string]uint32{}
	for i, word := range words {
		places[word] = uint32(i + 1)
	}
	list := NewList(places)
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
			if s.Weight == twoEdits {
				d = 2
			}
			if words[s.Places-1] != s.Text {
				t.Fatalf("%s has the places of %s", s.Text, words[s.Places-1])
			}
			got = append(got, fmt.Sprint(s.Text, " ", d))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %q, want %q", string(query), got, want)
		}
		prefix := string(query[:1])
		begun := 0
		for _, text := range words {
			if strings.HasPrefix(text, prefix) && text != prefix {
				begun++
			}
		}
		completions := list.Complete(prefix)
		if len(completions) != min(begun, maxCompletions) {
			t.Errorf("%s has %d completions of %d", prefix, len(completions), begun)
		}
		for _, s := range completions {
			if !strings.HasPrefix(s.Text, prefix) {
				t.Errorf("%s is completed to %s", prefix, s.Text)
			}
		}
	}
}

func FuzzSuggestions(f *testing.F) {
	words := randomWords(rand.New(rand.NewPCG(5, 6)), 40)
	places := map[string]uint32{}
	for _, word := range words {
		places[word] = 1
	}
	list := NewList(places)
	f.Add("abcdé", true)
	f.Add("\xffaaaaaaaa設", false)
	f.Fuzz(func(t *testing.T, word string, typing bool) {
		for _, s := range list.Suggest(word, typing) {
			if !slices.Contains(words, s.Text) {
				t.Errorf("%q may mean %q, which is no word", word, s.Text)
			}
		}
	})
}
