package caddyfile

import (
	"encoding/json"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// option is the global option docs while it is being read.
type option struct {
	app *options.App
	// serverEmbedder is the name of an embedder in the Meilisearch servers'
	// settings.
	serverEmbedder   string
	serverEmbedderAt caddyfile.Token
	// sitesAt are the positions of the sites of this block.
	sitesAt map[string]string
}

// parseOption reads the global option docs. If it is written again (by an
// import, for instance), it adds to the first.
//
//	{
//		docs {
//			site <name> {
//				root <folder>
//				sitemap <url> [<interval>]
//				source folder <folder> [below <path>] [watch events|off|poll] [interval <duration>]
//				source sitemap <url> [interval <duration>] [allow_private on|off]
//				source openapi <file>|<url> [below <path>] [renderer swagger-ui|redoc|scalar|elements|docusaurus|plain] [interval <duration>] [allow_private on|off]
//				source <module> ...
//				allow_private on|off
//				url <url>
//				organization <name>
//				name <text>
//				version <version> [<glob>...]
//				language <language> [<glob>...]
//				kind <glob>... <kind>
//				include <glob>...
//				exclude <glob>...
//				clean_urls on|off
//				anchors github|gitlab|goldmark|pandoc|none
//				watch events|off|poll [<interval>]
//				instructions <text>|<file>
//				support_url <url>
//				edit_url <url>
//				allow_links <host>...
//				starter_questions <question>...
//				synonyms <word> <word>...
//				stop_words <word>...
//				suggestions on|off|fence
//				locks on|off
//				moved redirect|suggest|off
//			}
//			sites <folders> {
//				[the words of site, without root, sitemap, source and allow_private]
//			}
//			group <name> {
//				sites <site>...
//				url <url>
//				organization <name>
//				name <text>
//				instructions <text>|<file>
//				support_url <url>
//				allow_links <host>...
//				starter_questions <question>...
//				synonyms <word> <word>...
//				stop_words <word>...
//				suggestions on|off|fence
//			}
//			key <key>|<placeholder> {
//				organization <name>
//				sites <site>...
//				origins <origin>...
//				name <text>
//			}
//			index embedded
//			index meilisearch <url>... {
//				api_key <placeholder>
//				search_key <placeholder>
//				view_key <placeholder>
//				prefix <name>
//				semantic_ratio <0-1>
//				ranking server
//				fallback embedded
//				embedder <name>
//			}
//			index <module> ...
//			embedder <url> <model> {
//				api_key <placeholder>
//				dimensions <n>
//				semantic_ratio <0-1>
//			}
//			embedder meilisearch <name>
//			embedder <module> ...
//			llm <url> <model> {
//				api_key <placeholder>
//				fallback <url> <model> {
//					api_key <placeholder>
//				}
//				first_token_timeout <duration>
//				idle_timeout <duration>
//				max_duration <duration>
//				max_tokens <n>
//				reasoning on|off
//				budget <n>[k|M] tokens|requests per day|hour
//			}
//			llm <module> ...
//			threads ttl <duration>
//			threads off
//			insights {
//				store sqlite [<file>]
//				store postgres <dsn>
//				store <module> ...
//				retention <duration>
//				texts on|off
//				clicks on|off
//				jsonl <file>|stdout
//			}
//			insights off
//			data_dir <folder>
//		}
//	}
func parseOption(d *caddyfile.Dispenser, existing any) (any, error) {
	o := &option{app: &options.App{Sites: map[string]*options.Site{}, Groups: map[string]*options.Group{}}, sitesAt: map[string]string{}}
	if before, ok := existing.(httpcaddyfile.App); ok {
		if err := json.Unmarshal(before.Value, o.app); err != nil {
			return nil, d.Errf("reading the docs option before this one: %w", err)
		}
	}
	d.Next() // the option's name
	l := line{d, &word{name: "docs"}}
	if d.NextArg() {
		return nil, d.Errf("docs: unexpected argument %q; the global option takes a block: write site %s { … } in it", d.Val(), d.Val())
	}
	if err := parseBlock(l, "docs", o.words(), o.validate); err != nil {
		return nil, err
	}
	if err := o.joinEmbedder(); err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "docs", Value: caddyconfig.JSON(o.app, nil)}, nil
}

