package assistant

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leak watches an answer for the words of our own rules, and for the key of
// its fences. Letters and digits alone are compared, so that line breaks,
// quotes or list marks hide nothing. While some words in a row are those of a
// rule, the text is held back; it is released when they go on differently.
//
// It finds recitals. A translation, a summary or an encoding of the rules is
// not found; the rules hold nothing that would be worth it.
type leak struct {
	key string
	*recitals
	pos  int // in text after the current match, 0 without one
	size int // letters matched

	recent [shingle]byte // the last letters, folded; a ring
	next   int           // in recent
	n      int           // letters so far
	roll   uint64        // hash of recent

	keyed int // bytes of key matched
	held  []byte
	out   []byte
}

const (
	shingle = 20 // letters in a row that begin a match
	hold    = 32 // letters in a row after which text is held back: fewer stand in plain answers, too
	recital = 44 // letters in a row that are a recital
	keyHold = 6  // bytes of the key after which text is held back
)

// recitals are the letters and digits of the rules as a site's prompts hold
// them, folded, and the places behind each shingle of them.
type recitals struct {
	text string
	at   map[uint64]int
	// maybe has the bit of every shingle's rolling hash. It is asked for
	// every letter of every answer; the map would be a fifth of a reply's
	// whole cost.
	maybe [1 << maybeLog / 64]uint64
}

// maybeLog is the logarithm of bits enough that one letter in fifty needs the
// map; they are 32 kB.
const maybeLog = 18

// The rolling hash is a polynomial in rollBase, modulo 2^64, whose terms
// leave after shingle letters.
const rollBase = 0x9e3779b97f4a7c15

var rollLast = func() uint64 {
	p := uint64(1)
	for range shingle {
		p *= rollBase
	}
	return p
}()

// rolled is the hash after a letter came and another one left.
func rolled(h uint64, came, left byte) uint64 {
	return h*rollBase + uint64(came) - uint64(left)*rollLast
}

// maybeAt is where a hash has its bit.
func maybeAt(h uint64) (word int, bit uint64) {
	i := h * 0xd6e8feb86659fd93 >> (64 - maybeLog)
	return int(i / 64), 1 << (i % 64)
}

// recitals returns those of the site, made once.
func (a *Assistant) recitals() *recitals {
	a.reciteOnce.Do(func() {
		var b strings.Builder
		for _, r := range strings.Join(a.rules(), "") + toolRule {
			if f, ok := foldLetter(r); ok {
				b.WriteByte(f)
			}
		}
		text := b.String()
		k := &recitals{text: text, at: make(map[uint64]int, len(text))}
		h := uint64(0)
		for i := range len(text) {
			left := byte(0)
			if i >= shingle {
				left = text[i-shingle]
			}
			h = rolled(h, text[i], left)
			if end := i + 1; end >= shingle {
				k.at[maphash.String(leakSeed, text[end-shingle:end])] = end
				word, bit := maybeAt(h)
				k.maybe[word] |= bit
			}
		}
		a.recite = k
	})
	return a.recite
}

var leakSeed = maphash.MakeSeed()

// folded are ASCII's letters and digits as they are compared, 0 for the rest.
var folded = func() (t [utf8.RuneSelf]byte) {
	for c := byte('a'); c <= 'z'; c++ {
		t[c], t[c-32] = c, c
	}
	for c := byte('0'); c <= '9'; c++ {
		t[c] = c
	}
	return t
}()

// foldLetter returns what is compared of a character.
func foldLetter(r rune) (byte, bool) {
	switch {
	case r < 0:
		return 0, false
	case r < utf8.RuneSelf:
		f := folded[r]
		return f, f != 0
	case unicode.IsLetter(r):
		return 0xff, true
	}
	return 0, false
}

// scan takes a piece of escaped text. held is what was held back and is now
// released, to be passed on before pass. found tells of a recital.
func (k *leak) scan(b []byte) (pass, held []byte, found bool) {
	holding := len(k.held) > 0
	safe := 0 // of b, up to here it may pass
	released := holding
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		switch {
		case b[i] == '\\':
			r, n = unit(b[i:])
		case b[i] >= utf8.RuneSelf:
			r, n = utf8.DecodeRune(b[i:]) // pieces hold whole characters
		}
		if k.step(r) {
			return nil, nil, true
		}
		i += n
		if k.size < hold && k.keyed < keyHold {
			safe = i
		}
	}
	switch {
	case safe == 0: // all of it belongs to a match in progress
		k.held = append(k.held, b...)
		return nil, nil, false
	case released:
		k.out = append(k.out[:0], k.held...)
		held = k.out
		k.held = k.held[:0]
	}
	k.held = append(k.held, b[safe:]...)
	return b[:safe], held, false
}

// step takes a character; true means that this is a recital.
func (k *leak) step(r rune) bool {
	if len(k.key) > 0 && r > 0 && r < utf8.RuneSelf {
		switch {
		case byte(r) == k.key[k.keyed]:
			k.keyed++
		case byte(r) == k.key[0]:
			k.keyed = 1
		default:
			k.keyed = 0
		}
		if k.keyed == len(k.key) {
			return true
		}
	}
	f, ok := foldLetter(r)
	if !ok {
		return false // spaces, signs, emoji and what has no width hide nothing
	}
	k.roll = rolled(k.roll, f, k.recent[k.next])
	k.recent[k.next] = f
	if k.next++; k.next == shingle {
		k.next = 0
	}
	k.n++
	if k.size > 0 {
		if k.pos < len(k.text) && k.text[k.pos] == f {
			k.pos++
			k.size++
			return k.size >= recital
		}
		k.size = 0
	}
	if word, bit := maybeAt(k.roll); k.maybe[word]&bit != 0 && k.n >= shingle {
		k.match()
	}
	return false
}

// match begins a match if the last letters are those of a rule.
func (k *leak) match() {
	var window [shingle]byte
	copy(window[:], k.recent[k.next:])
	copy(window[shingle-k.next:], k.recent[:k.next])
	if pos, ok := k.at[maphash.Bytes(leakSeed, window[:])]; ok {
		k.pos, k.size = pos, shingle
	}
}

// flush releases what is held at the end of the text.
func (k *leak) flush() []byte {
	h := k.held
	k.held = nil
	k.size, k.keyed = 0, 0
	return h
}
