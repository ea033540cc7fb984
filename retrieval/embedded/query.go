package embedded

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/retrieval/postings"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

const (
	// maxQueryBytes bounds what is read of a query.
	maxQueryBytes = 16 << 10
	// maxQueryWords is how many different words of a query count: the rarest,
	// if it is a pasted log.
	maxQueryWords = 64
	// maxUnknown is how many unknown words of a query are corrected.
	maxUnknown = 12
	// maxJoined is between how many words of a query joined ones are looked for.
	maxJoined = 16
	// completionLead is how many times more common a word must be than the
	// known word that the query ends in, to be taken for its completion.
	completionLead = 3
	// maxSuggestions is how many known words an unknown one is searched by.
	maxSuggestions = 8
)

// vocabulary is what a query is read with: the words of a site, and how common
// they are.
type vocabulary struct {
	languages []language.Language
	total     int // sections
	// find returns the term of a stem, one without holders if there is none.
	find     func(stem string) term
	spelling *words.List
}

// term is a stem that a site has.
type term struct {
	number              uint32
	holders             int // sections
	sectionIDF, pageIDF float32
}

// parsedQuery is a query as the index reads it.
type parsedQuery struct {
	words []queryWord
	// plain are all plain words in order, stop words included.
	plain []string
	// text is the query without space around it, phrase its plain words with
	// spaces between them, "" if it has a dotted name.
	text, phrase string
	// marked: it has more than letters, or an upper-case one behind the first,
	// as identifiers have.
	marked bool
	// language is that of the query, "" where its words show none.
	language language.Language
	// typed is the last plain word while it is being typed.
	typed string
	// version is true if the query has the number of a version, or a year.
	version bool
	// known adds up the IDF of the plain words that the index knows.
	known float32
	// keywords: it names something rather than asks.
	keywords bool
}

// queryWord is a word of a query with the terms it is searched by. In a
// section the best of them counts.
type queryWord struct {
	text       string
	plain      bool // not an identifier in one piece
	joined     bool // two words of the query, written as one
	start, end int  // in the query, its bytes
	// spanning are the terms of each known word that this one is a part of, and
	// whole those of an identifier among them.
	spanning   [][]expansion
	whole      []expansion
	expansions []expansion
	idf        float32 // of the word, that of a very rare one if it is unknown
	trust      float32 // 1 for a known word, less for a corrected one
}

// expansion is a term that a query word is searched by.
type expansion struct {
	word                  string // whose stem it is
	term                  uint32
	stem                  string
	found                 term // as the vocabulary has it
	weight                float32
	sectionGain, pageGain float32 // weight × IDF
}

// names reports whether a query is a title, word for word.
func (p *parsedQuery) names(title string) bool {
	return slices.Equal(p.plain, words.Plain(words.Unnumbered(title)))
}

// written reports whether a query is of several words and more than words, such
// as GET /users/{id}.
func (p *parsedQuery) written() bool {
	return len(p.plain) > 1 && strings.ContainsAny(p.text, "/_{}()[]<>=$:")
}

// headed returns a function of what a section's heading adds that is a query of
// several words, or has them in order, or is written like an identifier of one
// word. An anchor that is the query marks what it names. Thousands of pages may
// have the same heading, so each is read once.
func (p *parsedQuery) headed() func(*retrieval.Section) float32 {
	if len(p.plain) < 2 {
		return func(s *retrieval.Section) float32 {
			if p.marked && strings.HasSuffix(s.Heading, p.text) && words.Unnumbered(s.Heading) == p.text {
				return headingVerbatim
			}
			return 0
		}
	}
	read := map[string]float32{}
	return func(s *retrieval.Section) float32 {
		switch {
		case strings.EqualFold(s.Anchor, p.text):
			return headingVerbatim
		case p.phrase == "" || !mayHold(s.Heading, p.plain[0]):
			return 0
		}
		v, ok := read[s.Heading]
		if !ok {
			switch heading := strings.Join(words.Plain(words.Unnumbered(s.Heading)), " "); {
			case heading == p.phrase:
				v = headingVerbatim
			case strings.Contains(" "+heading+" ", " "+p.phrase+" "):
				v = headingVerbatim / 2
			}
			read[s.Heading] = v
		}
		return v
	}
}

