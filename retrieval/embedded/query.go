package embedded

import (
	"cmp"
	"slices"
	"unicode"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// maxQueryWords is how many different words of a query count; the rarest
// are kept. Nobody's question has more, and a pasted log must not cost more.
const maxQueryWords = 64

// maxUnknown is for how many unknown words of a query similar ones are
// looked for, which reads the whole vocabulary.
const maxUnknown = 12

// maxQueryBytes bounds what is read of a query.
const maxQueryBytes = 16 << 10

// completionLead is how many times more common a word must be than the known
// word that the query ends in, to be taken for its completion.
const completionLead = 3

// group is one word of a query with the terms it may stand for; in a
// section, the best of them counts.
type group struct {
	word   string
	kind   kind
	joined bool // two words of the query, written as one
	alts   []alternative
	mass   float32 // the idf of the word, that of a very rare one if unknown
	trust  float32 // 1 for a known word, less for a corrected one
}

type alternative struct {
	term         uint32
	weight       float32
	gain, onPage float32 // weight × idf, of sections and of pages
}

// parsed is a query taken apart.
type parsed struct {
	groups []group
	// words counts the plain words, stop words included.
	words int
	// language is that of the query, "" where its words show none.
	language language.Language
}

// keywords reports whether a query names something rather than asks.
func (p *parsed) keywords() bool {
	n := 0
	for i := range p.groups {
		if p.groups[i].kind == plain && len(p.groups[i].alts) > 0 {
			n++
		}
	}
	return n <= keywordsMax
}

// parseFor takes a query apart, in the language that it prefers where its own
// words show none.
func (g *generation) parseFor(q *retrieval.Query, words *wording, w *weights, s *scratch) parsed {
	return g.parse(q.Text, q.Question, language.Of(q.Prefer.Language), words, w, s)
}

// parse turns a query into groups. Words that carry no meaning are left out
// of queries of three words and more, those that the site says carry none of
// any query, unless nothing else remains.
func (g *generation) parse(text string, question bool, prefer language.Language, words *wording, w *weights, s *scratch) parsed {
	p := parsed{groups: s.groups[:0]}
	text = text[:min(len(text), maxQueryBytes)]
	var last string
	splitWords(text, func(word string, k kind) {
		if k == plain {
			p.words++
		}
		last = word
		for i := range p.groups {
			if p.groups[i].word == word {
				return
			}
		}
		if len(p.groups) < 8*maxQueryWords {
			p.groups = append(p.groups, group{word: word, kind: k})
		}
	})
	p.language = g.languageOfQuery(p.groups)
	spoken := cmp.Or(p.language, prefer, language.English)
	p.groups = words.withoutStops(p.groups, p.words, spoken)
	// "file server" also finds fileserver, and prefers file_server.
	for i, n := 0, len(p.groups); i+1 < n && i < 16; i++ {
		a, b := &p.groups[i], &p.groups[i+1]
		if a.kind != plain || b.kind != plain || len(a.word)+len(b.word) > maxWord {
			continue
		}
		if word := a.word + b.word; !slices.ContainsFunc(p.groups, func(x group) bool { return x.word == word }) {
			p.groups = append(p.groups, group{word: word, kind: whole, joined: true})
		}
	}
	typing := !question && text != "" && !unicode.IsSpace(rune(text[len(text)-1]))
	unknown := 0
	for i := 0; i < len(p.groups); i++ {
		x := &p.groups[i]
		if g.resolve(x, typing && x.word == last, unknown < maxUnknown, words.synonyms, w, s) {
			continue
		}
		if unknown++; x.kind == plain && len(x.alts) == 0 && unknown <= maxUnknown {
			// fileserver, where only "file server" is known.
			if a, b, ok := g.splits(x.word); ok {
				x.mass = 0
				p.groups = append(p.groups, group{word: a, kind: plain}, group{word: b, kind: plain})
			}
		}
	}
	if len(p.groups) > maxQueryWords {
		slices.SortStableFunc(p.groups, func(a, b group) int {
			switch {
			case a.mass > b.mass:
				return -1
			case a.mass < b.mass:
				return 1
			}
			return 0
		})
		p.groups = p.groups[:maxQueryWords]
	}
	s.groups = p.groups
	return p
}

// languageOfQuery is the language with the most stop words of the query
// among those of the index, "" where none leads.
func (g *generation) languageOfQuery(groups []group) language.Language {
	var best language.Language
	most, tie := 0, false
	for _, l := range g.langs {
		n := 0
		for i := range groups {
			if l.IsStop(groups[i].word) {
				n++
			}
		}
		if n > most {
			best, most, tie = l, n, false
		} else if n == most {
			tie = true
		}
	}
	if tie {
		return ""
	}
	return best
}

// resolve finds the terms that a word stands for, and where it is not known
// and correct is set, similar words. It returns whether the word is known.
func (g *generation) resolve(x *group, typing, correct bool, synonyms map[string][]string, w *weights, s *scratch) bool {
	x.trust = 1
	df := 0
	for _, l := range g.langs {
		df = max(df, g.addAlternative(x, l.Stem(x.word), 1))
	}
	x.mass = idf(len(g.pageOf), df)
	switch {
	case x.joined:
		for i := range x.alts {
			x.alts[i].weight = w.joined
		}
	case df == 0 && correct:
		x.trust = .5
		s.suggestions = g.spelling.suggest(x.word, typing, w, s.suggestions)
		for _, c := range s.suggestions {
			for _, l := range g.langs {
				g.addAlternative(x, l.Stem(c.text), c.weight)
			}
			if len(x.alts) >= maxSuggestions {
				break
			}
		}
	}
	if typing && df > 0 && !x.joined {
		// "conf" may be a word of its own, but "config" is what is meant.
		s.suggestions = g.spelling.complete(x.word, w.completion, s.suggestions[:0])
		for _, c := range s.suggestions {
			if int(c.count) < completionLead*df || len(x.alts) >= maxSuggestions {
				break
			}
			for _, l := range g.langs {
				g.addAlternative(x, l.Stem(c.text), c.weight)
			}
		}
	}
	for _, syn := range synonyms[x.word] {
		for _, l := range g.langs {
			g.addAlternative(x, l.Stem(syn), w.synonym)
		}
	}
	for i := range x.alts {
		a := &x.alts[i]
		a.gain = a.weight * g.idf[a.term]
		a.onPage = a.weight * g.pageIDF[a.term]
		if df > 0 {
			// One word in several languages is as rare as it is in all.
			a.gain = min(a.gain, a.weight*x.mass)
		} else {
			// A rare correction is not worth more than the likeliest.
			a.gain = min(a.gain, a.weight*g.idf[x.alts[0].term])
			a.onPage = min(a.onPage, a.weight*g.pageIDF[x.alts[0].term])
		}
	}
	return df > 0 || x.joined
}

// addAlternative adds a term and returns in how many sections it is.
func (g *generation) addAlternative(x *group, term string, weight float32) int {
	id, ok := g.lex.byTerm[term]
	if !ok {
		return 0
	}
	n := g.byTerm.count(id)
	if n == 0 {
		return 0
	}
	for i := range x.alts {
		if x.alts[i].term == id {
			return n
		}
	}
	x.alts = append(x.alts, alternative{term: id, weight: weight})
	return n
}

// known returns in how many sections a word is, in any language.
func (g *generation) known(word string) int {
	n := 0
	for _, l := range g.langs {
		if id, ok := g.lex.byTerm[l.Stem(word)]; ok {
			n = max(n, g.byTerm.count(id))
		}
	}
	return n
}

// splits parts a word that the index doesn't know into two that it does;
// of several ways the one whose rarer half is the most common.
func (g *generation) splits(word string) (a, b string, ok bool) {
	if len(word) > 40 {
		return "", "", false
	}
	best := 0
	for i := range word {
		if i < 3 || len(word)-i < 3 {
			continue
		}
		n := g.known(word[:i])
		if n <= best {
			continue
		}
		if n = min(n, g.known(word[i:])); n > best {
			best, a, b = n, word[:i], word[i:]
		}
	}
	return a, b, best > 0
}
