package assistant

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// What is quoted, in characters unless it says otherwise.
const (
	mostQuotes     = 2
	mostQuoted     = 1200 // a quote
	wholeSection   = 800  // a section that is quoted whole
	grownUnit      = 500  // a unit with its neighbours, of a longer section
	wholeList      = 500  // a list; of a longer one the items that answer
	secondMargin   = .15  // of the ratings, for a second quote
	quotedPages    = 5    // pages whose sections may answer
	quotedSections = 100  // sections of a page
)

// How sections are rated, and how sure the best must be to be quoted. The
// values were fitted on the first two parts of the questions of bench/answers,
// each site in turn left out to choose between models.
const (
	inHeading     = .5   // of a word that is in the heading only
	inTitle       = .4   // of a word that is in the page's title only
	byHeading     = .35  // of the share of words that are in the heading
	byWhole       = .4   // for a heading that has all of them
	byNearness    = .25  // of the share of neighbours that are near each other
	byPage        = .45  // of the score of the page
	byRank        = .2   // of the inverse rank among the sections found
	byLength      = .05  // off for long units
	nameWeight    = 1.5  // of a name
	earlierWeight = .5   // of a word of the conversation before
	nearWords     = 3    // distance of two words that are near
	sureRating    = 1.5  // of the rating
	sureTerms     = .55  // for each term that is covered, up to eight
	sureMissing   = 1.45 // off if a name that is asked for is missing
	sureSection   = 2.25 // of the lead over the next section
	surePage      = 1.   // of the lead over the sections of other pages
	longestLead   = .5
	sureBias      = -3.5
	leastCover    = .4 // of what is asked, to be quoted
	sureAnswers   = 1.5
	surePartly    = -1.2
	scoreHopeless = .2 // what nonsense stays below
)

// candidate is a section that may answer.
type candidate struct {
	document *retrieval.Document
	section  int
	score    float64 // of its page
	rank     int     // among the sections found, from 0; -1 if the search didn't find the section itself
	units    []unit
	best     int // of units
	rating   float64
	cover    float64 // of what is asked, by the best unit and the headings
	missing  bool    // a name that is asked for is not there
}

func (c *candidate) url() string   { return sectionURL(c.document, c.section) }
func (c *candidate) title() string { return sectionTitle(c.document, c.section) }

// quotation is what is quoted of a section.
type quotation struct {
	*candidate
	blocks []string
}

// verdict is what an extractive reply rests on: quotations if the documentation
// surely answers, and the sections that come nearest.
type verdict struct {
	answered string // yes, partly or no
	quotes   []quotation
	nearest  []*candidate // best first
	// value is how much of what is asked a text has.
	value func(text string) float64
}

// judge decides what of the passages, best first, answers a question.
func judge(best []passage, asked []term, l language.Language) verdict {
	v := verdict{answered: "no", nearest: candidates(best)}
	if len(v.nearest) == 0 {
		return v
	}
	weights := rate(v.nearest, asked, l)
	v.value = func(text string) (sum float64) {
		held, _ := heldTerms(text, asked, l)
		for stem := range held {
			sum += weights[stem]
		}
		return sum
	}
	slices.SortStableFunc(v.nearest, func(a, b *candidate) int { return cmp.Compare(b.rating, a.rating) })
	first := v.nearest[0]
	sure := v.sure(len(asked))
	switch {
	case first.score < scoreHopeless:
	case sure >= sureAnswers && first.cover >= leastCover && first.quotable():
		v.answered = "yes"
		for _, c := range v.nearest[:min(mostQuotes, len(v.nearest))] {
			if c.quotable() && c.rating > first.rating-secondMargin {
				v.quotes = append(v.quotes, quotation{c, c.excerpt(v.value)})
			}
		}
	case sure >= surePartly:
		v.answered = "partly"
	}
	return v
}

// sure is how sure it is that the first candidate answers a question of so many
// terms. One that leads by far is more likely to.
func (v *verdict) sure(terms int) float64 {
	first := v.nearest[0]
	sure := sureRating*first.rating + sureTerms*first.cover*float64(min(terms, 8)) + sureBias
	if first.missing {
		sure -= sureMissing
	}
	lead := func(other bool) float64 {
		for _, c := range v.nearest[1:] {
			if !other || c.document != first.document {
				return min(first.rating-c.rating, longestLead)
			}
		}
		return longestLead
	}
	return sure + sureSection*lead(false) + surePage*lead(true)
}

