package moved

import (
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// span is how many words in a row are one shingle.
const span = 4

// eachShingle calls do with the hashes of the shingles of a section: of each
// span of its words, without case and punctuation. A shorter section is one.
func eachShingle(s *retrieval.Section, do func(uint32)) {
	var last [span]uint64
	words := 0
	word := func(h uint64) {
		copy(last[:], last[1:])
		last[span-1] = h
		if words++; words >= span {
			do(mix(&last))
		}
	}
	eachWord(s.Heading, word)
	eachWord(s.Text, word)
	if words > 0 && words < span {
		do(mix(&last))
	}
}

func mix(words *[span]uint64) uint32 {
	h := uint64(0)
	for _, w := range words {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return uint32(h >> 32) //nolint:gosec // its upper half
}

// lowered has the ASCII letters in lower case and digits, 0 for what is no part
// of a word.
var lowered = func() (t [utf8.RuneSelf]byte) {
	for c := range byte(utf8.RuneSelf) {
		if r := unicode.ToLower(rune(c)); unicode.IsLetter(r) || unicode.IsDigit(r) {
			t[c] = byte(r)
		}
	}
	return t
}()

// eachWord calls do with the hash of each word of a text. In scripts without
// spaces, each letter is a word.
func eachWord(text string, do func(uint64)) {
	const seed, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h, in := uint64(seed), false
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			i++
			if c = lowered[c]; c != 0 {
				h, in = (h^uint64(c))*prime, true
			} else if in {
				do(h)
				h, in = seed, false
			}
			continue
		}
		c, size := utf8.DecodeRuneInString(text[i:])
		letter := unicode.IsLetter(c) || unicode.IsNumber(c) || unicode.IsMark(c)
		alone := letter && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
		c = unicode.ToLower(c)
		if in && (!letter || alone) {
			do(h)
			h, in = seed, false
		}
		if letter {
			h, in = (h^uint64(c))*prime, true //nolint:gosec // a rune is not negative
		}
		i += size
	}
	if in {
		do(h)
	}
}

// shinglesOf appends the shingles of a page.
func shinglesOf(d *retrieval.Document, to []uint32) []uint32 {
	for i := range d.Sections {
		eachShingle(&d.Sections[i], func(h uint32) { to = append(to, h) })
	}
	return to
}

// lowest returns the n lowest of different shingles, in order.
func lowest(shingles []uint32, n int) []uint32 {
	if limit := uint64(2*n) << 32 / uint64(max(1, len(shingles))); limit < 1<<32 { // most likely n of them are below
		var few []uint32
		for _, h := range shingles {
			if uint64(h) < limit {
				few = append(few, h)
			}
		}
		slices.Sort(few)
		if few = slices.Compact(few); len(few) >= n {
			return few[:n]
		}
	}
	all := slices.Sorted(slices.Values(shingles))
	all = slices.Compact(all)
	return slices.Clip(all[:min(n, len(all))])
}

// sketched is how many shingles are remembered of a page.
const sketched = 24

func encodeSketch(shingles []uint32) (sketch []byte) {
	for _, h := range shingles[:min(len(shingles), sketched)] {
		sketch = binary.LittleEndian.AppendUint32(sketch, h)
	}
	return sketch
}

func decodeSketch(sketch []byte) (shingles []uint32) {
	for ; len(sketch) >= 4; sketch = sketch[4:] {
		shingles = append(shingles, binary.LittleEndian.Uint32(sketch))
	}
	return shingles
}
