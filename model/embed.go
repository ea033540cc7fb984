package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// EmbedderOptions configure an Embedder.
type EmbedderOptions struct {
	Endpoint
	// Dimensions asks for shorter vectors, where the model can; 0: the
	// model's own.
	Dimensions int
	// Batch is the most texts a request, default 64; a request also holds at
	// most about 200 kB.
	Batch int
	// MaxBytes is where a text is cut, default 6,000 bytes: some 2,000
	// tokens, which every common model takes.
	MaxBytes int
	// Timeout bounds one request, default 60 s (10 s for a single text,
	// which mostly is a query that someone waits for).
	Timeout time.Duration
	// Client sends the requests; nil: one with limits.
	Client *http.Client
	Log    *slog.Logger
}

// Embedder embeds texts by an endpoint's POST /embeddings. It implements
// retrieval.Embedder and is safe for concurrent use.
type Embedder struct {
	o              EmbedderOptions
	e              *endpoint
	dims           atomic.Int64 // of the first vector; all others must have as many
	query, passage string
}

var _ retrieval.Embedder = (*Embedder)(nil)

// prefixes are what families of models want before a query and before a
// passage, from their model cards.
var prefixes = []struct{ family, query, passage string }{
	{"nomic-embed", "search_query: ", "search_document: "},
	{"e5", "query: ", "passage: "},
	{"multilingual-e5", "query: ", "passage: "},
	{"mxbai-embed", "Represent this sentence for searching relevant passages: ", ""},
	{"bge-m3", "", ""},
	{"bge-", "Represent this sentence for searching relevant passages: ", ""},
	{"snowflake-arctic-embed", "Represent this sentence for searching relevant passages: ", ""},
	{"embeddinggemma", "task: search result | query: ", "title: none | text: "},
}

// NewEmbedder checks the options. It doesn't connect.
func NewEmbedder(o EmbedderOptions) (*Embedder, error) {
	if o.Dimensions < 0 || o.Batch < 0 || o.MaxBytes < 0 {
		return nil, errors.New("dimensions, batch and size of an embedder must not be negative")
	}
	if o.Batch == 0 {
		o.Batch = 64
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 6000
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	o.Client = withoutRedirects(o.Client)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e, err := newEndpoint(o.Endpoint, o.Client)
	if err != nil {
		return nil, fmt.Errorf("embedder: %w", err)
	}
	em := &Embedder{o: o, e: e}
	name := strings.ToLower(o.Model[strings.LastIndexByte(o.Model, '/')+1:])
	for _, p := range prefixes {
		if strings.HasPrefix(name, p.family) {
			em.query, em.passage = p.query, p.passage
			break
		}
	}
	return em, nil
}

// Model names the model and, where asked for, the dimensions: what a cache
// of vectors must be keyed by.
func (e *Embedder) Model() string {
	if e.o.Dimensions > 0 {
		return fmt.Sprintf("%s@%d", e.o.Model, e.o.Dimensions)
	}
	return e.o.Model
}

// Embed embeds passages, in batches; a text without words gets a zero
// vector. Requests of several texts that an endpoint refuses for being busy
// are tried again, up to embedTries times.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return e.embed(ctx, e.passage, texts)
}

// EmbedQuery embeds what a reader searches for: some models want another
// prefix before it than before a passage. It is not tried again.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.embed(ctx, e.query, []string{text})
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// Check asks for one vector: whether endpoint and model are there, and how
// long its vectors are.
func (e *Embedder) Check(ctx context.Context) (dimensions int, err error) {
	v, err := e.EmbedQuery(ctx, "hello")
	return len(v), err
}

const (
	maxBatchBytes = 200_000 // texts of one request
	embedTries    = 4
)

func (e *Embedder) embed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	var batch []string
	var places []int
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		got, err := e.batch(ctx, batch, len(texts) > 1)
		if err != nil {
			return err
		}
		for i, v := range got {
			vectors[places[i]] = v
		}
		batch, places, size = batch[:0], places[:0], 0
		return nil
	}
	for i, t := range texts {
		t = cut(strings.TrimSpace(strings.ToValidUTF8(t, "\uFFFD")), e.o.MaxBytes)
		if t == "" {
			continue // endpoints refuse empty texts
		}
		if len(batch) == e.o.Batch || size+len(t) > maxBatchBytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		batch, places, size = append(batch, prefix+t), append(places, i), size+len(t)
	}
	if err := flush(); err != nil {
		return nil, err
	}
	for i, v := range vectors {
		if v == nil {
			vectors[i] = make([]float32, e.dims.Load())
		}
	}
	return vectors, nil
}

