package app

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
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
	searches      *prometheus.CounterVec   // site, outcome
	threadsFailed prometheus.Counter
	refreshes     *prometheus.CounterVec // site, outcome
	pages         *prometheus.GaugeVec   // site
}

var collectors = newMetrics()

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "caddy", Subsystem: "docs", Name: name, Help: help}, labels)
	}
	seconds := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "caddy", Subsystem: "docs", Name: name, Help: help,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "caddy", Subsystem: "docs", Name: name, Help: help}, labels)
	}
	return &metrics{
		replies:    counter("replies_total", "Replies by outcome (answered, extractive, failed, gone, stopped) and model.", "site", "version", "outcome", "model"),
		firstToken: seconds("first_token_seconds", "Time from request to the first piece of the answer.", "site"),
		retrieval:  seconds("retrieval_seconds", "Time spent on finding passages for a reply.", "site"),
		tokens:     counter("tokens_total", "Tokens that models counted.", "site", "direction"),
		open:       gauge("open_streams", "Replies under way.", "site"),
		searches:   counter("searches_total", "Searches by outcome (hits, none, failed).", "site", "outcome"),
		threadsFailed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "caddy", Subsystem: "docs", Name: "threads_failed_total", Help: "Conversations that could not be stored."}),
		refreshes: counter("index_generations_total", "Refreshes of indexes by outcome (new, failed).", "site", "outcome"),
		pages:     gauge("pages", "Pages in the index.", "site"),
	}
}

// registerMetrics puts the collectors into the registry of a configuration.
func registerMetrics(r *prometheus.Registry) *metrics {
	m := collectors
	for _, c := range []prometheus.Collector{m.replies, m.firstToken, m.retrieval, m.tokens, m.open, m.searches, m.threadsFailed, m.refreshes, m.pages} {
		if err := r.Register(c); err != nil {
			var already prometheus.AlreadyRegisteredError
			if !errors.As(err, &already) {
				panic(err) // two collectors of one name: a mistake in this file
			}
		}
	}
	return m
}
