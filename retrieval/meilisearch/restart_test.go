package meilisearch_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// However many searches fail at a time while a server restarts, it is probed
// at a constant pace, and so found again within a second.
func TestARestartUnderManyClientsIsNoticedSoon(t *testing.T) {
	t.Parallel()
	s := fake(t)
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()})
	replace(t, x, site(), nil)
	// Searches take their time, so that many are in flight at each moment.
	var down atomic.Bool
	s.Break(func(r *http.Request) *meiliserver.Fault {
		if r.URL.Path == "/multi-search" {
			time.Sleep(20 * time.Millisecond)
		}
		if down.Load() {
			return &meiliserver.Fault{Cut: true}
		}
		return nil
	})
	var found atomic.Int64 // the time of the latest answer
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range 24 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5}); err == nil {
					found.Store(time.Now().UnixNano())
				} else {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
	eventually(t, "searches are answered", func() bool { return found.Load() > 0 })
	down.Store(true)
	s.CloseClientConnections()
	probes := s.Calls("GET /version")
	eventually(t, "the server is probed at the same pace for as long as it is down", func() bool {
		return s.Calls("GET /version") >= probes+6
	})
	found.Store(0)
	down.Store(false)
	back := time.Now()
	eventually(t, "searches are answered again", func() bool { return found.Load() > 0 })
	t.Logf("found %v after the server was back", time.Unix(0, found.Load()).Sub(back))
	close(done)
	clients.Wait()
}