// validate checks what the words of this block set themselves. Blocks inside
// it have checked the rest.
func (o *option) validate() error {
	return (&options.App{Threads: o.app.Threads, DataDir: o.app.DataDir}).Validate()
}

func (o *option) words() []word {
	a := o.app
	return []word{
		{
			name: "site", repeat: true, parse: o.parseSite,
			forms: []form{{args: "<name>", example: "acme", block: siteWords(new(options.Site))}},
		},
		{
			name: "sites", repeat: true, parse: o.parseSites,
			forms: []form{{args: "<folders>", example: "/srv/sites/*", block: folderWords(new(options.Site))}},
		},
		{
			name: "group", repeat: true, parse: o.parseGroup,
			forms: []form{{args: "<name>", example: "acme", block: groupWords(new(options.Group))}},
		},
		{
			name: "key", repeat: true, parse: o.parseKey,
			forms: []form{{args: "<key>|<placeholder>", example: "svc_dsc_0123456789abcdef", block: keyWords(new(options.FixedKey))}},
		},
		once(a.IndexRaw != nil, word{
			name: "index", parse: set(&a.IndexRaw, parseIndex),
			forms: []form{
				{args: "embedded", example: "embedded"},
				{args: "meilisearch <url>...", example: "meilisearch http://127.0.0.1:7700", block: meilisearchWords(new(options.MeilisearchIndex))},
				{args: "<module> ..."},
			},
		}),
		once(a.EmbedderRaw != nil, word{
			name: "embedder", parse: o.parseEmbedder,
			forms: []form{
				{args: "<url> <model>", example: "http://127.0.0.1:11434/v1 nomic-embed-text", block: embedderWords(new(options.OpenAIEmbedder))},
				{args: "meilisearch <name>", example: "meilisearch default"},
				{args: "<module> ..."},
			},
		}),
		once(a.LLMRaw != nil, word{
			name: "llm", parse: set(&a.LLMRaw, parseModel),
			forms: []form{
				{args: "<url> <model>", example: "https://api.openai.com/v1 gpt-5-mini", block: modelWords(new(options.OpenAIModel))},
				{args: "<module> ..."},
			},
		}),
		once(a.Threads != nil, word{
			name: "threads", forms: []form{{args: "ttl <duration>", example: "ttl 30d"}, {args: "off", example: "off"}},
			parse: set(&a.Threads, parseThreads),
		}),
		once(a.Insights != nil, word{
			name: "insights", parse: set(&a.Insights, parseInsights),
			forms: []form{{block: insightsWords(new(options.Insights))}, {args: "off", example: "off"}},
		}),
		once(a.DataDir != "", textWord("data_dir", "<folder>", "/var/lib/caddy/docs", &a.DataDir)),
	}
}

// once refuses a word that another docs option has written.
func once(written bool, w word) word {
	if written {
		w.parse = func(l line) error { return l.Errf("%s is written twice; keep one", w.name) }
	}
	return w
}

func parseThreads(l line) (*options.Threads, error) {
	args, err := l.between(1, 2)
	if err != nil {
		return nil, err
	}
	switch {
	case args[0] == "off" && len(args) == 1:
		return &options.Threads{Off: true}, nil
	case args[0] == "ttl" && len(args) == 2:
		ttl, err := l.duration(args[1])
		return &options.Threads{TTL: ttl}, err
	case args[0] == "ttl":
		return nil, l.refuse("ttl needs a duration")
	case args[0] == "off":
		return nil, l.refuse("unexpected argument %q", args[1])
	}
	return nil, l.refuse("%q must be ttl or off", args[0])
}
