// Package links finds the links of a site's pages that lead nowhere: to pages
// and sections that don't exist. What the pages don't show it asks the site
// for, and what the site doesn't answer counts as not checked, never as broken.
package links

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Answer is what a site has at a path.
type Answer int

// The answers of a site.
const (
	Unknown Answer = iota // none, or a refusal
	Absent
	Present
)

// Site is what Check needs of a site.
type Site struct {
	// Pages are those of the index, which may be outlines. Whole returns one of
	// them with its links, nil if it is gone.
	Pages []*retrieval.Document
	Whole func(ctx context.Context, page string) (*retrieval.Document, error)
	// File returns what a page was made from.
	File func(d *retrieval.Document) ([]byte, error)
	// Resolve returns the URL that a link on a page leads to, with the page and
	// the anchor there; ok is false for links to anything but pages of the site.
	Resolve func(d *retrieval.Document, href string) (u *url.URL, page, anchor string, ok bool)
	// URL is where a page is served.
	URL func(d *retrieval.Document) string
	// Ask requests a path as a stranger would, and calls use, if not nil, with
	// the response of a path that is there.
	Ask func(ctx context.Context, path string, use func(html bool, body []byte)) Answer
}

// Broken is a link that leads nowhere.
type Broken struct {
	// Page is the URL of the page with the link, File its file, and Line where in
	// the file the link is, 0 if it is not written there.
	Page string `json:"page"`
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Href is the link as it is written, Target the path that it leads to.
	Href   string `json:"href"`
	Target string `json:"target"`
	// Section is true if the page exists, and only the section doesn't.
	Section bool `json:"section,omitempty"`
	// Names are those of the page with the link and of the page that it leads to,
	// as Document.Page has them.
	Name, To string `json:"-"`
}

// Where is the file and the line of a link.
func (b *Broken) Where() string {
	if b.Line == 0 {
		return b.File
	}
	return fmt.Sprintf("%s:%d", b.File, b.Line)
}

// What says what is missing.
func (b *Broken) What() string {
	if b.Section {
		return "there is no such section on the page"
	}
	return "there is no such page"
}

// Report is what Check found.
type Report struct {
	// Pages are how many pages were read, Links how many links to the site's own
	// pages they have.
	Pages int `json:"pages"`
	Links int `json:"links"`
	// Broken are the links that lead nowhere, at most MaxBroken; More are not
	// listed: others, and those of further pages to the same target.
	Broken []Broken `json:"broken"`
	More   int      `json:"more,omitempty"`
	// NotChecked is how many targets the site gave no clear answer for.
	NotChecked int `json:"not_checked,omitempty"`
}

const (
	// MaxBroken is how many broken links a Report lists, and maxSources how many
	// pages with links to the same target.
	MaxBroken  = 1000
	maxSources = 20
	// maxTargets bounds what is looked for: targets that the index doesn't have.
	maxTargets = 50_000
	// maxAsked is how many requests are made.
	maxAsked = 2000
)

// target is what links lead to.
type target struct{ page, anchor string }

// sources are the pages with links to a target: the first ones, and how many
// links there are in all.
type sources struct {
	pages  []*retrieval.Document
	links  int
	listed int
	state  Answer
	// unknown is true if a request for the page got no clear answer.
	unknown bool
}

type check struct {
	Site
	pages   map[string]*retrieval.Document
	targets map[target]*sources // that the index doesn't have
	asked   map[string]Answer
	report  *Report
}

// Check finds the broken links of a site.
func Check(ctx context.Context, s Site) (*Report, error) {
	c := &check{Site: s, pages: make(map[string]*retrieval.Document, len(s.Pages)), targets: map[target]*sources{}, asked: map[string]Answer{}, report: &Report{Broken: []Broken{}}}
	for _, d := range s.Pages {
		c.pages[d.Page] = d
	}
	if err := c.collect(ctx); err != nil {
		return nil, err
	}
	anchors, from := map[string][]target{}, map[*retrieval.Document][]target{}
	for t, in := range c.targets {
		if c.pages[t.page] != nil {
			anchors[t.page] = append(anchors[t.page], t)
		} else {
			in.state = Absent // from the index
		}
	}
	for page, targets := range anchors {
		if c.sections(ctx, c.pages[page], targets); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	for t, in := range c.targets {
		if in.state == Unknown {
			c.report.NotChecked++
		}
		for _, d := range in.pages {
			if in.state == Absent {
				from[d] = append(from[d], t)
			}
		}
	}
	for _, d := range c.Pages {
		if c.locate(ctx, d, from[d]); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	for _, in := range c.targets {
		if in.listed > 0 {
			c.report.More += max(0, in.links-in.listed)
		} else if in.unknown {
			c.report.NotChecked++
		}
	}
	slices.SortStableFunc(c.report.Broken, func(a, b Broken) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Href, b.Href))
	})
	return c.report, nil
}

