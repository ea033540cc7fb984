package command

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
	"github.com/caddy-docs/caddy-docs/insights"
)

func TestAReportSaysThatNoModelAnswers(t *testing.T) {
	for _, quotes := range []bool{true, false} {
		var b strings.Builder
		r := &admin.Report{Quotes: quotes}
		r.Overview.Replies, r.UnansweredPages = 9, []insights.GapPage{{Page: "install", Asked: 9}}
		if writeReport(&b, r); strings.Contains(b.String(), "Without a model") != quotes {
			t.Errorf("%t:\n%s", quotes, &b)
		}
	}
}
