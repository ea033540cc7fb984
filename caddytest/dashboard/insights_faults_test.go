//go:build linux

package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/pgserver"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/postgres"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
)

// loaded is a Caddy process that readers search all the time.
type loaded struct {
	*caddytest.Process
	t     *testing.T
	admin *http.Client

	sent     atomic.Int64 // searches that were answered
	stopping chan struct{}
	readers  sync.WaitGroup
}

// startLoaded runs a Caddy with a store.
func startLoaded(t *testing.T, store string) *loaded {
	t.Helper()
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // once the process has ended
	port, socket, root := caddytest.FreePort(t), caddytest.Socket(t), caddytest.AcmeFolder(t)
	text := strings.Replace(caddytest.Global(dir, "insights {\nstore "+store+"\n}"), "admin off", "admin unix/"+socket, 1) +
		strings.NewReplacer(":0", fmt.Sprint("localhost:", port), root+"\n", root+" {\n\t\trate_limit off\n\t}\n").Replace(caddytest.MetricsSite(root))
	config, err := caddytest.Adapt(text)
	if err != nil {
		t.Fatal(err)
	}
	l := &loaded{Process: caddytest.StartProcess(t, dir, port, config), t: t, stopping: make(chan struct{})}
	l.admin = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	caddytest.Until(t, "the process serves", func() bool {
		resp, err := l.Open(t.Context(), caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x"}`})
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	t.Cleanup(l.rest)
	for range 2 {
		l.readers.Go(l.read)
	}
	return l
}

// read searches until rest. Every search must be answered.
func (l *loaded) read() {
	for {
		select {
		case <-l.stopping:
			return
		case <-time.After(2 * time.Millisecond): // leaves the machine to others
		}
		resp, err := l.Open(context.Background(), caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"count me"}`})
		if err != nil {
			l.t.Errorf("a search failed: %v", err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			l.t.Errorf("a search was answered with %d", resp.StatusCode)
			return
		}
		l.sent.Add(1)
	}
}

// rest ends the load.
func (l *loaded) rest() {
	select {
	case <-l.stopping:
	default:
		close(l.stopping)
	}
	l.readers.Wait()
}

// more waits until n more searches were answered.
func (l *loaded) more(n int64) {
	l.t.Helper()
	n += l.sent.Load()
	caddytest.Until(l.t, "searches are answered", func() bool { return l.sent.Load() >= n })
}

func (l *loaded) stored() float64 { return l.Metric(l.t, "caddy_docs_insights_stored_total") }

// works waits until batches are stored, without a loss.
func (l *loaded) works() {
	l.t.Helper()
	caddytest.Until(l.t, "batches are stored", func() bool { return l.Metric(l.t, "caddy_docs_insights_failing") == 0 })
	if n := l.Metric(l.t, "caddy_docs_insights_dropped_total"); n != 0 {
		l.t.Errorf("%v events were dropped", n)
	}
}

// doctor returns what doctor says of the insights.
func (l *loaded) doctor() (check struct {
	OK        bool
	Found, Do string
},
) {
	l.t.Helper()
	resp, err := l.admin.Get("http://caddy/docs/doctor")
	if err != nil {
		l.t.Fatal(err)
	}
	defer resp.Body.Close()
	var all []struct {
		What, Found, Do string
		OK              bool
	}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		l.t.Fatal(err)
	}
	for _, c := range all {
		if c.What == "insights" {
			check.OK, check.Found, check.Do = c.OK, c.Found, c.Do
			return check
		}
	}
	l.t.Fatalf("doctor says nothing of the insights: %+v", all)
	return check
}

// counted returns how many of the searches a store has.
func counted(t *testing.T, open func() (*insights.Store, error)) (n int64) {
	t.Helper()
	store, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	list, err := store.Searches(t.Context(), acme, insights.Query{Period: today()})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list {
		if q.Query == "count me" {
			n += q.Searches
		}
	}
	return n
}

// outage breaks the store under load and repairs it.
func (l *loaded) outage(says string, fail, repair func()) {
	l.t.Helper()
	fail()
	caddytest.Until(l.t, "a batch fails", func() bool { return l.Metric(l.t, "caddy_docs_insights_failing") == 1 })
	if c := l.doctor(); c.OK || !strings.Contains(c.Found, says) || !strings.Contains(c.Do, "requests are still served") {
		l.t.Errorf("doctor: %+v, want %q", c, says)
	}
	l.more(20)
	repair()
	l.more(20)
	l.works()
	if c := l.doctor(); !c.OK {
		l.t.Errorf("doctor afterwards: %+v", c)
	}
}

// endsWithAll ends the load and the process. All searches must be in the store.
func (l *loaded) endsWithAll(open func() (*insights.Store, error)) {
	l.t.Helper()
	l.rest()
	l.Terminate()
	l.Wait()
	if n := counted(l.t, open); n != l.sent.Load() {
		l.t.Errorf("%d searches were answered, %d are stored", l.sent.Load(), n)
	}
}

// smallDisk is a file system with room for 4 MB.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mounting a small disk: %v; run this test as root", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no room on a disk. The returned function makes room again.
func fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}

// TestFaultsOfTheStoreUnderLoad runs all of them at the same time: they mostly
// wait for batches and for the recorder's next attempt. Meanwhile, TestOneCaddy
// runs.
func TestFaultsOfTheStoreUnderLoad(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait()
	for name, fault := range map[string]func(*testing.T){
		"a disk that is full at the start":       fullAtTheStart,
		"a disk that fills up":                   fillsUp,
		"a file that is removed":                 removed,
		"a broken file that is moved away":       broken,
		"a Postgres that is stopped and started": postgresStopped,
	} {
		all.Go(func() { t.Run(name, fault) })
	}
}

func fullAtTheStart(t *testing.T) {
	disk := smallDisk(t)
	file := filepath.Join(disk, "insights.db")
	free := fill(t, disk)
	l := startLoaded(t, "sqlite "+file)
	l.outage("full", func() {}, free)
	l.endsWithAll(func() (*insights.Store, error) { return sqlite.Open(t.Context(), file) })
}

func fillsUp(t *testing.T) {
	disk := smallDisk(t)
	file := filepath.Join(disk, "insights.db")
	l := startLoaded(t, "sqlite "+file)
	caddytest.Until(t, "events are stored", func() bool { return l.stored() > 0 })
	var free func()
	l.outage("full", func() { free = fill(t, disk) }, func() { free() })
	l.endsWithAll(func() (*insights.Store, error) { return sqlite.Open(t.Context(), file) })
}

// removed: what was in the file is gone with it, and nothing else.
func removed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "insights.db")
	l := startLoaded(t, "sqlite "+file)
	caddytest.Until(t, "events are stored", func() bool { return l.stored() > 0 })
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(file + suffix); err != nil {
			t.Fatal(err)
		}
	}
	before := l.stored() // one batch at most was in the old file and isn't counted yet
	l.more(20)
	caddytest.Until(t, "the file is there again", func() bool {
		_, err := os.Stat(file)
		return err == nil
	})
	l.works()
	if c := l.doctor(); !c.OK {
		t.Errorf("doctor: %+v", c)
	}
	l.rest()
	l.Terminate()
	l.Wait()
	n, least := counted(t, func() (*insights.Store, error) { return sqlite.Open(t.Context(), file) }), l.sent.Load()-int64(before)-1000
	if n > l.sent.Load() || n < max(least, 20) {
		t.Errorf("%d searches are in the new file, want at least %d", n, max(least, 20))
	}
}

func broken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "insights.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("this is no database. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	l := startLoaded(t, "sqlite "+file)
	l.outage("not a database", func() {}, func() {
		if err := os.Rename(file, file+".broken"); err != nil {
			t.Error(err)
		}
	})
	l.endsWithAll(func() (*insights.Store, error) { return sqlite.Open(t.Context(), file) })
}

func postgresStopped(t *testing.T) {
	pg, dsn := pgserver.Run(t)
	l := startLoaded(t, "postgres "+dsn)
	caddytest.Until(t, "events are stored", func() bool { return l.stored() > 0 })
	l.outage("connect", pg.Stop, func() {
		if err := pg.Start(); err != nil {
			t.Error(err)
		}
	})
	l.endsWithAll(func() (*insights.Store, error) { return postgres.Open(t.Context(), dsn) })
}
