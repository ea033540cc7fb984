package language

import (
	"maps"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/registry"
)

// IsStop reports whether a word, in lower case, carries no meaning by itself
// in l: "the", "of", "how", "can".
func (l Language) IsStop(word string) bool {
	r := known[l]
	if r == nil || r.stop == nil {
		return false
	}
	stop := r.stop()
	return stop[word] || strings.Contains(word, "’") && stop[strings.ReplaceAll(word, "’", "'")]
}

// asking are words of questions and instructions that bleve's lists lack.
var asking = map[Language]string{
	English:    "best can get make need now please possible use using want way will without",
	German:     "bitte funktioniert geht gibt wann warum wer wieso",
	French:     "a après avant avoir comment doit dois entre faire fait faut où peut plaît plus pourquoi puis puisse quand quoi si utiliser être",
	Spanish:    "cuál cuáles cuándo cómo debe debo después dónde favor hacer porqué puede pueden puedo quién ser si usar usted",
	Portuguese: "antes deve devo favor fazer onde pode podem porque posso quais ser sobre uns usar é",
	Italian:    "cosa deve devo dopo essere fare favore posso possono prima può quali quando senza usare",
	Russian:    "какие почему пожалуйста это",
}

func loadStopWords(l Language) map[string]bool {
	words, err := registry.NewCache().TokenMapNamed("stop_" + string(l))
	if err != nil {
		panic("language: " + err.Error()) // a test loads all of them
	}
	stop := maps.Clone(words)
	for w := range strings.FieldsSeq(asking[l]) {
		stop[w] = true
	}
	return stop
}

// speakers are, by stop word, the languages that have it.
var speakers = sync.OnceValue(func() map[string][]Language {
	m := map[string][]Language{}
	for l, r := range known {
		if r.stop == nil {
			continue
		}
		for w := range r.stop() {
			m[w] = append(m[w], l)
		}
	}
	return m
})
