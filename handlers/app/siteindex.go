package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

// siteIndex is what a site costs to make: its index, kept fresh, and the search
// over it. Configurations that agree on everything that shapes it share one,
// so that a reload neither indexes again nor takes anything from the replies
// under way: those hold it too, for as long as they last.
type siteIndex struct {
	index    retrieval.Index
	searcher interface {
		Search(ctx context.Context, q retrieval.Query) ([]retrieval.Hit, error)
	}
	refresher *retrieval.Refresher
	cancel    context.CancelFunc
	// looked is closed once the pages were looked at for the first time.
	looked chan struct{}
	done   chan struct{}

	// holders are the pool and the replies under way; at zero it is closed.
	holders atomic.Int64
}

// manySections is from when on the memory that making or loading a generation
// took is given back to the system at once. Go would do so over minutes, and
// an operator would see twice what the site needs.
const manySections = 2000

// poolKey identifies what configurations may share.
type poolKey string

// siteIndexes are the sites of all configurations of the process.
var siteIndexes = caddy.NewUsagePool()

// fingerprint identifies configuration values by their JSON.
func fingerprint(parts ...any) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, p := range parts {
		if err := enc.Encode(p); err != nil {
			panic(err) // our own configuration types always marshal
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// run connects a site to its index, which is made if no earlier configuration
// has the same.
func (a *App) run(r *LiveSite) error {
	shape := *r.Config // what does not shape the index is left out
	shape.Organization, shape.Name, shape.Instructions, shape.SupportURL = "", "", "", ""
	shape.AllowLinks, shape.StarterQuestions, shape.Suggestions = nil, nil, false
	key := poolKey(fingerprint(a.DataDir, r.Name, shape, a.indexKey, a.embedderKey))
	v, _, err := siteIndexes.LoadOrNew(key, func() (caddy.Destructor, error) { return a.newSiteIndex(r) })
	if err != nil {
		return err
	}
	a.pooled = append(a.pooled, key)
	r.index = v.(*siteIndex)
	if err := a.makeAssistants(r); err != nil {
		return err
	}
	a.announce(r)
	return nil
}

// newSiteIndex makes a site's index and begins to refresh it. It does not wait.
func (a *App) newSiteIndex(r *LiveSite) (*siteIndex, error) {
	s := r.Config
	log := a.log.With("site", r.Name)
	dir := filepath.Join(a.DataDir, r.Name)
	in, err := ingest.New(ingest.Options{
		URL: s.URL, CleanURLs: s.CleanURLs, Anchors: s.Anchors,
		Versions: scopes(s.Versions), Languages: scopes(s.Languages),
		Include: s.Include, Exclude: s.Exclude,
	})
	if err != nil {
		return nil, err
	}
	src, err := openSource(s, in, log)
	if err != nil {
		return nil, err
	}
	index, err := a.indexes.OpenIndex(IndexOptions{Site: r.Name, Dir: filepath.Join(dir, "index"), Synonyms: s.Synonyms, StopWords: s.StopWords, Locker: a.store, Log: log})
	if err != nil {
		return nil, err
	}
	c := &siteIndex{index: index, searcher: index, looked: make(chan struct{}), done: make(chan struct{})}
	var embedder retrieval.Embedder
	if a.embedders != nil {
		if embedder, err = a.embedders.OpenEmbedder(log); err != nil {
			index.Close()
			return nil, err
		}
	}
	m := a.metrics
	looked := sync.OnceFunc(func() { close(c.looked) })
	c.refresher = retrieval.NewRefresher(retrieval.RefresherOptions{
		Site: r.Name, Source: src, Ingester: in, Index: index, Embedder: embedder,
		Dir: filepath.Join(dir, "pages"), Log: a.log,
		OnReport: func(report retrieval.Report, err error) {
			outcome := "unchanged"
			switch {
			case err != nil:
				outcome = "failed"
			case report.Published:
				outcome = "new"
			}
			m.refreshes.WithLabelValues(r.Name, outcome).Inc()
			m.pages.WithLabelValues(r.Name).Set(float64(report.Pages))
			looked()
			if report.Sections >= manySections && (report.Published || err == nil && report.Generation == 0) {
				go debug.FreeOSMemory()
			}
		},
	})
	if embedder != nil {
		c.searcher = retrieval.NewHybridSearcher(retrieval.HybridOptions{
			Index: index, Embedder: embedder, Ready: c.refresher.HasVectors, Log: log,
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.holders.Store(1)
	go func() {
		defer close(c.done)
		if err := c.refresher.Run(ctx); err != nil && ctx.Err() == nil {
			log.Error("the index is no longer refreshed", "error", err)
		}
	}()
	return c, nil
}

func scopes(in []Scope) []ingest.Scope {
	out := make([]ingest.Scope, len(in))
	for i, s := range in {
		out[i] = ingest.Scope{Value: s.Value, Paths: s.Paths}
	}
	return out
}

// openSource is the folder or the sitemap that a site's pages come from.
func openSource(s *Site, in *ingest.Ingester, log *slog.Logger) (retrieval.Source, error) {
	if s.Sitemap != "" {
		if _, err := source.ParseSitemapURL(s.Sitemap); err != nil {
			return nil, err
		}
		return &source.Sitemap{
			URL: s.Sitemap, Wants: in.Wants, AllowPrivate: s.AllowPrivate,
			Interval: time.Duration(s.PollInterval), MaxPage: ingest.MaxBytes,
		}, nil
	}
	mode, err := source.ParseWatchMode(s.Watch)
	if err != nil {
		return nil, err
	}
	return &source.Folder{
		Root: s.Root, Wants: in.Wants, MaxPage: ingest.MaxBytes,
		Mode: mode, Interval: time.Duration(s.PollInterval), Log: log,
	}, nil
}

// acquire holds the index unless it is closed.
func (c *siteIndex) acquire() bool {
	for {
		n := c.holders.Load()
		if n == 0 {
			return false
		}
		if c.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (c *siteIndex) release() {
	if c.holders.Add(-1) == 0 {
		_ = c.index.Close()
	}
}

// Destruct is called when the last configuration lets go: the source is no
// longer watched; the index closes once the last reply that holds it ended.
func (c *siteIndex) Destruct() error {
	c.cancel()
	<-c.done
	c.release()
	return nil
}

// announce writes the site's line of the start log, once its index is known.
func (a *App) announce(r *LiveSite) {
	words := []any{"site", r.Name}
	model := "none: replies are extractive"
	if a.model != nil {
		model = a.model.Name()
	}
	embedder := cmp.Or(a.embedderName(), "none: search is by keywords")
	threads := "off"
	if ttl := a.threadsTTL(); ttl > 0 {
		threads = "kept for " + Days(ttl)
	}
	words = append(words, "model", model, "embedder", embedder, "threads", threads)
	if !a.keys.Opened(r.Organization, r.Name) {
		a.log.Warn(fmt.Sprintf("site %s has no key; run: caddy docs key create --site %s", r.Name, r.Name), "site", r.Name)
	}
	c := r.index
	a.goBackground(func(ctx context.Context) {
		select {
		case <-ctx.Done():
			return
		case <-c.looked:
		}
		st := c.refresher.Status()
		words = append(words, "pages", st.Pages, "sections", st.Sections, "seconds", st.Last.Took.Seconds())
		if !st.Ready {
			a.log.Warn(fmt.Sprintf("site %s has no index yet: %s; caddy docs doctor says what to do", r.Name, cmp.Or(st.Error, st.Held)), words...)
			return
		}
		a.log.Info("site "+r.Name+" is served", words...)
	})
}

// Days is a duration in days, where it is a whole number of them.
func Days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return strings.TrimSuffix(d.String(), "0s")
}

// assistant.Searcher is what a running site is to its assistant.
var _ assistant.Searcher = (*LiveSite)(nil)
