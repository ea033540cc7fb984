package insights

import "context"

// Counts are a site's numbers. Rates are nil where there is nothing to divide
// by: null is not 0.
type Counts struct {
	// Searches are the last queries of typing sessions in the widget, and all
	// searches of other clients.
	Searches int64 `json:"searches"`
	// NoResult are searches without a hit, Weak those whose best hit scored
	// below weakScore.
	NoResult int64 `json:"no_result"`
	Weak     int64 `json:"weak"`
	// Tracked are searches with a hit whose clicks are reported, Clicked those
	// with at least one click, Clicks all clicks.
	Tracked   int64 `json:"tracked"`
	Clicked   int64 `json:"clicked"`
	Clicks    int64 `json:"clicks"`
	Positions int64 `json:"-"` // sum of the clicks' positions

	// Conversations are those that began, Replies all replies.
	Conversations int64 `json:"conversations"`
	Replies       int64 `json:"replies"`
	// Yes, Partly and No are replies by whether the documentation answered.
	// Failed ones had no answer, or lost their reader.
	Yes    int64 `json:"answered_yes"`
	Partly int64 `json:"answered_partly"`
	No     int64 `json:"answered_no"`
	Failed int64 `json:"failed"`

	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	// CachedTokens are those of InputTokens that providers had in their caches.
	CachedTokens int64 `json:"cached_tokens"`

	// Up and Down are votes for replies and pages.
	Up   int64 `json:"up"`
	Down int64 `json:"down"`
}

// NoResultRate is the share of searches without a hit.
func (c Counts) NoResultRate() *float64 { return ratio(c.NoResult, c.Searches) }

// ClickRate is Clicked ÷ Tracked.
func (c Counts) ClickRate() *float64 { return ratio(c.Clicked, c.Tracked) }

// MeanPosition is the mean position of clicks, from 1.
func (c Counts) MeanPosition() *float64 { return ratio(c.Positions, c.Clicks) }

// AnsweredRate is Yes ÷ (Yes + Partly + No).
func (c Counts) AnsweredRate() *float64 { return ratio(c.Yes, c.Yes+c.Partly+c.No) }

// Satisfaction is Up ÷ (Up + Down). Hide it below MinVotes votes.
func (c Counts) Satisfaction() *float64 { return ratio(c.Up, c.Up+c.Down) }

// MinVotes is the number of votes below which a satisfaction says nothing.
const MinVotes = 10

func ratio(n, of int64) *float64 {
	if of == 0 {
		return nil
	}
	r := float64(n) / float64(of)
	return &r
}

// Overview is a site's numbers in a period and in the one before it.
type Overview struct {
	Counts
	Before Counts `json:"before"`
	// FirstToken are the percentiles of the time to the first token in
	// milliseconds, nil without replies. They are estimated from counts in
	// buckets, whose bounds are a quarter apart.
	FirstToken *Percentiles `json:"first_token_ms"`
	// BySource are the searches and replies by source.
	BySource map[string]SourceCounts `json:"by_source"`
}

// SourceCounts are the requests of one source.
type SourceCounts struct {
	Searches int64 `json:"searches"`
	Replies  int64 `json:"replies"`
}

// Percentiles of a time.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// Overview returns the site's numbers in a period and in the one before.
func (s *Store) Overview(ctx context.Context, in Scope, p Period) (o Overview, err error) {
	o.BySource = map[string]SourceCounts{}
	for _, of := range []Period{p, p.Before()} {
		var source string
		var c Counts
		err := s.scan(ctx, in, c.scans(&source), func() {
			if of != p {
				o.Before.Add(&c)
				return
			}
			o.Add(&c)
			o.BySource[source] = SourceCounts{c.Searches, c.Replies}
		}, `select source, `+sums(countColumns)+` from docs_day_site where site = ? and day between ? and ? group by source`,
			int64(of.From), int64(of.To))
		if err != nil {
			return o, err
		}
	}
	var bucket, replies int64
	times := map[int64]int64{}
	err = s.scan(ctx, in, into(&bucket, &replies), func() { times[bucket] += replies },
		`select bucket, replies from docs_day_latency where site = ? and day between ? and ?`, int64(p.From), int64(p.To))
	if len(times) > 0 {
		o.FirstToken = &Percentiles{percentile(times, .5), percentile(times, .95)}
	}
	return o, err
}

// Sites returns the searches and the unanswered questions of all sites in a period
// and in the one before. Sites without any are missing.
func (s *Store) Sites(ctx context.Context, p Period) (map[Scope]Overview, error) {
	sites, from := map[Scope]Overview{}, int64(p.From)
	var in Scope
	var o Overview
	to := into(&in.Organization, &in.Site, &o.Searches, &o.No, &o.Partly, &o.Before.Searches, &o.Before.No, &o.Before.Partly)
	err := s.reading(ctx).scan(to, func() { sites[in] = o }, `select s.organization, s.name, d.searches, d.no, d.partly, d.all_searches - d.searches, d.all_no - d.no, d.all_partly - d.partly
		from docs_sites s join (select site, sum(searches) as all_searches, sum(no) as all_no, sum(partly) as all_partly,
				sum(case when day >= ? then searches else 0 end) as searches, sum(case when day >= ? then no else 0 end) as no,
				sum(case when day >= ? then partly else 0 end) as partly
			from docs_day_site where day between ? and ? group by site) d on d.site = s.id`,
		from, from, from, int64(p.Before().From), int64(p.To))
	return sites, err
}

// Day is the numbers of one day.
type Day struct {
	Date Date `json:"date"`
	Counts
}

// Days returns the site's numbers for each day of a period, also for days
// without events.
func (s *Store) Days(ctx context.Context, in Scope, p Period) ([]Day, error) {
	days := make([]Day, max(p.Days(), 0))
	for i := range days {
		days[i].Date = p.From + Date(i)
	}
	counted, err := list(ctx, s, in, func(d *Day) []any { return d.scans(&d.Date) },
		`select day, `+sums(countColumns)+` from docs_day_site where site = ? and day between ? and ? group by day`, int64(p.From), int64(p.To))
	for _, d := range counted {
		days[d.Date-p.From] = d
	}
	return days, err
}

// KeyDay is the use of a key on one day. Key is "widget" for browser tokens.
type KeyDay struct {
	Key      string `json:"key"`
	Date     Date   `json:"date"`
	Searches int64  `json:"searches"`
	Replies  int64  `json:"replies"`
}

// KeyUse returns the requests of each key, day by day, without days on which a
// key was not used.
func (s *Store) KeyUse(ctx context.Context, in Scope, p Period) ([]KeyDay, error) {
	return list(ctx, s, in, func(k *KeyDay) []any { return into(&k.Key, &k.Date, &k.Searches, &k.Replies) },
		`select name, day, searches, replies from docs_day_key where site = ? and day between ? and ? order by name, day`,
		int64(p.From), int64(p.To))
}
