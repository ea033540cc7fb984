package caddyfile

import (
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
)

func init() { Register() }

// adapt adapts a Caddyfile of the name Caddyfile.
func adapt(input string) (string, error) {
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(input), map[string]any{"filename": "Caddyfile"})
	return string(config), err
}

// inSite puts a line into the block of a site, as line 5.
func inSite(s string) string {
	return "{\n\tdocs {\n\t\tsite acme {\n\t\t\troot /srv\n\t\t\t" + s + "\n\t\t}\n\t}\n}\n"
}

// inDocs puts lines into the global option, from line 3.
func inDocs(s string) string { return "{\n\tdocs {\n" + s + "\n\t}\n}\n" }

// inBlock puts lines into a site block, from line 2.
func inBlock(s string) string { return "localhost {\n" + s + "\n}\n" }

// Values are checked by the modules, and their bad ones are tried there. Here are
// some, for where their errors are reported.
func TestErrorsNameFileAndLineAndSayWhatToWrite(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"an unknown word of a site has the nearest one beside it": {
			inSite("exlude /blog/*"),
			`site acme: unknown word "exlude"; did you mean exclude?, at Caddyfile:5`,
		},
		"an unknown word that is near to none lists those that are": {
			inDocs("\t\tkey svc_dsc_0123456789abcdef {\n\t\t\tfrobnicate 1\n\t\t}"),
			`key: unknown word "frobnicate"; it takes: organization, sites, origins, name, at Caddyfile:4`,
		},
		"an unknown word in the docs option": {
			inDocs("\t\tsit acme"),
			`docs: unknown word "sit"; did you mean site?, at Caddyfile:3`,
		},
		"sites without a url": {
			inDocs("\t\tsites /srv/sites/* {\n\t\t\tlocks off\n\t\t}"),
			`sites /srv/sites/*: the sites need a url with their name, {site}; write in the block: url https://{site}.docs.acme.com, at Caddyfile:3`,
		},
		"sites with one url for all": {
			inDocs("\t\tsites /srv/sites/* {\n\t\t\turl https://docs.acme.com\n\t\t}"),
			`url: "https://docs.acme.com" must have {site}, the name of the folder, like https://{site}.docs.acme.com; write: url <url>, like: url https://{site}.docs.acme.com, at Caddyfile:4`,
		},
		"sites with a root": {
			inDocs("\t\tsites /srv/sites/* {\n\t\t\troot /srv\n\t\t}"),
			`sites: root is a word of site and the directive docs, not of this block, at Caddyfile:4`,
		},
		"a group without sites": {
			inDocs("\t\tgroup acme {\n\t\t\tname Acme\n\t\t}"),
			`group acme has no sites: write sites <site>... in its block, like: sites docs blog, or organization <name> for all of its sites, at Caddyfile:3`,
		},
		"a group with the name of a site": {
			inDocs("\t\tsite acme {\n\t\t\troot /srv\n\t\t}\n\t\tgroup acme {\n\t\t\tsites docs\n\t\t}"),
			`group: acme is the name of a site or group already; choose another one; write: group <name>, like: group acme, at Caddyfile:6`,
		},
		"a site with the name of a group": {
			inDocs("\t\tgroup acme {\n\t\t\tsites docs\n\t\t}\n\t\tsite acme {\n\t\t\troot /srv\n\t\t}"),
			`site: acme is the name of a group; choose another one; write: site <name>, like: site acme, at Caddyfile:6`,
		},
		"a group with pages": {
			inDocs("\t\tgroup acme {\n\t\t\troot /srv\n\t\t}"),
			`group acme: root is a word of site and the directive docs, not of this block, at Caddyfile:4`,
		},
		"a word of another block says where it belongs": {
			inSite("rate_limit ip 1 1m"),
			`site acme: rate_limit is a word of the directive docs, the directive assistant, the directive search and the directive docs_mcp, not of this block, at Caddyfile:5`,
		},
		"an unknown word of a directive": {
			inBlock("\tsearch acme {\n\t\tratelimit off\n\t}"),
			`search: unknown word "ratelimit"; did you mean rate_limit?, at Caddyfile:3`,
		},
		"an unknown word of a model": {
			inDocs("\t\tllm http://m/v1 x {\n\t\t\ttimeout 1s\n\t\t}"),
			`llm: unknown word "timeout"; it takes: api_key, fallback, first_token_timeout, idle_timeout, max_duration, max_tokens, reasoning, budget, at Caddyfile:4`,
		},
		"an unknown word of a key": {
			inDocs("\t\tkey svc_dsc_0123456789abcdef {\n\t\t\tsite acme\n\t\t}"),
			`key: site is a word of the global option docs, not of this block; or did you mean sites?, at Caddyfile:4`,
		},
		"an unknown word of Meilisearch": {
			inDocs("\t\tindex meilisearch http://m {\n\t\t\tapikey {env.K}\n\t\t}"),
			`index meilisearch: unknown word "apikey"; did you mean api_key?, at Caddyfile:4`,
		},
		"words of replies belong to assistant": {
			inBlock("\tsearch acme {\n\t\tfinish_event auto\n\t}"),
			`search: finish_event is a word of the directive docs and the directive assistant, not of this block, at Caddyfile:3`,
		},
		"a path of the dashboard": {
			inBlock("\tdocs_dashboard /admin/*"),
			`docs_dashboard: /admin/* is a path, but the name of a site is expected; write: docs_dashboard <site>; to serve it below a path, use handle_path /admin/* and write docs_dashboard in its block, at Caddyfile:2`,
		},
		"a user of the dashboard who is the same for all": {
			inBlock("\tdocs_dashboard {\n\t\tuser dana\n\t}"),
			`user: "dana" must be a placeholder, like {http.auth.user.id}: a fixed text would be the same for everyone; write: user <placeholder>, like: user {http.auth.user.id}, at Caddyfile:3`,
		},
		"a member of the dashboard without a name": {
			inBlock("\tdocs_dashboard {\n\t\tmember acme\n\t}"),
			`member: needs another argument; write: member <organization> <user>|<@group>..., like: member acme-inc dana, at Caddyfile:3`,
		},
		"a word twice": {
			inSite("root /other"),
			`site acme: root is written twice, first at Caddyfile:4; keep one, at Caddyfile:5`,
		},
		"a word without its argument": {
			inSite("url"),
			`url: needs an argument; write: url <url>, like: url https://docs.acme.com, at Caddyfile:5`,
		},
		"a word with an argument too many": {
			inSite("organization acme inc"),
			`organization: takes one argument; unexpected argument "inc" (put text with spaces in quotes); write: organization <name>, like: organization acme-inc, at Caddyfile:5`,
		},
		"text without quotes": {
			inSite("name Acme Docs"),
			`name: takes one argument; unexpected argument "Docs" (put text with spaces in quotes); write: name <text>, like: name "Acme Docs", at Caddyfile:5`,
		},
		"an empty argument": {
			inSite("name \"\""),
			`name: "" is empty; write: name <text>, like: name "Acme Docs", at Caddyfile:5`,
		},
		"a block where none belongs": {
			inSite("clean_urls on {\n\t\t\t\tx\n\t\t\t}"),
			`clean_urls: takes no block; write: clean_urls on|off, like: clean_urls on, at Caddyfile:6`,
		},
		"an empty block on the line": {
			inDocs("\t\tsite acme {}"),
			`Unexpected '{}' at end of line, at Caddyfile:3`,
		},
		"a block on the line of its word": {
			inDocs("\t\tsite acme { root /srv }"),
			`Unexpected next token after '{' on same line, at Caddyfile:3`,
		},
		"a site without a name": {
			inDocs("\t\tsite {\n\t\t\troot /srv\n\t\t}"),
			`site: needs an argument; write: site <name>, like: site acme, at Caddyfile:3`,
		},
		"a site's name that is no DNS label": {
			inDocs("\t\tsite Acme_Docs {\n\t\t\troot /srv\n\t\t}"),
			`site: name "Acme_Docs": must be 1 to 63 of a-z 0-9 -, with no hyphen at either end; write: site <name>, like: site acme, at Caddyfile:3`,
		},
		"a host as a site's name": {
			inDocs("\t\tsite docs.acme.com {\n\t\t\troot /srv\n\t\t}"),
			`site: name "docs.acme.com": must be 1 to 63 of a-z 0-9 -, with no hyphen at either end; write: site <name>, like: site acme, at Caddyfile:3`,
		},
		"a site without pages": {
			inDocs("\t\tsite acme {\n\t\t\turl https://acme.com\n\t\t}"),
			`site acme has no pages: write root <folder> in its block, like: root /srv/docs, or for a site that this Caddy proxies: sitemap https://acme.example.com/sitemap.xml, at Caddyfile:3`,
		},
		"a site without a block": {
			inDocs("\t\tsite acme"),
			`site acme has no pages: write root <folder> in its block, like: root /srv/docs, or for a site that this Caddy proxies: sitemap https://acme.example.com/sitemap.xml, at Caddyfile:3`,
		},
		"a site with root and sitemap": {
			inSite("sitemap https://acme.com/sitemap.xml"),
			`sitemap: set either root or sitemap, not both; keep root if this Caddy serves the files; write: sitemap <url> [<interval>], like: sitemap https://docs.acme.com/sitemap.xml 1h, at Caddyfile:5`,
		},
		"two sites of a name": {
			inDocs("\t\tsite acme {\n\t\t\troot /srv\n\t\t}\n\t\tsite acme {\n\t\t\troot /srv\n\t\t}"),
			`site acme is defined twice, first at Caddyfile:3; choose another name, or write both in one block, at Caddyfile:6`,
		},
		"two sites of a name in two docs options": {
			"{\n\tdocs {\n\t\tsite acme {\n\t\t\troot /srv\n\t\t}\n\t}\n\tdocs {\n\t\tsite acme {\n\t\t\troot /srv\n\t\t}\n\t}\n}\n",
			`site acme is defined twice, first in the docs option before this one; choose another name, or write both in one block, at Caddyfile:8`,
		},
		"a root with a matcher": {
			inDocs("\t\tsite acme {\n\t\t\troot * /srv\n\t\t}"),
			`root: takes no matcher here: leave out the *; write: root <folder>, like: root /srv/docs, at Caddyfile:4`,
		},
		"an address without scheme": {
			inSite("url docs.acme.com"),
			`url: "docs.acme.com" must be a URL that starts with https:// or http://; write: url <url>, like: url https://docs.acme.com, at Caddyfile:5`,
		},
		"on or off misspelt": {
			inSite("clean_urls yes"),
			`clean_urls: "yes" must be on or off; write: clean_urls on|off, like: clean_urls on, at Caddyfile:5`,
		},
		"an interval behind a kind of watch that has none": {
			inSite("watch events 10s"),
			`watch: unexpected argument "10s": only poll takes an interval; write: watch events|off|poll [<interval>], like: watch poll 10s, at Caddyfile:5`,
		},
		"an interval that is none": {
			inSite("watch poll often"),
			`watch: "often" is not a duration like 30s, 10m or 7d; write: watch events|off|poll [<interval>], like: watch poll 10s, at Caddyfile:5`,
		},
		"an interval out of bounds": {
			inSite("watch poll 10ms"),
			`watch: 10ms must be from 1s to 1d; write: watch events|off|poll [<interval>], like: watch poll 10s, at Caddyfile:5`,
		},
		"a synonym alone": {
			inSite("synonyms k8s"),
			`synonyms: needs another argument; write: synonyms <word> <word>..., like: synonyms k8s kubernetes, at Caddyfile:5`,
		},
		"stop_words without a word": {
			inSite("stop_words"),
			`stop_words: needs an argument; write: stop_words <word>..., like: stop_words acme app, at Caddyfile:5`,
		},
		"a key without its prefix": {
			inDocs("\t\tkey 0123456789abcdef"),
			`key: a key starts with svc_dsc_; write: key <key>|<placeholder>, like: key svc_dsc_0123456789abcdef, at Caddyfile:3`,
		},
		"a key that is too short": {
			inDocs("\t\tkey svc_dsc_012345"),
			`key: a key has at least 16 characters after svc_dsc_, this one has 6; write: key <key>|<placeholder>, like: key svc_dsc_0123456789abcdef, at Caddyfile:3`,
		},
		"a key with a character that no key has": {
			inDocs("\t\tkey svc_dsc_0123456789abc.def"),
			`key: a key consists of A-Z a-z 0-9 _ -, but character 14 after svc_dsc_ is not one of these; write: key <key>|<placeholder>, like: key svc_dsc_0123456789abcdef, at Caddyfile:3`,
		},
		"a key twice": {
			inDocs("\t\tkey svc_dsc_0123456789abcdef\n\t\tkey svc_dsc_0123456789abcdef"),
			`key: this key is defined twice; keep one; write: key <key>|<placeholder>, like: key svc_dsc_0123456789abcdef, at Caddyfile:4`,
		},
		"an index without a kind": {
			inDocs("\t\tindex"),
			`index: needs an argument; write: index embedded, or: index meilisearch <url>..., or: index <module> ..., at Caddyfile:3`,
		},
		"an unknown index": {
			inDocs("\t\tindex elastic http://e"),
			`index: "elastic" is not known, and this build of Caddy has no module docs.index.elastic; write: index embedded, or: index meilisearch <url>..., or: index <module> ..., at Caddyfile:3`,
		},
		"an index that is an address": {
			inDocs("\t\tindex http://127.0.0.1:7700"),
			`index: "http://127.0.0.1:7700" is a URL; the kind of index comes first: index meilisearch http://127.0.0.1:7700; write: index meilisearch <url>..., like: index meilisearch http://127.0.0.1:7700, at Caddyfile:3`,
		},
		"an index twice": {
			inDocs("\t\tindex embedded\n\t\tindex embedded"),
			`docs: index is written twice, first at Caddyfile:3; keep one, at Caddyfile:4`,
		},
		"arguments behind embedded": {
			inDocs("\t\tindex embedded fast"),
			`index: unexpected argument "fast"; write: index embedded, at Caddyfile:3`,
		},
		"Meilisearch without an address": {
			inDocs("\t\tindex meilisearch"),
			`index: needs an argument; write: index meilisearch <url>..., like: index meilisearch http://127.0.0.1:7700, at Caddyfile:3`,
		},
		"a secret written in the file": {
			inDocs("\t\tllm https://api.openai.com/v1 gpt-5 {\n\t\t\tapi_key sk-not-a-real-key\n\t\t}"),
			`api_key: a secret in the configuration would show at GET /config/ and in autosave.json; name its source, {env.NAME} or {file./path/to/file} ({$NAME} would put the value itself here); write: api_key <placeholder>, like: api_key {env.OPENAI_API_KEY}, at Caddyfile:4`,
		},
		"an embedder without a model": {
			inDocs("\t\tembedder http://e/v1"),
			`embedder: needs the name of a model after the URL; write: embedder <url> <model>, like: embedder http://127.0.0.1:11434/v1 nomic-embed-text, at Caddyfile:3`,
		},
		"an unknown embedder": {
			inDocs("\t\tembedder minilm"),
			`embedder: "minilm" is not known, and this build of Caddy has no module docs.embedder.minilm; write: embedder <url> <model>, or: embedder meilisearch <name>, or: embedder <module> ..., like: embedder http://127.0.0.1:11434/v1 nomic-embed-text, at Caddyfile:3`,
		},
		"an embedder of a server that is not there": {
			inDocs("\t\tembedder meilisearch default"),
			`embedder meilisearch default is an embedder in a Meilisearch server's settings, but there is no such index: write index meilisearch <url>, or embedder <url> <model>, at Caddyfile:3`,
		},
		"a server's embedder named twice": {
			inDocs("\t\tindex meilisearch http://m {\n\t\t\tembedder a\n\t\t}\n\t\tembedder meilisearch b"),
			`embedder: the block of index meilisearch already names one (a); keep one, at Caddyfile:6`,
		},
		"dimensions that are no number": {
			inDocs("\t\tembedder http://e/v1 m {\n\t\t\tdimensions many\n\t\t}"),
			`dimensions: "many" is not a whole number above 0; write: dimensions <n>, like: dimensions 512, at Caddyfile:4`,
		},
		"a model without an address": {
			inDocs("\t\tllm gpt-5"),
			`llm: "gpt-5" is not known, and this build of Caddy has no module docs.llm.gpt-5; write: llm <url> <model>, or: llm <module> ..., like: llm https://api.openai.com/v1 gpt-5-mini, at Caddyfile:3`,
		},
		"a model's address with its endpoint": {
			inDocs("\t\tllm https://api.openai.com/v1/chat/completions gpt-5"),
			`llm: url: "https://api.openai.com/v1/chat/completions" must end before /chat/completions; write: llm <url> <model>, like: llm https://api.openai.com/v1 gpt-5-mini, at Caddyfile:3`,
		},
		"two models on a line": {
			inDocs("\t\tllm http://a/v1 b c"),
			`llm: unexpected argument "c"; write: llm <url> <model>, like: llm https://api.openai.com/v1 gpt-5-mini, at Caddyfile:3`,
		},
		"llm twice": {
			inDocs("\t\tllm http://a/v1 b\n\t\tllm http://c/v1 d"),
			`docs: llm is written twice, first at Caddyfile:3; keep one, at Caddyfile:4`,
		},
		"a fallback without a model": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tfallback http://c/v1\n\t\t}"),
			`fallback: needs the name of a model after the URL; write: fallback <url> <model>, like: fallback http://127.0.0.1:11434/v1 qwen3, at Caddyfile:4`,
		},
		"a time limit of nothing": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tidle_timeout 0\n\t\t}"),
			`idle_timeout: "0" is not a duration like 30s, 10m or 7d; write: idle_timeout <duration>, like: idle_timeout 30s, at Caddyfile:4`,
		},
		"too many tokens": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tmax_tokens 2M\n\t\t}"),
			`max_tokens: "2M" is not a whole number above 0; write: max_tokens <n>, like: max_tokens 1500, at Caddyfile:4`,
		},
		"a budget cut short": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tbudget 2M tokens\n\t\t}"),
			`budget: needs another argument; write: budget <n>[k|M] tokens|requests per day|hour, like: budget 2M tokens per day, at Caddyfile:4`,
		},
		"a budget of nothing": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tbudget 0 tokens per day\n\t\t}"),
			`budget: "0" is not a number like 500, 20k or 2M; write: budget <n>[k|M] tokens|requests per day|hour, like: budget 2M tokens per day, at Caddyfile:4`,
		},
		"a budget of money": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tbudget 5 dollars per day\n\t\t}"),
			`budget: "dollars" is neither tokens nor requests; write: budget <n>[k|M] tokens|requests per day|hour, like: budget 2M tokens per day, at Caddyfile:4`,
		},
		"a budget a week": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tbudget 5k tokens per week\n\t\t}"),
			`budget: "per week" is neither per day nor per hour; write: budget <n>[k|M] tokens|requests per day|hour, like: budget 2M tokens per day, at Caddyfile:4`,
		},
		"budgets of two periods": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tbudget 5k tokens per day\n\t\t\tbudget 10 requests per hour\n\t\t}"),
			`budget: all budgets must be per day, or all per hour; write: budget <n>[k|M] tokens|requests per day|hour, like: budget 2M tokens per day, at Caddyfile:5`,
		},
		"two budgets of tokens": {
			inDocs("\t\tllm http://a/v1 b {\n\t\t\tbudget 5k tokens per day\n\t\t\tbudget 6k tokens per day\n\t\t}"),
			`budget: there is already a budget of tokens; keep one; write: budget <n>[k|M] tokens|requests per day|hour, like: budget 2M tokens per day, at Caddyfile:5`,
		},
		"threads without a word": {
			inDocs("\t\tthreads"),
			`threads: needs an argument; write: threads ttl <duration>, or: threads off, like: threads ttl 30d, at Caddyfile:3`,
		},
		"threads with a duration alone": {
			inDocs("\t\tthreads 30d"),
			`threads: "30d" must be ttl or off; write: threads ttl <duration>, or: threads off, like: threads ttl 30d, at Caddyfile:3`,
		},
		"threads with an endless ttl": {
			inDocs("\t\tthreads ttl forever"),
			`threads: "forever" is not a duration like 30s, 10m or 7d; write: threads ttl <duration>, or: threads off, like: threads ttl 30d, at Caddyfile:3`,
		},
		"threads with a ttl without its duration": {
			inDocs("\t\tthreads ttl"),
			`threads: ttl needs a duration; write: threads ttl <duration>, or: threads off, like: threads ttl 30d, at Caddyfile:3`,
		},
		"threads off and more": {
			inDocs("\t\tthreads off 30d"),
			`threads: unexpected argument "30d"; write: threads ttl <duration>, or: threads off, like: threads ttl 30d, at Caddyfile:3`,
		},
		"insights that are neither off nor a block": {
			inDocs("\t\tinsights on"),
			`insights: "on" must be off, or a block; write: insights, or: insights off, at Caddyfile:3`,
		},
		"insights kept for an hour": {
			inDocs("\t\tinsights {\n\t\t\tretention 1h\n\t\t}"),
			`retention: 1h must be from 1d to 400d; write: retention <duration>, like: retention 90d, at Caddyfile:4`,
		},
		"insights in an unknown store": {
			inDocs("\t\tinsights {\n\t\t\tstore mysql\n\t\t}"),
			`store: "mysql" is not known, and this build of Caddy has no module docs.insights.mysql; write: store sqlite [<file>], or: store postgres <dsn>, or: store <module> ..., like: store sqlite /var/lib/caddy/insights.db, at Caddyfile:4`,
		},
		"insights in Postgres with a password": {
			inDocs("\t\tinsights {\n\t\t\tstore postgres postgres://docs:hunter2@db/docs\n\t\t}"),
			`store: a password in the configuration would show at GET /config/ and in autosave.json; name the source of the whole connection string, {env.NAME} or {file./path/to/file}; write: store postgres <dsn>, like: store postgres {env.DOCS_DATABASE}, at Caddyfile:4`,
		},
		"a data folder that depends on the request": {
			inDocs("\t\tdata_dir /var/{http.request.host}"),
			`data_dir: {http.request.host} depends on the request, but the value is read at startup; use {env.NAME} or {file./path}; write: data_dir <folder>, like: data_dir /var/lib/caddy/docs, at Caddyfile:3`,
		},
		"a site's name behind the global option": {
			"{\n\tdocs acme {\n\t\troot /srv\n\t}\n}\n",
			`docs: unexpected argument "acme"; the global option takes a block: write site acme { … } in it, at Caddyfile:2`,
		},
		"an index in each of two docs options": {
			"{\n\tdocs {\n\t\tindex embedded\n\t}\n\tdocs {\n\t\tindex embedded\n\t}\n}\n",
			`index is written twice; keep one, at Caddyfile:6`,
		},
		"an embedder and one of the server's own": {
			"{\n\tdocs {\n\t\tembedder http://e/v1 m\n\t}\n\tdocs {\n\t\tembedder meilisearch x\n\t}\n}\n",
			`embedder is written twice; keep one, at Caddyfile:6`,
		},
		"a model in each of two docs options": {
			"{\n\tdocs {\n\t\tllm http://e/v1 m\n\t}\n\tdocs {\n\t\tllm http://e/v1 m\n\t}\n}\n",
			`llm is written twice; keep one, at Caddyfile:6`,
		},
		"threads in each of two docs options": {
			"{\n\tdocs {\n\t\tthreads off\n\t}\n\tdocs {\n\t\tthreads off\n\t}\n}\n",
			`threads is written twice; keep one, at Caddyfile:6`,
		},
		"a data folder in each of two docs options": {
			"{\n\tdocs {\n\t\tdata_dir /a\n\t}\n\tdocs {\n\t\tdata_dir /a\n\t}\n}\n",
			`data_dir is written twice; keep one, at Caddyfile:6`,
		},
		"a secret that was put in from the environment": {
			inDocs("\t\tembedder http://e/v1 m {\n\t\t\tapi_key {$HOME}\n\t\t}"),
			`api_key: a secret in the configuration would show at GET /config/ and in autosave.json; name its source, {env.NAME} or {file./path/to/file} ({$NAME} would put the value itself here); write: api_key <placeholder>, like: api_key {env.OPENAI_API_KEY}, at Caddyfile:4`,
		},
		"a key's site twice": {
			inDocs("\t\tkey svc_dsc_0123456789abcdef {\n\t\t\tsites acme acme\n\t\t}"),
			`sites: acme is named twice; write: sites <site>..., like: sites acme, at Caddyfile:4`,
		},
		"a path as first word of assistant": {
			inBlock("\tassistant /api/*"),
			`assistant: /api/* is a path, but the name of a site is expected; write: assistant <site>; to serve it below a path, use handle_path /api/* and write assistant in its block, at Caddyfile:2`,
		},
		"a path as first word of search": {
			inBlock("\tsearch /api/* acme"),
			`search: /api/* is a path, but the name of a site is expected; write: search <site>; to serve it below a path, use handle_path /api/* and write search in its block, at Caddyfile:2`,
		},
		"a path as first word of docs": {
			inBlock("\tdocs /srv/docs"),
			`docs: /srv/docs is a path, but the name of a site is expected; write: docs <site> [<root>]; to serve it below a path, use handle_path /srv/docs/* and write docs in its block, at Caddyfile:2`,
		},
		"a matcher that is not defined": {
			inBlock("\tassistant @inside acme"),
			`assistant: there is no matcher @inside in this site block; define it there, or leave it out, at Caddyfile:2`,
		},
		"a matcher behind the site": {
			inBlock("\t@inside path /x\n\tassistant acme @inside"),
			`assistant: the matcher @inside must come before the sites; write: assistant @inside <site>, at Caddyfile:3`,
		},
		"a folder behind the site of assistant": {
			inBlock("\tassistant acme /srv/docs"),
			`assistant takes no folder; the directive docs does, and so does root in the global option docs { site <name> { … } }, at Caddyfile:2`,
		},
		"a site twice in a directive": {
			inBlock("\tsearch acme acme"),
			`search: site acme is named twice; keep one, at Caddyfile:2`,
		},
		"a host as a site of a directive": {
			inBlock("\tsearch docs.acme.com"),
			`search: name "docs.acme.com": must be 1 to 63 of a-z 0-9 -, with no hyphen at either end, at Caddyfile:2`,
		},
		"docs without a site": {
			inBlock("\tdocs"),
			`docs: needs an argument; write: docs <site> [<root>], like: docs acme /srv/docs, at Caddyfile:2`,
		},
		"docs with an argument too many": {
			inBlock("\tdocs acme /srv /more"),
			`docs: unexpected argument "/more"; write: docs <site> [<root>], like: docs acme /srv/docs, at Caddyfile:2`,
		},
		"docs with two roots": {
			inBlock("\tdocs acme /srv {\n\t\troot /other\n\t}"),
			`root: is already the second argument of docs (/srv); keep one; write: root <folder>, like: root /srv/docs, at Caddyfile:3`,
		},
		"docs with a word of the global option": {
			inBlock("\tdocs acme {\n\t\tllm https://api.acme.com/v1 m\n\t}"),
			`docs acme: llm is a word of the global option docs, not of this block; or did you mean llms?, at Caddyfile:3`,
		},
		"docs with a } missing": {
			inBlock("\tdocs acme {\n\tfile_server\n\t}"),
			`docs acme: unknown word "file_server", which is a directive; is a } missing before it?, at Caddyfile:3`,
		},
		"docs with mcp on": {
			inBlock("\tdocs acme {\n\t\tmcp on\n\t}"),
			`mcp: on is the default: remove the line; write: mcp off|key, or: mcp { sign_in <issuer> }, like: mcp off, at Caddyfile:3`,
		},
		"docs with llms alone": {
			inBlock("\tdocs acme {\n\t\tllms\n\t}"),
			`llms: needs an argument or a block; write: llms { content_signal <signal>... }, at Caddyfile:3`,
		},
		"docs with a kind first": {
			inBlock("\tdocs acme {\n\t\tkind blog /blog/*\n\t}"),
			`kind: the kind comes last; write: kind <glob>... <kind>, like: kind /blog/* blog, at Caddyfile:3`,
		},
		"docs with an address as support_url": {
			inBlock("\tdocs acme {\n\t\tsupport_url help@acme.com\n\t}"),
			`support_url: "help@acme.com" is an email address, which is written mailto:help@acme.com; write: support_url <url>, like: support_url https://acme.com/help, at Caddyfile:3`,
		},
		"docs with only and another word": {
			inBlock("\tdocs acme {\n\t\tonly chat\n\t}"),
			`only: "chat" is not a part; write: only assistant|search|widget|mcp|llms|not_found..., like: only search, at Caddyfile:3`,
		},
		"docs with only and a word twice": {
			inBlock("\tdocs acme {\n\t\tonly search search\n\t}"),
			`only: search is named twice; keep one; write: only assistant|search|widget|mcp|llms|not_found..., like: only search, at Caddyfile:3`,
		},
		"docs with a widget that only leaves out": {
			inBlock("\tdocs acme {\n\t\tonly search\n\t\twidget inject\n\t}"),
			`docs acme: widget needs the part widget, which only search leaves out; remove one of them, at Caddyfile:2`,
		},
		"widget with an unknown mode": {
			inBlock("\tdocs acme {\n\t\twidget yes\n\t}"),
			`widget: "yes" must be inject, on or off; write: widget inject|on|off, like: widget inject, at Caddyfile:3`,
		},
		"widget with an unknown feature": {
			inBlock("\tdocs_widget acme {\n\t\tfeatures search chat\n\t}"),
			`features: "chat" must be search, ask, feedback, page_feedback or page_menu; write: features search|ask|feedback|page_feedback|page_menu..., like: features search ask, at Caddyfile:3`,
		},
		"docs with only search and words of replies": {
			inBlock("\tdocs acme {\n\t\tonly search\n\t\tfinish_event auto\n\t}"),
			`docs acme: finish_event and max_concurrent_replies apply to the assistant, which only search leaves out; remove them, or only, at Caddyfile:2`,
		},
		"docs with a site of the global option": {
			"{\n\tdocs {\n\t\tsite acme {\n\t\t\troot /srv\n\t\t}\n\t}\n}\n\nlocalhost {\n\tdocs acme\n}\n",
			`site acme is defined twice, first in the global option docs; to serve that one here, write: assistant acme, and: search acme, at Caddyfile:10`,
		},
		"docs twice with a name and different pages": {
			inBlock("\tdocs acme /srv\n\tdocs acme /other"),
			`site acme is defined twice and differently, first at Caddyfile:2; choose another name, or write the same in both places, at Caddyfile:3`,
		},
		"rate_limit without a word": {
			inBlock("\tsearch {\n\t\trate_limit\n\t}"),
			`rate_limit: needs an argument; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit of an unknown kind": {
			inBlock("\tsearch {\n\t\trate_limit orgnization 1 1m\n\t}"),
			`rate_limit: "orgnization" is not known; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit without a window": {
			inBlock("\tsearch {\n\t\trate_limit ip 600\n\t}"),
			`rate_limit: ip needs a number of requests and a window; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit of no requests": {
			inBlock("\tsearch {\n\t\trate_limit ip 0 1m\n\t}"),
			`rate_limit: 0 must be from 1 to 1000000; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit with a window that is none": {
			inBlock("\tsearch {\n\t\trate_limit ip 600 minute\n\t}"),
			`rate_limit: window "minute" is not a duration; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit with a window out of bounds": {
			inBlock("\tsearch {\n\t\trate_limit ip 600 1ms\n\t}"),
			`rate_limit: window 1ms must be whole seconds, from 1s to 31d; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit of a kind twice": {
			inBlock("\tsearch {\n\t\trate_limit ip 600 1m\n\t\trate_limit ip 700 1m\n\t}"),
			`rate_limit: ip is limited twice; keep one; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:4`,
		},
		"rate_limit off and a limit": {
			inBlock("\tsearch {\n\t\trate_limit off\n\t\trate_limit ip 700 1m\n\t}"),
			`rate_limit: off can't be combined with another rate_limit in this block; keep one of them; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:4`,
		},
		"a limit and rate_limit off": {
			inBlock("\tsearch {\n\t\trate_limit ip 700 1m\n\t\trate_limit off\n\t}"),
			`rate_limit: off can't be combined with another rate_limit in this block; keep one of them; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:4`,
		},
		"rate_limit of a number that is none": {
			inBlock("\tsearch {\n\t\trate_limit ip many 1m\n\t}"),
			`rate_limit: "many" is not a number of requests; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit with a window of half seconds": {
			inBlock("\tsearch {\n\t\trate_limit ip 600 1500ms\n\t}"),
			`rate_limit: window 1.5s must be whole seconds, from 1s to 31d; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit off with a number": {
			inBlock("\tsearch {\n\t\trate_limit off 600\n\t}"),
			`rate_limit: off takes no arguments; unexpected argument "600"; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit distributed with a number": {
			inBlock("\tsearch {\n\t\trate_limit distributed 600 1m\n\t}"),
			`rate_limit: distributed takes no arguments; unexpected argument "600"; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:3`,
		},
		"rate_limit distributed twice": {
			inBlock("\tsearch {\n\t\trate_limit distributed\n\t\trate_limit distributed\n\t}"),
			`rate_limit: distributed is written twice; keep one; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:4`,
		},
		"rate_limit distributed with a long interval": {
			inBlock("\tsearch {\n\t\trate_limit distributed {\n\t\t\tread_interval 2h\n\t\t}\n\t}"),
			`read_interval: 2h must be from 100ms to 1h; write: read_interval <duration>, like: read_interval 5s, at Caddyfile:4`,
		},
		"rate_limit off and distributed": {
			inBlock("\tsearch {\n\t\trate_limit off\n\t\trate_limit distributed\n\t}"),
			`rate_limit: off can't be combined with another rate_limit in this block; keep one of them; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:4`,
		},
		"rate_limit distributed with an unknown word": {
			inBlock("\tsearch {\n\t\trate_limit distributed {\n\t\t\tread_intervall 5s\n\t\t}\n\t}"),
			`rate_limit distributed: unknown word "read_intervall"; did you mean read_interval?, at Caddyfile:4`,
		},
		"rate_limit distributed with a negative interval": {
			inBlock("\tsearch {\n\t\trate_limit distributed {\n\t\t\twrite_interval -5s\n\t\t}\n\t}"),
			`write_interval: -5s must be from 100ms to 1h; write: write_interval <duration>, like: write_interval 5s, at Caddyfile:4`,
		},
		"rate_limit of a kind with a block": {
			inBlock("\tsearch {\n\t\trate_limit ip 600 1m {\n\t\t\tread_interval 5s\n\t\t}\n\t}"),
			`rate_limit: takes no block; write: rate_limit organization|ip <n> <window>, or: rate_limit distributed, or: rate_limit off, like: rate_limit ip 600 1m, at Caddyfile:4`,
		},
		"max_body that is no size": {
			inBlock("\tsearch {\n\t\tmax_body large\n\t}"),
			`max_body: "large" is not a size; write: max_body <size>, like: max_body 1MB, at Caddyfile:3`,
		},
		"max_body out of bounds": {
			inBlock("\tsearch {\n\t\tmax_body 10GB\n\t}"),
			`max_body: 10000000000 must be from 1000 to 100000000; write: max_body <size>, like: max_body 1MB, at Caddyfile:3`,
		},
		"max_concurrent_replies of none": {
			inBlock("\tassistant {\n\t\tmax_concurrent_replies 0\n\t}"),
			`max_concurrent_replies: "0" is not a whole number above 0; write: max_concurrent_replies <n>, like: max_concurrent_replies 5000, at Caddyfile:3`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := adapt(c.input)
			if err == nil {
				t.Fatal("no error")
			}
			got := err.Error()
			if i := strings.Index(got, "': "); strings.HasPrefix(got, "parsing caddyfile tokens for '") && i > 0 {
				got = got[i+3:]
			}
			if got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}
