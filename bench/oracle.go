package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest/oracle"
)

// Targets of the second table of the suite locks.
const (
	// maxMissed is the share of requests that may miss something, if they say so.
	maxMissed = .01
	// maxLockRequests is at p95, where rights go by folder.
	maxLockRequests = 20
	// maxTelling is between a stranger's medians for what is there, is not there,
	// and is behind a lock.
	maxTelling = 1.10
	// maxRenewing is between the medians of searches while pages are asked for
	// again and before.
	maxRenewing = 1.25
	// maxRenewal is the share of a core that asking again for 10,000 pages takes.
	maxRenewal = .01
)

// lockTable collects the rows of the table.
type lockTable struct{ rows [][]string }

func (t *lockTable) add(what, measured, target string, met bool) {
	if target != "" {
		measured = measured + ": " + map[bool]string{true: "met", false: "**missed**"}[met] + " (target " + target + ")"
	}
	t.rows = append(t.rows, []string{what, measured})
}

// benchOracle judges what random readers of a site with five locks are shown,
// and measures whether time tells strangers what is locked, how often locks are
// asked, and what asking again for old answers costs.
func (b *bench) benchOracle(ctx context.Context) error {
	var t lockTable
	var quiet *renewals
	if b.only == "renewals" || b.only == "" && !b.short {
		var err error
		if quiet, err = b.startRenewals(ctx); err != nil {
			return err
		}
		defer quiet.end()
	}
	if b.only == "" || b.only == "judged" {
		if err := b.judged(ctx, &t); err != nil {
			return err
		}
	}
	if b.only == "" || b.only == "requests" {
		if err := b.asksOfLocks(ctx, &t); err != nil {
			return err
		}
	}
	if quiet != nil {
		if err := quiet.measure(ctx, b, &t); err != nil {
			return err
		}
	}
	table("Locks: what readers are shown", []string{"figure", "measured"}, t.rows)
	return nil
}

// local starts a server of this process.
func local(h http.Handler) (*httptest.Server, string) {
	srv := httptest.NewServer(h)
	return srv, srv.Listener.Addr().String()
}

// judged compares random requests with what their readers can open, and measures
// what strangers wait for.
func (b *bench) judged(ctx context.Context, t *lockTable) error {
	pages, requests, each := 2000, 10_000, 1000
	if b.short {
		pages, requests, each = 400, 2000, 100
	}
	dir, err := os.MkdirTemp(b.dir, "oracle-")
	if err != nil {
		return err
	}
	site, err := oracle.New(dir, pages, 14)
	if err != nil {
		return err
	}
	site.Name = "bench"
	srv, auth := local(site.Auth)
	defer srv.Close()
	c := &oracle.Client{Site: site, Key: benchKey}
	defer c.Close()
	s, err := b.startCaddyfile(ctx, "", func(addr, admin string) string {
		_, port, _ := net.SplitHostPort(addr)
		c.Port, _ = strconv.Atoi(port)
		return fmt.Sprintf("{\n\tadmin %s\n\tpersist_config off\n\tauto_https disable_redirects\n\tlocal_certs\n\tskip_install_trust\n\tdocs {\n\t\tkey %s\n\t}\n}\n%s", admin, benchKey, site.Block(c.Port, auth))
	})
	if err != nil {
		return err
	}
	defer s.end()
	if err := s.settled(ctx, pages); err != nil {
		return err
	}
	opened, err := c.Look(ctx)
	if err != nil {
		return err
	}
	v, err := c.Judge(ctx, requests)
	if err != nil {
		return err
	}
	for _, example := range v.Examples {
		fmt.Println(example)
	}
	of := fmt.Sprintf(" of %d requests of %d readers, who open %d of %d (reader, page)", v.Asked, len(c.Readers), opened, pages*len(c.Readers))
	t.add("pages shown to readers who can't open them"+of, fmt.Sprint(v.Wrong), "0", v.Wrong == 0)
	t.add("requests that miss a page that their reader can open", fmt.Sprintf("%.2f %%", 100*float64(v.Missed)/float64(v.Asked)), "≤ 1 %", float64(v.Missed) <= maxMissed*float64(v.Asked))
	t.add("of these, not announced", fmt.Sprint(v.Silent), "0", v.Silent == 0)
	return b.telling(ctx, t, c, each)
}