// collect collects the targets of the site's links that the index doesn't have.
func (c *check) collect(ctx context.Context) error {
	for _, d := range c.Pages {
		whole, err := c.Whole(ctx, d.Page)
		if err != nil {
			return err
		}
		if whole == nil {
			continue
		}
		c.report.Pages++
		c.report.Links += len(whole.Links)
		for _, l := range whole.Links {
			t := target{l.Page, l.Anchor}
			to := c.pages[t.page]
			if to != nil && (isInert(t.anchor) || slices.ContainsFunc(to.Sections, func(s retrieval.Section) bool { return s.Anchor == t.anchor })) {
				continue
			}
			if to == nil {
				t.anchor = ""
			}
			in := c.targets[t]
			if in == nil {
				if len(c.targets) == maxTargets {
					c.report.More++
					continue
				}
				in = &sources{}
				c.targets[t] = in
			}
			if in.links++; len(in.pages) < maxSources && !slices.Contains(in.pages, d) {
				in.pages = append(in.pages, d)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// isInert reports whether an anchor is none of an element: the top of the page,
// a text fragment, or what scripts read.
func isInert(anchor string) bool {
	return anchor == "" || strings.EqualFold(anchor, "top") || strings.ContainsAny(anchor[:1], "/!?") || strings.Contains(anchor, "=") ||
		strings.HasPrefix(anchor, ":~:") || strings.HasPrefix(anchor, "fn") && strings.ContainsAny(anchor, ":-")
}

// sections looks for sections of a page that the index doesn't have: ids of
// other elements than headings.
func (c *check) sections(ctx context.Context, to *retrieval.Document, left []target) {
	without := func(has func(anchor string) bool) {
		left = slices.DeleteFunc(left, func(t target) bool {
			if has(t.anchor) {
				c.targets[t].state = Present
			}
			return c.targets[t].state == Present
		})
	}
	file, err := c.File(to)
	if err != nil {
		file = nil
	}
	markdown := isMarkdown(to)
	if markdown {
		known := markdownIDs(file)
		for i := range to.Sections {
			known[loose(to.Sections[i].Anchor)] = true
		}
		without(func(anchor string) bool {
			name := strings.Trim(anchor, "+#:.") // no slug of a heading: what the generator makes an id of stands somewhere
			return known[loose(anchor)] || strings.ContainsAny(anchor, ".+:/") && bytes.Contains(file, []byte(name))
		})
	} else {
		known := IDs(file)
		without(func(anchor string) bool { return known[anchor] })
	}
	if len(left) == 0 {
		return
	}
	sure := false
	u, err := url.Parse(c.URL(to))
	if err != nil {
		return
	}
	c.Ask(ctx, u.Path, func(html bool, body []byte) {
		if !html {
			sure = markdown && file != nil && !openPattern.Match(file)
			return
		}
		served := IDs(body)
		without(func(anchor string) bool { return served[anchor] || served[url.PathEscape(anchor)] })
		// The HTML of a page that a script makes has none of the page's IDs either.
		own, there := 0, 0
		for i := range to.Sections {
			if a := to.Sections[i].Anchor; a != "" {
				if own++; served[a] {
					there++
				}
			}
		}
		sure = 2*there >= own && len(served) > 0
	})
	for _, t := range left {
		if sure {
			c.targets[t].state = Absent
		}
	}
}

func (c *check) add(b Broken, in *sources) {
	if in.listed++; len(c.report.Broken) == MaxBroken {
		in.listed--
		return
	}
	c.report.Broken = append(c.report.Broken, b)
}

// ask asks for a path once.
func (c *check) ask(ctx context.Context, path string) Answer {
	a, known := c.asked[path]
	if !known && len(c.asked) < maxAsked {
		a = c.Ask(ctx, path, nil)
		c.asked[path] = a
	}
	return a
}

// locate finds a page's links to absent targets in its file, and asks for those
// to pages. A link that is not written there is named by its target.
func (c *check) locate(ctx context.Context, d *retrieval.Document, targets []target) {
	if len(targets) == 0 {
		return
	}
	file, err := c.File(d)
	if err != nil {
		file = nil
	}
	left := map[target]bool{}
	for _, t := range targets {
		left[t] = true
	}
	find := func(t target, line int, href, path string) {
		in := c.targets[t]
		if t.anchor == "" {
			switch c.ask(ctx, path) {
			case Present:
				return
			case Unknown:
				in.unknown = true
				return
			}
		}
		c.add(Broken{Page: c.URL(d), File: d.File, Line: line, Href: href, Target: path, Section: t.anchor != "", Name: d.Page, To: t.page}, in)
	}
	for line, href := range hrefs(d, file) {
		u, page, anchor, ok := c.Resolve(d, href)
		if !ok {
			continue
		}
		t := target{page, anchor}
		if c.pages[page] == nil {
			t.anchor = ""
		}
		if in := c.targets[t]; in == nil || in.state != Absent {
			continue
		}
		delete(left, t)
		if !strings.ContainsAny(href, "{}$") && !c.resolves(d, href) {
			find(t, line, href, u.Path)
		}
	}
	root, err := url.Parse(d.URL)
	if err != nil {
		return
	}
	prefix := strings.TrimSuffix(strings.TrimSuffix(root.Path, "/"), d.Page)
	for t := range left {
		at := path.Join("/", prefix, t.page)
		if href := at; t.anchor != "" {
			find(t, 0, href+"#"+t.anchor, at)
		} else if !strings.ContainsAny(href, "{}$") {
			find(t, 0, href, at)
		}
	}
}

// resolves reports whether a relative link of a Markdown file leads to a page if
// it is read as of the page's URL with a slash at its end: generators disagree.
func (c *check) resolves(d *retrieval.Document, href string) bool {
	if !isMarkdown(d) || strings.HasPrefix(href, "/") || strings.HasPrefix(href, "#") {
		return false
	}
	below := *d
	below.URL = strings.TrimSuffix(d.URL, "/") + "/"
	if d.URL == below.URL { // an index, which some serve without the slash
		below.URL = strings.TrimSuffix(d.URL, "/")
	}
	_, page, _, ok := c.Resolve(&below, href)
	return ok && c.pages[page] != nil
}

func isMarkdown(d *retrieval.Document) bool {
	ext := strings.ToLower(path.Ext(d.File))
	return ext == ".md" || ext == ".mdx"
}
