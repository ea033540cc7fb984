package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// servers are the three that are compared, and the model behind them.
type servers struct {
	model                string
	module, proxy        *server
	node                 *process
	nodeAddr             string
	question             string
	round                int
	site                 site
	lost, failed, tokens int64
}

// benchStream measures the figures of replies. Each figure's rounds are
// interleaved: module, proxy, Node, and again.
func benchStream(ctx context.Context, b *bench) error {
	sections := 10000
	if b.short {
		sections = 1000
	}
	root, questions, err := b.generated(sections)
	if err != nil {
		return err
	}
	if b.root != "" {
		if root, err = filepath.Abs(b.root); err != nil {
			return err
		}
	}
	s := &servers{question: questions[0]}
	if s.model, err = freeAddress(); err != nil {
		return err
	}
	model, err := b.self(ctx, "model", s.model)
	if err != nil {
		return err
	}
	defer model.end()
	if err := model.listening(ctx, s.model); err != nil {
		return err
	}
	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return err
	}
	s.site = site{root: root, llm: s.model, data: data}
	hasNode := b.wants(2, 3) && b.peers(ctx)
	begin := func() error {
		if s.module, err = b.module(ctx, s.site); err != nil {
			return err
		}
		if err := s.module.ready(ctx); err != nil {
			return err
		}
		if s.proxy, err = b.proxy(ctx, s.model); err != nil {
			return err
		}
		if hasNode {
			if err := b.startNode(ctx, s); err != nil {
				return err
			}
		}
		return pause(ctx, time.Second)
	}
	end := func() {
		for _, p := range []*server{s.module, s.proxy} {
			if p != nil {
				p.end()
			}
		}
		if s.node != nil {
			s.node.end()
		}
		s.module, s.proxy, s.node = nil, nil, nil
	}
	defer end()
	if err := begin(); err != nil {
		return err
	}

	out := series{}
	for round := range b.rounds {
		s.round = round
		for _, f := range figures {
			if !b.wants(f.numbers...) {
				continue
			}
			if f.fresh {
				end()
				if err := begin(); err != nil {
					return err
				}
			}
			if err := f.run(ctx, b, s, out); err != nil {
				return fmt.Errorf("figure %v, round %d: %w", f.numbers, round+1, err)
			}
		}
	}
	return report(b, s, out, sections)
}

// wants tells whether -only asks for one of the figures.
func (b *bench) wants(numbers ...int) bool {
	if b.only == "" {
		return true
	}
	for _, n := range numbers {
		if slices.Contains(strings.Split(b.only, ","), fmt.Sprint(n)) {
			return true
		}
	}
	return false
}

// figures in the order of a round. fresh ones start the servers anew.
var figures = []struct {
	numbers []int
	fresh   bool
	run     func(context.Context, *bench, *servers, series) error
}{
	{[]int{6}, true, idleStreams},
	{[]int{9}, false, firstBytes},
	{[]int{7}, false, writes},
	{[]int{1, 2}, false, paced},
	{[]int{3}, false, flatOut},
	{[]int{4}, false, overload},
	{[]int{5}, false, manySlow},
}

func (b *bench) startNode(ctx context.Context, s *servers) error {
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(addr, ":")
	s.nodeAddr = addr
	if s.node, err = b.start(ctx, "aisdk", b.node, []string{"NODE_ENV=production"}, "node", "aisdk.mjs", port, "http://"+s.model+"/v1"); err != nil {
		return err
	}
	return s.node.listening(ctx, addr)
}

// measured is one load on one server.
type measured struct {
	*seen
	cpu time.Duration
}

func (m *measured) perToken() float64 {
	return ratio(float64(m.cpu)/float64(time.Microsecond), float64(m.seen.tokens))
}

