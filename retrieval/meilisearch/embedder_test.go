package meilisearch_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// topics are what texts can be near to each other in: zebra is a word that
// no page has.
var topics = []string{"zebra certificate wildcard https dns", "proxy upstream headers", "file folder browse hide", "install package build source"}

// embedTopics is the vector of a text: a dimension a topic.
func embedTopics(text string, dimensions int) []float64 {
	v := make([]float64, dimensions)
	v[len(topics)] = .2
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		for i, words := range topics {
			for w := range strings.FieldsSeq(words) {
				if strings.HasPrefix(word, w) {
					v[i]++
				}
			}
		}
	}
	return v
}

// embedServer is an embedder in the forms of OpenAI, Ollama and a REST
// endpoint of nobody's in particular.
type embedServer struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	hang   chan struct{}
	asked  int
}

func embedding(t *testing.T) *embedServer {
	t.Helper()
	e := &embedServer{}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(func() {
		e.set(0, false)
		e.Close()
	})
	return e
}

// set has it answer with a status from now on, 0 for vectors, or hang.
func (e *embedServer) set(status int, hang bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
	if e.hang != nil {
		close(e.hang)
		e.hang = nil
	}
	if hang {
		e.hang = make(chan struct{})
	}
}

func (e *embedServer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.asked++
	status, hang := e.status, e.hang
	e.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	if status != 0 {
		http.Error(w, `{"error":"no"}`, status)
		return
	}
	var request struct {
		Input      []string
		Sentences  []string `json:"sentences"`
		Dimensions int
	}
	if json.Unmarshal(body, &request) != nil {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	n := max(request.Dimensions, 8)
	var answer any
	switch r.URL.Path {
	case "/v1/embeddings":
		var data []map[string]any
		for i, text := range request.Input {
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": embedTopics(text, n)})
		}
		answer = map[string]any{"object": "list", "data": data, "model": "m", "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}}
	case "/api/embed":
		var vectors [][]float64
		for _, text := range request.Input {
			vectors = append(vectors, embedTopics(text, n))
		}
		answer = map[string]any{"model": "m", "embeddings": vectors}
	case "/encode":
		var out []map[string]any
		for _, text := range request.Sentences {
			out = append(out, map[string]any{"vector": embedTopics(text, n)})
		}
		answer = map[string]any{"result": out}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// sources are the embedders that a server runs by asking another.
func sources(e *embedServer) map[string]sdk.Embedder {
	return map[string]sdk.Embedder{
		"openAi": {Source: sdk.OpenaiEmbedderSource, URL: e.URL + "/v1/embeddings", APIKey: "k", Model: "text-embedding-3-small", Dimensions: 8},
		"ollama": {Source: sdk.OllamaEmbedderSource, URL: e.URL + "/api/embed", Model: "all-minilm"},
		"rest": {
			Source: sdk.RestEmbedderSource, URL: e.URL + "/encode", Dimensions: 8,
			Request:  map[string]any{"sentences": []any{"{{text}}", "{{..}}"}},
			Response: map[string]any{"result": []any{map[string]any{"vector": "{{embedding}}"}, "{{..}}"}},
		},
	}
}

// setEmbedder is what an operator does once.
func setEmbedder(t *testing.T, o meilisearch.Options, name string, e sdk.Embedder) {
	t.Helper()
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	e.DocumentTemplate, e.DocumentTemplateMaxBytes = "{{doc.title}} {{doc.heading}} {{doc.text}}", 2000
	if e.Source == sdk.UserProvidedEmbedderSource {
		e.DocumentTemplate, e.DocumentTemplateMaxBytes = "", 0
	}
	prefix := o.Prefix
	if prefix == "" {
		prefix = "docs"
	}
	info, err := client.Index("_" + prefix + "-acme-und").UpdateSettings(&sdk.Settings{Embedders: map[string]sdk.Embedder{name: e}})
	if err != nil {
		t.Fatal(err)
	}
	task, err := client.WaitForTask(info.TaskUID, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if task.Status != sdk.TaskStatusSucceeded {
		if _, _, real := real(); real {
			t.Skipf("the server does not take an embedder at %s (start it with --experimental-allowed-ip-networks 127.0.0.0/8): %s", e.URL, task.Error.Message)
		}
		t.Fatal(task.Error)
	}
}

func findsZebra(t *testing.T, x *meilisearch.Index) bool {
	t.Helper()
	hits := search(t, x, retrieval.Query{Text: "zebra"})
	return len(hits) > 0 && hits[0].Document.Page == "guide/tls"
}

func TestEmbeddersOfTheServers(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"openAi", "ollama", "rest"} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			e := embedding(t)
			o := options(t)
			o.Embedder, o.Timeouts = "mine", patient
			o.Timeouts.Embedder = 4 * time.Second // it hangs below
			x := open(t, o)
			replace(t, x, site(), nil)
			if hits := search(t, x, retrieval.Query{Text: "zebra"}); len(hits) != 0 {
				t.Errorf("without an embedder zebra finds %v", pages(hits))
			}
			setEmbedder(t, o, "mine", sources(e)[source])
			eventually(t, "the embedder is seen", func() bool { x.CheckSoon(); return findsZebra(t, x) })
			docs := append(site(), page("more", "More", "Wildcards: Another certificate for a wildcard."))
			replace(t, x, docs, nil)
			if !findsZebra(t, x) {
				t.Errorf("zebra finds %v", pages(search(t, x, retrieval.Query{Text: "zebra"})))
			}
			for _, h := range search(t, x, retrieval.Query{Text: "zebra", Threshold: .5}) {
				if h.Score < .5 {
					t.Errorf("%v passes a threshold of .5", h.Score)
				}
			}

			searches := uint64(0)
			byWords := func(when string) {
				t.Helper()
				searches++
				if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 || got[0] != "guide/proxy" {
					t.Errorf("%s: upstream finds %v", when, got)
				}
			}
			before, _ := x.EmbedderCounts()
			answered := x.Counts()
			e.set(http.StatusUnauthorized, false)
			byWords("the embedder fails")
			e.set(0, true)
			byWords("the embedder hangs")
			e.set(http.StatusUnauthorized, false)
			byWords("the embedder fails again")
			// On a slow machine the rest may be over before the next search, which
			// then tries the embedder and begins another one.
			eventually(t, "the embedder rests", func() bool {
				byWords("the embedder rests")
				counts, _ := x.EmbedderCounts()
				return counts.Skipped > before.Skipped
			})
			counts, ok := x.EmbedderCounts()
			// A real server gives up on its embedder after a few seconds.
			_, _, real := real()
			failed, late := counts.Failed-before.Failed, counts.Late-before.Late
			if !ok || failed+late < 3 || late != 1 && !real || counts.Skipped-before.Skipped != 1 || counts.Embedded != before.Embedded {
				t.Errorf("counted %+v after %+v", counts, before)
			}
			if got := x.Counts(); got.KeywordOnly-answered.KeywordOnly != searches || got.Answered != answered.Answered || got.Failed != 0 {
				t.Errorf("counted %+v after %+v", got, answered)
			}

			// Keyword search finds new pages meanwhile.
			docs = append(docs, page("crypto", "Ciphers", "Elliptic: A certificate with a curve."))
			replace(t, x, docs, nil)
			if got := pages(search(t, x, retrieval.Query{Text: "elliptic"})); len(got) == 0 {
				t.Error("keyword search does not find a page that was added while the embedder fails")
			}
			e.set(0, false)
			eventually(t, "meaning finds the old pages and the new one", func() bool {
				found := pages(search(t, x, retrieval.Query{Text: "zebra", Limit: 50}))
				return strings.Contains(strings.Join(found, " "), "crypto") && strings.Contains(strings.Join(found, " "), "guide/tls")
			})
		})
	}
}

func TestAnEmbedderOfTheServersWithoutVectorsOfItsOwn(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Embedder = "mine"
	// A server takes this embedder only as long as the index has no documents.
	if _, err := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key)).CreateIndex(&sdk.IndexConfig{Uid: uidOf(o), PrimaryKey: "id"}); err != nil {
		t.Fatal(err)
	}
	setEmbedder(t, o, "mine", sdk.Embedder{Source: sdk.UserProvidedEmbedderSource, Dimensions: 8})
	x := open(t, o)
	replace(t, x, site(), nil)
	replace(t, x, append(site()[1:], page("news", "News", "Today: Something about giraffes.")), nil)
	if got := pages(search(t, x, retrieval.Query{Text: "giraffes"})); len(got) == 0 {
		t.Error("keyword search does not find a new page")
	}
	fs := x.Check(t.Context())
	if f := finding(fs, "embedder mine"); f == nil || f.Err == nil || !strings.Contains(f.Err.Error(), "userProvided") || f.Do == "" {
		t.Errorf("the doctor: %+v", f)
	}
}

