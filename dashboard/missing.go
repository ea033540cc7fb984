package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// missingPage is an address without a page.
type missingPage struct {
	insights.MissingPage
	// Was is the page that was there, nil for none.
	Was *moved.Former
	// Links are the links to it on the site's own pages, as far as they are known.
	Links []brokenLink
}

// missing lists the addresses that are asked for and have no page.
func missing(q *request) error {
	query := insights.Query{Period: q.period(), State: q.state()}
	store, err := q.insights()
	if err != nil {
		return err
	}
	pages, err := q.d.server.Pages(q.Context(), q.Site.Name)
	if err != nil && !errors.Is(err, retrieval.ErrNotReady) {
		return err
	}
	links := map[string][]brokenLink{}
	for _, l := range q.brokenLinks(pages) {
		if !l.Section {
			to := strings.Trim(l.Target, "/")
			links[to] = append(links[to], l)
		}
	}
	public := map[string]bool{}
	for i := range pages {
		public[pages[i].Name] = pages[i].State == "public"
	}
	read := func(ctx context.Context, in insights.Scope, query insights.Query) (all []missingPage, err error) {
		found, err := store.Missing(ctx, in, query)
		for i := range found {
			m := missingPage{found[i], q.d.server.Former(q.Site.Name, found[i].Path), links[strings.Trim(found[i].Path, "/")]}
			q.hideLocked(&m, public)
			all = append(all, m)
		}
		return all, err
	}
	return table[missingPage]{
		columns: "path requests people agents redirected from links title to share redirect last state note",
		cells: func(m *missingPage) []any {
			var links []string
			for _, l := range m.Links {
				links = append(links, l.Where())
			}
			was := cmp.Or(m.Was, new(moved.Former))
			return []any{
				m.Path, m.Requests, m.People, counted(m.Agents), m.Redirected, counted(m.From), links,
				was.Title, cmp.Or(was.To, m.To), was.Share, was.Redirect, when(m.Last), m.State, m.Note,
			}
		},
	}.list(q, "missing", query, read, query)
}

// hideLocked removes what only administrators see: pages that are not known to
// be public. The visitor may not be among their readers.
func (q *request) hideLocked(m *missingPage, public map[string]bool) {
	if q.Visitor.Admin {
		return
	}
	open := func(path string) bool { return public[q.d.server.PageAt(q.Site.Name, path)] }
	var from []insights.Requests
	for _, f := range m.From {
		if !strings.HasPrefix(f.Name, "/") || open(f.Name) {
			from = append(from, f)
		}
	}
	m.From = from
	if m.To != "" && !open(m.To) {
		m.To = ""
	}
	if m.Was != nil && !m.Was.Open {
		m.Was = nil
	}
	if m.Was != nil && !public[m.Was.Page] {
		m.Was = &moved.Former{Title: m.Was.Title, Last: m.Was.Last}
	}
}

func counted(all []insights.Requests) []string {
	lines := []string{}
	for _, r := range all {
		lines = append(lines, fmt.Sprintf("%s %d", r.Name, r.Requests))
	}
	return lines
}

func setMissing(q *request) error {
	if err := saveState(q, (*insights.Store).SetMissing, q.PostFormValue("group"), "Nobody has requested this URL, or it was erased."); err != nil {
		return err
	}
	return q.back("missing")
}