// run brings a load to one of the servers.
func (s *servers) run(ctx context.Context, who string, p pace, l load) (*measured, error) {
	if err := setPace(ctx, s.model, p); err != nil {
		return nil, err
	}
	var proc *process
	switch who {
	case "module":
		proc, l.addr = s.module.process, s.module.addr
		l.request = messageRequest("/v2/assistant/bench/message", l.addr, s.question)
	case "proxy":
		proc, l.addr = s.proxy.process, s.proxy.addr
		l.request = modelRequest(l.addr, s.question)
	case "node":
		proc, l.addr = s.node, s.nodeAddr
		l.request = messageRequest("/api/chat", l.addr, s.question)
	}
	l.tokens = p.tokens
	before := proc.cpu()
	m := &measured{seen: l.run(ctx)}
	m.cpu = proc.cpu() - before
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.tokens += m.seen.tokens
	s.lost += m.lost
	s.failed += m.failed
	if err := m.err(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %s at %v: %v\n", who, p, err)
		if m.failed*2 > int64(l.streams) {
			return nil, fmt.Errorf("%s: %w\n%s", who, err, proc.tail())
		}
	}
	return m, pause(ctx, 300*time.Millisecond)
}

// interleaved runs one load on several servers and keeps what see makes of it.
// Who comes first changes from round to round.
func (s *servers) interleaved(ctx context.Context, p pace, l load, see func(who string, m *measured), who ...string) error {
	for i := range who {
		w := who[(i+s.round)%len(who)]
		if w == "node" && s.node == nil {
			continue
		}
		m, err := s.run(ctx, w, p, l)
		if err != nil {
			return err
		}
		see(w, m)
	}
	return nil
}

// paced: figures 1 and 2.
func paced(ctx context.Context, b *bench, s *servers, out series) error {
	p := pace{tokens: 300, rate: 50, burst: 1, wait: 200 * time.Millisecond}
	l := load{streams: 500, ramp: time.Second}
	if b.short {
		p.tokens, l.streams = 150, 200
	}
	b.profileCPU(ctx, s.module, "paced", 7*time.Second)
	return s.interleaved(ctx, p, l, func(who string, m *measured) {
		out.add("paced "+who, m.perToken())
		out.add("paced p50 "+who, float64(quantile(m.latency, .5))/1000)
		out.add("paced p99 "+who, float64(quantile(m.latency, .99))/1000)
	}, "module", "proxy", "node")
}

// flatOut: figure 3, with replies of usual length and with long ones, which
// show the stream alone.
func flatOut(ctx context.Context, b *bench, s *servers, out series) error {
	for _, tokens := range []int{300, 3000} {
		l := load{streams: 32, each: 100_000 / 32 / tokens}
		l.each = max(2, l.each)
		if b.short {
			l.each = 1
		}
		if tokens == 3000 {
			b.profileCPU(ctx, s.module, "flat", time.Second)
		} else {
			b.profileCPU(ctx, s.module, "flat300", time.Second)
		}
		err := s.interleaved(ctx, pace{tokens: tokens, burst: 1}, l, func(who string, m *measured) {
			out.add(fmt.Sprintf("flat %d %s", tokens, who), ratio(float64(m.seen.tokens), m.cpu.Seconds()))
		}, "module", "proxy", "node")
		if err != nil {
			return err
		}
	}
	return nil
}

// clients is at most n, as the limit of open files allows: the client and
// the servers each need two or three a stream.
func clients(n int) int { return min(n, (files()-200)/3) }

// overload: figure 4.
func overload(ctx context.Context, b *bench, s *servers, out series) error {
	p := pace{tokens: 300, rate: 50, burst: 1, wait: 200 * time.Millisecond}
	l := load{streams: clients(2000), ramp: 2 * time.Second}
	if b.short {
		p.tokens = 50
	}
	return s.interleaved(ctx, p, l, latencies("overload", out), "module", "proxy")
}

// manySlow: figure 5.
func manySlow(ctx context.Context, b *bench, s *servers, out series) error {
	p := pace{tokens: 40, rate: 5, burst: 1, wait: 200 * time.Millisecond}
	l := load{streams: clients(2000), ramp: 4 * time.Second}
	if b.short {
		p.tokens = 15
	}
	return s.interleaved(ctx, p, l, latencies("slow", out), "module", "proxy")
}

