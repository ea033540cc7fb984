package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/insights"
)

const (
	defaultRetention = 90 * day

	// closeTimeout is how long the end of a configuration waits for what is
	// buffered to be stored.
	closeTimeout = 5 * time.Second

	// insightsTimeout bounds the check that doctor makes.
	insightsTimeout = 5 * time.Second
)

// ErrNoInsights is returned where insights are off.
var ErrNoInsights = errors.New("insights are off for this server; remove insights off from the global option docs")

// recording is where events go. Configurations share it, so that replies that
// began before a reload are recorded by the newest one.
type recording struct {
	mu sync.RWMutex
	in []*recorderIn // of the current configurations, the newest last

	// shown are the last results that the widget was given, to judge the final
	// query of a typing session by.
	shown shownSearches
}

// recorderIn is a recorder in use by a configuration, nil with insights off.
type recorderIn struct {
	recorder *recorder
	privacy  insights.Privacy
}

type recordingKey struct{}

func newRecording() (*recording, error) { return new(recording), nil }

// Destruct implements caddy.Destructor.
func (*recording) Destruct() error { return nil }

// use makes a recorder the newest, until drop is called.
func (r *recording) use(in *recorderIn) (drop func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in = append(r.in, in)
	return func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.in = slices.DeleteFunc(r.in, func(other *recorderIn) bool { return other == in })
		return nil
	}
}

// add gives an event to the newest recorder.
func (r *recording) add(e insights.Event) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.in) == 0 {
		return
	}
	if in := r.in[len(r.in)-1]; in.recorder != nil {
		in.recorder.Add(e, in.privacy)
	}
}

// recorder is a recorder that configurations share.
type recorder struct{ *insights.Recorder }

type recorderKey struct{ hash string }

// Destruct stores what is buffered.
func (r *recorder) Destruct() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return r.Close(ctx)
}

// loadInsights loads the store's module and finds where events go. Nothing is
// opened yet.
func (a *App) loadInsights() (err error) {
	if a.recording, err = share(&a.holds, recordingKey{}, newRecording); err != nil {
		return err
	}
	a.stores = new(SQLiteInsights)
	if a.Insights == nil || a.Insights.StoreRaw == nil {
		return nil
	}
	loaded, err := a.ctx.LoadModule(a.Insights, "StoreRaw")
	if err != nil {
		return err
	}
	var ok bool
	if a.stores, ok = loaded.(InsightsOpener); !ok {
		return errors.New("the store's module does not implement the interface of its namespace")
	}
	return nil
}

// openInsights begins to record. The store is opened at the first event or
// query, so that a store that can't be opened keeps nothing from starting.
func (a *App) openInsights() error {
	if a.silent {
		return nil
	}
	in := new(recorderIn)
	if i := a.insights(); !i.Off {
		in.privacy = insights.Privacy{NoTexts: i.Texts == "off", NoClicks: i.Clicks == "off"}
		hash, err := hashOf(a.stores, a.DataDir, i.JSONL, i.Retention)
		if err != nil {
			return err
		}
		in.recorder, err = share(&a.holds, recorderKey{hash}, func() (*recorder, error) {
			stores, dir := a.stores, a.DataDir // the recorder outlives this configuration
			o := insights.RecorderOptions{
				Open: func(ctx context.Context) (insights.Store, error) { return stores.OpenInsights(ctx, dir) },
				Log:  a.ctx.Slogger(), Retention: a.retention(),
			}
			switch i.JSONL {
			case "":
			case "stdout":
				o.Outlet = insights.NewOutlet(os.Stdout)
			default:
				o.Outlet = insights.NewFileOutlet(i.JSONL)
			}
			return &recorder{insights.NewRecorder(o)}, nil
		})
		if err != nil {
			return err
		}
	}
	a.recorder = in.recorder
	a.holds.releases = append(a.holds.releases, a.recording.use(in))
	return nil
}

// Silence makes a Start that follows record nothing: commands that work without
// a server leave no files behind.
func (a *App) Silence() { a.silent = true }

// insights returns the configuration, never nil.
func (a *App) insights() *Insights {
	if a.Insights == nil {
		return new(Insights)
	}
	return a.Insights
}

func (a *App) retention() time.Duration {
	return cmp.Or(time.Duration(a.insights().Retention), defaultRetention)
}

// InsightsStore returns the store of what was recorded, for queries. The error
// is ErrNoInsights where insights are off. Before Start it opens the store for
// the caller alone; done closes that one.
func (a *App) InsightsStore(ctx context.Context) (s insights.Store, done func(), err error) {
	switch {
	case a.insights().Off:
		return nil, nil, ErrNoInsights
	case a.recorder != nil:
		s, err = a.recorder.Store(ctx)
		return s, func() {}, err
	}
	if f, ok := a.stores.(*SQLiteInsights); ok && !f.exists(a.DataDir) {
		return nil, nil, fmt.Errorf("nothing has been recorded yet: there is no file %s", f.file(a.DataDir))
	}
	if s, err = a.stores.OpenInsights(ctx, a.DataDir); err != nil {
		return nil, nil, err
	}
	return s, func() { _ = s.Close() }, nil
}

// EraseInsights deletes what an erasure names, the texts of the conversations
// included. An empty name means the only site.
func (a *App) EraseInsights(ctx context.Context, name string, e insights.Erasure) (done insights.Erased, err error) {
	site, err := a.adminSite(name)
	if err != nil {
		return done, err
	}
	if err := e.Check(); err != nil {
		return done, err
	}
	s, closed, err := a.InsightsStore(ctx)
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
		t, err := a.threads.Read(ctx, site.Organization, id)
		if err == nil && t != nil && t.Site == site.Name {
			err = a.threads.Delete(ctx, site.Organization, id)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// checkInsights reports whether events can be stored.
func (a *App) checkInsights(ctx context.Context, c *checks) {
	if a.insights().Off {
		c.add("insights", nil, "off", "")
		return
	}
	where := a.stores.Describe(a.DataDir)
	if a.recorder == nil {
		c.add("insights", nil, where, "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, insightsTimeout)
	defer cancel()
	err := a.recorder.Check(ctx)
	st := a.recorder.Status()
	if err == nil && st.Error != "" { // the store can be written to, but not this batch
		err = errors.New(st.Error)
	}
	found := where + ", kept for " + Days(a.retention())
	if st.Dropped > 0 {
		found += fmt.Sprintf(", %d events were dropped", st.Dropped)
	}
	do := "make " + where + " reachable and writable"
	if errors.Is(err, insights.ErrNewer) {
		do = "install the release that wrote it, or move it away to start with an empty one"
	}
	c.add("insights", err, found, do+"; requests are served meanwhile, and up to 10,000 events wait in memory")
	if st.OutletError != "" {
		c.add("insights jsonl", errors.New(st.OutletError), "", "make the file writable; events are stored, and left out there meanwhile")
	}
}

// announceInsights logs where events go.
func (a *App) announceInsights() {
	if a.recorder == nil {
		return
	}
	a.log.Info("insights are recorded", zap.String("store", a.stores.Describe(a.DataDir)), zap.String("kept_for", Days(a.retention())))
}
