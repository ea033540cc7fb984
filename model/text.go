package model

import (
	"bytes"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// phase is the part of the content that is being read. Some servers leave
// reasoning at its beginning, in <think>…</think> (Ollama, llama.cpp, LM Studio
// and DeepSeek without a reasoning parser).
type phase int

const (
	undecided phase = iota // nothing but white space or the beginning of a tag
	thinking               // inside a tag
	answering
)

// text takes a piece of content, the inside of a JSON string.
func (s *stream) text(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.token()
	if s.phase == answering {
		return s.answer(b)
	}
	s.held = appendPlain(s.held, b)
	if s.phase == undecided {
		s.held = trimSpace(s.held)
		if s.maybeTag() {
			return nil
		}
	}
	if s.phase == thinking {
		return s.thought()
	}
	return s.release()
}

// maybeTag looks for an opening tag at the beginning of held. It returns true
// if held may be the first part of one.
func (s *stream) maybeTag() bool {
	held := string(s.held)
	maybe := false
	for _, name := range []string{"think>", "thinking>", "thought>"} { // Gemini writes thought
		if rest, ok := strings.CutPrefix(held, "<"+name); ok {
			s.phase, s.closeTag, s.held = thinking, "</"+name, []byte(rest)
			return false
		}
		maybe = maybe || strings.HasPrefix("<"+name, held)
	}
	if !maybe {
		s.phase = answering
	}
	return maybe
}

// thought passes on reasoning up to the closing tag, which may be spread over
// several pieces.
func (s *stream) thought() error {
	if before, after, ok := bytes.Cut(s.held, []byte(s.closeTag)); ok {
		s.phase, s.held = undecided, nil
		if err := s.reasoning(before); err != nil {
			return err
		}
		return s.text(after)
	}
	keep := min(len(s.held), len(s.closeTag)-1)
	for !bytes.HasSuffix(s.held, []byte(s.closeTag[:keep])) {
		keep--
	}
	n := len(s.held) - keep
	err := s.reasoning(s.held[:n])
	s.held = append(s.held[:0], s.held[n:]...)
	return err
}

// release passes on held.
func (s *stream) release() error {
	held := s.held
	s.held = nil
	if s.phase == thinking {
		return s.reasoning(held)
	}
	return s.answer(held)
}

// trimSpace removes white space, escaped or not, from the beginning.
func trimSpace(b []byte) []byte {
	for {
		switch {
		case len(b) > 0 && b[0] == ' ':
			b = b[1:]
		case len(b) > 1 && b[0] == '\\' && (b[1] == 'n' || b[1] == 'r' || b[1] == 't'):
			b = b[2:]
		default:
			return b
		}
	}
}

// appendPlain appends the inside of a JSON string with <, > and / unescaped:
// servers written in Go escape the first two.
func appendPlain(to, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] != '\\':
			to = append(to, b[i])
			continue
		case b[i+1] == '/':
			to = append(to, '/')
		case len(b)-i >= 6 && bytes.EqualFold(b[i:i+6], []byte(`\u003c`)):
			to = append(to, '<')
			i += 4
		case len(b)-i >= 6 && bytes.EqualFold(b[i:i+6], []byte(`\u003e`)):
			to = append(to, '>')
			i += 4
		default:
			to = append(to, b[i], b[i+1])
		}
		i++
	}
	return to
}

// answer passes on a piece of the answer. It returns errEnough if the model
// repeats itself without end, or ignores the limit.
func (s *stream) answer(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.deltas++
	s.bytes += len(b)
	if err := s.send(assistant.Delta{Text: b}); err != nil {
		return err
	}
	if s.repetition.add(b) || s.tooLong() {
		return errEnough
	}
	return nil
}

// tooLong reports whether the answer exceeds maxTokens. Tokens are estimated:
// most endpoints send one in each piece, the average token is shorter than 5
// bytes, and few are longer than 16.
func (s *stream) tooLong() bool {
	n := s.maxTokens
	return n > 0 && (s.deltas > n && s.bytes > 5*n || s.deltas > 4*n || s.bytes > 16*n)
}

// reasoning passes on a piece of reasoning. It returns errEnough if a model
// thinks without end.
func (s *stream) reasoning(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.token()
	s.thoughts += len(b)
	if err := s.send(assistant.Delta{Reasoning: b}); err != nil {
		return err
	}
	if s.maxTokens > 0 && s.thoughts > 16*(s.maxTokens+reasoningAllowance) {
		return errEnough
	}
	return nil
}

// send calls each. Read calls it with an empty delta before the next wait.
func (s *stream) send(d assistant.Delta) error {
	s.delta = d
	s.delta.More = true
	s.sent, s.unflushed = true, true
	s.sendErr = s.each(&s.delta)
	return s.sendErr
}

const (
	// A reply whose last repetitionWindow bytes repeat something of at most
	// maxPeriod bytes is ended. No table, code or ASCII art of ordinary
	// length is 4 kB of exact repetition.
	repetitionWindow = 4 << 10
	maxPeriod        = 512
	// repetitionStep is how much text arrives between two checks.
	repetitionStep = 512
	// probeLength is the length of the end of the text that is searched for
	// earlier in it.
	probeLength = 16
)

// repetition recognizes a model that repeats itself without end.
type repetition struct {
	skipped int    // bytes: a short reply needs no window
	tail    []byte // up to repetitionWindow+repetitionStep bytes
}

// add takes a piece of the reply. It returns true if the reply should end.
func (r *repetition) add(b []byte) bool {
	if r.tail == nil {
		if r.skipped += len(b); r.skipped < repetitionWindow/2 {
			return false
		}
		r.tail = make([]byte, 0, repetitionWindow+repetitionStep)
	}
	for len(b) > 0 {
		n := copy(r.tail[len(r.tail):cap(r.tail)], b)
		r.tail, b = r.tail[:len(r.tail)+n], b[n:]
		if len(r.tail) < cap(r.tail) {
			break
		}
		window := r.tail[repetitionStep:]
		if periodic(window) {
			return true
		}
		r.tail = r.tail[:copy(r.tail, window)]
	}
	return false
}

// periodic reports whether b is something short, repeated.
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
