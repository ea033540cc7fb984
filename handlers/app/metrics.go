package app

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-docs/caddy-docs/model"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// metrics are this module's collectors. They live as long as the process:
// Caddy makes a new registry for every configuration, and collectors made
// with it would begin at zero with every reload. Labels are bounded: sites
// and models of the configuration, and the fixed words of outcomes.
type metrics struct {
	replies       *prometheus.CounterVec   // site, version, outcome, model
	firstToken    *prometheus.HistogramVec // site
	retrieval     *prometheus.HistogramVec // site
	tokens        *prometheus.CounterVec   // site, direction
	open          *prometheus.GaugeVec     // site
	refused       *prometheus.CounterVec   // site, why
	searches      *prometheus.CounterVec   // site, outcome
	attempts      *prometheus.CounterVec   // endpoint, model, outcome
	attemptFirst  *prometheus.HistogramVec // endpoint, model
	threadsFailed prometheus.Counter
	refreshes     *prometheus.CounterVec // site, outcome
	pages         *prometheus.GaugeVec   // site
}

var collectors = newMetrics()

const metricsNamespace, metricsSubsystem = "caddy", "docs"

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help}, labels)
	}
	seconds := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help}, labels)
	}
	return &metrics{
		replies:      counter("replies_total", "Replies by outcome (answered, extractive, failed, gone, stopped) and model.", "site", "version", "outcome", "model"),
		firstToken:   seconds("first_token_seconds", "Time from request to the first piece of the answer.", "site"),
		retrieval:    seconds("retrieval_seconds", "Time spent on finding passages for a reply.", "site"),
		tokens:       counter("tokens_total", "Tokens that models counted.", "site", "direction"),
		open:         gauge("open_streams", "Replies under way.", "site"),
		refused:      counter("refused_total", "Requests answered 503: busy (max_concurrent_replies), not_ready (no index yet), search (neither model nor search), stopping.", "site", "reason"),
		searches:     counter("searches_total", "Searches by outcome (hits, none, failed).", "site", "outcome"),
		attempts:     counter("model_requests_total", "Requests to each model endpoint by outcome (ok, canceled, circuit_open, unreachable, first_token_timeout, idle_timeout, truncated, empty, malformed, unauthorized, rate_limited, bad_request, server_error, content_filter).", "endpoint", "model", "outcome"),
		attemptFirst: seconds("model_first_token_seconds", "Time from a request to a model endpoint to its first token.", "endpoint", "model"),
		threadsFailed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: "threads_failed_total", Help: "Turns of conversations that could not be stored at once.",
		}),
		refreshes: counter("index_generations_total", "Refreshes of indexes by outcome (new, unchanged, failed).", "site", "outcome"),
		pages:     gauge("pages", "Pages in the index.", "site"),
	}
}

// observeAttempt counts a request to a model's endpoint.
func observeAttempt(a model.Attempt) {
	collectors.attempts.WithLabelValues(a.Endpoint, a.Model, string(a.Kind)).Inc()
	if a.FirstToken > 0 {
		collectors.attemptFirst.WithLabelValues(a.Endpoint, a.Model).Observe(a.FirstToken.Seconds())
	}
}

// registerMetrics puts the collectors into the registry of a configuration, with
// those that read the configuration's state when they are asked.
func (a *App) registerMetrics(r *prometheus.Registry) {
	m := collectors
	for _, c := range []prometheus.Collector{
		m.replies, m.firstToken, m.retrieval, m.tokens, m.open, m.refused, m.searches, m.attempts, m.attemptFirst,
		m.threadsFailed, m.refreshes, m.pages, (*readings)(a),
	} {
		if err := r.Register(c); err != nil {
			if _, already := errors.AsType[prometheus.AlreadyRegisteredError](err); !already {
				panic(err) // two collectors of one name: a mistake in this file
			}
		}
	}
}

// readings are the metrics that are read from an App when they are asked
// for. What they read is shared by configurations (breakers, keepers, siteIndexes,
// budgets), so that they go on over reloads.
type readings App

func reading(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(metricsNamespace, metricsSubsystem, name), help, labels, nil)
}

