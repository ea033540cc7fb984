package embedded

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	// maxSuggestions is how many known words an unknown one is searched by.
	maxSuggestions = 8
	// Words of fewer or more runes are not corrected.
	minCorrected, maxCorrected = 3, 40
	// From longWord runes on, a word may have two edits.
	longWord = 8
	// Below firstLetterFrom runes, the first letter is taken for right.
	firstLetterFrom = 5
)

// spelling holds the words of a generation as they are written, for queries
// with words that the index doesn't know.
type spelling struct {
	words []spelled // sorted
	// byLength are the words that a correction may give, by their runes.
	byLength [maxCorrected + 3][]correction
}

type spelled struct {
	text   string
	places uint32 // sections and pages that have it
}

type correction struct {
	letters uint64 // see lettersOf
	word    uint32 // in words
}

// suggestion is a word that another one may mean.
type suggestion struct {
	spelled
	weight float32
}

// newSpelling takes the words of a lexicon that are in any place.
func newSpelling(words []word, places []uint32) *spelling {
	s := &spelling{words: make([]spelled, 0, len(words))}
	for i, n := range places {
		if text := words[i].Text; n > 0 && strings.ContainsFunc(text, isLetter) {
			s.words = append(s.words, spelled{text: text, places: n})
		}
	}
	slices.SortFunc(s.words, func(a, b spelled) int { return strings.Compare(a.text, b.text) })
	kept := s.words[:0]
	for _, w := range s.words {
		if n := len(kept); n > 0 && kept[n-1].text == w.text {
			kept[n-1].places += w.places // the same word in another language
			continue
		}
		kept = append(kept, w)
	}
	s.words = slices.Clip(kept)
	var lengths [len(s.byLength)]int
	for _, w := range s.words {
		if n := utf8.RuneCountInString(w.text); n < len(lengths) {
			lengths[n]++
		}
	}
	for n := range s.byLength {
		s.byLength[n] = make([]correction, 0, lengths[n])
	}
	for i, w := range s.words {
		if n := utf8.RuneCountInString(w.text); n < len(s.byLength) {
			s.byLength[n] = append(s.byLength[n], correction{lettersOf(w.text), uint32(i)})
		}
	}
	return s
}

func isLetter(r rune) bool { return r >= utf8.RuneSelf || 'a' <= r && r <= 'z' }

// lettersOf returns a set of the letters of a word. Those of words within n
// edits differ in 2n at most.
func lettersOf(w string) uint64 {
	var set uint64
	for _, r := range w {
		set |= 1 << (uint32(r) & 63)
	}
	return set
}

// suggest returns the words that an unknown one may mean, likeliest first:
// those one edit away, from eight letters on two, and if it is being typed
// those that it begins.
func (s *spelling) suggest(word string, typing bool) []suggestion {
	out := s.corrections(word)
	if typing {
		out = append(out, s.complete(word)...)
	}
	return likeliestFirst(out)
}

// corrections returns the words at a small distance, in no order.
func (s *spelling) corrections(word string) (out []suggestion) {
	n := utf8.RuneCountInString(word)
	if n < minCorrected || n > maxCorrected {
		return nil
	}
	limit := 1
	if n >= longWord {
		limit = 2
	}
	first, _ := utf8.DecodeRuneInString(word)
	runes, letters := []rune(word), lettersOf(word)
	for _, sameLength := range s.byLength[n-limit : n+limit+1] {
		for _, c := range sameLength {
			if bits.OnesCount64(letters^c.letters) > 2*limit {
				continue
			}
			w := s.words[c.word]
			var buf [maxWord]rune
			d := distance(runes, appendRunes(buf[:0], w.text), limit)
			if d > limit {
				continue
			}
			weight := float32(oneEdit)
			if d == 2 {
				weight = twoEdits
			}
			if f, _ := utf8.DecodeRuneInString(w.text); f != first {
				// Few typing errors are in the first letter.
				if n < firstLetterFrom || d > 1 {
					continue
				}
				weight *= firstLetter
			}
			out = append(out, suggestion{w, weight})
		}
	}
	return out
}

// complete returns the words that a word begins, likeliest first.
func (s *spelling) complete(word string) (out []suggestion) {
	from := sort.Search(len(s.words), func(i int) bool { return s.words[i].text >= word })
	for i := from; i < len(s.words) && strings.HasPrefix(s.words[i].text, word); i++ {
		if s.words[i].text != word {
			out = append(out, suggestion{s.words[i], completion})
		}
	}
	return likeliestFirst(out)
}

func likeliestFirst(out []suggestion) []suggestion {
	slices.SortFunc(out, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.places, a.places), strings.Compare(a.text, b.text))
	})
	return out
}

func appendRunes(to []rune, s string) []rune {
	for _, r := range s {
		to = append(to, r)
	}
	return to
}

// distance is the number of insertions, deletions, substitutions and
// transpositions of neighbors between two words, or limit+1.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	const far = 100
	var rows [3][maxCorrected + 3]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := 0; j <= len(b); j++ {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		lo, hi := max(1, i-limit), min(len(b), i+limit)
		row[lo-1] = far
		if lo == 1 {
			row[0] = i
		}
		best := row[lo-1]
		for j := lo; j <= hi; j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := last[j-1] + cost
			if j < i+limit {
				d = min(d, last[j]+1)
			}
			d = min(d, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			best = min(best, d)
		}
		if best > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
