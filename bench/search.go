package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// searchSite is a site that searches are measured on.
type searchSite struct {
	name      string
	sections  int
	root      string
	questions []string
}

// maxTargetSections is the size of a site up to which the targets hold.
const maxTargetSections = 15000

// result compares a figure with its target, if the site has one.
func (s *searchSite) result(figure float64, target string, met bool) string {
	if s.sections > maxTargetSections {
		return number(figure)
	}
	return result(figure, target, met)
}

func benchSearch(ctx context.Context, b *bench) error {
	sites, err := b.searchSites()
	if err != nil {
		return err
	}
	main := sites[0]
	for _, s := range sites {
		if s.sections <= 10000 {
			main = s
		}
	}
	costs := map[string]*cost{}
	for _, s := range sites {
		costs[s.name] = &cost{series: series{}}
	}
	if b.only == "" || b.only == "index" {
		if err := b.benchIndex(ctx, sites, costs); err != nil {
			return err
		}
	}
	if b.only == "" || b.only == "restart" || b.only == "endpoint" {
		for _, s := range sites {
			if err := b.benchEndpoint(ctx, s, costs[s.name], s == main); err != nil {
				return err
			}
		}
	}
	b.costTable(sites, costs)
	if b.only == "" || b.only == "meilisearch" {
		return b.benchMeilisearch(ctx, main)
	}
	return nil
}

func (b *bench) searchSites() ([]*searchSite, error) {
	if b.root != "" {
		root, err := filepath.Abs(b.root)
		if err != nil {
			return nil, err
		}
		docs, err := readSite(root)
		if err != nil {
			return nil, err
		}
		s := &searchSite{name: filepath.Base(root), root: root}
		for _, d := range docs {
			s.sections += len(d.Sections)
			if b.queries == "" && d.Description != "" {
				s.questions = append(s.questions, d.Description)
			}
		}
		if b.queries != "" {
			s.questions, err = readQueries(b.queries)
		}
		if err == nil && len(s.questions) == 0 {
			err = fmt.Errorf("the pages of %s have no descriptions to search for; name a file with -queries", root)
		}
		return []*searchSite{s}, err
	}
	var out []*searchSite
	for w := range strings.SplitSeq(b.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < 10 || n > 200000 {
			return nil, fmt.Errorf("-sizes: %q is no number of sections from 10 to 200000", w)
		}
		if b.short && n > 10000 {
			continue
		}
		root, questions, err := b.generated(n)
		if err != nil {
			return nil, err
		}
		out = append(out, &searchSite{name: strconv.Itoa(n), sections: n, root: root, questions: questions})
	}
	return out, nil
}

// cost has the figures of a site.
type cost struct {
	series
	disk  int64
	bleve indexed
	ours  indexed
}

// benchIndex makes both indexes of each site, each in its own process.
func (b *bench) benchIndex(ctx context.Context, sites []*searchSite, costs map[string]*cost) error {
	for range b.rounds {
		for _, s := range sites {
			c := costs[s.name]
			for _, engine := range []string{"embedded", "bleve"} {
				out, err := b.indexOnce(ctx, engine, s.root)
				if err != nil {
					return err
				}
				c.add(engine, out.Index.Seconds())
				c.add("read", out.Read.Seconds())
				if engine == "bleve" {
					c.bleve = out
				} else {
					c.ours = out
				}
			}
		}
	}
	var rows [][]string
	for _, s := range sites {
		c := costs[s.name]
		r := c.ratio("embedded", "bleve")
		rows = append(rows, []string{
			s.name, fmt.Sprint(c.ours.Sections), number(c.median("read")), number(c.median("embedded")), number(c.median("bleve")),
			s.result(r, "≤ 1", r <= 1), number(float64(c.ours.Disk) / 1e6), number(float64(c.bleve.Disk) / 1e6),
		})
	}
	table("Cold index, a process each: this project and bleve 2.6.1's builder (nothing stored, no positions)",
		[]string{"site", "sections", "reading the pages, s", "index, s", "bleve, s", "index ÷ bleve", "disk, MB (texts included)", "bleve, MB (without)"}, rows)
	return nil
}

