package site

import (
	"context"
	"errors"
	"testing"

	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// A site that is being closed does not wait for the check of an operator.
func TestACheckOfLinksWaitsForAnotherNoLongerThanItsContext(t *testing.T) {
	r := New("acme", new(options.Site), new(Shared))
	if err := r.links.checking.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.CheckLinks(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
