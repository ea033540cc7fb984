package embedded

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

var number = regexp.MustCompile(`([+×]?)(\d+\.\d\d)`)

// What the lines of the best hit name adds up to its value.
func TestWhyASectionIsInItsPlace(t *testing.T) {
	docs := manual()
	x := opened(t, Options{}, docs...)
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"static files", []string{"words: static ", "file", "(title)", "title +", "path +", "the title is the query"}},
		{"dial timeout upstreams", []string{"elsewhere on the page", "the page's second section +"}},
		{"how does a frobnicator send requests to an upstream", []string{"not there: frobnicator", "requests ", "(text)", "all of the page +"}},
		{"certifcates", []string{"certifcates, found as certif"}},
		{"certificates last longer", []string{"changelog ×0.70"}},
	} {
		q := retrieval.Query{Text: c.query, Limit: 5, Explain: true, Question: true}
		hits, err := x.Search(t.Context(), q)
		if err != nil || len(hits) == 0 {
			t.Fatal(c.query, hits, err)
		}
		why := strings.Join(hits[0].Why, "\n")
		if c.query == "certificates last longer" {
			for _, h := range hits {
				if h.Document.Kind == retrieval.Changelog {
					why = strings.Join(h.Why, "\n")
				}
			}
		}
		for _, want := range c.want {
			if !strings.Contains(why, want) {
				t.Errorf("%q lacks %q:\n%s", c.query, want, why)
			}
		}
		sum, factor, value := 0., 1., 0.
		for _, line := range strings.Split(why, "\n") {
			for _, m := range number.FindAllStringSubmatch(line, -1) {
				v, _ := strconv.ParseFloat(m[2], 64)
				switch {
				case strings.HasPrefix(line, "value"):
					value = v
				case m[1] == "×":
					factor *= v
				default:
					sum += v
				}
			}
		}
		if !strings.Contains(why, "the title is the query") && math.Abs(sum*factor-value) > .1 {
			t.Errorf("%q: %.2f × %.2f is not the value:\n%s", c.query, sum, factor, why)
		}
		q.Explain = false
		if hits, err = x.Search(t.Context(), q); err != nil || hits[0].Why != nil {
			t.Errorf("%q has %q without being asked (%v)", c.query, hits[0].Why, err)
		}
	}
}
