package assistant

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
)

// The templates of models refuse conversations that were not made as they were
// trained. Each row is what a template raises, from the model's repository; the
// messages are those of whole replies.
func TestPromptsFitTheTemplatesOfModels(t *testing.T) {
	alternate := func(messages []PromptMessage, skip func(PromptMessage) bool) error {
		n := 0
		for _, m := range messages {
			if skip(m) {
				continue
			}
			if (m.Role == "user") != (n%2 == 0) {
				return errors.New("Conversation roles must alternate user/assistant/user/assistant/...") //nolint:staticcheck // theirs
			}
			n++
		}
		return nil
	}
	ofTools := func(m PromptMessage) bool { return m.Role == "tool" || len(m.ToolCalls) > 0 }
	id := regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	for _, template := range []struct {
		model  string
		tools  bool // has a place for them
		raises func(messages []PromptMessage) error
	}{
		{"mistralai/Mistral-7B-Instruct-v0.3", true, func(messages []PromptMessage) error {
			for _, m := range messages {
				for _, c := range m.ToolCalls {
					if !id.MatchString(c.ID) {
						return fmt.Errorf("Tool call IDs should be alphanumeric strings with length 9! %q", c.ID) //nolint:staticcheck // theirs
					}
				}
				if m.Role == "tool" && !id.MatchString(m.ToolCallID) {
					return fmt.Errorf("Tool call IDs should be alphanumeric strings with length 9! %q", m.ToolCallID) //nolint:staticcheck // theirs
				}
			}
			return alternate(messages[1:], ofTools) // after the optional system message
		}},
		{"google/gemma-3-4b-it", false, func(messages []PromptMessage) error {
			return alternate(messages[1:], func(PromptMessage) bool { return false })
		}},
		{"google/gemma-2-9b-it", false, func(messages []PromptMessage) error {
			// It raises "System role not supported": package model joins the first two.
			if messages[0].Role != "system" || messages[1].Role != "user" {
				return fmt.Errorf("the first messages are of %s and %s", messages[0].Role, messages[1].Role)
			}
			return alternate(messages[1:], func(PromptMessage) bool { return false })
		}},
	} {
		t.Run(template.model, func(t *testing.T) {
			call := func(n int) ToolCall {
				return ToolCall{ID: fmt.Sprintf("call%05d", n), Name: "search", Arguments: `{"query":"certificate"}`}
			}
			rounds := []round{{text: good}}
			if template.tools {
				rounds = []round{{calls: []ToolCall{call(0), call(1)}}, {text: "Wait.", calls: []ToolCall{call(0)}}, {calls: []ToolCall{call(0)}}, {text: good}}
			}
			m := &script{rounds: rounds, rewrite: "How do I install Acme on Windows?"}
			in := ask("and on Windows?", userSaid("How do I install Acme on Linux?"), userSaid("Please!"), assistantSaid("With apt."), assistantSaid("Really."))
			mustReply(t, acme(m), in)
			if len(m.prompts) != len(rounds) {
				t.Fatalf("%d prompts", len(m.prompts))
			}
			for i, p := range m.prompts {
				if err := template.raises(p.Messages); err != nil {
					t.Errorf("prompt %d: %v", i, err)
				}
			}
			if err := template.raises((&inquiry{earlier: in.Messages, asked: "and?"}).rewritePrompt().Messages); err != nil {
				t.Errorf("a rewrite: %v", err)
			}
		})
	}
}
