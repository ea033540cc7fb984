package model

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant"
)

const tokenEvent = `data: {"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion.chunk","created":1741569952,"model":"gpt-4.1-2025-04-14","service_tier":"default","system_fingerprint":"fp_0a1b2c","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"

// endless repeats an event for as long as it is read.
type endless struct {
	event []byte
	at    int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		m := copy(b[n:], e.event[e.at:])
		n, e.at = n+m, (e.at+m)%len(e.event)
	}
	return n, nil
}

var errStop = errors.New("enough for this test")

// newStream reads src as the body of an endpoint's answer.
func newStream(src io.Reader, each func(*assistant.Delta) error) *stream {
	e, err := newEndpoint(Endpoint{URL: "http://model.test/v1", Model: "fake"}, http.DefaultClient)
	if err != nil {
		panic(err)
	}
	s := &stream{e: e, each: each, onFirst: func() {}, body: src, idle: time.Hour, limit: time.Hour, deadline: time.Now().Add(time.Hour)}
	s.timer = time.AfterFunc(time.Hour, func() {})
	return s
}

func TestATokenCostsAtMostTenAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("runs with the race detector, which allocates, too")
	}
	for name, field := range map[string]string{"text": "content", "reasoning": "reasoning_content"} {
		t.Run(name, func(t *testing.T) {
			const tokens = 1000
			n, before, allocs := 0, runtime.MemStats{}, runtime.MemStats{}
			src := &endless{event: []byte(strings.Replace(tokenEvent, `"content"`, `"`+field+`"`, 1))}
			var s *stream
			s = newStream(src, func(d *assistant.Delta) error {
				s.tail, s.bytes, s.deltas = s.tail[:0], 0, 0
				if !d.More {
					return nil
				}
				switch n++; n {
				case tokens:
					runtime.ReadMemStats(&before)
				case 11 * tokens:
					runtime.ReadMemStats(&allocs)
					return errStop
				}
				return nil
			})
			defer s.timer.Stop()
			if err := s.run(); !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			if n := allocs.Mallocs - before.Mallocs; n > 10*10*tokens {
				t.Errorf("%d allocations in %d tokens", n, 10*tokens)
			}
		})
	}
}

// Whatever an endpoint sends: no panic, and pieces of whole characters.
func FuzzStream(f *testing.F) {
	files, _ := filepath.Glob("testdata/dialects/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(200))
		f.Add(b, uint8(3))
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\\ud8\"}]}}]}\n\n"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		s := newStream(&stepReader{b, int(step)%64 + 1}, func(d *assistant.Delta) error {
			for _, text := range [][]byte{d.Text, d.Reasoning} {
				if !utf8.Valid(text) {
					t.Fatalf("%q is not UTF-8", text)
				}
			}
			return nil
		})
		defer s.timer.Stop()
		s.maxTokens = 100
		if s.run() == nil {
			c := s.completion()
			if c.Reason == "" {
				t.Error("a whole reply without a reason")
			}
		}
	})
}

type stepReader struct {
	b    []byte
	step int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b[:min(r.step, len(r.b))])
	r.b = r.b[n:]
	return n, nil
}

// One op is one token, on the same bytes, without a network.
func BenchmarkPerToken(b *testing.B) {
	b.Run("stream", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		var s *stream
		s = newStream(&endless{event: []byte(tokenEvent)}, func(d *assistant.Delta) error {
			s.tail, s.bytes, s.deltas = s.tail[:0], 0, 0
			if d.More {
				if n++; n == b.N {
					return errStop
				}
			}
			return nil
		})
		defer s.timer.Stop()
		if err := s.run(); !errors.Is(err, errStop) {
			b.Fatal(err)
		}
	})
	b.Run("chunk", func(b *testing.B) {
		b.ReportAllocs()
		s := newStream(nil, func(*assistant.Delta) error { return nil })
		defer s.timer.Stop()
		line := []byte(strings.TrimSpace(strings.TrimPrefix(tokenEvent, "data: ")))
		for b.Loop() {
			s.tail, s.bytes, s.deltas = s.tail[:0], 0, 0
			if err := s.data(line); err != nil {
				b.Fatal(err)
			}
		}
	})
}
