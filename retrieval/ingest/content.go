package ingest

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// contentClasses mark the text of a page in well-known generators' HTML,
// the surest first.
var contentClasses = []string{
	"theme-doc-markdown",                          // Docusaurus
	"vp-doc",                                      // VitePress
	"md-content__inner",                           // MkDocs Material
	"td-content",                                  // Docsy
	"sl-markdown-content",                         // Starlight
	"bd-article",                                  // PyData theme of Sphinx
	"rst-content",                                 // Read the Docs theme
	"markdown-section",                            // Docsify
	"theme-default-content", "theme-hope-content", // VuePress
	"nextra-content",
	"gh-doc", "book-page", "markdown-body", // GitBook, Hugo Book, GitHub styles
}

// contentRoots returns the elements that hold a page's text, and whether
// they are inside of the page's frame of header, menus and footer.
func contentRoots(root *html.Node) (roots []*html.Node, inner bool) {
	var marked, mains, roleMains, articles, bodies []*html.Node
	byClass := map[string][]*html.Node{}
	articleSet, classSets := nodeSet{}, map[string]nodeSet{}
	var articleBody, contentID *html.Node
	walk(root, func(n *html.Node) bool {
		if n.DataAtom == atom.Template || n.DataAtom == atom.Svg {
			return false
		}
		if hasAttr(n, "data-docs-content") {
			marked = append(marked, n)
			return false
		}
		switch n.DataAtom {
		case atom.Body:
			bodies = append(bodies, n)
		case atom.Main:
			mains = append(mains, n)
		case atom.Article:
			if !within(n, articleSet) {
				articles = append(articles, n)
				articleSet[n] = true
			}
		}
		if attr(n, "role") == "main" {
			roleMains = append(roleMains, n)
		}
		if attr(n, "itemprop") == "articleBody" && articleBody == nil {
			articleBody = n
		}
		switch attr(n, "id") {
		case "content", "main-content", "content-area", "mw-content-text", "docs-content":
			if contentID == nil {
				contentID = n
			}
		}
		for _, c := range classes(n) {
			for _, known := range contentClasses {
				if c != known || within(n, classSets[c]) {
					continue
				}
				if classSets[c] == nil {
					classSets[c] = nodeSet{}
				}
				classSets[c][n] = true
				byClass[c] = append(byClass[c], n)
			}
		}
		return true
	})
	if len(marked) > 0 {
		return marked, true
	}
	if pagefind := findAll(root, func(n *html.Node) bool { return hasAttr(n, "data-pagefind-body") }); len(pagefind) > 0 {
		return pagefind, true
	}
	for _, c := range contentClasses {
		if r := byClass[c]; len(r) > 0 && hasText(r) {
			return r, true
		}
	}
	if articleBody != nil && hasText([]*html.Node{articleBody}) {
		return []*html.Node{articleBody}, true
	}
	if len(articles) == 1 && hasText(articles) {
		// One article is the page, unless the page's heading stands outside:
		// then it may be a card or a teaser.
		if h1 := findHeading(root); h1 == nil || within(h1, articleSet) {
			return articles, true
		}
	}
	for _, c := range [][]*html.Node{mains, roleMains} {
		if len(c) > 0 && hasText(c[:1]) {
			return outermost(c), true
		}
	}
	if contentID != nil && hasText([]*html.Node{contentID}) {
		return []*html.Node{contentID}, true
	}
	if len(articles) > 1 && hasText(articles) && findHeading(root) == nil {
		return articles, true
	}
	if len(bodies) > 0 {
		return bodies[:1], false
	}
	return []*html.Node{root}, false
}

func outermost(nodes []*html.Node) []*html.Node {
	var out []*html.Node
	known := nodeSet{}
	for _, n := range nodes {
		if !within(n, known) {
			out = append(out, n)
			known[n] = true
		}
	}
	return out
}

type nodeSet map[*html.Node]bool

// within reports whether n is below one of the nodes.
func within(n *html.Node, of nodeSet) bool {
	if len(of) == 0 {
		return false
	}
	for p := n.Parent; p != nil; p = p.Parent {
		if of[p] {
			return true
		}
	}
	return false
}

