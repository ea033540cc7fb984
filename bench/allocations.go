package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxAllocations is the target for allocations a text token.
const maxAllocations = 12

// allocations returns the number of allocations a text token, from the model's
// response through the link check to the encoder: the difference between a
// long and a short reply, divided by the difference in tokens.
func allocations() (float64, error) {
	const few, many = 1000, 21000
	var counts [2]uint64
	for i, n := range []int{few, many} {
		t, err := newInMemory(n)
		if err != nil {
			return 0, err
		}
		least := ^uint64(0)
		for range 5 {
			allocs, err := t.reply()
			if err != nil {
				return 0, err
			}
			least = min(least, allocs)
		}
		counts[i] = least
	}
	return max(0, float64(int64(counts[1]-counts[0]))) / (many - few), nil
}

// inMemory makes replies without a network.
type inMemory struct {
	assistant *assistant.Assistant
	body      []byte
}

func newInMemory(tokens int) (*inMemory, error) {
	t := &inMemory{}
	for i := range tokens {
		// The words differ because a reply that repeats itself is ended.
		t.body = append(t.body, chunkHead+`{"content":" word`+strconv.Itoa(i)+`"}`+chunkTail...)
	}
	t.body = append(t.body, chunkHead+`{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n"...)
	chain, err := model.New(model.Options{
		Endpoints: []model.Endpoint{{URL: "http://model.invalid/v1", Model: "bench"}},
		MaxTokens: 1 << 20, Client: &http.Client{Transport: t}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	t.assistant = &assistant.Assistant{
		Site: assistant.Settings{Name: "bench", URL: "https://bench.invalid"}, Search: nothing{}, Model: chain,
		Log: slog.New(slog.DiscardHandler), MaxTokens: 1 << 20,
	}
	return t, nil
}

// RoundTrip answers as the model does.
func (t *inMemory) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(&oneByOne{rest: t.body}),
	}, nil
}

// oneByOne returns one event at each Read, as a model does.
type oneByOne struct{ rest []byte }

func (r *oneByOne) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := bytes.Index(r.rest, []byte("\n\n")) + 2
	n = copy(p, r.rest[:n])
	r.rest = r.rest[n:]
	return n, nil
}

// reply makes one reply and counts its allocations.
func (t *inMemory) reply() (uint64, error) {
	w := &counter{}
	in := &assistant.Input{
		Request:   &reply.Request{Fingerprint: "anonymous", Messages: []reply.Message{{Role: reply.User, Text: "how?"}}},
		MessageID: "m", ThreadID: "t", RequestID: "r",
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := t.assistant.Reply(context.Background(), in, uimessage.NewEncoder(w, nil, true))
	runtime.ReadMemStats(&after)
	if err == nil && w.n < int64(len(t.body))/20 {
		err = fmt.Errorf("only %d bytes of a reply", w.n)
	}
	return after.Mallocs - before.Mallocs, err
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// nothing is a searcher without hits.
type nothing struct{}

func (nothing) Search(context.Context, retrieval.Query) ([]retrieval.Hit, error) { return nil, nil }
func (nothing) Page(context.Context, string) (*retrieval.Document, error)        { return nil, nil }
