package database

import (
	"context"

	"github.com/caddy-docs/caddy-docs/insights"
)

// Overview returns the site's numbers in a period and in the one before.
func (s *Store) Overview(ctx context.Context, in insights.Scope, p insights.Period) (o insights.Overview, err error) {
	o.BySource = map[insights.Source]insights.SourceCounts{}
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return o, err
	}
	query := `select source, ` + sums(countColumns) + ` from docs_day_site where site = ? and day between ? and ? group by source`
	err = s.each(ctx, func(scan func(...any) error) error {
		var source string
		var c insights.Counts
		if err := scan(append([]any{&source}, scans(&c, len(countColumns))...)...); err != nil {
			return err
		}
		add(&o.Counts, c)
		o.BySource[insights.Source(source)] = insights.SourceCounts{Searches: c.Searches, Replies: c.Replies}
		return nil
	}, query, site, int64(p.From), int64(p.To))
	if err != nil {
		return o, err
	}
	before := p.Before()
	err = s.each(ctx, func(scan func(...any) error) error { return scan(scans(&o.Before, len(countColumns))...) },
		`select `+sums(countColumns)+` from docs_day_site where site = ? and day between ? and ?`, site, int64(before.From), int64(before.To))
	if err != nil {
		return o, err
	}
	times := map[int64]int64{}
	err = s.each(ctx, func(scan func(...any) error) error {
		var bucket, n int64
		err := scan(&bucket, &n)
		times[bucket] += n
		return err
	}, `select bucket, replies from docs_day_latency where site = ? and day between ? and ?`, site, int64(p.From), int64(p.To))
	if len(times) > 0 {
		o.FirstToken = &insights.Percentiles{P50: percentile(times, .5), P95: percentile(times, .95)}
	}
	return o, err
}

// Days returns the site's numbers for each day of a period.
func (s *Store) Days(ctx context.Context, in insights.Scope, p insights.Period) ([]insights.Day, error) {
	days := make([]insights.Day, max(p.Days(), 0))
	for i := range days {
		days[i].Date = p.From + insights.Date(i)
	}
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return days, err
	}
	err = s.each(ctx, func(scan func(...any) error) error {
		var day int64
		var c insights.Counts
		if err := scan(append([]any{&day}, scans(&c, len(countColumns))...)...); err != nil {
			return err
		}
		days[day-int64(p.From)].Counts = c
		return nil
	}, `select day, `+sums(countColumns)+` from docs_day_site where site = ? and day between ? and ? group by day`, site, int64(p.From), int64(p.To))
	return days, err
}

// KeyUse returns the requests of each key by day.
func (s *Store) KeyUse(ctx context.Context, in insights.Scope, p insights.Period) (use []insights.KeyDay, err error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	err = s.each(ctx, func(scan func(...any) error) error {
		var k insights.KeyDay
		var day int64
		err := scan(&k.Key, &day, &k.Searches, &k.Replies)
		k.Date = insights.Date(day)
		use = append(use, k)
		return err
	}, `select name, day, searches, replies from docs_day_key where site = ? and day between ? and ? order by name, day`, site, int64(p.From), int64(p.To))
	return use, err
}
