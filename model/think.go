package model

import (
	"bytes"
)

// Where in a reply's content the stream is, seen from the reasoning that
// some servers leave in it: <think>…</think> at the start (Ollama,
// llama.cpp, LM Studio and DeepSeek without a reasoning parser).
const (
	undecided = iota // nothing but white space or the start of a tag yet
	thinking         // inside the tag
	trimming         // behind it: white space before the answer is dropped
	answering        // the answer: passed on without a look
)

var thinkTags = [][2][]byte{
	{[]byte("<think>"), []byte("</think>")},
	{[]byte("<thinking>"), []byte("</thinking>")},
	{[]byte("<thought>"), []byte("</thought>")}, // Gemini
}

// text takes a piece of content, escaped.
func (s *stream) text(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	s.life(true)
	if s.phase == answering {
		return s.answer(b)
	}
	return s.early(b)
}

// early takes a piece that comes before the answer, or begins it.
func (s *stream) early(b []byte) error {
	switch s.phase {
	case undecided:
		if len(s.held) == 0 {
			if t := trimSpace(b); len(t) > 0 && t[0] != '<' && t[0] != '\\' {
				s.phase = answering
				return s.answer(b)
			}
		}
		s.held = appendPlain(s.held, b)
		t := trimSpace(s.held)
		for _, tag := range thinkTags {
			if bytes.HasPrefix(t, tag[0]) {
				s.phase, s.closing = thinking, tag[1]
				s.held = append(s.held[:0], t[len(tag[0]):]...)
				return s.thought(nil)
			}
			if bytes.HasPrefix(tag[0], t) && len(s.held) < 256 {
				return nil // wait for the rest of the tag
			}
		}
		return s.release()
	case thinking:
		return s.thought(b)
	default:
		if b = trimSpace(b); len(b) == 0 {
			return nil
		}
		s.phase = answering
		return s.answer(b)
	}
}

// thought takes a piece of content inside the tag and looks for its end,
// which may be spread over several pieces.
func (s *stream) thought(b []byte) error {
	s.held = appendPlain(s.held, b)
	i := bytes.Index(s.held, s.closing)
	if i >= 0 {
		if err := s.reasoning(s.held[:i]); err != nil {
			return err
		}
		rest := s.held[i+len(s.closing):]
		s.held, s.phase = nil, trimming
		return s.text(rest)
	}
	keep := min(len(s.held), len(s.closing)-1)
	for !bytes.HasPrefix(s.closing, s.held[len(s.held)-keep:]) {
		keep--
	}
	n := len(s.held) - keep
	if err := s.reasoning(s.held[:n]); err != nil {
		return err
	}
	s.held = append(s.held[:0], s.held[n:]...)
	return nil
}

// release passes on what was held back.
func (s *stream) release() error {
	held := s.held
	s.held = nil
	if s.phase == thinking {
		return s.reasoning(held)
	}
	s.phase = answering
	return s.answer(held)
}

// trimSpace drops white space, escaped or not, from the front.
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

// appendPlain appends b with < > and / unescaped, which servers written in
// Go escape. The result is still the inside of a JSON string.
func appendPlain(to, b []byte) []byte {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return append(to, b...)
		}
		to, b = append(to, b[:i]...), b[i:]
		n := 2
		if b[1] == 'u' && len(b) >= 6 {
			n = 6
		}
		switch esc := b[:n]; {
		case b[1] == '/':
			to = append(to, '/')
		case n == 6 && bytes.EqualFold(esc, []byte(`\u003c`)):
			to = append(to, '<')
		case n == 6 && bytes.EqualFold(esc, []byte(`\u003e`)):
			to = append(to, '>')
		default:
			to = append(to, esc...)
		}
		b = b[n:]
	}
	return to
}
