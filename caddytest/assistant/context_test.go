package assistant

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/stream"
)

// questionsWithContext are questions of a reader of the manual, the page that
// answers, and the page that the reader has selected text of.
var questionsWithContext = []struct{ question, page, shown string }{
	{"How do I create a key for the API?", "keys", "meilisearch"},
	{"How do I restrict a key to one origin?", "keys", "models"},
	{"Which limits apply to a client IP?", "keys", "search"},
	{"What does error 429 rate_limited mean?", "errors", "pages"},
	{"What is the status code too_large?", "errors", "assistant"},
	{"How do I use useChat with version 4?", "ai-sdk", "operations"},
	{"What are strict releases of the AI SDK?", "ai-sdk", "keys"},
	{"How can I ask with plain fetch?", "ai-sdk", "models"},
	{"How is the score of a search result computed?", "ranking", "operations"},
	{"How do filters work in a search?", "search", "private"},
	{"How do I search as you type?", "search", "meilisearch"},
	{"What is the response of the search endpoint?", "search", "ai-sdk"},
	{"How do I connect Meilisearch servers?", "meilisearch", "pages"},
	{"What happens when Meilisearch servers fail?", "meilisearch", "ai-sdk"},
	{"How do I configure a language model with fallback?", "models", "search"},
	{"Which embeddings endpoint can I configure?", "models", "keys"},
	{"How are threads stored on disk?", "operations", "pages"},
	{"Which Prometheus metrics are there?", "operations", "ai-sdk"},
	{"How do I run caddy-docs with systemd?", "operations", "search"},
	{"How does tracing work?", "operations", "models"},
	{"How are private pages kept out of answers?", "private", "meilisearch"},
	{"How do I turn off locks?", "private", "ranking"},
	{"How do MDX files become pages?", "pages", "keys"},
	{"How do I index a sitemap?", "pages", "errors"},
	{"How do I exclude pages from the index?", "pages", "ai-sdk"},
	{"How do I build Caddy with xcaddy?", "install", "search"},
	{"How do I migrate from Mintlify?", "migrate", "operations"},
	{"How do I evaluate the ranking with caddy docs eval?", "commands", "assistant"},
	{"How do I revoke a key on the command line?", "commands", "pages"},
	{"What protects against prompt injection?", "security", "search"},
}

// The question decides what is found. Text that the reader has selected does
// not displace the page that answers.
func TestContextDoesNotPullTheSearchAway(t *testing.T) {
	manual, err := filepath.Abs("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	s := caddytest.Start(t, "", caddytest.Site(manual))
	s.Ready("acme")
	rank := func(question, page string, fields map[string]any) int {
		r := s.AskBody(caddytest.Question(question, fields))
		return slices.IndexFunc(r.Sources, func(source stream.Source) bool {
			u, err := url.Parse(source.URL)
			return err == nil && strings.TrimSuffix(strings.Trim(u.Path, "/"), ".md") == page
		})
	}
	fell, rose, first := 0, 0, 0
	for _, q := range questionsWithContext {
		text, err := os.ReadFile(filepath.Join(manual, q.shown+".md"))
		if err != nil {
			t.Fatal(err)
		}
		from := len(text) / 3
		context := []any{map[string]any{"type": "textSelection", "value": strings.ToValidUTF8(string(text[from:min(from+1500, len(text))]), ""), "path": "/" + q.shown}}
		alone, shown := rank(q.question, q.page, nil), rank(q.question, q.page, map[string]any{"context": context})
		if alone == 0 {
			first++
		}
		switch {
		case alone >= 0 && (shown < 0 || shown > alone):
			fell++
			t.Logf("%s: rank %d alone, %d with context of %s", q.question, alone+1, shown+1, q.shown)
		case shown >= 0 && (alone < 0 || shown < alone):
			rose++
		}
	}
	t.Logf("%d questions: the right page is first for %d alone; with context of another page it falls for %d and rises for %d", len(questionsWithContext), first, fell, rose)
	if first < 20 || fell > 1 {
		t.Errorf("the context pulls the search away for %d questions", fell)
	}
}
