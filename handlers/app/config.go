package app

import (
	"github.com/caddyserver/caddy/v2"
)

// Site is one documentation site.
type Site struct {
	// Root is the folder of the site's pages: .html, .htm, .md, .mdx.
	// Placeholders {env.X} are resolved at start.
	Root string `json:"root,omitempty"`

	// Sitemap is the address of the sitemap of a site that this Caddy
	// proxies. Either Root or Sitemap.
	Sitemap string `json:"sitemap,omitempty"`

	// AllowPrivate lets the sitemap's pages be fetched from private addresses
	// and from this machine.
	AllowPrivate bool `json:"allow_private,omitempty"`

	// URL is the site's address, perhaps with a path; results link below it.
	// Default for a site defined by the directive docs: the first host that
	// the directive serves.
	URL string `json:"url,omitempty"`

	// Organization shares keys and limits. Default: the site's name.
	Organization string `json:"organization,omitempty"`

	// Name is what readers call the site; the assistant uses it. Default: the
	// site's name in the configuration.
	Name string `json:"name,omitempty"`

	// Versions and Languages of pages by path; the first that matches wins.
	// One without paths is the default of pages that name none.
	Versions  []Scope `json:"versions,omitempty"`
	Languages []Scope `json:"languages,omitempty"`

	// Include and Exclude are path globs of pages ("/guide/*", "**" crosses
	// slashes; a * at the end does too). No Include: all. Exclude wins.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`

	// CleanURLs: HTML pages are served without .html.
	CleanURLs bool `json:"clean_urls,omitempty"`

	// Anchors says how the generator that renders Markdown makes heading
	// ids: github (default), gitlab, goldmark (Caddy's own templates), pandoc, or
	// none.
	Anchors string `json:"anchors,omitempty"`

	// Watch is how changes of Root are noticed: "events" (default), "poll" or
	// "off". PollInterval is the time between two looks, default 10s (1h for
	// a sitemap).
	Watch        string         `json:"watch,omitempty"`
	PollInterval caddy.Duration `json:"poll_interval,omitempty"`

	// Instructions are words for the model, as text, or the name of a file
	// that holds them (a value without white space that ends in .md or .txt).
	Instructions string `json:"instructions,omitempty"`

	// SupportURL is where readers are sent when the docs don't answer.
	SupportURL string `json:"support_url,omitempty"`

	// AllowLinks are other hosts that answers may link to.
	AllowLinks []string `json:"allow_links,omitempty"`

	// StarterQuestions, up to three, end a reply that has no answer, and stand
	// in where Suggestions finds no follow-up question.
	StarterQuestions []string `json:"starter_questions,omitempty"`

	// Synonyms are groups of words that mean the same to the site's readers.
	Synonyms [][]string `json:"synonyms,omitempty"`

	// StopWords say nothing on this site, like its product's name: they are
	// left out of queries that have other words.
	StopWords []string `json:"stop_words,omitempty"`

	// Suggestions adds up to three follow-up questions to each answer.
	// Default: off.
	Suggestions bool `json:"suggestions,omitempty"`

	instructions string // the text
}

// Scope gives pages under Paths a version or language.
type Scope struct {
	Value string   `json:"value"`
	Paths []string `json:"paths,omitempty"`
}

// FixedKey is a key written in the configuration.
type FixedKey struct {
	// SHA256 is the key's hash, in hex. The Caddyfile adapter makes it, so
	// that the key itself never stands in the adapted config. Key is the
	// alternative: the key itself, or better a placeholder like {env.DOCS_KEY}.
	SHA256 string `json:"sha256,omitempty"`
	Key    string `json:"key,omitempty"`

	Name string `json:"name,omitempty"`
	// Organization whose sites the key opens. Default: that of Sites, or
	// without them of all sites, if it is the same.
	Organization string `json:"organization,omitempty"`
	// Sites narrows the key to some of the organization's sites.
	Sites []string `json:"sites,omitempty"`
	// Origins from which browsers may use the key, besides each site's own.
	// None: any origin.
	Origins []string `json:"origins,omitempty"`
}

// Threads says how long conversations are kept.
type Threads struct {
	// Off keeps none: each request has to bring its conversation along.
	Off bool `json:"off,omitempty"`
	// TTL is how long a conversation is kept after its last turn, at least
	// 1m. Default: 30 days.
	TTL caddy.Duration `json:"ttl,omitempty"`
}
