package assistant

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/asked"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/short"
)

const (
	mostQuoted     = 1200 // characters of a section; one that is no longer is quoted whole
	quotedPages    = 5    // whose sections may answer
	quotedSections = 100  // of a page

	// How sections are rated, by what they hold of the question.
	byHeading = .35 // of the share of words that are in the heading
	byRank    = .2  // of the inverse rank among the sections found

	// aboutIt is the share of the question's words in the best section from which
	// it is about the question.
	aboutIt = .3
	// sureAnswers is from where on "yes" is claimed: each word held counts one,
	// besides the lead of the section's rating and the score of its page. Of those
	// marked yes, nine in ten answered, on sites that it wasn't fitted on.
	sureAnswers = 10.
	sureLead    = 7.
	sureScore   = 5.4
	mostLead    = .5
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
}

func (c *candidate) url() string   { return sectionURL(c.document, c.section) }
func (c *candidate) title() string { return sectionTitle(c.document, c.section) }

func byRating(a, b *candidate) int { return cmp.Compare(b.rating, a.rating) }

// verdict is what an extractive reply rests on: a quotation, if a section is
// about the question, and the sections that come nearest.
type verdict struct {
	answered string // yes, partly or no
	quoted   *candidate
	quote    []string     // blocks of Markdown
	nearest  []*candidate // best first
	// value is how much of what is asked a text has.
	value func(text string) float64
}

// judge decides what of the passages answers the question. What is about it is
// quoted, for readers to judge; "yes" needs more.
func (f *findings) judge() verdict {
	asked, l := f.q.askedTerms(), f.q.language
	paragraphs := func(s *retrieval.Section) []unit { return split(s.Marked(nil)) }
	v := verdict{answered: "no", nearest: candidates(f.passages, quotedPages, paragraphs)}
	if len(v.nearest) == 0 {
		return v
	}
	found := newFinder(asked, l)
	weights := rate(v.nearest, found)
	v.value = func(text string) (sum float64) {
		held := found.in(text)
		for _, t := range asked { // in one order: equal texts have equal sums
			if held[t.stem] {
				sum += weights[t.stem]
			}
		}
		return sum
	}
	slices.SortStableFunc(v.nearest, byRating)
	first := v.nearest[0]
	if first.cover < aboutIt {
		return v
	}
	v.answered = "partly"
	if i := slices.IndexFunc(v.nearest, (*candidate).quotable); i >= 0 {
		v.quoted, v.quote = v.nearest[i], v.nearest[i].excerpt(v.value)
	}
	lead := mostLead // on a small site, a leader may have no match
	if len(v.nearest) > 1 {
		lead = min(lead, first.rating-v.nearest[1].rating)
	}
	words := 0.
	for i := range asked {
		words += asked[i].share()
	}
	sure := first.cover*words + sureLead*lead + sureScore*first.score
	if v.quoted == first && sure >= sureAnswers {
		v.answered = "yes"
	}
	return v
}

