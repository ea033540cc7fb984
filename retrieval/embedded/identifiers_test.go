package embedded

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestIdentifiersAreFoundAsWhatTheyAre(t *testing.T) {
	x := opened(t, Options{},
		page("matchers", "HTTP matchers", "HTTP 3 matchers", "HTTP matchers of HTTP requests: 3 of them are for HTTP headers, 3 for HTTP paths."),
		page("protocols", "Protocols", "Versions", "A server speaks HTTP/1.1, HTTP/2 and HTTP/3 unless `protocols` says otherwise."),
		page("appendix-c", "Appendix C", "Appendix C", "C is the letter of this appendix. C is also a language."),
		page("bindings", "Bindings", "Languages", "There are bindings for C++ and for Java."),
		page("dotnet", "More bindings", "Other languages", "There are bindings for C# and for Go."),
		page("environment", "Environment", "Env", "The env of a process: env variables, and how to print the env."),
		page("secrets", "Secrets", "Files", "Secrets are read from .env at the start."),
		page("api-keys", "API keys", "API keys", "An API key is created for each API. Keys can be revoked. X marks the key."),
		page("requests", "Requests", "Authentication", "Send the key in X-Api-Key with each request."),
		page("domains", "Domain", "Domain", "The domain of a site, and other domains of the domain."),
		page("commands", "Commands", "Options", "Run it with --domain and a name."),
		page("node", "Node modules", "Modules of Node", "Node has modules. Modules of Node are called modules."),
		page("ignore", "Ignored folders", "Defaults", "node_modules is never read."),
		page("chat", "Chat", "Install", "Add @acme/chat-react to the project."),
		page("acme", "Acme chat", "Acme chat for React", "Acme makes a chat, also for React."),
		page("calls", "Calls", "b", "a, b and c call each other. See a.b for b, and b.c for c."),
		page("client", "Client", "Methods", "Write client.users.list() for the users."),
		page("users", "Users", "List of users", "The list of users of a client."),
	)
	for query, want := range map[string]string{
		"http/3": "protocols", "HTTP/3 ": "protocols", "enable http/3": "protocols",
		"c++": "bindings", "C#": "dotnet", ".env": "secrets", "x-api-key": "requests",
		"--domain": "commands", "node_modules": "ignore", "@acme/chat-react": "chat", "client.users.list()": "client",
	} {
		hits := search(t, x, retrieval.Query{Text: query})
		if len(hits) == 0 || hits[0].Document.Page != want {
			t.Errorf("%q finds %v, want %s first", query, pages(hits), want)
			continue
		}
		text := hits[0].Document.Sections[hits[0].Section].Text
		if got := marked(text, x.Mark(retrieval.Query{Text: query})); !strings.Contains(strings.ToLower(got), "["+strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(strings.TrimSpace(query)), "enable "), "()")+"]") {
			t.Errorf("%q marks %s", query, got)
		}
	}
	// Where the site doesn't have it, its parts are what is left.
	if got := pages(search(t, x, retrieval.Query{Text: "--keys"})); len(got) == 0 || got[0] != "api-keys" {
		t.Errorf("an unknown flag finds %v", got)
	}
	whole := search(t, x, retrieval.Query{Text: "http/3 "})
	if first, last := whole[0].Score, whole[len(whole)-1].Score; last > first/2 {
		t.Errorf("a page about HTTP scores %v for http/3, the page about it %v", last, first)
	}
}

func TestAHitLeadsToTheSectionThatTheQueryNames(t *testing.T) {
	x := opened(t, Options{},
		page("reverse_proxy", "reverse_proxy",
			"", "The reverse_proxy directive is a reverse proxy. A reverse proxy sends requests and their headers to upstreams, and the reverse proxy returns answers with their headers.",
			"Headers", "They are set by header_up and header_down.",
			"Timeouts", "Connections that take too long are closed."),
		page("header", "header", "", "Sets headers of answers. For those of a reverse proxy see there.", "Examples", "header headers."))
	for query, want := range map[string]string{
		"reverse proxy headers": "Headers", "reverse_proxy timeouts": "Timeouts", "reverse proxy": "",
	} {
		hits := search(t, x, retrieval.Query{Text: query})
		if got := hits[0].Document.Page + " › " + hits[0].Document.Sections[hits[0].Section].Heading; got != "reverse_proxy › "+want {
			t.Errorf("%q leads to %q, want section %q", query, got, want)
		}
	}
}

