package model

import "hash/maphash"

// template is what stands around the token in a chunk. An endpoint sends the
// same bytes around every token of a reply, or nearly every: where they are
// those of a chunk that was walked, only the token is looked at. They are
// known by their hashes, with a seed that nobody outside knows: to keep them
// would cost a stream some hundred bytes, and each token the time to fetch
// them into the processor's cache.
type template struct {
	size       int    // of the head: what stands before the token's first byte; 0 for no template
	head, tail uint64 // hashes; the tail begins with the token's closing quote
}

var templateSeed = maphash.MakeSeed()

// match returns the token of a chunk that has the template around it.
func (t *template) match(b []byte) (token []byte, ok bool) {
	if t.size == 0 || len(b) <= t.size || maphash.Bytes(templateSeed, b[:t.size]) != t.head {
		return nil, false
	}
	end, ok := text(b, t.size)
	if !ok || maphash.Bytes(templateSeed, b[end:]) != t.tail {
		return nil, false
	}
	return b[t.size:end], true
}

// learn keeps what stands around the token of a chunk that was walked. One
// with anything else in it, such as usage, is no template.
func (t *template) learn(b []byte, p *piece) {
	t.size = 0
	if p.text == nil || p.reasoning != nil || p.usage != nil {
		return
	}
	t.size = cap(b) - cap(p.text) // the token is a part of b
	t.head = maphash.Bytes(templateSeed, b[:t.size])
	t.tail = maphash.Bytes(templateSeed, b[t.size+len(p.text):])
}
