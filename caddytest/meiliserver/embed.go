package meiliserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Placeholders in the requests and responses of the source rest. The sources
// ollama and openAi are two forms of it.
const (
	textPlaceholder      = "{{text}}"
	embeddingPlaceholder = "{{embedding}}"
	repeatPlaceholder    = "{{..}}"
)

// embedTimeout is how long the server waits for its embedder.
const embedTimeout = 30 * time.Second

const vectorEmbeddingError = "vector_embedding_error"

var errEmbedding = errors.New("the embedder gave no vectors")

// embedder is an embedder in an index's settings.
type embedder map[string]any

func embeddersOf(settings map[string]any) map[string]embedder {
	out := map[string]embedder{}
	all, _ := settings["embedders"].(map[string]any)
	for name, v := range all {
		if e, ok := v.(map[string]any); ok {
			out[name] = e
		}
	}
	return out
}

func (e embedder) text(key string) string {
	s, _ := e[key].(string)
	return s
}

// makes reports whether the server makes the vectors. The source huggingFace
// is not supported.
func (e embedder) makes() bool {
	switch e.text("source") {
	case "openAi", "ollama", "rest":
		return true
	}
	return false
}

// templates returns the forms of the embedder's requests and responses.
func (e embedder) templates() (request, response any) {
	switch e.text("source") {
	case "ollama":
		return map[string]any{"model": e["model"], "input": []any{textPlaceholder, repeatPlaceholder}},
			map[string]any{"embeddings": []any{embeddingPlaceholder, repeatPlaceholder}}
	case "openAi":
		request := map[string]any{"model": e["model"], "input": []any{textPlaceholder, repeatPlaceholder}}
		if d := e["dimensions"]; d != nil {
			request["dimensions"] = d
		}
		return request, map[string]any{"data": []any{map[string]any{"embedding": embeddingPlaceholder}, repeatPlaceholder}}
	}
	return e["request"], e["response"]
}

// embed makes the vectors of texts, in one request if the template repeats,
// otherwise in one for each text.
func (e embedder) embed(ctx context.Context, texts []string) ([][]float64, error) {
	if !e.makes() {
		return nil, errEmbedding
	}
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	request, response := e.templates()
	var out [][]float64
	for len(texts) > 0 {
		n := 1
		if repeats(request) {
			n = len(texts)
		}
		answer, err := e.post(ctx, inject(request, texts[:n]))
		if err != nil {
			return nil, err
		}
		vectors := extract(response, answer)
		if len(vectors) != n {
			return nil, errEmbedding
		}
		out = append(out, vectors...)
		texts = texts[n:]
	}
	return out, nil
}

func (e embedder) post(ctx context.Context, body any) (answer any, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.text("url"), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if key := e.text("apiKey"); key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEmbedding, err)
	}
	defer response.Body.Close()
	data, err = io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || json.Unmarshal(data, &answer) != nil {
		return nil, errEmbedding
	}
	return answer, nil
}

func repeats(template any) bool {
	switch t := template.(type) {
	case map[string]any:
		for _, v := range t {
			if repeats(v) {
				return true
			}
		}
	case []any:
		return len(t) == 2 && t[1] == repeatPlaceholder
	}
	return false
}

// inject replaces the placeholder of a request's template by texts.
func inject(template any, texts []string) any {
	switch t := template.(type) {
	case string:
		if t == textPlaceholder {
			return texts[0]
		}
	case map[string]any:
		out := map[string]any{}
		for k, v := range t {
			out[k] = inject(v, texts)
		}
		return out
	case []any:
		if repeats(t) {
			out := make([]any, len(texts))
			for i := range texts {
				out[i] = inject(t[0], texts[i:i+1])
			}
			return out
		}
	}
	return template
}

// extract returns the vectors at the placeholder of a response's template.
func extract(template, answer any) (out [][]float64) {
	switch t := template.(type) {
	case string:
		values, _ := answer.([]any)
		if t != embeddingPlaceholder || len(values) == 0 {
			return nil
		}
		v := make([]float64, len(values))
		for i := range values {
			v[i], _ = values[i].(float64)
		}
		return [][]float64{v}
	case map[string]any:
		fields, _ := answer.(map[string]any)
		for k, v := range t {
			out = append(out, extract(v, fields[k])...)
		}
	case []any:
		items, _ := answer.([]any)
		if len(t) == 2 && t[1] == repeatPlaceholder {
			for _, item := range items {
				out = append(out, extract(t[0], item)...)
			}
		}
	}
	return out
}

// embedAll makes all vectors of an index after its embedders have changed. If
// that fails, it has no embedders.
func (s *Server) embedAll(x *index) (problem map[string]any) {
	var all []map[string]json.RawMessage
	for _, id := range x.order {
		all = append(all, x.documents[id])
	}
	if problem = s.embed(x, all); problem != nil {
		x.settings["embedders"] = map[string]any{}
	}
	return problem
}

// embed makes the vectors that documents come without. It returns why a task
// fails.
func (s *Server) embed(x *index, documents []map[string]json.RawMessage) map[string]any {
	for name, e := range embeddersOf(x.settings) {
		if !e.makes() {
			continue
		}
		var texts []string
		var of []map[string]json.RawMessage
		for _, d := range documents {
			vectors := map[string]json.RawMessage{}
			_ = json.Unmarshal(d["_vectors"], &vectors)
			var said struct {
				Embeddings json.RawMessage
				Regenerate bool
			}
			given, ok := vectors[name]
			if kept := x.keeps(d, name); !ok && kept != nil {
				vectors[name] = kept
				d["_vectors"], _ = json.Marshal(vectors)
				continue
			}
			if _ = json.Unmarshal(given, &said); ok && (!said.Regenerate || said.Embeddings != nil) {
				continue
			}
			var title, heading, text string
			_ = json.Unmarshal(d["title"], &title)
			_ = json.Unmarshal(d["heading"], &heading)
			_ = json.Unmarshal(d["text"], &text)
			texts, of = append(texts, title+" "+heading+" "+text), append(of, d)
		}
		s.mu.Unlock() // searches are answered meanwhile
		made, err := e.embed(context.Background(), texts)
		s.mu.Lock()
		if err != nil || s.denied(e.text("url")) {
			return problem(vectorEmbeddingError, name)
		}
		for i, d := range of {
			vectors := map[string]any{}
			_ = json.Unmarshal(d["_vectors"], &vectors)
			vectors[name] = map[string]any{"embeddings": [][]float64{made[i]}, "regenerate": true}
			d["_vectors"], _ = json.Marshal(vectors)
		}
	}
	return nil
}

// keeps returns the vectors that a document without _vectors for an embedder
// takes from the document that it replaces: those, or the absence of those,
// that were not made by the server.
func (x *index) keeps(d map[string]json.RawMessage, embedder string) json.RawMessage {
	var id string
	_ = json.Unmarshal(d[x.primaryKey], &id)
	var vectors map[string]json.RawMessage
	_ = json.Unmarshal(x.documents[id]["_vectors"], &vectors)
	var said struct{ Regenerate bool }
	if before, ok := vectors[embedder]; ok && json.Unmarshal(before, &said) == nil && !said.Regenerate {
		return before
	}
	return nil
}
