package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
)

const defaultRetention = 90 * 24 * time.Hour

// ErrNoInsights is returned where insights are off.
var ErrNoInsights = errors.New("insights are off for this server; remove insights off from the global option docs")

// Insights are where a configuration records what readers do.
type Insights struct {
	Options  options.Insights
	opener   options.InsightsOpener
	dir      string
	Recorder *insights.Recorder[*insights.Store] // nil before Start, and with insights off
	// Silent makes a Start that follows record nothing: commands that work without
	// a server leave no files behind.
	Silent bool
}

// load loads the store's module. Nothing is opened yet.
func (in *Insights) load(a *App) error {
	in.dir, in.opener = a.DataDir, new(options.SQLiteInsights)
	if a.Insights == nil {
		return nil
	}
	if in.Options = *a.Insights; in.Options.StoreRaw == nil {
		return nil
	}
	loaded, err := a.ctx.LoadModule(a.Insights, "StoreRaw")
	if err != nil {
		return err
	}
	var ok bool
	if in.opener, ok = loaded.(options.InsightsOpener); !ok {
		return fmt.Errorf("%T can't be used as a store of insights: it does not implement InsightsOpener", loaded)
	}
	return nil
}

// open begins to record. The store is opened at the first event or
// query, so that a store that can't be opened keeps nothing from starting.
func (in *Insights) open(a *App) error {
	if in.Silent {
		return nil
	}
	use := new(site.Recorder)
	if !in.Options.Off {
		hash, err := hashOf(in.opener, in.dir, in.Options.JSONL, in.Options.Retention)
		if err != nil {
			return err
		}
		in.Recorder = shareNew(&a.holds, "recorder "+hash, func() *insights.Recorder[*insights.Store] { return in.record(a.lasting) })
		*use = site.Recorder{Recorder: in.Recorder, Privacy: insights.Privacy{NoTexts: in.Options.Texts == "off", NoClicks: in.Options.Clicks == "off"}}
		a.log.Info("insights are recorded", zap.String("store", in.String()), zap.String("kept_for", options.Days(in.Retention())))
	}
	a.holds.releases = append(a.holds.releases, a.shared.Recording.Use(use))
	return nil
}

// record makes a recorder, which outlives this configuration.
func (in *Insights) record(log *slog.Logger) *insights.Recorder[*insights.Store] {
	opener, dir := in.opener, in.dir
	open := func(ctx context.Context) (*insights.Store, error) { return opener.OpenInsights(ctx, dir) }
	var outlet func(lines []byte) error
	switch in.Options.JSONL {
	case "":
	case "stdout":
		outlet = func(lines []byte) error { _, err := os.Stdout.Write(lines); return err }
	default:
		outlet = insights.FileOutlet(in.Options.JSONL)
	}
	return insights.NewRecorder(open, outlet, in.Retention(), log)
}

// String says where events go, without secrets.
func (in *Insights) String() string { return in.opener.Describe(in.dir) }

// Retention is how long events are kept.
func (in *Insights) Retention() time.Duration {
	return cmp.Or(time.Duration(in.Options.Retention), defaultRetention)
}

// Store returns the store of what was recorded, for queries. The error is
// ErrNoInsights where insights are off. Before Start it opens the store for the
// caller alone; done closes that one.
func (in *Insights) Store(ctx context.Context) (s *insights.Store, done func(), err error) {
	switch {
	case in.Options.Off:
		return nil, nil, ErrNoInsights
	case in.Recorder != nil:
		s, err = in.Recorder.Store(ctx)
		return s, func() {}, err
	}
	_, isFile := in.opener.(*options.SQLiteInsights)
	if _, err := os.Stat(in.String()); isFile && errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("nothing has been recorded yet: there is no file %s", in)
	}
	if s, err = in.opener.OpenInsights(ctx, in.dir); err != nil {
		return nil, nil, err
	}
	return s, func() { _ = s.Close() }, nil
}
