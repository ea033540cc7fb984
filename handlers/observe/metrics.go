// Package observe has the metrics and the spans of requests.
package observe

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/caddy-docs/caddy-docs/model"
)

// Metrics are this module's metrics. They live as long as the process:
// Caddy makes a new registry for each configuration, and collectors made with
// it would begin at zero with each reload. Labels are bounded: sites and
// models of the configuration, and fixed words.
var Metrics = newMetrics()

// metrics are declared by kind; newMetrics has their names and labels.
type metrics struct {
	Replies, Tokens, CachedTokens, Refused, Limited, Searches, Attempts *prometheus.CounterVec
	Events, Answered, Clicks, Feedback, Missing, Refreshes, Tools       *prometheus.CounterVec
	FirstToken, Retrieval, AttemptFirst                                 *prometheus.HistogramVec
	Open, Pages                                                         *prometheus.GaugeVec
	ThreadsFailed                                                       prometheus.Counter

	all []*prometheus.MetricVec
}

func newMetrics() *metrics {
	var all []*prometheus.MetricVec
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "caddy_docs_" + name, Help: help}, labels)
		all = append(all, v.MetricVec)
		return v
	}
	seconds := func(name, help string, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "caddy_docs_" + name, Help: help,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels)
		all = append(all, v.MetricVec)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "caddy_docs_" + name, Help: help}, labels)
		all = append(all, v.MetricVec)
		return v
	}
	m := &metrics{
		Replies:       counter("replies_total", "Replies by outcome (answered, extractive, failed, disconnected, stopped) and model.", "site", "version", "outcome", "model"),
		FirstToken:    seconds("first_token_seconds", "Time from a request to the first token of the answer.", "site"),
		Retrieval:     seconds("retrieval_seconds", "Time to find the passages for a reply.", "site"),
		Tokens:        counter("tokens_total", "Tokens that models counted.", "site", "direction"),
		CachedTokens:  counter("cached_tokens_total", "Input tokens that providers had in their caches.", "site"),
		Open:          gauge("open_streams", "Replies in progress.", "site"),
		Refused:       counter("refused_total", "Requests answered with 503: busy (max_concurrent_replies), not_ready (no index yet), search (neither model nor search), stopping.", "site", "reason"),
		Limited:       counter("limited_total", "Requests answered with 429, by the limit that refused them (ip, organization).", "site", "api", "limit"),
		Searches:      counter("searches_total", "Searches by outcome (hits, none, failed).", "site", "outcome"),
		Attempts:      counter("model_requests_total", "Requests to each model endpoint by outcome (ok, canceled, circuit_open, unreachable, first_token_timeout, idle_timeout, truncated, empty, malformed, unauthorized, rate_limited, bad_request, server_error, content_filter).", "endpoint", "model", "outcome"),
		AttemptFirst:  seconds("model_first_token_seconds", "Time from a request to a model endpoint to its first token.", "endpoint", "model"),
		ThreadsFailed: counter("threads_failed_total", "Turns of conversations that could not be stored at once.").WithLabelValues(),
		Events:        counter("events_total", "Events for the insights by kind (search, click, reply, vote, missing) and source (api, widget, mcp, command, web, group), recorded or not.", "site", "kind", "source"),
		Answered:      counter("answered_total", "Replies by whether the documentation answered (yes, partly, no).", "site", "answered"),
		Clicks:        counter("clicks_total", "Clicks on search results.", "site"),
		Feedback:      counter("feedback_total", "Votes for replies and pages by rating (up, down).", "site", "rating"),
		Missing:       counter("missing_total", "Requests for pages that don't exist, as far as they are recorded, by outcome (redirected, suggested, nothing).", "site", "outcome"),
		Refreshes:     counter("index_refreshes_total", "Refreshes of indexes by outcome (new, unchanged, failed).", "site", "outcome"),
		Tools:         counter("mcp_calls_total", "Calls of MCP tools (search, fetch, other).", "site", "tool"),
		Pages:         gauge("pages", "Pages in the index.", "site"),
	}
	m.all = all
	return m
}

// Attempt counts a request to a model's endpoint.
func Attempt(a model.Attempt) {
	Metrics.Attempts.WithLabelValues(a.Endpoint, a.Model, string(a.Kind)).Inc()
	if a.FirstToken > 0 {
		Metrics.AttemptFirst.WithLabelValues(a.Endpoint, a.Model).Observe(a.FirstToken.Seconds())
	}
}

// Refused counts a request that was answered with 503.
func Refused(site, why string) { Metrics.Refused.WithLabelValues(site, why).Inc() }

// Forget removes the metrics of a site that is gone.
func Forget(site string) {
	for _, v := range Metrics.all {
		v.DeletePartialMatch(prometheus.Labels{"site": site})
	}
}

// Register adds the collectors and further ones to the registry of a
// configuration.
func Register(r *prometheus.Registry, readings prometheus.Collector) error {
	all := []prometheus.Collector{readings}
	for _, v := range Metrics.all {
		all = append(all, v)
	}
	for _, c := range all {
		err := r.Register(c)
		if _, already := errors.AsType[prometheus.AlreadyRegisteredError](err); err != nil && !already {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	return nil
}
