package database

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// gapFilter selects the rows r of unanswered replies, of questions that have
// words. SQLite is kept from an index by time, where it would have to read each
// row; Postgres chooses well, and would estimate badly.
const gapFilter = `r.site = ? and {unindexed}r.at >= ? and {unindexed}r.at < ? and r.answered in ('no', 'partly') and r.replaced = 0 and r.stems <> ''`

// bounds are the parameters of "at >= ? and at < ?".
func bounds(p insights.Period) (from, to int64) {
	return p.From.Time().Unix(), (p.To + 1).Time().Unix()
}

// Unanswered returns groups of questions.
func (s *Store) Unanswered(ctx context.Context, in insights.Scope, q insights.GapQuery) ([]insights.Gap, error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	limit, offset := pageOf(q.Limit, q.Offset)
	from, to := bounds(q.Period)
	args := []any{site, from, to}
	page := ""
	if q.Page != "" {
		page = " and r.nearest = ?"
		args = append(args, q.Page)
	}
	if q.Group != "" {
		page += " and r.stems = ?"
		args = append(args, q.Group)
	}
	// A gap that was asked for again after it was done is new.
	state := ""
	const current = `case when g.state is null or g.state = 'new' or g.state = 'done' and max(r.at) > max(g.at) then 'new' else g.state end`
	if q.State != "" {
		state = " having " + current + " = ?"
		args = append(args, string(q.State))
	}
	var gaps []insights.Gap
	at := map[string]int{}
	err = s.each(ctx, func(scan func(...any) error) error {
		var g insights.Gap
		var last int64
		var state string
		if err := scan(&g.Group, &g.Asked, &g.No, &last, &state, &g.Note); err != nil {
			return err
		}
		g.Partly, g.Last, g.State, g.Pages = g.Asked-g.No, time.Unix(last, 0).UTC(), insights.State(state), []string{}
		at[g.Group] = len(gaps)
		gaps = append(gaps, g)
		return nil
	}, `select r.stems, count(*), sum(case when r.answered = 'no' then 1 else 0 end), max(r.at), `+current+`, coalesce(g.note, '')
		from docs_replies r left join docs_gaps g on g.site = r.site and g.stems = r.stems
		where `+gapFilter+page+` group by r.stems, g.state, g.note `+state+`
		order by count(*) desc, max(r.at) desc, r.stems limit ? offset ?`, append(args, limit, offset)...)
	if err != nil || len(gaps) == 0 {
		return gaps, err
	}
	return gaps, s.describeGaps(ctx, site, q.Period, gaps, at)
}

// describeGaps adds wordings, pages, threads and votes.
func (s *Store) describeGaps(ctx context.Context, site int64, p insights.Period, gaps []insights.Gap, at map[string]int) error {
	from, to := bounds(p)
	args := []any{site, from, to}
	for i := range gaps {
		args = append(args, gaps[i].Group)
	}
	wordings := make([]map[string]int64, len(gaps))
	pages := make([]map[string]int64, len(gaps))
	for i := range gaps {
		wordings[i], pages[i] = map[string]int64{}, map[string]int64{}
	}
	err := s.each(ctx, func(scan func(...any) error) error {
		var group, question, nearest, thread string
		var n, up, down int64
		if err := scan(&group, &question, &nearest, &thread, &n, &up, &down); err != nil {
			return err
		}
		i := at[group]
		g := &gaps[i]
		wordings[i][question] += n
		if nearest != "" {
			pages[i][nearest] += n
		}
		g.Thread = thread // rows come oldest first
		g.Up += up
		g.Down += down
		return nil
	}, `select r.stems, r.question, r.nearest, r.thread, 1, case when v.rating = 1 then 1 else 0 end, case when v.rating = -1 then 1 else 0 end
		from docs_replies r left join docs_votes v on v.site = r.site and v.thread = r.thread and v.thread <> '' and v.message = r.message
		where r.id in (select r.id from docs_replies r where `+gapFilter+` and r.stems in (`+marks(len(gaps))+`)) order by r.at, r.id`, args...)
	for i := range gaps {
		if w := mostFrequent(wordings[i], 1); len(w) > 0 {
			gaps[i].Wording = w[0]
		}
		gaps[i].Pages = append(gaps[i].Pages, mostFrequent(pages[i], 3)...)
	}
	return err
}