// telling measures what strangers wait for.
func (b *bench) telling(ctx context.Context, t *lockTable, c *oracle.Client, each int) error {
	byFolder := make(map[string][]oracle.Page)
	for _, p := range c.Pages {
		folder, _, _ := strings.Cut(strings.TrimPrefix(p.Path, "/"), "/")
		byFolder[folder] = append(byFolder[folder], p)
	}
	wrong := map[string]string{"Authorization": "Basic cmVhZGVyOndyb25n"}
	cookie := map[string]string{"Cookie": "theme=dark"}
	for _, who := range []struct {
		name   string
		reader *oracle.Reader
		folder string
		delay  time.Duration
		pages  int // that are fetched
	}{
		{"a stranger", &oracle.Reader{Name: "a stranger"}, "groups", 0, each},
		{"a stranger with a wrong password (bcrypt, cost 14)", &oracle.Reader{Name: "a wrong password", Header: wrong}, "staff", 0, each},
		{"a stranger with a cookie (an authentication server of 50 ms)", &oracle.Reader{Name: "a cookie", Header: cookie}, "lists", 50 * time.Millisecond, min(each, 100)},
	} {
		c.Auth.Delay.Store(int64(who.delay))
		var took [3][]time.Duration
		for i := range each {
			for kind, word := range []string{byFolder["guide"][i%len(byFolder["guide"])].Word, oracle.Word(5_000_000 + i), byFolder[who.folder][i%len(byFolder[who.folder])].Word} {
				begin := time.Now()
				if _, _, err := c.Search(ctx, who.reader, word); err != nil {
					return err
				}
				took[kind] = append(took[kind], time.Since(begin))
			}
		}
		t.telling("search, "+who.name+": a public word, nonsense, a locked word", took[:])
		took = [3][]time.Duration{}
		for i := range min(who.pages, len(byFolder[who.folder])) {
			p := byFolder[who.folder][i]
			missing := p.Path[:strings.LastIndex(p.Path, "/")] + fmt.Sprintf("/q%d.html", i)
			for kind, name := range []string{p.Path, missing} {
				begin := time.Now()
				body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "fetch", "arguments": map[string]any{"id": name}}})
				if err != nil {
					return err
				}
				status, _, text, err := c.Do(ctx, who.reader, http.MethodPost, "/v1/mcp/"+c.Name, map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}, body)
				if err != nil {
					return err
				}
				if status != http.StatusOK || strings.Contains(string(text), p.Word) {
					return fmt.Errorf("fetching %s as %s: %d %s", name, who.name, status, text)
				}
				took[kind] = append(took[kind], time.Since(begin))
			}
		}
		t.telling("MCP fetch, "+who.name+": a locked page, a missing one", took[:2])
	}
	return nil
}

// telling adds a row with the medians and the ratio of the longest to the
// shortest.
func (t *lockTable) telling(what string, took [][]time.Duration) {
	least, most, all := 0., 0., []string{}
	for _, d := range took {
		m := ms(quantile(d, .5))
		all = append(all, number(m))
		if least == 0 || m < least {
			least = m
		}
		most = max(most, m)
	}
	// What is not there and what is locked are the last two.
	x, y := ms(quantile(took[len(took)-2], .5)), ms(quantile(took[len(took)-1], .5))
	t.add(fmt.Sprintf("%s (%d each, in turn)", what, len(took[0])), fmt.Sprintf("%s ms; %.2f, of the last two %.2f", strings.Join(all, ", "), most/least, max(x, y)/min(x, y)), fmt.Sprintf("≤ %.2f", maxTelling), most/least <= maxTelling)
}

