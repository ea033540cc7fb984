package embedded

import (
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/registry"

	"github.com/caddy-docs/caddy-docs/retrieval"

	// The languages whose stemmers and stop words the index uses.
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ar"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/bg"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ca"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/cs"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/da"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/de"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/el"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/es"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/eu"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fa"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ga"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/gl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hu"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hy"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/id"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/in"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/it"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/nl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/no"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pt"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ro"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ru"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/sv"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/tr"
)

// language is how words of one language are reduced. It may be used by
// several goroutines. Its rules are loaded when they are first needed: those
// of Polish alone take 50 ms and 5 MB, which no other site should pay.
type language struct {
	id   uint8
	code string
	// filters reduce a word, in order; stop are the words without meaning.
	filters func() []analysis.TokenFilter
	stop    func() analysis.TokenMap
	// latin languages stem words in Latin script; the others stem those as
	// English, the language of most identifiers and product names.
	latin bool
}

// languages are all that are known, by number. The numbers are stored in
// snapshots: append only, or raise the snapshot's version.
var languages, languageByCode = loadLanguages()

// languageOther is for languages without a stemmer of their own.
const languageOther = 0

func loadLanguages() ([]*language, map[string]*language) {
	// code: filters, in order. The stop words are stop_<code>.
	table := []struct {
		code    string
		latin   bool
		filters string
	}{
		{"", false, ""},
		{"en", true, "possessive_en stemmer_en_snowball"},
		{"ar", false, "normalize_ar stemmer_ar"},
		{"bg", false, ""},
		{"ca", true, "elision_ca"},
		{"ckb", false, "normalize_ckb stemmer_ckb"},
		{"cs", true, ""},
		{"da", true, "stemmer_da_snowball"},
		{"de", true, "normalize_de stemmer_de_light"},
		{"el", false, ""},
		{"es", true, "normalize_es stemmer_es_light"},
		{"eu", true, ""},
		{"fa", false, "normalize_ar normalize_fa"},
		{"fi", true, "stemmer_fi_snowball"},
		{"fr", true, "elision_fr stemmer_fr_light"},
		{"ga", true, "elision_ga"},
		{"gl", true, ""},
		{"hi", false, "normalize_in normalize_hi stemmer_hi"},
		{"hr", true, "hr_suffix_transformation_filter stemmer_hr"},
		{"hu", true, "stemmer_hu_snowball"},
		{"hy", false, ""},
		{"id", true, ""},
		{"it", true, "elision_it stemmer_it_light"},
		{"nl", true, "stemmer_nl_snowball"},
		{"no", true, "stemmer_no_snowball"},
		{"pl", true, "stemmer_pl"},
		{"pt", true, "stemmer_pt_light"},
		{"ro", true, "stemmer_ro_snowball"},
		{"ru", false, "stemmer_ru_snowball"},
		{"sv", true, "stemmer_sv_snowball"},
		{"tr", true, "stemmer_tr_snowball"},
	}
	var all []*language
	byCode := map[string]*language{}
	for i, row := range table {
		all = append(all, &language{
			id: uint8(i), code: row.code, latin: row.latin,
			filters: sync.OnceValue(func() []analysis.TokenFilter { return loadFilters(row.filters) }),
			stop:    sync.OnceValue(func() analysis.TokenMap { return loadStop(row.code) }),
		})
		if row.code != "" {
			byCode[row.code] = all[i]
		}
	}
	byCode["nb"], byCode["nn"] = byCode["no"], byCode["no"]
	return all, byCode
}

func loadFilters(names string) (out []analysis.TokenFilter) {
	cache := registry.NewCache()
	for name := range strings.FieldsSeq(names) {
		f, err := cache.TokenFilterNamed(name)
		if err != nil {
			panic("embedded: " + err.Error()) // a name in the table is wrong: a test loads them all
		}
		out = append(out, f)
	}
	return out
}

func loadStop(code string) analysis.TokenMap {
	if code == "" {
		return nil
	}
	stop, err := registry.NewCache().TokenMapNamed("stop_" + code)
	if err != nil {
		panic("embedded: " + err.Error())
	}
	return stop
}

// languageOf returns the language of a tag such as en, en-US, pt_BR or zh.
func languageOf(tag string) *language {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(tag), "_", "-"), "-")
	if l := languageByCode[code]; l != nil {
		return l
	}
	return languages[languageOther]
}

// stemmed are terms of queries. Pages have their lexicon.
var stemmed retrieval.StemCache[uint8]

// stem is reduce for queries, which repeat their words.
func (l *language) stem(word string) string { return stemmed.Stem(word, l.id, l.reduce) }

// reduce returns the term that a word, in lower case, is indexed under.
func (l *language) reduce(word string) string {
	letters := true
	latin := true
	for _, r := range word {
		if r >= utf8.RuneSelf {
			if !unicode.Is(unicode.Latin, r) && r != '’' {
				latin = false
			}
		} else if (r < 'a' || r > 'z') && r != '\'' {
			letters = false
		}
	}
	if !letters {
		return fold(word)
	}
	if latin && !l.latin {
		l = languageByCode["en"]
	}
	stream := analysis.TokenStream{{Term: []byte(word), Start: 0, End: len(word), Position: 1}}
	for _, f := range l.filters() {
		stream = f.Filter(stream)
	}
	if len(stream) != 1 || len(stream[0].Term) == 0 {
		return fold(word)
	}
	return fold(string(stream[0].Term))
}

// isStop reports whether a word carries no meaning of its own in l.
func (l *language) isStop(word string) bool {
	stop := l.stop()
	return stop[word] || stop[strings.ReplaceAll(word, "’", "'")]
}

// stopLanguages are, by stop word, the languages that have it, a bit each.
var stopLanguages = sync.OnceValue(func() map[string]uint64 {
	m := map[string]uint64{}
	for _, l := range languages {
		for w := range l.stop() {
			m[w] |= 1 << l.id
		}
	}
	return m
})

// detect guesses the language of a page that names none, by its stop words;
// English where nothing speaks clearly for another.
func detect(text string) *language {
	const enough = 300 // words
	var counts [64]int
	n := 0
	stops := stopLanguages()
	splitWords(text[:cutRune(text, 3000)], func(w string, k kind) {
		if k != plain || n >= enough {
			return
		}
		n++
		for set := stops[w]; set != 0; set &= set - 1 {
			counts[bits.TrailingZeros64(set)]++
		}
	})
	best := languageByCode["en"]
	lead := n/40 + 3 // short texts and code look like anything
	for _, l := range languages[1:] {
		if counts[l.id] > counts[best.id]+lead {
			best, lead = l, 0
		}
	}
	return best
}

// cutRune returns the longest length of s, at most n, that ends at a rune.
func cutRune(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
