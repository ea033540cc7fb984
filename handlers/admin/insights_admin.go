package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/insights"
)

// Report is what the command line and the weekly report show of a
// site.
type Report struct {
	insights.Scope
	From insights.Date `json:"from"`
	To   insights.Date `json:"to"`

	Overview        insights.Overview     `json:"overview"`
	Unanswered      []insights.Gap        `json:"unanswered"`
	UnansweredPages []insights.GapPage    `json:"unanswered_pages"`
	Top             []insights.QueryStats `json:"top_searches"`
	NoResult        []insights.QueryStats `json:"no_result"`
	Weak            []insights.QueryStats `json:"weak"`
	LowClicks       []insights.QueryStats `json:"low_clicks"`
	Feedback        []insights.Feedback   `json:"feedback"`
	Slowest         []insights.Turn       `json:"slowest"`
	// Status is that of the recorder; nil for a server that does not run.
	Status *insights.RecorderStatus `json:"status,omitempty"`
}

// slowestReplies is how many of the slowest replies a report has.
const slowestReplies = 5

// maxReportDays is the longest period of a report: as long as counts are kept.
const maxReportDays = 400

// Report returns the report of a site for the last days.
func (a API) Report(ctx context.Context, name string, days int) (*Report, error) {
	site, err := a.site(name)
	if err != nil {
		return nil, err
	}
	if days < 1 || days > maxReportDays {
		return nil, adminError(http.StatusBadRequest, "days %d must be from 1 to %d", days, maxReportDays)
	}
	s, done, err := a.Recorded().Store(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	p := insights.LastDays(days, time.Now())
	r := &Report{Scope: insights.Scope{Organization: site.Organization, Site: site.Name}, From: p.From, To: p.To}
	if r.Overview, err = s.Overview(ctx, r.Scope, p); err != nil {
		return nil, err
	}
	gaps := insights.GapQuery{Period: p, State: insights.New}
	if r.Unanswered, err = s.Unanswered(ctx, r.Scope, gaps); err != nil {
		return nil, err
	}
	if r.UnansweredPages, err = s.UnansweredPages(ctx, r.Scope, gaps); err != nil {
		return nil, err
	}
	for kind, to := range map[insights.SearchKind]*[]insights.QueryStats{
		insights.TopSearches: &r.Top, insights.NoResult: &r.NoResult, insights.WeakSearches: &r.Weak, insights.LowClicks: &r.LowClicks,
	} {
		if *to, err = s.Searches(ctx, r.Scope, insights.SearchQuery{Period: p, Kind: kind}); err != nil {
			return nil, err
		}
	}
	if r.Feedback, err = s.Feedback(ctx, r.Scope, insights.FeedbackQuery{Period: p}); err != nil {
		return nil, err
	}
	if r.Slowest, err = s.Slowest(ctx, r.Scope, p, slowestReplies); err != nil {
		return nil, err
	}
	if recorder := a.Recorded().Recorder(); recorder != nil {
		st := recorder.Status()
		r.Status = &st
	}
	return r, nil
}

// export calls each with the events of the last days.
func (a API) export(ctx context.Context, name string, days int, each func(insights.Event) error) error {
	site, err := a.site(name)
	if err != nil {
		return err
	}
	if days < 1 || days > maxReportDays {
		return adminError(http.StatusBadRequest, "days %d must be from 1 to %d", days, maxReportDays)
	}
	s, done, err := a.Recorded().Store(ctx)
	if err != nil {
		return err
	}
	defer done()
	return s.Export(ctx, insights.Scope{Organization: site.Organization, Site: site.Name}, insights.LastDays(days, time.Now()), each)
}

// backup writes a copy of the store to a file that must not exist.
func (a API) backup(ctx context.Context, file string) error {
	s, done, err := a.Recorded().Store(ctx)
	if err != nil {
		return err
	}
	defer done()
	if s.Backup == nil {
		return adminError(http.StatusConflict, "this store has its own backups; for Postgres, use pg_dump --table='docs_*'")
	}
	return s.Backup(ctx, file)
}

// Erase deletes what an erasure names, the texts of the conversations
// included. An empty name means the only site.
func (a API) Erase(ctx context.Context, name string, e insights.Erasure) (done insights.Erased, err error) {
	site, err := a.site(name)
	if err != nil {
		return done, err
	}
	if err := e.Check(); err != nil {
		return done, err
	}
	s, closed, err := a.Recorded().Store(ctx)
	if err != nil {
		return done, err
	}
	defer closed()
	if done, err = s.Erase(ctx, insights.Scope{Organization: site.Organization, Site: site.Name}, e); err != nil {
		return done, err
	}
	if e.Thread != "" && !slices.Contains(done.Threads, e.Thread) {
		done.Threads = append(done.Threads, e.Thread)
	}
	for _, id := range done.Threads {
		t, err := a.Shared().Threads.Read(ctx, site.Organization, id)
		if err == nil && t != nil && t.Site == site.Name {
			err = a.Shared().Threads.Delete(ctx, site.Organization, id)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// daysOf reads the parameter days, 30 without it.
func daysOf(q url.Values) (int, error) {
	text := q.Get("days")
	if text == "" {
		return 30, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, adminError(http.StatusBadRequest, "days %q must be a number", text)
	}
	return n, nil
}

// insightsAdmin answers requests below /docs/insights/.
func (a API) insightsAdmin(r *http.Request, name string, body []byte) (answer any, err error) {
	ctx := r.Context()
	switch r.Method {
	case http.MethodGet:
		days, err := daysOf(r.URL.Query())
		if err != nil {
			return nil, err
		}
		return a.Report(ctx, name, days)
	case http.MethodDelete:
		var e insights.Erasure
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, adminError(http.StatusBadRequest, "reading the erasure: %w", err)
		}
		if err := e.Check(); err != nil {
			return nil, adminError(http.StatusBadRequest, "%w", err)
		}
		done, err := a.Erase(ctx, name, e)
		if err == nil {
			a.auditErasure(ctx, name, e)
		}
		return done, err
	}
	return nil, adminError(http.StatusMethodNotAllowed, "%s is not a method of /docs/insights", r.Method)
}

// commander is who did what the admin API was asked for.
const commander = "caddy docs"

// audit writes down what the admin API was asked for. It is done all the same
// if that fails.
func (a API) audit(ctx context.Context, in insights.Scope, what, target string) {
	if a.Recorded().Silent() {
		return
	}
	s, done, err := a.Recorded().Store(ctx)
	if errors.Is(err, app.ErrNoInsights) {
		return
	}
	if err == nil {
		defer done()
		err = s.AddAudit(ctx, insights.Audit{Scope: in, Who: commander, What: what, Target: target})
	}
	if err != nil {
		a.Shared().Log.Warn("the audit trail lacks an entry", zap.String("what", what), zap.String("target", target), zap.Error(err))
	}
}

// auditErasure writes down an erasure, without the text that was erased.
func (a API) auditErasure(ctx context.Context, name string, e insights.Erasure) {
	site, err := a.site(name)
	if err != nil {
		return
	}
	in := insights.Scope{Organization: site.Organization, Site: site.Name}
	switch {
	case e.Thread != "":
		a.audit(ctx, in, "conversation erased", e.Thread)
	case e.Day != nil:
		a.audit(ctx, in, "day erased", e.Day.String())
	default:
		a.audit(ctx, in, "text erased", "")
	}
}

// exportAdmin answers a request with events, as lines of JSON.
func (a API) exportAdmin(w http.ResponseWriter, r *http.Request, name string) error {
	days, err := daysOf(r.URL.Query())
	if err != nil {
		return err
	}
	began := false
	w.Header().Set("Content-Type", "application/jsonl")
	err = a.export(r.Context(), name, days, func(e insights.Event) error {
		began = true
		return insights.WriteLine(w, e)
	})
	if err != nil && began {
		// A status can't follow any more; a cut body is an error to the client.
		panic(http.ErrAbortHandler)
	}
	return err
}

// backupAdmin writes a backup on the server's machine.
func (a API) backupAdmin(r *http.Request) (any, error) {
	file := r.URL.Query().Get("file")
	if file == "" {
		return nil, adminError(http.StatusBadRequest, "file must name the file to write")
	}
	if err := a.backup(r.Context(), file); err != nil {
		return nil, fmt.Errorf("backup: %w", err)
	}
	return map[string]string{"file": file}, nil
}
