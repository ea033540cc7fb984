package model

import (
	"bytes"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// text takes a piece of content. Some servers leave reasoning at its beginning,
// in <think>…</think> (Ollama, llama.cpp, LM Studio and DeepSeek without a
// reasoning parser).
func (s *stream) text(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if s.answering {
		s.token()
		return s.answer(b)
	}
	s.held = append(s.held, b...)
	if s.closeTag == "" {
		s.held = bytes.TrimLeft(s.held, " \t\r\n")
	}
	if len(s.held) == 0 { // a model could begin with white space for ever
		return nil
	}
	s.token()
	if s.closeTag == "" {
		if s.maybeTag() {
			return nil
		}
	}
	if s.closeTag != "" {
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
			s.closeTag, s.held = "</"+name, []byte(rest)
			return false
		}
		maybe = maybe || strings.HasPrefix("<"+name, held)
	}
	s.answering = !maybe
	return maybe
}

// thought passes on reasoning up to the closing tag, which may be spread over
// several pieces.
func (s *stream) thought() error {
	if before, after, ok := bytes.Cut(s.held, []byte(s.closeTag)); ok {
		s.closeTag, s.held = "", nil
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
	if s.closeTag != "" {
		return s.reasoning(held)
	}
	return s.answer(held)
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
	if s.repeats(b) || s.tooLong() {
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
)

// repeats takes a piece of the answer. It reports whether the model repeats
// itself without end.
func (s *stream) repeats(b []byte) bool {
	s.tail = append(s.tail, b...)
	if s.unchecked += len(b); s.unchecked < maxPeriod {
		return false
	}
	s.unchecked = 0
	s.tail = slices.Delete(s.tail, 0, max(0, len(s.tail)-repetitionWindow))
	if len(s.tail) < repetitionWindow {
		return false
	}
	// A string has period p exactly if it equals itself shifted by p.
	for p := 1; p <= maxPeriod; p++ {
		if bytes.Equal(s.tail[p:], s.tail[:len(s.tail)-p]) {
			return true
		}
	}
	return false
}
