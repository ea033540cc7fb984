// Package caddyfile is the Caddyfile grammar of caddy-docs: the global option
// docs and the directives docs, assistant and search. It turns them into the
// JSON of the app "docs" and into routes of the handlers; what they mean is
// decided there.
//
// The tables of words (siteWords, modelWords …) are the one place where the
// grammar stands. Errors name file and line and say what to write.
package caddyfile

import (
	"fmt"
	"sync"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

// Register adds the global option and the directives to the Caddyfile
// adapter. Each directive comes before invoke: behind basic_auth, so that
// private documentation stays private, and before handle and route, which
// would take the API's addresses away. assistant and search come before
// docs, so that one of them beside docs has its own settings. Further calls
// do nothing.
//
// The grammar, in which every block may be left out but for that of the
// global option and of its sites:
//
//	{
//		docs {
//			site <name> {
//				root <folder>
//				sitemap <url> [<interval>]
//				allow_private on|off
//				url <url>
//				organization <name>
//				name <text>
//				version <version> [<glob>...]
//				language <language> [<glob>...]
//				include <glob>...
//				exclude <glob>...
//				clean_urls on|off
//				anchors github|gitlab|goldmark|pandoc|none
//				watch events|off|poll [<interval>]
//				instructions <text>|<file>
//				support_url <url>
//				allow_links <host>...
//				starter_questions <question>...
//				synonyms <word> <word>...
//				stop_words <word>...
//				suggestions on|off
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
//				semantic_ratio <0-1>
//				fallback embedded
//				embedder <name>
//			}
//			index <module> ...
//			embedder <url> <model> {
//				api_key <placeholder>
//				dimensions <n>
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
//				max_tokens <n>
//				budget <n>[k|M] tokens|requests per day|hour
//			}
//			llm <module> ...
//			threads ttl <duration>
//			threads off
//			data_dir <folder>
//		}
//	}
//
//	docs [<@matcher>] <site> [<root>] {
//		only search|assistant
//		root <folder>
//		sitemap <url> [<interval>]
//		allow_private on|off
//		url <url>
//		organization <name>
//		name <text>
//		version <version> [<glob>...]
//		language <language> [<glob>...]
//		include <glob>...
//		exclude <glob>...
//		clean_urls on|off
//		anchors github|gitlab|goldmark|pandoc|none
//		watch events|off|poll [<interval>]
//		instructions <text>|<file>
//		support_url <url>
//		allow_links <host>...
//		starter_questions <question>...
//		synonyms <word> <word>...
//		stop_words <word>...
//		suggestions on|off
//		rate_limit organization|ip <n> <window>
//		rate_limit distributed {
//			read_interval <duration>
//			write_interval <duration>
//			purge_age <duration>
//		}
//		rate_limit off
//		errors pass
//		max_body <size>
//		finish_event auto|literal|sdk
//		max_concurrent_replies <n>
//	}
//
//	assistant [<@matcher>] [<site>...] {
//		rate_limit organization|ip <n> <window>
//		rate_limit distributed {
//			read_interval <duration>
//			write_interval <duration>
//			purge_age <duration>
//		}
//		rate_limit off
//		errors pass
//		max_body <size>
//		finish_event auto|literal|sdk
//		max_concurrent_replies <n>
//	}
//
//	search [<@matcher>] [<site>...] {
//		rate_limit organization|ip <n> <window>
//		rate_limit distributed {
//			read_interval <duration>
//			write_interval <duration>
//			purge_age <duration>
//		}
//		rate_limit off
//		errors pass
//		max_body <size>
//	}
func Register() { register() }

var register = sync.OnceFunc(func() {
	httpcaddyfile.RegisterGlobalOption("docs", parseOption)
	if !docsOnly {
		directive(apiAssistant, func(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
			return parseAPI(h, apiAssistant)
		})
		directive(apiSearch, func(h httpcaddyfile.Helper) ([]httpcaddyfile.ConfigValue, error) {
			return parseAPI(h, apiSearch)
		})
	}
	directive("docs", parseDocs)
})

func directive(name string, parse httpcaddyfile.UnmarshalFunc) {
	defer func() {
		if p := recover(); p != nil { // two plugins with a directive of one name
			panic(fmt.Sprintf("caddy-docs: %v; build with -tags docsonly to leave out the directives assistant and search: docs does what both do", p))
		}
	}()
	httpcaddyfile.RegisterDirective(name, parse)
	httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, "invoke")
}
