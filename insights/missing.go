package insights

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// maxMissing is how many addresses are counted of a site and a day: anyone can
	// make them up. Further ones count as "".
	maxMissing = 1000
	// maxFrom is how many sources are counted of an address and a day: a link in the
	// navigation is on every page. Further ones count as not known.
	maxFrom = 20
)

// MissingPage is an address for which the site has no page.
type MissingPage struct {
	// Path is "" for all addresses beyond those that a day has place for.
	Path string `json:"path"`
	// Requests are all, People those of browsers, Redirected those that were
	// answered with the place where the page is now.
	Requests   int64 `json:"requests"`
	People     int64 `json:"people"`
	Redirected int64 `json:"redirected"`
	// Agents and From are the names of AgentOf and the sources as Missing has
	// them, the most frequent first, at most ten.
	Agents []Requests `json:"agents"`
	From   []Requests `json:"from"`
	// To is where the last request led.
	To    string    `json:"to,omitempty"`
	Last  time.Time `json:"last"`
	State string    `json:"state"`
	Note  string    `json:"note,omitempty"`
}

// Requests are those of an agent, or from a source.
type Requests struct {
	Name     string `json:"name"`
	Requests int64  `json:"requests"`
}

// missingKey and missingRow are a row of docs_day_missing.
type missingKey struct {
	site, day         int64
	path, from, agent string
}

type missingRow struct {
	requests, redirected, at int64
	to                       string
}

// addMissing counts a missing page, of which its day may have no more.
func (b *batch) addMissing(e *Event) error {
	m, at := e.Missing, e.At.Unix()
	k := missingKey{b.sites[e.Scope], int64(DateOf(e.At)), m.Path, m.From, m.Agent}
	day := missingKey{site: k.site, day: k.day}
	pages := b.pages[day] // and their sources
	if pages == nil {
		pages = map[string]map[string]bool{}
		b.pages[day] = pages
		var path, from string
		err := b.scan(into(&path, &from), func() { remember(pages, path, from) }, `select distinct path, sent from docs_day_missing where site = ? and day = ?`, k.site, k.day)
		if err != nil {
			return err
		}
	}
	switch from := pages[k.path]; {
	case from == nil && len(pages) >= maxMissing:
		k.path, k.from, m = "", "", &Missing{}
	case len(from) >= maxFrom && !from[k.from]:
		k.from = ""
	}
	remember(pages, k.path, k.from)
	r := b.missing[k]
	if r == nil {
		r = new(missingRow)
		b.missing[k] = r
	}
	r.requests++
	r.redirected += bit(m.Outcome() == "redirected")
	if at >= r.at {
		r.at, r.to = at, m.To
	}
	return nil
}

func remember(pages map[string]map[string]bool, path, from string) {
	if pages[path] == nil {
		pages[path] = map[string]bool{}
	}
	pages[path][from] = true
}

func (b *batch) addMissingDays() error {
	rows := make([][]any, 0, len(b.missing))
	for _, k := range slices.SortedFunc(maps.Keys(b.missing), func(x, y missingKey) int {
		return cmp.Or(cmp.Compare(x.site, y.site), cmp.Compare(x.day, y.day), strings.Compare(x.path, y.path), strings.Compare(x.from, y.from), strings.Compare(x.agent, y.agent))
	}) {
		r := b.missing[k]
		rows = append(rows, []any{k.site, k.day, k.path, k.from, k.agent, r.requests, r.redirected, r.to, r.at})
	}
	return b.insert("docs_day_missing (site, day, path, sent, agent, requests, redirected, target, at)", rows, `on conflict (site, day, path, sent, agent) do update set
		requests = docs_day_missing.requests + excluded.requests, redirected = docs_day_missing.redirected + excluded.redirected,
		target = case when excluded.at < docs_day_missing.at then docs_day_missing.target else excluded.target end,
		at = case when excluded.at < docs_day_missing.at then docs_day_missing.at else excluded.at end`, nil, nil)
}

// Missing returns the addresses that readers and agents asked for and the site
// doesn't have, those first that were answered with 404 most often.
func (s *Store) Missing(ctx context.Context, in Scope, q Query) ([]MissingPage, error) {
	args, having := []any{int64(q.From), int64(q.To)}, ""
	if q.State != "" {
		having, args = " having "+currentState+" = ?", append(args, q.State)
	}
	found, err := list(ctx, s, in, func(m *MissingPage) []any {
		return into(&m.Path, &m.Requests, &m.People, &m.Redirected, as(&m.Last, timeOf), &m.State, &m.Note)
	}, `select r.path, sum(r.requests), sum(case when r.agent = '' then r.requests else 0 end), sum(r.redirected), max(r.at), `+currentState+`, coalesce(g.note, '')
		from docs_day_missing r left join docs_missing g on g.site = r.site and g.path = r.path
		where r.site = ? and r.day between ? and ? group by r.path, g.state, g.note`+having+`
		order by case when r.path = '' then 1 else 0 end, sum(r.requests) - sum(r.redirected) desc, sum(r.requests) desc, r.path limit ? offset ?`,
		append(args, limited(q.Limit), max(q.Offset, 0))...)
	if err != nil || len(found) == 0 {
		return found, err
	}

	// Their agents, sources and targets.
	args = []any{int64(q.From), int64(q.To)}
	by := map[string]*MissingPage{}
	for i := range found {
		args, by[found[i].Path] = append(args, found[i].Path), &found[i]
	}
	var path, sent, agent, to string
	var requests int
	agents, from := frequencies{}, frequencies{}
	err = s.scan(ctx, in, into(&path, &sent, &agent, &to, &requests), func() { // the oldest first
		agents.add(path, agent, requests)
		from.add(path, sent, requests)
		by[path].To = to
	}, `select path, sent, agent, target, requests from docs_day_missing
		where site = ? and day between ? and ? and path in (`+marks(len(found))+`) order by at`, args...)
	for path, m := range by {
		m.Agents, m.From = agents.named(path), from.named(path)
	}
	return found, err
}

// named returns the most frequent texts of a group, without "".
func (f frequencies) named(group string) []Requests {
	all := []Requests{}
	delete(f[group], "")
	for _, name := range f.most(group, 10) {
		all = append(all, Requests{name, int64(f[group][name])})
	}
	return all
}

// SetMissing sets the state and the note of an address. It returns ErrUnknown
// for one that nobody asked for.
func (s *Store) SetMissing(ctx context.Context, in Scope, path string, state string, note string) error {
	return s.mark(ctx, in, `select 1 from docs_day_missing where site = ? and path = ? limit 1`, "docs_missing", "path", path, state, note)
}
