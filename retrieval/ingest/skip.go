package ingest

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var skippedTags = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Svg: true,
	atom.Iframe: true, atom.Nav: true, atom.Select: true, atom.Input: true, atom.Textarea: true,
	atom.Head: true, atom.Object: true, atom.Embed: true, atom.Audio: true, atom.Canvas: true,
	atom.Map: true, atom.Dialog: true, atom.Title: true, atom.Datalist: true, atom.Progress: true, atom.Meter: true,
}

var skippedRoles = set("navigation search contentinfo dialog alertdialog menu menubar toolbar doc-toc doc-noteref doc-backlink")

var skippedLabels = []string{"breadcrumb", "breadcrumbs", "table of contents", "on this page", "pagination", "pager", "cookie consent"}

// skippedClasses are on elements that are not the page's text.
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
	katex-html mjx-assistive-mml
	viewcode-link footnote-ref footnote-reference footnote-backref reversefootnote
	markdown-toc md-post__meta md-post__action post-meta entry-meta article-meta`)

// skippedFragments are parts of such classes that generators extend.
var skippedFragments = []string{
	"tableofcontents", "edit-this-page", "editthispage", "cookie-consent", "cookie-banner", "cookieconsent",
	"taxonomy-terms", "docsearch", "hash-link", "breadcrumbs_", "lastupdated", "tocmobile", "page-meta", "version-banner",
}

// noteWords are in the classes of asides that are notes in the text.
var noteWords = []string{"admonition", "callout", "aside", "note", "tip", "warning", "caution", "danger", "info", "alert", "hint", "important"}

// skips reports whether n is not the page's text.
func (w *writer) skips(n *html.Node) bool {
	if w.page && w.isTag(n) || skippedTags[n.DataAtom] || hidden(n) {
		return true
	}
	if !w.page {
		return false // the page's author wrote it
	}
	if len(n.Attr) == 0 {
		return w.skipsTag(n) || isContents(n)
	}
	for _, key := range []string{"data-docs-ignore", "data-footnote-ref", "data-footnote-backref"} {
		if hasAttr(n, key) {
			return true
		}
	}
	if searchIgnores(n) && !inContent(n) {
		return true
	}
	return w.skipsTag(n) || w.skipsRole(n) || skipsClass(n) || isContents(n)
}

// searchIgnores reports whether search should not find n.
func searchIgnores(n *html.Node) bool {
	return hasAttr(n, "data-pagefind-ignore") || hasAttr(n, "data-docsearch-ignore")
}

// ignores reports whether n, which is not skipped, is to be read but not to be
// found, as Starlight's trees of files.
func (w *writer) ignores(n *html.Node) bool { return w.page && searchIgnores(n) }

// inContent reports whether n is in an element that a generator marks as the
// page's text.
func inContent(n *html.Node) bool {
	for n = n.Parent; n != nil; n = n.Parent {
		if slices.ContainsFunc(contentClasses, func(class string) bool { return hasClass(n, class) }) {
			return true
		}
	}
	return false
}

func (w *writer) skipsTag(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Footer:
		return len(findAll(n, isHeading)) == 0
	case atom.Header:
		return w.framed && len(findAll(n, func(n *html.Node) bool { return n.DataAtom == atom.H1 })) == 0
	case atom.Aside:
		class := strings.ToLower(attr(n, "class")) + " " + attr(n, "role")
		noted := slices.ContainsFunc(noteWords, func(word string) bool { return strings.Contains(class, word) })
		return !noted || strings.Contains(class, "sidebar")
	case atom.Button:
		return attr(n, "role") != "tab" && !inSummary(n)
	case atom.Form:
		return len(findAll(n, func(n *html.Node) bool {
			return n.DataAtom == atom.Input && (attr(n, "type") == "search" || attr(n, "name") == "q")
		})) > 0
	case atom.Time: // when the page was published
		title := previousElement(n)
		return title != nil && title.DataAtom == atom.H1
	case atom.P: // Starlight's notes below the title: not translated, a draft
		title := previousElement(n)
		return hasClass(n, "sl-flex") && title != nil && title.DataAtom == atom.H1
	case atom.Span: // VitePress's label on a code block
		return n.Parent != nil && hasClass(n, "lang") && classLanguage(n.Parent) != ""
	}
	return false
}

func (w *writer) skipsRole(n *html.Node) bool {
	role := attr(n, "role")
	return skippedRoles[role] || role == "banner" && w.framed ||
		n.DataAtom != atom.A && slices.Contains(skippedLabels, strings.ToLower(attr(n, "aria-label")))
}

func skipsClass(n *html.Node) bool {
	if isHeading(n) || n.DataAtom == atom.Section || n.DataAtom == atom.Body {
		return false // "comments" and the like as topics
	}
	if skippedClasses[strings.ToLower(attr(n, "id"))] && n.DataAtom != atom.Article {
		return true
	}
	class := strings.ToLower(attr(n, "class"))
	if slices.ContainsFunc(skippedFragments, func(f string) bool { return strings.Contains(class, f) }) || inSet(n, skippedClasses) {
		return true
	}
	return hasClass(n, "d-none") && !strings.Contains(class, "-block") && !strings.Contains(class, "-flex") ||
		hasClass(n, "pageinfo") && archivedVersion.MatchString(textOf(n))
}

var contentsTitles = map[string]bool{
	"contents": true, "table of contents": true, "page contents": true, "on this page": true, "in this article": true,
}

// isContents reports whether n is the heading of a list of links to the
// sections of the page or to the pages below it, or that list.
func isContents(n *html.Node) bool {
	heading, list := n, n
	switch {
	case isHeading(n):
		list = nextElement(n)
	case n.DataAtom == atom.Ul || n.DataAtom == atom.Ol:
		heading = previousElement(n)
	default:
		return false
	}
	return heading != nil && list != nil && isHeading(heading) && (list.DataAtom == atom.Ul || list.DataAtom == atom.Ol) &&
		contentsTitles[strings.ToLower(headingText(heading))] && onlyLinks(list)
}

// onlyLinks reports whether all text below n is in links.
func onlyLinks(n *html.Node) bool {
	if n.Type == html.TextNode {
		return strings.TrimSpace(n.Data) == ""
	}
	if n.DataAtom == atom.A {
		return true
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if !onlyLinks(c) {
			return false
		}
	}
	return true
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
	for _, a := range n.Attr {
		gone := false
		switch a.Key {
		case "hidden":
			gone = a.Val != "until-found"
		case "aria-hidden":
			gone = a.Val == "true" && n.DataAtom != atom.Pre && n.DataAtom != atom.Code
		case "style":
			style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			gone = strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
		}
		if gone {
			return !isTabPanel(n)
		}
	}
	return false
}

func isTabPanel(n *html.Node) bool {
	return attr(n, "role") == "tabpanel" || slices.ContainsFunc(classes(n), func(c string) bool {
		c = strings.ToLower(c)
		return strings.Contains(c, "tab") && (strings.Contains(c, "pane") || strings.Contains(c, "content") || strings.Contains(c, "panel"))
	})
}
