package insights

import "strings"

// agents are the names by which AI agents and the crawlers of search engines
// introduce themselves. A name that contains another stands before it.
var agents = []string{
	"GPTBot", "ChatGPT-User", "OAI-SearchBot", "ClaudeBot", "Claude-User", "Claude-SearchBot", "PerplexityBot", "Perplexity-User",
	"Googlebot", "Google-CloudVertexBot", "bingbot", "Applebot", "Amazonbot", "Bytespider", "CCBot", "DuckAssistBot", "DuckDuckBot",
	"meta-externalagent", "meta-externalfetcher", "MistralAI-User", "cohere-ai", "YandexBot", "Baiduspider", "PetalBot",
}

// Program is the agent of requests that no browser sent and that name none that
// is known. Scanners are among them.
const Program = "program"

// AgentOf returns the known agent that a User-Agent header names, Program for
// another program, and "" for a browser. Anyone can send any of them.
func AgentOf(userAgent string) string {
	folded := strings.ToLower(userAgent[:min(len(userAgent), 500)])
	for _, name := range agents {
		if strings.Contains(folded, strings.ToLower(name)) {
			return name
		}
	}
	for _, part := range []string{"bot", "crawl", "spider", "headless"} {
		if strings.Contains(folded, part) {
			return Program
		}
	}
	if !strings.HasPrefix(folded, "mozilla/") && !strings.HasPrefix(folded, "opera/") {
		return Program
	}
	return ""
}
