package embedded

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sort"
)

// termCount is how many sections and pages hold a term.
type termCount struct{ sections, pages int }

// termList has the counts of terms by the hashes of their stems: in order, each
// as its distance from the one before, with its counts. It never changes.
type termList struct {
	data   []byte
	n      int
	blocks []termBlock // one every termsPerBlock terms
}

type termBlock struct{ before, at uint32 } // the hash before the block, and where it is in data

const termsPerBlock = 32

// stemHash is what terms are known by in tables and records. Among a million,
// the chance that an unknown word is taken for a known one is .0002.
func stemHash(stem string) uint32 {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(stem) {
		h = (h ^ uint64(stem[i])) * 1099511628211
	}
	return uint32(h>>32) ^ uint32(h)
}

// termListWriter makes a termList of terms that are added in order.
type termListWriter struct {
	termList
	last uint32
}

func (w *termListWriter) add(hash uint32, c termCount) {
	if w.n%termsPerBlock == 0 {
		w.blocks = append(w.blocks, termBlock{w.last, uint32(len(w.data))})
	}
	w.data = binary.AppendUvarint(w.data, uint64(hash-w.last))
	if c.sections == c.pages { // as of most
		w.data = binary.AppendUvarint(w.data, uint64(c.sections)<<1)
	} else {
		w.data = binary.AppendUvarint(w.data, uint64(c.sections)<<1|1)
		w.data = binary.AppendUvarint(w.data, uint64(c.pages))
	}
	w.last = hash
	w.n++
}

func (w *termListWriter) list() termList {
	w.data, w.blocks = slices.Clip(w.data), slices.Clip(w.blocks)
	return w.termList
}

// readTermList reads n encoded terms, and checks them.
func readTermList(data []byte, n int) (termList, error) {
	l := termList{data: data, n: n}
	at, hash := 0, uint64(0)
	for i := range n {
		if i%termsPerBlock == 0 {
			l.blocks = append(l.blocks, termBlock{uint32(hash), uint32(at)})
		}
		distance, a := binary.Uvarint(data[at:])
		if at += a; a <= 0 || distance > 1<<32-1-hash {
			return l, errors.New("a term is damaged")
		}
		hash += distance
		sections, b := binary.Uvarint(data[at:])
		if at += b; b <= 0 || sections > 1<<32-1 {
			return l, errors.New("the count of a term is damaged")
		}
		if sections&1 == 1 {
			pages, c := binary.Uvarint(data[at:])
			if at += c; c <= 0 || pages > 1<<32-1 {
				return l, errors.New("the count of a term is damaged")
			}
		}
	}
	if at != len(data) {
		return l, errors.New("there is more than terms")
	}
	return l, nil
}

// termReader reads the terms of a list in order.
type termReader struct {
	*termList
	at, next int
	hash     uint32
	termCount
}

func (l *termList) readerAt(block int) *termReader {
	if block >= len(l.blocks) {
		return &termReader{termList: l, next: l.n}
	}
	b := l.blocks[block]
	return &termReader{termList: l, at: int(b.at), next: block * termsPerBlock, hash: b.before}
}

// read reads the next term, false at the end. The data was checked.
func (r *termReader) read() bool {
	if r.next >= r.n {
		return false
	}
	distance, n := binary.Uvarint(r.data[r.at:])
	r.at += n
	r.hash += uint32(distance)
	sections, n := binary.Uvarint(r.data[r.at:])
	r.at += n
	r.sections, r.pages = int(sections>>1), int(sections>>1)
	if sections&1 == 1 {
		pages, n := binary.Uvarint(r.data[r.at:])
		r.at += n
		r.pages = int(pages)
	}
	r.next++
	return true
}

// find returns the counts of a term, and its place in the list.
func (l *termList) find(hash uint32) (c termCount, at uint32, ok bool) {
	block := sort.Search(len(l.blocks), func(i int) bool { return l.blocks[i].before >= hash }) - 1
	r := l.readerAt(max(0, block))
	for r.read() && r.hash <= hash {
		if r.hash == hash {
			return r.termCount, uint32(r.next - 1), true
		}
	}
	return termCount{}, 0, false
}

// changed returns the list with other counts, by hash.
func (l *termList) changed(by map[uint32]termCount) termList {
	hashes := slices.Sorted(maps.Keys(by))
	out := termListWriter{termList: termList{data: make([]byte, 0, len(l.data)+5*len(by))}}
	put := func(hash uint32, a, b termCount) {
		c := termCount{max(0, a.sections+b.sections), max(0, a.pages+b.pages)}
		if c != (termCount{}) {
			out.add(hash, c)
		}
	}
	for r := l.readerAt(0); r.read(); {
		for len(hashes) > 0 && hashes[0] < r.hash {
			put(hashes[0], by[hashes[0]], termCount{})
			hashes = hashes[1:]
		}
		var change termCount
		if len(hashes) > 0 && hashes[0] == r.hash {
			change = by[r.hash]
			hashes = hashes[1:]
		}
		put(r.hash, r.termCount, change)
	}
	for _, h := range hashes {
		put(h, by[h], termCount{})
	}
	return out.list()
}
