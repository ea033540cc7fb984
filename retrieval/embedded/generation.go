package embedded

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/postings"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// generation is one state of the index. It never changes.
type generation struct {
	contents
	wordsUsed int // how many different words
	byPage    map[string]uint32
	first     []uint32 // page → its first section; with one extra entry at the end

	vocabulary
	terms               map[string]uint32 // stem → number
	sectionIDF, pageIDF []float32         // by term

	mean     words.Averages
	forms    words.Forms
	sections postings.List // by the whole text of sections
	pages    postings.List // by the whole text of pages
	titles   postings.List // pages by their titles
	slugs    postings.List // pages by the last segment of their paths
	headings postings.List // sections by their headings

	// Sums of the IDF of the words of titles and slugs, by page, and of
	// headings, by section.
	titleIDF, slugIDF, headingIDF []float32

	factor []float32 // page → what its score is multiplied by
	copies []uint32  // page → its group, see copiesOf
	// copyOrder is which copy is shown, see orderCopies.
	copyOrder []uint64
	scopes    []scope
	scope     []uint32 // page → its scope

	asked atomic.Pointer[askedQuery] // the latest query

	narrowing sync.Mutex
	narrowed  []narrowedSet // the latest first

	warnMisfit sync.Once
}

// newGeneration inverts the words of documents. Parts that don't depend on each
// other are made in parallel.
func newGeneration(c contents) *generation {
	docs, lexicon := c.docs, c.lexicon.Words
	g := &generation{contents: c, byPage: make(map[string]uint32, len(docs)), first: make([]uint32, 1, len(docs)+1)}
	places := make([]uint32, len(lexicon)) // of each word
	for i, d := range docs {
		g.byPage[d.Page] = uint32(i)
		g.first = append(g.first, g.first[i]+uint32(len(d.Sections)))
		g.mean.AddPage(c.words[i], 1)
		c.words[i].Places(places)
		if l := c.words[i].Language; !slices.Contains(g.languages, l) {
			g.languages = append(g.languages, l)
		}
	}
	var others sync.WaitGroup
	others.Go(func() {
		g.spelling = words.SpellingOf(lexicon, places)
		g.relate()
		g.factor = factorsOf(docs)
		g.vectors.measure(g)
	})
	terms := make([]uint32, len(lexicon))
	g.terms = map[string]uint32{}
	for i, n := range places {
		if n == 0 {
			continue // no page has it any longer
		}
		g.wordsUsed++
		stem := lexicon[i].Stem
		t, ok := g.terms[stem]
		if !ok {
			t = uint32(len(g.terms))
			g.terms[stem] = t
		}
		terms[i] = t
	}
	g.forms = words.NewForms(terms, places, len(g.terms))
	others.Go(func() { g.invertPages(terms, len(g.terms), nil) })
	g.invertSections(terms, len(g.terms))
	others.Wait()
	g.total, g.find = g.sectionCount(), g.findTerm
	g.sectionIDF = g.sections.IDFs(g.total)
	g.pageIDF = g.pages.IDFs(len(docs))
	g.titleIDF = g.titles.Sums(len(docs), g.sectionIDF)
	g.slugIDF = g.slugs.Sums(len(docs), g.sectionIDF)
	g.headingIDF = g.headings.Sums(g.sectionCount(), g.sectionIDF)
	return g
}

// relate finds the pages that belong together.
func (g *generation) relate() {
	g.scopes, g.scope = scopesOf(g.docs, g.words)
	g.copies = copiesOf(g.docs)
	g.copyOrder = g.orderCopies()
}

func (g *generation) findTerm(stem string) term {
	n, ok := g.terms[stem]
	if !ok {
		return term{}
	}
	return term{n, len(g.sections.Of(n)), g.sectionIDF[n], g.pageIDF[n]}
}

func (g *generation) sectionCount() int { return int(g.first[len(g.docs)]) }

// sectionsOf returns the range of a page's sections.
func (g *generation) sectionsOf(page uint32) (from, to uint32) { return g.first[page], g.first[page+1] }

// invertPages fills the postings of pages. term maps words to terms. found is nil,
// or what is known about pages of which g has only some sections.
func (g *generation) invertPages(term []uint32, terms int, found []FoundPage) {
	postings.Fill(terms, func() { g.addPages(term, terms, found) }, &g.pages, &g.titles, &g.slugs)
}

