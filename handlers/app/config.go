package app

import (
	"github.com/caddyserver/caddy/v2"
)

// Site is one documentation site. Root, Sitemap, URL, SupportURL and
// Instructions may have placeholders like {env.NAME}, which are replaced when
// Caddy starts or reloads.
type Site struct {
	// The folder of the site's pages: .html, .htm, .md and .mdx files. Set
	// either this or sitemap. Default for a site that a route defines: the root
	// around the route.
	Root string `json:"root,omitempty"`

	// The URL of the sitemap of a site whose files this Caddy doesn't have, for
	// example one that it proxies.
	Sitemap string `json:"sitemap,omitempty"`

	// Allows fetching the sitemap's pages from private addresses and from this
	// machine. Default: false.
	AllowPrivate bool `json:"allow_private,omitempty"`

	// The site's URL, which may have a path; results link below it. Default for
	// a site that a route defines: the first host of the route; otherwise
	// results link by path alone.
	URL string `json:"url,omitempty"`

	// The organization, whose sites share keys and limits: a DNS label. Default:
	// the site's name.
	Organization string `json:"organization,omitempty"`

	// The name that readers know the site by, used by the assistant; at most
	// 200 characters. Default: the site's name in the configuration.
	Name string `json:"name,omitempty"`

	// The versions of pages by path; the first match applies. One without paths
	// is the default of the other pages.
	Versions []Scope `json:"versions,omitempty"`

	// The languages of pages by path, as language tags like en or pt-BR. They
	// match as versions do.
	Languages []Scope `json:"languages,omitempty"`

	// What pages are, by path: current, blog, changelog, deprecated, old, next,
	// source or moved. Current ones rank higher, unless a query asks for others.
	// Default: what their paths, titles and front matter say.
	Kinds []Scope `json:"kinds,omitempty"`

	// Path globs of the pages to index, like "/guide/*"; "**", and "*" at the
	// end, match slashes too. Default: all pages.
	Include []string `json:"include,omitempty"`

	// Path globs of pages to leave out, even if they are included.
	Exclude []string `json:"exclude,omitempty"`

	// Set if HTML pages are served without .html. Default: false.
	CleanURLs bool `json:"clean_urls,omitempty"`

	// How the generator that renders Markdown makes the ids of headings: github,
	// gitlab, goldmark (Caddy's templates), pandoc or none. Default: github.
	Anchors string `json:"anchors,omitempty"`

	// How changes of the root are noticed: "events" from the file system,
	// "poll" or "off". Poll where a file system sends no events, as many network
	// file systems don't. Default: events.
	Watch string `json:"watch,omitempty"`

	// The time between two looks at the pages, from 1s (10s for a sitemap) to
	// 24h. Default: 10s, or 1h for a sitemap.
	PollInterval caddy.Duration `json:"poll_interval,omitempty"`

	// Instructions for the model, at most 20,000 characters, or the name of a
	// file with them, up to 64 kB: a value without white space that ends in .md
	// or .txt. Don't put secrets here: readers can make a model recite them.
	Instructions string `json:"instructions,omitempty"`

	// The URL or mailto: address for readers whose question has no answer.
	SupportURL string `json:"support_url,omitempty"`

	// Further hosts that answers may link to. Links elsewhere are removed.
	AllowLinks []string `json:"allow_links,omitempty"`

	// Up to three questions for the end of a reply that has no answer, and for
	// those without a follow-up question while suggestions are on.
	StarterQuestions []string `json:"starter_questions,omitempty"`

	// Groups of words that mean the same to the site's readers.
	Synonyms [][]string `json:"synonyms,omitempty"`

	// Words that mean nothing on this site, like its product's name. Queries
	// that have other words are searched without them.
	StopWords []string `json:"stop_words,omitempty"`

	// Adds up to three follow-up questions to each answer. Default: false.
	Suggestions bool `json:"suggestions,omitempty"`

	// Writes follow-up questions into the text of answers, as a code block of
	// the language suggestions with a line (text)[url] for each, as Mintlify's
	// assistant does. Needs suggestions. Default: false.
	SuggestionsFence bool `json:"suggestions_fence,omitempty"`

	// Whether pages are shown only to readers whose own requests for them
	// succeed: "on", or "off" to treat every page of the index as public.
	// Default: on.
	Locks string `json:"locks,omitempty"`

	instructions string // the text
}

// Scope gives the pages below some paths a version or language.
type Scope struct {
	// The version, language or kind.
	Value string `json:"value"`

	// Path globs of its pages. Default: all pages that match no other scope.
	Paths []string `json:"paths,omitempty"`
}

// FixedKey is a key written in the configuration.
type FixedKey struct {
	// The key's SHA-256 hash, in hexadecimal. The Caddyfile adapter writes it,
	// so that the configuration doesn't hold the key.
	SHA256 string `json:"sha256,omitempty"`

	// The key itself instead of its hash: a placeholder like {env.DOCS_KEY}, as
	// the configuration can be read at GET /config/.
	Key string `json:"key,omitempty"`

	// The name in lists of keys.
	Name string `json:"name,omitempty"`

	// The organization whose sites the key opens. Default: that of the sites
	// below, or of all sites, if they have the same.
	Organization string `json:"organization,omitempty"`

	// The sites that the key opens. Default: all of the organization.
	Sites []string `json:"sites,omitempty"`

	// The origins from which browsers may use the key, besides each site's
	// own. Default: any.
	Origins []string `json:"origins,omitempty"`
}

// Threads sets how long conversations are kept.
type Threads struct {
	// Keeps no conversations: each request has to bring its own. Default: false.
	Off bool `json:"off,omitempty"`

	// How long a conversation is kept after its last turn, from 1m to 3650d.
	// Default: 30d.
	TTL caddy.Duration `json:"ttl,omitempty"`
}
