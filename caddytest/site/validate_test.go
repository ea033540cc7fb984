package site

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

// object is a JSON object.
type object = map[string]any

// configs says for each type of our configuration which values are good, and
// where in Caddy's configuration they are.
var configs = map[reflect.Type]struct {
	good object
	in   func(object) object
}{
	reflect.TypeFor[app.App](): {object{}, inApp},
	reflect.TypeFor[options.Site](): {object{"root": "/srv"}, func(o object) object {
		return inApp(object{"sites": object{"acme": o}})
	}},
	reflect.TypeFor[options.FolderSource]():  {object{"source": "folder", "root": "/srv"}, inSources},
	reflect.TypeFor[options.SitemapSource](): {object{"source": "sitemap", "url": "https://acme.com/sitemap.xml"}, inSources},
	reflect.TypeFor[options.OpenAPISource](): {object{"source": "openapi", "file": "/srv/api.yaml"}, inSources},
	reflect.TypeFor[options.Scope](): {object{"value": "2.x"}, func(o object) object {
		return inApp(object{"sites": object{"acme": object{"root": "/srv", "versions": []any{o}}}})
	}},
	reflect.TypeFor[options.SiteFolders](): {object{"folders": "/srv/*", "site": object{"url": "https://{site}.acme.com"}}, func(o object) object {
		return inApp(object{"site_folders": []any{o}})
	}},
	reflect.TypeFor[options.Group](): {object{"sites": []any{"acme"}}, func(o object) object {
		return inApp(object{"sites": object{"acme": object{"root": "/srv"}}, "groups": object{"all": o}})
	}},
	reflect.TypeFor[options.FixedKey](): {object{"key": "svc_dsc_0123456789abcdef", "organization": "acme"}, func(o object) object {
		return inApp(object{"keys": []any{o}})
	}},
	reflect.TypeFor[options.Threads](): {object{}, func(o object) object { return inApp(object{"threads": o}) }},
	reflect.TypeFor[options.EmbeddedIndex](): {object{"backend": "embedded"}, func(o object) object {
		return inApp(object{"index": o})
	}},
	reflect.TypeFor[options.MeilisearchIndex](): {object{"backend": "meilisearch", "urls": []any{"http://m:7700"}}, func(o object) object {
		return inApp(object{"index": o})
	}},
	reflect.TypeFor[options.OpenAIEmbedder](): {object{"provider": "openai", "url": "http://e/v1", "model": "m"}, func(o object) object {
		return inApp(object{"embedder": o})
	}},
	reflect.TypeFor[options.OpenAIModel](): {object{"provider": "openai", "url": "http://m/v1", "model": "m"}, func(o object) object {
		return inApp(object{"llm": o})
	}},
	reflect.TypeFor[options.Endpoint](): {object{"url": "http://f/v1", "model": "m"}, func(o object) object {
		return inApp(object{"llm": object{"provider": "openai", "url": "http://m/v1", "model": "m", "fallback": []any{o}}})
	}},
	reflect.TypeFor[options.Budget](): {object{"tokens": 1, "per": "1h"}, func(o object) object {
		return inApp(object{"llm": object{"provider": "openai", "url": "http://m/v1", "model": "m", "budget": o}})
	}},
	reflect.TypeFor[options.Insights](): {object{}, func(o object) object { return inApp(object{"insights": o}) }},
	reflect.TypeFor[options.SQLiteInsights](): {object{"backend": "sqlite"}, func(o object) object {
		return inApp(object{"insights": object{"store": o}})
	}},
	reflect.TypeFor[options.PostgresInsights](): {object{"backend": "postgres", "dsn": "postgres://docs@db/docs"}, func(o object) object {
		return inApp(object{"insights": object{"store": o}})
	}},
	reflect.TypeFor[admin.Admin]():    {object{}, nil},
	reflect.TypeFor[handlers.Guard](): {object{"handler": "docs_api"}, inRoute},
	reflect.TypeFor[options.Definition](): {object{"name": "acme", "site": object{"root": "/srv"}}, func(o object) object {
		return inRoute(object{"handler": "docs_api", "define": o})
	}},
	reflect.TypeFor[handlers.ClientLimit](): {object{"handler": "docs_client_limit", "zone": "z", "max_events": 1, "window": "1m"}, inRoute},
	reflect.TypeFor[handlers.Search]():      {object{"handler": "docs_search"}, inRoute},
	reflect.TypeFor[handlers.Feedback]():    {object{"handler": "docs_feedback"}, inRoute},
	reflect.TypeFor[handlers.Events]():      {object{"handler": "docs_events"}, inRoute},
	reflect.TypeFor[handlers.Assistant]():   {object{"handler": "docs_assistant"}, inRoute},
	reflect.TypeFor[ui.Ask]():               {object{"handler": "docs_ask"}, inRoute},
	reflect.TypeFor[handlers.Token]():       {object{"handler": "docs_token"}, inRoute},
	reflect.TypeFor[ui.Widget]():            {object{"handler": "docs_widget"}, inRoute},
	reflect.TypeFor[ui.Dashboard]():         {object{"handler": "docs_dashboard"}, inRoute},
	reflect.TypeFor[handlers.LLMs]():        {object{"handler": "docs_llms"}, inRoute},
	reflect.TypeFor[ui.NotFound]():          {object{"handler": "docs_not_found"}, inRoute},
	reflect.TypeFor[handlers.Page]():        {object{"handler": "docs_page"}, inRoute},
	reflect.TypeFor[handlers.Contract]():    {object{"handler": "docs_contract"}, inRoute},
	reflect.TypeFor[handlers.MCP]():         {object{"handler": "docs_mcp", "tool_limit": object{"max_events": 1, "window": "1m"}}, inRoute},
	reflect.TypeFor[handlers.SignIn](): {object{"issuer": "https://id.acme.com"}, func(o object) object {
		return inRoute(object{"handler": "docs_mcp", "sign_in": o})
	}},
	reflect.TypeFor[handlers.MatchSignedIn](): {object{}, func(o object) object {
		return object{"http": inServer(object{"match": []any{object{"docs_signed_in": o}}})}
	}},
	reflect.TypeFor[handlers.Limit](): {object{"max_events": 1, "window": "1m"}, func(o object) object {
		return inRoute(object{"handler": "docs_mcp", "client_limit": o})
	}},
	reflect.TypeFor[handlers.KeyAuth](): {object{}, func(o object) object {
		return inRoute(object{"handler": "authentication", "providers": object{"docs_key": o}})
	}},
	reflect.TypeFor[handlers.MatchAPI](): {object{}, func(o object) object {
		return object{"http": inServer(object{"match": []any{object{"docs_api": o}}})}
	}},
}

