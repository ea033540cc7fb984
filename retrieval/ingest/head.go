package ingest

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// head is what an HTML page says about itself outside of its text.
type head struct {
	title, ogTitle, siteName, description string
	language, ownLanguage, version        string
	canonical, generator, date            string
	alternates                            map[string]string // addresses by hreflang
	tags, keywords                        []string
	noindex, refresh, deprecated          bool
	sphinx, taxonomy                      bool
}

// sphinxTitle matches the titles of Sphinx pages: "… — Project 1.2.3 documentation".
var sphinxTitle = regexp.MustCompile(`(?i)(?:^|\s[—–-]\s+).*?\bv?(\d+(?:\.\w+)*) documentation$`)

func readHead(root *html.Node) head {
	var h head
	walk(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Html:
			h.language = cmp.Or(attr(n, "lang"), attr(n, "xml:lang"))
		case atom.Title:
			if h.title == "" && n.Namespace == "" {
				h.title = textOf(n)
			}
		case atom.Meta:
			h.meta(n)
		case atom.Link:
			for rel := range strings.FieldsSeq(strings.ToLower(attr(n, "rel"))) {
				if rel == "canonical" && h.canonical == "" {
					h.canonical = attr(n, "href")
				}
				if language := strings.ToLower(strings.TrimSpace(attr(n, "hreflang"))); rel == "alternate" && language != "" && len(h.alternates) < maxListed {
					if h.alternates == nil {
						h.alternates = map[string]string{}
					}
					h.alternates[language] = attr(n, "href")
				}
			}
		case atom.Script:
			h.sphinx = h.sphinx || attr(n, "id") == "documentation_options" || strings.Contains(attr(n, "src"), "documentation_options.js")
			return false
		case atom.Noscript: // Sphinx's rediraffe has a script besides
			h.refresh = h.refresh || h.title == "" && strings.Contains(rawText(n), `http-equiv="refresh"`)
		case atom.Body: // of Docsy
			h.taxonomy = hasClass(n, "td-term") || hasClass(n, "td-taxonomy")
		case atom.Svg, atom.Template, atom.Style:
			return false
		}
		return true
	})
	if h.sphinx && h.version == "" {
		if m := sphinxTitle.FindStringSubmatch(strings.TrimSpace(h.title)); m != nil {
			h.version = m[1]
		}
	}
	return h
}

func (h *head) meta(n *html.Node) {
	content := strings.TrimSpace(attr(n, "content"))
	name := strings.ToLower(cmp.Or(attr(n, "name"), attr(n, "property")))
	if to := map[string]*string{
		"og:description": &h.description, "og:title": &h.ogTitle, "og:site_name": &h.siteName, "generator": &h.generator,
		"docsearch:language": &h.ownLanguage,
	}[name]; to != nil {
		*to = cmp.Or(*to, content)
	}
	switch name {
	case "description":
		h.description = cmp.Or(content, h.description)
	case "generator":
		h.sphinx = h.sphinx || strings.Contains(strings.ToLower(content), "sphinx")
	case "docsearch:version", "readthedocs-version-slug", "docs-version":
		// Several versions may share a page; the first is its own.
		v, _, _ := strings.Cut(content, ",")
		if h.version == "" || name == "docsearch:version" {
			h.version = strings.TrimSpace(v)
		}
	case "keywords":
		h.keywords = append(h.keywords, strings.Split(content, ",")...)
	case "article:tag", "docsearch:tag", "docsearch:tags":
		h.tags = append(h.tags, strings.Split(content, ",")...)
	case "robots":
		c := strings.ToLower(content)
		h.noindex = h.noindex || strings.Contains(c, "noindex") || c == "none"
	case "deprecated":
		h.deprecated = content != "false"
	case "article:modified_time", "og:updated_time", "last-modified", "dcterms.modified", "docs:date":
		if isDate(content) {
			h.date = content
		}
	case "article:published_time", "date":
		if isDate(content) {
			h.date = cmp.Or(h.date, content)
		}
	}
	if strings.EqualFold(attr(n, "http-equiv"), "refresh") {
		// A page that reloads itself has only seconds. "url=" may be missing.
		h.refresh = h.refresh || strings.Trim(content, "0123456789.;, ") != ""
	}
}

// isDate reports whether s begins with an ISO date.
func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s[:min(len(s), 10)])
	return err == nil
}