func (g *generation) addPages(term []uint32, terms int, found []FoundPage) {
	page, names := postings.NewAccumulator(terms), postings.NewAccumulator(terms)
	for i, c := range g.words {
		p, shared := uint32(i), g.sharedWeight(c)
		for k := range c.Head {
			w := &c.Head[k]
			page.Add(term[w.Word], shared(w))
			if w.InTitle {
				names.Add(term[w.Word], 1)
			}
		}
		names.MoveTo(&g.titles, p)
		for _, w := range c.Head {
			if w.InSlug {
				names.Add(term[w.Word], 1)
			}
		}
		names.MoveTo(&g.slugs, p)

		headings, texts := c.Lengths()
		if found != nil {
			headings, texts = found[i].Headings, found[i].Words
		}
		heading, text := g.mean.PageHeading.Norm(headings), g.mean.PageText.Norm(texts)
		for j := range c.Sections {
			s := &c.Sections[j]
			leads, lead := j == 0 && (found == nil || found[i].Sections[0].Section == 0), g.mean.Text.Norm(s.Text)
			for w := range s.All() {
				weight := headingWeight*float32(w.Heading)/heading + textWeight*float32(w.Text)/text
				page.Add(term[w.Word], weight)
				if leads {
					page.Add(term[w.Word], leadWeight*float32(w.Text)/lead)
				}
			}
		}
		page.MoveTo(&g.pages, p)
	}
}

// invertSections fills the postings of sections.
func (g *generation) invertSections(term []uint32, terms int) {
	postings.Fill(terms, func() { g.addSections(term, terms) }, &g.sections, &g.headings)
}

func (g *generation) addSections(term []uint32, terms int) {
	section, names := postings.NewAccumulator(terms), postings.NewAccumulator(terms)
	for i, c := range g.words {
		shared := g.sharedWeight(c)
		for j := range c.Sections {
			s, at := &c.Sections[j], g.first[i]+uint32(j)
			for k := range c.Head {
				section.Add(term[c.Head[k].Word], shared(&c.Head[k]))
			}
			heading, text := g.mean.Heading.Norm(s.Heading), g.mean.Text.Norm(s.Text)
			for w := range s.All() {
				section.Add(term[w.Word], headingWeight*float32(w.Heading)/heading+textWeight*float32(w.Text)/text)
				if w.InHeading {
					names.Add(term[w.Word], 1)
				}
			}
			section.MoveTo(&g.sections, at)
			names.MoveTo(&g.headings, at)
		}
	}
}

// sharedWeight returns the weight of the words that a page shares with all its
// sections.
func (g *generation) sharedWeight(c *words.PageWords) func(*words.HeadWord) float32 {
	title, description := g.mean.Title.Norm(c.Title), g.mean.Description.Norm(c.Description)
	keywords, path := g.mean.Keywords.Norm(c.Keywords), g.mean.Path.Norm(c.Path)
	return func(w *words.HeadWord) float32 {
		return titleWeight*float32(w.Title)/title + descriptionWeight*float32(w.Description)/description +
			keywordsWeight*float32(w.Keywords)/keywords + pathWeight*float32(w.Path)/path
	}
}

// countAll counts the words of documents, except those that the old generation
// has already counted.
func countAll(ctx context.Context, c *contents, old *generation) error {
	c.words = make([]*words.PageWords, len(c.docs))
	for i, d := range c.docs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.words[i] = old.wordsOf(d); c.words[i] != nil {
			continue
		}
		if c.texts != nil {
			var err error
			if d, err = c.texts[i].Load().document(d); err != nil {
				return err
			}
		}
		c.words[i] = words.Count(d, c.lexicon)
	}
	return nil
}

// wordsOf returns the words of a document if it is unchanged since this
// generation, else nil.
func (g *generation) wordsOf(d *retrieval.Document) *words.PageWords {
	if g == nil || d.Hash == "" {
		return nil
	}
	i, ok := g.byPage[d.Page]
	if !ok || g.words[i].Hash != d.Hash || g.docs[i].Language != d.Language || len(g.docs[i].Sections) != len(d.Sections) {
		return nil
	}
	return g.words[i]
}