func inApp(docs object) object { return object{"docs": docs} }

func inRoute(handler object) object {
	return object{"http": inServer(object{"handle": []any{handler}})}
}

func inServer(route object) object {
	return object{"servers": object{"s": object{"listen": []any{":0"}, "routes": []any{route}}}}
}

func inSources(o object) object {
	return inApp(object{"sites": object{"acme": object{"root": "/docs", "sources": []any{o}}}})
}

// free are the fields for which any value is valid.
var free = map[string]string{
	"Site.clean_urls": "a switch", "SitemapSource.allow_private": "a switch", "Site.suggestions": "a switch", "Threads.off": "a switch", "Insights.off": "a switch",
	"Search.anonymous": "a switch", "Feedback.anonymous": "a switch", "Events.anonymous": "a switch", "Assistant.anonymous": "a switch",
	"MeilisearchIndex.api_key": "a secret", "MeilisearchIndex.search_key": "a secret", "MeilisearchIndex.view_key": "a secret",
	"OpenAIEmbedder.api_key": "a secret", "OpenAIModel.api_key": "a secret", "Endpoint.api_key": "a secret",
	"NotFound.list": "a switch", "NotFound.ask": "a switch",
	"Guard.rate_limit_policy": "a text", "Widget.inject": "a switch",
	"OpenAIModel.reasoning": "a switch", "Page.anonymous": "a switch", "MCP.require_key": "a switch", "Site.suggestions_fence": "a switch",
}

