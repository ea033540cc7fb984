package agents

import (
	"net/http"
	"testing"
)

func TestWantsMarkdown(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/markdown, text/html, */*": true, // Claude Code
		"text/markdown;q=1.0, text/x-markdown;q=0.9, text/plain;q=0.8, text/html;q=0.7, */*;q=0.1": true, // OpenCode
		"text/markdown, text/html, text/plain":                                                     true, // Qwen Code
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8":                          false,
		"*/*": false, "": false, "text/*": false, "text/markdown": true, "text/html, text/markdown": false,
		"text/html;q=0.5, text/markdown": true, "text/markdown;q=0": false, "text/markdown;q=x, */*": false,
		"text/html,text/markdown,*/*;q=0.8": false, // this module's own requests
	} {
		if got := WantsMarkdown(&http.Request{Header: http.Header{"Accept": {accept}}}); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
}
