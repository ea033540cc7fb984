package assistant

import (
	"os"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// The manual shows three whole prompts.
func TestTheManualShowsWhatAModelIsTold(t *testing.T) {
	page, err := os.ReadFile("../docs/prompts.md")
	if err != nil {
		t.Fatal(err)
	}
	install := []reply.Message{userSaid("How do I install Acme on Linux?"), assistantSaid("Run `sudo apt install acme` ([Install](https://docs.acme.com/install#linux)).", "https://docs.acme.com/install#linux")}
	for _, c := range []struct {
		name   string
		in     *Input
		rounds []round
		change func(*Assistant)
	}{
		{"a first question", ask("How do I install Acme on Linux?"), []round{{text: good}}, func(a *Assistant) {
			a.Site.SupportURL, a.Site.Instructions = "https://acme.com/help", "Call the reader by no name."
			link(a, 0, "Linux", retrieval.Link{Page: "install", Anchor: "linux"})
			link(a, 1, "package", retrieval.Link{Page: "packages"})
		}},
		{"a follow-up question with selected text", func() *Input {
			in := ask("and how long does this wait?", install...)
			in.CurrentPath, in.Context = "/guide/proxy", []reply.Context{{Type: "textSelection", Value: "Set dial_timeout", Path: "guide/proxy"}}
			return in
		}(), []round{{text: good}}, func(*Assistant) {}},
		{"the second round, after a search", ask("What bounds reading?"), []round{
			{calls: []ToolCall{{ID: "call_1", Name: "search", Arguments: `{"query":"own certificate"}`}}}, {text: good},
		}, func(*Assistant) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &script{rounds: c.rounds}
			a := acme(m)
			c.change(a)
			if c.in.CurrentPath != "" { // the first passages of a larger site
				x := a.Search.(*fakeIndex)
				x.documents = []*retrieval.Document{x.documents[0], x.documents[1]}
			}
			mustReply(t, a, c.in)
			var b strings.Builder
			p := m.prompts[len(m.prompts)-1]
			for _, message := range p.Messages {
				b.WriteString("── " + message.Role + "\n")
				for _, call := range message.ToolCalls {
					b.WriteString("calls " + call.Name + " " + call.Arguments + "\n")
				}
				b.WriteString(strings.TrimSpace(message.Content) + "\n\n")
			}
			first := p.Messages[1].Content
			key, _, _ := strings.Cut(strings.TrimPrefix(first, "Key: "), "\n")
			want := "~~~text\n" + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(b.String(), "\n\n\n", "\n\n")), key, "7d1f0a9c2b4e6853") + "\n~~~\n"
			if !strings.Contains(string(page), want) {
				t.Errorf("docs/prompts.md does not have\n%s", want)
			}
		})
	}
}
