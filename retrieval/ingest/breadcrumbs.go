package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Complete gives documents, which must be all of the site's, what only their
// places on the site say: those without breadcrumbs get the names of the folders
// that they are in, and a description that is the front page's, which generators
// give to pages without one, is removed. The titles of other pages would say
// more, but not everyone who can open a page can open those above it. Completed
// documents are copies, since an index may hold the originals, and their Hash
// gets a suffix (see retrieval.Document.Hash). The slice is changed in place and
// returned.
func (in *Ingester) Complete(documents []*retrieval.Document) []*retrieval.Document {
	site := "" // the site's description
	for _, d := range documents {
		if d.Page == "" {
			site = d.Description
		}
	}
	for i, d := range documents {
		if d.Page == "" {
			continue
		}
		hash, suffix, _ := strings.Cut(d.Hash, retrieval.HashSuffix)
		sum, removed := strings.CutSuffix(suffix, withoutDescription)
		trail := d.Breadcrumbs
		if sum != "" || len(trail) == 0 { // the page itself has none
			trail = foldersAbove(d)
			sum = ""
			if len(trail) > 0 {
				s := sha256.Sum256([]byte(strings.Join(trail, "\n")))
				sum = hex.EncodeToString(s[:8])
			}
		}
		remove := d.Description != "" && d.Description == site
		if slices.Equal(trail, d.Breadcrumbs) && !remove {
			continue
		}
		c := *d
		c.Breadcrumbs, c.Hash = trail, hash
		if remove {
			c.Description = ""
		}
		if remove || removed {
			sum += withoutDescription
		}
		if sum != "" {
			c.Hash += retrieval.HashSuffix + sum
		}
		documents[i] = &c
	}
	return documents
}

// withoutDescription ends the Hash of a document whose description was removed.
const withoutDescription = "~"

// foldersAbove names the folders that a page is in, outermost first.
func foldersAbove(d *retrieval.Document) []string {
	var trail []string
	for at := path.Dir(d.Page); at != "." && at != "/"; at = path.Dir(at) {
		name := path.Base(at)
		if version, language := conventional(name+"/x", "x.md"); version != "" || language != "" || docsSegments.has(name) {
			continue // every page's trail would begin with it
		}
		if strings.Trim(name, "0123456789") == "" {
			continue // year, month and day of a post
		}
		if title := humanize(name); !strings.EqualFold(title, d.Title) && (len(trail) == 0 || trail[0] != title) {
			trail = append([]string{title}, trail...)
		}
	}
	return trail
}

// breadcrumbTrail reads the titles above an HTML page from its breadcrumb
// navigation. The page's own title and "Home" are left out.
func breadcrumbTrail(root *html.Node, title string) (trail []string) {
	navs := findAll(root, func(n *html.Node) bool {
		return breadcrumbClasses.class(n) || strings.HasPrefix(strings.ToLower(attr(n, "aria-label")), "breadcrumb")
	})
	for _, nav := range navs {
		items := findAll(nav, func(n *html.Node) bool { return n.DataAtom == atom.Li })
		if len(items) == 0 {
			items = findAll(nav, func(n *html.Node) bool { return n.DataAtom == atom.A })
		}
		for _, n := range items {
			title := strings.Trim(textOf(n), " /›»>→·|")
			current := findAll(n, func(n *html.Node) bool {
				return attr(n, "aria-current") == "page" || hasClass(n, "breadcrumbs__item--active")
			})
			if title != "" && current == nil && !hidden(n) && !skipsClass(n) && !strings.Contains(strings.ToLower(title), "edit on ") {
				trail = append(trail, title)
			}
		}
		if len(trail) > 0 {
			break
		}
	}
	if n := len(trail); n > 0 && strings.EqualFold(trail[n-1], title) {
		trail = trail[:n-1]
	}
	return tidyList(trail)
}
