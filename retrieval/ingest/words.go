package ingest

import (
	"strings"

	"golang.org/x/net/html"
)

// words is a set of names: of elements, classes, attributes, parts of paths.
type words uint64

const (
	skippedTags words = 1 << iota // hold no text of the page
	blockTags                     // separate their text from what comes before and after
	headingTags
	sectionTags
	writtenTags // are written as special blocks in Markdown

	skippedRoles
	skippedClasses // are on elements that are not the page's text
	breadcrumbClasses
	leadingRelations // of links that lead through a manual
	noteClasses
	notes // kinds of notes, as GitHub knows them
	tips
	warnings
	cautions
	lineNumberClasses
	plainLanguages // say that code has no language
	contentIDs

	readerAttributes // hold words that readers see, in any component
	inlineTags       // are within text even if they begin a line
	silentTags       // show none of their attributes
	opaqueTags       // hold no text, in MDX
	voidTags         // have no end
	linkShortcodes   // give the URL of a page that they name
	titledShortcodes // show their first argument
	noteComponents   // notes by their name
	notesByAttribute
	fieldTags

	movingVersions // always name a version
	maybeVersions  // also topics (Next.js, dev tools), so they count only below a language or "docs"
	unreleased
	docsSegments
	// knownLanguages are the ISO 639-1 codes of the languages into which
	// documentation is translated. Rare codes (os, ml, ts, io) mostly name topics.
	knownLanguages
	// ambiguousLanguages are also words or short names of topics. They count only
	// if the configuration names them.
	ambiguousLanguages
	changelogNames
	blogNames
	sourceExtensions // of pages that list a file of source code
	machineFolders   // assets, sources and partials of generators
	assetExtensions
)

// sets maps each name to the sets that contain it.
var sets = func() map[string]words {
	m := map[string]words{}
	for set, names := range map[words]string{
		skippedTags: `script style template noscript svg iframe nav select input textarea head object embed audio canvas
			map dialog title datalist progress meter`,
		blockTags: `address article aside blockquote body center details div fieldset figcaption figure footer form header
			hgroup hr html legend main p section summary caption video option label`,
		sectionTags: "section header hgroup",
		headingTags: "h1 h2 h3 h4 h5 h6",
		writtenTags: "ul ol menu li dl dt dd table tr pre thead tbody td th h1 h2 h3 h4 h5 h6",

		skippedRoles: "navigation search contentinfo dialog alertdialog menu menubar toolbar doc-toc doc-noteref doc-backlink",
		skippedClasses: `
			headerlink header-anchor hash-link anchor-link anchorjs-link heading-anchor heading-link td-heading-self-link anchor-heading sl-anchor-link
			toc table-of-contents tableofcontents td-toc md-sidebar md-nav sidebar-toc page-toc bd-toc-item bd-sidebar-secondary toctree-sidebar
			on-this-page contents-sidebar right-sidebar vpdocasideoutline vplocalnav sphinxsidebar sphinxsidebarwrapper related related-pages
			theme-doc-toc-mobile theme-doc-toc-desktop theme-doc-footer theme-doc-version-badge theme-doc-version-banner theme-doc-breadcrumbs
			breadcrumb breadcrumbs nextra-breadcrumb nextra-toc md-path wy-breadcrumbs td-breadcrumbs bd-breadcrumbs breadcrumbs-container
			pagination pagination-nav pagination-links pager prev-next prev-next-footer prev-next-area rst-footer-buttons page-nav vpdocfooter
			nav-chapters nav-wrapper nav-wide-wrapper mobile-nav-chapters md-footer footer-nav bottom-of-page
			edit-link edit-page edit-this-page theme-edit-this-page
			td-page-meta md-content__button md-source-file last-updated last-update theme-last-updated page-meta
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
			markdown-toc wy-breadcrumbs-aside md-tags md-post__meta md-post__action post-meta entry-meta article-meta`,
		breadcrumbClasses: "breadcrumb breadcrumbs md-path wy-breadcrumbs",
		leadingRelations:  "start contents index prev previous next up top",
		noteClasses: `admonition theme-admonition custom-block hint-container custom-container starlight-aside markdown-alert alert callout
			nextra-callout admonitionblock`,
		notes:    "note info information seealso abstract question example primary secondary versionadded versionchanged quote todo default",
		tips:     "tip hint success check",
		warnings: "warning warn attention deprecated",
		cautions: "caution danger error failure bug fail",
		lineNumberClasses: `linenos lineno linenumber line-number line-numbers line-numbers-rows line-numbers-wrapper ln lnt gl gutter
			ansi-line-number`,
		plainLanguages: "default none text plaintext plain txt notranslate nohighlight no-highlight fallback",
		contentIDs:     "content main-content content-area mw-content-text docs-content",

		readerAttributes: `title label heading header headline summary caption alt description desc tip placeholder subtitle tagline text
			question answer cta content-title tooltip body-text`,
		inlineTags: `a abbr b bdi bdo cite code del em i img ins kbd mark q s samp small span strong sub sup u var time
			Badge Icon Tooltip Kbd Link A Image Img Latex Math Term Trans T`,
		silentTags:     "Icon input meta link Script Head base source track path circle rect g line polygon br hr wbr col",
		opaqueTags:     "script style svg Script Style iframe noscript",
		voidTags:       "br hr img input meta link base source track col wbr area embed",
		linkShortcodes: "ref relref link absref",
		titledShortcodes: `tab tabitem details expand accordion card button heading admonition alert callout hint note tip warning caution
			info danger step badge glossary_tooltip glossary term kbd collapse disclosure`,
		noteComponents:   "Note Tip Info Warning Caution Danger Important Check Error",
		notesByAttribute: "Callout Admonition Aside Alert Hint",
		fieldTags:        "Param Property Parameter Attribute",

		movingVersions: "latest stable nightly",
		maybeVersions:  "next main master dev devel edge canary unreleased current",
		unreleased:     "next main master dev devel edge canary unreleased nightly",
		docsSegments:   "docs doc documentation",
		knownLanguages: `en de fr es it pt ru zh ja ko nl pl tr vi id th ar he fa uk cs sv da fi nb no hu el ro bg hr sk sl sr lt lv et hi
			bn ta te ur ms ca eu gl`,
		ambiguousLanguages: "id vi ms no it cs hr sl et ta te ca",
		changelogNames: `changelog changelogs change-log change_log changes release-notes release_notes releasenotes releases whatsnew
			whats-new what-s-new whats_new history`,
		sourceExtensions: ".rs .py .js .ts .go .c .cc .cpp .h .hpp .java .rb .php .hs .ml",
		blogNames:        "blog blogs news post posts weblog announcements",
		machineFolders: `node_modules _static _sources _modules _images _includes _layouts _data _sass _next _nuxt _astro _app _partials
			_snippets`,
		assetExtensions: `.png .jpg .jpeg .gif .svg .webp .avif .ico .css .js .mjs .json .xml .txt .pdf .zip .gz .tgz .mp4 .webm .woff2
			.yaml .yml .toml .csv .whl .go .py`,
	} {
		for name := range strings.FieldsSeq(names) {
			m[name] |= set
		}
	}
	return m
}()

func (w words) has(name string) bool { return sets[name]&w != 0 }

// tag reports whether n is an element of one of the names.
func (w words) tag(n *html.Node) bool { return n.Type == html.ElementNode && w.has(n.Data) }

// class reports whether one of n's classes is in a set.
func (w words) class(n *html.Node) bool {
	for c := range strings.FieldsSeq(attr(n, "class")) {
		if w.has(strings.ToLower(c)) {
			return true
		}
	}
	return false
}
