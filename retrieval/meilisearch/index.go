// Package meilisearch is the search index in Meilisearch servers: they find
// and rank, by keywords and vectors, and hold what they search. Beside them
// this process keeps the pages' texts and words, to show what was found, to
// score it as the embedded index does, and to answer itself when told to
// and no server does.
package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// Locker is a lock that all programs share which write to the servers.
type Locker interface {
	// Lock waits until the lock is held, or ctx done.
	Lock(ctx context.Context, name string) error
	Unlock(ctx context.Context, name string) error
}

// Options configure an Index. URLs and Site are required.
type Options struct {
	// URLs of independent servers, each of which holds everything: all are
	// written, one is read, the others where it fails.
	URLs []string
	// Site names the indexes: <Prefix>-<Site>-<language>.
	Site string
	// Prefix begins the indexes' names. Default: "docs".
	Prefix string
	// Key is for indexing; SearchKey, where given, for searching.
	Key, SearchKey string
	// SemanticRatio is the vectors' share in a hybrid search, 0–1; nil: 0.5.
	SemanticRatio *float64
	// Embedder names an embedder in the settings of the servers' indexes,
	// which then makes all vectors; ours are not used.
	Embedder string
	// Fallback answers from this process when no server does.
	Fallback bool
	// Dir keeps the pages between runs, see embedded.Options.
	Dir string
	// Synonyms and StopWords as in embedded.Options; the servers get them, too.
	Synonyms  [][]string
	StopWords []string
	// Locker; nil: no other program writes.
	Locker Locker
	// Log; nil: slog.Default().
	Log *slog.Logger
}

// Index implements retrieval.Index.
type Index struct {
	o         Options
	log       *slog.Logger
	prefix    string
	ratio     float64
	beside    *embedded.Index
	instances []*instance

	// target is what the servers should hold.
	target atomic.Pointer[content]
	// working is held by whoever writes to the servers.
	working chan struct{}

	stop context.CancelFunc
	done sync.WaitGroup

	counts   counts
	embedded embedCounts
	// complaints are for log lines that every search could write.
	complaints complaints
	// stopWords are the site's stop words.
	stopWords map[string]bool
}

// Counts counts what became of searches, for metrics.
type Counts struct {
	// Answered by a server; ByWords, too, but by words alone, since it had no
	// vectors to compare or its own embedder gave none; FellBack to this
	// process; Failed altogether.
	Answered, ByWords, FellBack, Failed uint64
}

type counts struct{ answered, byWords, fellBack, failed atomic.Uint64 }

var (
	_ retrieval.Index        = (*Index)(nil)
	_ retrieval.VectorKeeper = (*Index)(nil)
)

// startPatience is how long Open looks for the servers: only to refuse old
// versions at once. One that doesn't answer is looked for later.
const startPatience = time.Second

// Open returns the index of a site. Servers need not be there; one that is
// and whose version is too old is an error (*VersionError).
func Open(o Options) (*Index, error) {
	if len(o.URLs) == 0 {
		return nil, errors.New("no Meilisearch server is named; write its address, like http://127.0.0.1:7700")
	}
	if o.Prefix == "" {
		o.Prefix = "docs"
	}
	x := &Index{o: o, log: o.Log, prefix: uidPrefix(o.Prefix, o.Site), ratio: .5, working: make(chan struct{}, 1)}
	if x.log == nil {
		x.log = slog.Default()
	}
	if o.SemanticRatio != nil {
		x.ratio = *o.SemanticRatio
	}
	if !(x.ratio >= 0 && x.ratio <= 1) {
		return nil, fmt.Errorf("the semantic ratio %v is not a number from 0 to 1", x.ratio)
	}
	for _, u := range o.URLs {
		if err := checkURL(u); err != nil {
			return nil, err
		}
		x.instances = append(x.instances, newInstance(strings.TrimRight(u, "/"), o.Key, o.SearchKey))
	}
	if err := x.refuseOld(); err != nil {
		return nil, err
	}
	var err error
	if x.beside, err = embedded.Open(embedded.Options{Dir: o.Dir, Synonyms: o.Synonyms, StopWords: o.StopWords, Log: x.log}); err != nil {
		return nil, err
	}
	x.stopWords = make(map[string]bool, len(o.StopWords))
	for _, w := range o.StopWords {
		x.stopWords[normal(w)] = true
	}
	if documents := x.beside.Documents(); documents != nil {
		c := newContent(x.prefix, documents, nil)
		c.mean = loadMean(o.Dir)
		x.target.Store(c)
	}
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	for _, in := range x.instances {
		x.done.Go(func() { x.tend(ctx, in) })
	}
	return x, nil
}