// mayHold reports whether a text may have a plain word. Of a text in ASCII, it
// is false unless the word's letters are there, in any case: most headings below
// one that has the words of a query need no other look.
func mayHold(text, word string) bool {
	const small = 'a' - 'A'
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return true
		}
		if text[i]|small == word[0]|small && len(text)-i >= len(word) && strings.EqualFold(text[i:i+len(word)], word) {
			return true
		}
	}
	return false
}

// mostGain returns the gain of a word's best expansion.
func (w *queryWord) mostGain() (most float32) {
	for _, e := range w.expansions {
		most = max(most, e.sectionGain)
	}
	return most
}

// semanticShare returns the share of vectors in the ranking. It grows with the
// ratio: from 0 over what was found best, at the default, to 1.
func (p *parsedQuery) semanticShare(ratio float64) float32 {
	share := float32(semanticShare)
	if len(p.plain) <= 2 {
		share = semanticShareShort
	}
	r := float32(ratio / DefaultSemanticRatio)
	if r <= 1 {
		return r * share
	}
	return share + (r-1)*(1-share)
}

// askedQuery is a query as it was parsed.
type askedQuery struct {
	text, language string
	question       bool
	wording        *words.Wording
	parsed         parsedQuery
}

// parsed is parse, or what it returned if the last query was the same: Mark
// follows Search.
func (g *generation) parsed(q *retrieval.Query, w *words.Wording) *parsedQuery {
	if a := g.asked.Load(); a != nil && a.text == q.Text && a.language == q.Prefer.Language && a.question == q.Question && a.wording == w {
		return &a.parsed
	}
	a := &askedQuery{q.Text, q.Prefer.Language, q.Question, w, g.parse(q, w)}
	g.asked.Store(a)
	return &a.parsed
}

// parse reads a query. Its stop words are those of its language, of the
// preferred one if its words show none.
func (v *vocabulary) parse(q *retrieval.Query, w *words.Wording) parsedQuery {
	var p parsedQuery
	text := q.Text[:min(len(q.Text), maxQueryBytes)]
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	p.version = versionNumber.MatchString(text)
	typing := !q.Question && text != "" && !unicode.IsSpace(rune(text[len(text)-1]))
	seen := map[string]bool{}
	last := 0 // where the last word ends
	words.Spans(text, nil, func(word string, plain bool, start, end int) {
		if plain {
			p.plain = append(p.plain, word)
		}
		last = max(last, end)
		if !seen[word] && len(p.words) < 8*maxQueryWords {
			seen[word] = true
			p.words = append(p.words, queryWord{text: word, plain: plain, start: start, end: end})
		}
	})
	if p.text = strings.TrimSpace(text); !strings.Contains(strings.TrimRight(p.text, "."), ".") {
		p.phrase = strings.Join(p.plain, " ")
	}
	for i, r := range p.text {
		p.marked = p.marked || !unicode.IsLetter(r) || i > 0 && unicode.IsUpper(r)
	}
	if strings.ContainsFunc(p.text, func(r rune) bool { return unicode.IsSpace(r) || r > unicode.MaxASCII }) { // useData isn't English
		p.language = v.languageOf(q, p.words)
	}
	p.words = withoutStops(w, p.words, len(p.plain), cmp.Or(p.language, language.Of(q.Prefer.Language), language.English))
	// "file server" also finds fileserver, and prefers file_server.
	for i := range min(len(p.words)-1, maxJoined) {
		a, b := &p.words[i], &p.words[i+1]
		word := a.text + b.text
		if a.plain && b.plain && len(word) <= words.MaxBytes && !seen[word] {
			seen[word] = true
			p.words = append(p.words, queryWord{text: word, joined: true, start: a.start, end: b.end})
		}
	}
	unknown := 0
	for i := 0; i < len(p.words); i++ {
		x := &p.words[i]
		typed := typing && x.end == last
		if typed && x.plain {
			p.typed = x.text
		}
		if v.expand(x, typed, unknown < maxUnknown, w.Synonyms[x.text]) {
			continue
		}
		if unknown++; x.plain && len(x.expansions) == 0 && unknown <= maxUnknown {
			// fileserver, where only "file server" is known.
			if a, b, ok := v.split(x.text); ok {
				x.idf = 0
				p.words = append(p.words, queryWord{text: a, plain: true}, queryWord{text: b, plain: true})
			}
		}
	}
	p.findParts(text)
	if len(p.words) > maxQueryWords {
		slices.SortStableFunc(p.words, func(a, b queryWord) int { return cmp.Compare(b.idf, a.idf) })
		p.words = p.words[:maxQueryWords]
	}
	known := 0
	for i := range p.words {
		if w := &p.words[i]; w.plain && len(w.expansions) > 0 {
			p.known += w.mostGain()
			known++
		}
	}
	p.keywords = known <= keywordsMax
	return p
}

