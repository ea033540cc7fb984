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
	secondMargin   = .2   // of the ratings, for a second quote
	quotedPages    = 5    // pages whose sections may answer
	quotedSections = 100  // sections of a page
)

// How sections are rated, and how sure the best must be to be quoted. The
// values were fitted on half of the questions of bench/answers. Those of the
// other half, about other sites, chose between versions but fitted nothing.
const (
	inHeading     = .7  // of a word that is in the heading only
	inTitle       = .4  // of a word that is in the page's title only
	byPage        = .5  // of the score of the page
	byHit         = .1  // for a section that the search found itself
	byLength      = .1  // off for long units
	nameWeight    = 1.5 // of a name
	sureCover     = 2.8
	sureScore     = 1.8
	sureTerms     = .23 // for each term that is asked for, up to eight
	sureMissing   = 1.3 // off if a name that is asked for is missing
	sureBias      = -3.2
	sureAnswers   = .9
	surePartly    = -.6
	scoreHopeless = .2 // what nonsense stays below
)

// candidate is a section that may answer.
type candidate struct {
	document *retrieval.Document
	section  int
	score    float64 // of its page
	hit      bool    // the search found the section itself
	units    []unit
	best     int // of units
	rating   float64
	cover    float64 // of what is asked, by the best unit and the heading
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
}

// judge decides what of the passages, best first, answers a question.
func judge(best []passage, asked []term, l language.Language) verdict {
	v := verdict{answered: "no", nearest: candidates(best)}
	if len(v.nearest) == 0 {
		return v
	}
	weights := rate(v.nearest, asked, l)
	slices.SortStableFunc(v.nearest, func(a, b *candidate) int { return cmp.Compare(b.rating, a.rating) })
	first := v.nearest[0]
	sure := sureCover*first.cover + sureScore*first.score + sureTerms*float64(min(len(asked), 8)) + sureBias
	if first.missing {
		sure -= sureMissing
	}
	switch {
	case first.score < scoreHopeless:
	case sure >= sureAnswers && first.quotable():
		v.answered = "yes"
		for _, c := range v.nearest[:min(mostQuotes, len(v.nearest))] {
			if c.quotable() && c.rating > first.rating-secondMargin {
				v.quotes = append(v.quotes, quotation{c, c.excerpt(asked, weights, l)})
			}
		}
	case sure >= surePartly:
		v.answered = "partly"
	}
	return v
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
			c.hit = slices.ContainsFunc(best, func(p passage) bool { return p.document == d && p.section == j })
			if j < quotedSections || c.hit {
				c.units = split(d.Sections[j].Text, headings)
			}
			if c.hit || len(c.units) > 0 {
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

// rate rates the candidates by the share of what is asked that their units
// cover. Words that are in few units count more; rate returns their weights.
func rate(cs []*candidate, asked []term, l language.Language) map[string]float64 {
	frequency := make(map[string]float64)
	n := 0.
	for _, c := range cs {
		for i := range c.units {
			c.units[i].words = heldStems(c.units[i].text(), asked, l)
			n++
			for w := range c.units[i].words {
				frequency[w]++
			}
		}
	}
	weights := make(map[string]float64, len(asked))
	all := 0.
	for _, t := range asked {
		w := math.Log(1 + (n+1)/(frequency[t.stem]+.5))
		if t.name {
			w *= nameWeight
		}
		weights[t.stem] = w
		all += w
	}
	var title map[string]bool // of the page of the candidates, which follow each other
	for at, c := range cs {
		if at == 0 || cs[at-1].document != c.document {
			title = stems(c.document.Title, l)
		}
		s := &c.document.Sections[c.section]
		heading := stems(s.Heading+" "+strings.Join(s.Path, " "), l)
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
				case heading[t.stem]:
					sum += inHeading * w
					cover += w
				case title[t.stem]:
					sum += inTitle * w
				default:
					missing = missing || t.special()
				}
			}
			rating := sum/max(all, 1e-9) - byLength*math.Log(1+float64(u.chars())/300)
			if rating > c.rating {
				c.best, c.rating, c.cover, c.missing = i, rating, cover/max(all, 1e-9), missing
			}
		}
		c.rating += byPage * c.score
		if c.hit {
			c.rating += byHit
		}
	}
	return weights
}

// excerpt is the section, or the best of its units with what is around it, as
// Markdown.
func (c *candidate) excerpt(asked []term, weights map[string]float64, l language.Language) []string {
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
	value := func(item string) (sum float64) {
		for stem := range heldStems(item, asked, l) {
			sum += weights[stem]
		}
		return sum
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

// line is a sentence of the section, to say what is there.
func (c *candidate) line() string {
	if len(c.units) == 0 {
		return ""
	}
	for _, p := range c.units[c.best].parts {
		text := ""
		switch p.kind {
		case partProse:
			text = p.text
		case partList, partTable:
			text = strings.TrimPrefix(p.items[0], "- ")
		}
		if ss := sentences(oneLine(text)); len(ss) > 0 {
			s := ss[0]
			if utf8.RuneCountInString(s) > longestLine {
				s = strings.TrimRight(clipCharacters(s, longestLine), " ,;:") + " …"
			}
			return codeSpans(s)
		}
	}
	return ""
}

const longestLine = 160

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
