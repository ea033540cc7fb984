package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Complete gives documents what only the whole site can tell; documents must
// be all of it. Those that name no breadcrumbs get the titles of the pages
// above them, or, for a folder that is no page, the folder's name. They are
// copied first, since an index may hold them, and their Hash gets a suffix
// (see retrieval.Document.Hash). The slice is changed in place and returned.
func (in *Ingester) Complete(documents []*retrieval.Document) []*retrieval.Document {
	titles := make(map[string]string, len(documents))
	for _, d := range documents {
		titles[d.Page] = d.Title
	}
	for i, d := range documents {
		own, filled, _ := strings.Cut(d.Hash, retrieval.HashSuffix)
		if d.Page == "" || filled == "" && len(d.Breadcrumbs) > 0 {
			continue
		}
		trail := trailAbove(d, titles)
		if slices.Equal(trail, d.Breadcrumbs) {
			continue
		}
		c := *d
		c.Breadcrumbs, c.Hash = trail, own
		if len(trail) > 0 {
			sum := sha256.Sum256([]byte(strings.Join(trail, "\n")))
			c.Hash += retrieval.HashSuffix + hex.EncodeToString(sum[:8])
		}
		documents[i] = &c
	}
	return documents
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