func findAll(root *html.Node, is func(*html.Node) bool) []*html.Node {
	var out []*html.Node
	walk(root, func(n *html.Node) bool {
		if is(n) {
			out = append(out, n)
			return false
		}
		return true
	})
	return out
}

func hasText(nodes []*html.Node) bool {
	return slices.ContainsFunc(nodes, textBelow)
}

func textBelow(n *html.Node) bool {
	switch n.Type {
	case html.TextNode:
		return strings.TrimSpace(n.Data) != ""
	case html.ElementNode:
		if skippedTags[n.DataAtom] {
			return false
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if textBelow(c) {
			return true
		}
	}
	return false
}

func isHeading(n *html.Node) bool { return headingLevel(n) > 0 }

func headingLevel(n *html.Node) int {
	if n.Type == html.ElementNode && len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
		return int(n.Data[1] - '0')
	}
	return 0
}

func holdsHeading(n *html.Node) bool {
	return len(findAll(n, isHeading)) > 0
}

// findHeading is the page's h1 where it stands outside of the content: in
// main's header rather than in the site's.
func findHeading(root *html.Node) *html.Node {
	var found *html.Node
	score := -1
	for _, n := range findAll(root, func(n *html.Node) bool { return n.DataAtom == atom.H1 }) {
		s := 1
		for p := n.Parent; p != nil; p = p.Parent {
			switch p.DataAtom {
			case atom.Main, atom.Article:
				s = 2
			case atom.Nav, atom.Aside, atom.Footer, atom.Dialog, atom.Template:
				s = -9
			case atom.Header:
				if s == 1 {
					s = 0
				}
			}
		}
		if s > score && headingText(n) != "" {
			found, score = n, s
		}
	}
	return found
}

var skippedTags = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Svg: true,
	atom.Iframe: true, atom.Nav: true, atom.Select: true, atom.Input: true, atom.Textarea: true,
	atom.Head: true, atom.Object: true, atom.Embed: true, atom.Audio: true, atom.Canvas: true,
	atom.Map: true, atom.Dialog: true, atom.Title: true, atom.Datalist: true, atom.Progress: true, atom.Meter: true,
}

var skippedRoles = set("navigation search contentinfo dialog alertdialog menu menubar toolbar")

// skippedClasses are on parts of a page that are no part of its text.
var skippedClasses = set(`
	headerlink header-anchor hash-link anchor-link anchorjs-link heading-anchor heading-link td-heading-self-link anchor-heading sl-anchor-link
	toc table-of-contents tableofcontents td-toc md-sidebar md-nav sidebar-toc page-toc bd-toc-item bd-sidebar-secondary toctree-sidebar
	on-this-page contents-sidebar right-sidebar vpdocasideoutline vplocalnav sphinxsidebar sphinxsidebarwrapper related related-pages
	theme-doc-toc-mobile theme-doc-toc-desktop theme-doc-footer theme-doc-version-badge theme-doc-version-banner theme-doc-breadcrumbs
	breadcrumb breadcrumbs nextra-breadcrumb nextra-toc md-path wy-breadcrumbs td-breadcrumbs bd-breadcrumbs breadcrumbs-container
	pagination pagination-nav pagination-links pager prev-next prev-next-footer prev-next-area rst-footer-buttons page-nav vpdocfooter
	nav-chapters nav-wrapper nav-wide-wrapper mobile-nav-chapters md-footer footer-nav bottom-of-page
	edit-link edit-page edit-this-page theme-edit-this-page td-page-meta md-content__button md-source-file last-updated last-update theme-last-updated page-meta
	feedback feedback--rating feedback--title feedback--answer md-feedback page-feedback td-feedback was-this-helpful
	search searchbox search-form docsearch docsearch-button md-search wy-side-nav-search wy-nav-side
	cookie-banner cookie-consent cookieconsent cookie-notice cc-window cookies gdpr
	skip-link skip-to-content skiptocontent skiplink sl-skip-link md-skip
	sr-only visually-hidden screen-reader-text visuallyhidden
	copybtn copy-button copy-btn copy clipboard md-clipboard
	contributors giscus utterances disqus comments ethical-ad adsbygoogle carbonads
	rst-versions version-switcher version-selector language-switcher md-version
	katex-html mjx-assistive-mml`)