// cut shortens s to at most n bytes, between two characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (e *Embedder) batch(ctx context.Context, texts []string, patient bool) ([][]float32, error) {
	for try := 1; ; try++ {
		v, err := e.once(ctx, texts)
		var failure *Error
		if err == nil || !patient || try == embedTries || !errors.As(err, &failure) ||
			(failure.Kind != RateLimited && failure.Kind != ServerError && failure.Kind != Unreachable) {
			return v, err
		}
		wait := min(max(failure.RetryAfter, time.Second<<(try-1)), 30*time.Second)
		e.o.Log.Info("embedder is busy; retrying", "endpoint", e.e.publicURL, "model", e.o.Model, "wait", wait, "error", failure.Message)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		}
	}
}

// maxVectors bounds an answer, in bytes: 64 texts of 4,096 dimensions of 20
// digits are 5 MB.
const maxVectors = 64 << 20

// once embeds texts by one request.
func (e *Embedder) once(ctx context.Context, texts []string) ([][]float32, error) {
	timeout := e.o.Timeout
	if timeout <= 0 {
		timeout = 60 * time.Second
		if len(texts) == 1 {
			timeout = 10 * time.Second
		}
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
		return nil, e.e.fail(Timeout, fmt.Sprintf("no vectors within %v", timeout), nil)
	case errors.As(err, &failure):
		return nil, failure
	default:
		return nil, e.e.fail(Malformed, err.Error(), nil)
	}
	vectors := make([][]float32, len(texts))
	for i, d := range resp.Data {
		if d.Index == 0 && i > 0 && len(resp.Data) == len(texts) {
			d.Index = i // servers that number nothing keep the order
		}
		if d.Index < 0 || d.Index >= len(vectors) || vectors[d.Index] != nil {
			return nil, e.e.fail(Malformed, fmt.Sprintf("vector %d is for text %d of %d", i, d.Index, len(texts)), nil)
		}
		if err := e.check(d.Embedding); err != nil {
			return nil, err
		}
		vectors[d.Index] = d.Embedding
	}
	for i, v := range vectors {
		if v == nil {
			return nil, e.e.fail(Malformed, fmt.Sprintf("%d vectors for %d texts, none for text %d", len(resp.Data), len(texts), i), nil)
		}
	}
	return vectors, nil
}

func (e *Embedder) request(ctx context.Context, texts []string) (answer openai.EmbeddingResponse, err error) {
	body, err := json.Marshal(openai.EmbeddingRequestStrings{
		Input: texts, Model: openai.EmbeddingModel(e.o.Model), Dimensions: e.o.Dimensions,
	})
	if err != nil {
		return answer, err
	}
	resp, err := e.e.do(ctx, http.MethodPost, "/embeddings", body)
	if err != nil {
		err = transportError(err)
		return answer, e.e.fail(Unreachable, err.Error(), err)
	}
	if !isSuccess(resp) {
		_, failure := e.e.refusal(resp)
		return answer, failure
	}
	defer resp.Body.Close()
	err = json.NewDecoder(io.LimitReader(resp.Body, maxVectors)).Decode(&answer)
	return answer, err
}

// check refuses vectors that would poison an index: of another length than
// those before, or not of numbers.
func (e *Embedder) check(v []float32) error {
	if len(v) == 0 {
		return e.e.fail(Malformed, "an empty vector", nil)
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return e.e.fail(Malformed, "a vector with a value that is no number", nil)
		}
	}
	n := int64(len(v))
	if want := int64(e.o.Dimensions); want > 0 && n != want {
		return e.e.fail(Malformed, fmt.Sprintf("the model gives %d dimensions, not the %d asked for: leave dimensions out, or use a model that can shorten its vectors", n, want), nil)
	}
	if !e.dims.CompareAndSwap(0, n) && e.dims.Load() != n {
		return e.e.fail(Malformed, fmt.Sprintf("a vector of %d dimensions after such of %d", n, e.dims.Load()), nil)
	}
	return nil
}
