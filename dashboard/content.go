package dashboard

import (
	"errors"
	"strings"

	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
)

// Page is a page of a site.
type Page struct {
	Name     string `json:"-"` // as the insights have it: its path without slashes around it
	URL      string `json:"url"`
	File     string `json:"file"`
	Title    string `json:"title"`
	Sections int    `json:"sections"`
	// Anchors are those of the sections that have one.
	Anchors  []string `json:"anchors,omitempty"`
	Language string   `json:"language,omitempty"`
	Version  string   `json:"version,omitempty"`
	// Kind is what the page is, "" if it is current documentation.
	Kind string `json:"kind,omitempty"`
	// State is public, locked, not served, duplicate or unknown, and Why the
	// reason for it, if there is one to give.
	State string `json:"state"`
	Why   string `json:"why,omitempty"`
	// Edit is where it is edited, "" if that is not known.
	Edit string `json:"-"`
}

func content(q *request) error {
	if q.invalid != nil {
		return q.invalid
	}
	found, err := q.d.server.Pages(q.Context(), q.Site.Name)
	if err != nil && !errors.Is(err, retrieval.ErrNotReady) {
		return err
	}
	query, index := q.URL.Query(), &q.Site.Index
	data := struct {
		Ready       bool
		Total       int // of the filter
		States      map[string]int
		State, Find string
		Problems    []retrieval.Problem
		Sources     []retrieval.SourceStatus // of a site with several
		More        int                      // of Problems
		Links       []brokenLink
		LinkCount   int
		MoreLinks   int
	}{
		Ready: err == nil, States: map[string]int{}, State: query.Get("state"), Find: strings.TrimSpace(query.Get("find")),
		Problems: index.Problems, Sources: index.Sources, More: index.ProblemCount - len(index.Problems),
	}
	find := strings.ToLower(data.Find)
	var list []Page
	for _, p := range found {
		data.States[p.State]++
		// A locked page is shown by its address: the visitor may not be among
		// its readers.
		if p.State == "locked" && !q.Visitor.Admin {
			p.Title = ""
		}
		if (data.State == "" || p.State == data.State) && (find == "" || strings.Contains(strings.ToLower(p.Title+"\n"+p.URL), find)) {
			p.Edit = q.Site.edit(&p)
			list = append(list, p)
		}
	}
	data.Total = len(list)
	data.Links = q.brokenLinks(found)
	data.LinkCount, data.MoreLinks = len(data.Links), len(data.Links)-linksShown
	data.Links = data.Links[:min(len(data.Links), linksShown)]
	return table[Page]{
		columns: "url title state why sections language version",
		cells:   func(p *Page) []any { return []any{p.URL, p.Title, p.State, p.Why, p.Sections, p.Language, p.Version} },
	}.list(q, "pages", insights.Query{}, listed(list), data)
}

// linksShown is how many broken links the page lists.
const linksShown = 50

// brokenLink is a link that leads nowhere, and where its page is edited.
type brokenLink struct {
	*links.Broken
	Edit string
}

// brokenLinks returns the broken links of a site. Only administrators see those
// of pages that are not public, and those to sections of such pages: the visitor
// may not be among their readers.
func (q *request) brokenLinks(pages []Page) (broken []brokenLink) {
	report := q.d.server.Links(q.Site.Name)
	if report == nil {
		return nil
	}
	byName := make(map[string]*Page, len(pages))
	for i := range pages {
		byName[pages[i].Name] = &pages[i]
	}
	for i := range report.Broken {
		b := &report.Broken[i]
		from, to := byName[b.Name], byName[b.To]
		if from == nil || !q.Visitor.Admin && (from.State != "public" || to != nil && to.State != "public") {
			continue
		}
		broken = append(broken, brokenLink{b, q.Site.edit(from)})
	}
	return broken
}