// skippedFragments are parts of such classes that generators extend.
var skippedFragments = []string{
	"tableofcontents", "edit-this-page", "editthispage", "cookie-consent", "cookie-banner", "cookieconsent",
	"taxonomy-terms", "docsearch", "hash-link", "breadcrumbs_", "lastupdated", "tocmobile", "page-meta", "version-banner",
}

// asideWords are in the classes of asides that are notes in the text.
var asideWords = []string{"admonition", "callout", "aside", "note", "tip", "warning", "caution", "danger", "info", "alert", "hint", "important"}

// skips reports whether n is no part of the page's text.
func (w *htmlWalker) skips(n *html.Node) bool {
	if skippedTags[n.DataAtom] {
		return true
	}
	if !w.page {
		// HTML within Markdown was written by the page's author: only what
		// readers never see is left out.
		return hidden(n)
	}
	switch n.DataAtom {
	case atom.Footer:
		return !holdsHeading(n)
	case atom.Header:
		if w.bodyRoot && len(findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.H1 })) == 0 {
			return true
		}
	case atom.Aside:
		class := strings.ToLower(attr(n, "class")) + " " + attr(n, "role")
		noted := attr(n, "role") == "note"
		for _, word := range asideWords {
			noted = noted || strings.Contains(class, word)
		}
		if !noted || strings.Contains(class, "sidebar") {
			return true
		}
	case atom.Button:
		if attr(n, "role") != "tab" && !inSummary(n) {
			return true
		}
	case atom.Form:
		if role := attr(n, "role"); role == "search" || len(findAll(n, func(n *html.Node) bool {
			return n.DataAtom == atom.Input && (attr(n, "type") == "search" || attr(n, "name") == "q")
		})) > 0 {
			return true
		}
	}
	if skippedRoles[attr(n, "role")] || attr(n, "role") == "banner" && w.bodyRoot {
		return true
	}
	if hasClass(n, "pageinfo") && archivedVersion.MatchString(textOf(n)) {
		return true
	}
	if n.DataAtom == atom.Span && n.Parent != nil && hasClass(n, "lang") && classLanguage(n.Parent) != "" {
		return true // VitePress's label on a code block
	}
	if hasAttr(n, "data-docs-ignore") || hasAttr(n, "data-pagefind-ignore") || hasAttr(n, "data-docsearch-ignore") {
		return true
	}
	if hidden(n) {
		return true
	}
	if label := attr(n, "aria-label"); label != "" && n.DataAtom != atom.A {
		switch strings.ToLower(label) {
		case "breadcrumb", "breadcrumbs", "table of contents", "on this page", "pagination", "pager", "cookie consent":
			return true
		}
	}
	if skippedClasses[strings.ToLower(attr(n, "id"))] && !isHeading(n) && n.DataAtom != atom.Section && n.DataAtom != atom.Article {
		return true
	}
	if isHeading(n) || n.DataAtom == atom.Section || n.DataAtom == atom.Body {
		return false // "comments" and the like as topics
	}
	for _, c := range classes(n) {
		c = strings.ToLower(c)
		if skippedClasses[c] {
			return true
		}
		for _, f := range skippedFragments {
			if strings.Contains(c, f) {
				return true
			}
		}
		if c == "d-none" && !strings.Contains(attr(n, "class"), "-block") && !strings.Contains(attr(n, "class"), "-flex") {
			return true
		}
	}
	return false
}

func inSummary(n *html.Node) bool {
	for p := n.Parent; p != nil; p = p.Parent {
		if isHeading(p) || p.DataAtom == atom.Summary || p.DataAtom == atom.Dt {
			return true
		}
	}
	return false
}