// candidates are the sections of the pages that were found.
func candidates(best []passage) []*candidate {
	var out []*candidate
	seen := make(map[string]bool)
	for i := range best {
		d := best[i].document
		if seen[d.Page] || len(seen) == quotedPages {
			continue
		}
		seen[d.Page] = true
		headings := headingsOf(d)
		for j := range d.Sections {
			c := &candidate{document: d, section: j, score: best[i].score}
			c.rank = slices.IndexFunc(best, func(p passage) bool { return p.document == d && p.section == j })
			if j < quotedSections || c.rank >= 0 {
				c.units = split(d.Sections[j].Marked(), headings)
			}
			if c.rank >= 0 || len(c.units) > 0 {
				out = append(out, c)
			}
		}
	}
	return out
}

var history = regexp.MustCompile(`(?i)change-?log|release[-_ ]?notes|what.?s[- ]new`)

// quotable reports whether the section has something to quote: a list of
// changes is none.
func (c *candidate) quotable() bool {
	return len(c.units) > 0 && !history.MatchString(c.document.Title) && !history.MatchString(c.document.Page)
}

// rate rates the candidates by the share of what is asked that their units and
// headings cover, and by what the search says. Words that are in few units
// count more; rate returns their weights.
func rate(cs []*candidate, asked []term, l language.Language) map[string]float64 {
	frequency := make(map[string]float64)
	n := 0.
	for _, c := range cs {
		for i := range c.units {
			u := &c.units[i]
			u.words, u.near = heldTerms(u.text(), asked, l)
			n++
			for w := range u.words {
				frequency[w]++
			}
		}
	}
	weights := make(map[string]float64, len(asked))
	all := 1e-9
	for _, t := range asked {
		w := math.Log(1 + (n+1)/(frequency[t.stem]+.5))
		if t.name {
			w *= nameWeight
		}
		if t.earlier {
			w *= earlierWeight
		}
		weights[t.stem] = w
		all += w
	}
	pairs, count := float64(max(1, len(asked)-1)), float64(max(1, len(asked)))
	var title map[string]bool // of the page of the candidates, which follow each other
	for at, c := range cs {
		if at == 0 || cs[at-1].document != c.document {
			title = stems(c.document.Title, l)
		}
		s := &c.document.Sections[c.section]
		own, above := stems(s.Heading, l), stems(strings.Join(s.Path, " "), l)
		headed := 0.
		for _, t := range asked {
			switch {
			case own[t.stem] && t.earlier:
				headed += earlierWeight
			case own[t.stem]:
				headed++
			}
		}
		c.rating = math.Inf(-1)
		for i := range max(1, len(c.units)) { // one without a unit has its heading
			var u unit
			if len(c.units) > 0 {
				u = c.units[i]
			}
			sum, cover, missing := 0., 0., false
			for _, t := range asked {
				w := weights[t.stem]
				switch {
				case u.words[t.stem]:
					sum += w
					cover += w
				case own[t.stem] || above[t.stem]:
					sum += inHeading * w
					cover += w
				case title[t.stem]:
					sum += inTitle * w
				default:
					missing = missing || t.name
				}
			}
			rating := sum/all + byNearness*float64(u.near)/pairs - byLength*math.Log(1+float64(u.chars())/300)
			if rating > c.rating {
				c.best, c.rating, c.cover, c.missing = i, rating, cover/all, missing
			}
		}
		c.rating += byHeading*headed/count + byPage*c.score
		if headed == count {
			c.rating += byWhole
		}
		if c.rank >= 0 {
			c.rating += byRank / float64(1+c.rank)
		}
	}
	return weights
}

// heldTerms returns which stems of the asked terms a text holds, and how many
// of the terms that follow each other in the question are near each other.
func heldTerms(text string, asked []term, l language.Language) (held map[string]bool, near int) {
	held = make(map[string]bool)
	last := make([]int, len(asked)) // where each term was, 0 for nowhere
	joined := make([]bool, len(asked))
	at := 0
	for word := range fields(text) {
		at++
		// A stem begins like its word, so that few of a long text's words need
		// the stemmer. Names are also compared by their parts.
		initial := strings.ToLower(word[:1])
		if word[0] < utf8.RuneSelf && !isName(word) && !slices.ContainsFunc(asked, func(t term) bool { return strings.HasPrefix(t.stem, initial) }) {
			continue
		}
		for _, t := range appendTerms(nil, word, l) {
			i := slices.IndexFunc(asked, func(a term) bool { return a.stem == t.stem })
			if i < 0 {
				continue
			}
			held[t.stem], last[i] = true, at
			for _, j := range []int{i, i + 1} { // with the term before, with the one after
				if j > 0 && j < len(asked) && !joined[j] && last[j-1] > 0 && last[j] > 0 && max(last[j-1], last[j])-min(last[j-1], last[j]) <= nearWords {
					joined[j] = true
					near++
				}
			}
		}
	}
	return held, near
}

