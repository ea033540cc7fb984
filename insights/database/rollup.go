package database

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/insights"
)

// rollups are the counts of a batch by day.
type rollups struct {
	sites     map[siteDay]*insights.Counts
	queries   map[queryDay]*insights.Counts
	keys      map[keyDay]*insights.Counts
	latencies map[latencyDay]int64
}

type (
	siteDay struct {
		site, day int64
		source    string
	}
	queryDay struct{ site, day, query int64 }
	keyDay   struct {
		site, day int64
		name      string
	}
	latencyDay struct{ site, day, bucket int64 }
)

func newRollups() rollups {
	return rollups{map[siteDay]*insights.Counts{}, map[queryDay]*insights.Counts{}, map[keyDay]*insights.Counts{}, map[latencyDay]int64{}}
}

func dayOf(e *insights.Event) int64 { return int64(insights.DateOf(e.At)) }

func (r *rollups) site(site int64, e *insights.Event, c insights.Counts) {
	count(r.sites, siteDay{site, dayOf(e), string(e.Source)}, c)
}

func (r *rollups) query(site int64, e *insights.Event, query any, c insights.Counts) {
	if id, ok := query.(int64); ok {
		count(r.queries, queryDay{site, dayOf(e), id}, c)
	}
}

func (r *rollups) key(site int64, e *insights.Event, c insights.Counts) {
	if e.Key != "" {
		count(r.keys, keyDay{site, dayOf(e), e.Key}, c)
	}
}

func (r *rollups) latency(site int64, e *insights.Event, ms int64) {
	r.latencies[latencyDay{site, dayOf(e), bucketOf(ms)}]++
}

func count[K comparable](m map[K]*insights.Counts, key K, c insights.Counts) {
	if m[key] == nil {
		m[key] = new(insights.Counts)
	}
	add(m[key], c)
}

// add adds counts to others.
func add(to *insights.Counts, c insights.Counts) {
	from := fields(&c)
	for i, p := range fields(to) {
		*p += *from[i]
	}
}

// fields are the counts in the order of countColumns.
func fields(c *insights.Counts) []*int64 {
	return []*int64{
		&c.Searches, &c.NoResult, &c.Weak, &c.Tracked, &c.Clicked, &c.Clicks, &c.Positions,
		&c.Conversations, &c.Replies, &c.Yes, &c.Partly, &c.No, &c.Failed,
		&c.InputTokens, &c.OutputTokens, &c.Up, &c.Down,
	}
}

// countColumns are the columns of docs_day_site; docs_day_query has the first
// queryCounts of them.
var countColumns = []string{
	"searches", "none", "weak", "tracked", "clicked", "clicks", "positions",
	"conversations", "replies", "yes", "partly", "no", "failed",
	"input_tokens", "output_tokens", "up", "down",
}

const queryCounts = 7

// sums is a list of the sums of columns, 0 without rows.
func sums(columns []string) string {
	return "coalesce(sum(" + strings.Join(columns, "), 0), coalesce(sum(") + "), 0)"
}

// scans are where a row of sums goes.
func scans(c *insights.Counts, n int) []any {
	to := make([]any, n)
	for i, p := range fields(c)[:n] {
		to[i] = p
	}
	return to
}

// write adds the counts to those of the database.
func (r *rollups) write(t *tx) error {
	values := func(keys []any, c *insights.Counts, n int) []any {
		for _, p := range fields(c)[:n] {
			keys = append(keys, *p)
		}
		return keys
	}
	var rows [][]any
	for _, k := range sortedKeys(r.sites, func(a, b siteDay) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.day, b.day), strings.Compare(a.source, b.source))
	}) {
		rows = append(rows, values([]any{k.site, k.day, k.source}, r.sites[k], len(countColumns)))
	}
	if err := t.count("docs_day_site", []string{"site", "day", "source"}, countColumns, rows); err != nil {
		return err
	}

	rows = nil
	for _, k := range sortedKeys(r.queries, func(a, b queryDay) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.day, b.day), cmp.Compare(a.query, b.query))
	}) {
		rows = append(rows, values([]any{k.site, k.day, k.query}, r.queries[k], queryCounts))
	}
	if err := t.count("docs_day_query", []string{"site", "day", "query"}, countColumns[:queryCounts], rows); err != nil {
		return err
	}

	rows = nil
	for _, k := range sortedKeys(r.keys, func(a, b keyDay) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.day, b.day), strings.Compare(a.name, b.name))
	}) {
		rows = append(rows, []any{k.site, k.day, k.name, r.keys[k].Searches, r.keys[k].Replies})
	}
	if err := t.count("docs_day_key", []string{"site", "day", "name"}, []string{"searches", "replies"}, rows); err != nil {
		return err
	}

	rows = nil
	for _, k := range sortedKeys(r.latencies, func(a, b latencyDay) int {
		return cmp.Or(cmp.Compare(a.site, b.site), cmp.Compare(a.day, b.day), cmp.Compare(a.bucket, b.bucket))
	}) {
		rows = append(rows, []any{k.site, k.day, k.bucket, r.latencies[k]})
	}
	return t.count("docs_day_latency", []string{"site", "day", "bucket"}, []string{"replies"}, rows)
}

func sortedKeys[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(m), compare)
}

// count adds rows to a table of counts.
func (t *tx) count(table string, keys, counts []string, rows [][]any) error {
	set := make([]string, len(counts))
	for i, c := range counts {
		set[i] = c + " = " + table + "." + c + " + excluded." + c
	}
	into := table + " (" + strings.Join(slices.Concat(keys, counts), ", ") + ")"
	return t.insert(into, len(keys)+len(counts), rows,
		"on conflict ("+strings.Join(keys, ", ")+") do update set "+strings.Join(set, ", "))
}

// Buckets of times grow by a quarter from 10 ms on; the last one is open.
const (
	firstBucket = 10.0 // ms
	growth      = 1.25
	buckets     = 46 // the last begins at 230 s
)

func bucketOf(ms int64) int64 {
	if ms <= int64(firstBucket) {
		return 0
	}
	return min(int64(math.Ceil(math.Log(float64(ms)/firstBucket)/math.Log(growth))), buckets)
}

// percentile estimates a percentile in ms from the replies in buckets.
func percentile(in map[int64]int64, p float64) float64 {
	var total int64
	for _, n := range in {
		total += n
	}
	rank := p * float64(total)
	var seen float64
	for b := int64(0); b <= buckets; b++ {
		n := float64(in[b])
		if n == 0 || seen+n < rank {
			seen += n
			continue
		}
		upper := firstBucket * math.Pow(growth, float64(b))
		lower := upper / growth
		if b == 0 {
			lower = 0
		}
		return lower + (upper-lower)*(rank-seen)/n
	}
	return 0
}