// folderAuth is an authentication server whose users may open a few folders. It
// counts the requests of each.
type folderAuth struct{ asked []atomic.Int64 }

const lockedFolders = 50

func (a *folderAuth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, folder := -1, 0
	if c, err := r.Cookie("user"); err == nil {
		user, _ = strconv.Atoi(c.Value)
		a.asked[user].Add(1)
	}
	_, _ = fmt.Sscanf(r.Header.Get("X-Forwarded-Uri"), "/internal/%d/", &folder)
	if user < 0 || (folder-user%lockedFolders+lockedFolders)%lockedFolders >= 5 {
		w.WriteHeader(http.StatusForbidden)
	}
}

// asksOfLocks counts what a lock in front of 10,000 pages is asked during
// searches of readers, each of whom may open 5 of 50 folders.
func (b *bench) asksOfLocks(ctx context.Context, t *lockTable) error {
	pages, searches := 10_000, 1000
	if b.short {
		pages, searches = 1000, 200
	}
	root := filepath.Join(b.dir, "by-folder")
	for i := range pages {
		if err := writeLockedPage(filepath.Join(root, "internal", fmt.Sprint(i%lockedFolders)), i); err != nil {
			return err
		}
	}
	auth := folderAuth{make([]atomic.Int64, searches/4)}
	srv, addr := local(&auth)
	defer srv.Close()
	s, err := b.startCaddy(ctx, fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t}", benchKey),
		fmt.Sprintf("\troot * %q\n\tdocs bench {\n\t\trate_limit off\n\t}\n\tforward_auth /internal/* %s {\n\t\turi /verify\n\t}\n\tfile_server\n", root, addr), "")
	if err != nil {
		return err
	}
	defer s.end()
	if err := s.settled(ctx, pages); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(11, 12)) //nolint:gosec // the same searches in each run
	var counts, first []uint32
	before := make(map[int]int64)
	// count counts what was asked for since a user's last search, also after the
	// response.
	count := func(user int) {
		n, seen := before[user]
		if seen {
			counts = append(counts, uint32(auth.asked[user].Load()-n)) //nolint:gosec // some
		}
		if seen && n == 0 {
			first = append(first, counts[len(counts)-1])
		}
		before[user] = auth.asked[user].Load()
	}
	for range searches {
		user := random.IntN(len(auth.asked))
		count(user)
		body := fmt.Sprintf(`{"query":"%s %s"}`, oracle.Word(2_000_000+random.IntN(1500)), oracle.Word(2_000_000+random.IntN(1500)))
		if err := s.search(ctx, body, fmt.Sprintf("user=%d", user)); err != nil {
			return err
		}
	}
	for user := range before {
		count(user)
	}
	p95 := quantile(counts, .95)
	t.add(fmt.Sprintf("requests to the lock of %d pages for a search, p50, p95; for a reader's first, p50, p95", pages),
		fmt.Sprintf("%d, %d; %d, %d", quantile(counts, .5), p95, quantile(first, .5), quantile(first, .95)), fmt.Sprintf("p95 ≤ %d", maxLockRequests), p95 <= maxLockRequests)
	return nil
}

// writeLockedPage writes page i of a site.
func writeLockedPage(dir string, i int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(13, uint64(i))) //nolint:gosec // the same pages in each run
	var text strings.Builder
	for range 60 {
		fmt.Fprintf(&text, "%s ", oracle.Word(2_000_000+random.IntN(1500)))
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.html", i)),
		fmt.Appendf(nil, "<html lang=en><title>About %[1]s</title><main><h1>About %[1]s</h1><p>%s</p></main></html>", oracle.Word(i), text.String()), 0o600)
}

// search searches the site bench.
func (s *server) search(ctx context.Context, body, cookie string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/v1/search/bench", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-API-Key", benchKey)
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("searching: %s", res.Status)
	}
	return json.NewDecoder(res.Body).Decode(new([]any))
}

