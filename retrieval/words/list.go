package words

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// List has the words of a site in order, each with the number of places that
// have it. It never changes.
type List struct {
	text   string   // the words, one behind the other
	ends   []uint32 // where each ends
	places []uint32
}

// NewList takes words with their places. It removes those from the map that have
// no place, or no letter: nothing is corrected or completed to them.
func NewList(places map[string]uint32) *List {
	maps.DeleteFunc(places, func(word string, n uint32) bool { return n == 0 || !listed(word) })
	return (&List{}).with(places)
}

// listed reports whether a list has a word.
func listed(word string) bool { return strings.ContainsFunc(word, isLetter) }

// with returns a list in which words have more places, or less where a sum
// overflows.
func (l *List) with(more map[string]uint32) *List {
	words := slices.Sorted(maps.Keys(more))
	size := len(l.text)
	for _, word := range words {
		size += len(word)
	}
	var text strings.Builder
	text.Grow(size)
	next := &List{ends: make([]uint32, 0, len(l.ends)+len(words)), places: make([]uint32, 0, len(l.ends)+len(words))}
	put := func(word string, places uint32) {
		if places > 0 {
			text.WriteString(word)
			next.ends, next.places = append(next.ends, uint32(text.Len())), append(next.places, places)
		}
	}
	i := 0
	for _, word := range words {
		for ; i < len(l.ends) && l.word(i) < word; i++ {
			put(l.word(i), l.places[i])
		}
		places := more[word]
		if i < len(l.ends) && l.word(i) == word {
			places += l.places[i]
			i++
		}
		put(word, places)
	}
	for ; i < len(l.ends); i++ {
		put(l.word(i), l.places[i])
	}
	next.text = text.String()
	return next
}

func (l *List) word(i int) string {
	start := uint32(0)
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.text[start:l.ends[i]]
}

// Has reports whether a word is in the list.
func (l *List) Has(word string) bool {
	i := sort.Search(len(l.ends), func(i int) bool { return l.word(i) >= word })
	return i < len(l.ends) && l.word(i) == word
}

// after returns the first word behind number i that doesn't begin with a prefix,
// as that one does. Most of these ranges are short.
func (l *List) after(i int, prefix string) int {
	behind := func(n int) bool { return i+n >= len(l.ends) || !strings.HasPrefix(l.word(i+n), prefix) }
	step := 1
	for !behind(step) {
		i += step
		step *= 2
	}
	return i + sort.Search(step, behind)
}