// latencies keeps the tokens' times while all streams are open, and over the
// whole load, which also holds the start and the end of every one.
func latencies(name string, out series) func(string, *measured) {
	return func(who string, m *measured) {
		out.add(name+" steady p50 "+who, float64(quantile(m.steady, .5))/1000)
		out.add(name+" steady p99 "+who, float64(quantile(m.steady, .99))/1000)
		out.add(name+" p50 "+who, float64(quantile(m.latency, .5))/1000)
		out.add(name+" p99 "+who, float64(quantile(m.latency, .99))/1000)
		out.add(name+" cpu "+who, m.perToken())
	}
}

// idleStreams: figure 6. The streams have their first token and wait.
func idleStreams(ctx context.Context, b *bench, s *servers, out series) error {
	n := clients(2000)
	if b.short {
		n = 500
	}
	for _, who := range []string{"module", "proxy"} {
		srv := s.module
		if who == "proxy" {
			srv = s.proxy
		}
		// What is made once, such as a vocabulary or a zone's counters, is no
		// stream's own.
		if _, err := s.run(ctx, who, pace{tokens: 10, burst: 1}, load{streams: 20}); err != nil {
			return err
		}
		proc := srv.process
		before := proc.rss()
		var held float64
		measured := make(chan struct{})
		l := load{streams: n, ramp: 4 * time.Second, idle: func() {
			go func() {
				defer close(measured)
				if pause(ctx, 3*time.Second) == nil {
					held = float64(proc.rss()-before) / 1024 / float64(n)
					b.profileHeap(ctx, srv, "idle-"+who)
				}
			}()
		}}
		if _, err := s.run(ctx, who, pace{tokens: 2, burst: 1, linger: 12 * time.Second}, l); err != nil {
			return err
		}
		select {
		case <-measured:
		case <-time.After(5 * time.Second):
			return errors.New("not every stream began")
		}
		out.add("idle "+who, held)
	}
	return nil
}

// writes: figure 7.
func writes(ctx context.Context, b *bench, s *servers, out series) error {
	for _, burst := range []int{1, 5} {
		err := s.interleaved(ctx, pace{tokens: 300, rate: 100, burst: burst}, load{streams: 10}, func(who string, m *measured) {
			out.add(fmt.Sprintf("writes %d %s", burst, who), ratio(float64(m.chunks), float64(m.seen.tokens)))
		}, "module")
		if err != nil {
			return err
		}
	}
	return nil
}

// firstBytes: figure 9, one client.
func firstBytes(ctx context.Context, b *bench, s *servers, out series) error {
	each := 200
	if b.short {
		each = 50
	}
	return s.interleaved(ctx, pace{tokens: 1, burst: 1}, load{streams: 1, each: each}, func(who string, m *measured) {
		out.add("first "+who, ms(quantile(m.first, .95)))
		out.add("first p50 "+who, ms(quantile(m.first, .5)))
		out.add("asked "+who, ms(quantile(m.asked, .95)))
		out.add("asked p50 "+who, ms(quantile(m.asked, .5)))
	}, "module")
}

