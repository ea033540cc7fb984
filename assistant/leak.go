package assistant

import (
	"encoding/binary"
	"math/bits"
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
	n      uint // letters so far
	due    int  // letters until recent is looked at again
	size   int  // letters matched
	keyed  int  // bytes of key matched
	held   []byte
	recent [hold]byte // the last letters, folded; a ring
	opens  byte       // key begins with it; 0 without a key
	*recitals

	pos int // in text after the current match, 0 without one
	key string
	out []byte
}

const (
	shingle = 20 // letters in a row that begin a match
	hold    = 32 // letters in a row after which text is held back: fewer stand in plain answers, too
	// stride is how many letters come between two looks: few enough that of
	// hold letters in a row a whole shingle has been looked at.
	stride  = hold - shingle
	recital = 44 // letters in a row that are a recital
	keyHold = 6  // bytes of the key after which text is held back
)

func newLeak(key string, rules *recitals) leak {
	k := leak{key: key, recitals: rules}
	if key != "" {
		k.opens = key[0]
	}
	return k
}

// recitals are the letters and digits of the rules as a site's prompts hold
// them, folded, and the places behind each shingle of them.
type recitals struct {
	text string
	at   map[[shingle]byte]int
	// known has a bit for each of at's keys, by its hash: nearly all of an
	// answer's letters are looked up in these 8 KB alone.
	known [1 << 10]uint64
}

// bit is where a shingle's bit stands in known.
func bit(b *[shingle]byte) (word, mask uint64) {
	h := binary.LittleEndian.Uint64(b[:])*0x9e3779b97f4a7c15 ^
		bits.RotateLeft64(binary.LittleEndian.Uint64(b[8:])*0xc2b2ae3d27d4eb4f, 21) ^
		uint64(binary.LittleEndian.Uint32(b[16:]))*0x165667b19e3779f9
	h = h * 0x9e3779b97f4a7c15 >> 48
	return h >> 6, 1 << (h & 63)
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
		k := &recitals{text: text, at: make(map[[shingle]byte]int, len(text))}
		for end := shingle; end <= len(text); end++ {
			letters := [shingle]byte([]byte(text[end-shingle : end]))
			k.at[letters] = end
			word, mask := bit(&letters)
			k.known[word] |= mask
		}
		a.recite = k
	})
	return a.recite
}

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
	released := len(k.held) > 0
	safe := 0 // of b, up to here it may pass
	for i := 0; i < len(b); {
		if k.size == 0 && k.keyed == 0 {
			n := k.quiet(b[i:])
			if i += n; n > 0 {
				safe = i
				continue
			}
		}
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

// quiet takes the ASCII letters and signs, up to the next that is to be looked
// at, of a text where nothing matches; most text is such.
func (k *leak) quiet(b []byte) int {
	n, due := k.n, k.due
	i := 0
	for ; i < len(b); i++ {
		c := b[i]
		if c >= utf8.RuneSelf || c == '\\' || c == k.opens {
			break
		}
		f := folded[c]
		if f == 0 {
			continue
		}
		if due <= 1 {
			break // step looks at the last letters
		}
		k.recent[n%hold] = f
		n++
		due--
	}
	k.n, k.due = n, due
	return i
}

// step takes a character; true means that this is a recital.
func (k *leak) step(r rune) bool {
	if (k.keyed > 0 || r == rune(k.opens)) && r > 0 && r < utf8.RuneSelf {
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
	k.recent[k.n%hold] = f
	k.n++
	k.due--
	look := k.due <= 0
	if look {
		k.due = stride
	}
	if k.size > 0 {
		if k.pos < len(k.text) && k.text[k.pos] == f {
			k.pos++
			k.size++
			return k.size >= recital
		}
		k.size = 0
	}
	if look && k.n >= shingle {
		k.match()
	}
	return false
}

// match begins a match if the last letters are those of a rule, with as many
// of those before them as are, too.
func (k *leak) match() {
	var letters [shingle]byte
	for i := range uint(shingle) {
		letters[i] = k.recent[(k.n-shingle+i)%hold]
	}
	if word, mask := bit(&letters); k.known[word]&mask == 0 {
		return
	}
	pos, ok := k.at[letters]
	if !ok {
		return
	}
	k.pos, k.size = pos, shingle
	for uint(k.size) < min(k.n, hold) && k.size < pos && k.text[pos-k.size-1] == k.recent[(k.n-uint(k.size)-1)%hold] {
		k.size++
	}
}

// flush releases what is held at the end of the text.
func (k *leak) flush() []byte {
	h := k.held
	k.held = nil
	k.size, k.keyed = 0, 0
	return h
}
