package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
)

// SourceStatus is the state of one of a site's sources.
type SourceStatus struct {
	// Name says what it reads: "folder /srv/docs".
	Name string `json:"name"`
	Status
}

// Sources keep the index of a site up to date with one or several sources, each
// of which has a Refresher: a source that is slow or fails delays no other, and
// its last good pages stay.
type Sources struct {
	names      []string
	refreshers []*Refresher
	parts      []*part // nil for a single source
}

// NewSources returns the Sources with some names, for options that have the same
// Index.
func NewSources(names []string, options []RefresherOptions) *Sources {
	s := &Sources{names: names}
	if len(options) > 1 {
		keys := slices.Clone(names)
		keys[0] = "" // as for a single one
		restore := options[0].Restore
		var once sync.Once
		j := new(joint)
		for i := range options {
			j.parts = append(j.parts, &part{Index: options[0].Index, joint: j, source: keys[i], loaded: make(chan struct{})})
		}
		s.parts = j.parts
		for i, p := range s.parts {
			options[i].Index, options[i].part = p, p
			if restore != nil {
				options[i].Restore = func(ctx context.Context, progress func(done, total int)) {
					once.Do(func() { restore(ctx, progress) })
				}
			}
		}
	}
	for _, o := range options {
		s.refreshers = append(s.refreshers, NewRefresher(o))
	}
	return s
}

// Run refreshes the index at once and after every change, until ctx is done.
func (s *Sources) Run(ctx context.Context) error {
	errs := make([]error, len(s.refreshers))
	var group sync.WaitGroup
	for i, r := range s.refreshers {
		group.Go(func() { errs[i] = r.Run(ctx) })
	}
	group.Wait()
	return errs[0]
}

// Refresh brings the index up to date with all sources. See Refresher.Refresh.
func (s *Sources) Refresh(ctx context.Context) (Report, error) {
	return s.each(func(r *Refresher) (Report, error) { return r.Refresh(ctx) })
}

// Rebuild is a Refresh that reads all pages again. See Refresher.Rebuild.
func (s *Sources) Rebuild(ctx context.Context) (Report, error) {
	return s.each(func(r *Refresher) (Report, error) { return r.Rebuild(ctx) })
}

func (s *Sources) each(do func(*Refresher) (Report, error)) (Report, error) {
	reports, errs := make([]Report, len(s.refreshers)), make([]error, len(s.refreshers))
	var group sync.WaitGroup
	for i, r := range s.refreshers {
		group.Go(func() {
			reports[i], errs[i] = do(r)
			if errs[i] != nil && s.parts != nil {
				errs[i] = fmt.Errorf("%s: %w", s.names[i], errs[i])
			}
		})
	}
	group.Wait()
	sum := reports[0]
	for i, r := range reports[1:] {
		sum.add(r, s.names[i+1])
	}
	return sum, errors.Join(errs...)
}

// add adds the report of a further source.
func (r *Report) add(o Report, source string) {
	r.Generation += o.Generation
	r.Published = r.Published || o.Published
	r.Pages, r.Sections, r.Read, r.Problems = r.Pages+o.Pages, r.Sections+o.Sections, r.Read+o.Read, r.Problems+o.Problems
	r.Added, r.Removed, r.Changed = r.Added+o.Added, r.Removed+o.Removed, r.Changed+o.Changed
	if o.Held != "" {
		r.Held = joined(r.Held, source+": "+o.Held)
	}
	r.Took = max(r.Took, o.Took)
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// Status returns the current status, with that of each source if there are
// several.
func (s *Sources) Status() Status {
	if s.parts == nil {
		return s.refreshers[0].Status()
	}
	var sum Status
	for i, r := range s.refreshers {
		st := r.Status()
		if p, n := s.parts[i].problem(); n > 0 {
			p.Since = st.Published
			st.Problems, st.ProblemCount = append(slices.Clip(st.Problems), p), st.ProblemCount+n
			st.Pages -= n // they are among those of the other source
		}
		st.Problems = st.Problems[:min(len(st.Problems), maxProblems)]
		if i == 0 {
			sum = st
			sum.Held, sum.Error = "", ""
		} else {
			sum.Done, sum.Total = sum.Done+st.Done, sum.Total+st.Total
			sum.Generation += st.Generation
			sum.Pages, sum.Sections = sum.Pages+st.Pages, sum.Sections+st.Sections
			sum.Problems, sum.ProblemCount = append(slices.Clip(sum.Problems), st.Problems...), sum.ProblemCount+st.ProblemCount
			sum.Ready = sum.Ready || st.Ready
			if sum.State == Idle {
				sum.State = st.State
			}
			if st.Checked.Before(sum.Checked) {
				sum.Checked = st.Checked
			}
			sum.Published = slices.MaxFunc([]time.Time{sum.Published, st.Published}, time.Time.Compare)
			sum.Last.add(st.Last, s.names[i])
			if e, more := sum.Embeddings, st.Embeddings; e != nil && more != nil {
				sum.Embeddings = &EmbeddingStatus{e.Model, e.Done + more.Done, e.Total + more.Total, e.Refused + more.Refused, cmp.Or(e.Error, more.Error)}
			}
		}
		if st.Held != "" {
			sum.Held = joined(sum.Held, s.names[i]+": "+st.Held)
		}
		if st.Error != "" {
			sum.Error = joined(sum.Error, s.names[i]+": "+st.Error)
		}
		sum.Sources = append(sum.Sources, SourceStatus{s.names[i], st})
	}
	sum.Problems = sum.Problems[:min(len(sum.Problems), maxProblems)]
	return sum
}

// Generation returns a number that changes with the generation in the index.
func (s *Sources) Generation() (n uint64) {
	for _, r := range s.refreshers {
		n += r.Generation()
	}
	return n
}

// Vectors returns those of texts that were embedded for the index, nil for each
// other.
func (s *Sources) Vectors(ctx context.Context, keys []disk.Key) [][]float32 {
	all := make([][]float32, len(keys))
	for _, r := range s.refreshers {
		if r.embeddings == nil || r.lock.Acquire(ctx, 1) != nil {
			continue
		}
		cache := r.embeddings.cache
		r.lock.Release(1)
		if cache == nil {
			continue
		}
		for i, v := range cache.Get(keys) {
			if v != nil {
				all[i] = v
			}
		}
	}
	return all
}

// HasVectors reports whether the index has vectors, and queries are worth
// embedding.
func (s *Sources) HasVectors() bool {
	return slices.ContainsFunc(s.refreshers, (*Refresher).HasVectors)
}
