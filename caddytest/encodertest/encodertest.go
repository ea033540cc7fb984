// Package encodertest tests the encoders of replies, which all keep the same
// promises. Golden files are in testdata of the package under test.
package encodertest

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/caddytest/stream"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Encoder is what the encoders have in common.
type Encoder interface {
	reply.Sink
	KeepAlive() error
}

// Protocol is an encoder and the strict reader of what it writes.
type Protocol struct {
	New       func(w io.Writer, flush func() error) Encoder
	Read      func(body string) (*stream.Reply, error)
	SetHeader func(http.Header)
}

// Test runs all tests.
func (p Protocol) Test(t *testing.T) {
	t.Run("replies have the bytes of the golden files", p.goldenFiles)
	t.Run("a flush is one write and one delta", p.oneWriteAFlush)
	t.Run("a token allocates nothing", p.noAllocation)
	t.Run("a sender who never flushes is written all the same", p.noFlush)
	t.Run("keep-alives are between events", p.keepAlives)
	t.Run("a sender gets the error of a client that is gone", p.clientGone)
	t.Run("the header is that of the golden file", p.header)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s\nwant:\n%s", file, got, want)
	}
}

func (p Protocol) goldenFiles(t *testing.T) {
	for _, script := range stream.Scripts() {
		t.Run(script.Name, func(t *testing.T) {
			var out bytes.Buffer
			if err := script.Play(p.New(&out, nil)); err != nil {
				t.Fatal(err)
			}
			golden(t, script.Name, out.Bytes())
			r, err := p.Read(out.String())
			if err != nil {
				t.Fatal(err)
			}
			if answer, reasoning := script.Want(); r.Text != answer || r.Reasoning != reasoning {
				t.Errorf("read %q, %q; want %q, %q", r.Text, r.Reasoning, answer, reasoning)
			}
			if r.Finished == (r.Error != "") {
				t.Errorf("finished %t with error %q", r.Finished, r.Error)
			}
		})
	}
}

// FuzzRoundTrip has a client read random replies.
func (p Protocol) FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00\x0c\x03\x09\xff\x0c\x04\x0a\x00"))
	f.Add([]byte("\x0c\x03\x05\x00\x0c\x04\x03\x00\x04\x00\x01\x00\x06\x03\x0c\x04\x09\x00"))
	f.Add([]byte("\x03\x02\x04\x02\x0a\x00")) // a tool call without an id
	f.Fuzz(func(t *testing.T, data []byte) {
		script := stream.Random(data)
		var out bytes.Buffer
		if err := script.Play(p.New(&out, nil)); err != nil {
			t.Fatal(err)
		}
		r, err := p.Read(out.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if answer, reasoning := script.Want(); r.Text != answer || r.Reasoning != reasoning {
			t.Fatalf("read %q, %q; want %q, %q\n%s", r.Text, r.Reasoning, answer, reasoning, out.String())
		}
	})
}

// writes counts what comes to the client.
type writes struct {
	bytes.Buffer
	calls, flushes int
}

func (w *writes) Write(p []byte) (int, error) { w.calls++; return w.Buffer.Write(p) }
func (w *writes) flush() error                { w.flushes++; return nil }

