package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant"
	openai "github.com/sashabaranov/go-openai"
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

func newStream(src io.Reader, each func(*assistant.Delta) error) *stream {
	s := &stream{
		in: newLines(src), each: each, idle: time.Hour,
		describe: func(k Kind, m string, err error) error { return &Error{Kind: k, Message: m, Err: err} },
	}
	s.watch.begin(time.Hour, func() error { return nil }, func(error) {})
	s.in.beforeRead = s.beforeRead
	return s
}

func TestAPlainTokenCostsNoAllocation(t *testing.T) {
	for name, field := range map[string]string{"text": "content", "reasoning": "reasoning_content"} {
		t.Run(name, func(t *testing.T) {
			n := 0
			s := newStream(&endless{event: []byte(strings.Replace(tokenEvent, `"content"`, `"`+field+`"`, 1))}, func(d *assistant.Delta) error {
				n++
				return nil
			})
			defer s.watch.stop()
			s.in.first()
			const tokens = 1000
			one := func() {
				for range 2 * tokens { // an event and its empty line
					line, err := s.in.next()
					if err != nil {
						t.Fatal(err)
					}
					if len(line) > 0 {
						if _, err := s.data(trim(line[len(dataField):])); err != nil && !errors.Is(err, errEnough) {
							t.Fatal(err)
						}
					}
				}
			}
			one() // the read buffer and the window of the repetition guard are made once a reply
			for range 5 {
				one()
			}
			if allocs := testing.AllocsPerRun(10, one); allocs != 0 {
				t.Errorf("%v allocations in %d tokens", allocs, tokens)
			}
			if n < 10*tokens {
				t.Errorf("only %d tokens came", n)
			}
		})
	}
}

func TestTheWalkerTakesTheUsualShapes(t *testing.T) {
	for name, body := range map[string]string{
		"OpenAI":   tokenEvent,
		"vLLM":     `data: {"id":"c","choices":[{"index":0,"delta":{"content":"ok"},"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":{"prompt_tokens":11,"total_tokens":13,"completion_tokens":2}}`,
		"Azure":    `data: {"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"delta":{"content":"Grüß"},"finish_reason":null,"index":0,"logprobs":null}],"model":"gpt-4o"}`,
		"DeepSeek": `data: {"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"hm"},"logprobs":null,"finish_reason":null}],"usage":null}`,
		"Ollama":   `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"\u003cb\u003e"},"finish_reason":null}]}`,
	} {
		var p piece
		if !p.walk(trim([]byte(strings.TrimPrefix(body, "data: ")))) || len(p.text)+len(p.reasoning) == 0 {
			t.Errorf("%s goes the slow way", name)
		}
	}
}

// What the walker takes is JSON, and means the same to encoding/json.
func FuzzWalk(f *testing.F) {
	f.Add([]byte(strings.TrimPrefix(tokenEvent, "data: ")))
	f.Add([]byte(`{"choices":[{"delta":{"content":"\ud83d"},"x":[1,{"a":"\\\""}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p piece
		if !p.walk(b) {
			return
		}
		for _, s := range [][]byte{p.text, p.reasoning} {
			if q := append(append([]byte{'"'}, s...), '"'); !json.Valid(q) || !utf8.Valid(s) {
				t.Errorf("%q is not the inside of a JSON string", s)
			}
		}
		// encoding/json's own structs ignore the case of keys; maps don't.
		var c struct{ Delta map[string]json.RawMessage }
		var outer map[string]json.RawMessage
		var choices []map[string]json.RawMessage
		if json.Unmarshal(b, &outer) != nil || json.Unmarshal(outer["choices"], &choices) != nil || len(choices) == 0 ||
			bytes.Count(b, []byte(`"delta"`)) > 1 || json.Unmarshal(choices[0]["delta"], &c.Delta) != nil {
			return // skipped values are not validated; a delta given twice is read twice
		}
		var text, want string
		_ = json.Unmarshal(append(append([]byte{'"'}, p.text...), '"'), &text)
		if _ = json.Unmarshal(c.Delta["content"], &want); text != want {
			t.Errorf("text %q, encoding/json reads %q in %q", text, want, b)
		}
	})
}

// Whatever an endpoint sends: no panic, and pieces that may be put between
// quotes.
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
				if !json.Valid(append(append([]byte{'"'}, text...), '"')) || !utf8.Valid(text) {
					t.Fatalf("%q is not the inside of a JSON string", text)
				}
			}
			return nil
		})
		defer s.watch.stop()
		defer s.in.release()
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
	b.Run("reader", func(b *testing.B) {
		b.ReportAllocs()
		n, want := 0, b.N
		s := newStream(&endless{event: []byte(tokenEvent)}, func(*assistant.Delta) error {
			if n++; n == want {
				return errStop
			}
			return nil
		})
		defer s.watch.stop()
		b.ResetTimer()
		s.in.first()
		for n < want {
			line, _ := s.in.next()
			if len(line) > 0 {
				if s.piece.walk(trim(line[len(dataField):])) {
					s.delta.Text = s.piece.text
					_ = s.send()
				}
			}
		}
	})
	b.Run("slow path", func(b *testing.B) {
		b.ReportAllocs()
		s := newStream(&endless{event: []byte(tokenEvent)}, func(*assistant.Delta) error { return nil })
		defer s.watch.stop()
		line := trim([]byte(strings.TrimPrefix(tokenEvent, "data: ")))
		for b.Loop() {
			s.repetition = repetition{}
			if _, err := s.slow(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-openai Recv", func(b *testing.B) {
		b.ReportAllocs()
		config := openai.DefaultConfig("")
		config.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(&endless{event: []byte(tokenEvent)}), Request: r}, nil
		})}
		stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(context.Background(), openai.ChatCompletionRequest{Model: "x"})
		if err != nil {
			b.Fatal(err)
		}
		defer stream.Close()
		for b.Loop() {
			if _, err := stream.Recv(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A line is handed on as soon as its end has come, however the ends are cut
// off from their lines.
func TestALineComesAsSoonAsItEnds(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	got := make(chan string)
	go func() {
		l := newLines(r)
		for {
			line, err := l.next()
			if err != nil {
				close(got)
				return
			}
			got <- string(line)
		}
	}()
	for _, c := range []struct {
		write []string
		want  string
	}{
		{[]string{"data: a\n"}, "data: a"},
		{[]string{"\n"}, ""},
		{[]string{"d", "ata: b", "\n"}, "data: b"},
		{[]string{"\r"}, ""},
		{[]string{"\n", "data: c\r"}, "data: c"},
		{[]string{"\ndata: d\n"}, "data: d"},
		{[]string{strings.Repeat("x", 2*smallBuffer), "\n"}, strings.Repeat("x", 2*smallBuffer)},
		{[]string{"data: e\n"}, "data: e"},
	} {
		for _, s := range c.write {
			if _, err := io.WriteString(w, s); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case line := <-got:
			if line != c.want {
				t.Fatalf("after %.20q came %.20q, want %.20q", c.write, line, c.want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("nothing came after %.20q", c.write)
		}
	}
}