func (b *bench) indexOnce(ctx context.Context, engine, root string) (out indexed, err error) {
	dir, err := os.MkdirTemp(b.dir, "index-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	p, err := b.self(ctx, "index", engine, root, dir)
	if err != nil {
		return out, err
	}
	<-p.done
	p.end()
	text, err := os.ReadFile(p.log)
	if err != nil {
		return out, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &out); err != nil {
		return out, fmt.Errorf("index %s: %w\n%s", engine, err, text)
	}
	if out.Found == 0 {
		return out, fmt.Errorf("index %s of %s finds nothing", engine, root)
	}
	return out, nil
}

// benchEndpoint measures searches through a real Caddy.
func (b *bench) benchEndpoint(ctx context.Context, s *searchSite, c *cost, peers bool) error {
	if err := b.build(ctx); err != nil {
		return err
	}
	// Memory is compared with that of a site with one section.
	small := filepath.Join(b.dir, "small")
	if err := os.MkdirAll(small, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(small, "page.md"), []byte("# Page\n\nHow to configure this.\n"), 0o600); err != nil {
		return err
	}
	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)

	for range b.rounds {
		begin := time.Now()
		empty, err := b.module(ctx, site{root: small})
		if err != nil {
			return err
		}
		if err := empty.ready(ctx); err != nil {
			return err
		}
		c.add("small start", ms(time.Since(begin)))
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
		base := empty.rss()
		empty.end()

		_ = os.RemoveAll(data)
		if err := os.MkdirAll(data, 0o755); err != nil {
			return err
		}
		begin = time.Now()
		cold, err := b.module(ctx, site{root: s.root, data: data})
		if err != nil {
			return err
		}
		if err := cold.ready(ctx); err != nil {
			return err
		}
		c.add("cold start", time.Since(begin).Seconds())
		if err := pause(ctx, 3*time.Second); err != nil { // the snapshot is being written
			return err
		}
		c.add("RSS", float64(cold.rss()-base)/1e6)
		cold.end()
		c.disk = size(data)

		begin = time.Now()
		warm, err := b.module(ctx, site{root: s.root, data: data})
		if err != nil {
			return err
		}
		if err := warm.ready(ctx); err != nil {
			return err
		}
		c.add("restart", ms(time.Since(begin)))
		if b.only == "restart" {
			warm.end()
			continue
		}
		if err := pause(ctx, time.Second); err != nil { // the folder is being compared
			return err
		}
		if err := b.endpointOnce(ctx, warm, s, c); err != nil {
			return err
		}
		c.add("RSS after load", float64(warm.rss()-base)/1e6)
		warm.end()
		if peers && b.peers(ctx) {
			if err := b.nodeSearch(ctx, s, c); err != nil {
				fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			}
		}
	}
	c.table(s, b.only == "restart")
	return nil
}

func (b *bench) seconds(long float64) time.Duration {
	if b.short {
		long /= 3
	}
	return time.Duration(long * float64(time.Second))
}

