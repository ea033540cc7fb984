package assistant

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// A reader for whom not every page could be checked never hears that the
// documentation has nothing.
func TestAnIncompleteSearchIsSaid(t *testing.T) {
	for lang, says := range phrases {
		if says[notChecked] == "" || strings.Contains(says[notChecked], "%") {
			t.Errorf("%s: %q", lang, says[notChecked])
		}
	}
	for _, incomplete := range []bool{false, true} {
		r := (&Assistant{}).newRun(&Input{Incomplete: func() bool { return incomplete }}, discard{})
		r.q = &inquiry{language: language.English}
		for _, p := range []string{notFound, notFoundAtAll} {
			want := phrases[language.English][p]
			if incomplete {
				want = phrases[language.English][notChecked]
			}
			if got := r.say(p); got != want {
				t.Errorf("incomplete: %t: %q", incomplete, got)
			}
		}
	}
}