// findParts finds the words that are parts of others that the index knows, such
// as identifiers.
func (p *parsedQuery) findParts(text string) {
	for i := range p.words {
		w := &p.words[i]
		if w.plain || w.trust < 1 || len(w.expansions) == 0 {
			continue
		}
		whole := !w.joined && distinct(text[w.start:w.end], strings.ContainsFunc(text[:w.start]+text[w.end:], words.Letter))
		for j := range p.words {
			x := &p.words[j]
			if x.plain && w.start <= x.start && x.end <= w.end && x.end > 0 {
				x.spanning = append(x.spanning, w.expansions)
				if whole {
					x.whole = w.expansions
				}
			}
		}
	}
}

// distinct reports whether an identifier of a query means something else than
// its parts. Dotted names don't: pages explain them part by part, as levels of
// a configuration. Next to other words, words with a hyphen (well-known) don't.
func distinct(name string, others bool) bool {
	switch {
	case strings.HasPrefix(name, "-") || strings.HasPrefix(name, "."):
		return true
	case strings.Contains(name, "."):
		return strings.Contains(name, "/") // HTTP/1.1
	case !others:
		return true
	}
	return strings.ContainsFunc(name, func(r rune) bool { return r != '-' && r != '\'' && r != '’' && !unicode.IsLower(r) })
}

// languageOf returns the language of a query among those of the index: that of
// its eastern script, or else the one with the most stop words, "" where none
// leads. Chinese characters alone may be Japanese.
func (v *vocabulary) languageOf(q *retrieval.Query, words []queryWord) language.Language {
	switch l := language.Detect(q.Text, ""); {
	case l == language.Chinese && language.Of(q.Prefer.Language) == language.Japanese:
		return language.Japanese
	case (l == language.Chinese || l == language.Japanese || l == language.Korean) && slices.Contains(v.languages, l):
		return l
	}
	best, most := language.Language(""), 0
	for _, l := range v.languages {
		n := 0
		for i := range words {
			if l.IsStop(words[i].text) {
				n++
			}
		}
		if n > most {
			best, most = l, n
		} else if n == most {
			best = ""
		}
	}
	return best
}

