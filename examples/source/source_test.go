package faq

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-docs/caddy-docs/caddytest/sourcetest"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	two     = `[{"id":"refunds","question":"How do I get a refund?","answer":"Write to us within 30 days."},{"id":"limits","question":"What are the limits?","answer":"Ten a day."}]`
	changed = `[{"id":"refunds","question":"How do I get a refund?","answer":"Write to us within 60 days."},{"id":"limits","question":"What are the limits?","answer":"Ten a day."}]`
)

func TestItIsASource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "faq.json")
	write := func(text string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(two)(t)
	f := new(FAQ)
	if err := f.UnmarshalCaddyfile(caddyfile.NewTestDispenser("faq " + file + " below /faq")); err != nil {
		t.Fatal(err)
	}
	sourcetest.Source{
		Open: func(t *testing.T) retrieval.Source {
			s, err := f.OpenSource(options.SourceOptions{Wants: func(string) bool { return true }})
			if err != nil {
				t.Fatal(err)
			}
			s.(*source).interval = 10 * time.Millisecond
			return s
		},
		Change:  write(changed),
		Break:   write(`[{"id":`), // half written
		Restore: write(changed),
	}.Test(t)
}
