package insights

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// Gap is a group of unanswered questions with the same stems.
type Gap struct {
	// Group names it; see Store.SetGap.
	Group string `json:"group"`
	// Wording is its most frequent one.
	Wording string `json:"wording"`
	// Asked is how often in the period: No and Partly answered.
	Asked  int64 `json:"asked"`
	No     int64 `json:"no"`
	Partly int64 `json:"partly"`
	// Up and Down are the votes for these replies.
	Up   int64 `json:"up"`
	Down int64 `json:"down"`
	// Pages are those nearest to the questions, at most three, the most
	// frequent first: where to write.
	Pages []string `json:"pages"`
	// Thread is the newest conversation with it.
	Thread string    `json:"thread"`
	Last   time.Time `json:"last"`
	State  string    `json:"state"`
	Note   string    `json:"note,omitempty"`
}

// GapPage is a page with the unanswered questions nearest to it.
type GapPage struct {
	// Page is "" for questions that no page is near to.
	Page  string `json:"page"`
	Asked int64  `json:"asked"`
	// Wordings are the most frequent ones, at most five.
	Wordings []string  `json:"wordings"`
	Last     time.Time `json:"last"`
}

// gapFilter selects the rows r of unanswered replies, of questions that have
// words. SQLite is kept from an index by time, where it would have to read each
// row; Postgres chooses well, and would estimate badly.
const gapFilter = `r.site = ? and {unindexed}r.at >= ? and {unindexed}r.at < ?
	and r.answered in ('no', 'partly') and r.replaced = 0 and r.stems <> ''`

// currentState is the state of a group of rows r, of which g has what an operator
// made of it: what was asked for again after it was done is new.
const currentState = `case when g.state is null or g.state = 'new' or g.state = 'done' and max(r.at) > max(g.at) then 'new' else g.state end`

// Unanswered returns questions that the documentation did not answer, in groups
// of the same words, the most frequent first.
func (s *Store) Unanswered(ctx context.Context, in Scope, q Query) ([]Gap, error) {
	filter, args := gapFilter, q.bounds()
	if q.Page != "" {
		filter, args = filter+" and r.nearest = ?", append(args, q.Page)
	}
	if q.Group != "" {
		filter, args = filter+" and r.stems = ?", append(args, q.Group)
	}
	having := ""
	if q.State != "" {
		having, args = " having "+currentState+" = ?", append(args, q.State)
	}
	gaps, err := list(ctx, s, in, func(g *Gap) []any {
		return into(&g.Group, &g.Asked, &g.No, &g.Partly, as(&g.Last, timeOf), &g.State, &g.Note)
	}, `select r.stems, count(*), sum(case when r.answered = 'no' then 1 else 0 end), sum(case when r.answered = 'no' then 0 else 1 end),
			max(r.at), `+currentState+`, coalesce(g.note, '')
		from docs_replies r left join docs_gaps g on g.site = r.site and g.stems = r.stems
		where `+filter+` group by r.stems, g.state, g.note `+having+`
		order by count(*) desc, max(r.at) desc, r.stems limit ? offset ?`, append(args, limited(q.Limit), max(q.Offset, 0))...)
	if err != nil || len(gaps) == 0 {
		return gaps, err
	}

	// Their wordings, pages, threads and votes.
	args = q.bounds()
	by := map[string]*Gap{}
	for i := range gaps {
		args, by[gaps[i].Group] = append(args, gaps[i].Group), &gaps[i]
	}
	var group, question, nearest, thread string
	var up, down int64
	wordings, pages := frequencies{}, frequencies{}
	err = s.scan(ctx, in, into(&group, &question, &nearest, &thread, &up, &down), func() { // the oldest first
		wordings.add(group, question, 1)
		if nearest != "" {
			pages.add(group, nearest, 1)
		}
		g := by[group]
		g.Thread, g.Up, g.Down = thread, g.Up+up, g.Down+down
	}, `select r.stems, r.question, r.nearest, r.thread, case when v.rating = 1 then 1 else 0 end, case when v.rating = -1 then 1 else 0 end
		from docs_replies r left join docs_votes v on v.site = r.site and v.thread = r.thread and v.thread <> '' and v.message = r.message
		where r.id in (select r.id from docs_replies r where `+gapFilter+` and r.stems in (`+marks(len(gaps))+`)) order by r.at, r.id`, args...)
	for group, g := range by {
		g.Wording, g.Pages = strings.Join(wordings.most(group, 1), ""), pages.most(group, 3)
	}
	return gaps, err
}