// candidates are the sections of the first pages that were found, in units that
// divide makes.
func candidates(best []Passage, pages int, divide func(*retrieval.Section) []unit) []*candidate {
	var out []*candidate
	seen := make(map[string]bool)
	for i := range best {
		d := best[i].document
		if seen[d.Page] || len(seen) == pages {
			continue
		}
		seen[d.Page] = true
		for j := range d.Sections {
			c := &candidate{document: d, section: j, score: best[i].Score}
			c.rank = slices.IndexFunc(best, func(p Passage) bool { return p.document == d && p.section == j })
			if j < quotedSections || c.rank >= 0 {
				c.units = divide(&d.Sections[j])
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
// headings hold, and by their rank. Words that are in few units count more; rate
// returns their weights.
func rate(cs []*candidate, f *finder) map[string]float64 {
	frequency := make(map[string]float64)
	n := 0.
	for _, c := range cs {
		for i := range c.units {
			u := &c.units[i]
			u.words = f.in(u.text())
			n++
			for w := range u.words {
				frequency[w]++
			}
		}
	}
	weights := make(map[string]float64, len(f.asked))
	all := 1e-9
	for _, t := range f.asked {
		weights[t.stem] = t.share() * math.Log(1+(n+1)/(frequency[t.stem]+.5))
		all += weights[t.stem]
	}
	for _, c := range cs {
		s := &c.document.Sections[c.section]
		own, above := f.in(s.Heading), f.in(strings.Join(s.Path, " "))
		if c.section == 0 && s.Level < 2 {
			if title := f.in(c.document.Title); len(title) == len(f.asked) {
				own = title // the page itself is asked for
			}
		}
		headed := 0.
		for _, t := range f.asked {
			if own[t.stem] {
				headed++
			}
		}
		c.cover = -1
		for i := range max(1, len(c.units)) { // one without a unit has its heading
			var u unit
			if len(c.units) > 0 {
				u = c.units[i]
			}
			cover := 0.
			for _, t := range f.asked {
				if u.words[t.stem] || own[t.stem] || above[t.stem] {
					cover += weights[t.stem] / all
				}
			}
			if cover > c.cover {
				c.best, c.cover = i, cover
			}
		}
		c.rating = c.cover + byHeading*headed/float64(max(1, len(f.asked)))
		if c.rank >= 0 {
			c.rating += byRank / float64(1+c.rank)
		}
	}
	return weights
}

// finder finds terms in texts. It stems each word once.
type finder struct {
	asked []term
	l     language.Language
	words map[string][]string // the asked stems that a word has
	first [256]bool           // what asked stems begin with
}

func newFinder(asked []term, l language.Language) *finder {
	f := &finder{asked: asked, l: l, words: make(map[string][]string)}
	for _, t := range asked {
		if t.stem != "" {
			f.first[t.stem[0]|0x20] = true
		}
	}
	return f
}

// in returns which stems of the asked terms a text holds.
func (f *finder) in(text string) map[string]bool {
	held := make(map[string]bool)
	for word := range asked.Words(text) {
		if !f.begins(word) {
			continue
		}
		has, known := f.words[word]
		if !known {
			has = f.stems(word)
			f.words[word] = has
		}
		for _, stem := range has {
			held[stem] = true
		}
	}
	return held
}

func (f *finder) stems(word string) (has []string) {
	if !slices.ContainsFunc(f.asked, func(t term) bool { return mayHold(word, t.stem) }) {
		return nil
	}
	for _, t := range appendTerms(nil, word, f.l) {
		if slices.ContainsFunc(f.asked, func(a term) bool { return a.stem == t.stem }) {
			has = append(has, t.stem)
		}
	}
	return has
}

// begins reports whether a word may have one of the stems by the first letters
// of its parts: most words of a text don't, and need not be looked up.
func (f *finder) begins(word string) bool {
	if word[0] >= utf8.RuneSelf || f.first[word[0]|0x20] {
		return true
	}
	for i := 1; i < len(word); i++ {
		if !asked.IsASCIIAlnum(word[i-1]) && f.first[word[i]|0x20] {
			return true
		}
	}
	return false
}

// mayHold reports whether a word may have a stem: few words of a long text need
// the stemmer. A stem begins like its word, or like a part of it.
func mayHold(word, stem string) bool {
	n := min(1, len(stem))
	if len(word) > 3 && len(stem) > 1 {
		n = min(3, len(stem)/2+1)
	}
	for n > 1 && (word[n-1] >= utf8.RuneSelf || stem[n-1] >= utf8.RuneSelf || stem[n-1] == 'i') { // größer: gross; dying: die
		n--
	}
	if word[0] >= utf8.RuneSelf || strings.EqualFold(word[:n], stem[:n]) {
		return n > 0
	}
	for i := 1; i+n <= len(word); i++ {
		if !asked.IsASCIIAlnum(word[i-1]) && strings.EqualFold(word[i:i+n], stem[:n]) {
			return true
		}
	}
	return false
}

// excerpt is the section, or the best of its units with what is around it, as
// Markdown.
func (c *candidate) excerpt(value func(text string) float64) []string {
	from, to := around(c.best, c.best+1, len(c.units), mostQuoted-c.units[c.best].chars(), func(i int) int { return c.units[i].chars() })
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
		text = short.Runes(text, longest)
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
			texts = sentences(short.Line(p.text))
		case partList, partTable:
			for _, item := range p.items {
				texts = append(texts, short.Line(strings.TrimPrefix(item, "- ")))
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
	n := len(line) - len(strings.TrimLeft(line, "0123456789"))
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
