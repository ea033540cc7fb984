package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// benchLarge measures what a large site with vectors costs Caddy when
// Meilisearch holds it: memory, the first search after a restart, and latency.
func (b *bench) benchLarge(ctx context.Context, m *meilisearchServer) error {
	sections := b.sections
	if b.short {
		sections /= 20
	}
	root, questions, err := b.generated(sections)
	if err != nil {
		return err
	}
	s := &searchSite{name: fmt.Sprint(sections), sections: sections, root: root, questions: questions}
	embedder, err := serveEmbeddings(ctx)
	if err != nil {
		return err
	}
	empty, err := b.startCaddy(ctx, "", "\trespond 204", "")
	if err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	base := empty.rss()
	empty.end()
	above := func(bytes int64) float64 { return float64(bytes-base) / 1e6 }

	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return err
	}
	v := &variant{name: "large", site: "bench", options: m.directive() + fmt.Sprintf("\t\tembedder http://%s/v1 bench-embed\n", embedder), data: data}
	defer m.drop(v.site)
	begin := time.Now()
	if err := b.startVariant(ctx, v, s); err != nil {
		return err
	}
	defer func() { v.end() }()
	if err := m.embedded(ctx, v.site, sections); err != nil {
		return err
	}
	indexed, cpu, peak := time.Since(begin), v.cpu(), v.peak()
	if err := pause(ctx, 30*time.Second); err != nil { // the runtime returns memory
		return err
	}
	after := v.rss()
	held, err := v.held(ctx)
	if err != nil {
		return err
	}
	b.profileHeap(ctx, v.server, "large")
	v.end()

	rows := [][]string{
		{"until all sections have vectors, s", number(indexed.Seconds()), ""},
		{"CPU time of Caddy until then, s", number(cpu.Seconds()), ""},
		{"highest RSS until then, MB above a Caddy without sites", "", result(above(peak), "≤ 200", above(peak) <= 200)},
		{"RSS 30 s later, MB above a Caddy without sites", "", result(above(after), "≤ 100", above(after) <= 100)},
		{"heap and stacks then, after a collection, MB", number(float64(held) / 1e6), ""},
	}
	state := size(filepath.Join(data, "caddy", "docs", v.site, "index", "meilisearch.state"))
	rows = append(rows, []string{"state in the data folder, MB", "", result(float64(state)/1e6, "≤ 8", state <= 8e6)})
	if m.dir != "" {
		disk := size(m.dir)
		rows = append(rows, []string{"disk of the server, GB", "", result(float64(disk)/1e9, "≤ 2.2", disk <= 22e8)})
	}
	for _, second := range []bool{false, true} {
		start := "after a restart"
		if second {
			start = "of a second Caddy, without a data folder"
			if err := os.RemoveAll(filepath.Join(data, "caddy", "docs", v.site)); err != nil {
				return err
			}
		}
		begin := time.Now()
		if err := b.startServer(ctx, v, s); err != nil {
			return err
		}
		if err := v.ready(ctx); err != nil {
			return err
		}
		first := time.Since(begin)
		rows = append(rows, []string{"first answer " + start + ", with Caddy's start, ms", "", result(ms(first), "≤ 1000", first <= time.Second)})
		if second {
			break
		}
		if err := pause(ctx, 10*time.Second); err != nil {
			return err
		}
		rows = append(rows, []string{"RSS 10 s later, MB above a Caddy without sites", "", result(above(v.rss()), "≤ 100", above(v.rss()) <= 100)})
		if _, err := askAll(ctx, v.addr, v.requests, 1, b.seconds(5)); err != nil { // caches fill
			return err
		}
		one, err := askAll(ctx, v.addr, v.requests, 1, b.seconds(30))
		if err != nil {
			return err
		}
		bare := m.bare("bench", questions)
		alone, err := askAll(ctx, bare.addr, bare.requests, 1, b.seconds(10))
		if err != nil {
			return err
		}
		p50, hybrid, p99 := ms(quantile(one.took, .5)), ms(quantile(alone.took, .5)), ms(quantile(one.took, .99))
		rows = append(rows,
			[]string{"a hybrid query to the server alone, p50, ms", number(hybrid), ""},
			[]string{"search, one client, p50, ms", number(p50), ""},
			[]string{"p50 ÷ the hybrid query's", "", result(p50/hybrid, "≤ 3", p50 <= 3*hybrid)},
			[]string{"search, one client, p99, ms", "", result(p99, "≤ 100", p99 <= 100)},
			[]string{"RSS then, MB above a Caddy without sites", "", result(above(v.rss()), "≤ 100", above(v.rss()) <= 100)},
		)
		v.end()
	}
	table(fmt.Sprintf("A large site: %d sections with vectors of %d dimensions in Meilisearch %s, none in Caddy", sections, embeddingDimensions, m.version(ctx)),
		[]string{"figure", "", "result"}, rows)
	return nil
}
