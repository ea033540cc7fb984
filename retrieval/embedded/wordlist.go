package embedded

import (
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// wordList has words in order, each with the number of its places. Each word
// is encoded as its length in common with the one before, the rest, and the
// number. It never changes.
type wordList struct {
	data   []byte
	n      int
	blocks []uint32 // where every wordsPerBlock-th word begins, which is encoded as a whole
}

const wordsPerBlock = 16

// spelled is a word as it is written.
type spelled struct {
	text   string
	places uint32 // sections and pages that have it
}

// wordListWriter makes a wordList of words that are added in order.
type wordListWriter struct {
	wordList
	last string
}

func (w *wordListWriter) add(word string, places uint32) {
	shared := 0
	if w.n%wordsPerBlock == 0 {
		w.blocks = append(w.blocks, uint32(len(w.data)))
	} else {
		for shared < min(len(word), len(w.last)) && word[shared] == w.last[shared] {
			shared++
		}
		for shared > 0 && shared < len(word) && !utf8.RuneStart(word[shared]) {
			shared--
		}
	}
	w.data = binary.AppendUvarint(w.data, uint64(shared))
	w.data = binary.AppendUvarint(w.data, uint64(len(word)-shared))
	w.data = append(w.data, word[shared:]...)
	w.data = binary.AppendUvarint(w.data, uint64(places))
	w.last = word
	w.n++
}

// list returns what was written.
func (w *wordListWriter) list() wordList {
	w.data, w.blocks = slices.Clip(w.data), slices.Clip(w.blocks)
	return w.wordList
}

// readWordList reads n encoded words, and checks them.
func readWordList(data []byte, n int) (wordList, error) {
	l := wordList{data: data, n: n}
	at := 0
	length := 0 // of the last word
	for i := range n {
		if i%wordsPerBlock == 0 {
			l.blocks, length = append(l.blocks, uint32(at)), 0
		}
		shared, a := binary.Uvarint(data[at:])
		if a <= 0 || shared > uint64(length) || length == 0 && a != 1 {
			return l, errors.New("a word is damaged")
		}
		at += a
		more, b := binary.Uvarint(data[at:])
		if b <= 0 || more > 4*maxWord || uint64(len(data)-at-b) < more {
			return l, errors.New("a word is too long")
		}
		at += b + int(more)
		length = int(shared) + int(more)
		places, c := binary.Uvarint(data[at:])
		if c <= 0 || places > 1<<32-1 {
			return l, errors.New("the number of a word is damaged")
		}
		at += c
	}
	if at != len(data) {
		return l, errors.New("there is more than words")
	}
	return l, nil
}

// wordReader reads the words of a list in order.
type wordReader struct {
	*wordList
	at, next int // in data; the number of the next word
	word     []byte
	places   uint32
}

// readerAt returns a reader that begins with a block.
func (l *wordList) readerAt(block int) *wordReader {
	r := &wordReader{wordList: l, at: len(l.data), next: l.n, word: make([]byte, 0, maxWord)}
	if block < len(l.blocks) {
		r.at, r.next = int(l.blocks[block]), block*wordsPerBlock
	}
	return r
}

// read reads the next word, false at the end. The data was checked.
func (r *wordReader) read() bool {
	if r.next >= r.n {
		return false
	}
	shared, n := binary.Uvarint(r.data[r.at:])
	r.at += n
	more, n := binary.Uvarint(r.data[r.at:])
	r.at += n
	r.word = append(r.word[:shared], r.data[r.at:r.at+int(more)]...)
	r.at += int(more)
	places, n := binary.Uvarint(r.data[r.at:])
	r.at += n
	r.places = uint32(places)
	r.next++
	return true
}

// first returns the first word of a block.
func (l *wordList) first(block int) []byte {
	at := int(l.blocks[block]) + 1 // it shares nothing
	length, n := binary.Uvarint(l.data[at:])
	return l.data[at+n : at+n+int(length)]
}

// blockOf returns the block in which a word is, if the list has it.
func (l *wordList) blockOf(word string) int {
	return max(0, sort.Search(len(l.blocks), func(i int) bool { return string(l.first(i)) > word })-1)
}

// changed returns the list with other numbers of places, by word.
func (l *wordList) changed(by map[string]int) wordList {
	words := make([]string, 0, len(by))
	for w := range by {
		words = append(words, w)
	}
	slices.Sort(words)
	out := wordListWriter{wordList: wordList{data: make([]byte, 0, len(l.data)+8*len(by))}}
	put := func(word string, places int) {
		if places > 0 {
			out.add(word, uint32(places))
		}
	}
	for r := l.readerAt(0); r.read(); {
		for len(words) > 0 && words[0] < string(r.word) {
			put(words[0], by[words[0]])
			words = words[1:]
		}
		places := int(r.places)
		if len(words) > 0 && words[0] == string(r.word) {
			places += by[words[0]]
			words = words[1:]
		}
		put(string(r.word), places)
	}
	for _, w := range words {
		put(w, by[w])
	}
	return out.list()
}

// newWordList takes the words of a lexicon that are in any place.
func newWordList(words []word, places []uint32) wordList {
	list := make([]spelled, 0, len(words))
	for i, n := range places {
		if text := words[i].Text; n > 0 && correctable(text) {
			list = append(list, spelled{text, n})
		}
	}
	slices.SortFunc(list, func(a, b spelled) int { return strings.Compare(a.text, b.text) })
	var out wordListWriter
	for i := 0; i < len(list); {
		w := list[i]
		for i++; i < len(list) && list[i].text == w.text; i++ {
			w.places += list[i].places // the same word in another language
		}
		out.add(w.text, w.places)
	}
	return out.list()
}

// correctable reports whether a word is one that others are corrected to or
// completed to.
func correctable(word string) bool { return strings.ContainsFunc(word, isLetter) }