func TestAPagesNameLeadsToItsBeginning(t *testing.T) {
	docs := append(manual(),
		page("baggage", "Baggage", "", "Contextual information that resides next to context. It is a store of keys and values.",
			"Example", "Used in tracing.",
			"Baggage security considerations", "Sensitive Baggage items can be shared. Baggage is visible. Automatic instrumentation includes Baggage."),
		page("inject", "Composition API: Dependency Injection", "provide()", "Provides a value for injection.", "inject()", "Injects a value."))
	x := opened(t, Options{}, docs...)
	for query, want := range map[string]string{
		"baggage": "baggage 0", "What is baggage?": "baggage 0", "baggage security": "baggage 2",
		"dependency injection": "inject 0", "inject": "inject 1",
	} {
		if hit := search(t, x, retrieval.Query{Text: query})[0]; fmt.Sprint(hit.Document.Page, " ", hit.Section) != want {
			t.Errorf("%q leads to section %d of %s, want %s", query, hit.Section, hit.Document.Page, want)
		}
	}
}

func TestAnEntryIsBeforePagesThatMentionIt(t *testing.T) {
	entries := page("core", "Core", "The RewriteRule Directive", "Each RewriteRule sets a rule by which URLs are rewritten.", "13.1. Write-Ahead Log", "Changes are written twice.")
	entries.Sections[0].Anchor = "rewriterule"
	mention := page("a", "Flags", "RewriteRule flags", "Each RewriteRule has flags by which URLs are rewritten.")
	x := opened(t, Options{}, entries, mention, page("hooks", "Write hooks", "Hooks of the log", "A hook of the write-ahead log. Write a hook."))
	for query, want := range map[string]string{"RewriteRule": "The RewriteRule Directive", "write ahead log": "13.1. Write-Ahead Log"} {
		hit := search(t, x, retrieval.Query{Text: query})[0]
		if got := hit.Document.Sections[hit.Section].Heading; got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

func TestATitleWordForWordIsFirst(t *testing.T) {
	release := page("blog/release-notes-2", "Release notes for operators", "Summary", "What changed.")
	release.Kind = retrieval.Changelog
	old := page("old", "Moving from version 1", "Steps", "How to move.")
	old.Kind = retrieval.Old
	docs := []*retrieval.Document{release, old}
	for _, name := range []string{"Operators", "Release", "Version 1", "Moving"} {
		docs = append(docs, page(strings.ToLower(name), name, "Release notes for operators", strings.Repeat("Release notes for operators, moving from version 1. ", 4)))
	}
	x := opened(t, Options{}, docs...)
	for query, want := range map[string]string{"release notes for operators": "blog/release-notes-2", "Moving from version 1": "old"} {
		if got := pages(search(t, x, retrieval.Query{Text: query})); got[0] != want {
			t.Errorf("%q finds %v, want %s first", query, got, want)
		}
	}
}

func TestTheScoreCountsWordsThatTheSiteWritesAsOne(t *testing.T) {
	ix := opened(t, Options{},
		&retrieval.Document{Page: "db", URL: "/db", Title: "Databases", Hash: "1", Sections: []retrieval.Section{{Text: "Connect to postgresql with the connection string, send an email."}}},
		&retrieval.Document{Page: "web", URL: "/web", Title: "GitHub", Hash: "2", Sections: []retrieval.Section{{Heading: "Frontend", Text: "Nothing else is here."}}},
	)
	for query, want := range map[string]float64{
		"postgresql": .6, "PostgreSQL": .6, "postgre-sql": .6, "postgre sql": joined * .6, "e-mail": .6, "frontend": .8, "front-end": .8, "front end": joined * .8,
		"GitHub": 1, // its parts are in the title
	} {
		hits := search(t, ix, retrieval.Query{Text: query, Limit: 5})
		if score := hits[0].Score; math.Abs(score-want) > 1e-4 {
			t.Errorf("%s: %.4f, want %.4f", query, score, want)
		}
	}
}