func report(b *bench, s *servers, out series, sections int) error {
	var rows [][]string
	row := func(n int, what, unit string, values [3]string, result string) {
		rows = append(rows, []string{fmt.Sprint(n), what + ", " + unit, values[0], values[1], values[2], result})
	}
	of := func(prefix string) (v [3]string) {
		for i, who := range []string{"module", "proxy", "node"} {
			if len(out[prefix+who]) > 0 {
				v[i] = number(out.median(prefix + who))
			}
		}
		return v
	}
	atMost := func(r, limit float64) string { return verdict(r, fmt.Sprintf("≤ %.2f", limit), r <= limit) }
	atLeast := func(r, limit float64) string { return verdict(r, fmt.Sprintf("≥ %g", limit), r >= limit) }
	if b.wants(1) {
		row(1, "CPU a token, 500 streams × 50 tokens/s", "µs", of("paced "), "module ÷ proxy "+atMost(out.ratio("paced module", "paced proxy"), 1.1))
	}
	if b.wants(2) && len(out["paced node"]) > 0 {
		row(2, "the same", "µs", of("paced "), "Node ÷ module "+atLeast(out.ratio("paced node", "paced module"), 4))
	}
	if b.wants(1, 2) {
		row(1, "its token latency, p50", "ms", of("paced p50 "), "")
		row(1, "its token latency, p99", "ms", of("paced p99 "), "")
	}
	if b.wants(3) {
		for _, n := range []int{300, 3000} {
			prefix := fmt.Sprintf("flat %d ", n)
			result := ""
			if len(out[prefix+"node"]) > 0 {
				result = "module ÷ Node " + atLeast(out.ratio(prefix+"module", prefix+"node"), 15)
			}
			row(3, fmt.Sprintf("flat out, 32 streams, replies of %d tokens", n), "tokens a CPU second", of(prefix), result)
		}
	}
	if b.wants(4) {
		row(4, fmt.Sprintf("%d streams × 50 tokens/s, token p99 while all are open", clients(2000)), "ms", of("overload steady p99 "), "module ÷ proxy "+atMost(out.ratio("overload steady p99 module", "overload steady p99 proxy"), 1.75))
		row(4, "the same, with the start and the end of all", "ms", of("overload p99 "), "module ÷ proxy "+number(out.ratio("overload p99 module", "overload p99 proxy")))
		row(4, "its CPU a token", "µs", of("overload cpu "), "")
	}
	if b.wants(5) {
		row(5, fmt.Sprintf("%d streams × 5 tokens/s, token p99 while all are open", clients(2000)), "ms", of("slow steady p99 "), "module ÷ proxy "+atMost(out.ratio("slow steady p99 module", "slow steady p99 proxy"), 1.25))
		row(5, "its token p50", "ms", of("slow steady p50 "), "")
		row(5, "the same p99, with the start and the end of all", "ms", of("slow p99 "), "module ÷ proxy "+number(out.ratio("slow p99 module", "slow p99 proxy")))
	}
	if b.wants(6) {
		row(6, "RSS of an open idle stream", "KiB", of("idle "), "module ÷ proxy "+atMost(out.ratio("idle module", "idle proxy"), .9))
	}
	if b.wants(7) {
		row(7, "writes a token, one token an upstream write, replies of 300", "", of("writes 1 "), atMost(out.median("writes 1 module"), 1.03))
		row(7, "writes a token, five tokens an upstream write", "", of("writes 5 "), atMost(out.median("writes 5 module"), .25))
	}
	if b.wants(8) {
		allocs, err := allocations()
		if err != nil {
			return err
		}
		row(8, "allocations a plain text token, reader, check and encoder", "", [3]string{number(allocs)}, verdict(allocs, "0", allocs < .005))
	}
	if b.wants(9) {
		row(9, "request to first byte, one client, p95", "ms", of("first "), atMost(out.median("first module"), 5))
		row(9, "request to its arrival at the model, p95", "ms", of("asked "), atMost(out.median("asked module"), 15))
		row(9, "the same two, p50", "ms", [3]string{number(out.median("first p50 module")) + ", " + number(out.median("asked p50 module"))}, "")
	}
	row(10, fmt.Sprintf("tokens lost, doubled or out of order; streams failed; of %d tokens, all three", s.tokens), "", [3]string{fmt.Sprintf("%d; %d", s.lost, s.failed)}, verdict(float64(s.lost+s.failed), "0", s.lost+s.failed == 0))
	for _, r := range rows {
		r[1] = strings.TrimSuffix(r[1], ", ")
	}
	table(fmt.Sprintf("Replies: this module, Caddy's reverse_proxy (flush_interval -1), AI SDK 7.0.173 on Node; %d sections, %d rounds, medians", sections, b.rounds),
		[]string{"#", "figure", "module", "proxy", "AI SDK", "result"}, rows)
	return nil
}
