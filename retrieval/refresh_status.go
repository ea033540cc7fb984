package retrieval

import (
	"fmt"
	"time"
)

// State is what a Refresher is doing.
type State string

const (
	Idle      State = "idle"
	Scanning  State = "scanning"
	Indexing  State = "indexing"
	Embedding State = "embedding"
)

// Report is what one refresh did.
type Report struct {
	// Generation counts those of this process; 0: still the one loaded from
	// disk. It is the one served when the refresh ended, new or not.
	Generation uint64 `json:"generation"`
	// Published is true if this refresh made that generation.
	Published bool `json:"published"`
	Pages     int  `json:"pages"`
	Sections  int  `json:"sections"`
	Added     int  `json:"added"`
	Removed   int  `json:"removed"`
	Changed   int  `json:"changed"`
	// Read is how many files were read; the others were known unchanged.
	Read     int `json:"read"`
	Problems int `json:"problems"`
	// Held says why the pages found were not taken over, "" if they were.
	Held    string        `json:"held,omitempty"`
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"took"`
}

// String is the report's log line: "412 pages (+3 −1 ~9), 0.4 s".
func (r Report) String() string {
	return fmt.Sprintf("%d pages (+%d −%d ~%d), %.1f s", r.Pages, r.Added, r.Removed, r.Changed, r.Took.Seconds())
}

// Status is what an operator wants to know of a site's index.
type Status struct {
	State State `json:"state"`
	// Done of Total pages (scanning: files) in the refresh under way.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Ready is false until there is a generation to answer from.
	Ready      bool   `json:"ready"`
	Generation uint64 `json:"generation"`
	Pages      int    `json:"pages"`
	Sections   int    `json:"sections"`
	// Checked is when the pages were last known to match their source;
	// Published when the generation was made (zero: loaded from disk).
	Checked   time.Time `json:"checked,omitzero"`
	Published time.Time `json:"published,omitzero"`
	// Last is the last refresh that ended.
	Last Report `json:"last"`
	// Held says why what was found is not yet, or not at all, taken over;
	// Error why the last refresh failed. The generation of before serves.
	Held  string `json:"held,omitempty"`
	Error string `json:"error,omitempty"`
	// Problems are pages that are missing or older than their source, at
	// most 100 of ProblemCount.
	Problems     []Problem `json:"problems,omitempty"`
	ProblemCount int       `json:"problem_count"`
	// Embeddings is nil without an embedder.
	Embeddings *EmbeddingStatus `json:"embeddings,omitempty"`
}

// maxProblems bounds Status.Problems.
const maxProblems = 100
