package assistant

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// denial has the patterns of one language.
type denial struct {
	negations []string
	patterns  []*regexp.Regexp
}

// negated reports whether a lower-case text has a negation of the language.
func (d *denial) negated(text string) bool {
	return slices.ContainsFunc(d.negations, func(word string) bool { return strings.Contains(text, word) })
}

// denials recognize, by language, sentences in which a model says that the
// documentation doesn't answer, or that it won't. Each has one of negations: the
// patterns of a language are tried on few sentences.
var denials = []denial{
	// English
	{[]string{" not", "cannot", "n't", "n’t", "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "couldnt", "cant", " no ", "nothing", "unable"}, []*regexp.Regexp{
		regexp.MustCompile(`\b(documentation|docs|manual|guides?|passages?|sections|excerpts?|sources|context|material)( (i have|provided|given|above|available|here))? (currently |also )?(do|does|did|is|are)(n['’]?t| not) (\w+ )?(cover|say|mention|describe|explain|contain|include|specify|discuss|address|document|provide|state|tell|answer|list|have|give|show|refer|go into)`),
		regexp.MustCompile(`\b(documentation|docs|manual|passages?|sections) (\w+ )?(says?|mentions?|contains?|makes?|has|have|gives?|provides?) (nothing|no )`),
		regexp.MustCompile(`\b(is|are|was)(n['’]?t| not) (\w+ )?(documented|covered|mentioned|described|discussed|addressed|explained)\b`),
		regexp.MustCompile(`\bnothing (in|about|on) (the |this |these )?(passages?|docs|documentation|manual|this|it|that)\b`),
		regexp.MustCompile(`\bno (information|mention|documentation|passages?|sections?|details)\b`),
		regexp.MustCompile(`\b(could|can|did|do)(n['’]?t| ?not) (find|locate|have (any )?information|know|see any|answer|help|assist)|\bunable to (find|answer|help|locate)|\bnot able to (find|answer|help)`),
	}},
	// German
	{[]string{"nicht", "kein"}, []*regexp.Regexp{
		regexp.MustCompile(`(dokumentation|doku|handbuch|abschnitte?n?|textstellen|quellen)\b.*\b(keine?n?|nichts?)\b`),
		regexp.MustCompile(`\b(sagt|nennt|beschreibt|erwähnt|erklärt|behandelt|enthält|verrät) die (dokumentation|doku)\b.*\bnicht|\bnicht (dokumentiert|beschrieben|erwähnt|erklärt|behandelt)|nicht (helfen|beantworten|finden)|\bnichts (dazu |darüber )?(gefunden|finden)|weiß ich nicht|\bdazu (steht|gibt es|findet sich) (dort |hier )?(nichts|keine)`),
	}},
	// French
	{[]string{" pas", " rien", " aucun"}, []*regexp.Regexp{
		regexp.MustCompile(`(documentation|passages|extraits|sections|sources|manuel)\b.*\b(n['’]|ne )\S*( \S+)? ?.*\b(pas|rien|aucun)`),
		regexp.MustCompile(`\bn['’](est|a|ai)\b.*\b(pas|rien)\b.*\b(documenté|trouvé|décrit|mentionné)|\bn['’]ai (rien|pas) trouvé|ne (peux|sais) pas (vous )?(aider|répondre)?`),
	}},
	// Spanish, Portuguese
	{[]string{" no", "não", "nao", "nada", "ningun", "nenhum"}, []*regexp.Regexp{
		regexp.MustCompile(`(documentación|fragmentos|pasajes|secciones|manual|documentação|trechos|seções)\b.*\b(no|não|nao|nada|ningun\w*|nenhum\w*)\b`),
		regexp.MustCompile(`\b(no|não) (está|esta|se|foi|é) (documentad|describ|menciona|descrit|mencionad)|\b(no he|não) (encontrado|encontrei)|\bno encontr|\b(no|não) (puedo|posso) (ayudar|ajudar|responder)|\bno (lo )?sé\b|\bnão sei\b`),
	}},
	// Italian
	{[]string{" non", " nulla", " niente", " nessun"}, []*regexp.Regexp{
		regexp.MustCompile(`(documentazione|passaggi|sezioni|manuale|estratti)\b.*\b(non|nulla|niente|nessun\w*)\b`),
		regexp.MustCompile(`\bnon (è|viene|ho) (documentat|descritt|menzionat|trovato)|\bnon posso (aiutar|risponder)|\bnon (lo )?so\b`),
	}},
	// Russian
	{[]string{"не", "ничего"}, []*regexp.Regexp{
		regexp.MustCompile(`(документаци|отрывк|раздел|фрагмент|руководств)\S*.*(^|\s)(не|нет|ничего)(\s|$|[.,])`),
		regexp.MustCompile(`не задокументирован|не описан|не (могу|смог|удалось)( \S+)? ?(\S+ )?(помочь|ответить|найти)|не нашёл|не нашел|не знаю`),
	}},
	// Chinese
	{[]string{"没", "沒", "未", "不", "无"}, []*regexp.Regexp{
		regexp.MustCompile(`(文档|文檔|段落|章节|资料|手册).*(没有|未|不包含|不涉及|无|沒有)|无法(回答|提供|帮助)|不能(回答|帮)|我不知道`),
	}},
	// Japanese
	{[]string{"ません", "ない", "かねます"}, []*regexp.Regexp{
		regexp.MustCompile(`(ドキュメント|文書|箇所|資料|マニュアル|セクション).*(ありません|ません|いない|ない)|文書化されていません|(お答え|回答|お手伝い)(でき|し)かねます|お答えできません|わかりません|分かりません`),
	}},
	// Korean
	{[]string{"없", "않", "못", "모르겠"}, []*regexp.Regexp{
		regexp.MustCompile(`(문서|부분|자료|설명서|섹션).*(없|않|못)|문서화되어 있지 않|(도와드릴|답변할|답할|대답할) 수 없|모르겠`),
	}},
}

