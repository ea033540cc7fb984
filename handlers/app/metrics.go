package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// readings are the metrics that are read from an App when they are collected.
// What they read is shared by configurations, so that a reload resets none.
type readings App

// Describe implements prometheus.Collector. It sends nothing: the metrics
// depend on the sites and models of the configuration.
func (*readings) Describe(chan<- *prometheus.Desc) {}

func (g *readings) Collect(ch chan<- prometheus.Metric) {
	a := (*App)(g)
	reading := func(name, help string, labels ...string) func(kind prometheus.ValueType, v float64, values ...string) {
		desc := prometheus.NewDesc("caddy_docs_"+name, help, labels, nil)
		return func(kind prometheus.ValueType, v float64, values ...string) {
			ch <- prometheus.MustNewConstMetric(desc, kind, v, values...)
		}
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue

	circuit := reading("model_circuit_open", "1 while an endpoint gets no requests because it kept failing.", "endpoint", "model")
	failures := reading("model_consecutive_failures", "Failures of an endpoint since its last success.", "endpoint", "model")
	seen := make(map[[2]string]bool)
	for _, s := range a.Model().States() {
		if at := [2]string{s.Endpoint, s.Model}; !seen[at] { // an endpoint may be configured twice
			seen[at] = true
			circuit(gauge, one(s.Breaker != "closed"), s.Endpoint, s.Model)
			failures(gauge, float64(s.Failures), s.Endpoint, s.Model)
		}
	}
	reading("keys", "API keys held in memory.")(gauge, float64(a.shared.Keys.Len()))
	reading("thread_storage_failures_total", "Times that the storage of threads failed.")(counter, float64(a.shared.Threads.Failures()))

	if r := a.recorded.Recorder; r != nil {
		st := r.Status()
		reading("insights_stored_total", "Events that were stored.")(counter, float64(st.Stored))
		reading("insights_dropped_total", "Events that were dropped because the store failed and the buffer was full.")(counter, float64(st.Dropped))
		reading("insights_buffered", "Events that wait to be stored.")(gauge, float64(st.Buffered))
		reading("insights_failing", "1 while events can't be stored.")(gauge, one(st.Error != ""))
	}

	sections := reading("sections", "Sections in the index.", "site")
	sourcePages := reading("source_pages", "Pages of each source of a site that has several.", "site", "source")
	sourceFailing := reading("source_failing", "1 while a source can't be read, and its last good pages are served.", "site", "source")
	sourceChecked := reading("source_checked_timestamp_seconds", "When the pages last matched a source.", "site", "source")
	ready := reading("index_ready", "1 once a site has an index to answer from.", "site")
	embeddings := reading("query_embeddings_total", "Queries that got a vector (embedded, cached), or used keyword search only (timeout, failed, skipped).", "site", "outcome")
	searches := reading("meilisearch_searches_total", "Searches of an index in Meilisearch servers: answered, keyword_only (answered without the vectors that were wanted), fallback (answered by the index inside the process), failed.", "site", "outcome")
	limit := reading("budget_limit", "What a site may spend per hour or day.", "site", "unit")
	spent := reading("budget_spent", "What a site has spent and reserved of its budget.", "site", "unit")
	refused := reading("budget_refused_total", "Replies that were extractive because the budget was spent.", "site")
	for _, r := range a.all() {
		st := r.Index.Refresher.Status()
		sections(gauge, float64(st.Sections), r.Name)
		for _, s := range st.Sources {
			sourcePages(gauge, float64(s.Pages), r.Name, s.Name)
			sourceFailing(gauge, one(s.Error != "" || s.Held != ""), r.Name, s.Name)
			if !s.Checked.IsZero() {
				sourceChecked(gauge, float64(s.Checked.Unix()), r.Name, s.Name)
			}
		}
		ready(gauge, one(st.Ready), r.Name)
		if c, ok := r.Index.Embeddings(); ok {
			for outcome, n := range map[string]uint64{"embedded": c.Embedded, "cached": c.Cached, "timeout": c.Late, "failed": c.Failed, "skipped": c.Skipped} {
				embeddings(counter, float64(n), r.Name, outcome)
			}
		}
		if x, ok := r.Index.Index.(*meilisearch.Index); ok {
			c := x.Counts()
			for outcome, n := range map[string]uint64{"answered": c.Answered, "keyword_only": c.KeywordOnly, "fallback": c.Fallback, "failed": c.Failed} {
				searches(counter, float64(n), r.Name, outcome)
			}
		}
		if b := r.Budget.Status(); b != nil {
			for unit, n := range map[string][2]int64{"tokens": {b.Tokens, b.SpentTokens}, "requests": {b.Requests, b.SpentRequests}} {
				if n[0] > 0 {
					limit(gauge, float64(n[0]), r.Name, unit)
					spent(gauge, float64(n[1]), r.Name, unit)
				}
			}
			refused(counter, float64(b.Refused), r.Name)
		}
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
