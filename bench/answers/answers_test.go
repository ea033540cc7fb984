package answers

import (
	"strings"
	"testing"
)

func TestTheConversationsAreWhole(t *testing.T) {
	cs, err := readConversations()
	if err != nil {
		t.Fatal(err)
	}
	if len(cs) < 60 {
		t.Errorf("%d conversations", len(cs))
	}
	seen := map[string]bool{}
	for _, c := range cs {
		if c.First == "" || c.Follow == "" || c.Outright == "" || len(c.Relevant) == 0 || seen[c.Outright] {
			t.Errorf("%+v", c)
		}
		seen[c.Outright] = true
	}
}

func TestTheSuiteMeetsItsTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a Caddy over the manual")
	}
	var out strings.Builder
	err := Run(t.Context(), []string{"-docs", "../../docs", "-replies", "60", "-worst"}, &out)
	t.Log("\n" + out.String())
	if err != nil {
		t.Error(err)
	}
}

func TestTheEndingsAreWhole(t *testing.T) {
	es, err := readEndings()
	if err != nil {
		t.Fatal(err)
	}
	languages := map[string]int{}
	for _, e := range es {
		languages[e.Language]++
		if e.Text == "" || len(e.Answered) == 0 {
			t.Errorf("%+v", e)
		}
	}
	if len(es) < 100 || len(languages) != 10 {
		t.Errorf("%d endings in %d languages", len(es), len(languages))
	}
}

func TestThePublicSetsAreWhole(t *testing.T) {
	questions, err := readPublic[question]("questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	answers, none := 0, 0
	seen := map[string]bool{}
	for _, q := range questions {
		if q.Site == "" || q.Question == "" || seen[q.Site+q.Question] || (q.Path == "") != (len(q.Lines) == 0) {
			t.Errorf("%+v", q)
		}
		seen[q.Site+q.Question] = true
		if len(q.Lines) > 0 {
			answers++
		} else {
			none++
		}
	}
	if answers < 200 || none < 60 {
		t.Errorf("%d questions with an answer, %d without", answers, none)
	}
}

func TestThePublicConversationsAreWhole(t *testing.T) {
	cs, err := readPublic[followUp]("followups.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	sites, languages := map[string]bool{}, map[string]int{}
	for _, c := range cs {
		if c.Site == "" || c.First == "" || c.Follow == "" || c.Outright == "" || c.Path == "" {
			t.Errorf("%+v", c)
		}
		sites[c.Site] = true
		languages[c.Language]++
	}
	if len(cs) < 200 || len(sites) < 5 || languages["es"] < 10 || languages["ja"] < 10 || languages["zh-cn"] < 10 {
		t.Errorf("%d conversations, sites %v, languages %v", len(cs), sites, languages)
	}
}
