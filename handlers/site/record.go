package site

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Asker is what sent a request.
type Asker struct {
	Source string
	// Key is the id of its key, "" without one.
	Key string
}

func (from Asker) event(r *Site) insights.Event {
	return insights.Event{At: time.Now(), Scope: r.Scope(), Source: from.Source, Key: from.Key}
}

// searchOf describes a search by its results.
func searchOf(q *encoding.Search, found []encoding.Result) insights.Search {
	s := insights.Search{Query: q.Query, Hits: len(found), Language: q.Filter.Language}
	if len(found) > 0 {
		s.Top = &found[0].Metadata.Score
		s.Language = cmp.Or(s.Language, found[0].Metadata.Language)
	}
	return s
}

// Searched records a search that is not part of a typing session.
func (r *Site) Searched(from Asker, q *encoding.Search, found []encoding.Result) {
	if q.Offset > 0 { // a further page of the same search
		return
	}
	r.recordSearch(from, searchOf(q, found))
}

// SearchedTyping remembers what a request of a typing session found, for the
// final query that TypedQuery reports.
func (r *Site) SearchedTyping(q *encoding.Search, found []encoding.Result) {
	if q.Offset == 0 {
		r.Recording.shown.Put(shownKey(r.Name, q.Query), searchOf(q, found), 1)
	}
}

func (r *Site) recordSearch(from Asker, s insights.Search) {
	e := from.event(r)
	e.Search = &s
	r.Recording.add(e)
}

// TypedQuery records the final query of a typing session. tracked is false if
// clicks on its results are not reported.
func (r *Site) TypedQuery(from Asker, query string, hits int, tracked bool) {
	s, ok := r.Recording.shown.Get(shownKey(r.Name, query))
	if !ok { // another Caddy answered it
		s = insights.Search{Query: query, Hits: hits}
	}
	s.Tracked = tracked
	r.recordSearch(from, s)
}

// Clicked records a click on a result.
func (r *Site) Clicked(from Asker, c insights.Click) {
	e := from.event(r)
	e.Click = &c
	r.Recording.add(e)
}

// Voted records a vote. It returns false if the vote is for a conversation
// that is not one of the site.
func (r *Site) Voted(ctx context.Context, from Asker, v insights.Vote) bool {
	if v.Thread != "" && r.Threads.TTL > 0 {
		t, err := r.Threads.Read(ctx, r.Organization, v.Thread)
		if err == nil && (t == nil || t.Site != r.Name) {
			return false
		}
		v.Known = err == nil
	}
	e := from.event(r)
	e.Vote = &v
	r.Recording.add(e)
	return true
}

// Missed records a request for a page that the site doesn't have, of which m
// has the path, and what became of it. It ignores those from which nobody
// learns: for what never was a page, from no known link and no known agent.
func (r *Site) Missed(req *http.Request, former bool, m insights.Missing) {
	m.Agent = insights.AgentOf(req.UserAgent())
	if u, err := url.Parse(req.Referer()); err == nil && u.Host != "" {
		m.From = u.Scheme + "://" + u.Host
		if strings.EqualFold(u.Host, req.Host) || strings.EqualFold(u.Hostname(), r.host) {
			m.From = cmp.Or(u.Path, "/")
		}
	}
	if !former && m.From == "" && (m.Agent == "" || m.Agent == insights.Program) {
		return
	}
	if req.Header.Get("Sec-GPC") == "1" {
		m.From = ""
	}
	e := Asker{Source: insights.Web}.event(r)
	e.Missing = &m
	r.Recording.add(e)
}

// milliseconds rounds up: an answer that quotes the pages has its first token
// in less than one, and 0 means that there was none.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// maxShown bounds each of the two generations of Recording.shown.
const maxShown = 5000

func shownKey(site, query string) string { return site + "\x00" + strings.TrimSpace(query) }
