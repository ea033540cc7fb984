package dashboard

import (
	"errors"
	"net/http"
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

type contentData struct {
	Ready    bool
	Pages    []Page
	Total    int // of the filter
	States   map[string]int
	State    string
	Find     string
	Problems []retrieval.Problem
	More     int // of Problems
	Pager    pager
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
	data := contentData{States: map[string]int{}, State: query.Get("state"), Find: strings.TrimSpace(query.Get("find"))}
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
		data.States[p.State]++
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
		return listed(data.Pages).export(q, "pages", pageColumns)
	}
	data.Total = len(data.Pages)
	if data.Pages, data.Pager, err = listed(data.Pages).page(q); err != nil {
		return err
	}
	return q.render(http.StatusOK, "content", "Content", data)
}
