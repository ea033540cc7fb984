package assistant

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// denials recognize sentences in which a model says that the documentation
// doesn't answer, or that it won't.
var denials = []*regexp.Regexp{
	// English
	regexp.MustCompile(`\b(documentation|docs|manual|guides?|passages?|sections|excerpts?|sources|context|material)( (i have|provided|given|above|available|here))? (currently |also )?(do|does|did|is|are)(n['’]?t| not) (\w+ )?(cover|say|mention|describe|explain|contain|include|specify|discuss|address|document|provide|state|tell|answer|list|have|give|show|refer|go into)`),
	regexp.MustCompile(`\b(documentation|docs|manual|passages?|sections) (\w+ )?(says?|mentions?|contains?|makes?|has|have|gives?|provides?) (nothing|no )`),
	regexp.MustCompile(`\b(is|are|was)(n['’]?t| not) (\w+ )?(documented|covered|mentioned|described|discussed|addressed|explained)\b`),
	regexp.MustCompile(`\bnothing (in|about|on) (the |this |these )?(passages?|docs|documentation|manual|this|it|that)\b`),
	regexp.MustCompile(`\bno (information|mention|documentation|passages?|sections?|details)\b`),
	regexp.MustCompile(`\b(could|can|did|do)(n['’]?t| ?not) (find|locate|have (any )?information|know|see any|answer|help|assist)|\bunable to (find|answer|help|locate)|\bnot able to (find|answer|help)`),
	// German
	regexp.MustCompile(`(dokumentation|doku|handbuch|abschnitte?n?|textstellen|quellen)\b.*\b(keine?n?|nichts?)\b`),
	regexp.MustCompile(`\b(sagt|nennt|beschreibt|erwähnt|erklärt|behandelt|enthält|verrät) die (dokumentation|doku)\b.*\bnicht|\bnicht (dokumentiert|beschrieben|erwähnt|erklärt|behandelt)|nicht (helfen|beantworten|finden)|\bnichts (dazu |darüber )?(gefunden|finden)|weiß ich nicht|\bdazu (steht|gibt es|findet sich) (dort |hier )?(nichts|keine)`),
	// French
	regexp.MustCompile(`(documentation|passages|extraits|sections|sources|manuel)\b.*\b(n['’]|ne )\S*( \S+)? ?.*\b(pas|rien|aucun)`),
	regexp.MustCompile(`\bn['’](est|a|ai)\b.*\b(pas|rien)\b.*\b(documenté|trouvé|décrit|mentionné)|\bn['’]ai (rien|pas) trouvé|ne (peux|sais) pas (vous )?(aider|répondre)?`),
	// Spanish, Portuguese
	regexp.MustCompile(`(documentación|fragmentos|pasajes|secciones|manual|documentação|trechos|seções)\b.*\b(no|não|nao|nada|ningun\w*|nenhum\w*)\b`),
	regexp.MustCompile(`\b(no|não) (está|esta|se|foi|é) (documentad|describ|menciona|descrit|mencionad)|\b(no he|não) (encontrado|encontrei)|\bno encontr|\b(no|não) (puedo|posso) (ayudar|ajudar|responder)|\bno (lo )?sé\b|\bnão sei\b`),
	// Italian
	regexp.MustCompile(`(documentazione|passaggi|sezioni|manuale|estratti)\b.*\b(non|nulla|niente|nessun\w*)\b`),
	regexp.MustCompile(`\bnon (è|viene|ho) (documentat|descritt|menzionat|trovato)|\bnon posso (aiutar|risponder)|\bnon (lo )?so\b`),
	// Russian
	regexp.MustCompile(`(документаци|отрывк|раздел|фрагмент|руководств)\S*.*(^|\s)(не|нет|ничего)(\s|$|[.,])`),
	regexp.MustCompile(`не задокументирован|не описан|не (могу|смог|удалось)( \S+)? ?(\S+ )?(помочь|ответить|найти)|не нашёл|не нашел|не знаю`),
	// Chinese
	regexp.MustCompile(`(文档|文檔|段落|章节|资料|手册).*(没有|未|不包含|不涉及|无|沒有)|无法(回答|提供|帮助)|不能(回答|帮)|我不知道`),
	// Japanese
	regexp.MustCompile(`(ドキュメント|文書|箇所|資料|マニュアル|セクション).*(ありません|ません|いない|ない)|文書化されていません|(お答え|回答|お手伝い)(でき|し)かねます|お答えできません|わかりません|分かりません`),
	// Korean
	regexp.MustCompile(`(문서|부분|자료|설명서|섹션).*(없|않|못)|문서화되어 있지 않|(도와드릴|답변할|답할|대답할) 수 없|모르겠`),
}

// pointing sentences lead on, and answer nothing.
var pointing = regexp.MustCompile(`^(\W*)(see|related|sources?|have a look|you (may|might|can|could)|for |try|please|the (nearest|closest)|i can|more help|siehe|vielleicht|am nächsten|die nächst|fragen|weitere|quellen|voir|voyez|la page|la section|le plus|plus d|consulta|véase|ver |la página|lo más|más|veja|a página|o mais|mais|vedi|la pagina|la sezione|altro|смотрите|см\.|ближ|помощь|请参阅|参见|最接近|更多|最も近い|参照|가장|참고)|nearest|closest|related|might help|@\S*$`)

// leastAnswer is how many characters beside denials and pointers make a part of
// an answer.
const leastAnswer = 36

// denied judges the text of a model's answer: whether a sentence says that the
// documentation doesn't answer, and how many characters say something else.
func denied(answer string) (denies bool, rest int) {
	for _, b := range splitBlocks(answer) {
		if b.code {
			rest += leastAnswer
			continue
		}
		for line := range strings.SplitSeq(b.text, "\n") {
			for _, sentence := range sentences(withoutLinks(strings.TrimLeft(line, " \t-*>#"))) {
				plain := strings.ToLower(sentence)
				switch n := utf8.RuneCountInString(plain); {
				case isDenial(plain):
					denies = true
				case pointing.MatchString(plain) || n < 12:
				case wide(plain):
					rest += 2 * n
				default:
					rest += n
				}
			}
		}
	}
	return denies, rest
}

// isDenial reports whether a lower-case sentence is a denial. Words in
// code are ignored.
func isDenial(plain string) bool {
	plain = codeSpanText.ReplaceAllString(plain, "x")
	for _, d := range denials {
		if d.MatchString(plain) {
			return true
		}
	}
	return false
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
func withoutLinks(s string) string { return linkTarget.ReplaceAllString(s, "$1") }