func finding(fs []meilisearch.Finding, what string) *meilisearch.Finding {
	for i := range fs {
		if strings.Contains(fs[i].What, what) {
			return &fs[i]
		}
	}
	return nil
}

func TestTheDoctorLooksAtTheServersEmbedder(t *testing.T) {
	t.Parallel()
	e := embedding(t)
	o := options(t)
	o.Embedder = "mine"
	x := open(t, o)
	replace(t, x, site(), nil)
	if f := finding(x.Check(t.Context()), "embedder mine"); f == nil || f.Err == nil || !strings.Contains(f.Do, "/settings/embedders") {
		t.Errorf("not set: %+v", f)
	}
	setEmbedder(t, o, "mine", sources(e)["rest"])
	if f := finding(x.Check(t.Context()), "embedder mine"); f == nil || f.Err != nil || !strings.Contains(f.Found, "rest, vectors of 9 of 9") {
		t.Errorf("set: %+v", f)
	}
	if f := finding(x.Check(t.Context()), "settings of"); f == nil || f.Err != nil {
		t.Errorf("settings: %+v", f)
	}
	e.set(http.StatusUnauthorized, false)
	if f := finding(x.Check(t.Context()), "embedder mine"); f == nil || f.Err == nil || !strings.Contains(f.Do, "apiKey") {
		t.Errorf("failing: %+v", f)
	}
}

