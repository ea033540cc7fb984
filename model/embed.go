package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// EmbedderOptions configure an Embedder.
type EmbedderOptions struct {
	Endpoint
	// Dimensions asks for shorter vectors, if the model supports it; default
	// the model's own.
	Dimensions int
	// Client sends the requests; default newClient's.
	Client *http.Client
	// Log gets the retries; default none.
	Log *slog.Logger
}

// Embedder embeds texts with an endpoint's POST /embeddings. It implements
// retrieval.Embedder and is safe for concurrent use.
type Embedder struct {
	o              EmbedderOptions
	endpoint       *endpoint
	dims           atomic.Int64 // of the first vector; all others must have as many
	query, passage string       // prefixes
}

var _ retrieval.Embedder = (*Embedder)(nil)

// NewEmbedder checks the options. It doesn't connect.
func NewEmbedder(o EmbedderOptions) (*Embedder, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	e, err := newEndpoint(o.Endpoint, withoutRedirects(o.Client))
	if err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	em := &Embedder{o: o, endpoint: e}
	name := strings.ToLower(o.Model[strings.LastIndexByte(o.Model, '/')+1:])
	// What families of models expect before a query and before a passage, from
	// their model cards.
	for _, p := range []struct{ family, query, passage string }{
		{"nomic-embed", "search_query: ", "search_document: "},
		{"e5", "query: ", "passage: "},
		{"multilingual-e5", "query: ", "passage: "},
		{"mxbai-embed", "Represent this sentence for searching relevant passages: ", ""},
		{"bge-m3", "", ""},
		{"bge-", "Represent this sentence for searching relevant passages: ", ""},
		{"snowflake-arctic-embed", "Represent this sentence for searching relevant passages: ", ""},
		{"embeddinggemma", "task: search result | query: ", "title: none | text: "},
	} {
		if strings.HasPrefix(name, p.family) {
			em.query, em.passage = p.query, p.passage
			break
		}
	}
	return em, nil
}

// Model names the model and, if they are set, the dimensions: the key of a
// cache of vectors.
func (e *Embedder) Model() string {
	if e.o.Dimensions > 0 {
		return fmt.Sprintf("%s@%d", e.o.Model, e.o.Dimensions)
	}
	return e.o.Model
}

// Embed embeds passages, in batches. An empty text gets a zero vector. A request
// of several texts that the endpoint is too busy for, or does not answer, is
// sent up to embedTries times.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.passage, texts)
}

// EmbedQuery embeds a search query. It is not retried.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.embed(ctx, e.query, []string{text})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

const (
	maxBatch     = 64   // texts in a request
	maxTextBytes = 6000 // of a text, which is cut there: some 2,000 tokens, which every common model takes
	embedTries   = 4
	embedTimeout = 60 * time.Second
	queryTimeout = 10 * time.Second // of a single text: usually a reader waits for it
)

// embed embeds texts in batches, with a prefix before each.
func (e *Embedder) embed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var inputs []string
	var places []int // of the inputs in texts
	for i, t := range texts {
		t = short.Bytes(strings.TrimSpace(strings.ToValidUTF8(t, "\uFFFD")), maxTextBytes)
		if t != "" { // endpoints refuse empty texts
			inputs, places = append(inputs, prefix+t), append(places, i)
		}
	}
	for n := 0; n < len(inputs); n += maxBatch {
		got, err := e.batch(ctx, inputs[n:min(n+maxBatch, len(inputs))], len(texts) > 1)
		if err != nil {
			return nil, err
		}
		for i, v := range got {
			vectors[places[n+i]] = v
		}
	}
	for i, v := range vectors {
		if v == nil {
			vectors[i] = make([]float32, e.dims.Load())
		}
	}
	return vectors, nil
}

// batch embeds texts, and retries if a busy endpoint may be waited for.
func (e *Embedder) batch(ctx context.Context, texts []string, retry bool) ([][]float32, error) {
	for try := 1; ; try++ {
		v, err := e.once(ctx, texts)
		var failure *Error
		if err == nil || !retry || try == embedTries || !errors.As(err, &failure) ||
			(failure.Kind != RateLimited && failure.Kind != ServerError && failure.Kind != Unreachable) {
			return v, err
		}
		wait := min(max(failure.RetryAfter, time.Second<<(try-1)), 30*time.Second)
		e.o.Log.Info("embedder is busy; retrying", "endpoint", e.endpoint.publicURL, "model", e.o.Model, "wait", wait, "error", failure.Message)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// maxVectors bounds an answer, in bytes: 64 texts of 4,096 dimensions of 20
// digits are 5 MB.
const maxVectors = 64 << 20

// once embeds texts with one request, and checks the vectors.
func (e *Embedder) once(ctx context.Context, texts []string) ([][]float32, error) {
	timeout := embedTimeout
	if len(texts) == 1 {
		timeout = queryTimeout
	}
	reqCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := e.request(reqCtx, texts)
	var failure *Error
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case reqCtx.Err() != nil:
		return nil, e.endpoint.fail(Timeout, "no vectors within %v", timeout)
	case errors.As(err, &failure):
		return nil, failure
	default:
		return nil, e.endpoint.fail(Malformed, "%v", err)
	}
	vectors := make([][]float32, len(texts))
	for i, d := range resp.Data {
		if d.Index == 0 && i > 0 && len(resp.Data) == len(texts) {
			d.Index = i // some servers don't number them
		}
		if d.Index < 0 || d.Index >= len(vectors) || vectors[d.Index] != nil {
			return nil, e.endpoint.fail(Malformed, "vector %d is for text %d of %d", i, d.Index, len(texts))
		}
		if err := e.check(d.Embedding); err != nil {
			return nil, err
		}
		vectors[d.Index] = d.Embedding
	}
	for i, v := range vectors {
		if v == nil {
			return nil, e.endpoint.fail(Malformed, "%d vectors for %d texts, none for text %d", len(resp.Data), len(texts), i)
		}
	}
	return vectors, nil
}

// request sends a request and decodes the answer.
func (e *Embedder) request(ctx context.Context, texts []string) (answer openai.EmbeddingResponse, err error) {
	body, _ := json.Marshal(openai.EmbeddingRequest{ // can't fail
		Model: openai.EmbeddingModel(e.o.Model), Input: texts, Dimensions: e.o.Dimensions,
	})
	resp, err := e.endpoint.do(ctx, http.MethodPost, "/embeddings", body)
	if err != nil {
		return answer, e.endpoint.failTransport(Unreachable, err)
	}
	if !isSuccess(resp) {
		_, failure := e.endpoint.refusal(resp)
		return answer, failure
	}
	defer resp.Body.Close()
	err = json.NewDecoder(io.LimitReader(resp.Body, maxVectors)).Decode(&answer)
	return answer, err
}

// check refuses vectors that would corrupt an index: all must have the same
// length.
func (e *Embedder) check(v []float32) error {
	if len(v) == 0 {
		return e.endpoint.fail(Malformed, "an empty vector")
	}
	n := int64(len(v))
	if want := int64(e.o.Dimensions); want != 0 && n != want {
		return e.endpoint.fail(Malformed, "the model returns %d dimensions instead of %d: remove dimensions from its options, or use a model that can shorten its vectors", n, want)
	}
	if !e.dims.CompareAndSwap(0, n) && e.dims.Load() != n {
		return e.endpoint.fail(Malformed, "a vector has %d dimensions, earlier ones have %d", n, e.dims.Load())
	}
	return nil
}
