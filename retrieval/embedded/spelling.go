package embedded

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// maxSuggestions is how many known words an unknown one stands for.
const maxSuggestions = 8

// spelling holds the words of a generation as they are written, for queries
// that hold words the index doesn't know.
type spelling struct {
	text  []string // sorted
	count []uint32 // sections that hold it
	// order are the words that a typo may mean by their number of runes:
	// those of n runes stand at start[n] to start[n+1]. letter goes with it,
	// see letters. A query's unknown word looks at all of its length and
	// some more, so these lie close together.
	order  []uint32
	letter []uint64
	start  [longestTypo + 2]uint32
	// meant are the suggestions made lately, by a hash of their word: readers
	// repeat the words that a documentation does not have, and to find what
	// they may mean costs more than the rest of a search.
	meant [1 << 10]atomic.Pointer[meant]
}

type meant struct {
	word        string
	suggestions []suggestion
}

var meantSeed = maphash.MakeSeed()

// longestTypo is the longest word, in runes, that an unknown one may stand
// for.
const longestTypo = 42

func newSpelling(g *generation) *spelling {
	count := make([]uint32, len(g.lex.words))
	for _, c := range g.counts {
		for i := range c.words {
			count[c.words[i].word]++
		}
		for i := range c.head {
			count[c.head[i].word]++
		}
	}
	type entry struct {
		text  string
		count uint32
	}
	all := make([]entry, 0, len(g.lex.words))
	for i, n := range count {
		if w := g.lex.words[i].text; n > 0 && strings.ContainsFunc(w, isLetter) {
			all = append(all, entry{w, n})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.text, b.text) })
	s := &spelling{}
	for _, e := range all {
		if n := len(s.text); n > 0 && s.text[n-1] == e.text {
			s.count[n-1] += e.count // the same word in another language
			continue
		}
		s.text = append(s.text, e.text)
		s.count = append(s.count, e.count)
	}
	s.sortByLength()
	return s
}

// sortByLength makes order, letter and start.
func (s *spelling) sortByLength() {
	var next [longestTypo + 2]uint32 // first the number of words, by length
	for _, t := range s.text {
		if n := utf8.RuneCountInString(t); n <= longestTypo {
			next[n]++
		}
	}
	sum := uint32(0)
	for n := range next {
		s.start[n] = sum
		next[n], sum = sum, sum+next[n]
	}
	s.order = make([]uint32, sum)
	s.letter = make([]uint64, sum)
	for i, t := range s.text {
		if n := utf8.RuneCountInString(t); n <= longestTypo {
			s.order[next[n]] = uint32(i)
			s.letter[next[n]] = letters(t)
			next[n]++
		}
	}
}

func isLetter(r rune) bool { return r >= utf8.RuneSelf || 'a' <= r && r <= 'z' }

// letters returns a bit for every letter of a word: words within an edit
// distance of d differ in 2d bits at most.
func letters(w string) uint64 {
	var set uint64
	for _, r := range w {
		set |= 1 << (uint32(r) & 63)
	}
	return set
}

type suggestion struct {
	text   string
	weight float32
	count  uint32
}

// suggest returns the known words that an unknown one may stand for, best
// first: those at a Damerau distance of 1, from eight letters on 2, and
// where complete is set those that it begins.
func (s *spelling) suggest(word string, complete bool, w *weights, out []suggestion) []suggestion {
	slot := &s.meant[maphash.String(meantSeed, word)%uint64(len(s.meant))]
	if m := slot.Load(); m != nil && m.word == word {
		out = append(out[:0], m.suggestions...)
	} else {
		out = s.near(word, w, out[:0])
		if len(out) <= 4*maxSuggestions {
			slot.Store(&meant{strings.Clone(word), slices.Clone(out)})
		}
	}
	if complete {
		return s.complete(word, w.completion, out)
	}
	return likeliest(out)
}

// near appends the words at a small distance, in no order.
func (s *spelling) near(word string, w *weights, out []suggestion) []suggestion {
	n := utf8.RuneCountInString(word)
	first, _ := utf8.DecodeRuneInString(word)
	if n >= 3 && n <= 40 {
		limit := 1
		if n >= 8 {
			limit = 2
		}
		var a, b [maxWord + 8]rune
		wr := appendRunes(a[:0], word)
		set := letters(word)
		from, to := s.start[n-limit], s.start[n+limit+1]
		for k, l := range s.letter[from:to] {
			if bits.OnesCount64(set^l) > 2*limit {
				continue
			}
			i := s.order[int(from)+k]
			t := s.text[i]
			tr := appendRunes(b[:0], t)
			d := distance(wr, tr, limit)
			if d > limit {
				continue
			}
			weight := w.typo1
			if d == 2 {
				weight = w.typo2
			}
			if f, _ := utf8.DecodeRuneInString(t); f != first {
				// Few typos are in the first letter.
				if n < 5 || d > 1 {
					continue
				}
				weight *= w.firstLetter
			}
			out = append(out, suggestion{t, weight, s.count[i]})
		}
	}
	return out
}

// complete appends the words that a word begins, likeliest first with those
// before.
func (s *spelling) complete(word string, weight float32, out []suggestion) []suggestion {
	for i := sort.SearchStrings(s.text, word); i < len(s.text) && strings.HasPrefix(s.text[i], word); i++ {
		if s.text[i] != word {
			out = append(out, suggestion{s.text[i], weight, s.count[i]})
		}
	}
	return likeliest(out)
}

func likeliest(out []suggestion) []suggestion {
	slices.SortFunc(out, func(a, b suggestion) int {
		if a.weight != b.weight {
			if a.weight > b.weight {
				return -1
			}
			return 1
		}
		if a.count != b.count {
			return int(b.count) - int(a.count)
		}
		return strings.Compare(a.text, b.text)
	})
	return out
}

func appendRunes(to []rune, s string) []rune {
	for _, r := range s {
		if len(to) == cap(to) {
			break
		}
		to = append(to, r)
	}
	return to
}

// distance is the number of insertions, deletions, substitutions and
// transpositions of neighbours between two words, or limit+1.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	const far = 100
	var rows [3][maxWord + 10]int
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
