// Package caddydocs is a Caddy module that gives a documentation site,
// served by the Caddy that already serves it, a search API and an AI
// assistant. This file is the whole surface: the modules, directives, the
// global option and the command that it registers.
package caddydocs

import (
	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	grammar "github.com/caddy-docs/caddy-docs/handlers/caddyfile"
	"github.com/caddy-docs/caddy-docs/handlers/command"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

func init() {
	// The app and what can be put into it.
	caddy.RegisterModule(new(app.App))                  // docs
	caddy.RegisterModule(new(options.EmbeddedIndex))    // docs.index.embedded
	caddy.RegisterModule(new(options.MeilisearchIndex)) // docs.index.meilisearch
	caddy.RegisterModule(new(options.FolderSource))     // docs.source.folder
	caddy.RegisterModule(new(options.SitemapSource))    // docs.source.sitemap
	caddy.RegisterModule(new(options.OpenAPISource))    // docs.source.openapi
	caddy.RegisterModule(new(options.OpenAIEmbedder))   // docs.embedder.openai
	caddy.RegisterModule(new(options.OpenAIModel))      // docs.llm.openai
	caddy.RegisterModule(new(options.SQLiteInsights))   // docs.insights.sqlite
	caddy.RegisterModule(new(options.PostgresInsights)) // docs.insights.postgres
	caddy.RegisterModule(new(admin.Admin))              // admin.api.docs

	// The HTTP side.
	caddy.RegisterModule(new(handlers.MatchAPI))      // http.matchers.docs_api
	caddy.RegisterModule(new(handlers.KeyAuth))       // http.authentication.providers.docs_key
	caddy.RegisterModule(new(handlers.Guard))         // http.handlers.docs_api
	caddy.RegisterModule(new(handlers.ClientLimit))   // http.handlers.docs_client_limit
	caddy.RegisterModule(new(handlers.Search))        // http.handlers.docs_search
	caddy.RegisterModule(new(handlers.Assistant))     // http.handlers.docs_assistant
	caddy.RegisterModule(new(ui.Ask))                 // http.handlers.docs_ask
	caddy.RegisterModule(new(handlers.Token))         // http.handlers.docs_token
	caddy.RegisterModule(new(ui.Widget))              // http.handlers.docs_widget
	caddy.RegisterModule(new(ui.Dashboard))           // http.handlers.docs_dashboard
	caddy.RegisterModule(new(handlers.Feedback))      // http.handlers.docs_feedback
	caddy.RegisterModule(new(handlers.Events))        // http.handlers.docs_events
	caddy.RegisterModule(new(handlers.Page))          // http.handlers.docs_page
	caddy.RegisterModule(new(handlers.MatchSignedIn)) // http.matchers.docs_signed_in
	caddy.RegisterModule(new(handlers.MCP))           // http.handlers.docs_mcp
	caddy.RegisterModule(new(handlers.LLMs))          // http.handlers.docs_llms
	caddy.RegisterModule(new(handlers.Contract))      // http.handlers.docs_contract
	caddy.RegisterModule(new(ui.NotFound))            // http.handlers.docs_not_found

	grammar.Register() // directives docs, assistant, search, docs_widget, docs_dashboard, docs_mcp, docs_llms; global option docs
	command.Register() // caddy docs …
}
