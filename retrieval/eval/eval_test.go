package eval

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestPage(t *testing.T) {
	for path, want := range map[string]string{
		"guide/start":                         "guide/start",
		"/Guide/Start/":                       "guide/start",
		"guide/start.html#install":            "guide/start",
		"https://x.org/guide/start?q=1#a":     "guide/start",
		"guide/index.html":                    "guide",
		"guide/_index.md":                     "guide",
		"guide/README.md":                     "guide",
		"index.mdx":                           "index",
		"":                                    "index",
		"/":                                   "index",
		"api/v2.1":                            "api/v2.1",
		"reindex":                             "reindex",
		"notes.ipynb":                         "notes",
		"https://x.org/":                      "index",
		"caddyfile/directives/reverse_proxy ": "caddyfile/directives/reverse_proxy",
	} {
		if got := Page(path); got != want {
			t.Errorf("%q is page %q, want %q", path, got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	log3 := math.Log2(3)
	for _, c := range []struct {
		name     string
		relevant map[string]int
		paths    []string
		want     Metrics
	}{
		{
			"the only page comes first",
			map[string]int{"a": 1},
			[]string{"a", "b"},
			Metrics{Queries: 1, NDCG10: 1, MRR10: 1, Recall5: 1, Success1: 1},
		},
		{
			"it comes second, behind two sections of one page",
			map[string]int{"a": 1},
			[]string{"b#x", "b#y", "a#z"},
			Metrics{Queries: 1, NDCG10: 1 / log3, MRR10: .5, Recall5: 1},
		},
		{
			"one of two is found",
			map[string]int{"a": 1, "b": 1},
			[]string{"a"},
			Metrics{Queries: 1, NDCG10: 1 / (1 + 1/log3), MRR10: 1, Recall5: .5, Success1: 1},
		},
		{
			"grades weigh",
			map[string]int{"a": 2, "b": 1},
			[]string{"b", "a"},
			Metrics{Queries: 1, NDCG10: (1 + 3/log3) / (3 + 1/log3), MRR10: 1, Recall5: 1, Success1: 1},
		},
		{
			"past the tenth place is not found",
			map[string]int{"a": 1},
			append(strings.Split("bcdefghijk", ""), "a"),
			Metrics{Queries: 1, NoHit: 1},
		},
		{
			"sixth counts for nDCG, not for recall at five",
			map[string]int{"a": 1},
			[]string{"b", "c", "d", "e", "f", "a"},
			Metrics{Queries: 1, NDCG10: 1 / math.Log2(7), MRR10: 1. / 6},
		},
		{"no result is empty", map[string]int{"a": 1}, nil, Metrics{Queries: 1, NoHit: 1, Empty: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Judge(c.relevant, c.paths)
			if math.Abs(got.NDCG10-c.want.NDCG10) > 1e-12 || math.Abs(got.MRR10-c.want.MRR10) > 1e-12 {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			got.NDCG10, got.MRR10, c.want.NDCG10, c.want.MRR10 = 0, 0, 0, 0
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

const queryFile = "\xef\xbb\xbf" + `{"id": "q1", "text": "install", "group": "words", "relevant": ["/guide/install.html"]}

{"id": "2", "text": "how do I start", "kind": "true", "relevant": ["guide/start", "guide/first"]}
{"text": "nothing is known of this"}
`

func TestAFileOfQueriesIsScored(t *testing.T) {
	queries, err := ReadQueries(strings.NewReader(queryFile))
	if err != nil {
		t.Fatal(err)
	}
	want := []Query{
		{ID: "q1", Text: "install", Group: "words", Relevant: []string{"/guide/install.html"}},
		{ID: "2", Text: "how do I start", Group: "true", Relevant: []string{"guide/start", "guide/first"}},
		{ID: "4", Text: "nothing is known of this"},
	}
	if !reflect.DeepEqual(queries, want) {
		t.Fatalf("got %+v, want %+v", queries, want)
	}
	run, err := ReadRun(strings.NewReader(`{"query_id": "q1", "paths": ["guide/install"]}
{"query_id": 2, "paths": ["guide/other", "guide/start", "guide/first"]}`))
	if err != nil {
		t.Fatal(err)
	}
	r := Score(queries, Judgements(queries), run, 5)
	if r.All.Queries != 2 || r.Unjudged != 1 || r.All.MRR10 != .75 || r.All.Success1 != .5 {
		t.Errorf("all: %+v, %d unjudged", r.All, r.Unjudged)
	}
	if r.Groups["words"].NDCG10 != 1 || r.Groups["true"].Queries != 1 {
		t.Errorf("groups: %+v", r.Groups)
	}
	if len(r.Worst) != 1 || r.Worst[0].Query.ID != "2" || !slices.Equal(r.Worst[0].Got, []string{"guide/other", "guide/start", "guide/first"}) ||
		!slices.Equal(r.Worst[0].Wanted, []string{"guide/first", "guide/start"}) {
		t.Errorf("worst: %+v", r.Worst)
	}

	var b bytes.Buffer
	if err := WriteRun(&b, queries, run); err != nil {
		t.Fatal(err)
	}
	again, err := ReadRun(&b)
	if err != nil || !slices.Equal(again["2"], run["2"]) || len(again["4"]) != 0 {
		t.Errorf("written and read: %v, %v", again, err)
	}
	b.Reset()
	if err := WriteQueries(&b, queries); err != nil {
		t.Fatal(err)
	}
	if q, err := ReadQueries(&b); err != nil || !reflect.DeepEqual(q, queries) {
		t.Errorf("written and read: %v, %v", q, err)
	}
}

func TestQrels(t *testing.T) {
	got, err := ReadQrels(strings.NewReader("query-id\tcorpus-path\tscore\nq1\tGuide/Start.md\t2\nq1\tother\t0\n"))
	if want := (Qrels{"q1": {"guide/start": 2}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestBadInputIsNamedByItsLine(t *testing.T) {
	queries := func(s string) error { _, err := ReadQueries(strings.NewReader(s)); return err }
	qrels := func(s string) error { _, err := ReadQrels(strings.NewReader(s)); return err }
	questions := func(s string) error { _, err := ReadQuestions(strings.NewReader(s)); return err }
	run := func(s string) error { _, err := ReadRun(strings.NewReader(s)); return err }
	for _, c := range []struct {
		name  string
		read  func(string) error
		input string
		want  string
	}{
		{"a query that is no JSON", queries, "{\"text\":\"a\"}\nhello", "line 2: not a query"},
		{"a query without text", queries, `{"id":"x"}`, `line 1: query "x" has no "text"`},
		{"a query twice", queries, "{\"id\":\"x\",\"text\":\"a\"}\n\n{\"id\":\"x\",\"text\":\"b\"}", `line 3: query "x" was already on line 1`},
		{"no query at all", queries, "\n\n", "there is no query"},
		{"a line without end", queries, `{"text":"` + strings.Repeat("x", maxLine), "line 1: "},
		{"judgements separated by spaces", qrels, "q1 page 1", "line 1: 1 fields"},
		{"a grade that is no number", qrels, "q1\tp\tgood", `line 1: grade "good"`},
		{"a grade beyond bounds", qrels, "q1\tp\t99", "line 1: grade 99"},
		{"no judgement at all", qrels, "query-id\tcorpus-path\tscore\n", "no judgements"},
		{"a result without its query", run, `{"paths":["a"]}`, `line 1: a result has no "query_id"`},
		{"a result that is no JSON", run, "a b", "line 1: not a result"},
		{"a question that is no JSON", questions, "hello", "line 1: not a question"},
		{"a question without words", questions, `{"id":"x"}`, `line 1: question "x" has no "question"`},
		{"a question twice", questions, "{\"id\":\"x\",\"question\":\"a\"}\n{\"id\":\"x\",\"question\":\"b\"}", `line 2: question "x" was already on line 1`},
		{"a question that expects something else", questions, `{"question":"a","answered":"maybe"}`, `got "maybe"`},
		{"no question at all", questions, "", "there is no question"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.read(c.input); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	var queries []Query
	better, worse, same := Run{}, Run{}, Run{}
	for i := range 40 {
		id := string(rune('A' + i))
		queries = append(queries, Query{ID: id, Text: id, Relevant: []string{"p"}})
		same[id] = []string{"x", "p"}
		better[id] = []string{"x", "p"}
		worse[id] = []string{"x", "p"}
		if i%2 == 0 {
			better[id] = []string{"p"}
			worse[id] = nil
		}
	}
	q := Judgements(queries)
	score := func(r Run) Report { return Score(queries, q, r, 0) }
	if d := Compare(score(same), score(same)); d != (Difference{Queries: 40, Ties: 40}) {
		t.Errorf("the same: %+v", d)
	}
	up := Compare(score(better), score(same))
	if up.Wins != 20 || up.Ties != 20 || up.Losses != 0 || !(0 < up.Low && up.Low < up.Mean && up.Mean < up.High) {
		t.Errorf("better: %+v", up)
	}
	if down := Compare(score(worse), score(same)); down.Losses != 20 || down.High >= 0 {
		t.Errorf("worse: %+v", down)
	}
	if again := Compare(score(better), score(same)); again != up {
		t.Errorf("not the same twice: %+v, %+v", again, up)
	}
	if d := Compare(score(same), Report{}); d.Queries != 0 {
		t.Errorf("nothing in common: %+v", d)
	}
}

func TestGenerate(t *testing.T) {
	docs := []*retrieval.Document{
		{Page: "", Title: "Home", Links: []retrieval.Link{
			{Page: "tls", Text: "certificates"},
			{Page: "tls", Text: "here"},
			{Page: "tls", Text: "Prev"},
			{Page: "tls", Text: "« Nach oben"},
			{Page: "a", Text: "Up"},
			{Page: "tls", Text: "Automatic HTTPS"}, // its title
			{Page: "tls", Text: "https://x.org/tls"},
			{Page: "gone", Text: "deleted"},
			{Page: "", Text: "this very page"},
			{Page: "a", Text: "overview"},
			{Page: "b", Text: "overview"},
			{Page: "c", Text: "overview"},
			{Page: "tls", Text: "overview"},
		}},
		{Page: "a", Title: "A", Description: "How to balance load.", Links: []retrieval.Link{{Page: "tls", Text: "`Certificates`"}, {Page: "", Text: "start page"}, {Page: "b", Text: "certificates"}}},
		{Page: "b", Title: "B", Description: "How to balance load."},
		{Page: "c", Title: "C", Description: "Short"},
		{Page: "tls", Title: "Automatic HTTPS", Description: "Automatic HTTPS"},
	}
	want := []Query{
		{ID: "link-0001", Text: "certificates", Group: "link", Relevant: []string{"b", "tls"}},
		{ID: "link-0002", Text: "start page", Group: "link", Relevant: []string{"index"}},
		{ID: "description-0001", Text: "How to balance load.", Group: "description", Relevant: []string{"a"}},
	}
	if got := Generate(docs); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(queryFile))
	f.Add([]byte("q1\tp\t1\n"))
	f.Add([]byte(`{"query_id":1,"paths":["a"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if q, err := ReadQueries(bytes.NewReader(data)); err == nil {
			Score(q, Judgements(q), Run{}, 3)
		}
		if q, err := ReadQrels(bytes.NewReader(data)); err == nil && len(q) == 0 {
			t.Error("no judgements, no error")
		}
		_, _ = ReadRun(bytes.NewReader(data))
	})
}
