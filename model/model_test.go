package model

import (
	"context"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// collected is what a reader of a reply got.
type collected struct {
	text, reasoning string
	deltas          int
}

func ask(t testing.TB, c *Chain) (collected, *assistant.Completion, error) {
	t.Helper()
	return askAs(t.Context(), c, &assistant.Prompt{Messages: []assistant.PromptMessage{{Role: "user", Content: "How do I install it?"}}})
}

func askAs(ctx context.Context, c *Chain, p *assistant.Prompt) (got collected, _ *assistant.Completion, _ error) {
	var text, reasoning strings.Builder
	completion, err := c.Stream(ctx, p, func(d *assistant.Delta) error {
		got.deltas++
		text.Write(d.Text)
		reasoning.Write(d.Reasoning)
		return nil
	})
	got.text, got.reasoning = text.String(), reasoning.String()
	return got, completion, err
}

func chain(t testing.TB, h *modelserver.Server, o Options) *Chain {
	t.Helper()
	if o.Endpoints == nil {
		o.Endpoints = []Endpoint{{URL: "http://model.test/v1", Model: "fake", APIKey: "sk-secret-0123456789"}}
	}
	o.Client = modelserver.Client(h)
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAReplyComesWholeWithItsUsage(t *testing.T) {
	srv := modelserver.New()
	srv.Always(modelserver.Reply{Text: "Run `go install`, then “caddy run”.\n\nThat's it 🎉", Reasoning: []string{"hm", " well"}})
	got, c, err := ask(t, chain(t, srv, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if want := "Run `go install`, then “caddy run”.\n\nThat's it 🎉"; got.text != want {
		t.Errorf("text %q, want %q", got.text, want)
	}
	if got.reasoning != "hm well" {
		t.Errorf("reasoning %q", got.reasoning)
	}
	if c.Reason != "stop" || !c.Usage.Known || c.Usage.OutputTokens != 11 || c.Model != "fake" {
		t.Errorf("completion %+v", c)
	}
	if h := srv.Last().Header.Get("Authorization"); h != "Bearer sk-secret-0123456789" {
		t.Errorf("authorization %q", h)
	}
}
