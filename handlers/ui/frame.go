package ui

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// frameFor is how long a frame is kept.
const frameFor = 10 * time.Minute

// frame is a page of a site without its own content: the header, navigation and
// footer that all its pages have. Title and content go between its parts. Scripts
// that the page loads are left out: those of a site that is one program would
// replace what they don't know. Those in the page itself stay; they choose the
// dark theme.
type frame struct {
	toTitle, toContent, end []byte
}

// frames are those of sites, by name. Only the newest of each is kept.
type frames struct {
	mu    sync.Mutex
	known map[string]knownFrame
}

type knownFrame struct {
	*frame // nil: the site has no page for it
	view   *reach.View
	until  time.Time
}

// of returns the frame of a site, nil if it has none. While one request finds it
// out, the others get the last one.
func (f *frames) of(ctx context.Context, live *site.Site) *frame {
	view, now := live.Reach.View(), time.Now()
	f.mu.Lock()
	k, ok := f.known[live.Name]
	fresh := ok && k.view == view && now.Before(k.until)
	if !fresh {
		f.known[live.Name] = knownFrame{k.frame, view, now.Add(frameFor)}
	}
	f.mu.Unlock()
	if fresh {
		return k.frame
	}
	var made *frame
	for _, path := range []string{root(live) + "/404.html", ""} {
		if made == nil {
			made = newFrame(live.Reach.Shown(context.WithoutCancel(ctx), path))
		}
	}
	f.mu.Lock()
	f.known[live.Name] = knownFrame{made, view, now.Add(frameFor)}
	f.mu.Unlock()
	return made
}

// cut is a part of a page that is left out, for what is put there.
type cut struct {
	from, to int
	put      string
}

// here is what marks the link to the page itself.
var here = regexp.MustCompile(`\saria-current=("[^"]*"|'[^']*'|[^\s>]+)`)

// newFrame makes a frame of a page at a path, nil if the page doesn't say where its
// content is: in its only article, else in its only main element. Elements of which
// all links lead to sections of the page or to the pages beside it are left out.
func newFrame(page []byte, path string) *frame {
	type nav struct { // an element with links
		element string
		from    int
		within  int // elements of the same name that are open in it
		links   int
		away    bool // one leads away from the page
	}
	var cuts []cut
	var mains, articles []cut
	head, title := 0, cut{}
	base := `<base href="` + html.EscapeString(path) + `">`
	z, at := html.NewTokenizer(bytes.NewReader(page)), 0
	open := map[string][]int{}   // places of contents, by element
	contents := map[int]*[]cut{} // what they are of
	skipped := 0                 // the beginning of a script that is left out
	var navs []nav               // that are open
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		from := at
		at += len(z.Raw())
		t := z.Token()
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			switch {
			case t.Data == "head" && head == 0:
				head = at
			case t.Data == "base" && attribute(t, "href") != "":
				base = "" // the page has its own
			case t.Data == "title" && title.to == 0:
				title.from = at
			case t.Data == "link" && leftOut(attribute(t, "rel")), t.Data == "meta" && leftOut(attribute(t, "name")+attribute(t, "property")):
				cuts = append(cuts, cut{from: from, to: at})
			case t.Data == "script":
				skipped = -1
				if attribute(t, "src") != "" || strings.EqualFold(attribute(t, "type"), "module") {
					skipped = from
				}
			}
			if href := attribute(t, "href"); t.Data == "a" && href != "" {
				for i := range navs {
					navs[i].links++
					navs[i].away = navs[i].away || href[0] != '#' && !leftOut(attribute(t, "rel"))
				}
			}
			if kind == html.SelfClosingTagToken {
				break
			}
			switch n := len(navs) - 1; {
			case t.Data == "nav" || t.Data == "aside" || attribute(t, "role") == "navigation":
				navs = append(navs, nav{element: t.Data, from: from})
			case n >= 0 && navs[n].element == t.Data:
				navs[n].within++
			}
			switch {
			case t.Data == "main" || attribute(t, "role") == "main":
				contents[at] = &mains
			case t.Data == "article":
				contents[at] = &articles
			}
			if contents[at] != nil || len(open[t.Data]) > 0 {
				open[t.Data] = append(open[t.Data], at)
			}
		case html.EndTagToken:
			switch {
			case t.Data == "title" && title.from > 0 && title.to == 0:
				title.to = from
			case t.Data == "script" && skipped >= 0:
				cuts = append(cuts, cut{from: skipped, to: at})
			}
			switch n := len(navs) - 1; {
			case n < 0 || navs[n].element != t.Data:
			case navs[n].within > 0:
				navs[n].within--
			default:
				if navs[n].links > 0 && !navs[n].away {
					cuts = append(cuts, cut{from: navs[n].from, to: at})
				}
				navs = navs[:n]
			}
			if n := len(open[t.Data]); n > 0 {
				begun := open[t.Data][n-1]
				open[t.Data] = open[t.Data][:n-1]
				if list := contents[begun]; list != nil {
					*list = append(*list, cut{from: begun, to: from})
				}
			}
		}
	}
	content := mains
	if len(articles) == 1 {
		content = articles
	}
	if len(content) != 1 || head == 0 || title.to == 0 || title.from > content[0].from {
		return nil
	}
	cuts = append(cuts, cut{head, head, base + `<meta name="robots" content="noindex">`})
	for _, at := range here.FindAllIndex(page, -1) {
		cuts = append(cuts, cut{from: at[0], to: at[1]})
	}
	slices.SortFunc(cuts, func(a, b cut) int { return a.from - b.from })
	return &frame{
		without(page, 0, title.from, cuts), without(page, title.to, content[0].from, cuts), without(page, content[0].to, len(page), cuts),
	}
}

// leftOut reports whether a link or meta element is about the page itself, or
// loads a script.
func leftOut(name string) bool {
	switch first, _, _ := strings.Cut(strings.ToLower(name), ":"); first {
	case "canonical", "alternate", "next", "prev", "modulepreload", "preload", "prefetch", "edit", "robots", "description", "keywords", "og", "twitter", "article":
		return true
	}
	return false
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// without is a part of a page without cuts.
func without(page []byte, from, to int, cuts []cut) (out []byte) {
	for _, c := range cuts { // one may be within another
		if c.from >= from && c.to <= to {
			out = append(append(out, page[from:c.from]...), c.put...)
			from = c.to
		}
	}
	return append(out, page[from:to]...)
}

// withList puts a list into a page of the site's own: at the end of its main
// element, else of its body; nil if it has neither.
func withList(page, list []byte) []byte {
	at, depth, end := -1, 0, 0
	z := html.NewTokenizer(bytes.NewReader(page))
	for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
		from := end
		end += len(z.Raw())
		name, _ := z.TagName()
		switch {
		case string(name) == "main" && kind == html.StartTagToken:
			depth++
		case string(name) == "main" && kind == html.EndTagToken && depth > 0, string(name) == "body" && kind == html.EndTagToken && at < 0:
			at = from
		}
	}
	if at < 0 {
		return nil
	}
	return slices.Concat(page[:at], list, page[at:])
}
