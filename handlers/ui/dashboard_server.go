package ui

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/dashboard"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// dashboardServer is a dashboard.Server: what the dashboard shows of the app.
type dashboardServer struct {
	admin.API
	names []string // of the sites, empty for all
}

func (s *dashboardServer) Sites() (sites []dashboard.Site) {
	st := s.Status()
	for i := range st.Sites {
		if len(s.names) == 0 || slices.Contains(s.names, st.Sites[i].Name) {
			sites = append(sites, describeSite(&st, &st.Sites[i]))
		}
	}
	slices.SortFunc(sites, func(a, b dashboard.Site) int {
		return cmp.Or(cmp.Compare(a.Organization, b.Organization), cmp.Compare(a.Name, b.Name))
	})
	return sites
}

// hold returns a site, which is held until release is called.
func (s *dashboardServer) hold(name string) (live *site.Site, release func(), err error) {
	if live = s.Site(name); live != nil {
		if release, ok := live.Acquire(); ok {
			return live, release, nil
		}
	}
	return nil, nil, retrieval.ErrNotReady
}

func (s *dashboardServer) Vectors(ctx context.Context, site string, texts []string) ([][]float32, error) {
	live, release, err := s.hold(site)
	if err != nil {
		return nil, err
	}
	defer release()
	if live.Index.Embedder == nil {
		return nil, nil
	}
	return live.Index.Embedder.Embed(ctx, texts)
}

func (s *dashboardServer) Links(name string) *links.Report {
	live := s.Site(name)
	if live == nil {
		return nil
	}
	s.Go(live.LinksSoon)
	return live.Links()
}

func (s *dashboardServer) PageAt(name, path string) string {
	if live := s.Site(name); live != nil {
		if d := live.Pages().At(path); d != nil {
			return d.Page
		}
	}
	return ""
}

func (s *dashboardServer) Former(name, path string) *moved.Former {
	live := s.Site(name)
	if live == nil {
		return nil
	}
	return live.Pages().Former(path)
}

// tryResults is how many results the dashboard shows.
const tryResults = 20

func (s *dashboardServer) Search(ctx context.Context, site, query string) (found []encoding.Result, total int, err error) {
	live, release, err := s.hold(site)
	if err != nil {
		return nil, 0, err
	}
	defer release()
	body, _ := json.Marshal(map[string]any{"query": query, "pageSize": tryResults}) // texts always marshal
	q, err := encoding.DecodeSearch(body)
	if err != nil {
		return nil, 0, refused(err)
	}
	return live.Results(ctx, q)
}

func (s *dashboardServer) Explain(ctx context.Context, site, text string) (*assistant.Explanation, error) {
	e, err := s.API.Explain(ctx, site, question("dashboard", text))
	return e, refused(err)
}

// question is the body of a v2 request with a question.
func question(fingerprint, text string) []byte {
	body, _ := json.Marshal(map[string]any{ // texts always marshal
		"fp": fingerprint, "messages": []any{map[string]any{"id": "m1", "role": "user", "parts": []any{map[string]string{"type": "text", "text": text}}}},
	})
	return body
}

func (s *dashboardServer) Ask(ctx context.Context, name, text string) (*assistant.Result, error) {
	live, release, err := s.hold(name)
	if err != nil {
		return nil, err
	}
	defer release()
	req, err := encoding.DecodeRequest(question("dashboard", text), encoding.V2)
	if err != nil {
		return nil, refused(err)
	}
	asked := site.Asker{Site: live}.Reply(2, req, rand.Text()[:9])
	asked.Run(ctx, 1, new(sourceSink))
	if res := asked.Result; res != nil && res.Answer != "" {
		return res, nil
	}
	return asked.Result, asked.Err
}

func (s *dashboardServer) Insights(ctx context.Context) (*insights.Store, error) {
	store, _, err := s.Recorded().Store(ctx)
	if errors.Is(err, app.ErrNoInsights) {
		return nil, dashboard.ErrOff
	}
	return store, err
}

func (s *dashboardServer) Conversation(r *http.Request, site, id string) (answers []dashboard.Answer, err error) {
	live := s.Site(site)
	if live == nil {
		return nil, nil
	}
	t, err := s.Shared().Threads.Read(r.Context(), live.Organization, id)
	if err != nil || t == nil || t.Site != site {
		return nil, err
	}
	ctx := handlers.AsReader(r)
	for _, turn := range t.Turns {
		answers = append(answers, dashboard.Answer{
			At: turn.At, Question: turn.Question, Text: turn.Answer, Sources: turn.Sources, Partial: turn.Partial,
			Locked: live.Sealed(ctx, &turn),
		})
	}
	return answers, nil
}

// refused marks errors that the visitor can fix.
func refused(err error) error {
	if e, ok := errors.AsType[*encoding.Error](err); ok {
		return fmt.Errorf("%w: %s", dashboard.ErrRefused, e.Message)
	}
	return err
}

