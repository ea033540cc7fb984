package retrieval

import "context"

// EmbeddingStatus is how far a site's vectors are.
type EmbeddingStatus struct {
	Model string `json:"model"`
	// Done of Total sections have a vector.
	Done  int `json:"done"`
	Total int `json:"total"`
	// Error is why it doesn't go on, "" while it does.
	Error string `json:"error,omitempty"`
}

type embedding struct{ r *Refresher }

func newEmbedding(r *Refresher) *embedding            { return &embedding{r} }
func (e *embedding) run(ctx context.Context)          { <-ctx.Done() }
func (e *embedding) wake()                            {}
func (e *embedding) lookup([]*Document) [][][]float32 { return nil }
func (e *embedding) status() EmbeddingStatus          { return EmbeddingStatus{Model: e.r.o.Embedder.Model()} }
