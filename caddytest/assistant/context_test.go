package assistant

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
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

// What a model is given links to the pages that the reader can open, and says
// nothing of where others are.
func TestAPromptLinksOnlyToPagesThatTheReaderCanOpen(t *testing.T) {
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: "Read it."})
	text := func(about string) string {
		return "<p>" + about + " " + strings.Repeat("Crews check every valve before they open a tank. ", 8) + "</p>"
	}
	dir := caddytest.Folder(t, map[string]string{
		"index.html":         page("Rockets", "en", text("Rockets fly.")),
		"fuel.html":          page("Fuel", "en", text(`Read <a href="tour.html#top">the tour</a>, <a href="internal/plan.html">the plan</a> and <a href="none.html">the rest</a> about kerosene.`)),
		"tour.html":          page("Tour", "en", text("A walk around.")),
		"internal/plan.html": page("Plan", "en", text("The secret is thorium.")),
	})
	hash := "$2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W" // reader:secret
	s := caddytest.Start(t, caddytest.LLM(url, "scripted", ""), "http://:0 {\n\troot * "+dir+"\n\tbasic_auth /internal/* {\n\t\treader "+hash+"\n\t}\n\tdocs acme "+dir+"\n\tfile_server\n}\n")
	s.Ready("acme")
	for _, c := range []struct{ question, login, want string }{
		{"What about kerosene?", "", "Read [the tour](/tour.html#top), the plan and the rest about kerosene."},
		{"What about kerosene and thorium?", "", "Read [the tour](/tour.html#top), the plan and the rest about kerosene."},
		{"What about kerosene and thorium?", "Basic cmVhZGVyOnNlY3JldA==", "Read [the tour](/tour.html#top), [the plan](/internal/plan.html) and the rest about kerosene."},
	} {
		path, body := caddytest.Message(2, c.question, nil)
		header := map[string]string{}
		if c.login != "" {
			header["X-API-Key"], header["Authorization"] = caddytest.Key, c.login
		}
		if r := s.Do(caddytest.Request{Path: path, Body: body, Header: header}); r.Status != http.StatusOK {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		if user := m.Last().Text("user"); !strings.Contains(user, c.want) || strings.Contains(user, "thorium. Crews") != (c.login != "") {
			t.Errorf("%q with %q: the model was not given %q:\n%s", c.question, c.login, c.want, user)
		}
	}
}