// mostFrequent returns at most n texts, the most frequent first.
func mostFrequent(of map[string]int64, n int) []string {
	texts := sortedKeys(of, func(a, b string) int {
		if of[a] != of[b] {
			return int(of[b] - of[a])
		}
		return strings.Compare(a, b)
	})
	return texts[:min(len(texts), n)]
}

// UnansweredPages returns the unanswered questions by nearest page.
func (s *Store) UnansweredPages(ctx context.Context, in insights.Scope, q insights.GapQuery) ([]insights.GapPage, error) {
	site, ok, err := s.site(ctx, in)
	if !ok || err != nil {
		return nil, err
	}
	limit, offset := pageOf(q.Limit, q.Offset)
	from, to := bounds(q.Period)
	var list []insights.GapPage
	at := map[string]int{}
	err = s.each(ctx, func(scan func(...any) error) error {
		var g insights.GapPage
		var last int64
		if err := scan(&g.Page, &g.Asked, &last); err != nil {
			return err
		}
		g.Last, g.Wordings = time.Unix(last, 0).UTC(), []string{}
		at[g.Page] = len(list)
		list = append(list, g)
		return nil
	}, `select r.nearest, count(*), max(r.at) from docs_replies r where `+gapFilter+`
		group by r.nearest order by count(*) desc, r.nearest limit ? offset ?`, site, from, to, limit, offset)
	if err != nil || len(list) == 0 {
		return list, err
	}
	args := []any{site, from, to}
	for i := range list {
		args = append(args, list[i].Page)
	}
	// By stems, so that a question in five wordings takes one place of five.
	type group struct {
		wordings map[string]int64
		n        int64
	}
	groups := make([]map[string]*group, len(list))
	err = s.each(ctx, func(scan func(...any) error) error {
		var page, stems, question string
		var n int64
		if err := scan(&page, &stems, &question, &n); err != nil {
			return err
		}
		i := at[page]
		if groups[i] == nil {
			groups[i] = map[string]*group{}
		}
		if groups[i][stems] == nil {
			groups[i][stems] = &group{wordings: map[string]int64{}}
		}
		groups[i][stems].wordings[question] += n
		groups[i][stems].n += n
		return nil
	}, `select r.nearest, r.stems, r.question, count(*) from docs_replies r
		where r.id in (select r.id from docs_replies r where `+gapFilter+` and r.nearest in (`+marks(len(list))+`)) group by r.nearest, r.stems, r.question`, args...)
	for i := range list {
		all := sortedKeys(groups[i], func(a, b string) int {
			if groups[i][a].n != groups[i][b].n {
				return int(groups[i][b].n - groups[i][a].n)
			}
			return strings.Compare(a, b)
		})
		for _, stems := range all[:min(len(all), 5)] {
			list[i].Wordings = append(list[i].Wordings, mostFrequent(groups[i][stems].wordings, 1)...)
		}
	}
	return list, err
}

// SetGap sets the state and the note of a group.
func (s *Store) SetGap(ctx context.Context, in insights.Scope, group string, state insights.State, note string) error {
	site, ok, err := s.site(ctx, in)
	if err != nil {
		return err
	}
	if !ok {
		return insights.ErrUnknown
	}
	return s.transaction(ctx, func(t *tx) error {
		known := false
		err := t.each(func(scan func(...any) error) error {
			var one int64
			known = true
			return scan(&one)
		}, `select 1 from docs_replies where site = ? and stems = ? limit 1`, site, group)
		if err != nil {
			return err
		}
		if !known {
			return insights.ErrUnknown
		}
		_, err = t.exec(`insert into docs_gaps (site, stems, state, note, at) values (?, ?, ?, ?, ?)
			on conflict (site, stems) do update set state = excluded.state, note = excluded.note, at = excluded.at`,
			site, group, string(state), cutNote(note), time.Now().Unix())
		return err
	})
}

// maxNote bounds a note, in bytes.
const maxNote = 4000

func cutNote(note string) string {
	note = strings.ReplaceAll(note, "\x00", "")
	return strings.ToValidUTF8(note[:min(len(note), maxNote)], "")
}

// split reads a list that is stored as lines.
func split(lines string) []string {
	return slices.DeleteFunc(strings.Split(lines, "\n"), func(s string) bool { return s == "" })
}