// endpointOnce measures one client, and then eight clients in turn with eight
// clients of a static file of the same size.
func (b *bench) endpointOnce(ctx context.Context, srv *server, s *searchSite, c *cost) error {
	requests := make([][]byte, len(s.questions))
	for i, q := range s.questions {
		requests[i] = post("/v1/search/bench", srv.addr, jsonOf(map[string]any{"query": q, "pageSize": 10}))
	}
	warm, err := askAll(ctx, srv.addr, requests, 1, b.seconds(1))
	if err != nil {
		return err
	}
	one, err := askAll(ctx, srv.addr, requests, 1, b.seconds(4))
	if err != nil {
		return err
	}
	c.add("p50", ms(quantile(one.took, .5)))
	c.add("p99", ms(quantile(one.took, .99)))
	c.add("bytes", float64(warm.bytes)/float64(max(1, warm.n)))

	static, err := b.startStatic(ctx, int(c.median("bytes")))
	if err != nil {
		return err
	}
	defer static.end()
	get := [][]byte{[]byte("GET /static.json HTTP/1.1\r\nHost: " + static.addr + "\r\n\r\n")}
	b.profileCPU(ctx, srv, "search-"+s.name, b.seconds(2))
	for range 2 {
		eight, err := askAll(ctx, srv.addr, requests, 8, b.seconds(2))
		if err != nil {
			return err
		}
		c.add("rate", eight.rate())
		file, err := askAll(ctx, static.addr, get, 8, b.seconds(2))
		if err != nil {
			return err
		}
		c.add("static rate", file.rate())
	}
	return nil
}

// startStatic starts a Caddy with only a JSON file of n bytes.
func (b *bench) startStatic(ctx context.Context, n int) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "static-")
	if err != nil {
		return nil, err
	}
	body := `["` + strings.Repeat("x", max(0, n-4)) + `"]`
	if err := os.WriteFile(filepath.Join(dir, "static.json"), []byte(body), 0o600); err != nil {
		return nil, err
	}
	return b.startCaddy(ctx, "", fmt.Sprintf("\troot * %q\n\tfile_server", dir), "")
}

// asked has the figures of requests on persistent connections.
type asked struct {
	took  []time.Duration
	n     int
	bytes int64
	wall  time.Duration
}

func (a *asked) rate() float64 { return float64(a.n) / a.wall.Seconds() }

// askAll sends the requests in turn. Each client has its own connection and
// sends the next request after reading the answer.
func askAll(ctx context.Context, addr string, requests [][]byte, clients int, d time.Duration) (*asked, error) {
	var (
		total asked
		first error
		mu    sync.Mutex
		wg    sync.WaitGroup
	)
	begin := time.Now()
	for k := range clients {
		wg.Go(func() {
			a, err := ask(ctx, addr, requests, k*len(requests)/clients, begin.Add(d))
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
			}
			total.took = append(total.took, a.took...)
			total.n += a.n
			total.bytes += a.bytes
		})
	}
	wg.Wait()
	total.wall = time.Since(begin)
	return &total, first
}

func ask(ctx context.Context, addr string, requests [][]byte, from int, until time.Time) (a asked, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(until.Add(20 * time.Second))
	br := bufio.NewReaderSize(conn, 64<<10)
	for i := from; time.Now().Before(until) && ctx.Err() == nil; i++ {
		start := time.Now()
		if _, err := conn.Write(requests[i%len(requests)]); err != nil {
			return a, err
		}
		res, err := http.ReadResponse(br, nil) //nolint:bodyclose // read whole, and nothing to close without a client
		if err != nil {
			return a, err
		}
		n, err := io.Copy(io.Discard, res.Body)
		if err != nil {
			return a, err
		}
		if res.StatusCode != http.StatusOK {
			return a, fmt.Errorf("%s of %s", res.Status, addr)
		}
		a.took = append(a.took, time.Since(start))
		a.n++
		a.bytes += n
	}
	return a, ctx.Err()
}

// nodeSearch asks MiniSearch and Pagefind the same questions in process.
func (b *bench) nodeSearch(ctx context.Context, s *searchSite, c *cost) error {
	file := filepath.Join(b.dir, s.name+".sections.jsonl")
	if _, err := os.Stat(file); err != nil {
		docs, err := readSite(s.root)
		if err != nil {
			return err
		}
		var out strings.Builder
		enc := json.NewEncoder(&out)
		for _, x := range sectionsOf(docs) {
			if err := enc.Encode(x); err != nil {
				return err
			}
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			return err
		}
	}
	queries := filepath.Join(b.dir, s.name+".queries.json")
	if err := os.WriteFile(queries, jsonOf(s.questions), 0o600); err != nil {
		return err
	}
	for _, engine := range []string{"minisearch", "pagefind"} {
		if engine == "pagefind" && len(c.series["pagefind p50"]) > 0 {
			continue // takes a minute to index; once a run
		}
		cmd := exec.CommandContext(ctx, "node", "search.mjs", engine, file, queries, "3")
		cmd.Dir = b.node
		text, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
		var out struct{ Index, P50, P99, RSS float64 }
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &out); err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
		c.add(engine+" p50", out.P50)
		c.add(engine+" p99", out.P99)
		c.add(engine+" index", out.Index/1000)
	}
	return nil
}

