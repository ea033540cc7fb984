package caddyfile

import (
	"encoding/json"
	"time"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

const (
	minTTL = time.Minute
	maxTTL = 10 * 365 * 24 * time.Hour
)

// option is the global option docs while it is being read.
type option struct {
	app *app.App
	// serverEmbedder is the name of an embedder of the Meilisearch server's
	// own, and where it was written.
	serverEmbedder   string
	serverEmbedderAt caddyfile.Token
	// sitesAt are the positions of the sites of this block.
	sitesAt map[string]string
}

// parseOption reads the global option docs. Written again (by an import,
// say), it adds to the first.
func parseOption(d *caddyfile.Dispenser, existing any) (any, error) {
	o := &option{app: new(app.App), sitesAt: map[string]string{}}
	if before, ok := existing.(httpcaddyfile.App); ok {
		if err := json.Unmarshal(before.Value, o.app); err != nil {
			return nil, d.Errf("reading the docs option before this one: %w", err)
		}
	}
	d.Next() // the option's name
	if d.NextArg() {
		return nil, d.Errf("docs: %q is too many; as a global option it opens a block: write site %s { … } in it", d.Val(), d.Val())
	}
	if err := parseBlock(d, "docs", o.words()); err != nil {
		return nil, err
	}
	if err := o.joinEmbedder(); err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "docs", Value: caddyconfig.JSON(o.app, nil)}, nil
}

func (o *option) words() []word {
	a := o.app
	return []word{
		{
			name: "site", repeat: true, parse: o.parseSite,
			forms: []form{{args: "<name>", example: "acme", block: siteWords(new(app.Site))}},
		},
		{
			name: "key", repeat: true, parse: o.parseKey,
			forms: []form{{args: "<key>|<placeholder>", example: "svc_dsc_0123456789abcdef", block: keyWords(new(app.FixedKey)), optional: true}},
		},
		{name: "index", forms: indexForms(), parse: func(l line) (err error) {
			if a.IndexRaw != nil {
				return l.Err("index: is written twice; keep one")
			}
			a.IndexRaw, err = parseIndex(l)
			return err
		}},
		{name: "embedder", forms: embedderForms(), parse: func(l line) error {
			if a.EmbedderRaw != nil || o.serverEmbedder != "" {
				return l.Err("embedder: is written twice; keep one")
			}
			return o.parseEmbedder(l)
		}},
		{name: "llm", forms: modelForms(), parse: func(l line) (err error) {
			if a.LLMRaw != nil {
				return l.Err("llm: is written twice; keep one (others stand in its block as fallback)")
			}
			a.LLMRaw, err = parseModel(l)
			return err
		}},
		{name: "threads", forms: []form{{args: "ttl <duration>", example: "ttl 30d"}, {args: "off", example: "off"}}, parse: func(l line) (err error) {
			if a.Threads != nil {
				return l.Err("threads: is written twice; keep one")
			}
			a.Threads, err = parseThreads(l)
			return err
		}},
		{name: "data_dir", forms: is("<folder>", "/var/lib/caddy/docs"), parse: func(l line) (err error) {
			if a.DataDir != "" {
				return l.Err("data_dir: is written twice; keep one")
			}
			if a.DataDir, err = l.one(); err != nil {
				return err
			}
			if err := checkPath(a.DataDir); err != nil {
				return l.usage(err.Error())
			}
			return nil
		}},
	}
}

func parseThreads(l line) (*app.Threads, error) {
	args, err := l.between(1, 2)
	if err != nil {
		return nil, err
	}
	switch {
	case args[0] == "off" && len(args) == 1:
		return &app.Threads{Off: true}, nil
	case args[0] == "ttl" && len(args) == 2:
		ttl, err := parseDuration(args[1], minTTL, maxTTL)
		if err != nil {
			return nil, l.usage(err.Error())
		}
		return &app.Threads{TTL: ttl}, nil
	case args[0] == "ttl":
		return nil, l.usage("ttl needs a duration")
	case args[0] == "off":
		return nil, l.refuse("%q is too many", args[1])
	}
	return nil, l.refuse("%q is not known", args[0])
}