// bad are values that can't work, by type and field, and the error for each.
var bad = []struct{ field, value, says string }{
	{"MCP.sign_in", `{"issuer":"id.acme.com"}`, `sign_in: issuer: "id.acme.com" must be the URL of an identity provider`},
	{"LLMs.content_signal", `["ai-train: no"]`, `content_signal: "ai-train: no" must be like search=yes or ai-train=no`},
	{"SignIn.issuer", `"http://id.acme.com"`, `issuer: "http://id.acme.com" must begin with https://`},
	{"SignIn.audience", `"{env.AUDIENCE}"`, `audience: "{env.AUDIENCE}" must be a URL or a name`},
	{"SignIn.headers", `{"Authorization":"sub"}`, `headers: Authorization is a header that requests already have`},
	{"SignIn.scopes", `["openid profile"]`, `scopes: "openid profile" must be a scope without spaces`},
	{"SignIn.client_id", `"docs"`, `client_id: client_id and client_secret belong together`},
	{"SignIn.client_secret", `"secret"`, `client_id and client_secret belong together`},
	{"App.sites", `{"Acme_Docs":{"root":"/srv"}}`, `sites: name "Acme_Docs": must be 1 to 63 of a-z 0-9 -`},
	{"App.sites", `{"acme":null}`, `site acme: is null`},
	{"App.sites", `{"acme":{}}`, `site acme: has no pages`},
	{"App.site_folders", `[{"folders":"/srv/*","site":{}}]`, `site_folders 1: url: "" must have {site}`},
	{"App.groups", `{"All":{"sites":["acme"]}}`, `groups: name "All": must be`},
	{"App.groups", `{"all":null}`, `group all: is null`},
	{"App.groups", `{"all":{}}`, `group all: sites: is missing; name the sites of the group`},
	{"Group.sites", `["docs","docs"]`, `sites: docs is named twice`},
	{"Group.sites", `["[a]"]`, `sites: name "[a]": must be`},
	{"Group.site", `{"root":"/srv"}`, `root: is an option of the group's sites, not of the group`},
	{"Group.site", `{"locks":"off"}`, `locks: is an option of the group's sites, not of the group`},
	{"App.site_folders", `[null]`, `site_folders 1: is null`},
	{"SiteFolders.folders", `"/srv/sites"`, `folders: "/srv/sites" must be a path in which one element is *`},
	{"SiteFolders.folders", `"/srv/*/a/*"`, `must be a path in which one element is *`},
	{"SiteFolders.site", `{"url":"https://{site}.acme.com","root":"/srv"}`, `root: is set from folders; leave it out`},
	{"SiteFolders.site", `{"url":"https://{site}.acme.com","sitemap":"https://acme.com/sitemap.xml"}`, `sitemap: sites of folders are read from files`},
	{"SiteFolders.site", `{"url":"{site}.acme.com"}`, `url: "a-site.acme.com" must be a URL`},
	{"App.keys", `[{}]`, `key 1: key: is missing`},
	{"App.index", `{"backend":"sqlite"}`, `unknown module: docs.index.sqlite`},
	{"App.embedder", `{"provider":"none"}`, `unknown module: docs.embedder.none`},
	{"App.llm", `{"provider":"none"}`, `unknown module: docs.llm.none`},
	{"App.threads", `{"ttl":"1s"}`, `threads: ttl: 1s must be from 1m to 3650d`},
	{"App.insights", `{"off":true,"texts":"off"}`, `insights: off: set either off or other settings`},
	{"Insights.store", `{"backend":"mysql"}`, `unknown module: docs.insights.mysql`},
	{"Insights.retention", `"1h"`, `retention: 1h must be from 1d to 400d`},
	{"Insights.texts", `"some"`, `texts: "some" must be on or off`},
	{"Insights.clicks", `"some"`, `clicks: "some" must be on or off`},
	{"Insights.jsonl", `"https://acme.com/events"`, `jsonl: "https://acme.com/events" must be a file, not a URL`},
	{"Insights.jsonl", `"/var/{http.request.host}"`, `{http.request.host}`},
	{"SQLiteInsights.file", `"/var/lib/"`, `file: "/var/lib/" must be a file, not a folder`},
	{"PostgresInsights.dsn", `"mysql://db/docs"`, `dsn: the connection string must be like postgres://`},
	{"PostgresInsights.dsn", `""`, `dsn: is missing`},
	{"App.stop_timeout", `"-1s"`, `stop_timeout: -1s must be from 100ms to 1d`},
	{"App.data_dir", `"/var/{http.request.host}"`, `{http.request.host}`},
	{"Site.root", `"https://docs.acme.com"`, `root: "https://docs.acme.com" must be a folder`},
	{"Site.root", `"/srv/{http.request.host}"`, `http.request.host`},
	{"Site.sitemap", `"docs.acme.com/sitemap.xml"`, `sitemap: "docs.acme.com/sitemap.xml" must be a URL`},
	{"Site.sitemap", `"https://acme.com/sitemap.xml"`, `sitemap: set either root or sitemap, not both`},
	{"Site.allow_private", `true`, `allow_private: applies to sites with a sitemap only`},
	{"Site.url", `"docs.acme.com"`, `url: "docs.acme.com" must be a URL`},
	{"Site.url", `"https://me:pw@acme.com"`, `url: a URL must not hold a user name or password`},
	{"Site.url", `"https://*.acme.com"`, `url: "https://*.acme.com" must have one host`},
	{"Site.url", `"https://acme.com?x=1"`, `url: "https://acme.com?x=1" must have no query`},
	{"Site.organization", `"Acme Inc"`, `organization: name "Acme Inc": must be 1 to 63`},
	{"Site.name", `" "`, `name: has only spaces`},
	{"Site.versions", `[{"value":""}]`, `versions: one has no value`},
	{"Site.versions", `[{"value":"1.x"},{"value":"2.x"}]`, `versions: 1.x and 2.x both have no globs`},
	{"Site.kinds", `[{"value":"news"}]`, `kinds: "news" must be current`},
	{"Site.languages", `[{"value":"english_uk!"}]`, `languages: "english_uk!" must be a language tag`},
	{"Site.include", `["guide/*"]`, `include: "guide/*" must start with a slash`},
	{"Site.exclude", `["/blog["]`, `exclude: "/blog[" has a [ without ]`},
	{"Site.exclude", `["/a b"]`, `exclude: "/a b" must be a path without white space and #anchor`},
	{"Site.exclude", `["/blog/***"]`, `with * for a part of a segment or ** for several segments`},
	{"Site.anchors", `"githb"`, `anchors: "githb" must be github, gitlab, goldmark, pandoc or none`},
	{"Site.watch", `"sometimes"`, `watch: "sometimes" must be events, poll or off`},
	{"Site.moved", `"perhaps"`, `moved: "perhaps" must be redirect, suggest or off`},
	{"Site.locks", `"sometimes"`, `locks: "sometimes" must be on or off`},
	{"Site.poll_interval", `"1ms"`, `poll_interval: 1ms must be from 1s to 1d`},
	{"Site.poll_interval", `"-10s"`, `poll_interval: -10s must be from 1s to 1d`},
	{"Site.instructions", `"` + strings.Repeat("be brief ", 3000) + `"`, `instructions: has 27000 characters`},
	{"Site.support_url", `"help"`, `support_url: "help" must be a URL that starts with https:// or http://, or mailto: and an email address`},
	{"Site.edit_url", `"edit/{source}"`, `edit_url: "edit/" must be a URL`},
	{"Site.edit_url", `"https://github.com/acme/docs"`, `edit_url: "https://github.com/acme/docs" must have {source} or {page}`},
	{"Site.edit_url", `"https://github.com/{path}/{source}"`, `edit_url: the placeholder {path} is not replaced here`},
	{"Site.allow_links", `["https://github.com"]`, `allow_links: "https://github.com" must be a host`},
	{"Site.starter_questions", `["a?","b?","c?","d?"]`, `starter_questions: has 4 questions; the maximum is 3`},
	{"Site.starter_questions", `[""]`, `starter_questions: is missing`},
	{"Site.sources", `[{"source":"folder","root":"/a"},{"source":"folder","root":"/a"}]`, `source folder /a is listed twice; keep one`},
	{"FolderSource.root", `"https://docs.acme.com"`, `root: "https://docs.acme.com" must be a folder`},
	{"FolderSource.below", `"handbook"`, `below: "handbook" must be a path of the site, like /reference`},
	{"FolderSource.watch", `"sometimes"`, `watch: "sometimes" must be events, poll or off`},
	{"FolderSource.poll_interval", `"1ms"`, `poll_interval: 1ms must be from 1s to 1d`},
	{"SitemapSource.url", `"docs.acme.com/sitemap.xml"`, `url: "docs.acme.com/sitemap.xml" must be a URL`},
	{"SitemapSource.poll_interval", `"1s"`, `poll_interval: 1s must be from 10s to 1d`},
	{"OpenAPISource.file", `""`, `file: must be the file of an API description, or its URL`},
	{"OpenAPISource.below", `"/reference?x"`, `below: "/reference?x" must be a path of the site, like /reference`},
	{"OpenAPISource.renderer", `"slate"`, `renderer: "slate" must be swagger-ui`},
	{"OpenAPISource.allow_private", `true`, `allow_private: applies to URLs only; leave it out`},
	{"OpenAPISource.poll_interval", `"1s"`, `poll_interval: 1s must be from 10s to 1d`},
	{"Site.synonyms", `[["k8s"]]`, `synonyms: ["k8s"] must be two words or more`},
	{"Site.stop_words", `["acme app"]`, `stop_words: "acme app" must be one word`},
	{"Scope.value", `"/v2/*"`, `versions: "/v2/*" must come before its globs`},
	{"Scope.paths", `["v2/*"]`, `versions: "v2/*" must start with a slash`},
	{"FixedKey.sha256", `"abc"`, `sha256`},
	{"FixedKey.key", `"secret"`, `a key starts with svc_dsc_`},
	{"FixedKey.name", `"` + strings.Repeat("long ", 30) + `"`, `name`},
	{"FixedKey.organization", `"Acme Inc"`, `"Acme Inc"`},
	{"FixedKey.sites", `["docs.acme.com"]`, `"docs.acme.com"`},
	{"FixedKey.origins", `["acme.com"]`, `origin "acme.com"`},
	{"Threads.ttl", `"-1h"`, `-1h`},
	{"MeilisearchIndex.urls", `[]`, `urls: is missing`},
	{"MeilisearchIndex.urls", `["m:7700"]`, `"m:7700"`},
	{"MeilisearchIndex.prefix", `"Docs_"`, `prefix: "Docs_" must be lower-case letters`},
	{"MeilisearchIndex.semantic_ratio", `2`, `semantic_ratio: 2 must be from 0`},
	{"MeilisearchIndex.ranking", `"caddy"`, `ranking: "caddy" must be server`},
	{"MeilisearchIndex.fallback", `"meilisearch"`, `fallback: "meilisearch" must be embedded`},
	{"MeilisearchIndex.embedder", `"http://e/v1"`, `embedder: "http://e/v1" must be a name`},
	{"OpenAIEmbedder.url", `"e/v1"`, `url: "e/v1" must be a URL`},
	{"OpenAIEmbedder.url", `"http://e/v1/embeddings"`, `url: "http://e/v1/embeddings" must end before /embeddings`},
	{"OpenAIEmbedder.model", `""`, `model: is missing`},
	{"OpenAIEmbedder.semantic_ratio", `-0.1`, `semantic_ratio: -0.1 must be from 0`},
	{"OpenAIEmbedder.dimensions", `-1`, `dimensions: -1 must be from 1 to 100000`},
	{"OpenAIModel.url", `"m/v1"`, `url: "m/v1" must be a URL`},
	{"OpenAIModel.model", `"http://m/v1"`, `model: "http://m/v1" must be the name of a model`},
	{"OpenAIModel.fallback", `[{"url":"http://f/v1"}]`, `fallback: model: is missing`},
	{"OpenAIModel.first_token_timeout", `"-1s"`, `first_token_timeout: -1s must be from 100ms to 10m`},
	{"OpenAIModel.idle_timeout", `"1ms"`, `idle_timeout: 1ms must be from 100ms to 10m`},
	{"OpenAIModel.max_duration", `"10ms"`, `max_duration: 10ms must be from 1s to 1h`},
	{"OpenAIModel.max_tokens", `-5`, `max_tokens: -5 must be from 1 to 1000000`},
	{"OpenAIModel.budget", `{"per":"1h"}`, `budget: 0 tokens, 0 requests`},
	{"Endpoint.url", `"f/v1"`, `fallback: url: "f/v1" must be a URL`},
	{"Endpoint.model", `""`, `fallback: model: is missing`},
	{"Budget.tokens", `-1`, `budget: -1 tokens`},
	{"Budget.requests", `-1`, `-1 requests`},
	{"Budget.per", `"1m"`, `budget: per 1m0s: must be 1h or 24h`},
	{"Guard.errors", `"json"`, `errors: "json" must be pass`},
	{"Guard.define", `{"name":"acme","site":{"watch":"sometimes"}}`, `site acme: watch: "sometimes" must be`},
	{"Definition.name", `"Acme_Docs"`, `name "Acme_Docs": must be 1 to 63`},
	{"Definition.site", `{"root":"/srv","anchors":"githb"}`, `anchors: "githb" must be`},
	{"ClientLimit.zone", `""`, `zone`},
	{"ClientLimit.max_events", `-1`, `-1`},
	{"ClientLimit.window", `"1ms"`, `1ms`},
	{"Ask.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"Ask.max_concurrent_replies", `-1`, `max_concurrent_replies: -1 must be from 1 to 1000000`},
	{"Token.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"Widget.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"Widget.position", `"top"`, `position: "top" must be bottom-right, bottom-left, none or a CSS selector like #search`},
	{"Widget.replace", `"yes"`, `replace: "yes" must be on or off`},
	{"Widget.accent", `"</script>"`, `accent: "</script>" must be a CSS color`},
	{"Widget.theme", `"[x"`, `theme: "[x" must be auto, light, dark, or the attribute`},
	{"Widget.shortcut", `"hyper+k"`, `shortcut: "hyper+k" must be keys like mod+k`},
	{"Widget.placeholder", `"` + strings.Repeat("x", 201) + `"`, `placeholder: has 201 characters; the maximum is 200`},
	{"Widget.title", `"` + strings.Repeat("x", 201) + `"`, `title: has 201 characters; the maximum is 200`},
	{"Widget.features", `["chat"]`, `features: "chat" must be search, ask, feedback, page_feedback or page_menu`},
	{"Widget.features", `["ask","ask"]`, `features: ask is named twice`},
	{"Widget.strings", `{"de":"no-such-file.json"}`, `strings: de: open no-such-file.json`},
	{"Widget.strings", `{"english":"x.json"}`, `strings: `},
	{"Widget.conversations", `"forever"`, `conversations: "forever" must be session, local or off`},
	{"Widget.starters", `["1","2","3","4","5","6"]`, `starters: has 6 questions; the maximum is 5`},
	{"Widget.starters", `[""]`, `starters: is missing`},
	{"Widget.events", `"all"`, `events: "all" must be plain or text`},
	{"Search.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"Feedback.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"Events.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"LLMs.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"NotFound.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"LLMs.define", `{"name":"acme","site":{"watch":"sometimes"}}`, `site acme: watch: "sometimes" must be`},
	{"NotFound.define", `{"name":"acme","site":{"watch":"sometimes"}}`, `site acme: watch: "sometimes" must be`},
	{"Page.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"MCP.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"MCP.define", `{"name":"acme","site":{"watch":"sometimes"}}`, `site acme: watch: "sometimes" must be`},
	{"MCP.client_limit", `{}`, `client_limit`},
	{"MCP.tool_limit", `{"max_events":-1,"window":"1m"}`, `tool_limit`},
	{"MCP.unlimited", `true`, `unlimited: can't be combined with client_limit or tool_limit`},
	{"Limit.max_events", `-1`, `-1`},
	{"Limit.window", `"1ms"`, `1ms`},
	{"Search.max_body", `-1`, `max_body: -1 must be from 1000 to 100000000`},
	{"Assistant.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"Assistant.max_body", `10`, `max_body: 10 must be from 1000 to 100000000`},
	{"Assistant.finish_event", `"litteral"`, `finish_event: "litteral" must be auto, literal or sdk`},
	{"Assistant.max_concurrent_replies", `-1`, `max_concurrent_replies: -1 must be from 1 to 1000000`},
	{"Assistant.write_timeout", `"-1s"`, `write_timeout: -1s must be from 1s to 1h`},
	{"Dashboard.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
	{"Dashboard.user", `"dana"`, `user: "dana" must be a placeholder, like {http.auth.user.id}`},
	{"Dashboard.groups", `"ops"`, `groups: "ops" must be a placeholder`},
	{"Dashboard.admins", `["{http.auth.user.id}"]`, `admins: "{http.auth.user.id}" must be a name`},
	{"Dashboard.admins", `["@ops"]`, `admins: "@ops" is a group, but groups has no placeholder`},
	{"Dashboard.members", `{"Acme Inc":["dana"]}`, `members: name "Acme Inc": must be 1 to 63`},
	{"Dashboard.members", `{"acme":[]}`, `members: organization acme has no user`},
	{"Dashboard.viewers", `{"acme":[" dana"]}`, `viewers: " dana" must be the name of a user`},
	{"MatchAPI.only", `"chat"`, `only: "chat" must be ask, assistant, `},
	{"MatchAPI.sites", `["docs.acme.com"]`, `sites: name "docs.acme.com": must be 1 to 63`},
}

func TestBadValuesInJSONAreRefusedWithTheirField(t *testing.T) {
	byName := make(map[string]reflect.Type)
	for typ := range configs {
		byName[typ.Name()] = typ
	}
	for i, c := range bad {
		t.Run(fmt.Sprintf("%s %d", c.field, i), func(t *testing.T) {
			name, field, _ := strings.Cut(c.field, ".")
			config := configs[byName[name]]
			o := maps.Clone(config.good)
			var value any
			if err := json.Unmarshal([]byte(c.value), &value); err != nil {
				t.Fatal(err)
			}
			o[field] = value
			if err := validateJSON(t, config.in(o)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %s", err, c.says)
			}
		})
	}
}

func TestGoodValuesInJSONAreAccepted(t *testing.T) {
	for typ, config := range configs {
		if config.in == nil {
			continue
		}
		if err := validateJSON(t, config.in(config.good)); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

func validateJSON(t *testing.T, apps object) error {
	t.Helper()
	if apps["docs"] == nil {
		apps["docs"] = object{}
	}
	if docs := apps["docs"].(object); docs["data_dir"] == nil {
		docs["data_dir"] = t.TempDir()
	}
	data, err := json.Marshal(object{
		"admin": object{"disabled": true}, "apps": apps,
		"storage": object{"module": "file_system", "root": t.TempDir()},
		"logging": object{"logs": object{"default": object{"writer": object{"output": "discard"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var c caddy.Config
	if err := caddy.StrictUnmarshalJSON(data, &c); err != nil {
		return err
	}
	return caddy.Validate(&c)
}

// Every field of every module is in bad or free.
func TestEveryFieldOfEveryModuleIsTriedWithABadValue(t *testing.T) {
	tried := make(map[string]bool)
	for _, c := range bad {
		tried[c.field] = true
	}
	seen := make(map[reflect.Type]bool)
	var visit func(typ reflect.Type)
	visit = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if !ours(typ) || seen[typ] {
			return
		}
		seen[typ] = true
		if _, ok := configs[typ]; !ok {
			t.Errorf("%s is not in configs", typ)
		}
		for _, f := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			visit(f.Type)
			key := fmt.Sprintf("%s.%s", typ.Name(), name)
			if tried[key] == (free[key] != "") {
				t.Errorf("%s must be either in bad or in free", key)
			}
		}
	}
	for _, id := range caddy.Modules() {
		m, err := caddy.GetModule(id)
		if err != nil {
			t.Fatal(err)
		}
		visit(reflect.TypeOf(m.New()))
	}
	for typ := range configs {
		if !seen[typ] {
			t.Errorf("%s is not part of a module", typ)
		}
	}
}

func ours(typ reflect.Type) bool {
	return strings.HasPrefix(typ.PkgPath(), "github.com/caddy-docs/caddy-docs/handlers")
}
