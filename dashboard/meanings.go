package dashboard

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// maxMeanings is how many questions are grouped by meaning, the most frequent:
// each is embedded, and compared with the others.
const maxMeanings = 200

// meaning is a group of questions that mean the same, the most frequent first.
type meaning struct {
	Gaps      []insights.Gap
	Asked     int64
	Questions []string
	Pages     []string
	Last      time.Time
	Issue     string // where to file one
}

// meanings groups the most frequent questions of a query by the vectors of their
// wordings.
func (q *request) meanings(store *insights.Store, query insights.Query) ([]meaning, error) {
	if q.Site.Index.Embeddings == nil {
		return nil, fail(http.StatusNotFound, "This site has no embedder, so questions can't be grouped by meaning.")
	}
	query.Limit = maxMeanings
	gaps, err := store.Unanswered(q.Context(), q.scope(), query)
	if err != nil {
		return nil, q.stored(err)
	}
	vectors, err := q.vectors(gaps)
	if err != nil {
		q.d.log.Error("questions can't be embedded", "site", q.Site.Name, "error", err)
		return nil, fail(http.StatusServiceUnavailable, "The embedder is not responding, so questions can't be grouped by meaning. On the server, run caddy docs doctor to see why.")
	}
	urls, _, err := q.places()
	if err != nil {
		return nil, err
	}
	var found []meaning
	for _, alike := range alike(vectors) {
		var m meaning
		for _, i := range alike {
			g := gaps[i]
			m.Gaps, m.Questions, m.Asked = append(m.Gaps, g), append(m.Questions, g.Wording), m.Asked+g.Asked
			for _, page := range g.Pages {
				if !slices.Contains(m.Pages, page) && len(m.Pages) < 3 {
					m.Pages = append(m.Pages, page)
				}
			}
			if g.Last.After(m.Last) {
				m.Last = g.Last
			}
		}
		m.Issue = q.Site.issue(m.Questions, m.Asked, m.Pages, urls, "")
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b meaning) int { return int(b.Asked - a.Asked) })
	return found, nil
}

// vectors are those of the questions' subjects. Each is embedded once.
func (q *request) vectors(gaps []insights.Gap) ([][]float32, error) {
	vectors, missing, places := make([][]float32, len(gaps)), []string{}, []int{}
	subjectOf := q.Site.subjects()
	for i, g := range gaps {
		subject := subjectOf(g.Wording)
		if known, ok := q.d.vectors.Get(subject); ok {
			vectors[i] = known
		} else {
			missing, places = append(missing, subject), append(places, i)
		}
	}
	if len(missing) == 0 {
		return vectors, nil
	}
	made, err := q.d.server.Vectors(q.Context(), q.Site.Name, missing)
	if err == nil && len(made) != len(missing) {
		err = fmt.Errorf("%d vectors for %d questions", len(made), len(missing))
	}
	if err != nil {
		return nil, err
	}
	for n, i := range places {
		vectors[i] = made[n]
		q.d.vectors.Put(missing[n], made[n], 1)
	}
	return vectors, nil
}

// subjects returns a function that takes the words of the site's name out of a
// question: they are what the questions about it have in common.
func (s *Site) subjects() func(question string) string {
	names := regexp.MustCompile(`(?i)\b(` + strings.Join(nameWord.FindAllString(s.Name+" "+s.Title, -1), "|") + `)\b`)
	return func(question string) string {
		return cmp.Or(strings.TrimSpace(names.ReplaceAllString(question, "")), question)
	}
}

var nameWord = regexp.MustCompile(`[\pL\pN]{3,}`)

// alike groups vectors: the two groups that are closest on average become one,
// as long as they are close. What is close depends on the model, and is measured
// by how close two vectors are that have nothing to do with each other, as most
// have.
func alike(vectors [][]float32) (groups [][]int) {
	all, near := []float64{0}, make([][]float64, len(vectors))
	for i, a := range vectors {
		for _, b := range vectors[:i] {
			near[i] = append(near[i], cosine(a, b))
		}
		all, groups = append(all, near[i]...), append(groups, []int{i})
	}
	slices.Sort(all)
	usual := all[len(all)/2]
	for {
		best, into, from := usual+(1-usual)*closeness, 0, 0
		for i, a := range groups {
			for j, b := range groups[:i] {
				average := 0.
				for _, x := range a {
					for _, y := range b {
						average += near[max(x, y)][min(x, y)] / float64(len(a)*len(b))
					}
				}
				if average >= best {
					best, into, from = average, j, i
				}
			}
		}
		if from == 0 {
			return groups
		}
		groups[into] = slices.Sorted(slices.Values(append(groups[into], groups[from]...)))
		groups = slices.Delete(groups, from, from+1)
	}
}

// closeness is how far from the usual similarity to that of equal texts one
// must be.
const closeness = .25

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
