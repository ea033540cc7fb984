package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

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
