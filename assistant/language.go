package assistant

import (
	"strings"
	"unicode"
)

// Language is one of the ten languages that the sentences of our own are
// written in, as an ISO 639-1 code.
type Language string

// The ten languages of the extractive reply. The model answers in any
// language that it knows.
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

// detectLanguage tells the language of a question. Scripts decide first:
// kana, hangul, Han, Cyrillic. Latin letters are decided by function words,
// since questions are too short for letter statistics and technical terms
// are English everywhere. If nothing speaks for any language ("nginx.conf
// gzip"), it is fallback where that is one of the ten, else English.
func detectLanguage(text string, fallback string) Language {
	var kana, hangul, han, cyrillic, latin int
	for _, r := range text {
		switch {
		case r < 0x80:
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				latin++
			}
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		case unicode.IsLetter(r):
			latin++
		}
	}
	// A word of another script among Latin ones is a name; the other way
	// round, Latin words are the product's terms. A character of these
	// scripts says as much as two or three letters.
	switch {
	case kana > 0 && (kana+han)*3 >= latin:
		return Japanese
	case hangul > 0 && hangul*3 >= latin:
		return Korean
	case han > 0 && han*3 >= latin:
		return Chinese
	case cyrillic > 0 && cyrillic*2 >= latin:
		return Russian
	}

	scores := make(map[Language]float64, 6)
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\'' && r != '’'
	}) {
		w, _, _ = strings.Cut(strings.ReplaceAll(w, "’", "'"), "'") // l'option, what's
		for _, l := range functionWords[w] {
			scores[l] += 1 / float64(len(functionWords[w]))
		}
	}
	for r, l := range tellingLetters {
		if strings.ContainsRune(text, r) {
			scores[l] += .75
		}
	}
	best := Language(strings.ToLower(fallback))
	if i := strings.IndexAny(string(best), "-_"); i > 0 {
		best = best[:i] // pt-BR
	}
	if _, ok := phrases[best]; !ok {
		best = English
	}
	// The fallback wins ties: an even score is no evidence against it.
	for _, l := range []Language{English, German, French, Spanish, Portuguese, Italian} {
		if scores[l] > scores[best]+.01 {
			best = l
		}
	}
	return best
}

var tellingLetters = map[rune]Language{
	'ß': German, 'ä': German, 'ü': German,
	'ê': French, 'è': French, 'ç': French, 'œ': French, 'ù': French,
	'ñ': Spanish, '¿': Spanish, '¡': Spanish,
	'ã': Portuguese, 'õ': Portuguese,
	'ò': Italian, 'ì': Italian,
}

// functionWords lists words by the languages that use them often. A word of
// several languages counts for each in part.
var functionWords = func() map[string][]Language {
	m := make(map[string][]Language)
	for l, words := range map[Language]string{
		English:    "the a an is are was were be do does did how what which who why when where can could should would will i my me you your we our it its this that these those of to in on at for from with without and or not no if there any have has use using get set make want need about between after before than then as by into",
		German:     "der die das den dem des ein eine einen einem einer ist sind war wie was welche welcher welches wer warum wieso wann wo kann könnte soll sollte muss ich mein meine mich mir du dein wir unser es sich dies diese dieser dieses von zu zum zur in im am auf an für aus mit ohne und oder nicht kein keine wenn ob gibt haben hat wird werden man bei nach vor über unter zwischen als auch geht bitte funktioniert",
		French:     "le la les un une des du de est sont était être comment que quoi quel quelle quels quelles qui pourquoi quand où peut puis puisse dois doit faut je mon ma mes me tu ton vous votre nous notre il elle ce cet cette ces se à au aux en dans sur pour par avec sans et ou pas ne si y a ai ont avoir fait faire utiliser entre après avant plus l d j c est qu",
		Spanish:    "el la los las un una unos es son era ser está están cómo como qué que cuál cuáles quién por porqué cuándo dónde donde puedo puede pueden debo debe hay yo mi mis me tú tu usted nosotros lo se este esta estos estas eso de del a al en sobre para con sin y o no si tiene tengo hacer usar entre después antes más muy también",
		Portuguese: "o a os as um uma uns é são era ser está estão como que qual quais quem porque por quando onde posso pode podem devo deve há eu meu minha me você seu sua nós nosso isso este esta esse essa de do da dos das no na nos nas em sobre para com sem e ou não se tem tenho fazer usar entre depois antes mais ao à pelo pela também",
		Italian:    "il lo la i gli le un uno una è sono era essere come che cosa quale quali chi perché quando dove posso può possono devo deve c ci io mio mia mi tu tuo noi nostro questo questa questi quello di del della dei delle dello a al alla in nel nella su sul per con senza e o non se ha ho fare usare tra dopo prima più anche si",
	} {
		seen := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			if !seen[w] {
				seen[w] = true
				m[w] = append(m[w], l)
			}
		}
	}
	return m
}()
