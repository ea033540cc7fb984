package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Complete gives documents what only the whole site can tell; docs should be
// all of it. Documents that name no breadcrumbs get the titles of the pages
// above them, or, for a folder that is no page, the folder's name. A
// description that more than three pages share is the site's and is
// removed. Documents that this changes get another Hash; calling it again
// changes nothing more.
func Complete(docs []*retrieval.Document) {
	titles := make(map[string]string, len(docs))
	descriptions := map[string]int{}
	for _, d := range docs {
		titles[d.Page] = d.Title
		descriptions[d.Description]++
	}
	for _, d := range docs {
		if d.Description != "" && descriptions[d.Description] > 3 {
			d.Description = ""
			d.Hash = rehash(d.Hash, "")
		}
		if len(d.Breadcrumbs) > 0 || d.Page == "" {
			continue
		}
		if trail := trailAbove(d, titles); len(trail) > 0 {
			d.Breadcrumbs = trail
			d.Hash = rehash(d.Hash, strings.Join(trail, "\n"))
		}
	}
}

func rehash(hash, change string) string {
	sum := sha256.Sum256([]byte(hash + "\n" + change))
	return hex.EncodeToString(sum[:16])
}

// trailAbove names the pages or folders above d, outermost first.
func trailAbove(d *retrieval.Document, titles map[string]string) []string {
	var trail []string
	for at := path.Dir(d.Page); at != "." && at != "/"; at = path.Dir(at) {
		title := titles[at]
		if title == "" {
			name := path.Base(at)
			if version, language := conventional(name+"/x", "x.md"); version != "" || language != "" || docsSegments[name] {
				continue // every page's trail would begin with it
			}
			title = humanize(name)
		}
		if !strings.EqualFold(title, d.Title) && (len(trail) == 0 || trail[0] != title) {
			trail = append([]string{title}, trail...)
		}
	}
	return trail
}
