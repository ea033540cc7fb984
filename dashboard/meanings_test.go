package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// How well questions are grouped by meaning, with the embedder at the URL in
// DOCS_TEST_EMBEDDER, which is of OpenAI's API. A file has the questions about one
// project, as groups that a person made of them, with an empty line between.
// Constants may be adjusted to vite.txt, and not to fastapi.txt.
func BenchmarkQuestionsByMeaning(b *testing.B) {
	address := os.Getenv("DOCS_TEST_EMBEDDER")
	if address == "" {
		b.Skip("no embedder: set DOCS_TEST_EMBEDDER to its URL, such as http://localhost:8080/v1/embeddings")
	}
	files, err := filepath.Glob("testdata/meanings/*.txt")
	if err != nil || len(files) < 2 {
		b.Fatal(files, err)
	}
	for _, file := range files {
		b.Run(filepath.Base(file), func(b *testing.B) {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			var questions []string
			var of []int
			subjectOf := (&Site{Name: strings.TrimSuffix(filepath.Base(file), ".txt")}).subjects()
			for i, group := range strings.Split(string(text), "\n\n") {
				for question := range strings.Lines(strings.TrimSpace(group)) {
					questions, of = append(questions, subjectOf(strings.TrimSpace(question))), append(of, i)
				}
			}
			body, _ := json.Marshal(map[string]any{"input": questions, "model": "test"})
			response, err := http.Post(address, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			defer response.Body.Close()
			var made struct {
				Data []struct{ Embedding []float32 }
			}
			if err := json.NewDecoder(response.Body).Decode(&made); err != nil || len(made.Data) != len(questions) {
				b.Fatal(len(made.Data), err)
			}
			var vectors [][]float32
			for _, d := range made.Data {
				vectors = append(vectors, d.Embedding)
			}
			var groups [][]int
			for b.Loop() {
				groups = alike(vectors)
			}
			together, right, all := 0, 0, 0
			for _, group := range groups {
				for i, x := range group {
					for _, y := range group[:i] {
						together++
						if of[x] == of[y] {
							right++
						}
					}
				}
				if len(group) > 1 {
					var names []string
					for _, i := range group {
						names = append(names, questions[i])
					}
					b.Logf("%s", strings.Join(names, " | "))
				}
			}
			for i := range of {
				for j := range i {
					if of[i] == of[j] {
						all++
					}
				}
			}
			b.ReportMetric(float64(right)/float64(max(together, 1)), "precision")
			b.ReportMetric(float64(right)/float64(all), "recall")
			b.ReportMetric(float64(all), "pairs")
			b.ReportMetric(float64(len(questions)), "questions")
		})
	}
}
