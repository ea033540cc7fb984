package app

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Asker is what sent a request.
type Asker struct {
	Source insights.Source
	// Key is the id of its key, "" without one.
	Key string
}

func (r *LiveSite) event(from Asker) insights.Event {
	return insights.Event{
		At: time.Now(), Scope: insights.Scope{Organization: r.Organization, Site: r.Name},
		Source: from.Source, Key: from.Key,
	}
}

// record counts an event and passes it on.
func (a *App) record(e insights.Event) {
	m := collectors
	m.events.WithLabelValues(e.Site, e.Kind(), string(e.Source)).Inc()
	switch {
	case e.Click != nil:
		m.clicks.WithLabelValues(e.Site).Inc()
	case e.Vote != nil && e.Vote.Rating != "":
		m.feedback.WithLabelValues(e.Site, e.Vote.Rating).Inc()
	case e.Reply != nil && e.Reply.Judged():
		m.answered.WithLabelValues(e.Site, e.Reply.Answered).Inc()
	}
	a.recording.add(e)
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

// Searched records a search that somebody meant.
func (a *App) Searched(site *LiveSite, from Asker, q *encoding.Search, found []encoding.Result) {
	if q.Offset > 0 { // a further page of the same search
		return
	}
	a.recordSearch(site, from, searchOf(q, found))
}

// SearchedTyping remembers what a request of a typing session found, for the
// final query that TypedQuery reports.
func (a *App) SearchedTyping(site *LiveSite, q *encoding.Search, found []encoding.Result) {
	if q.Offset == 0 {
		a.recording.shown.put(site.Name, searchOf(q, found))
	}
}

func (a *App) recordSearch(site *LiveSite, from Asker, s insights.Search) {
	e := site.event(from)
	e.Search = &s
	a.record(e)
}

// TypedQuery records the final query of a typing session. tracked is false if
// clicks on its results are not reported.
func (a *App) TypedQuery(site *LiveSite, from Asker, query string, hits int, tracked bool) {
	s, ok := a.recording.shown.get(site.Name, query)
	if !ok { // another Caddy answered it
		s = insights.Search{Query: query, Hits: hits}
	}
	s.Tracked = tracked
	a.recordSearch(site, from, s)
}

// Clicked records a click on a result.
func (a *App) Clicked(site *LiveSite, from Asker, c insights.Click) {
	e := site.event(from)
	e.Click = &c
	a.record(e)
}

// Voted records a vote. It returns false if the vote is for a conversation
// that is not one of the site.
func (a *App) Voted(ctx context.Context, site *LiveSite, from Asker, v insights.Vote) bool {
	if v.Thread != "" && a.threadsTTL() > 0 {
		t, err := a.threads.Read(ctx, site.Organization, v.Thread)
		if err == nil && (t == nil || t.Site != site.Name) {
			return false
		}
		v.Known = err == nil
	}
	e := site.event(from)
	e.Vote = &v
	a.record(e)
	return true
}

// recordReply records a reply that has ended.
func (a *App) recordReply(r *Reply, res *assistant.Result) {
	if res.Question == "" {
		return
	}
	e := r.Site.event(r.From)
	e.Reply = &insights.Reply{
		Thread: r.Thread, Message: r.Message, Question: res.Question, Outcome: r.outcome(), Answered: res.Answered,
		Model: res.Model, Language: res.Language, Page: r.Page, Nearest: res.Nearest, Cited: res.CitedPages,
		InputTokens: res.Usage.InputTokens, OutputTokens: res.Usage.OutputTokens,
		FirstToken: milliseconds(res.FirstToken), Took: milliseconds(r.Took), Regenerated: r.Regenerated,
	}
	a.record(e)
}

// milliseconds rounds up: an answer that quotes the pages has its first token
// in less than one, and 0 means that there was none.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// shownSearches are the last searches of typing sessions, by site and query.
type shownSearches struct {
	mu    sync.Mutex
	by    map[string]insights.Search
	older map[string]insights.Search
}

// maxShown bounds each of the two generations of shownSearches.
const maxShown = 5000

func shownKey(site, query string) string { return site + "\x00" + strings.TrimSpace(query) }

func (s *shownSearches) put(site string, search insights.Search) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.by) >= maxShown || s.by == nil {
		s.by, s.older = make(map[string]insights.Search), s.by
	}
	s.by[shownKey(site, search.Query)] = search
}

func (s *shownSearches) get(site, query string) (insights.Search, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := shownKey(site, query)
	if found, ok := s.by[key]; ok {
		return found, true
	}
	found, ok := s.older[key]
	return found, ok
}
