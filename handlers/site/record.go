package site

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/store"
)

// Asker is what sent a request to a site. What it does is recorded by its methods.
type Asker struct {
	*Site
	Source string
	// Key is the id of its key, "" without one.
	Key string
}

// event begins an event.
func (a Asker) event() insights.Event {
	return insights.Event{At: time.Now(), Scope: a.Scope(), Source: a.Source, Key: a.Key}
}

// in returns the asker of a site of a group: what a reader does in the group
// counts there, too. It is false where a doesn't ask a group, or the group has
// no such site now.
func (a Asker) in(name string) (Asker, bool) {
	of := a.member(name)
	return Asker{Site: of, Source: insights.Group}, of != nil
}

// inOwn is in for the site of a page of a group, with the page's name there.
func (a Asker) inOwn(path string) (of Asker, page string, ok bool) {
	page = insights.PageOf(path)
	name, _, _ := strings.Cut(page, "/")
	of, ok = a.in(name)
	return of, reach.Own(name, page), ok
}

// shown is what a search found. In a group, first is the site of the first
// result, and own how many results are of that site.
type shown struct {
	insights.Search
	first string
	own   int
}

// shownOf describes a search by its results.
func shownOf(q *encoding.Search, found []encoding.Result) shown {
	s := shown{Search: insights.Search{Query: q.Query, Hits: len(found), Language: q.Filter.Language}}
	if len(found) == 0 {
		return s
	}
	first := &found[0].Metadata
	s.Top, s.first = &first.Score, first.Site
	s.Language = cmp.Or(s.Language, first.Language)
	for i := range found {
		if found[i].Metadata.Site == s.first {
			s.own++
		}
	}
	return s
}

// Searched records a search that is not part of a typing session.
func (a Asker) Searched(q *encoding.Search, found []encoding.Result) {
	if q.Offset == 0 { // no further page of the same search
		a.recordSearch(shownOf(q, found))
	}
}

// SearchedTyping remembers what a request of a typing session found, for the
// final query that TypedQuery reports. If readers of a group find different
// sites first, because of locked pages, the query counts for none of them.
func (a Asker) SearchedTyping(q *encoding.Search, found []encoding.Result) {
	if q.Offset > 0 {
		return
	}
	key, now := shownKey(a.Name, q.Query), shownOf(q, found)
	if before, ok := a.Recording.shown.Get(key); ok && before.first != now.first {
		now.first = ""
	}
	a.Recording.shown.Put(key, now, 1)
}

// recordSearch records a search. One of a group counts for the site of its
// first result, too, where it has no click rate: the click may be on a page of
// another site.
func (a Asker) recordSearch(s shown) {
	e := a.event()
	e.Search = &s.Search
	a.Recording.add(e)
	if of, ok := a.in(s.first); ok {
		own := s.Search
		own.Hits, own.Tracked = s.own, false
		of.recordSearch(shown{Search: own})
	}
}

// TypedQuery records the final query of a typing session. tracked is false if
// clicks on its results are not reported.
func (a Asker) TypedQuery(query string, hits int, tracked bool) {
	s, ok := a.Recording.shown.Get(shownKey(a.Name, query))
	if !ok { // another Caddy answered it
		s.Search = insights.Search{Query: query, Hits: hits}
	}
	s.Tracked = tracked
	a.recordSearch(s)
}

// Clicked records a click on a result. One of a group counts for the page's
// site, too.
func (a Asker) Clicked(c insights.Click) {
	e := a.event()
	e.Click = &c
	a.Recording.add(e)
	if of, page, ok := a.inOwn(c.Path); ok {
		own := c
		own.Path = page
		of.Clicked(own)
	}
}

// Voted records a vote. It returns false if the vote is for a conversation
// that is not one of the site. One for a page of a group counts for the page's
// site, too.
func (a Asker) Voted(ctx context.Context, v insights.Vote) bool {
	if v.Thread != "" && a.Threads.TTL > 0 {
		t, err := a.Threads.Read(ctx, a.Organization, v.Thread)
		if err == nil && (t == nil || t.Site != a.Name) {
			return false
		}
		v.Known = err == nil
	}
	e := a.event()
	e.Vote = &v
	a.Recording.add(e)
	if of, page, ok := a.inOwn(v.Path); ok && v.Thread == "" {
		own := v
		own.Path = page
		of.Voted(ctx, own)
	}
	return true
}

// Missed records a request for a page that the site doesn't have, with the path in
// m, and what became of it. It ignores requests that teach nothing: for what never
// was a page, following no known link, by no known agent.
func (r *Site) Missed(req *http.Request, former bool, m insights.Missing) {
	m.Agent = insights.AgentOf(req.UserAgent())
	if u, err := url.Parse(req.Referer()); err == nil && u.Host != "" {
		m.From = u.Scheme + "://" + u.Host
		if strings.EqualFold(u.Host, req.Host) || hosting.Hostname(u.Host) == r.Host {
			m.From = cmp.Or(u.Path, "/")
		}
	}
	if !former && m.From == "" && (m.Agent == "" || m.Agent == insights.Program) {
		return
	}
	if req.Header.Get("Sec-GPC") == "1" {
		m.From = ""
	}
	e := Asker{Site: r, Source: insights.Web}.event()
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

// Recording is where events go. Configurations share it, so that replies that
// began before a reload are recorded by the newest one.
type Recording struct {
	Newest[*Recorder]

	// shown are the last results that the widget was given, by which the final query
	// of a typing session is judged.
	shown store.Recent[shown]
}

// Recorder is a recorder in use by a configuration; it has none with insights off.
type Recorder struct {
	*insights.Recorder[*insights.Store]
	Privacy insights.Privacy
}

// NewRecording returns a Recording without a recorder.
func NewRecording() *Recording {
	return &Recording{shown: store.Recent[shown]{Max: maxShown}}
}

// add counts an event and gives it to the newest recorder.
func (r *Recording) add(e insights.Event) {
	m := observe.Metrics
	m.Events.WithLabelValues(e.Site, e.Kind(), e.Source).Inc()
	switch {
	case e.Click != nil:
		m.Clicks.WithLabelValues(e.Site).Inc()
	case e.Missing != nil:
		m.Missing.WithLabelValues(e.Site, e.Missing.Outcome()).Inc()
	case e.Vote != nil && e.Vote.Rating != "":
		m.Feedback.WithLabelValues(e.Site, e.Vote.Rating).Inc()
	case e.Reply != nil && e.Reply.Judged():
		m.Answered.WithLabelValues(e.Site, e.Reply.Answered).Inc()
	}
	if in := r.Current(); in != nil && in.Recorder != nil {
		in.Recorder.Add(e, in.Privacy)
	}
}
