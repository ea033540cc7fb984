package ingest

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

var changelogNames = set(`changelog changelogs change-log change_log changes release-notes release_notes releasenotes
	releases whatsnew whats-new what-s-new whats_new history`)

// changelogTitles are the beginnings of changelogs' titles.
var changelogTitles = []string{"changelog", "change log", "release notes", "what's new", "what’s new", "version history", "release history"}

// classify marks the pages that are found but not favored.
func (in *Ingester) classify(doc *retrieval.Document) {
	title := strings.ToLower(doc.Title)
	if slices.ContainsFunc(strings.Split(strings.ToLower(doc.Page), "/"), func(s string) bool { return changelogNames[s] }) ||
		slices.ContainsFunc(changelogTitles, func(t string) bool { return strings.HasPrefix(title, t) }) {
		doc.Changelog = true
	}
	if strings.Contains(title, "(deprecated)") || strings.HasPrefix(title, "[deprecated]") {
		doc.Deprecated = true
	}
}

// archivedVersion matches Docsy's banner on every page of an old version.
var archivedVersion = regexp.MustCompile(`^Version (\S+) of the documentation is no longer actively maintained`)

// bannerNames are parts of the classes and ids of banners about versions.
var bannerNames = []string{"version-banner", "version-warning", "versionbanner", "deprecated-banner", "outdated", "deprecation-warning"}

// oldWords say in such a banner that the version is not maintained.
var oldWords = []string{
	"no longer", "unmaintained", "not maintained", "outdated", "out of date", "old version", "older version",
	"deprecated", "end of life", "end-of-life", "archived", "not the latest", "unsupported",
}

// deprecatedBanner reports whether a banner of the page says that it belongs
// to a version that is not maintained.
func deprecatedBanner(root *html.Node) bool {
	old := false
	walk(root, func(n *html.Node) bool {
		if old || skippedTags[n.DataAtom] || hidden(n) {
			return false
		}
		names := strings.ToLower(attr(n, "class") + " " + attr(n, "id"))
		if !hasClass(n, "pageinfo") && !slices.ContainsFunc(bannerNames, func(b string) bool { return strings.Contains(names, b) }) {
			return true
		}
		text := strings.ToLower(textOf(n))
		old = slices.ContainsFunc(oldWords, func(word string) bool { return strings.Contains(text, word) })
		return false
	})
	return old
}

// humanize makes a title of a file's or folder's name.
func humanize(name string) string {
	name = strings.TrimSpace(strings.NewReplacer("-", " ", "_", " ").Replace(name))
	if name == "" || strings.ToLower(name) != name {
		return name
	}
	r := []rune(name)
	return strings.ToUpper(string(r[:1])) + string(r[1:])
}
