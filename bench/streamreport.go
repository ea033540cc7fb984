package main

import "fmt"

// report prints the table of the stream suite.
func report(b *bench, s *servers, out series, sections int) error {
	var rows [][]string
	add := func(n int, figure string, values [3]string, result string) {
		rows = append(rows, append([]string{fmt.Sprint(n), figure}, values[0], values[1], values[2], result))
	}
	medians := func(name string) (values [3]string) {
		for i, who := range []string{"module", "proxy", "node"} {
			if len(out[name+" "+who]) > 0 {
				values[i] = number(out.median(name + " " + who))
			}
		}
		return values
	}
	// proxied compares a figure of the module with the proxy's.
	proxied := func(name string) float64 { return out.ratio(name+" module", name+" proxy") }
	atMost := func(f, target float64) string { return result(f, fmt.Sprintf("≤ %.2f", target), f <= target) }
	atLeast := func(f, target float64) string { return result(f, fmt.Sprintf("≥ %g", target), f >= target) }
	node := func(name string) bool { return len(out[name+" node"]) > 0 }

	if b.wants(1) {
		add(1, "CPU time a token, 500 streams × 50 tokens/s, replies of 120 tokens, µs", medians("paced"), "module ÷ proxy "+atMost(proxied("paced"), 1.45))
	}
	if b.wants(2) && node("paced") {
		add(2, "the same, µs", medians("paced"), "AI SDK ÷ module "+atLeast(out.ratio("paced node", "paced module"), 4))
	}
	if b.wants(1, 2) {
		add(1, "token latency, p50, ms", medians("paced p50"), "")
		add(1, "token latency, p99, ms", medians("paced p99"), "module ÷ proxy "+atMost(proxied("paced p99"), 2))
	}
	if b.wants(3) {
		for _, n := range []int{300, 3000} {
			name, compared := fmt.Sprintf("flat %d", n), ""
			if node(name) {
				compared = "module ÷ AI SDK " + atLeast(out.ratio(name+" module", name+" node"), 15)
			}
			add(3, fmt.Sprintf("unpaced, 32 streams, replies of %d tokens, tokens a second of CPU time", n), medians(name), compared)
		}
	}
	if b.wants(4) {
		add(4, fmt.Sprintf("overload: %d streams × 50 tokens/s, token latency while all are open, p99, ms", clients(2000)),
			medians("overload steady p99"), "module ÷ proxy "+atMost(proxied("overload steady p99"), 2))
		add(4, "the same, start and end of the streams included, ms", medians("overload p99"), "module ÷ proxy "+number(proxied("overload p99")))
		add(4, "CPU time a token, µs", medians("overload cpu"), "")
	}
	if b.wants(5) {
		add(5, fmt.Sprintf("at rest: %d streams × 5 tokens/s, token latency while all are open, p99, ms", clients(2000)),
			medians("slow steady p99"), "module ÷ proxy "+atMost(proxied("slow steady p99"), 2))
		add(5, "the same, p50, ms", medians("slow steady p50"), "")
		add(5, "p99, start and end of the streams included, ms", medians("slow p99"), "module ÷ proxy "+number(proxied("slow p99")))
	}
	if b.wants(6) {
		add(6, "memory of an open idle stream (heap and stacks after a collection), KiB", medians("idle"), "module ÷ proxy "+atMost(proxied("idle"), 1.15))
		add(6, "the same, growth of the RSS, KiB", medians("idle rss"), "module ÷ proxy "+number(proxied("idle rss")))
	}
	if b.wants(7) {
		add(7, "writes a token, one token in each write of the model", medians("writes 1"), "")
		add(7, "writes a token, five tokens in each write of the model", medians("writes 5"), "")
	}
	if b.wants(8) {
		allocs, err := allocations()
		if err != nil {
			return err
		}
		add(8, "allocations a text token: reader, link check and encoder", [3]string{number(allocs)}, atMost(allocs, maxAllocations))
	}
	if b.wants(9) {
		add(9, "request to first byte, one client, p95, ms", medians("first"), atMost(out.median("first module"), 5))
		add(9, "request to its arrival at the model, p95, ms", medians("asked"), atMost(out.median("asked module"), 15))
		add(9, "request to first byte, p50, ms", medians("first p50"), "")
		add(9, "request to its arrival at the model, p50, ms", medians("asked p50"), "")
	}
	add(10, fmt.Sprintf("tokens lost, duplicated or out of order, of %d; streams failed", s.tokens),
		[3]string{fmt.Sprintf("%d; %d", s.lost, s.failed)}, result(float64(s.lost+s.failed), "0", s.lost+s.failed == 0))
	table(fmt.Sprintf("Replies: this module, Caddy's reverse_proxy (flush_interval -1), AI SDK 7.0.173 on Node; %d sections, medians of %d rounds", sections, b.rounds),
		[]string{"#", "figure", "module", "proxy", "AI SDK", "result"}, rows)
	return nil
}
