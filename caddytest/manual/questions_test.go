package manual

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// questions are what three kinds of readers type, with the pages that help
// them. They were written before the manual was searched for them.
var questions = map[string]map[string]string{
	"operator": {
		"build with xcaddy":                                   "/install",
		"install from a checkout":                             "/install",
		"which version of go do I need":                       "/install /",
		"run as systemd service":                              "/operations",
		"prometheus metrics":                                  "/operations",
		"where are the logs":                                  "/operations",
		"several caddys behind a load balancer":               "/recipes/cluster /operations /keys",
		"how do I limit requests per ip":                      "/keys /caddyfile",
		"turn off rate limits":                                "/keys /caddyfile",
		"nginx in front of caddy":                             "/recipes/nginx",
		"cloudflare cdn client ip":                            "/recipes/cdn /keys",
		"backup insights database":                            "/commands /insights",
		"postgres":                                            "/insights /json /caddyfile",
		"who may open the dashboard":                          "/dashboard",
		"dashboard login without users":                       "/dashboard /commands",
		"strict csp":                                          "/widget",
		"is a key secret":                                     "/keys /security",
		"revoke key":                                          "/commands /keys",
		"local model with ollama":                             "/models",
		"what does it cost to remove the module":              "/uninstall",
		"how much memory does search need":                    "/benchmarks /ranking",
		"delete conversations gdpr":                           "/security /insights /commands /dashboard",
		"fallback when openai is down":                        "/models",
		"token budget for the llm":                            "/models",
		"grafana dashboard":                                   "/operations",
		"docs behind basic auth":                              "/private",
		"single sign-on authelia":                             "/recipes/sso /private /dashboard",
		"wildcard hosts for many customers":                   "/recipes/hosts",
		"module is not registered: http.handlers.docs_search": "/install /json /uninstall",
		"upgrade to a new version":                            "/stability /uninstall /install",
	},
	"developer": {
		"search api request body":         "/search",
		"401 missing_key":                 "/errors /keys",
		"429 retry-after":                 "/errors /keys",
		"cors origin not allowed":         "/keys /errors",
		"useChat example":                 "/ai-sdk",
		"ai sdk 4":                        "/ai-sdk /assistant",
		"stream format of the assistant":  "/assistant",
		"continue a thread":               "/assistant /ai-sdk",
		"widget in docusaurus":            "/recipes/docusaurus /widget",
		"change the color of the widget":  "/widget",
		"open the widget with javascript": "/widget",
		"keyboard shortcut ctrl k":        "/widget /caddyfile",
		"typescript types":                "/api",
		"openapi document":                "/api",
		"mcp server url for claude":       "/agents",
		"search as you type":              "/search",
		"filter results by version":       "/search",
		"python client":                   "/ai-sdk /api",
		"send thumbs down":                "/insights /widget",
		"migrate from mintlify":           "/migrate",
		"highlight matches in results":    "/search",
		"stop a reply and regenerate":     "/ai-sdk /assistant",
		"without javascript":              "/search",
		"get a page as markdown":          "/agents",
		"widget events for analytics":     "/widget",
	},
	"writer": {
		"front matter title":                     "/pages",
		"exclude a page from search":             "/pages /caddyfile",
		"how often is the folder read":           "/pages",
		"synonyms":                               "/caddyfile /ranking",
		"page in two languages":                  "/pages /recipes/languages",
		"old versions of the docs":               "/pages /recipes/versions",
		"heading anchors":                        "/pages",
		"why is my page not found":               "/pages /commands /dashboard /operations",
		"which questions were not answered":      "/dashboard /insights /commands",
		"searches without results":               "/dashboard /insights",
		"make a page rank higher":                "/ranking",
		"typos":                                  "/ranking /search",
		"starter questions":                      "/caddyfile /widget",
		"tell the assistant about our product":   "/assistant /caddyfile /models",
		"images and alt text":                    "/pages",
		"mdx components":                         "/pages /recipes/mdx",
		"hidden page":                            "/pages /private",
		"evaluate the quality of search":         "/ranking /commands",
		"does it make up links":                  "/assistant /answers /security",
		"sitemap":                                "/pages",
		"tabs and code blocks":                   "/pages",
		"how long until a change can be found":   "/pages",
		"help desk link when there is no answer": "/caddyfile /assistant /answers",
		"what is stored about readers":           "/insights /security /widget",
		"api reference pages":                    "/pages",
	},
}

// Of the questions of each kind of reader, the first three results of most
// lead to a page that helps.
func theManualsSearchFindsWhatItsReadersAskFor(t *testing.T, s *caddytest.Server) {
	for reader, asked := range questions {
		first, top := 0, 0
		for question, pages := range asked {
			body, _ := json.Marshal(map[string]any{"query": question, "pageSize": 3})
			r := s.Do(caddytest.Request{Path: "/v1/search/manual", Key: manualKey, Body: string(body)})
			var results []caddytest.Result
			if err := json.Unmarshal(r.Body, &results); err != nil {
				t.Fatalf("%s: %v: %s", question, err, r.Body)
			}
			var found []string
			for _, result := range results {
				page, _, _ := strings.Cut(result.Path, "#")
				found = append(found, "/"+strings.Trim(page, "/"))
			}
			at := slices.IndexFunc(found, func(page string) bool { return slices.Contains(strings.Fields(pages), page) })
			if at == 0 {
				first++
			}
			if at >= 0 {
				top++
			} else {
				t.Logf("%s: %q finds %v, not %s", reader, question, found, pages)
			}
		}
		t.Logf("%s: %d of %d first, %d in the first three", reader, first, len(asked), top)
		if top*100 < len(asked)*95 || first*100 < len(asked)*60 {
			t.Errorf("%s: %d of %d questions find their page first, %d in the first three", reader, first, len(asked), top)
		}
	}
}
