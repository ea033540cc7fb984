package model

import "bytes"

// maxTemplate bounds what a template keeps of a chunk, in bytes. Chunks have
// some 300 around their token.
const maxTemplate = 1 << 10

// template is what stands around the token in a chunk. An endpoint sends the
// same bytes around every token of a reply, or nearly every: where they are
// those of the chunk before, which was walked, only the token is looked at.
type template struct {
	head, tail []byte // up to the token's first byte, from its closing quote
}

// match returns the token of a chunk that has the template around it.
func (t *template) match(b []byte) (token []byte, ok bool) {
	if len(t.head) == 0 || !bytes.HasPrefix(b, t.head) {
		return nil, false
	}
	end, ok := text(b, len(t.head))
	if !ok || !bytes.Equal(b[end:], t.tail) {
		return nil, false
	}
	return b[len(t.head):end], true
}

// learn keeps what stands around the token of a chunk that was walked. One
// with anything else in it, such as usage, is no template.
func (t *template) learn(b []byte, p *piece) {
	t.head, t.tail = t.head[:0], t.tail[:0]
	if p.text == nil || p.reasoning != nil || p.usage != nil || len(b)-len(p.text) > maxTemplate {
		return
	}
	start := cap(b) - cap(p.text) // the token is a part of b
	t.head = append(t.head, b[:start]...)
	t.tail = append(t.tail, b[start+len(p.text):]...)
}
