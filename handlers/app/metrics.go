package app

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// collectors are this module's metrics. They live as long as the process:
// Caddy makes a new registry for each configuration, and collectors made with
// it would begin at zero with each reload. Labels are bounded: sites and
// models of the configuration, and fixed words.
var collectors = newMetrics()

type metrics struct {
	replies       *prometheus.CounterVec   // site, version, outcome, model
	firstToken    *prometheus.HistogramVec // site
	retrieval     *prometheus.HistogramVec // site
	tokens        *prometheus.CounterVec   // site, direction
	open          *prometheus.GaugeVec     // site
	refused       *prometheus.CounterVec   // site, why
	limited       *prometheus.CounterVec   // site, api, limit
	searches      *prometheus.CounterVec   // site, outcome
	attempts      *prometheus.CounterVec   // endpoint, model, outcome
	attemptFirst  *prometheus.HistogramVec // endpoint, model
	threadsFailed prometheus.Counter
	events        *prometheus.CounterVec // site, kind, source
	answered      *prometheus.CounterVec // site, answered
	clicks        *prometheus.CounterVec // site
	feedback      *prometheus.CounterVec // site, rating
	refreshes     *prometheus.CounterVec // site, outcome
	pages         *prometheus.GaugeVec   // site
	tools         *prometheus.CounterVec // site, tool

	all []vector
}

// vector is a metric with labels.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

func newMetrics() *metrics {
	var all []vector
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "caddy_docs_" + name, Help: help}, labels)
		all = append(all, v)
		return v
	}
	seconds := func(name, help string, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "caddy_docs_" + name, Help: help,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels)
		all = append(all, v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "caddy_docs_" + name, Help: help}, labels)
		all = append(all, v)
		return v
	}
	m := &metrics{
		replies:       counter("replies_total", "Replies by outcome (answered, extractive, failed, disconnected, stopped) and model.", "site", "version", "outcome", "model"),
		firstToken:    seconds("first_token_seconds", "Time from a request to the first token of the answer.", "site"),
		retrieval:     seconds("retrieval_seconds", "Time to find the passages for a reply.", "site"),
		tokens:        counter("tokens_total", "Tokens that models counted.", "site", "direction"),
		open:          gauge("open_streams", "Replies in progress.", "site"),
		refused:       counter("refused_total", "Requests answered 503: busy (max_concurrent_replies), not_ready (no index yet), search (neither model nor search), stopping.", "site", "reason"),
		limited:       counter("limited_total", "Requests answered 429 by the limit that refused them (ip, organization).", "site", "api", "limit"),
		searches:      counter("searches_total", "Searches by outcome (hits, none, failed).", "site", "outcome"),
		attempts:      counter("model_requests_total", "Requests to each model endpoint by outcome (ok, canceled, circuit_open, unreachable, first_token_timeout, idle_timeout, truncated, empty, malformed, unauthorized, rate_limited, bad_request, server_error, content_filter).", "endpoint", "model", "outcome"),
		attemptFirst:  seconds("model_first_token_seconds", "Time from a request to a model endpoint to its first token.", "endpoint", "model"),
		threadsFailed: counter("threads_failed_total", "Turns of conversations that could not be stored at once.").WithLabelValues(),
		events:        counter("events_total", "Events for the insights by kind (search, click, reply, vote) and source (api, widget, mcp, command), recorded or not.", "site", "kind", "source"),
		answered:      counter("answered_total", "Replies by whether the documentation answered (yes, partly, no).", "site", "answered"),
		clicks:        counter("clicks_total", "Clicks on search results.", "site"),
		feedback:      counter("feedback_total", "Votes for replies and pages by rating (up, down).", "site", "rating"),
		refreshes:     counter("index_refreshes_total", "Refreshes of indexes by outcome (new, unchanged, failed).", "site", "outcome"),
		tools:         counter("mcp_calls_total", "Calls of MCP tools (search, fetch, other).", "site", "tool"),
		pages:         gauge("pages", "Pages in the index.", "site"),
	}
	m.all = all
	return m
}

// observeAttempt counts a request to a model's endpoint.
func observeAttempt(a model.Attempt) {
	collectors.attempts.WithLabelValues(a.Endpoint, a.Model, string(a.Kind)).Inc()
	if a.FirstToken > 0 {
		collectors.attemptFirst.WithLabelValues(a.Endpoint, a.Model).Observe(a.FirstToken.Seconds())
	}
}

// forgetMetrics removes the metrics of a site that is gone.
func forgetMetrics(site string) {
	for _, v := range collectors.all {
		v.DeletePartialMatch(prometheus.Labels{"site": site})
	}
}

// ToolCalled counts a call of an MCP tool.
func (a *App) ToolCalled(site, tool string) { collectors.tools.WithLabelValues(site, tool).Inc() }