func (p Protocol) oneWriteAFlush(t *testing.T) {
	var w writes
	e := p.New(&w, w.flush)
	send := func(ev reply.Event) {
		t.Helper()
		if err := e.Send(&ev); err != nil {
			t.Fatal(err)
		}
	}
	send(reply.Event{Kind: reply.Start, MessageID: "m", ThreadID: "t"})
	send(reply.Event{Kind: reply.StepStart})
	for range 60 {
		for range 5 {
			send(reply.Event{Kind: reply.Text, Text: []byte("tok ")})
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := e.Flush(); err != nil { // nothing to write
			t.Fatal(err)
		}
	}
	send(reply.Event{Kind: reply.Finish, Reason: "stop"})
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	if w.calls != 61 || w.flushes != 61 {
		t.Errorf("%d writes and %d flushes for 61 flushes of 300 tokens", w.calls, w.flushes)
	}
	r, err := p.Read(w.String())
	if err != nil {
		t.Fatal(err)
	}
	if r.Deltas != 60 || r.Text != strings.Repeat("tok ", 300) {
		t.Errorf("%d deltas, text %q", r.Deltas, r.Text)
	}
}

func (p Protocol) noAllocation(t *testing.T) {
	e := p.New(io.Discard, func() error { return nil })
	for _, kind := range []reply.Kind{reply.Start, reply.StepStart} {
		if err := e.Send(&reply.Event{Kind: kind, MessageID: "m", ThreadID: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	ev := &reply.Event{Kind: reply.Text, Text: []byte(" token")}
	escaped := &reply.Event{Kind: reply.Text, Text: []byte(" \n \"😀\x00")}
	if n := testing.AllocsPerRun(1000, func() {
		_ = e.Send(ev)
		_ = e.Flush()
		_ = e.Send(escaped)
		_ = e.Flush()
	}); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
}

func (p Protocol) noFlush(t *testing.T) {
	var w writes
	e := p.New(&w, w.flush)
	ev := &reply.Event{Kind: reply.Text, Text: []byte(strings.Repeat("x", 1000))}
	for range 1000 {
		if err := e.Send(ev); err != nil {
			t.Fatal(err)
		}
	}
	if w.calls < 20 || w.Len() < 900_000 || w.flushes != 0 {
		t.Errorf("%d writes of %d bytes, %d flushes", w.calls, w.Len(), w.flushes)
	}
	if err := e.Send(&reply.Event{Kind: reply.Finish}); err != nil {
		t.Fatal(err)
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Read(w.String()); err != nil || len(r.Text) != 1_000_000 {
		t.Errorf("read %d characters, %v", len(r.Text), err)
	}
}

func (p Protocol) keepAlives(t *testing.T) {
	var w writes
	e := p.New(&w, w.flush)
	keepAlive := func() {
		t.Helper()
		if err := e.KeepAlive(); err != nil {
			t.Fatal(err)
		}
	}
	keepAlive()
	_ = e.Send(&reply.Event{Kind: reply.Start, MessageID: "m", ThreadID: "t"})
	_ = e.Send(&reply.Event{Kind: reply.Text, Text: []byte("one ")})
	keepAlive() // brings what waits instead
	keepAlive()
	_ = e.Send(&reply.Event{Kind: reply.Text, Text: []byte("😀")})
	_ = e.Send(&reply.Event{Kind: reply.Finish})
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	golden(t, "keep-alive", w.Bytes())
	if r, err := p.Read(w.String()); err != nil || r.Text != "one 😀" {
		t.Errorf("read %q, %v", r.Text, err)
	}
}

type broken struct{}

var errGone = errors.New("gone")

func (broken) Write([]byte) (int, error) { return 0, errGone }

func (p Protocol) clientGone(t *testing.T) {
	ev := &reply.Event{Kind: reply.Text, Text: []byte("x")}
	e := p.New(broken{}, nil)
	if err := e.Send(ev); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{e.Flush(), e.Send(ev), e.Flush(), e.KeepAlive()} {
		if !errors.Is(err, errGone) {
			t.Errorf("error %v", err)
		}
	}
	e = p.New(io.Discard, func() error { return errGone })
	_ = e.Send(ev)
	if err := e.Flush(); !errors.Is(err, errGone) {
		t.Errorf("error %v of the flush", err)
	}
}

func (p Protocol) header(t *testing.T) {
	h := http.Header{}
	p.SetHeader(h)
	var out bytes.Buffer
	if err := h.Write(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "header", out.Bytes())
}

// BenchmarkToken writes one token a flush.
func (p Protocol) BenchmarkToken(b *testing.B) {
	e := p.New(io.Discard, nil)
	ev := &reply.Event{Kind: reply.Text, Text: []byte(" token")}
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Send(ev)
		_ = e.Flush()
	}
}

// BenchmarkTokenOfFive writes five tokens a flush.
func (p Protocol) BenchmarkTokenOfFive(b *testing.B) {
	e := p.New(io.Discard, nil)
	ev := &reply.Event{Kind: reply.Text, Text: []byte(" token")}
	b.ReportAllocs()
	for b.Loop() {
		for range 5 {
			_ = e.Send(ev)
		}
		_ = e.Flush()
	}
}
