package embedded

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxQueryWords is how many different words of a query count; the rarest
// are kept. Nobody's question has more, and a pasted log must not cost more.
const maxQueryWords = 64

// group is one word of a query with the terms it may stand for; in a
// section, the best of them counts.
type group struct {
	word  string
	kind  kind
	stop  bool
	alts  []alternative
	mass  float32 // the idf of the word, that of a very rare one if unknown
	trust float32 // 1 for a known word, less for a corrected one
}

type alternative struct {
	term         uint32
	weight       float32
	gain, onPage float32 // weight × idf, of sections and of pages
}

// parse turns a query into groups.
func (g *generation) parse(text string, question bool, prefer *language, synonyms map[string][]string, w *weights, s *scratch) []group {
	groups := s.groups[:0]
	words := 0
	var last string
	splitWords(text[:cutRune(text, 64<<10)], func(word string, k kind) {
		if k == plain {
			words++
		}
		last = word
		for i := range groups {
			if groups[i].word == word {
				return
			}
		}
		if len(groups) < 8*maxQueryWords {
			groups = append(groups, group{word: word, kind: k})
		}
	})
	lang := g.languageOfQuery(groups, prefer)
	for i := range groups {
		groups[i].stop = lang.isStop(groups[i].word)
	}
	if words >= 3 {
		kept := slices.DeleteFunc(slices.Clone(groups), func(x group) bool { return x.stop })
		if len(kept) > 0 {
			groups = append(groups[:0], kept...)
		}
	}
	open := !question && !strings.HasSuffix(text, " ")
	for i := range groups {
		g.resolve(&groups[i], open && groups[i].word == last, synonyms, w, s)
	}
	if len(groups) > maxQueryWords {
		slices.SortStableFunc(groups, func(a, b group) int {
			switch {
			case a.mass > b.mass:
				return -1
			case a.mass < b.mass:
				return 1
			}
			return 0
		})
		groups = groups[:maxQueryWords]
	}
	s.groups = groups
	return groups
}

// languageOfQuery is the language with most of the query's stop words among
// those of the index; the preferred one, or English, where none leads.
func (g *generation) languageOfQuery(groups []group, prefer *language) *language {
	best, most := prefer, 0
	if best == nil || best.id == languageOther {
		best = languageByCode["en"]
	}
	if len(g.langs) == 1 && g.langs[0].id != languageOther {
		return g.langs[0]
	}
	for i := range groups {
		if best.stop[groups[i].word] {
			most++
		}
	}
	for _, l := range g.langs {
		n := 0
		for i := range groups {
			if l.stop[groups[i].word] {
				n++
			}
		}
		if n > most {
			best, most = l, n
		}
	}
	return best
}

// resolve finds the terms that a word stands for.
func (g *generation) resolve(x *group, complete bool, synonyms map[string][]string, w *weights, s *scratch) {
	x.alts = x.alts[:0]
	x.trust = 1
	df := 0
	for _, l := range g.langs {
		df = max(df, g.addAlternative(x, l.stem(x.word), 1))
	}
	if df == 0 {
		x.trust = .5
		x.mass = idf(len(g.pageOf), 0)
		for _, c := range g.spelling.suggest(x.word, complete, w, nil) {
			for _, l := range g.langs {
				g.addAlternative(x, l.stem(c.text), c.weight)
			}
			if len(x.alts) >= maxSuggestions {
				break
			}
		}
	} else {
		x.mass = idf(len(g.pageOf), df)
		if complete && w.completionKnown > 0 && utf8.RuneCountInString(x.word) >= 2 {
			for _, c := range g.spelling.suggest(x.word, true, w, nil) {
				if strings.HasPrefix(c.text, x.word) {
					for _, l := range g.langs {
						g.addAlternative(x, l.stem(c.text), w.completionKnown)
					}
				}
				if len(x.alts) >= maxSuggestions {
					break
				}
			}
		}
	}
	for _, syn := range synonyms[x.word] {
		for _, l := range g.langs {
			g.addAlternative(x, l.stem(syn), w.synonym)
		}
	}
	for i := range x.alts {
		a := &x.alts[i]
		a.gain = a.weight * g.idf[a.term]
		a.onPage = a.weight * g.pageIDF[a.term]
		if df > 0 {
			// One word in several languages is as rare as it is in all.
			a.gain = min(a.gain, a.weight*x.mass)
		}
	}
}

// addAlternative adds a term and returns in how many sections it is.
func (g *generation) addAlternative(x *group, term string, weight float32) int {
	id, ok := g.lex.byTerm[term]
	if !ok {
		return 0
	}
	n := int(g.byTerm.start[id+1] - g.byTerm.start[id])
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
