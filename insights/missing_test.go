package insights_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

func missing(minutes int, path, from, agent, to string) insights.Event {
	status := 404
	if strings.HasPrefix(to, "/moved/") {
		status = 301
	}
	return insights.Event{At: at(minutes), Scope: acme, Source: insights.Web, Missing: &insights.Missing{Path: path, From: from, Agent: agent, Status: status, To: to}}
}

func missingPages(t *testing.T, s *insights.Store, in insights.Scope, q insights.Query) []insights.MissingPage {
	t.Helper()
	if q.Period == (insights.Period{}) {
		q.Period = week
	}
	return must[[]insights.MissingPage](t)(s.Missing(t.Context(), in, q))
}

func TestMissingPagesAreCounted(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		const day = 24 * 60
		put(t, s, missing(0, "/old", "/guide", "", "/new"), missing(1, "/old", "/guide", "", "/new"), missing(2, "/old", "https://forum.example", "", "/newer"),
			missing(3, "/old", "", "GPTBot", ""), missing(4, "/gone", "", "ClaudeBot", ""))
		put(t, s, missing(-day, "/old", "/guide", "", "/before"), missing(-day, "/old", "", "GPTBot", ""), missing(5, "/renamed", "", "", "/moved/x"),
			missing(6, "/renamed", "", "ClaudeBot", "/moved/x"), of(other, missing(0, "/elsewhere", "", "", "")), missing(-30*day, "/ancient", "", "", ""))
		equal(t, "pages", missingPages(t, s, acme, insights.Query{}), []insights.MissingPage{
			{
				Path: "/old", Requests: 6, People: 4, Agents: []insights.Requests{{Name: "GPTBot", Requests: 2}},
				From: []insights.Requests{{Name: "/guide", Requests: 3}, {Name: "https://forum.example", Requests: 1}}, Last: at(3), State: insights.New,
			},
			{Path: "/gone", Requests: 1, Agents: []insights.Requests{{Name: "ClaudeBot", Requests: 1}}, From: []insights.Requests{}, Last: at(4), State: insights.New},
			{
				Path: "/renamed", Requests: 2, People: 1, Redirected: 2, Agents: []insights.Requests{{Name: "ClaudeBot", Requests: 1}}, From: []insights.Requests{},
				To: "/moved/x", Last: at(6), State: insights.New,
			},
		})
		if page := missingPages(t, s, acme, insights.Query{Limit: 1, Offset: 1}); len(page) != 1 || page[0].Path != "/gone" {
			t.Errorf("the second: %+v", page)
		}
		if got := missingPages(t, s, other, insights.Query{}); len(got) != 1 || got[0].Path != "/elsewhere" {
			t.Errorf("another organization sees %+v", got)
		}
	})
}

func TestAMissingPageThatIsAskedForAgainIsNew(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		put(t, s, missing(0, "/old", "", "", ""), missing(0, "/typo", "", "", ""))
		in := func(state string) (paths []string) {
			for _, p := range missingPages(t, s, acme, insights.Query{Period: insights.LastDays(3000, time.Now()), State: state}) {
				paths = append(paths, p.Path+p.Note)
			}
			return paths
		}
		for path, state := range map[string]string{"/old": insights.Done, "/typo": insights.Dismissed} {
			if err := s.SetMissing(t.Context(), acme, path, state, " (noted)"); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "done", in(insights.Done), []string{"/old (noted)"})
		equal(t, "new", len(in(insights.New)), 0)
		again := int(time.Since(noon).Minutes()) + 10
		put(t, s, missing(again, "/old", "", "", ""), missing(again, "/typo", "", "", ""))
		until := insights.Period{From: 0, To: insights.DateOf(at(again))}
		if got := missingPages(t, s, acme, insights.Query{Period: until, State: insights.New}); len(got) != 1 || got[0].Path != "/old" {
			t.Errorf("new again: %+v", got)
		}
		if err := s.SetMissing(t.Context(), acme, "/never", insights.Done, ""); !errors.Is(err, insights.ErrUnknown) {
			t.Errorf("an address that nobody asked for: %v", err)
		}
		if err := s.SetMissing(t.Context(), other, "/old", insights.Done, ""); !errors.Is(err, insights.ErrUnknown) {
			t.Errorf("another organization: %v", err)
		}
	})
}

