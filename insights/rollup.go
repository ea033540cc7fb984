package insights

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// The tables of counts by day.
const (
	bySource = iota
	byQuery
	byKey
	byBucket
)

// dayKey is a row of one of these tables.
type dayKey struct {
	table     int
	site, day int64
	by        any // a text or a number
}

// count adds to the counts of a day by text or by number. It ignores searches
// without their text and requests without a key.
func (b *batch) count(table int, site int64, at time.Time, by any, c Counts) {
	if by == nil || table == byKey && by == "" {
		return
	}
	key := dayKey{table, site, int64(DateOf(at)), by}
	if b.days[key] == nil {
		b.days[key] = new(Counts)
	}
	b.days[key].Add(&c)
}

// Add adds other counts.
func (c *Counts) Add(other *Counts) {
	from := other.fields()
	for i, p := range c.fields() {
		*p += *from[i]
	}
}

// fields are the counts in the order of countColumns.
func (c *Counts) fields() []*int64 {
	return []*int64{
		&c.Searches, &c.NoResult, &c.Weak, &c.Tracked, &c.Clicked, &c.Clicks, &c.Positions,
		&c.Conversations, &c.Replies, &c.Yes, &c.Partly, &c.No, &c.Failed,
		&c.InputTokens, &c.OutputTokens, &c.Up, &c.Down, &c.CachedTokens,
	}
}

// countColumns are the columns of docs_day_site; docs_day_query has the first
// queryCounts of them.
var countColumns = []string{
	"searches", "none", "weak", "tracked", "clicked", "clicks", "positions",
	"conversations", "replies", "yes", "partly", "no", "failed",
	"input_tokens", "output_tokens", "up", "down", "cached_tokens",
}

const queryCounts = 7

// sums is a list of the sums of columns, 0 without rows.
func sums(columns []string) string {
	return "coalesce(sum(" + strings.Join(columns, "), 0), coalesce(sum(") + "), 0)"
}

// scans are where a row of the sums of countColumns goes, after other columns.
func (c *Counts) scans(to ...any) []any {
	for _, p := range c.fields() {
		to = append(to, p)
	}
	return to
}

func (b *batch) addDays() error {
	keys := slices.SortedFunc(maps.Keys(b.days), func(x, y dayKey) int {
		return cmp.Or(cmp.Compare(x.site, y.site), cmp.Compare(x.day, y.day), strings.Compare(fmt.Sprint(x.by), fmt.Sprint(y.by)))
	})
	for i, table := range [...]struct {
		name, by string // the column by which it counts
		counts   []string
	}{
		bySource: {"docs_day_site", "source", countColumns},
		byQuery:  {"docs_day_query", "query", countColumns[:queryCounts]},
		byKey:    {"docs_day_key", "name", []string{"searches", "replies"}},
		byBucket: {"docs_day_latency", "bucket", []string{"replies"}},
	} {
		var rows [][]any
		for _, k := range keys {
			if k.table != i {
				continue
			}
			row := []any{k.site, k.day, k.by}
			fields := b.days[k].fields()
			for _, name := range table.counts {
				row = append(row, *fields[slices.Index(countColumns, name)])
			}
			rows = append(rows, row)
		}
		set := make([]string, len(table.counts))
		for j, c := range table.counts {
			set[j] = c + " = " + table.name + "." + c + " + excluded." + c
		}
		into := table.name + " (site, day, " + table.by + ", " + strings.Join(table.counts, ", ") + ")"
		if err := b.insert(into, rows, "on conflict (site, day, "+table.by+") do update set "+strings.Join(set, ", "), nil, nil); err != nil {
			return err
		}
	}
	return nil
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
