package assistant

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// What an extractive reply holds: little enough to be read as an answer, and
// enough to be one.
const (
	quotedPassages = 4
	leastPassages  = 2
	quotedShare    = .55 // of the best score, below which a passage is not quoted
	quoteChars     = 520 // of prose from one passage
	quoteCodes     = 2   // code blocks from one passage
	quoteLines     = 24  // of a code block
)

// When the documentation answers, by the best hit's score (0–1, see
// retrieval.Hit) and by the share of the question's terms in one passage.
const (
	scoreAnswers   = .6  // whatever the words: they may be synonyms
	scoreMay       = .34 // least score of an answer whose words are there
	coverAnswers   = .6
	scorePartly    = .42 // least score of a part of an answer, whatever the words
	scoreNear      = .3
	coverMay       = .55
	scoreHopeless  = .2 // what nonsense stays below
	nearestPages   = 3
	extractiveName = "extractive"
)

// extract writes the extractive reply, if there is no answer yet: a sentence,
// and the best passages, each with its heading as a link and the sentences,
// list items and code that answer.
func (r *run) extract(ctx context.Context) error {
	if r.answer.text.Len() > 0 {
		return nil
	}
	ctx, ended := r.trace(ctx, "extract")
	defer ended(nil)
	r.res.Extractive = true
	r.res.Model = extractiveName
	r.answer.check = r.newChecker(ctx)

	best, asked, lang := r.byScore(), r.askedTerms(), r.q.language
	r.res.Answered = answered(best, asked, lang)
	var b strings.Builder
	if r.a.Model != nil {
		b.WriteString(r.say(modelUnavailable) + "\n\n")
	}
	if r.res.Answered == "no" {
		r.writeNearest(&b, best)
	} else {
		quotes := quote(best, asked, lang)
		switch {
		case r.res.Answered == "partly":
			b.WriteString(r.say(foundPartly))
		case len(quotes) == 1:
			b.WriteString(r.say(foundOne))
		default:
			b.WriteString(r.say(foundSome))
		}
		for _, q := range quotes {
			b.WriteString("\n\n**" + citation.Link(q.passage.title, q.passage.url) + "**")
			for _, t := range q.blocks {
				b.WriteString("\n\n" + t)
			}
		}
	}
	if r.res.Answered != "yes" {
		b.WriteString(r.support())
	}
	r.answer.say(b.String())
	return nil
}

// writeNearest says that the documentation doesn't answer, and lists the pages
// that come nearest.
func (r *run) writeNearest(b *strings.Builder, best []passage) {
	if len(best) == 0 {
		b.WriteString(r.say(notFoundAtAll))
		return
	}
	b.WriteString(r.say(notFound) + "\n")
	seen := make(map[string]bool)
	for i := range best {
		if d := best[i].document; !seen[d.Page] && len(seen) < nearestPages {
			seen[d.Page] = true
			b.WriteString("\n- " + citation.Link(cmp.Or(d.Title, d.Page, d.URL), d.URL))
		}
	}
}

// byScore returns the passages, best first.
func (r *run) byScore() []passage {
	best := slices.Clone(r.passages)
	slices.SortStableFunc(best, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	return best
}

// askedTerms are the terms of the question, or of the search text where the
// question has hardly any.
func (r *run) askedTerms() []term {
	ts := r.q.terms
	if len(ts) < 2 {
		ts = terms(r.q.query.Text, r.q.language)
	}
	return distinct(ts)
}

// answered judges whether passages, best first, answer: yes, partly or no.
func answered(best []passage, asked []term, l language.Language) string {
	if len(best) == 0 || best[0].score < scoreHopeless {
		return "no"
	}
	score := best[0].score
	if score >= scoreAnswers && !slices.ContainsFunc(asked, term.special) {
		return "yes"
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
