package retrieval

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// StemCache remembers stems made lately, by a hash of their word: queries and
// the texts that are compared with them repeat their words, and a stemmer
// costs some hundred times what looking costs. L names a language. The zero
// value is empty; it may be used by several goroutines.
type StemCache[L comparable] [1 << 13]atomic.Pointer[stemOf[L]]

type stemOf[L comparable] struct {
	word, stem string
	language   L
}

// maxStemmed is the longest word, in bytes, that is worth remembering.
const maxStemmed = 64

var stemSeed = maphash.MakeSeed()

// Stem returns the stem of a word, made by reduce if it is not remembered.
func (c *StemCache[L]) Stem(word string, language L, reduce func(word string) string) string {
	slot := &c[maphash.String(stemSeed, word)%uint64(len(c))]
	if s := slot.Load(); s != nil && s.word == word && s.language == language {
		return s.stem
	}
	stem := reduce(word)
	if len(word) <= maxStemmed {
		// Both may be part of a page, which is not to be held by them.
		word, stem = strings.Clone(word), strings.Clone(stem)
		slot.Store(&stemOf[L]{word, stem, language})
	}
	return stem
}
