package caddyfile

import (
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// lamp is a module of another plugin.
type lamp struct {
	id    caddy.ModuleID
	Words []string `json:"words,omitempty"`
}

func (l lamp) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: l.id, New: func() caddy.Module { return new(lamp) }}
}

func (l *lamp) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	for d.Next() {
		l.Words = append(l.Words, d.Val())
		l.Words = append(l.Words, d.RemainingArgs()...)
		for d.NextBlock(0) {
			l.Words = append(l.Words, d.Val())
		}
	}
	return nil
}

// dark is a module that can be written as JSON only.
type dark struct{}

func (dark) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "docs.llm.dark", New: func() caddy.Module { return new(dark) }}
}

func init() {
	for _, id := range []caddy.ModuleID{"docs.index.lamp", "docs.embedder.lamp", "docs.llm.lamp", "docs.source.lamp"} {
		caddy.RegisterModule(lamp{id: id})
	}
	caddy.RegisterModule(dark{})
}

func TestModulesOfOtherPluginsReadTheirOwnWords(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"an index":    {inDocs("index lamp a b {\n\tc\n}\nthreads off"), `"index":{"backend":"lamp","words":["lamp","a","b","c"]},"threads":{"off":true}`},
		"an embedder": {inDocs("embedder lamp"), `"embedder":{"provider":"lamp","words":["lamp"]}`},
		"a source":    {inDocs("site acme {\nsource lamp a {\n\tb\n}\n}"), `"sources":[{"source":"lamp","words":["lamp","a","b"]}]`},
		"a model":     {inDocs("llm lamp {\n\tbright\n}"), `"llm":{"provider":"lamp","words":["lamp","bright"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := adapt(c.input)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want it to hold %s", got, c.want)
			}
		})
	}
}

func TestAModuleThatOnlyJSONCanConfigureIsRefusedWithItsPlace(t *testing.T) {
	_, err := adapt(inDocs("llm dark"))
	if err == nil || !strings.Contains(err.Error(), "not a Caddyfile unmarshaler") || !strings.Contains(err.Error(), "Caddyfile:3") {
		t.Errorf("got %v", err)
	}
}