func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%q is not the address of a Meilisearch server; write one like http://127.0.0.1:7700, and keys as api_key", redact(address))
	}
	return nil
}

// redact hides what may be a password in an address.
func redact(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "…"
}

func (x *Index) refuseOld() error {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	errs := make([]error, len(x.instances))
	var group sync.WaitGroup
	for i, in := range x.instances {
		group.Go(func() {
			err := in.probe(ctx)
			if v := (*VersionError)(nil); errors.As(err, &v) {
				errs[i] = err
			} else if err != nil {
				x.log.Warn("a Meilisearch server does not answer yet; it is looked for again", "server", in.url, "error", err)
			} else if older(in.version, recommendedVersion) {
				x.log.Warn("this Meilisearch works, but a later version is recommended", "server", in.url, "version", in.version, "recommended", recommendedVersion)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// tend finds a server again that was away, and brings it up to date.
func (x *Index) tend(ctx context.Context, in *instance) {
	looked := time.Now()
	for sleep(ctx, time.Second/2) {
		if x.o.Embedder != "" && time.Since(looked) > embedderInterval {
			x.lookForEmbedder(ctx, in)
			looked = time.Now()
		}
		in.mu.Lock()
		behind, down := in.behind, in.last != nil
		due := time.Now().After(in.until) && time.Now().After(in.retryAfter)
		in.mu.Unlock()
		c := x.target.Load()
		if !due || !down && (!behind || c == nil) {
			continue
		}
		if down {
			if err := in.probe(ctx); err != nil {
				continue
			}
			x.log.Info("a Meilisearch server answers again", "server", in.url)
		}
		if !behind || c == nil {
			continue
		}
		if err := x.mend(ctx, in); err != nil && ctx.Err() == nil {
			in.mu.Lock()
			in.retryAfter = time.Now().Add(in.retryPause)
			in.retryPause = min(2*in.retryPause, downLast)
			in.mu.Unlock()
			x.log.Warn("a Meilisearch server could not be brought up to date; it is tried again", "server", in.url, "error", err)
		}
	}
}

// embedderInterval is how often indexes are looked at that lack the embedder
// which the operator is to set there.
const embedderInterval = 2 * time.Second

// lookForEmbedder sees whether the operator has set the embedder meanwhile.
func (x *Index) lookForEmbedder(ctx context.Context, in *instance) {
	in.mu.Lock()
	embedders := maps.Clone(in.embedders)
	unfit := in.behind || in.last != nil
	in.mu.Unlock()
	for uid, dimensions := range embedders {
		if unfit || dimensions == 0 {
			continue
		}
		have, err := in.settings(ctx, uid)
		if err != nil {
			return // it is looked for again
		}
		if e, ok := embeddersOf(have)[x.o.Embedder]; ok && e.Source != userProvided {
			in.mu.Lock()
			in.behind = true
			in.mu.Unlock()
			return
		}
	}
}

// mend brings one server up to date with what the others have.
func (x *Index) mend(ctx context.Context, in *instance) error {
	unlock, alone, err := x.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if !in.isBehind() {
		return nil
	}
	started := time.Now()
	c := x.target.Load()
	if err := x.sync(ctx, in, c, alone); err != nil {
		in.noteIfAway(err)
		return err
	}
	x.log.Info("a Meilisearch server is up to date", "server", in.url, "sections", len(c.places), "took", time.Since(started))
	return nil
}

func (in *instance) noteIfAway(err error) {
	if unavailable(err) {
		in.note(err)
	}
}

// lockPatience is how long the lock is waited for. Writing without it is
// safe, only perhaps done twice; and Caddy's file storage has a lock that
// its holder was killed with kept fresh for ever by a process that had it
// within five seconds before.
const lockPatience = 30 * time.Second

// lock makes this process, and of all processes this one, the only one that
// writes to the site's indexes. alone is false where the lock did not come:
// then what others may be writing must be left alone.
func (x *Index) lock(ctx context.Context) (unlock func(), alone bool, err error) {
	here, err := x.lockHere(ctx)
	if err != nil || x.o.Locker == nil {
		return here, true, err
	}
	name := "docs_meilisearch_" + x.prefix
	within, cancel := context.WithTimeout(ctx, lockPatience)
	err = x.o.Locker.Lock(within, name)
	cancel()
	unlock = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := x.o.Locker.Unlock(ctx, name); err != nil {
			x.log.Warn("the lock for indexing can't be given back; it runs out by itself", "lock", name, "error", err)
		}
		here()
	}
	switch {
	case err == nil && ctx.Err() != nil:
		// It came when it was no longer wanted. File storage would keep it
		// fresh as long as this process lives.
		unlock()
		return nil, false, ctx.Err()
	case ctx.Err() != nil:
		here()
		return nil, false, ctx.Err()
	case err != nil:
		x.log.Warn("the lock for indexing does not come; it is written without", "lock", name, "error", err)
		return here, false, nil
	}
	return unlock, true, nil
}

// lockHere is lock among this process's goroutines.
func (x *Index) lockHere(ctx context.Context) (unlock func(), err error) {
	select {
	case x.working <- struct{}{}:
		return func() { <-x.working }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Page returns the document of a page, nil if there is none.
func (x *Index) Page(ctx context.Context, page string) (*retrieval.Document, error) {
	return x.beside.Page(ctx, page)
}

// Documents returns the current documents.
func (x *Index) Documents() []*retrieval.Document { return x.beside.Documents() }

// LacksVectors reports whether, after a start, a server has sections
// without vectors: it may have lost them, or other programs may write there.
func (x *Index) LacksVectors() bool {
	if c := x.target.Load(); c == nil || c.known {
		return false
	}
	return slices.ContainsFunc(x.instances, func(in *instance) bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return in.lacks
	})
}

// Counts returns what became of searches so far.
func (x *Index) Counts() Counts {
	return Counts{x.counts.answered.Load(), x.counts.byWords.Load(), x.counts.fellBack.Load(), x.counts.failed.Load()}
}

// Replace makes documents the whole content of all servers. It returns once
// those that can be reached have them; the others are brought up to date
// when they are back. Where none can be reached that is so for all of them,
// and no error: the pages are kept here until then. It is an error if the
// servers refuse the content; the old one then stays.
func (x *Index) Replace(ctx context.Context, documents []*retrieval.Document, vectors [][][]float32) error {
	own := vectors
	if x.o.Embedder != "" {
		own = nil
	}
	c := newContent(x.prefix, documents, own)
	c.known = true
	local := vectors
	if !x.o.Fallback {
		local = nil // the servers hold them
	}
	if x.o.Fallback && x.beside.Documents() == nil {
		// The first pages are searched at once, whatever the servers take.
		if err := x.beside.Replace(ctx, documents, local); err != nil {
			return err
		}
	}
	timed, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	reachable := x.expect()
	if !reachable {
		x.log.Warn("no Meilisearch server answers; it gets the new pages when it is back", "sections", len(c.places))
	}
	// Held until the target has changed: no server must be brought up to the
	// date of before in between.
	var unlock func()
	var alone bool
	var err error
	if reachable {
		unlock, alone, err = x.lock(timed)
	} else {
		unlock, err = x.lockHere(timed)
	}
	if err != nil {
		return err
	}
	defer unlock()
	if reachable {
		if err := x.replaceAll(timed, c, alone); err != nil {
			return err
		}
	}
	// In this order: a server's new sections are left out until they are
	// known here.
	if err := x.beside.Replace(ctx, documents, local); err != nil {
		return err
	}
	x.target.Store(c)
	saveMean(x.o.Dir, c.mean, x.log)
	return nil
}

// expect notes that all servers are about to be behind, and returns whether
// one of them may be reached.
func (x *Index) expect() (reachable bool) {
	for _, in := range x.instances {
		in.mu.Lock()
		in.behind, in.retryAfter = true, time.Time{}
		reachable = reachable || in.refused == nil && !time.Now().Before(in.until)
		in.mu.Unlock()
	}
	return reachable
}

// replaceAll writes to all servers at once. The caller holds the lock.
func (x *Index) replaceAll(ctx context.Context, c *content, alone bool) error {
	errs := make([]error, len(x.instances))
	var group sync.WaitGroup
	for i, in := range x.instances {
		if in.resting() {
			continue
		}
		group.Go(func() {
			if errs[i] = x.sync(ctx, in, c, alone); errs[i] != nil {
				in.noteIfAway(errs[i])
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	done := false
	for _, in := range x.instances {
		done = done || !in.isBehind()
	}
	for i, err := range errs {
		if err == nil {
			continue
		}
		x.log.Warn("a Meilisearch server did not get the new pages; it is tried again", "server", x.instances[i].url, "error", err)
		if !done && !unavailable(err) && !isVersion(err) && !errors.Is(err, errNoVectors) {
			return err
		}
	}
	return nil
}

func isVersion(err error) bool {
	v := (*VersionError)(nil)
	return errors.As(err, &v)
}

// Close ends what goes on in the background.
func (x *Index) Close() error {
	x.stop()
	x.done.Wait()
	for _, in := range x.instances {
		in.close()
	}
	return x.beside.Close()
}