// expand finds the terms of a query word: its own stems, and if there are none
// and correct is set, those of similar words; of words that it begins, if it
// is being typed; and of its synonyms. It reports whether the word is known.
func (v *vocabulary) expand(x *queryWord, typing, correct bool, synonyms []string) (known bool) {
	x.trust = 1
	weight := float32(1)
	if x.joined {
		weight = joined
	}
	add := func(text string, weight float32) (sections int) {
		for _, l := range v.languages {
			stem := l.Stem(text)
			t := v.find(stem)
			sections = max(sections, t.holders)
			if t.holders > 0 && !slices.ContainsFunc(x.expansions, func(e expansion) bool { return e.term == t.number }) {
				x.expansions = append(x.expansions, expansion{word: text, term: t.number, stem: stem, found: t, weight: weight})
			}
		}
		return sections
	}
	sections := add(x.text, weight)
	x.idf = postings.IDF(v.total, sections)
	switch {
	case x.joined:
	case sections == 0 && correct:
		x.trust = .5
		for _, s := range v.spelling.Suggest(x.text, typing) {
			if len(x.expansions) >= maxSuggestions {
				break
			}
			add(s.Text, s.Weight)
		}
	case sections > 0 && typing:
		// "conf" may be a word, but "config" is what is meant.
		for _, s := range v.spelling.Complete(x.text) {
			if s.Places < completionLead*sections || len(x.expansions) >= maxSuggestions {
				break
			}
			add(s.Text, s.Weight)
		}
	}
	for _, s := range synonyms {
		add(s, synonym)
	}
	for i := range x.expansions {
		e, first := &x.expansions[i], &x.expansions[0].found
		e.sectionGain, e.pageGain = e.weight*e.found.sectionIDF, e.weight*e.found.pageIDF
		if sections > 0 {
			// One word in several languages is as rare as it is in all.
			e.sectionGain = min(e.sectionGain, e.weight*x.idf)
		} else {
			// A rare correction is not worth more than the likeliest.
			e.sectionGain = min(e.sectionGain, e.weight*first.sectionIDF)
			e.pageGain = min(e.pageGain, e.weight*first.pageIDF)
		}
	}
	return sections > 0 || x.joined
}

// sectionsWith returns in how many sections a word is, in any language.
func (v *vocabulary) sectionsWith(word string) int {
	n := 0
	for _, l := range v.languages {
		n = max(n, v.find(l.Stem(word)).holders)
	}
	return n
}

// split divides a word that the index doesn't know into two that it does; of
// several ways it takes the one whose rarer half is the most common. Beside a stop
// word, the other half must be a word as it is written: operand is no "oper and",
// logout may be "log out".
func (v *vocabulary) split(word string) (a, b string, ok bool) {
	if len(word) > 40 {
		return "", "", false
	}
	stop := func(half string) bool {
		return slices.ContainsFunc(v.languages, func(l language.Language) bool { return l.IsStop(half) })
	}
	best := 0
	for i := range word {
		if i < 3 || len(word)-i < 3 || stop(word[:i]) && !v.spelling.Has(word[i:]) || stop(word[i:]) && !v.spelling.Has(word[:i]) {
			continue
		}
		n := v.sectionsWith(word[:i])
		if n <= best {
			continue
		}
		if n = min(n, v.sectionsWith(word[i:])); n > best {
			best, a, b = n, word[:i], word[i:]
		}
	}
	return a, b, best > 0
}

// withoutStops removes the words from a query that carry no meaning next to its
// others: the site's stop words from any query, those of the language from a
// query of three words and more. A query of nothing else keeps them.
func withoutStops(w *words.Wording, list []queryWord, length int, spoken language.Language) []queryWord {
	ofLanguage := func(x queryWord) bool { return spoken.IsStop(x.text) }
	ofSite := func(x queryWord) bool { return x.plain && w.Stop[x.text] }
	long := length >= 3
	if slices.ContainsFunc(list, func(x queryWord) bool { return x.plain && !ofLanguage(x) && !ofSite(x) }) {
		return slices.DeleteFunc(list, func(x queryWord) bool { return ofSite(x) || long && ofLanguage(x) })
	}
	if long && slices.ContainsFunc(list, func(x queryWord) bool { return !ofLanguage(x) }) {
		return slices.DeleteFunc(list, ofLanguage)
	}
	return list
}
