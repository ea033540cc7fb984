package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Report is what the command line and the weekly report show of a site.
type Report struct {
	insights.Scope
	From insights.Date `json:"from"`
	To   insights.Date `json:"to"`

	Overview        insights.Overview      `json:"overview"`
	Unanswered      []insights.Gap         `json:"unanswered"`
	UnansweredPages []insights.GapPage     `json:"unanswered_pages"`
	Top             []insights.QueryStats  `json:"top_searches"`
	NoResult        []insights.QueryStats  `json:"no_result"`
	Weak            []insights.QueryStats  `json:"weak"`
	LowClicks       []insights.QueryStats  `json:"low_clicks"`
	Feedback        []insights.Feedback    `json:"feedback"`
	Missing         []insights.MissingPage `json:"missing"`
	Slowest         []insights.Turn        `json:"slowest"`
	// Quotes is set where no model writes answers: they quote the pages, and most
	// count as answered partly.
	Quotes bool `json:"quotes,omitempty"`
	// Status is that of the recorder; nil for a server that does not run.
	Status *insights.RecorderStatus `json:"status,omitempty"`
}

// slowestReplies is how many of the slowest replies a report has.
const slowestReplies = 5

// maxReportDays is the longest period of a report: as long as counts are kept.
const maxReportDays = 400

