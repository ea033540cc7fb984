package assistant

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// What an extractive reply holds. It quotes, so it has to be short enough to
// be read as an answer and long enough to be one.
const (
	quotedPassages = 4
	leastPassages  = 2
	quotedShare    = .55 // of the best score, below which a passage is not quoted
	quoteChars     = 520 // of prose from one passage
	quoteCodes     = 2   // code blocks from one passage
	quoteLines     = 24  // of a code block
)

// When the documentation answers, going by the best hit's score (0–1, see
// retrieval.Hit) and by the share of the question's telling words that stand
// in one passage.
const (
	scoreAnswers   = .6  // whatever the words: they may be synonyms
	scoreMay       = .34 // least score of an answer whose words are there
	coverAnswers   = .6
	scorePartly    = .42 // least score of half an answer, whatever the words
	scoreNear      = .3
	coverMay       = .55
	scoreHopeless  = .2 // what nonsense stays below
	nearestPages   = 3
	extractiveName = "extractive"
)

// extract writes the extractive reply: an opening sentence, and the best
// passages, each with its heading as a link and the sentences, list items and
// code that answer. lead comes before it.
func (r *run) extract(ctx context.Context, lead string) {
	ctx, ended := r.step(ctx, "extract")
	defer ended(nil)
	r.res.Extractive = true
	r.res.Model = extractiveName
	r.check = newChecker(ctx, r)

	best := r.byScore()
	asked := r.askedTerms()
	answered := answers(best, asked, r.q.language)
	r.res.Answered = answered

	lang := r.q.language
	var b strings.Builder
	if lead != "" {
		b.WriteString(lead + "\n\n")
	}
	if answered == "no" {
		if len(best) == 0 {
			b.WriteString(lang.say(notFoundAtAll))
		} else {
			b.WriteString(lang.say(notFound) + "\n")
			seen := make(map[string]bool)
			for i := range best {
				if d := best[i].document; !seen[d.Page] && len(seen) < nearestPages {
					seen[d.Page] = true
					b.WriteString("\n- " + linkTo(cmp.Or(d.Title, d.Page, d.URL), d.URL))
				}
			}
		}
		b.WriteString(r.support())
		r.say(b.String())
		return
	}

	quotes := quote(best, asked, lang)
	switch {
	case answered == "partly":
		b.WriteString(lang.say(foundPartly))
	case len(quotes) == 1:
		b.WriteString(lang.say(foundOne))
	default:
		b.WriteString(lang.say(foundSome))
	}
	for _, q := range quotes {
		b.WriteString("\n\n**" + linkTo(q.passage.title, q.passage.url) + "**")
		for _, t := range q.blocks {
			b.WriteString("\n\n" + t)
		}
	}
	if answered == "partly" {
		b.WriteString(r.support())
	}
	r.say(b.String())
}

// byScore returns the passages, best first.
func (r *run) byScore() []passage {
	best := slices.Clone(r.passages)
	slices.SortStableFunc(best, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	return best
}

// say sends Markdown through the check: what pages hold is not ours either.
func (r *run) say(markdown string) {
	r.check.write(reply.Escape(nil, markdown))
	r.check.close()
}

// askedTerms are the telling words of what is searched for: those of the
// question, and those it leans on.
func (r *run) askedTerms() []term {
	ts := r.q.terms()
	if len(ts) < 2 {
		ts = terms(r.q.query.Text, r.q.language)
	}
	return distinct(ts)
}

// unanswered tells whether answers would say no. It mostly knows without
// looking at every word.
func unanswered(best []passage, asked []term, l Language) bool {
	if len(best) > 0 && best[0].score >= scorePartly {
		missing := func(t term) bool {
			return t.special() && !slices.ContainsFunc(best[:min(3, len(best))], func(p passage) bool {
				return strings.Contains(p.text, t.word) || strings.Contains(p.title, t.word)
			})
		}
		if best[0].score >= scoreAnswers || !slices.ContainsFunc(asked, missing) {
			return false // partly at least
		}
	}
	return answers(best, asked, l) == "no"
}

// answers judges whether passages, best first, answer: yes, partly or no.
func answers(best []passage, asked []term, l Language) string {
	if len(best) == 0 || best[0].score < scoreHopeless {
		return "no"
	}
	score := best[0].score
	if score >= scoreAnswers && !slices.ContainsFunc(asked, term.special) {
		return "yes" // whatever the passages' words are
	}
	cover := 0.0
	missing := false // a name that was asked for and that no passage holds
	found := make(map[string]bool)
	for i := range best[:min(3, len(best))] {
		have := heldStems(best[i].title+"\n"+best[i].text, asked, l)
		sum, all := 0.0, 0.0
		for _, t := range asked {
			w := 1.0
			if t.name {
				w = 2
			}
			all += w
			if have[t.stem] {
				sum += w
				found[t.stem] = true
			}
		}
		if all > 0 {
			cover = max(cover, sum/all)
		}
	}
	for _, t := range asked {
		missing = missing || t.special() && !found[t.stem]
	}
	switch {
	case missing && cover < coverAnswers && score < scoreAnswers:
		return "no"
	case !missing && (score >= scoreAnswers || score >= scoreMay && cover >= coverAnswers):
		return "yes"
	case score >= scorePartly || score >= scoreNear && cover >= coverMay:
		return "partly"
	}
	return "no"
}

func stems(text string, l Language) map[string]bool {
	m := make(map[string]bool)
	for _, t := range terms(text, l) {
		m[t.stem] = true
	}
	return m
}
