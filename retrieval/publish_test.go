package retrieval

import (
	"testing"
	"time"
)

func TestASlowIndexIsNotPublishedAgainAtOnce(t *testing.T) {
	e := &embeddings{}
	for took, want := range map[time.Duration]time.Duration{
		0:                publishInterval,
		10 * time.Second: publishInterval,
		10 * time.Minute: 50 * time.Minute,
	} {
		e.took.Store(int64(took))
		if got := e.publishAfter(); got != want {
			t.Errorf("after %v, the next publication is after %v, want %v", took, got, want)
		}
	}
}