// report returns the report of a site for the period that a request names.
func (a API) report(ctx context.Context, name string, q url.Values) (*Report, error) {
	p, err := periodOf(q)
	if err != nil {
		return nil, err
	}
	site, err := a.site(name)
	if err != nil {
		return nil, err
	}
	s, done, err := a.Recorded().Store(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r := &Report{Scope: site.Scope(), From: p.From, To: p.To}
	if r.Overview, err = s.Overview(ctx, r.Scope, p); err != nil {
		return nil, err
	}
	open := insights.Query{Period: p, State: insights.New}
	if r.Unanswered, err = s.Unanswered(ctx, r.Scope, open); err != nil {
		return nil, err
	}
	if r.UnansweredPages, err = s.UnansweredPages(ctx, r.Scope, open); err != nil {
		return nil, err
	}
	for kind, to := range map[string]*[]insights.QueryStats{
		insights.TopSearches: &r.Top, insights.NoResult: &r.NoResult, insights.WeakSearches: &r.Weak, insights.LowClicks: &r.LowClicks,
	} {
		if *to, err = s.Searches(ctx, r.Scope, insights.Query{Period: p, Kind: kind}); err != nil {
			return nil, err
		}
	}
	if r.Feedback, err = s.Feedback(ctx, r.Scope, insights.Query{Period: p}); err != nil {
		return nil, err
	}
	if r.Missing, err = s.Missing(ctx, r.Scope, open); err != nil {
		return nil, err
	}
	if r.Slowest, err = s.Slowest(ctx, r.Scope, p, slowestReplies); err != nil {
		return nil, err
	}
	if recorder := a.Recorded().Recorder; recorder != nil {
		st := recorder.Status()
		r.Status = &st
		r.Quotes = a.Model() == nil
	}
	return r, nil
}

// Erase deletes what an erasure names, the texts of the conversations included,
// and a text of a group in its sites, too. An empty name means the only site.
func (a API) Erase(ctx context.Context, name string, e insights.Erasure) (done insights.Erased, err error) {
	site, err := a.site(name)
	if err != nil {
		return done, err
	}
	s, closed, err := a.Recorded().Store(ctx)
	if err != nil {
		return done, err
	}
	defer closed()
	for _, of := range erasedWith(site, e) {
		own, err := a.eraseIn(ctx, s, of, e)
		done.Rows, done.Threads = done.Rows+own.Rows, append(done.Threads, own.Threads...)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// erasedWith returns the sites that an erasure in one concerns.
func erasedWith(s *site.Site, e insights.Erasure) []*site.Site {
	all := []*site.Site{s}
	if s.Members != nil && e.Text != "" {
		all = append(all, s.Members()...)
	}
	return all
}

func (a API) eraseIn(ctx context.Context, s *insights.Store, of *site.Site, e insights.Erasure) (insights.Erased, error) {
	done, err := s.Erase(ctx, of.Scope(), e)
	if err != nil {
		return done, err
	}
	threads := done.Threads
	if e.Thread != "" {
		threads = []string{e.Thread}
	}
	done.Threads = nil
	for _, id := range threads {
		t, err := a.Shared().Threads.Read(ctx, of.Organization, id)
		if err == nil && t != nil && t.Site == of.Name {
			done.Threads = append(done.Threads, id)
			err = a.Shared().Threads.Delete(ctx, of.Organization, id)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// erase answers a request for an erasure. The audit trail has it without the
// text that was erased.
func (a API) erase(ctx context.Context, name string, body []byte) (done insights.Erased, err error) {
	var e insights.Erasure
	if err = json.Unmarshal(body, &e); err == nil {
		err = e.Check()
	}
	if err != nil {
		return done, adminError(http.StatusBadRequest, "reading the erasure: %w", err)
	}
	if done, err = a.Erase(ctx, name, e); err != nil {
		return done, err
	}
	what, target := "text erased", ""
	switch {
	case e.Thread != "":
		what, target = "conversation erased", e.Thread
	case e.Day != nil:
		what, target = "day erased", e.Day.String()
	}
	if site, err := a.site(name); err == nil {
		for _, of := range erasedWith(site, e) {
			a.audit(ctx, of.Scope(), what, target)
		}
	}
	return done, nil
}

// periodOf reads the parameter days: the last 30 without it.
func periodOf(q url.Values) (p insights.Period, err error) {
	days, text := 30, q.Get("days")
	if text != "" {
		if days, err = strconv.Atoi(text); err != nil {
			return p, adminError(http.StatusBadRequest, "days %q must be a number", text)
		}
	}
	if days < 1 || days > maxReportDays {
		return p, adminError(http.StatusBadRequest, "days %d must be from 1 to %d", days, maxReportDays)
	}
	return insights.LastDays(days, time.Now()), nil
}

// audit records what the admin API was asked for. A failure is only logged.
func (a API) audit(ctx context.Context, in insights.Scope, what, target string) {
	if a.Recorded().Silent {
		return
	}
	s, done, err := a.Recorded().Store(ctx)
	if errors.Is(err, app.ErrNoInsights) {
		return
	}
	if err == nil {
		defer done()
		err = s.AddAudit(ctx, insights.Audit{Scope: in, Who: "caddy docs", What: what, Target: target})
	}
	if err != nil {
		a.Shared().Log.Warn("can't write to the audit trail", zap.String("what", what), zap.String("target", target), zap.Error(err))
	}
}

// export answers a request with events, as lines of JSON.
func (a API) export(ctx context.Context, name string, q url.Values, w http.ResponseWriter) error {
	site, err := a.site(name)
	if err != nil {
		return err
	}
	p, err := periodOf(q)
	if err != nil {
		return err
	}
	s, done, err := a.Recorded().Store(ctx)
	if err != nil {
		return err
	}
	defer done()
	began := false
	w.Header().Set("Content-Type", "application/jsonl")
	err = s.Export(ctx, site.Scope(), p, func(e insights.Event) error {
		began = true
		return insights.WriteLine(w, e)
	})
	if err != nil && began {
		// The status was sent; a cut body is an error to the client.
		panic(http.ErrAbortHandler)
	}
	return err
}

// backup copies the store to a file of the server's machine, which must not
// exist.
func (a API) backup(ctx context.Context, file string) (any, error) {
	if file == "" {
		return nil, adminError(http.StatusBadRequest, "file must name the file to write")
	}
	s, done, err := a.Recorded().Store(ctx)
	if err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	defer done()
	if s.Backup == nil {
		return nil, adminError(http.StatusConflict, "backup: this store has its own backups; for Postgres, use pg_dump --table='docs_*'")
	}
	if err := s.Backup(ctx, file); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return map[string]string{"file": file}, nil
}
