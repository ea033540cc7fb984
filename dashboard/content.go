package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Page is a page of a site.
type Page struct {
	URL, File, Title string
	Sections         int
	Language         string
	Version          string
	// State is public, locked, not served, duplicate or unknown, Why the reason.
	State, Why string
}

// Mood is the color of the state's badge.
func (p Page) Mood() string {
	switch p.State {
	case "public":
		return "good"
	case "not served":
		return "bad"
	case "unknown", "duplicate":
		return ""
	}
	return "warn"
}

// pagesAtOnce is how many pages one page shows.
const pagesAtOnce = 100

type contentData struct {
	Ready    bool
	Pages    []Page
	Total    int // of the filter
	States   []stateCount
	State    string
	Find     string
	Problems []retrieval.Problem
	More     int // of Problems
	Page     int // from 1
	Last     int
}

type stateCount struct {
	State string
	Pages int
}

var pageColumns = []column[Page]{
	{"url", func(p *Page) any { return p.URL }},
	{"title", func(p *Page) any { return p.Title }},
	{"state", func(p *Page) any { return p.State }},
	{"why", func(p *Page) any { return p.Why }},
	{"sections", func(p *Page) any { return p.Sections }},
	{"language", func(p *Page) any { return p.Language }},
	{"version", func(p *Page) any { return p.Version }},
}

// content lists the pages.
func content(q *request) error {
	query := q.URL.Query()
	data := contentData{State: query.Get("state"), Find: strings.TrimSpace(query.Get("find")), Page: 1}
	if data.Page, _ = strconv.Atoi(query.Get("page")); data.Page < 1 {
		data.Page = 1
	}
	file, err := q.exports()
	if err != nil {
		return err
	}
	pages, err := q.d.server.Pages(q.Context(), q.site.Name)
	if err != nil && !errors.Is(err, retrieval.ErrNotReady) {
		return err
	}
	data.Ready = err == nil
	data.Problems = q.site.Index.Problems
	data.More = q.site.Index.ProblemCount - len(data.Problems)
	find := strings.ToLower(data.Find)
	for _, p := range pages {
		i := slices.IndexFunc(data.States, func(c stateCount) bool { return c.State == p.State })
		if i < 0 {
			i = len(data.States)
			data.States = append(data.States, stateCount{State: p.State})
		}
		data.States[i].Pages++
		// A locked page is shown by its address: the visitor may not be among
		// its readers.
		if p.State == "locked" && !q.visitor.Admin {
			p.Title = ""
		}
		if (data.State == "" || p.State == data.State) && (find == "" || strings.Contains(strings.ToLower(p.Title+"\n"+p.URL), find)) {
			data.Pages = append(data.Pages, p)
		}
	}
	if file {
		return export(q, "pages", pageColumns, all(data.Pages))
	}
	data.Total = len(data.Pages)
	data.Last = max(1, (data.Total+pagesAtOnce-1)/pagesAtOnce)
	data.Page = min(data.Page, data.Last)
	data.Pages = data.Pages[(data.Page-1)*pagesAtOnce : min(data.Total, data.Page*pagesAtOnce)]
	return q.render(http.StatusOK, "content", "Content", data)
}
