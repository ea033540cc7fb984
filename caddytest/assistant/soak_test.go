package assistant

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// heldByProcess is what the process holds once nothing happens any more.
func heldByProcess() (goroutines int, heap uint64) {
	for range 3 {
		runtime.GC()
		time.Sleep(100 * time.Millisecond) // finalizers and ending goroutines
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), m.HeapAlloc
}

// Replies, searches, reloads, faults and readers who leave, again and again:
// goroutines and heap return to where they began. CADDYDOCS_SOAK says how
// long, like 10m.
func TestASoakLeavesNothingBehind(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("CADDYDOCS_SOAK"))
	if err != nil {
		t.Skip("set CADDYDOCS_SOAK to a duration, like 10m")
	}
	m := modelserver.New()
	model := httptest.NewServer(m)
	t.Cleanup(func() { model.CloseClientConnections(); model.Close() })
	url := model.URL + "/v1"
	m.Keep(1)
	m.Answer(func(r *modelserver.Request) modelserver.Reply {
		reply := modelserver.Reply{Text: caddytest.ModelAnswer + " " + strings.Join(caddytest.Numbers(50), ""), Gap: time.Millisecond}
		switch r.N % 20 {
		case 1:
			return modelserver.Reply{Status: 500}
		case 2:
			reply.Fault, reply.After = modelserver.Cut, 5
		case 3:
			reply.Fault, reply.After = modelserver.Hang, 5
		}
		return reply
	})
	root, port := caddytest.AcmeFolder(t), caddytest.FreePort(t) // one port, which reloads hand over
	docs := func(n int) string {
		return caddytest.LLM(url, "first", fmt.Sprintf("idle_timeout 300ms\nmax_tokens %d\nbudget 100M tokens per day", 1000+n%3)) + "\nthreads ttl 1h"
	}
	site := func(n int) string {
		return fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s {\n\t\trate_limit off\n\t\tsynonyms rocket missile%d\n\t}\n}\n", port, root, n%2)
	}
	s := caddytest.Start(t, docs(0), site(0))
	s.Ready("acme")
	base := s.Base
	transport := &http.Transport{MaxIdleConnsPerHost: 50}
	web := &http.Client{Transport: transport}
	var replies, searches, left, reloads, failed atomic.Int64

	round := func(until time.Time) {
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := worker; time.Now().Before(until); i++ {
					version, path, body := i%2+1, caddytest.SearchPath, `{"query":"install rockets"}`
					if i%3 > 0 {
						path, body = caddytest.Message(version, caddytest.InstallQuestion, map[string]any{"fp": fmt.Sprintf("reader%d", i%50)})
					}
					req, err := http.NewRequest(http.MethodPost, base+path, strings.NewReader(body))
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("Content-Type", "application/json")
					req.Header.Set("Authorization", "Bearer "+caddytest.Key)
					resp, err := web.Do(req)
					if err != nil {
						failed.Add(1) // a POST on a connection that the reload closes as idle
						continue
					}
					switch {
					case path == caddytest.SearchPath:
						searches.Add(1)
						_, _ = io.Copy(io.Discard, resp.Body)
					case i%7 == 0:
						left.Add(1)
						_, _ = io.CopyN(io.Discard, resp.Body, 500)
					default:
						data, err := io.ReadAll(resp.Body)
						got, perr := caddytest.ReadReply(version, data)
						if err != nil || resp.StatusCode == http.StatusOK && (perr != nil || !got.Finished && got.Error == "") {
							t.Errorf("%d %v %v: %s", resp.StatusCode, err, perr, data)
						}
						replies.Add(1)
					}
					resp.Body.Close()
				}
			})
		}
		for n := 1; time.Now().Before(until); n++ {
			time.Sleep(500 * time.Millisecond)
			s.Load(docs(n), site(n))
			reloads.Add(1)
		}
		wg.Wait()
	}
	settle := func() (int, uint64) {
		s.Load(docs(0), site(0))
		s.Ready("acme")
		transport.CloseIdleConnections()
		s.Client.CloseIdleConnections()
		caddytest.Until(t, "no reply is in progress", func() bool { return runningReplies() == 0 })
		model.CloseClientConnections() // idle ones, of which as many stay as there were streams at once
		// Servers of earlier configurations wait 5 s for connections on which
		// nothing ever came.
		time.Sleep(6 * time.Second)
		return heldByProcess()
	}
	round(time.Now().Add(min(d/5, 30*time.Second))) // caches and pools fill
	goroutines, heap := settle()
	round(time.Now().Add(d))
	goroutinesAfter, heapAfter := settle()
	t.Logf("%v: %d replies, %d searches, %d left, %d reloads, %d connections closed by reloads; goroutines %d → %d, heap %.1f → %.1f MB",
		d, replies.Load(), searches.Load(), left.Load(), reloads.Load(), failed.Load(), goroutines, goroutinesAfter, float64(heap)/1e6, float64(heapAfter)/1e6)
	if total := replies.Load() + searches.Load() + left.Load(); failed.Load() > total/10 {
		t.Errorf("%d of %d requests found no connection", failed.Load(), total)
	}
	if goroutinesAfter > goroutines+5 {
		buf := make([]byte, 1<<20)
		t.Errorf("goroutines: %d → %d\n%s", goroutines, goroutinesAfter, buf[:runtime.Stack(buf, true)])
	}
	// Threads in use may fill 16 MB of memory.
	if heapAfter > heap+heap/4+24<<20 {
		t.Errorf("heap: %d → %d", heap, heapAfter)
	}
}

// runningReplies is the number of replies in progress, of all sites.
func runningReplies() (n float64) {
	ctx := caddy.ActiveContext()
	families, err := ctx.GetMetricsRegistry().Gather()
	if err != nil {
		return -1
	}
	for _, f := range families {
		if f.GetName() == "caddy_docs_open_streams" {
			for _, m := range f.GetMetric() {
				n += m.GetGauge().GetValue()
			}
		}
	}
	return n
}
