// Package language knows the words of natural languages: which language a
// text is written in, the stem of a word, and the words that carry no meaning
// by themselves. The index and the answers share it, so that both compare
// words in the same way.
package language

import (
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/registry"

	// The languages whose stemmers and stop words are used.
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

// Language is a language by its ISO 639 code, such as "en". The methods of
// any value may be called, from several goroutines; a language without rules
// has no stop words and no stemmer.
type Language string

// The languages that this project's own sentences are written in.
const (
	English    Language = "en"
	German     Language = "de"
	French     Language = "fr"
	Spanish    Language = "es"
	Portuguese Language = "pt"
	Italian    Language = "it"
	Russian    Language = "ru"
	Chinese    Language = "zh"
	Japanese   Language = "ja"
	Korean     Language = "ko"
)

// Of returns the language of a tag such as en, en-US, pt_BR or zh-Hant, ""
// if it is none of those known here.
func Of(tag string) Language {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(strings.TrimSpace(tag)), "_", "-"), "-")
	if code == "nb" || code == "nn" {
		code = "no"
	}
	if known[Language(code)] == nil {
		return ""
	}
	return Language(code)
}

// rules are what is known of a language. They are loaded on first use, since
// some are large: those of Polish take 5 MB.
type rules struct {
	// latin is set for languages in Latin script. In the others a word in
	// Latin script is stemmed as English, the language of most identifiers
	// and product names.
	latin   bool
	filters func() []analysis.TokenFilter // reduce a word, in this order
	stop    func() map[string]bool
}

var known = map[Language]*rules{
	Chinese: {}, Japanese: {}, Korean: {},
	"ar":       nonLatin("ar", "normalize_ar stemmer_ar"),
	"bg":       nonLatin("bg", ""),
	"ca":       latin("ca", "elision_ca"),
	"ckb":      nonLatin("ckb", "normalize_ckb stemmer_ckb"),
	"cs":       latin("cs", ""),
	"da":       latin("da", "stemmer_da_snowball"),
	German:     latin("de", "normalize_de stemmer_de_light"),
	"el":       nonLatin("el", ""),
	English:    latin("en", "possessive_en stemmer_en_snowball"),
	Spanish:    latin("es", "normalize_es stemmer_es_light"),
	"eu":       latin("eu", ""),
	"fa":       nonLatin("fa", "normalize_ar normalize_fa"),
	"fi":       latin("fi", "stemmer_fi_snowball"),
	French:     latin("fr", "elision_fr stemmer_fr_light"),
	"ga":       latin("ga", "elision_ga"),
	"gl":       latin("gl", ""),
	"hi":       nonLatin("hi", "normalize_in normalize_hi stemmer_hi"),
	"hr":       latin("hr", "hr_suffix_transformation_filter stemmer_hr"),
	"hu":       latin("hu", "stemmer_hu_snowball"),
	"hy":       nonLatin("hy", ""),
	"id":       latin("id", ""),
	Italian:    latin("it", "elision_it stemmer_it_light"),
	"nl":       latin("nl", "stemmer_nl_snowball"),
	"no":       latin("no", "stemmer_no_snowball"),
	"pl":       latin("pl", "stemmer_pl"),
	Portuguese: latin("pt", "stemmer_pt_light"),
	"ro":       latin("ro", "stemmer_ro_snowball"),
	Russian:    nonLatin("ru", "stemmer_ru_snowball"),
	"sv":       latin("sv", "stemmer_sv_snowball"),
	"tr":       latin("tr", "stemmer_tr_snowball"),
}

func latin(l Language, filters string) *rules {
	r := nonLatin(l, filters)
	r.latin = true
	return r
}

// nonLatin names bleve's filters, and its stop words by the language.
func nonLatin(l Language, filters string) *rules {
	return &rules{
		filters: sync.OnceValue(func() []analysis.TokenFilter { return loadFilters(filters) }),
		stop:    sync.OnceValue(func() map[string]bool { return loadStopWords(l) }),
	}
}

func loadFilters(names string) (out []analysis.TokenFilter) {
	cache := registry.NewCache()
	for name := range strings.FieldsSeq(names) {
		f, err := cache.TokenFilterNamed(name)
		if err != nil {
			panic("language: " + err.Error()) // a test loads all of them
		}
		out = append(out, f)
	}
	return out
}
