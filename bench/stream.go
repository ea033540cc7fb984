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

// servers are the compared servers and the model behind them.
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

// benchStream measures replies. The servers take turns in each round.
func benchStream(ctx context.Context, b *bench) error {
	sections := b.siteSize()
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

// wants reports whether -only includes one of the figures.
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

// figures are in the order of a round. fresh ones begin with new servers.
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

// measured is the result of one load on one server.
type measured struct {
	*seen
	cpu time.Duration
}

func (m *measured) perToken() float64 {
	return ratio(float64(m.cpu)/float64(time.Microsecond), float64(m.seen.tokens))
}

// run puts a load on one of the servers.
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
	l.tokens = p.marks()
	before := proc.cpu()
	m := &measured{seen: l.run(ctx)}
	m.seen.tokens = m.seen.tokens * int64(p.tokens) / int64(p.marks()) // of the marked ones
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

// interleaved runs one load on several servers, beginning with another one in
// each round.
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

// paced measures figures 1 and 2.
func paced(ctx context.Context, b *bench, s *servers, out series) error {
	p := pace{tokens: 120, rate: 50, burst: 1, wait: 200 * time.Millisecond}
	l := load{streams: 500, ramp: time.Second}
	if b.short {
		l.streams = 200
	}
	b.profileCPU(ctx, s.module, "paced", 7*time.Second)
	return s.interleaved(ctx, p, l, func(who string, m *measured) {
		out.add("paced "+who, m.perToken())
		out.add("paced p50 "+who, float64(quantile(m.latency, .5))/1000)
		out.add("paced p99 "+who, float64(quantile(m.latency, .99))/1000)
	}, "module", "proxy", "node")
}

// flatOut measures figure 3, with replies of usual length and with long ones,
// in which the start and end of a reply matter less.
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

// clients returns n, or fewer if the limit of open files requires it: client
// and servers each need two or three for a stream.
func clients(n int) int { return min(n, (files()-200)/3) }

// overload measures figure 4.
func overload(ctx context.Context, b *bench, s *servers, out series) error {
	p := pace{tokens: 300, rate: 50, burst: 1, wait: 200 * time.Millisecond}
	l := load{streams: clients(2000), ramp: 2 * time.Second}
	if b.short {
		p.tokens = 50
	}
	return s.interleaved(ctx, p, l, latencies("overload", out), "module", "proxy")
}

// manySlow measures figure 5.
func manySlow(ctx context.Context, b *bench, s *servers, out series) error {
	p := pace{tokens: 40, rate: 5, burst: 1, wait: 200 * time.Millisecond}
	l := load{streams: clients(2000), ramp: 4 * time.Second}
	if b.short {
		p.tokens = 15
	}
	return s.interleaved(ctx, p, l, latencies("slow", out), "module", "proxy")
}

// latencies adds the latency of tokens while all streams are open, and over
// the whole load, which includes the start and end of each stream.
func latencies(name string, out series) func(string, *measured) {
	return func(who string, m *measured) {
		out.add(name+" steady p50 "+who, float64(quantile(m.steady, .5))/1000)
		out.add(name+" steady p99 "+who, float64(quantile(m.steady, .99))/1000)
		out.add(name+" p50 "+who, float64(quantile(m.latency, .5))/1000)
		out.add(name+" p99 "+who, float64(quantile(m.latency, .99))/1000)
		out.add(name+" cpu "+who, m.perToken())
	}
}

// idleStreams measures figure 6. The streams have their first token and wait.
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
		// Memory that is allocated once does not belong to a stream.
		if _, err := s.run(ctx, who, pace{tokens: 10, burst: 1}, load{streams: 20}); err != nil {
			return err
		}
		proc := srv.process
		heldBefore, err := srv.held(ctx)
		if err != nil {
			return err
		}
		rssBefore := proc.rss()
		each := func(bytes int64) float64 { return float64(bytes) / 1024 / float64(n) }
		var held, rss float64
		measured := make(chan struct{})
		l := load{streams: n, ramp: 4 * time.Second, idle: func() {
			go func() {
				defer close(measured)
				if pause(ctx, 3*time.Second) == nil {
					rss = each(proc.rss() - rssBefore)
					if after, err := srv.held(ctx); err == nil {
						held = each(after - heldBefore)
					}
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
			return errors.New("not all streams began")
		}
		out.add("idle "+who, held)
		out.add("idle rss "+who, rss)
	}
	return nil
}

// writes measures figure 7.
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

// firstBytes measures figure 9, with one client.
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
