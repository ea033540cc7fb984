package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// head is what an HTML page says about itself outside of its text.
type head struct {
	title, ogTitle, siteName, description string
	language, ownLanguage, version        string
	canonical, generator                  string
	tags, keywords, breadcrumbs           []string
	noindex, refresh, deprecated          bool
	sphinx, sphinxSearch, taxonomy        bool
}

// html reads an HTML page into doc.
func (in *Ingester) html(doc *retrieval.Document, src []byte) error {
	root, err := parseHTML(src)
	if err != nil {
		return fmt.Errorf("%w: its HTML can't be parsed: %v", errSkip, err)
	}
	h := readHead(root)
	name := path.Base(doc.Page)
	switch {
	case h.noindex:
		return fmt.Errorf("%w: its robots meta says noindex", errSkip)
	case h.refresh:
		return fmt.Errorf("%w: it only sends readers to another page", errSkip)
	case name == "404" || name == "404.html":
		return fmt.Errorf("%w: it is an error page", errSkip)
	case h.sphinx && (h.sphinxSearch || strings.HasPrefix(name, "genindex") || name == "py-modindex" || name == "modindex"):
		return fmt.Errorf("%w: it is a generated index of names", errSkip)
	case (h.generator != "" || h.taxonomy) && taxonomy.MatchString(doc.Page):
		return fmt.Errorf("%w: it is a generated list of the pages of a tag", errSkip)
	}
	if u, ok := in.canonical(doc.Page, doc.URL, h.canonical); ok {
		doc.URL = u
	}
	base, _ := url.Parse(doc.URL)
	w := &htmlWalker{b: &builder{in: in, base: base}}
	roots, inner := contentRoots(root)
	w.page = true
	w.bodyRoot = !inner
	for _, r := range roots {
		w.children(r)
		w.b.flush()
	}
	w.b.flush()
	w.b.finish()
	h1 := w.b.firstH1()
	if h1 == "" {
		if n := findHeading(root); n != nil {
			h1 = headingText(n)
		}
	}
	doc.Title = clean(h1)
	if doc.Title == "" {
		doc.Title = clean(h.ogTitle)
	}
	if doc.Title == "" {
		doc.Title = withoutSiteName(clean(h.title), h.siteName)
	}
	if doc.Title == "" {
		doc.Title = humanize(name)
	}
	doc.Description = clean(h.description)
	for _, a := range findAll(root, func(n *html.Node) bool {
		return n.DataAtom == atom.A && slices.Contains(strings.Fields(attr(n, "rel")), "tag")
	}) {
		w.tags = append(w.tags, textOf(a))
	}
	doc.Tags = tidyList(append(h.tags, w.tags...))
	doc.Keywords = tidyList(h.keywords)
	doc.Breadcrumbs = breadcrumbTrail(root, h, doc.Title)
	doc.Deprecated = h.deprecated || deprecatedBanner(root)
	doc.Sections = w.b.end(doc.Title)
	doc.Links = w.b.links
	language := h.ownLanguage
	if language == "" {
		language = h.language
	}
	in.setScope(doc, h.version, language)
	return nil
}

// taxonomy are the pages by which generators list others by tag: they repeat
// other pages' text.
var taxonomy = regexp.MustCompile(`^(?:[a-z]{2}(?:-[A-Za-z]{2,4})?/)?(?:docs/|blog/)?(?:tags|categories)(?:/[^/]+)?$`)

// parseHTML parses a page. The parser refuses trees that are nested too
// deeply; their text is then read without the tags that only group.
func parseHTML(src []byte) (*html.Node, error) {
	root, err := html.Parse(bytes.NewReader(src))
	if err == nil {
		return root, nil
	}
	return html.Parse(bytes.NewReader(flatten(src)))
}

// flatten drops all tags but those that part blocks or hide text.
func flatten(src []byte) []byte {
	var out bytes.Buffer
	z := html.NewTokenizer(bytes.NewReader(src))
	for {
		switch t := z.Next(); t {
		case html.ErrorToken:
			return out.Bytes()
		case html.TextToken, html.CommentToken, html.DoctypeToken:
			out.Write(z.Raw())
		default:
			raw := bytes.Clone(z.Raw())
			name, _ := z.TagName()
			switch atom.Lookup(name) {
			case atom.Html, atom.Head, atom.Title, atom.Meta, atom.Link, atom.Body, atom.H1, atom.H2, atom.H3, atom.H4,
				atom.P, atom.Script, atom.Style, atom.Br:
				out.Write(raw)
			default:
				out.WriteByte(' ')
			}
		}
	}
}

