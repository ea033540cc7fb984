package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

func embedder(t *testing.T, h http.Handler, o EmbedderOptions) *Embedder {
	t.Helper()
	if o.URL == "" {
		o.Endpoint = Endpoint{URL: "http://user:hunter22@embed.test/v1?x=1", Model: "fake-embed", APIKey: key}
	}
	o.Client = modelserver.Client(h)
	e, err := NewEmbedder(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTextsAreEmbeddedInOrderAndInBatches(t *testing.T) {
	srv := modelserver.New()
	var inputs [][]string
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct{ Input []string }
		_ = json.Unmarshal(body, &in)
		inputs = append(inputs, in.Input)
		if r.URL.RequestURI() != "/v1/embeddings?x=1" || r.Header.Get("Authorization") != "Bearer "+key {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		srv.ServeHTTP(w, r)
	})
	texts := []string{"install the server", "", "  ", "configure tls", "a\xffb", strings.Repeat("ä", 4000)}
	for i := range 140 {
		texts = append(texts, fmt.Sprint("page number ", i))
	}
	got, err := embedder(t, h, EmbedderOptions{}).Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		text = strings.ToValidUTF8(text, "\uFFFD")
		want := modelserver.Vector(strings.ToValidUTF8(text[:min(len(text), 6000)], ""), 256)
		if strings.TrimSpace(text) == "" {
			want = make([]float32, 256)
		}
		if !slices.Equal(got[i], want) {
			t.Errorf("text %d has another's vector", i)
		}
	}
	if len(inputs) != 3 || len(inputs[0]) != maxBatch {
		t.Errorf("%d requests", len(inputs))
	}
}

func TestQueriesAndPassagesGetTheirFamilysPrefix(t *testing.T) {
	var input string
	srv := modelserver.New()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct{ Input []string }
		_ = json.Unmarshal(body, &in)
		input = in.Input[0]
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		srv.ServeHTTP(w, r)
	})
	for model, want := range map[string][2]string{
		"nomic-embed-text":               {"search_query: x", "search_document: x"},
		"intfloat/multilingual-e5-large": {"query: x", "passage: x"},
		"BAAI/bge-m3":                    {"x", "x"},
		"text-embedding-3-small":         {"x", "x"},
	} {
		e := embedder(t, h, EmbedderOptions{Endpoint: Endpoint{URL: "http://e.test/v1", Model: model}})
		if _, err := e.EmbedQuery(t.Context(), "x"); err != nil || input != want[0] {
			t.Errorf("%s: query %q (%v)", model, input, err)
		}
		if _, err := e.Embed(t.Context(), []string{"x"}); err != nil || input != want[1] {
			t.Errorf("%s: passage %q (%v)", model, input, err)
		}
	}
}

func TestABusyEmbedderIsAskedAgainWhileIndexing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, n := modelserver.New(), 0
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n++; n%2 == 1 {
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			srv.ServeHTTP(w, r)
		})
		e := embedder(t, h, EmbedderOptions{})
		start := time.Now()
		if _, err := e.Embed(t.Context(), []string{"a", "b"}); err != nil || time.Since(start) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, err := e.EmbedQuery(t.Context(), "a"); kindOf(err) != RateLimited {
			t.Errorf("a query must not wait: %v", err)
		}
	})
}

func TestVectorsThatWouldPoisonAnIndexAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		kind Kind
	}{
		"too few":        {`{"data":[{"index":0,"embedding":[1]}]}`, Malformed},
		"too many":       {`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`, Malformed},
		"twice the same": {`{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, Malformed},
		"of two lengths": {`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, Malformed},
		"empty":          {`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, Malformed},
		"no numbers":     {`{"data":[{"index":0,"embedding":["x"]}]}`, Malformed},
		"HTML":           {`<html>`, Malformed},
		"an error":       {`{"error":{"message":"no"}}`, Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, test.body) })
			_, err := embedder(t, h, EmbedderOptions{}).Embed(t.Context(), []string{"a", "b"})
			if kindOf(err) != test.kind || !errors.Is(err, assistant.ErrModel) {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("unnumbered ones keep their order", func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, `{"data":[{"embedding":[1]},{"embedding":[2]}]}`)
		})
		v, err := embedder(t, h, EmbedderOptions{}).Embed(t.Context(), []string{"a", "b"})
		if err != nil || v[0][0] != 1 || v[1][0] != 2 {
			t.Errorf("%v %v", v, err)
		}
	})
}

func TestAnEmbeddersErrorsHoldNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, h := range map[string]http.HandlerFunc{
			"refused": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"401": func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(401)
				fmt.Fprint(w, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`)
			},
			"late": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		} {
			_, err := embedder(t, h, EmbedderOptions{}).EmbedQuery(t.Context(), "a")
			if err == nil || !errors.Is(err, assistant.ErrModel) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "hunter22") {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := embedder(t, modelserver.New(), EmbedderOptions{}).EmbedQuery(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestAnEmbedderKnowsItsModel(t *testing.T) {
	e := embedder(t, modelserver.New(), EmbedderOptions{Dimensions: 64})
	if v, err := e.EmbedQuery(t.Context(), "hello"); len(v) != 64 || err != nil {
		t.Error(len(v), err)
	}
	if e.Model() != "fake-embed@64" || e.endpoint.publicURL != "http://embed.test/v1" {
		t.Error(e.Model(), e.endpoint.publicURL)
	}
}