// settled waits until a stranger's request for each of the pages was answered.
func (s *server) settled(ctx context.Context, pages int) error {
	for {
		counts, err := s.asked(ctx)
		all := 0
		for _, n := range counts {
			all += n
		}
		if err == nil && all >= pages {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// renewals are two sites whose pages are asked for again, from the fifth
// minute on.
type renewals struct {
	began          time.Time
	locked, public *server
	before         time.Duration // of a search
	idle           float64       // share of a core of the public site
}

// startRenewals starts them and measures what there is before.
func (b *bench) startRenewals(ctx context.Context) (*renewals, error) {
	start := func(name string, pages int, lock string) (*server, error) {
		root := filepath.Join(b.dir, name)
		for i := range pages {
			if err := writeLockedPage(filepath.Join(root, "guide", fmt.Sprint(i/200)), i); err != nil {
				return nil, err
			}
		}
		s, err := b.startCaddy(ctx, fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t}", benchKey), fmt.Sprintf("\troot * %q\n\tdocs bench {\n\t\trate_limit off\n\t}\n%s\tfile_server\n", root, lock), "")
		if err != nil {
			return nil, err
		}
		return s, s.settled(ctx, pages)
	}
	var r renewals
	var err error
	if r.locked, err = start("one-locked", 2000, "\trespond /guide/3/p700.html 403\n"); err != nil {
		return nil, err
	}
	if r.public, err = start("all-public", 10_000, ""); err != nil {
		return nil, err
	}
	r.began = time.Now()
	cpu := r.public.cpu()
	if r.before, err = r.searches(ctx, 10*time.Second); err != nil {
		return nil, err
	}
	if err := pause(ctx, 20*time.Second); err != nil {
		return nil, err
	}
	r.idle = (r.public.cpu() - cpu).Seconds() / time.Since(r.began).Seconds()
	return &r, nil
}

// searches returns the median of searches, of which there are 20 in a second.
func (r *renewals) searches(ctx context.Context, d time.Duration) (time.Duration, error) {
	var took []time.Duration
	random := rand.New(rand.NewPCG(15, 16)) //nolint:gosec // as above
	for begin := time.Now(); time.Since(begin) < d; {
		one := time.Now()
		if err := r.locked.search(ctx, fmt.Sprintf(`{"query":"%s %s"}`, oracle.Word(2_000_000+random.IntN(1500)), oracle.Word(2_000_000+random.IntN(1500))), ""); err != nil {
			return 0, err
		}
		took = append(took, time.Since(one))
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return quantile(took, .5), nil
}

// measure waits for the fifth minute, and measures for two.
func (r *renewals) measure(ctx context.Context, b *bench, t *lockTable) error {
	if err := pause(ctx, time.Until(r.began.Add(310*time.Second))); err != nil {
		return err
	}
	begin, cpu := time.Now(), r.public.cpu()
	b.profileCPU(ctx, r.public, "renewals", 2*time.Minute)
	after, err := r.searches(ctx, 2*time.Minute)
	if err != nil {
		return err
	}
	took := (r.public.cpu() - cpu).Seconds() / time.Since(begin).Seconds()
	t.add("search, 2,000 pages with one locked, p50 before and while pages are asked for again", fmt.Sprintf("%s, %s ms; %.2f", number(ms(r.before)), number(ms(after)), float64(after)/float64(r.before)),
		fmt.Sprintf("≤ %.2f", maxRenewing), float64(after) <= maxRenewing*float64(r.before))
	load, _ := os.ReadFile("/proc/loadavg")
	t.add(fmt.Sprintf("CPU of 10,000 public pages that are asked for again, of a core (before: %s %%; load %.4s)", number(100*r.idle), load), number(100*took)+" %", "≤ 1 %", took <= maxRenewal)
	return nil
}

func (r *renewals) end() {
	r.locked.end()
	r.public.end()
}
