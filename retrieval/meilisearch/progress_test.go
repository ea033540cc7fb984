package meilisearch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// An update of a large site may take hours: it ends only if nothing is done.
func TestAnUpdateEndsWhenNothingIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := withProgress(t.Context(), time.Minute)
		defer cancel()
		for range 100 {
			time.Sleep(50 * time.Second)
			progressed(ctx)
		}
		if err := ctx.Err(); err != nil {
			t.Fatalf("it ended while it went on: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after a minute without progress: %v", err)
		}
	})
}
