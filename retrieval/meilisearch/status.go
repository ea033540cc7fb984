package meilisearch

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"
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
	var indexes []IndexStatus
	var last []*TaskStatus
	waiting := 0
	err := s.probe(ctx)
	c := s.site.target.Load()
	if c != nil && err == nil {
		indexes, err = s.statusOfIndexes(ctx, c)
		if err == nil {
			last, _, err = s.tasks(ctx, "")
		}
		if err == nil {
			_, waiting, err = s.tasks(ctx, "enqueued,processing")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ServerStatus{URL: s.url, Version: s.version, Indexes: indexes, Waiting: waiting}
	if len(last) > 0 {
		st.LastTask = last[0]
	}
	if c != nil && s.outdated {
		st.Behind = time.Since(s.behind).Seconds()
	}
	// The rights say more than the call that lacked one.
	switch {
	case s.lacking != nil:
		st.Error = s.lacking.Error()
	case s.foreign != nil:
		st.Error = s.foreign.Error()
	case err != nil:
		st.Error = err.Error()
	}
	return st
}

func (s *replica) statusOfIndexes(ctx context.Context, c *content) ([]IndexStatus, error) {
	var indexes []IndexStatus
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		st := IndexStatus{UID: uid, Wanted: c.indexes[uid].sections}
		stats, err := s.admin.Index(uid).GetStatsWithContext(ctx, &sdk.StatsParams{})
		if err = s.explain(err); err == nil {
			st.Documents, st.Embedded = int(stats.NumberOfDocuments), int(stats.NumberOfEmbeddedDocuments)
		} else if !indexNotFound(err) {
			return nil, err
		}
		indexes = append(indexes, st)
	}
	return indexes, nil
}

// tasks returns the latest task of the site's indexes with one of the
// statuses, and how many there are.
func (s *replica) tasks(ctx context.Context, statuses string) (latest []*TaskStatus, total int, err error) {
	uids := slices.Sorted(maps.Keys(s.site.target.Load().indexes))
	query := url.Values{"indexUids": {strings.Join(uids, ",")}, "limit": {"1"}}
	if statuses != "" {
		query.Set("statuses", statuses)
	}
	var page struct {
		Total   int
		Results []struct {
			UID                    int64
			IndexUID, Type, Status string
			FinishedAt             time.Time
			Error                  *struct{ Code, Message string }
		}
	}
	if err := s.get(ctx, "/tasks?"+query.Encode(), &page); err != nil {
		return nil, 0, err
	}
	for _, t := range page.Results {
		st := &TaskStatus{UID: t.UID, Index: t.IndexUID, Type: t.Type, Status: t.Status, Finished: t.FinishedAt}
		if t.Error != nil {
			st.Error = t.Error.Code + ": " + t.Error.Message
		}
		latest = append(latest, st)
	}
	return latest, page.Total, nil
}

// String describes the server in a line.
func (s ServerStatus) String() string {
	parts := []string{strings.TrimSpace(s.URL + " " + s.Version)}
	switch {
	case s.Error != "":
		parts = append(parts, s.Error)
	case s.Behind > 0:
		parts = append(parts, fmt.Sprintf("%.0f s behind", s.Behind))
	default:
		parts = append(parts, "up to date")
	}
	if s.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d tasks waiting", s.Waiting))
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
