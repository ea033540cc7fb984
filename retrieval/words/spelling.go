package words

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	// maxCompletions is how many words are found that a word begins. Several may
	// have one stem.
	maxCompletions = 64
	// Words of fewer or more runes are not corrected.
	minCorrected, maxCorrected = 3, 40
	// From longWord runes on, a word may have two edits.
	longWord = 8
	// Below firstLetterFrom runes, the first letter is taken for right.
	firstLetterFrom = 5
)

// Weights of words that are not as typed: at a distance of one or two edits, and
// completed.
const (
	oneEdit    = .89
	twoEdits   = .5
	Completion = .9
)

// Suggestion is a word that another one may mean.
type Suggestion struct {
	Text   string
	Places int // sections and pages that have it
	Weight float32
}

func isLetter(r rune) bool { return r >= utf8.RuneSelf || 'a' <= r && r <= 'z' }

// Suggest returns the words that an unknown one may mean, likeliest first:
// those one edit away, from eight letters on two, and if it is being typed
// those that it begins.
func (l *List) Suggest(word string, typing bool) []Suggestion {
	out := l.corrections(word)
	if typing {
		out = append(out, l.Complete(word)...)
	}
	slices.SortFunc(out, byLikelihood)
	return out
}

// corrections returns the words at a small distance, in order. Words that begin
// as one does that is too far away are left out without a look.
func (l *List) corrections(word string) (out []Suggestion) {
	d := newDistances(word)
	if n := len(d.of); n < minCorrected || n > maxCorrected {
		return nil
	}
	last := ""
	for i := 0; i < len(l.ends); {
		other := l.word(i)
		far := d.compare(other, common(last, other))
		last = other
		if far > 0 {
			i = l.after(i, other[:far])
			continue
		}
		if edits := d.distance(); edits <= d.limit {
			weight := float32(oneEdit)
			if edits == 2 {
				weight = twoEdits
			}
			out = append(out, Suggestion{other, int(l.places[i]), weight})
		}
		i++
	}
	return out
}

// common returns how many bytes two words begin with in common.
func common(a, b string) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Complete returns the words that a word begins, likeliest first.
func (l *List) Complete(word string) (out []Suggestion) {
	first := sort.Search(len(l.ends), func(i int) bool { return l.word(i) > word })
	for i := first; i < len(l.ends) && strings.HasPrefix(l.word(i), word); i++ {
		s := Suggestion{l.word(i), int(l.places[i]), Completion}
		at, _ := slices.BinarySearchFunc(out, s, byLikelihood)
		if at < maxCompletions {
			out = slices.Insert(out[:min(len(out), maxCompletions-1)], at, s)
		}
	}
	return out
}

func byLikelihood(a, b Suggestion) int {
	return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Places, a.Places), strings.Compare(a.Text, b.Text))
}

// distances compares words in alphabetical order with one word: by insertions,
// deletions, substitutions and transpositions of neighbors. What a word shares
// with the one before is not compared again.
type distances struct {
	of    []rune
	most  int
	limit int    // most, or less if the first letter differs
	other []rune // those of the other word that were compared
	ends  []int  // where they end, in bytes
	// rows are the distances of the beginnings of other from those of of.
	rows [maxCorrected + 4][maxCorrected + 3]uint8
}

func newDistances(word string) *distances {
	d := &distances{of: []rune(word), most: 1}
	if len(d.of) >= longWord {
		d.most = 2
	}
	for j := range d.rows[0] {
		d.rows[0][j] = uint8(j)
	}
	return d
}

// compare compares another word, which shares some bytes with the last one. It
// returns how many of its first bytes are too far away, 0 if they are not.
func (d *distances) compare(word string, shared int) (far int) {
	n := len(d.ends)
	for n > 0 && d.ends[n-1] > shared {
		n--
	}
	d.other, d.ends = d.other[:n], d.ends[:n]
	at := 0
	if n > 0 {
		at = d.ends[n-1]
	}
	for at < len(word) {
		r, size := utf8.DecodeRuneInString(word[at:])
		at += size
		d.other, d.ends = append(d.other, r), append(d.ends, at)
		if !d.extend() {
			return at
		}
	}
	return 0
}

// extend computes the row of the last rune of other. It reports whether some
// word that begins with other may be within the limit.
func (d *distances) extend() bool {
	i := len(d.other)
	if i == 1 {
		// Few typing errors are in the first letter.
		d.limit = d.most
		if d.other[0] != d.of[0] {
			if d.limit = 1; len(d.of) < firstLetterFrom {
				return false
			}
		}
	}
	lo, hi := max(1, i-d.limit), min(len(d.of), i+d.limit)
	if lo > hi {
		return false
	}
	const far = 100
	row, last := &d.rows[i], &d.rows[i-1]
	row[lo-1] = far
	if lo == 1 {
		row[0] = uint8(i)
	}
	best := row[lo-1]
	r := d.other[i-1]
	for j := lo; j <= hi; j++ {
		v := last[j-1]
		if d.of[j-1] != r {
			v++
		}
		if j < i+d.limit {
			v = min(v, last[j]+1)
		}
		v = min(v, row[j-1]+1)
		if i > 1 && j > 1 && r == d.of[j-2] && d.other[i-2] == d.of[j-1] {
			v = min(v, d.rows[i-2][j-2]+1)
		}
		row[j] = v
		best = min(best, v)
	}
	return int(best) <= d.limit
}

// distance returns that of the word that was compared, if it is at most the
// limit.
func (d *distances) distance() int {
	if len(d.other) > len(d.of)+d.limit || len(d.of) > len(d.other)+d.limit {
		return d.limit + 1
	}
	return int(d.rows[len(d.other)][len(d.of)])
}