func TestADayCountsSoManyAddressesAndSources(t *testing.T) {
	onBoth(t, func(t *testing.T, s *insights.Store) {
		var events []insights.Event
		for i := range 2500 {
			events = append(events, missing(0, fmt.Sprint("/scan/", i), "", "GPTBot", "/best"))
		}
		for part := range slices.Chunk(events, 1000) {
			put(t, s, part...)
		}
		for i := range 50 {
			put(t, s, missing(0, "/scan/7", fmt.Sprint("/page/", i), "", ""))
		}
		put(t, s, missing(24*60, "/tomorrow", "", "", ""))
		n, others, from := 0, insights.MissingPage{}, 0
		for offset := 0; offset < 2000; offset += 500 {
			for _, p := range missingPages(t, s, acme, insights.Query{Period: insights.Period{From: week.From, To: week.To + 1}, Limit: 500, Offset: offset}) {
				if n++; p.Path == "" {
					others = p
				}
				if p.Path == "/scan/7" {
					from = len(p.From)
					if p.Requests != 51 {
						t.Errorf("%+v", p)
					}
				}
			}
		}
		if n != 1002 || others.Requests != 1500 || others.To != "" || from != 10 {
			t.Errorf("%d addresses, the others %+v; %d sources", n, others, from)
		}
	})
}

func TestMissingPagesAreErasedAndPruned(t *testing.T) {
	const day = 24 * 60
	fill := func(t *testing.T, s *insights.Store) {
		t.Helper()
		put(t, s, missing(0, "/users/Jane", "", "", ""), missing(0, "/old", "/users/jane", "", ""), missing(0, "/old", "", "", ""), missing(-day, "/old", "", "", "/jane"),
			missing(-100*day, "/ancient", "", "", ""), of(other, missing(0, "/users/jane", "", "", "")))
		for _, path := range []string{"/users/Jane", "/ancient"} {
			if err := s.SetMissing(t.Context(), acme, path, insights.Done, "jane"); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func(t *testing.T, s *insights.Store, in insights.Scope) (all []string) {
		for _, p := range missingPages(t, s, in, insights.Query{Period: insights.LastDays(300, noon)}) {
			all = append(all, fmt.Sprintf("%s %d %v %s%s", p.Path, p.Requests, p.From, p.To, p.Note))
		}
		return all
	}
	for name, c := range map[string]struct {
		do   func(*insights.Store) (int64, error)
		rows int64
		want []string
	}{
		"text": {func(s *insights.Store) (int64, error) {
			done, err := s.Erase(t.Context(), acme, insights.Erasure{Text: "jane"})
			return done.Rows, err
		}, 4, []string{"/ancient 1 [] jane", "/old 1 [] "}},
		"day": {func(s *insights.Store) (int64, error) {
			noonDay := insights.DateOf(noon)
			done, err := s.Erase(t.Context(), acme, insights.Erasure{Day: &noonDay})
			return done.Rows, err
		}, 4, []string{"/ancient 1 [] jane", "/old 1 [] /jane"}},
		"retention": {func(s *insights.Store) (int64, error) {
			// The state was set now, long after noon.
			return s.Prune(t.Context(), noon, 90*24*time.Hour)
		}, 1, []string{"/old 3 [{/users/jane 1}] ", "/users/Jane 1 [] jane"}},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *insights.Store) {
				fill(t, s)
				rows := must[int64](t)(c.do(s))
				got := left(t, s, acme)
				slices.Sort(got)
				equal(t, "left", got, c.want)
				if rows != c.rows {
					t.Errorf("%d rows", rows)
				}
				equal(t, "of another organization", left(t, s, other), []string{"/users/jane 1 [] "})
			})
		})
	}
}
