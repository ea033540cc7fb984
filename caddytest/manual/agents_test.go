package manual

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// agentQuestions are what people ask an agent about this module, with words of
// the text that answers.
var agentQuestions = map[string]string{
	"how do I create an API key":                             "caddy docs key create",
	"how do I revoke a key":                                  "caddy docs key revoke",
	"which origins may use a key":                            "--origin",
	"how many requests may an organization send per hour":    "10,000",
	"what does status 429 mean":                              "Retry-After",
	"what does the error code wrong_site mean":               "another organization",
	"connect Claude Code to the MCP server":                  "claude mcp add",
	"turn off the MCP server":                                "mcp off",
	"where is llms.txt":                                      "/llms.txt",
	"get a page as Markdown":                                 "text/markdown",
	"how are private pages protected":                        "basic_auth",
	"use useChat with AI SDK 5":                              "DefaultChatTransport",
	"useChat with AI SDK 4 streamProtocol":                   "streamProtocol",
	"strict releases of the AI SDK finish event":             "finish_event",
	"ask from Python":                                        "import requests",
	"continue a thread after the page is reloaded":           "body: { threadId }",
	"how long are threads kept":                              "30 d",
	"turn threads off":                                       "threads off",
	"set the data directory":                                 "data_dir",
	"use Meilisearch as the index":                           "index meilisearch",
	"use OpenAI as the model":                                "llm https://api.openai.com",
	"use Ollama as the model":                                "Ollama",
	"limit the tokens that the model may use per day":        "budget",
	"put the widget into every page":                         "widget inject",
	"exclude a page from search":                             "noindex",
	"exclude a folder from the index":                        "exclude /",
	"search only pages in a language":                        "filter",
	"set synonyms for search":                                "synonyms",
	"migrate from Mintlify":                                  "api.mintlify.com",
	"install with xcaddy":                                    "xcaddy build",
	"run in Docker":                                          "docker run",
	"open the dashboard":                                     "docs_dashboard",
	"who sees the dashboard":                                 "forward_auth",
	"metrics for Prometheus":                                 "docs_",
	"evaluate search with queries":                           "caddy docs eval",
	"rebuild the index from the command line":                "caddy docs index",
	"scoreThreshold of a search":                             "scoreThreshold",
	"feedback votes of readers":                              "/v1/feedback/",
	"how do I uninstall the module":                          "remove",
	"what may change between releases, stability of the API": "keep their meaning",
}

// A model reaches the text that answers with one call, within the tokens that
// the tool's description promises.
func oneSearchOfAnAgentReachesTheText(t *testing.T, s *caddytest.Server) {
	longest, missed := 0, []string{}
	for question, answer := range agentQuestions {
		arguments, _ := json.Marshal(map[string]string{"query": question})
		r := s.Do(caddytest.Request{Path: "/mcp", Key: "-", Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":%s}}`, arguments)})
		var got struct {
			Result struct {
				Content []struct{ Text string }
			}
		}
		if err := json.Unmarshal(r.Body, &got); err != nil || len(got.Result.Content) != 1 {
			t.Fatalf("%s: %v: %s", question, err, r.Body)
		}
		text := got.Result.Content[0].Text
		var found struct{ Results []struct{ Text string } }
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, r := range found.Results {
			all.WriteString(r.Text + "\n")
		}
		if !strings.Contains(strings.ToLower(all.String()), strings.ToLower(answer)) {
			missed = append(missed, question)
		}
		longest = max(longest, len(text))
	}
	// 1,500 tokens of English are some 5,250 bytes.
	if longest > 5600 || len(missed) > 2 {
		t.Errorf("the longest result has %d bytes; no text that answers %d of %d: %q", longest, len(missed), len(agentQuestions), missed)
	}
	t.Logf("longest %d bytes, missed %d of %d: %q", longest, len(missed), len(agentQuestions), missed)
}
