package ingest

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

var changelogNames = set(`changelog changelogs change-log change_log changes release-notes release_notes releasenotes
	releases whatsnew whats-new what-s-new whats_new history`)

// changelogTitles begin the titles of changelogs.
var changelogTitles = []string{"changelog", "change log", "release notes", "what's new", "what’s new", "version history", "release history"}

// classify marks the pages that are found but not favoured.
func (in *Ingester) classify(doc *retrieval.Document) {
	for s := range strings.SplitSeq(strings.ToLower(doc.Page), "/") {
		if changelogNames[s] {
			doc.Changelog = true
		}
	}
	title := strings.ToLower(doc.Title)
	for _, t := range changelogTitles {
		if strings.HasPrefix(title, t) {
			doc.Changelog = true
		}
	}
	if strings.Contains(title, "(deprecated)") || strings.HasPrefix(title, "[deprecated]") {
		doc.Deprecated = true
	}
}

// humanize makes a title of a file's or folder's name.
func humanize(name string) string {
	name = strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(name))
	if name == "" {
		return ""
	}
	if strings.ToLower(name) == name {
		r := []rune(name)
		return strings.ToUpper(string(r[:1])) + string(r[1:])
	}
	return name
}
