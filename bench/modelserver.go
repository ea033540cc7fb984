package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// pace is how the fake model answers. POST /pace sets it.
type pace struct {
	tokens int
	rate   float64       // tokens a second; 0: no limit
	burst  int           // tokens a write
	wait   time.Duration // before the first token
	linger time.Duration // after the first token, before the others: an idle stream
}

func (p pace) String() string {
	return fmt.Sprintf("%d/%g/%d/%d/%d", p.tokens, p.rate, p.burst, p.wait.Milliseconds(), p.linger.Milliseconds())
}

func parsePace(s string) (p pace, err error) {
	var wait, linger int
	if _, err := fmt.Sscanf(s, "%d/%g/%d/%d/%d", &p.tokens, &p.rate, &p.burst, &wait, &linger); err != nil {
		return p, fmt.Errorf("pace %q: %w", s, err)
	}
	p.wait, p.linger = time.Duration(wait)*time.Millisecond, time.Duration(linger)*time.Millisecond
	if p.burst < 1 {
		p.burst = 1
	}
	return p, nil
}

// setPace sets the fake model's pace.
func setPace(ctx context.Context, addr string, p pace) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/pace", strings.NewReader(p.String()))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the model's server answers %s", res.Status)
	}
	return nil
}

// markEvery is how many tokens have one mark: tokens of real replies are some
// five bytes of sentences, and marks are longer.
const markEvery = 10

// marks is the number of marks in a reply.
func (p pace) marks() int { return (p.tokens + markEvery - 1) / markEvery }

// markLength is the length of a mark: its number and the time of its write, both
// in hexadecimal. It shows the client what was lost, duplicated or reordered,
// and the latency of a token. It has no bytes with a meaning in Markdown.
//
//	~00a1.0f3c9a77e2;
const markLength = 1 + 4 + 1 + 10 + 1

const hexDigits = "0123456789abcdef"

// clock returns the time in microseconds, modulo ten hexadecimal digits.
func clock() uint64 { return uint64(time.Now().UnixMicro()) & (1<<40 - 1) }

func appendMark(b []byte, n int, at uint64) []byte {
	b = append(b, '~')
	for shift := 12; shift >= 0; shift -= 4 {
		b = append(b, hexDigits[n>>shift&15])
	}
	b = append(b, '=')
	for shift := 36; shift >= 0; shift -= 4 {
		b = append(b, hexDigits[at>>shift&15])
	}
	return append(b, ';')
}

// answerWords are the words of answers as in a JSON string: prose with code,
// lists and other scripts, and no links.
var answerWords = []string{
	"To", " serve", " a", " folder", ",", " set", " its", " root", " in", " the", " site", " block", ":", "\\n\\n", "1.", " Open", " the",
	" file", " `config", ".json", "`", " and", " look", " for", " \\\"listen", "\\\"", ".", "\\n", "2.", " Add", " the", " option", " `max", "_size", "`", ",",
	" für", " größere", " files", " —", " 日本", "語", " too", ".", "\\n\\n", "```", "json", "\\n", "  root", ": 12", "\\n", "```", "\\n\\n", "Then", " reload", ".",
}

const (
	chunkHead = `data: {"id":"chatcmpl-Q1W2E3R4T5Z6U7I8O9P0A1S2D3F4G","object":"chat.completion.chunk","created":1763640000,"model":"bench-large-2026-01-01","service_tier":"default","system_fingerprint":"fp_1a2b3c4d5e","choices":[{"index":0,"delta":`
	chunkTail = `,"logprobs":null,"finish_reason":null}]}` + "\n\n"
)

// serveModel runs a model server that needs little CPU time: it implements only
// as much of HTTP/1.1 as the suite uses, with one write for each burst of tokens.
func serveModel(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: model ADDRESS")
	}
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	s := &modelServer{}
	s.pace.Store(&pace{tokens: 300, burst: 1})
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go s.serve(conn)
	}
}

// modelServer answers every question at the current pace.
type modelServer struct{ pace atomic.Pointer[pace] }

func (s *modelServer) serve(conn net.Conn) {
	defer conn.Close()
	br := bufio.NewReaderSize(conn, 4096)
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		arrived := clock()
		body, err := io.ReadAll(io.LimitReader(req.Body, 8<<20))
		if err != nil {
			return
		}
		switch {
		case req.URL.Path == "/pace":
			p, perr := parsePace(string(body))
			if perr == nil {
				s.pace.Store(&p)
			}
			_, err = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		case strings.HasSuffix(req.URL.Path, "/chat/completions"):
			err = s.chat(conn, body, arrived)
		default:
			const models = `{"object":"list","data":[{"id":"bench","object":"model"}]}`
			_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(models), models)
		}
		if err != nil || req.Close {
			return
		}
	}
}

func (s *modelServer) chat(conn net.Conn, body []byte, arrived uint64) error {
	p := *s.pace.Load()
	var in struct {
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	_ = json.Unmarshal(body, &in)
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"); err != nil {
		return err
	}
	out := make([]byte, 0, 16+p.burst*512)
	events := make([]byte, 0, p.burst*512)
	write := func() error {
		out = strconv.AppendInt(out[:0], int64(len(events)), 16)
		out = append(out, "\r\n"...)
		out = append(out, events...)
		out = append(out, "\r\n"...)
		events = events[:0]
		_, err := conn.Write(out)
		return err
	}
	time.Sleep(p.wait)
	events = append(events, chunkHead+`{"role":"assistant","content":"","refusal":null}`+chunkTail...)
	if err := write(); err != nil {
		return err
	}
	begin := time.Now()
	for i := range p.tokens {
		if p.rate > 0 && i > 0 && i%p.burst == 0 {
			at := begin.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
			if d := time.Until(at); d > 0 {
				time.Sleep(d)
			}
		}
		stamp := arrived // of the first token: when the request had come
		if i > 0 {
			stamp = clock()
		}
		events = append(events, chunkHead+`{"content":"`...)
		events = append(events, answerWords[i%len(answerWords)]...)
		if i%markEvery == 0 {
			events = appendMark(events, i/markEvery, stamp)
		}
		events = append(events, `"}`+chunkTail...)
		if (i+1)%p.burst == 0 || i == p.tokens-1 {
			if err := write(); err != nil {
				return err
			}
		}
		if i == 0 {
			time.Sleep(p.linger)
			begin = begin.Add(p.linger)
		}
	}
	events = append(events, chunkHead+`{},"logprobs":null,"finish_reason":"stop"}]}`+"\n\n"...)
	if in.StreamOptions.IncludeUsage {
		events = fmt.Appendf(events, `data: {"id":"chatcmpl-Q1W2E3R4T5Z6U7I8O9P0A1S2D3F4G","object":"chat.completion.chunk","created":1763640000,"model":"bench-large-2026-01-01","choices":[],"usage":{"prompt_tokens":1500,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", p.tokens, 1500+p.tokens)
	}
	events = append(events, "data: [DONE]\n\n"...)
	if err := write(); err != nil {
		return err
	}
	_, err := io.WriteString(conn, "0\r\n\r\n")
	return err
}