// registerMetrics adds the collectors to the registry of a configuration.
func (a *App) registerMetrics(r *prometheus.Registry) error {
	register := func(c prometheus.Collector) error {
		err := r.Register(c)
		if _, already := errors.AsType[prometheus.AlreadyRegisteredError](err); err == nil || already {
			return nil
		}
		return fmt.Errorf("registering metrics: %w", err)
	}
	for _, v := range collectors.all {
		if err := register(v); err != nil {
			return err
		}
	}
	return register((*readings)(a))
}

// readings are the metrics that are read from an App when they are collected.
// What they read is shared by configurations, so that a reload resets none.
type readings App

// Describe implements prometheus.Collector. It sends nothing: the metrics
// depend on the sites and models of the configuration.
func (*readings) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g *readings) Collect(ch chan<- prometheus.Metric) {
	a := (*App)(g)
	reading := func(name, help string, labels ...string) func(kind prometheus.ValueType, v float64, values ...string) {
		desc := prometheus.NewDesc("caddy_docs_"+name, help, labels, nil)
		return func(kind prometheus.ValueType, v float64, values ...string) {
			ch <- prometheus.MustNewConstMetric(desc, kind, v, values...)
		}
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue

	circuit := reading("model_circuit_open", "1 while an endpoint is not asked, after consecutive failures.", "endpoint", "model")
	failures := reading("model_consecutive_failures", "Failures of an endpoint since its last success.", "endpoint", "model")
	seen := make(map[[2]string]bool)
	for _, s := range a.currentModel().states() {
		if at := [2]string{s.Endpoint, s.Model}; !seen[at] { // an endpoint may be configured twice
			seen[at] = true
			circuit(gauge, one(s.Breaker != "closed"), s.Endpoint, s.Model)
			failures(gauge, float64(s.Failures), s.Endpoint, s.Model)
		}
	}
	reading("keys", "API keys held in memory.")(gauge, float64(a.keys.Len()))
	reading("thread_storage_failures_total", "Times that the storage of threads failed.")(counter, float64(a.threads.Failures()))

	if a.recorder != nil {
		st := a.recorder.Status()
		reading("insights_stored_total", "Events that were stored.")(counter, float64(st.Stored))
		reading("insights_dropped_total", "Events that were dropped because the store failed and the buffer was full.")(counter, float64(st.Dropped))
		reading("insights_buffered", "Events that wait to be stored.")(gauge, float64(st.Buffered))
		reading("insights_failing", "1 while events can't be stored.")(gauge, one(st.Error != ""))
	}

	sections := reading("sections", "Sections in the index.", "site")
	ready := reading("index_ready", "1 once a site has an index to answer from.", "site")
	embeddings := reading("query_embeddings_total", "Queries that got a vector (embedded, cached), or used keyword search only (timeout, failed, skipped).", "site", "outcome")
	searches := reading("meilisearch_searches_total", "Searches of an index in Meilisearch servers: answered, keyword_only (answered without the vectors that were wanted), fallback (answered by the index inside the process), failed.", "site", "outcome")
	limit := reading("budget_limit", "What a site may spend an hour or a day.", "site", "unit")
	spent := reading("budget_spent", "What a site has spent and reserved of it.", "site", "unit")
	refused := reading("budget_refused_total", "Replies that were extractive because the budget was spent.", "site")
	for _, r := range a.all() {
		st := r.index.refresher.Status()
		sections(gauge, float64(st.Sections), r.Name)
		ready(gauge, one(st.Ready), r.Name)
		if c, ok := r.index.embeddings(); ok {
			for outcome, n := range map[string]uint64{"embedded": c.Embedded, "cached": c.Cached, "timeout": c.Late, "failed": c.Failed, "skipped": c.Skipped} {
				embeddings(counter, float64(n), r.Name, outcome)
			}
		}
		if x, ok := r.index.index.(*meilisearch.Index); ok {
			c := x.Counts()
			for outcome, n := range map[string]uint64{"answered": c.Answered, "keyword_only": c.KeywordOnly, "fallback": c.Fallback, "failed": c.Failed} {
				searches(counter, float64(n), r.Name, outcome)
			}
		}
		if b := r.budget.status(); b != nil {
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

// embeddings counts the queries for which an embedder, or one in the
// Meilisearch servers' settings, was to make a vector; ok is false where there
// is none.
func (c *siteIndex) embeddings() (counts retrieval.QueryVectorCounts, ok bool) {
	if c.queries != nil {
		return c.queries.Counts(), true
	}
	if x, ok := c.index.(*meilisearch.Index); ok {
		return x.EmbedderCounts()
	}
	return counts, false
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
