package meilisearch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/short"
)

// ServerStatus is the state of a server for a site.
type ServerStatus struct {
	URL     string `json:"url"`
	Version string `json:"version,omitempty"`
	// Error is why the server is not searched or not written, "" if it is both.
	Error string `json:"error,omitempty"`
	// Behind is for how many seconds the server has lacked the site's current
	// pages; 0: it has them.
	Behind float64 `json:"behind_seconds"`
	// Sent is how many of Sending sections were sent in the update in progress, and
	// Rate how many a second; all are 0 without one.
	Sent    int     `json:"sent,omitempty"`
	Sending int     `json:"sending,omitempty"`
	Rate    float64 `json:"sections_per_second,omitempty"`
	// Waiting is how many tasks of the site the server has not finished.
	Waiting int `json:"waiting_tasks"`
	// LastTask is the latest one, nil if there is none.
	LastTask *TaskStatus   `json:"last_task,omitempty"`
	Indexes  []IndexStatus `json:"indexes,omitempty"`
}

// TaskStatus is a task of a server.
type TaskStatus struct {
	UID      int64     `json:"uid"`
	Index    string    `json:"index,omitempty"`
	Type     string    `json:"type"`
	Status   string    `json:"status"`
	Error    string    `json:"error,omitempty"`
	Finished time.Time `json:"finished,omitzero"`
}

// IndexStatus is the state of an index of a server.
type IndexStatus struct {
	UID string `json:"uid"`
	// Documents are those that the index has, of Wanted. Embedded is how many
	// of them have a vector.
	Documents int `json:"documents"`
	Wanted    int `json:"wanted"`
	Embedded  int `json:"embedded"`
}

// Status asks all servers for their state, until ctx is done.
func (x *Index) Status(ctx context.Context) []ServerStatus {
	all := make([]ServerStatus, len(x.servers))
	var group sync.WaitGroup
	for i, s := range x.servers {
		group.Go(func() { all[i] = s.statusOf(ctx) })
	}
	group.Wait()
	return all
}

func (s *replica) statusOf(ctx context.Context) ServerStatus {
	err := s.probe(ctx)
	st := ServerStatus{URL: s.url}
	c := s.site.target.Load()
	if c != nil && err == nil {
		if st.Indexes, err = statusOfIndexes(ctx, s, c); err == nil {
			err = s.addTasks(ctx, c, &st)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Version = s.version
	if c != nil && s.outdated {
		st.Behind = time.Since(s.behind).Seconds()
	}
	if p := s.sending; !p.began.IsZero() {
		st.Sent, st.Sending, st.Rate = p.sent, p.total, float64(p.sent)/time.Since(p.began).Seconds()
	}
	// The rights say more than the call that lacked one.
	if err = cmp.Or(s.refusal(), err); err != nil {
		st.Error = err.Error()
	}
	return st
}

func statusOfIndexes(ctx context.Context, s *replica, c *content) ([]IndexStatus, error) {
	var indexes []IndexStatus
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		st := IndexStatus{UID: uid, Wanted: c.indexes[uid].sections}
		stats, err := s.stats(ctx, uid)
		if err != nil && !indexNotFound(err) {
			return nil, err
		}
		st.Documents, st.Embedded = stats.NumberOfDocuments, stats.NumberOfEmbeddedDocuments
		indexes = append(indexes, st)
	}
	return indexes, nil
}

// addTasks adds the latest task of the site's indexes, and how many of the
// latest are waiting.
func (s *replica) addTasks(ctx context.Context, c *content, st *ServerStatus) error {
	query := url.Values{"indexUids": {strings.Join(slices.Sorted(maps.Keys(c.indexes)), ",")}, "limit": {"100"}}
	var page struct{ Results []serverTask }
	if err := s.admin(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil, &page); err != nil {
		return err
	}
	for i, t := range page.Results {
		if t.Status == "enqueued" || t.Status == "processing" {
			st.Waiting++
		}
		if i == 0 {
			st.LastTask = &TaskStatus{UID: t.UID, Index: t.IndexUID, Type: t.Type, Status: t.Status, Finished: t.FinishedAt}
			if t.Problem.Code != "" {
				st.LastTask.Error = t.Problem.Code + ": " + t.Problem.Message
			}
		}
	}
	return nil
}

// String describes the server in a line.
func (s ServerStatus) String() string {
	parts := []string{strings.TrimSpace(s.URL + " " + s.Version)}
	switch {
	case s.Error != "":
		parts = append(parts, s.Error)
	case s.Sending > 0:
		parts = append(parts, fmt.Sprintf("%d of %d sections sent, %.0f a second", s.Sent, s.Sending, s.Rate))
	case s.Behind > 0:
		parts = append(parts, fmt.Sprintf("%.0f s behind", s.Behind))
	default:
		parts = append(parts, "up to date")
	}
	if s.Waiting > 0 {
		parts = append(parts, short.Count(s.Waiting, "task")+" waiting")
	}
	for _, ix := range s.Indexes {
		parts = append(parts, fmt.Sprintf("%s %d of %d sections, %d with vectors", ix.UID, ix.Documents, ix.Wanted, ix.Embedded))
	}
	if t := s.LastTask; t != nil {
		last := fmt.Sprintf("last task %d %s %s", t.UID, t.Type, t.Status)
		if !t.Finished.IsZero() {
			last += " at " + t.Finished.Local().Format(time.DateTime)
		}
		if t.Error != "" {
			last += ": " + t.Error
		}
		parts = append(parts, last)
	}
	return strings.Join(parts, "; ")
}