func attribute(attrs []html.Attribute, key string) string {
	for _, a := range attrs {
		if a.Key == key && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}

func attr(n *html.Node, key string) string { return attribute(n.Attr, key) }

func hasAttr(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

// classes calls yield for each class of n until it returns false.
func classes(n *html.Node) []string {
	if c := attr(n, "class"); c != "" {
		return strings.Fields(c)
	}
	return nil
}

// walk visits n and what is below it, in order, until visit returns false
// for "don't look below".
func walk(n *html.Node, visit func(*html.Node) bool) {
	if n.Type == html.ElementNode && !visit(n) {
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

// sphinxTitle ends the titles of Sphinx pages: "— Project 1.2.3 documentation".
var sphinxTitle = regexp.MustCompile(`(?i)(?:^|\s[—–-]\s+).*?\bv?(\d+(?:\.\w+)*) documentation$`)

var sphinxVersion = regexp.MustCompile(`\bVERSION:\s*['"]([^'"]+)['"]`)

func readHead(root *html.Node) head {
	var h head
	walk(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Html:
			h.language = attr(n, "lang")
			if h.language == "" {
				h.language = attr(n, "xml:lang")
			}
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
			}
		case atom.Script:
			if attr(n, "type") == "application/ld+json" && h.breadcrumbs == nil && n.FirstChild != nil {
				h.breadcrumbs = jsonBreadcrumbs([]byte(n.FirstChild.Data))
			}
			src := attr(n, "src")
			if attr(n, "id") == "documentation_options" || strings.Contains(src, "documentation_options.js") {
				h.sphinx = true
				if n.FirstChild != nil {
					if m := sphinxVersion.FindStringSubmatch(n.FirstChild.Data); m != nil && h.version == "" {
						h.version = m[1]
					}
				}
			}
			if strings.Contains(src, "searchtools.js") {
				h.sphinxSearch = true
			}
			return false
		case atom.Body:
			h.taxonomy = hasClass(n, "td-term") || hasClass(n, "td-taxonomy")
		case atom.Div:
			if h.version == "" && hasClass(n, "pageinfo") {
				if m := archivedVersion.FindStringSubmatch(textOf(n)); m != nil {
					h.version = m[1]
				}
			}
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
	name := strings.ToLower(attr(n, "name"))
	if name == "" {
		name = strings.ToLower(attr(n, "property"))
	}
	first := func(to *string) {
		if *to == "" {
			*to = content
		}
	}
	switch name {
	case "description":
		if content != "" {
			h.description = content
		}
	case "og:description":
		first(&h.description)
	case "og:title":
		first(&h.ogTitle)
	case "og:site_name":
		first(&h.siteName)
	case "generator":
		first(&h.generator)
		if strings.Contains(strings.ToLower(content), "sphinx") {
			h.sphinx = true
		}
	case "docsearch:language":
		first(&h.ownLanguage)
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
	}
	if strings.EqualFold(attr(n, "http-equiv"), "refresh") {
		// A page that reloads itself has no url.
		h.refresh = h.refresh || strings.Contains(strings.ToLower(content), "url=")
	}
}

// jsonBreadcrumbs reads schema.org's BreadcrumbList out of JSON-LD.
func jsonBreadcrumbs(data []byte) []string {
	if len(data) > 256<<10 || !bytes.Contains(data, []byte("BreadcrumbList")) {
		return nil
	}
	type list struct {
		Type  any `json:"@type"`
		Items []struct {
			Name string `json:"name"`
			Item any    `json:"item"`
		} `json:"itemListElement"`
		Graph []json.RawMessage `json:"@graph"`
	}
	read := func(raw []byte) ([]string, []json.RawMessage) {
		var l list
		if json.Unmarshal(raw, &l) != nil {
			return nil, nil
		}
		if l.Type != "BreadcrumbList" {
			return nil, l.Graph
		}
		var names []string
		for _, i := range l.Items {
			name := i.Name
			if m, ok := i.Item.(map[string]any); ok && name == "" {
				name, _ = m["name"].(string)
			}
			names = append(names, name)
		}
		return names, nil
	}
	parts := []json.RawMessage{data}
	var array []json.RawMessage
	if json.Unmarshal(data, &array) == nil {
		parts = array
	}
	for i := 0; i < len(parts) && i < 100; i++ {
		names, graph := read(parts[i])
		if names != nil {
			return tidyList(names)
		}
		if len(parts) == 1 {
			parts = append(parts, graph...)
		}
	}
	return nil
}

// withoutSiteName drops what follows the last separator of a <title>.
func withoutSiteName(title, site string) string {
	for _, sep := range []string{" | ", " — ", " – ", " · ", " :: ", " - "} {
		if i := strings.LastIndex(title, sep); i > 0 {
			if site == "" || sep != " - " || strings.EqualFold(title[i+len(sep):], site) {
				return strings.TrimSpace(title[:i])
			}
		}
	}
	return title
}

// textOf is the text below n, white space collapsed.
func textOf(n *html.Node) string {
	var b builder
	var add func(*html.Node)
	add = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.words(n.Data)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			add(c)
		}
	}
	add(n)
	return string(b.line)
}
