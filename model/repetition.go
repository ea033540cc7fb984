package model

import "bytes"

const (
	// A reply whose last repetitionWindow bytes repeat something of at most
	// maxPeriod bytes goes nowhere. No table, code or ASCII art of ordinary
	// length is 4 KB of exact repetition.
	repetitionWindow = 4 << 10
	maxPeriod        = 512
	// repetitionStep is how much text comes between two looks.
	repetitionStep = 512
	// probeLength is the length of the tail that is looked for further up.
	probeLength = 16
)

// repetition notices a model that repeats itself without end. Short replies
// cost it nothing: the window is made when the reply is as long.
type repetition struct {
	total  int
	n      int      // bytes of recent
	recent [64]byte // not in tail yet, which is fetched for all of them at once
	tail   []byte   // up to repetitionWindow+repetitionStep bytes
}

// add takes a piece of the reply; true means that it should be ended.
func (r *repetition) add(b []byte) bool {
	r.total += len(b)
	if r.total < repetitionWindow/2 && r.tail == nil {
		return false
	}
	for len(b) > 0 {
		n := copy(r.recent[r.n:], b)
		r.n, b = r.n+n, b[n:]
		if r.n == len(r.recent) {
			r.n = 0
			if r.look(r.recent[:]) {
				return true
			}
		}
	}
	return false
}

// look takes the next bytes of the window, and looks for a repetition in it
// every repetitionStep bytes.
func (r *repetition) look(b []byte) bool {
	if r.tail == nil {
		r.tail = make([]byte, 0, repetitionWindow+repetitionStep)
	}
	for len(b) > 0 {
		n := copy(r.tail[len(r.tail):cap(r.tail)], b)
		r.tail, b = r.tail[:len(r.tail)+n], b[n:]
		if len(r.tail) < cap(r.tail) {
			return false
		}
		window := r.tail[repetitionStep:]
		if periodic(window) {
			return true
		}
		r.tail = r.tail[:copy(r.tail, window)]
	}
	return false
}

// periodic reports whether b is something short, over and over.
func periodic(b []byte) bool {
	probe := b[len(b)-probeLength:]
	near := b[len(b)-probeLength-maxPeriod : len(b)-1]
	for {
		i := bytes.LastIndex(near, probe)
		if i < 0 {
			return false
		}
		// A string has period p exactly if it equals itself shifted by p.
		p := maxPeriod - i
		if bytes.Equal(b[p:], b[:len(b)-p]) {
			return true
		}
		near = near[:i+probeLength-1]
	}
}