var (
	breakerDesc       = reading("model_breaker_open", "1 while the circuit breaker of an endpoint is open.", "endpoint", "model")
	breakerFailedDesc = reading("model_failures_in_a_row", "Failures of an endpoint since its last success.", "endpoint", "model")
	keysDesc          = reading("keys", "API keys held in memory.")
	threadErrorsDesc  = reading("thread_storage_failures_total", "Times that the storage of threads failed.")
	embeddedDesc      = reading("query_embeddings_total", "Queries by how they got a vector: embedded, cached; or why by keywords alone: late, failed, skipped.", "site", "outcome")
	meilisearchDesc   = reading("meilisearch_searches_total", "Searches of an index in Meilisearch servers by outcome (answered, keyword_only: answered without vectors, fallback: answered by the embedded index, failed).", "site", "outcome")
	sectionsDesc      = reading("sections", "Sections in the index.", "site")
	readyDesc         = reading("index_ready", "1 once a site has an index to answer from.", "site")
	budgetLimitDesc   = reading("budget_limit", "What a site may spend an hour or a day.", "site", "unit")
	budgetSpentDesc   = reading("budget_spent", "What a site has spent and reserved of it.", "site", "unit")
	budgetRefusedDesc = reading("budget_refused_total", "Replies that were extractive because the budget was spent.", "site")
)

// Describe implements prometheus.Collector.
func (*readings) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		breakerDesc, breakerFailedDesc, keysDesc, threadErrorsDesc, embeddedDesc, meilisearchDesc, sectionsDesc, readyDesc,
		budgetLimitDesc, budgetSpentDesc, budgetRefusedDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (g *readings) Collect(ch chan<- prometheus.Metric) {
	a := (*App)(g)
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	told := make(map[[2]string]bool)
	for _, s := range a.currentModel().states() {
		if at := [2]string{s.Endpoint, s.Model}; !told[at] { // written twice in the configuration
			told[at] = true
			tell(breakerDesc, prometheus.GaugeValue, one(s.Breaker != "closed"), s.Endpoint, s.Model)
			tell(breakerFailedDesc, prometheus.GaugeValue, float64(s.Failures), s.Endpoint, s.Model)
		}
	}
	tell(keysDesc, prometheus.GaugeValue, float64(a.keys.Len()))
	tell(threadErrorsDesc, prometheus.CounterValue, float64(a.threads.Failures()))
	for _, r := range a.all() {
		if r.index == nil {
			continue
		}
		st := r.index.refresher.Status()
		tell(sectionsDesc, prometheus.GaugeValue, float64(st.Sections), r.Name)
		tell(readyDesc, prometheus.GaugeValue, one(st.Ready), r.Name)
		counts := func(d *prometheus.Desc, outcomes map[string]uint64) {
			for outcome, n := range outcomes {
				tell(d, prometheus.CounterValue, float64(n), r.Name, outcome)
			}
		}
		if c, ok := r.index.embeddings(); ok {
			counts(embeddedDesc, map[string]uint64{"embedded": c.Embedded, "cached": c.Cached, "late": c.Late, "failed": c.Failed, "skipped": c.Skipped})
		}
		if x, ok := r.index.index.(*meilisearch.Index); ok {
			c := x.Counts()
			counts(meilisearchDesc, map[string]uint64{"answered": c.Answered, "keyword_only": c.KeywordOnly, "fallback": c.Fallback, "failed": c.Failed})
		}
		if b := r.budget.status(); b != nil {
			for unit, n := range map[string][2]int64{"tokens": {b.Tokens, b.SpentTokens}, "requests": {b.Requests, b.SpentRequests}} {
				if n[0] > 0 {
					tell(budgetLimitDesc, prometheus.GaugeValue, float64(n[0]), r.Name, unit)
					tell(budgetSpentDesc, prometheus.GaugeValue, float64(n[1]), r.Name, unit)
				}
			}
			tell(budgetRefusedDesc, prometheus.CounterValue, float64(b.Refused), r.Name)
		}
	}
}

// embeddings counts the queries for which an embedder, ours or a server's
// own, was to make a vector; ok is false where there is none.
func (c *siteIndex) embeddings() (counts retrieval.HybridCounts, ok bool) {
	if h, ok := c.searcher.(interface{ Counts() retrieval.HybridCounts }); ok {
		return h.Counts(), true
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