func TestVectorsOutliveAChangeOfSettingsOverARestart(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	docs := site()
	vectors := vectorsOf(docs)
	replace(t, x, docs, vectors)
	x.Close()
	o.Synonyms, o.StopWords = [][]string{{"tls", "encryption"}}, []string{"guide"}
	y := open(t, o) // nothing is replaced: the pages are the previous ones
	eventually(t, "the settings are those wanted", func() bool {
		f := finding(y.Check(t.Context()), "settings of")
		return f != nil && f.Err == nil
	})
	hits := search(t, y, retrieval.Query{Text: "zebra", Vector: vectors[2][1]})
	if len(hits) == 0 || hits[0].Document.Page != "guide/tls" || hits[0].Section != 1 {
		t.Errorf("semantic search finds %v", pages(hits))
	}
	if f := finding(y.Check(t.Context()), "index "); f == nil || f.Err != nil {
		t.Errorf("the index: %+v", f)
	}
}

func TestFromAnEmbedderOfTheServersToOursAndBack(t *testing.T) {
	t.Parallel()
	e := embedding(t)
	o := options(t)
	docs := site()
	vectors := vectorsOf(docs)
	x := open(t, o)
	replace(t, x, docs, vectors)
	x.Close()

	o.Embedder = "mine"
	x = open(t, o)
	setEmbedder(t, o, "mine", sources(e)["rest"])
	docs = append(site(), page("more", "More", "Wildcards: Another certificate for a wildcard."))
	replace(t, x, docs, nil)
	eventually(t, "the server's embedder is used", func() bool { x.CheckSoon(); return findsZebra(t, x) })
	x.Close()

	o.Embedder = ""
	x = open(t, o)
	vectors = vectorsOf(docs)
	replace(t, x, docs, vectors)
	if hits := search(t, x, retrieval.Query{Text: "zebra", Vector: vectors[2][1]}); len(hits) == 0 || hits[0].Document.Page != "guide/tls" {
		t.Errorf("by ours: %v", pages(hits))
	}
}

func TestMeaningAloneFallsBackToWords(t *testing.T) {
	t.Parallel()
	one := 1.0
	o := options(t)
	o.SemanticRatio = &one
	x := open(t, o)
	replace(t, x, site(), vectorsOf(site()))
	if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 || got[0] != "guide/proxy" {
		t.Errorf("without a vector in time, semantic_ratio 1 finds %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(ctx, retrieval.Query{Text: "upstream", Limit: 5}); err == nil {
		t.Error("a reader that left gets an answer")
	}
}
