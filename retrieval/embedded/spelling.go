package embedded

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxSuggestions is how many known words an unknown one is searched by.
	maxSuggestions = 8
	// maxCompletions is how many words are found that a word begins. Several may
	// have one stem.
	maxCompletions = 8 * maxSuggestions
	// Words of fewer or more runes are not corrected.
	minCorrected, maxCorrected = 3, 40
	// From longWord runes on, a word may have two edits.
	longWord = 8
	// Below firstLetterFrom runes, the first letter is taken for right.
	firstLetterFrom = 5
)

// suggestion is a word that another one may mean.
type suggestion struct {
	spelled
	weight float32
}

func isLetter(r rune) bool { return r >= utf8.RuneSelf || 'a' <= r && r <= 'z' }

// suggest returns the words that an unknown one may mean, likeliest first:
// those one edit away, from eight letters on two, and if it is being typed
// those that it begins.
func (l *wordList) suggest(word string, typing bool) []suggestion {
	out := l.corrections(word)
	if typing {
		out = append(out, l.complete(word)...)
	}
	return likeliestFirst(out)
}

// corrections returns the words at a small distance, in no order. Words that
// begin as one does that is too far away are left out without a look.
func (l *wordList) corrections(word string) (out []suggestion) {
	d := newDistances(word)
	if n := len(d.of); n < minCorrected || n > maxCorrected {
		return nil
	}
	r := l.readerAt(0)
	far := 0 // how many bytes of r.word are too far away, 0: they are not
	for {
		if far > 0 && r.next%wordsPerBlock == 0 {
			r.skipBlocks(far)
		}
		shared, ok := r.readShared()
		if !ok {
			return out
		}
		if far > 0 && shared >= far {
			continue
		}
		if far = d.compare(r.word, shared); far > 0 {
			continue
		}
		edits, weight := d.distance(), float32(oneEdit)
		if edits > d.limit {
			continue
		}
		if edits == 2 {
			weight = twoEdits
		}
		if d.other[0] != d.of[0] {
			// Few typing errors are in the first letter.
			if len(d.of) < firstLetterFrom || edits > 1 {
				continue
			}
			weight *= firstLetter
		}
		out = append(out, suggestion{spelled{string(r.word), r.places}, weight})
	}
}

// skipBlocks moves a reader at the beginning of a block past those whose words
// all begin with so many bytes of the last one.
func (r *wordReader) skipBlocks(prefix int) {
	block := r.next / wordsPerBlock
	from := block
	for block+1 < len(r.blocks) && bytes.HasPrefix(r.first(block+1), r.word[:prefix]) {
		block++
	}
	if block > from {
		r.at, r.next = int(r.blocks[block]), block*wordsPerBlock
	}
}

// readShared is read. It returns how many bytes the word shares with the last
// one that was read.
func (r *wordReader) readShared() (shared int, ok bool) {
	if r.next%wordsPerBlock != 0 { // its length in common is encoded
		if r.next >= r.n {
			return 0, false
		}
		n, _ := binary.Uvarint(r.data[r.at:])
		return int(n), r.read()
	}
	var last [2 * maxWord]byte
	n := copy(last[:], r.word)
	ok = r.read()
	for shared < min(n, len(r.word)) && r.word[shared] == last[shared] {
		shared++
	}
	for shared > 0 && shared < len(r.word) && !utf8.RuneStart(r.word[shared]) {
		shared--
	}
	return shared, ok
}

// complete returns the words that a word begins, likeliest first.
func (l *wordList) complete(word string) (out []suggestion) {
	for r := l.readerAt(l.blockOf(word)); r.read(); {
		if !bytes.HasPrefix(r.word, []byte(word)) {
			if string(r.word) > word {
				break
			}
			continue
		}
		if len(r.word) == len(word) || len(out) == maxCompletions && r.places <= out[maxCompletions-1].places {
			continue
		}
		if len(out) == maxCompletions {
			out = out[:maxCompletions-1]
		}
		s := suggestion{spelled{string(r.word), r.places}, completion}
		i, _ := slices.BinarySearchFunc(out, s, byLikelihood)
		out = slices.Insert(out, i, s)
	}
	return out
}

func byLikelihood(a, b suggestion) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.places, a.places), strings.Compare(a.text, b.text))
}

func likeliestFirst(out []suggestion) []suggestion {
	slices.SortFunc(out, byLikelihood)
	return out
}

// distances compares words in alphabetical order with one word: by insertions,
// deletions, substitutions and transpositions of neighbors. What a word shares
// with the one before is not compared again.
type distances struct {
	of    []rune
	limit int
	other []rune // those of the other word that were compared
	ends  []int  // where they end, in bytes
	// rows are the distances of the beginnings of other from those of of.
	rows [maxCorrected + 4][maxCorrected + 3]uint8
}

func newDistances(word string) *distances {
	d := &distances{of: []rune(word), limit: 1}
	if len(d.of) >= longWord {
		d.limit = 2
	}
	for j := range d.rows[0] {
		d.rows[0][j] = uint8(j)
	}
	return d
}

// compare compares another word, which shares some bytes with the last one. It
// returns how many of its first bytes are too far away, 0 if they are not.
func (d *distances) compare(word []byte, shared int) (far int) {
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
		r, size := utf8.DecodeRune(word[at:])
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
