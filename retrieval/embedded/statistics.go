package embedded

import (
	"maps"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// Statistics are a Table for searches: they read queries, mark their words,
// and rank pages that another engine found. They never change.
type Statistics struct {
	vocabulary
	mean    averages
	wording *wording
	stems   []string // by term
}

// Wording is what a site says about words in queries.
type Wording struct{ of wording }

// NewWording takes synonyms and stop words as Options has them.
func NewWording(synonyms [][]string, stopWords []string) (*Wording, error) {
	w, err := newWording(synonyms, stopWords)
	return &Wording{w}, err
}

// ReadStatistics reads an encoded table. Its error wraps errTable.
func ReadStatistics(data []byte, w *Wording) (*Statistics, error) {
	t, err := ReadTable(data)
	if err != nil {
		return nil, err
	}
	return t.Statistics(w), nil
}

// Statistics returns the statistics of the pages that were added so far.
func (t *Table) Statistics(w *Wording) *Statistics {
	s := &Statistics{mean: t.mean, wording: &w.of, stems: slices.Sorted(maps.Keys(t.terms))}
	s.total = t.sections
	s.languages = slices.Sorted(maps.Keys(t.languages))
	s.terms = make(map[string]uint32, len(s.stems))
	s.holders = make([]uint32, len(s.stems))
	s.sectionIDF, s.pageIDF = make([]float32, len(s.stems)), make([]float32, len(s.stems))
	for i, stem := range s.stems {
		c := t.terms[stem]
		s.terms[stem], s.holders[i] = uint32(i), c.sections
		s.sectionIDF[i], s.pageIDF[i] = idf(t.sections, int(c.sections)), idf(t.pages, int(c.pages))
	}
	words, places := make([]word, 0, len(t.words)), make([]uint32, 0, len(t.words))
	for x, n := range t.words {
		words, places = append(words, word{Text: x.text}), append(places, n)
	}
	s.spelling = newSpelling(words, places)
	return s
}

// Mark returns a Marker of the words of a query.
func (s *Statistics) Mark(q retrieval.Query) retrieval.Marker {
	p := s.parse(&q, s.wording)
	return p.marker(func(term uint32) []string { return s.stems[term : term+1] }, func(word string, marked map[string]markedWord) (stem string) {
		for _, l := range s.languages {
			stem = l.Stem(word)
			if _, ok := marked[stem]; ok {
				break
			}
		}
		return stem
	})
}

// FoundPage is a page of which another engine found some sections.
type FoundPage struct {
	// Document has all of the page's sections, of which only those in Sections
	// need a text.
	Document *retrieval.Document
	// Sections are what was found, by their number in the document.
	Sections []FoundSection
	// Traits are those of the whole page.
	Traits
}

// FoundSection is a section that another engine found.
type FoundSection struct {
	Section int
	// Rank is its place, from 0, in the keyword search; below 0 it was found
	// by its vector only.
	Rank int
	// Similarity is the cosine of its vector and the query's, 0 if unknown.
	Similarity float64
}

// Traits are what the ranking takes from all of a page.
type Traits struct {
	// Language is the language whose rules the words follow.
	Language string `json:"language"`
	// Factor is what the page's score is multiplied by.
	Factor float32 `json:"factor"`
	// Words are those of all texts, Headings those of all headings.
	Words    uint32 `json:"words"`
	Headings uint32 `json:"headings"`
}

// Terms are the words of a section as the ranking compares them, each once and
// separated by spaces, by the fields that hold them.
type Terms struct {
	Title   string `json:"title"` // also the slug and the keywords
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// Analyze returns the traits of a whole page, and the terms of its sections.
func Analyze(d *retrieval.Document) (Traits, []Terms) {
	l, lex := languageOf(d), newLexicon(nil)
	c := analyze(d, l, lex.number)
	heading, text := c.lengths()
	traits := Traits{Language: string(l), Factor: pageFactor(d, c), Words: text, Headings: heading}
	terms := make([]Terms, len(c.Sections))
	for i := range c.Sections {
		var fields [3]strings.Builder
		seen := map[string]bool{}
		add := func(field int, word uint32) {
			if stem := lex.words[word].Stem; !seen[stem] {
				seen[stem] = true
				fields[field].WriteString(stem)
				fields[field].WriteByte(' ')
			}
		}
		for _, w := range c.Head {
			if w.Title+w.Keywords > 0 || w.InSlug {
				add(0, w.Word)
			}
		}
		for _, w := range c.Sections[i].Words {
			if w.Heading > 0 {
				add(1, w.Word)
			}
		}
		for _, w := range c.Sections[i].Words {
			add(2, w.Word)
		}
		for _, w := range c.Head {
			add(2, w.Word)
		}
		terms[i] = Terms{fields[0].String(), fields[1].String(), fields[2].String()}
	}
	return traits, terms
}

// unranked is what a page is worth that only the other engine found by
// keywords, as a share of the least value of all whose words are known.
const unranked = .5

// Rank returns hits from what another engine found, ranked as Index.Search
// does: scored by the same words, fused with the similarities given. mean is
// the mean similarity of all sections. ratio is the weight of vectors, see
// Options.SemanticRatio.
func (s *Statistics) Rank(q retrieval.Query, found []FoundPage, mean, ratio float64) []retrieval.Hit {
	q.Limit = min(max(q.Limit, 1), maxHits)
	p := s.parse(&q, s.wording)
	g := s.candidates(&p, found)
	x := &scratch{}
	g.scoreWords(&p, x)
	g.rank(&p, g.filtered(q.Filter), x)
	x.similarity = zeroed(x.similarity, g.sectionCount())
	similar := &similarity{of: x.similarity, mean: float32(mean), partial: true}
	for i, f := range found {
		for j, section := range f.Sections {
			at := g.first[i] + uint32(j)
			x.similarity[at] = float32(section.Similarity)
			similar.top = max(similar.top, x.similarity[at])
		}
	}
	g.addUnranked(found, x)
	if ratio > 0 {
		g.fuse(similar, g.filtered(q.Filter), p.semanticShare(ratio), x)
	}
	hits := g.hits(&q, &p, similar, x)
	for i := range hits {
		f := &found[g.byPage[hits[i].Document.Page]]
		hits[i].Document, hits[i].Section = f.Document, f.Sections[hits[i].Section].Section
	}
	return hits
}

// candidates makes a generation of the sections found, in which the terms of
// the query are numbered from 0, and renumbers those of the query.
func (s *Statistics) candidates(p *parsedQuery, found []FoundPage) *generation {
	numbers := map[string]uint32{} // stem → number
	for i := range p.words {
		for j := range p.words[i].expansions {
			e := &p.words[i].expansions[j]
			stem := s.stems[e.term]
			n, ok := numbers[stem]
			if !ok {
				n = uint32(len(numbers))
				numbers[stem] = n
			}
			e.term = n
		}
	}
	other := uint32(len(numbers))
	sectionIDF := make([]float32, other+1)
	for stem, n := range numbers {
		sectionIDF[n] = s.sectionIDF[s.terms[stem]]
	}
	read := map[language.Language]map[string]uint32{}
	number := func(l language.Language, text string) uint32 {
		known := read[l]
		if known == nil {
			known = map[string]uint32{}
			read[l] = known
		}
		n, ok := known[text]
		if !ok {
			if n, ok = numbers[l.Stem(text)]; !ok {
				n = other
			}
			known[text] = n
		}
		return n
	}
	g := &generation{mean: s.mean, byPage: make(map[string]uint32, len(found)), first: make([]uint32, 1, len(found)+1)}
	g.vocabulary = s.vocabulary
	g.sectionIDF, g.pageIDF = sectionIDF, nil
	for i, f := range found {
		d := *f.Document
		d.Sections = make([]retrieval.Section, len(f.Sections))
		for j, section := range f.Sections {
			d.Sections[j] = f.Document.Sections[section.Section]
		}
		l := language.Language(f.Language)
		g.docs, g.words = append(g.docs, &d), append(g.words, analyze(&d, l, number))
		g.byPage[d.Page] = uint32(i)
		g.first = append(g.first, g.first[i]+uint32(len(d.Sections)))
		g.factor = append(g.factor, f.Factor)
		g.titleIDF = append(g.titleIDF, s.sumIDF(l, d.Title))
		g.slugIDF = append(g.slugIDF, s.sumIDF(l, d.Page[strings.LastIndexByte(d.Page, '/')+1:]))
		for j := range d.Sections {
			g.headingIDF = append(g.headingIDF, s.sumIDF(l, append(slices.Clip(d.Sections[j].Path), d.Sections[j].Heading)...))
		}
	}
	for _, list := range []*postings{&g.sections, &g.pages, &g.titles, &g.slugs, &g.headings} {
		*list = make(postings, other+1)
	}
	terms := make([]uint32, other+1)
	for i := range terms {
		terms[i] = uint32(i)
	}
	g.invert(terms, found)
	g.variants = variantsOf(g.docs)
	return g
}

// sumIDF adds up the IDF of the different plain words of a field.
func (s *Statistics) sumIDF(l language.Language, texts ...string) (sum float32) {
	var seen []string
	for _, text := range texts {
		splitWords(text, func(w string, k kind) {
			if k != plain {
				return
			}
			stem := l.Stem(w)
			if slices.Contains(seen, stem) {
				return
			}
			seen = append(seen, stem)
			if term, ok := s.terms[stem]; ok {
				sum += s.sectionIDF[term]
			}
		})
	}
	return sum
}

// addUnranked adds the pages that only the other engine found by keywords (it
// knows typing errors and forms of words that this package doesn't) below all
// others.
func (g *generation) addUnranked(found []FoundPage, s *scratch) {
	least := float32(1)
	for _, page := range s.order {
		least = min(least, s.value[page])
	}
	for page, f := range found {
		if s.value[page] > 0 {
			continue
		}
		for j, section := range f.Sections {
			if section.Rank < 0 {
				continue
			}
			at := g.first[page] + uint32(j)
			s.section[at] = least * unranked / (1 + float32(section.Rank)/10)
			s.value[page] = max(s.value[page], s.section[at]*g.factor[page])
		}
		if s.value[page] > 0 {
			s.order = append(s.order, uint32(page))
		}
	}
}