// pointing sentences begin like this or have one of pointingWords: they lead
// on, and answer nothing.
var (
	pointing      = regexp.MustCompile(`^(\W*)(see|related|sources?|have a look|you (may|might|can|could)|for |try|please|the (nearest|closest)|i can|more help|siehe|vielleicht|am nächsten|die nächst|fragen|weitere|quellen|voir|voyez|la page|la section|le plus|plus d|consulta|véase|ver |la página|lo más|más|veja|a página|o mais|mais|vedi|la pagina|la sezione|altro|смотрите|см\.|ближ|помощь|请参阅|参见|最接近|更多|最も近い|参照|가장|참고)`)
	pointingWords = []string{"nearest", "closest", "related", "might help"}
)

// isPointing reports whether a lower-case sentence leads on. One that ends with
// an address does, too.
func isPointing(plain string) bool {
	has := func(word string) bool { return strings.Contains(plain, word) }
	last := plain[strings.LastIndexAny(plain, " \t")+1:]
	return slices.ContainsFunc(pointingWords, has) || strings.Contains(last, "@") || pointing.MatchString(plain)
}

// leastAnswer is how many characters beside denials and pointers make a part of
// an answer.
const leastAnswer = 36

// longestDenial bounds how much of a sentence is looked at, in bytes. What has no
// end after that is no prose.
const longestDenial = 1000

// denied judges the text of a model's answer: whether a sentence says that the
// documentation doesn't answer, and how many characters say something else, up
// to leastAnswer.
func denied(answer string) (denies bool, rest int) {
	var lines, lower []string // of prose
	for _, b := range splitBlocks(answer) {
		if b.code {
			rest = leastAnswer
			continue
		}
		for line := range strings.SplitSeq(b.text, "\n") {
			line = withoutLinks(strings.TrimLeft(line, " \t-*>#"))
			lines, lower = append(lines, line), append(lower, strings.ToLower(line))
		}
	}
	possible := possibleDenials(" " + strings.Join(lower, " "))
	for _, line := range lines {
		for _, sentence := range sentences(line) {
			if rest == leastAnswer && (denies || len(possible) == 0) {
				return denies, rest
			}
			plain := strings.ToLower(sentence[:min(len(sentence), longestDenial)])
			switch {
			case isDenial(plain, possible):
				denies = true
			case rest < leastAnswer:
				rest = min(rest+said(plain), leastAnswer)
			}
		}
	}
	return denies, rest
}

// possibleDenials returns those with a negation anywhere in a lower-case text.
// Most answers have few.
func possibleDenials(text string) []denial {
	for _, stop := range []string{"。", "！", "？"} {
		if strings.Contains(text, stop) {
			return denials // negations may follow without a space
		}
	}
	return slices.DeleteFunc(slices.Clone(denials), func(d denial) bool { return !d.negated(text) })
}

// isDenial reports whether a lower-case sentence is a denial in one of the
// languages. Words in code are ignored.
func isDenial(plain string, languages []denial) bool {
	if len(languages) == 0 {
		return false
	}
	if strings.IndexByte(plain, '`') >= 0 {
		plain = codeSpanText.ReplaceAllString(plain, "x")
	}
	plain = " " + plain
	for _, d := range languages {
		if !d.negated(plain) {
			continue
		}
		if slices.ContainsFunc(d.patterns, func(p *regexp.Regexp) bool { return p.MatchString(plain) }) {
			return true
		}
	}
	return false
}

// said is how many characters a lower-case sentence adds to an answer.
func said(plain string) int {
	switch n := utf8.RuneCountInString(plain); {
	case n < 12 || isPointing(plain):
		return 0
	case wide(plain):
		return 2 * n
	default:
		return n
	}
}

// wide reports whether a text is written without spaces, with more to a
// character.
func wide(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return eastern(r)
}

var (
	codeSpanText = regexp.MustCompile("`[^`]*`")
	linkTarget   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// withoutLinks leaves of links their texts.
func withoutLinks(s string) string {
	if !strings.Contains(s, "](") {
		return s
	}
	return linkTarget.ReplaceAllString(s, "$1")
}
