package retrieval

import (
	"fmt"
	"time"
)

// State is what a Refresher is doing.
type State string

const (
	Idle      State = "idle"
	Loading   State = "loading" // what an earlier run left
	Scanning  State = "scanning"
	Indexing  State = "indexing"
	Embedding State = "embedding"
)

// maxProblems limits Status.Problems.
const maxProblems = 100

// Report is what one refresh did.
type Report struct {
	// Generation is the number of the generation that the refresh left in the
	// index, new or not. They are numbered in each process; 0 is the one
	// loaded from disk.
	Generation uint64 `json:"generation"`
	// Published is true if this refresh made that generation.
	Published bool `json:"published"`
	Pages     int  `json:"pages"`
	Sections  int  `json:"sections"`
	Added     int  `json:"added"`
	Removed   int  `json:"removed"`
	Changed   int  `json:"changed"`
	// Read is the number of files that were read. The others were unchanged.
	Read     int `json:"read"`
	Problems int `json:"problems"`
	// Restored is what an index in a server lacked or had besides, which is
	// corrected now.
	Restored []string `json:"restored,omitempty"`
	// Held is why the pages found were not published, "" if they were.
	Held    string        `json:"held,omitempty"`
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`

	incomplete bool // pages failed in a way that may pass
	young      bool // files have no version yet
}

// String returns a summary: "412 pages (+3 −1 ~9), 0.4 s".
func (r Report) String() string {
	return fmt.Sprintf("%d pages (+%d −%d ~%d), %.1f s", r.Pages, r.Added, r.Removed, r.Changed, r.Took.Seconds())
}

// Status is the state of a site's index.
type Status struct {
	State State `json:"state"`
	// Done of Total pages are loaded or read, or sections embedded.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Ready is false until there is a generation to search.
	Ready      bool   `json:"ready"`
	Generation uint64 `json:"generation"`
	Pages      int    `json:"pages"`
	Sections   int    `json:"sections"`
	// Checked is when the pages last matched their source, Published when the
	// generation was made (zero if it was loaded from disk).
	Checked   time.Time `json:"checked,omitzero"`
	Published time.Time `json:"published,omitzero"`
	// Last is the last refresh that ended.
	Last Report `json:"last"`
	// Held is why the pages found are not published, Error why the last
	// refresh failed. The previous generation is served meanwhile.
	Held  string `json:"held,omitempty"`
	Error string `json:"error,omitempty"`
	// Problems are pages that are missing or outdated in the index, at most
	// 100 of ProblemCount.
	Problems     []Problem `json:"problems,omitempty"`
	ProblemCount int       `json:"problem_count"`
	// Embeddings is nil without an embedder.
	Embeddings *EmbeddingStatus `json:"embeddings,omitempty"`
	// Sources are those of a site that has several. The other fields sum them
	// up; Checked is of the one that was checked first.
	Sources []SourceStatus `json:"sources,omitempty"`
}

// Status returns the current status.
func (r *Refresher) Status() Status {
	r.mu.Lock()
	s := r.status
	if s.Embeddings != nil {
		e := *s.Embeddings
		if s.Embeddings = &e; s.State == Idle && e.Done < e.Total && e.Error == "" {
			s.State, s.Done, s.Total = Embedding, e.Done, e.Total
		}
	}
	r.mu.Unlock()
	// A generation is searched before what comes after it is done, such as
	// writing it to the disk.
	s.Ready = s.Ready || len(r.options.Index.Documents()) > 0
	return s
}

// Generation returns the number of the generation in the index.
func (r *Refresher) Generation() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.Generation
}

func (r *Refresher) setStatus(change func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.status)
}

// HasVectors reports whether the current generation has vectors, and queries
// are worth embedding.
func (r *Refresher) HasVectors() bool {
	return r.embeddings != nil && r.embeddings.published.Load()
}
