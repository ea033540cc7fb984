package answers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/bench/answers"
	"github.com/caddy-docs/caddy-docs/caddytest"
)

func TestAnswersAboutTheManualMeetTheirTargets(t *testing.T) {
	if testing.Short() {
		t.Skip("asks hundreds of questions")
	}
	var out strings.Builder
	err := answers.Run(t.Context(), []string{"-docs", "../../docs", "-replies", "60", "-worst"}, &out)
	t.Log("\n" + out.String())
	if err != nil {
		t.Error(err)
	}
}

// asked is a line of the sets of questions that answers are measured with.
type asked struct {
	Site, Question, First, Follow, Outright, Path, Language string

	Lines, Facts, Relevant []string
}

// answerable reports whether the line says what an answer must hold.
func (a *asked) answerable() bool { return len(a.Lines)+len(a.Facts) > 0 }

// The sets are large enough, and each line has all that is measured with it.
func TestTheSetsOfQuestionsAreWhole(t *testing.T) {
	for _, set := range []struct {
		file  string
		least map[string]int // lines, by what count says of them
		key   func(asked) string
		count func(asked) string
		whole func(asked) bool
	}{
		{
			"conversations.jsonl",
			map[string]int{"": 60},
			func(a asked) string { return a.Outright },
			func(asked) string { return "" },
			func(a asked) bool { return a.First != "" && a.Follow != "" && len(a.Relevant) > 0 },
		},
		{
			"public/questions.jsonl",
			map[string]int{"answer": 200, "none": 60},
			func(a asked) string { return a.Site + a.Question },
			func(a asked) string {
				if a.answerable() {
					return "answer"
				}
				return "none"
			},
			func(a asked) bool { return a.Site != "" && a.Question != "" && (a.Path == "") != a.answerable() },
		},
		{
			"public/followups.jsonl",
			map[string]int{"": 180, "es": 10, "ja": 10, "zh-cn": 10},
			func(a asked) string { return fmt.Sprint(a) },
			func(a asked) string { return a.Language },
			func(a asked) bool {
				return a.Site != "" && a.First != "" && a.Follow != "" && a.Outright != "" && a.Path != ""
			},
		},
	} {
		t.Run(set.file, func(t *testing.T) {
			seen, counts := map[string]bool{}, map[string]int{}
			for line := range strings.Lines(caddytest.ReadFile(t, set.file)) {
				var a asked
				if err := json.Unmarshal([]byte(line), &a); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				if seen[set.key(a)] || set.key(a) == "" || !set.whole(a) {
					t.Errorf("a line is not whole or there twice: %s", line)
				}
				seen[set.key(a)] = true
				counts[set.count(a)]++
			}
			for of, least := range set.least {
				if counts[of] < least {
					t.Errorf("%q: %d lines, want %d", of, counts[of], least)
				}
			}
		})
	}
}