func (s *dashboardServer) Keys(ctx context.Context) ([]*access.Key, error) {
	return s.Shared().Keys.List(ctx)
}

func (s *dashboardServer) AddKey(ctx context.Context, record []byte) error {
	_, err := s.Shared().Keys.Add(ctx, record)
	return err
}

func (s *dashboardServer) RevokeKey(ctx context.Context, id string) error {
	_, err := s.Shared().Keys.Revoke(ctx, id)
	return err
}

func describeSite(st *admin.Status, of *admin.SiteStatus) dashboard.Site {
	site := dashboard.Site{
		Name: of.Name, Organization: of.Organization, Title: of.Title, URL: of.URL, API: of.API,
		Index: of.Index, Model: st.Model, Embedder: st.Embedder, EditURL: of.EditURL, Pages: (*dashboard.PageCounts)(of.Pages),
	}
	for _, m := range st.Models {
		site.Models = append(site.Models, dashboard.Model{Name: m.Model, Down: m.Breaker == "open", Until: m.Until})
	}
	if st.ThreadsTTL > 0 {
		site.Threads = options.Days(time.Duration(st.ThreadsTTL * float64(time.Second)))
	}
	if b := of.Budget; b != nil {
		for _, q := range []dashboard.Quota{{Of: "tokens", Used: b.SpentTokens, Limit: b.Tokens}, {Of: "requests", Used: b.SpentRequests, Limit: b.Requests}} {
			if q.Until = b.Until; q.Limit > 0 {
				site.Budgets = append(site.Budgets, q)
			}
		}
	}
	for _, l := range of.Limits {
		site.Limits = append(site.Limits, dashboard.Quota{Of: l.API, Used: int64(l.Used), Limit: int64(l.Events), Window: windowName(l.Window)})
	}
	site.RefusedClients, site.RefusedOrganization = of.Refused.Client, of.Refused.Organization
	site.Problems = problemsOf(st, of)
	return site
}

// windowName is a number of seconds for people: hour, 30 minutes.
func windowName(seconds float64) string {
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}} {
		switch n := seconds / unit.seconds; {
		case n == 1:
			return unit.name
		case n > 1 && n == math.Trunc(n):
			return fmt.Sprintf("%.0f %ss", n, unit.name)
		}
	}
	return fmt.Sprintf("%g seconds", seconds)
}

// problemsOf returns the problems that somebody has to fix.
func problemsOf(st *admin.Status, of *admin.SiteStatus) (problems []dashboard.Problem) {
	add := func(admin bool, what, do string) {
		problems = append(problems, dashboard.Problem{What: what, Do: do, Admin: admin})
	}
	if of.APIProblem != "" {
		add(true, "The API can't be reached: "+of.APIProblem, "caddy docs doctor says what to change in the Caddyfile.")
	}
	if !of.HasKey {
		add(false, "There is no key for the site, so nobody can search it.", "Create one on the page API keys.")
	}
	switch {
	case of.Index.Error != "":
		add(true, "The pages can't be read: "+of.Index.Error, "The previous pages are searched until this is fixed.")
	case of.Index.Held != "":
		add(false, "Changes to the pages are held back: "+of.Index.Held, "Put the pages back, or wait: once the folder has stopped changing, its pages are indexed.")
	case of.Index.Ready && of.Index.Pages == 0:
		add(false, "The site has no pages.", "Write pages, or check include and exclude.")
	}
	if of.Index.ProblemCount > 0 {
		add(false, "Some pages are missing or outdated.", "The page Content says why.")
	}
	if of.Pages != nil && of.Pages.NotServed > 0 {
		add(false, fmt.Sprintf("%d pages are in the index, but their URLs are not served.", of.Pages.NotServed), "The page Content lists them. Serve them, or exclude them.")
	}
	if e := of.Index.Embeddings; e != nil && e.Error != "" {
		add(true, "The embedder is not responding: "+e.Error, "Search is keyword search until it does.")
	}
	for _, m := range st.Models {
		if m.Breaker == "open" {
			add(true, "The model "+m.Model+" is not responding: "+m.LastError, "Replies come from the next model, or quote the pages.")
		}
	}
	for _, l := range of.Limits {
		if l.Used >= l.Events {
			add(false, fmt.Sprintf("The organization has used all of its %d requests to %s per %s.", l.Events, l.API, windowName(l.Window)), "Further requests are refused with 429. The operator can raise the limit with rate_limit organization.")
		}
	}
	if of.Budget != nil && of.Budget.Spent {
		add(false, "The budget for the model is spent.", "Answers quote the pages until "+of.Budget.Until.UTC().Format("2 Jan 15:04")+" UTC.")
	}
	return problems
}