// hidden reports whether readers never see n. The panels of tabs are hidden
// until they are chosen, so they count as seen.
func hidden(n *html.Node) bool {
	if len(n.Attr) == 0 {
		return false
	}
	gone := false
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			gone = gone || a.Val != "until-found"
		case "aria-hidden":
			gone = gone || a.Val == "true" && n.DataAtom != atom.Pre && n.DataAtom != atom.Code
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			gone = gone || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
		}
	}
	if !gone {
		return false
	}
	if attr(n, "role") == "tabpanel" {
		return false
	}
	for _, c := range classes(n) {
		c = strings.ToLower(c)
		if strings.Contains(c, "tab") && (strings.Contains(c, "pane") || strings.Contains(c, "content") || strings.Contains(c, "panel")) {
			return false
		}
	}
	return true
}

// breadcrumbTrail reads the titles above the page: JSON-LD, else the page's
// own breadcrumb navigation. The page's title and "Home" are left out.
func breadcrumbTrail(root *html.Node, h head, title string) []string {
	trail := h.breadcrumbs
	if trail == nil {
		navs := findAll(root, func(n *html.Node) bool {
			if label := strings.ToLower(attr(n, "aria-label")); strings.HasPrefix(label, "breadcrumb") || strings.HasPrefix(label, "page navigation") && hasClass(n, "wy-breadcrumbs") {
				return true
			}
			return hasClass(n, "breadcrumb") || hasClass(n, "breadcrumbs") || hasClass(n, "md-path") || hasClass(n, "wy-breadcrumbs")
		})
		for _, nav := range navs {
			if trail = trailOf(nav); len(trail) > 0 {
				break
			}
		}
	}
	var out []string
	for i, t := range trail {
		if i == len(trail)-1 && strings.EqualFold(t, title) {
			continue
		}
		if i == 0 && (strings.EqualFold(t, "home") || strings.EqualFold(t, "docs home")) {
			continue
		}
		out = append(out, t)
	}
	return tidyList(out)
}

func hasClass(n *html.Node, class string) bool {
	for _, c := range classes(n) {
		if strings.EqualFold(c, class) {
			return true
		}
	}
	return false
}

func trailOf(nav *html.Node) []string {
	items := findAll(nav, func(n *html.Node) bool { return n.DataAtom == atom.Li })
	if len(items) == 0 {
		items = findAll(nav, func(n *html.Node) bool { return n.DataAtom == atom.A })
	}
	var out []string
	for _, n := range items {
		if hasClass(n, "wy-breadcrumbs-aside") || hidden(n) {
			continue
		}
		t := strings.Trim(textOf(n), " /›»>→·|")
		if t == "" || strings.Contains(strings.ToLower(t), "edit on ") {
			continue
		}
		out = append(out, t)
	}
	return out
}

// archivedVersion is Docsy's banner on every page of an old version.
var archivedVersion = regexp.MustCompile(`^Version (\S+) of the documentation is no longer actively maintained`)

// oldWords say in a version's banner that nobody keeps it any more.
var oldWords = []string{
	"no longer", "unmaintained", "not maintained", "outdated", "out of date", "old version", "older version",
	"deprecated", "end of life", "end-of-life", "archived", "not the latest", "unsupported",
}

// deprecatedBanner reports whether a banner of the page says that it belongs
// to a version nobody maintains.
func deprecatedBanner(root *html.Node) bool {
	old := false
	walk(root, func(n *html.Node) bool {
		if old || skippedTags[n.DataAtom] {
			return false
		}
		label := strings.ToLower(attr(n, "class") + " " + attr(n, "id"))
		if !strings.Contains(label, "version-banner") && !strings.Contains(label, "version-warning") &&
			!strings.Contains(label, "versionbanner") && !strings.Contains(label, "deprecated-banner") &&
			!strings.Contains(label, "outdated") && !hasClass(n, "pageinfo") && !strings.Contains(label, "deprecation-warning") {
			return true
		}
		if hiddenUpwards(n) {
			return false
		}
		text := strings.ToLower(textOf(n))
		for _, word := range oldWords {
			old = old || strings.Contains(text, word)
		}
		return false
	})
	return old
}

func hiddenUpwards(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && hidden(n) {
			return true
		}
	}
	return false
}
