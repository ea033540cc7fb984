package embedded

import (
	"maps"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/retrieval/postings"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// Statistics are a table of words for searches: they read queries, mark their
// words, and rank pages that another engine found. They never change.
type Statistics struct {
	vocabulary
	table   *words.Table
	wording *words.Wording
}

// NewStatistics returns the statistics of the pages of a table.
func NewStatistics(t *words.Table, w *words.Wording) *Statistics {
	s := &Statistics{table: t, wording: w}
	s.total, s.spelling = t.Sections, t.Words
	s.languages = slices.Sorted(maps.Keys(t.Languages))
	s.find = func(stem string) term { return s.findTerm(words.StemHash(stem)) }
	return s
}

func (s *Statistics) findTerm(hash uint32) term {
	sections, pages := s.table.Term(hash)
	if pages == 0 {
		return term{}
	}
	return term{hash, sections, postings.IDF(s.total, sections), postings.IDF(s.table.Pages, pages)}
}

// Mark returns a Marker of the words of a query.
func (s *Statistics) Mark(q retrieval.Query) retrieval.Marker {
	p := s.parse(&q, s.wording)
	return p.marker(func(e expansion) []string { return []string{e.stem} }, s.languages)
}

// FoundPage is a page some of whose sections another engine found.
type FoundPage struct {
	// Document has all of the page's sections. They need no texts.
	Document *retrieval.Document
	// Sections are what was found, by their number in the document.
	Sections []FoundSection
	// Traits describe the whole page.
	words.Traits
}

// FoundSection is a section that another engine found.
type FoundSection struct {
	Section int
	// Counts are its words, see words.Analyze.
	Counts []byte
	// Rank is its place, from 0, in the keyword search; negative if it was found
	// only by its vector.
	Rank int
	// Similarity is the cosine of its vector and the query's, 0 if unknown.
	Similarity float64
}

// Add adds a section, or merges what another search found out about it.
func (p *FoundPage) Add(found FoundSection) {
	for i := range p.Sections {
		if s := &p.Sections[i]; s.Section == found.Section {
			s.Similarity = max(s.Similarity, found.Similarity)
			if s.Rank < 0 || found.Rank >= 0 && found.Rank < s.Rank {
				s.Rank = found.Rank
			}
			return
		}
	}
	p.Sections = append(p.Sections, found)
}

// unranked is the value of a page that only the other engine found by keywords,
// as a share of the lowest value among pages whose words are known.
const unranked = .5

// Rank returns hits from what another engine found, ranked as Index.Search
// does: scored by the same words, fused with the similarities given. mean is
// the mean similarity of all sections. ratio is the weight of vectors, see
// Options.SemanticRatio. A Reading ranks once.
func (r *Reading) Rank(found []FoundPage, mean, ratio float64) []retrieval.Hit {
	q, p := &r.query, &r.parsed
	g := r.statistics.candidates(p, found)
	x := &scratch{}
	g.scoreWords(p, x)
	scopes := g.judge(q, p)
	allowed := g.filtered(q.Filter, scopes)
	g.rank(p, scopes, allowed, x)
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
		g.fuse(similar, scopes, allowed, p.semanticShare(ratio), x)
	}
	hits := g.hits(q, p, similar, scopes, x)
	for i := range hits {
		f := &found[g.byPage[hits[i].Document.Page]]
		hits[i].Document, hits[i].Section = f.Document, f.Sections[hits[i].Section].Section
	}
	return hits
}

// candidates makes a generation of the sections found, in which the terms of
// the query are numbered from 0, and renumbers those of the query.
func (s *Statistics) candidates(p *parsedQuery, found []FoundPage) *generation {
	numbers := map[uint32]uint32{} // hash → number
	g := &generation{vocabulary: s.vocabulary, mean: s.table.Mean, byPage: make(map[string]uint32, len(found)), first: make([]uint32, 1, len(found)+1)}
	for i := range p.words {
		for j := range p.words[i].expansions {
			e := &p.words[i].expansions[j]
			hash := words.StemHash(e.stem)
			n, ok := numbers[hash]
			if !ok {
				n = uint32(len(numbers))
				numbers[hash] = n
				g.sectionIDF = append(g.sectionIDF, e.found.sectionIDF)
			}
			e.term = n
		}
	}
	sum := func(hashes []uint32) (sum float32) {
		for _, h := range hashes {
			sum += s.findTerm(h).sectionIDF
		}
		return sum
	}
	for i, f := range found {
		d := *f.Document
		d.Sections = make([]retrieval.Section, len(f.Sections))
		counted := &words.PageWords{Language: language.Language(f.Language)}
		var titleIDF, slugIDF float32
		for j, section := range f.Sections {
			c, _ := words.Decode(section.Counts, numbers)
			if counted.Head == nil {
				counted.Head, counted.Title, counted.Description = c.Page.Head, c.Page.Title, c.Page.Description
				counted.Keywords, counted.Path = c.Page.Keywords, c.Page.Path
				titleIDF, slugIDF = sum(c.Title), sum(c.Slug)
			}
			counted.Sections = append(counted.Sections, c.Section)
			d.Sections[j] = f.Document.Sections[section.Section]
			g.headingIDF = append(g.headingIDF, sum(c.Heading))
		}
		g.docs, g.words = append(g.docs, &d), append(g.words, counted)
		g.byPage[d.Page] = uint32(i)
		g.first = append(g.first, g.first[i]+uint32(len(d.Sections)))
		g.factor = append(g.factor, 1)
		g.titleIDF, g.slugIDF = append(g.titleIDF, titleIDF), append(g.slugIDF, slugIDF)
	}
	term := slices.Sorted(maps.Values(numbers))
	g.invertPages(term, len(numbers), found)
	g.invertSections(term, len(numbers))
	g.relate()
	return g
}

// addUnranked adds the pages that only the other engine found by keywords (it
// knows typing errors and forms of words that this package doesn't), ranked below
// all others.
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