// frequencies are how often each group has each text.
type frequencies map[string]map[string]int

func (f frequencies) add(group, text string, n int) {
	if f[group] == nil {
		f[group] = map[string]int{}
	}
	f[group][text] += n
}

// most returns at most n texts of a group, the most frequent first.
func (f frequencies) most(group string, n int) []string {
	texts := slices.AppendSeq([]string{}, maps.Keys(f[group]))
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(cmp.Compare(f[group][b], f[group][a]), strings.Compare(a, b)) })
	return texts[:min(len(texts), n)]
}

// UnansweredPages returns the unanswered questions by the page nearest to them:
// where to write.
func (s *Store) UnansweredPages(ctx context.Context, in Scope, q Query) ([]GapPage, error) {
	pages, err := list(ctx, s, in, func(g *GapPage) []any { return into(&g.Page, &g.Asked, as(&g.Last, timeOf)) },
		`select r.nearest, count(*), max(r.at) from docs_replies r where `+gapFilter+`
		group by r.nearest order by count(*) desc, r.nearest limit ? offset ?`, append(q.bounds(), limited(q.Limit), max(q.Offset, 0))...)
	if err != nil || len(pages) == 0 {
		return pages, err
	}
	args := q.bounds()
	for i := range pages {
		args = append(args, pages[i].Page)
	}
	// By stems, so that a question in five wordings takes one place of five.
	groups, wordings := frequencies{}, frequencies{}
	var nearest, stems, question string
	var n int
	err = s.scan(ctx, in, into(&nearest, &stems, &question, &n), func() {
		groups.add(nearest, stems, n)
		wordings.add(nearest+"\n"+stems, question, n)
	}, `select r.nearest, r.stems, r.question, count(*) from docs_replies r
		where r.id in (select r.id from docs_replies r where `+gapFilter+` and r.nearest in (`+marks(len(pages))+`))
		group by r.nearest, r.stems, r.question`, args...)
	for i := range pages {
		page := &pages[i]
		page.Wordings = []string{}
		for _, stems := range groups.most(page.Page, 5) {
			page.Wordings = append(page.Wordings, wordings.most(page.Page+"\n"+stems, 1)...)
		}
	}
	return pages, err
}

// SetGap sets the state and the note of a group of questions. It returns
// ErrUnknown for a group that the site doesn't have.
func (s *Store) SetGap(ctx context.Context, in Scope, group string, state string, note string) error {
	return s.mark(ctx, in, `select 1 from docs_replies where site = ? and stems = ? limit 1`, "docs_gaps", "stems", group, state, note)
}

// mark sets what an operator made of an entry, which a query knows, in a table
// that has the entry in a column.
func (s *Store) mark(ctx context.Context, in Scope, known, table, column, entry, state, note string) error {
	return s.change(ctx, in, func(t *session, site int64) error {
		var one int64
		if found, err := t.get(into(&one), known, site, entry); err != nil || !found {
			return cmp.Or(err, ErrUnknown)
		}
		_, err := t.exec(`insert into `+table+` (site, `+column+`, state, note, at) values (?, ?, ?, ?, ?)
			on conflict (site, `+column+`) do update set state = excluded.state, note = excluded.note, at = excluded.at`,
			site, entry, state, cutNote(note), time.Now().Unix())
		return err
	})
}

// maxStems bounds the words of a question that name its group.
const maxStems = 20

// Stems returns what questions with the same words in other forms and order
// share: their stems without stop words, each between spaces. It is "" for a
// text without words.
func Stems(text string) string {
	l := language.Detect(text, "")
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) && r != '_' && r != '\'' && r != '’'
	})
	var stems, all []string
	for _, w := range words {
		w = strings.Trim(w, "'’")
		if w == "" || len(w) > 100 {
			continue
		}
		stem := l.Stem(w)
		all = append(all, stem)
		if !l.IsStop(w) {
			stems = append(stems, stem)
		}
	}
	if len(stems) == 0 { // "how to?"
		stems = all
	}
	if len(stems) == 0 {
		return ""
	}
	slices.Sort(stems)
	stems = slices.Compact(stems)
	return " " + strings.Join(stems[:min(len(stems), maxStems)], " ") + " "
}