// excerpt is the section, or the best of its units with what is around it, as
// Markdown.
func (c *candidate) excerpt(value func(text string) float64) []string {
	total := 0
	for i := range c.units {
		total += c.units[i].chars()
	}
	limit := grownUnit
	if total <= wholeSection {
		limit = wholeSection
	}
	from, to := c.best, c.best+1
	chars := c.units[from].chars()
	for grown := true; grown; {
		grown = false
		if to < len(c.units) && chars+c.units[to].chars() <= limit {
			chars += c.units[to].chars()
			to, grown = to+1, true
		}
		if from > 0 && chars+c.units[from-1].chars() <= limit {
			from--
			chars += c.units[from].chars()
			grown = true
		}
	}
	var out []string
	room := mostQuoted
	for _, u := range c.units[from:to] {
		for i := range u.parts {
			if room <= 0 {
				break
			}
			text := u.parts[i].markdown(room, value, c.url())
			room -= utf8.RuneCountInString(text)
			out = append(out, text)
		}
	}
	return out
}

// line is the sentences of the best unit, or the item of its list, that are
// nearest to what is asked, to say what is there. If that unit is code, they are
// those of the section.
func (c *candidate) line(value func(text string) float64, longest int) string {
	if len(c.units) == 0 {
		return ""
	}
	best := c.units[c.best].nearest(value, longest)
	if best == "" {
		section := unit{}
		for i := range c.units {
			section.parts = append(section.parts, c.units[i].parts...)
		}
		best = section.nearest(value, longest)
	}
	if introduces(best) || utf8.RuneCountInString(best) > longest {
		best = shortened(best, longest)
	}
	return codeSpans(best)
}

// shortened is the beginning of a sentence that goes on, without a part of a
// word or of code.
func shortened(text string, longest int) string {
	if utf8.RuneCountInString(text) > longest {
		text = clipCharacters(text, longest)
		if i := strings.LastIndexByte(text, ' '); i > 0 {
			text = text[:i]
		}
		if strings.Count(text, "`")%2 == 1 {
			text = text[:strings.LastIndexByte(text, '`')]
		}
	}
	return strings.TrimRight(text, " ,;:：") + " …"
}

// nearest is the sentence or item of a list that is nearest to what is asked,
// with the sentences after it, as long as they are no longer than longest.
func (u *unit) nearest(value func(text string) float64, longest int) string {
	best, most := "", -1.
	for _, p := range u.parts {
		var texts []string
		switch p.kind {
		case partProse:
			texts = sentences(oneLine(p.text))
		case partList, partTable:
			for _, item := range p.items {
				texts = append(texts, oneLine(strings.TrimPrefix(item, "- ")))
			}
		}
		for i, text := range texts {
			v := value(text)
			if v <= most {
				continue
			}
			most, best = v, text
			if p.kind != partProse {
				continue
			}
			for _, next := range texts[i+1:] {
				if introduces(next) || utf8.RuneCountInString(best)+utf8.RuneCountInString(next) >= longest {
					break
				}
				best += " " + next
			}
		}
	}
	return best
}

func isNumbered(line string) bool {
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	return n > 0 && n < 4 && strings.HasPrefix(line[n:], ". ")
}

// sentences splits prose at the ends of sentences. A full stop inside code
// or an abbreviation is none: what follows it must look like a beginning.
func sentences(prose string) []string {
	var out []string
	from := 0
	code := false
	for i, r := range prose {
		switch r {
		case '`':
			code = !code
		case '。', '！', '？':
			end := i + utf8.RuneLen(r)
			out = append(out, strings.TrimSpace(prose[from:end]))
			from = end
		case '.', '!', '?':
			rest := prose[i+1:]
			if code || len(rest) < 2 || rest[0] != ' ' {
				continue
			}
			next, _ := utf8.DecodeRuneInString(rest[1:])
			word := prose[from:i]
			if j := strings.LastIndexByte(word, ' '); j >= 0 {
				word = word[j+1:]
			}
			if unicode.IsLower(next) || r == '.' && (len(word) < 2 || strings.Contains(word, ".")) {
				continue // "e.g. this", "v. 2"
			}
			out = append(out, strings.TrimSpace(prose[from:i+1]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(prose[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}