func (c *cost) table(s *searchSite, restart bool) {
	rows := [][]string{
		{"first answer after a cold start, s", number(c.median("cold start")), ""},
		{"first answer after a restart without changes, Caddy's start included, ms", number(c.median("restart")), s.result(c.median("restart"), "≤ 1000", c.median("restart") <= 1000)},
		{"the same with one page, ms", number(c.median("small start")), ""},
		{"RSS above a Caddy with one page, MB", number(c.median("RSS")), s.result(c.median("RSS"), "≤ 100", c.median("RSS") <= 100)},
		{"data folder, MB", number(float64(c.disk) / 1e6), ""},
	}
	if !restart {
		share := c.ratio("rate", "static rate")
		rows = append(rows,
			[]string{"RSS after the load below, MB", number(c.median("RSS after load")), ""},
			[]string{"one client, p50, ms", number(c.median("p50")), s.result(c.median("p50"), "≤ 1", c.median("p50") <= 1)},
			[]string{"one client, p99, ms", number(c.median("p99")), s.result(c.median("p99"), "≤ 5", c.median("p99") <= 5)},
			[]string{"answer, bytes", number(c.median("bytes")), ""},
			[]string{"8 clients, answers/s", number(c.median("rate")), ""},
			[]string{"8 clients, a static JSON file of that size, answers/s", number(c.median("static rate")), s.result(share, "≥ 0.333", share >= 1./3)},
		)
	}
	for _, engine := range []string{"minisearch", "pagefind"} {
		if len(c.series[engine+" p50"]) == 0 {
			continue
		}
		for _, q := range []string{" p50", " p99"} {
			r := ratio(c.median(engine+q), c.median(q[1:]))
			rows = append(rows, []string{engine + q + " in process, ms", number(c.median(engine + q)), s.result(r, "≥ 1 × this module over HTTP", r >= 1)})
		}
		rows = append(rows, []string{engine + ", index, s", number(c.median(engine + " index")), ""})
	}
	table(fmt.Sprintf("The endpoint through a real Caddy: site %s, %d questions, pageSize 10, key, limits raised", s.name, len(s.questions)),
		[]string{"figure", "median", "result"}, rows)
}

// costTable prints the costs by size.
func (b *bench) costTable(sites []*searchSite, costs map[string]*cost) {
	if len(sites) < 2 || b.only != "" {
		return
	}
	var rows [][]string
	at := map[int]float64{}
	for _, s := range sites {
		c := costs[s.name]
		at[s.sections] = c.median("p99")
		rows = append(rows, []string{
			fmt.Sprint(s.sections), number(c.median("read")), number(c.median("embedded")), number(c.median("cold start")), number(c.median("restart")),
			number(c.median("RSS")), number(float64(c.disk) / 1e6), number(c.median("p50")), number(c.median("p99")), number(c.median("rate")),
		})
	}
	table("Cost against size", []string{"sections", "reading the pages, s", "index, s", "cold start, s", "restart, ms", "RSS, MB", "disk, MB", "p50, ms", "p99, ms", "answers/s, 8 clients"}, rows)
	if at[10000] > 0 && at[50000] > 0 {
		r := ratio(at[50000], at[10000])
		fmt.Printf("\np99 at 50,000 sections ÷ at 10,000: %s\n", result(r, "≤ 5", r <= 5))
	}
}
