package assistant

import "github.com/caddy-docs/caddy-docs/retrieval/language"

// phrase is a sentence that the assistant says itself.
type phrase uint8

const (
	found             phrase = iota // the docs answer; quotes follow
	seeAlso                         // links below the quotes
	closest                         // the docs may answer; a quote follows
	notFound                        // the docs don't answer; pages follow
	notFoundAtAll                   // not even a page is near
	notChecked                      // instead of both for a reader for whom not every page could be checked
	askSupport                      // "%s" is the link
	modelUnavailable                // the model failed; the docs' own words follow
	searchUnavailable               // the model answers without search
	streamBroke                     // the model broke off
	sourcesLabel                    // before a list of links
	cannotAnswer                    // neither model nor search
	asks                            // "%s" is a heading: a follow-up question
	phraseCount
)

// phrases are the sentences in ten languages. None needs grammar to fit in what
// is inserted, such as a name's gender.
var phrases = map[language.Language]*[phraseCount]string{
	language.English: {
		found:             "From the docs:",
		seeAlso:           "See also:",
		closest:           "The closest passage:",
		notFound:          "The documentation doesn't seem to answer this. The nearest pages are:",
		notFoundAtAll:     "The documentation doesn't seem to say anything about this.",
		notChecked:        "Not every page could be checked just now, so something may be missing here. Asking again in a moment may help.",
		askSupport:        "More help: %s",
		modelUnavailable:  "The assistant can't write an answer at the moment.",
		searchUnavailable: "The documentation could not be searched just now, so this answer does not rest on it.",
		streamBroke:       "The answer broke off. Asking again may help.",
		sourcesLabel:      "Sources:",
		cannotAnswer:      "Neither the assistant nor the search is available at the moment. Please ask again in a minute.",
		asks:              "What does the documentation say about “%s”?",
	},
	language.German: {
		found:             "Aus der Dokumentation:",
		seeAlso:           "Siehe auch:",
		closest:           "Am nächsten kommt diese Stelle:",
		notFound:          "Die Dokumentation scheint das nicht zu beantworten. Am nächsten kommen diese Seiten:",
		notFoundAtAll:     "Die Dokumentation scheint dazu nichts zu sagen.",
		notChecked:        "Gerade ließen sich nicht alle Seiten prüfen; hier kann also etwas fehlen. Gleich noch einmal fragen kann helfen.",
		askSupport:        "Weitere Hilfe: %s",
		modelUnavailable:  "Der Assistent kann gerade keine Antwort schreiben.",
		searchUnavailable: "Die Dokumentation ließ sich gerade nicht durchsuchen; diese Antwort stützt sich nicht auf sie.",
		streamBroke:       "Die Antwort ist abgebrochen. Noch einmal fragen kann helfen.",
		sourcesLabel:      "Quellen:",
		cannotAnswer:      "Weder der Assistent noch die Suche ist gerade verfügbar. Bitte in einer Minute noch einmal fragen.",
		asks:              "Was sagt die Dokumentation zu „%s“?",
	},
	language.French: {
		found:             "Extrait de la documentation :",
		seeAlso:           "Voir aussi :",
		closest:           "Le passage le plus proche :",
		notFound:          "La documentation ne semble pas répondre à cette question. Les pages les plus proches sont :",
		notFoundAtAll:     "La documentation ne semble rien dire à ce sujet.",
		notChecked:        "Toutes les pages n’ont pas pu être vérifiées à l’instant ; il peut donc manquer quelque chose. Reposer la question dans un moment peut aider.",
		askSupport:        "Plus d'aide : %s",
		modelUnavailable:  "L'assistant ne peut pas rédiger de réponse pour le moment.",
		searchUnavailable: "La recherche dans la documentation n'a pas abouti ; cette réponse ne s'appuie donc pas sur elle.",
		streamBroke:       "La réponse s'est interrompue. Poser à nouveau la question peut aider.",
		sourcesLabel:      "Sources :",
		cannotAnswer:      "Ni l'assistant ni la recherche ne sont disponibles pour le moment. Réessayez dans une minute.",
		asks:              "Que dit la documentation sur « %s » ?",
	},
	language.Spanish: {
		found:             "De la documentación:",
		seeAlso:           "Véase también:",
		closest:           "El pasaje más cercano:",
		notFound:          "La documentación no parece responder a esto. Las páginas más cercanas son:",
		notFoundAtAll:     "La documentación no parece decir nada al respecto.",
		notChecked:        "Ahora mismo no se pudieron comprobar todas las páginas, así que puede faltar algo. Volver a preguntar en un momento puede ayudar.",
		askSupport:        "Más ayuda: %s",
		modelUnavailable:  "El asistente no puede redactar una respuesta en este momento.",
		searchUnavailable: "No se ha podido buscar en la documentación, así que esta respuesta no se basa en ella.",
		streamBroke:       "La respuesta se ha interrumpido. Volver a preguntar puede ayudar.",
		sourcesLabel:      "Fuentes:",
		cannotAnswer:      "Ni el asistente ni la búsqueda están disponibles en este momento. Vuelve a preguntar en un minuto.",
		asks:              "¿Qué dice la documentación sobre «%s»?",
	},
	language.Portuguese: {
		found:             "Da documentação:",
		seeAlso:           "Veja também:",
		closest:           "O trecho mais próximo:",
		notFound:          "A documentação não parece responder a isso. As páginas mais próximas são:",
		notFoundAtAll:     "A documentação não parece dizer nada sobre isso.",
		notChecked:        "Nem todas as páginas puderam ser verificadas agora, por isso pode faltar algo. Perguntar de novo daqui a pouco pode ajudar.",
		askSupport:        "Mais ajuda: %s",
		modelUnavailable:  "O assistente não consegue escrever uma resposta no momento.",
		searchUnavailable: "Não foi possível pesquisar a documentação, por isso esta resposta não se baseia nela.",
		streamBroke:       "A resposta foi interrompida. Perguntar de novo pode ajudar.",
		sourcesLabel:      "Fontes:",
		cannotAnswer:      "Nem o assistente nem a pesquisa estão disponíveis no momento. Pergunte de novo daqui a um minuto.",
		asks:              "O que diz a documentação sobre “%s”?",
	},
	language.Italian: {
		found:             "Dalla documentazione:",
		seeAlso:           "Vedi anche:",
		closest:           "Il passaggio più vicino:",
		notFound:          "La documentazione non sembra rispondere a questa domanda. Le pagine più vicine sono:",
		notFoundAtAll:     "La documentazione non sembra dire nulla in proposito.",
		notChecked:        "In questo momento non è stato possibile controllare tutte le pagine, quindi può mancare qualcosa. Richiedere tra poco può aiutare.",
		askSupport:        "Altro aiuto: %s",
		modelUnavailable:  "Al momento l'assistente non può scrivere una risposta.",
		searchUnavailable: "Non è stato possibile cercare nella documentazione: questa risposta non si basa su di essa.",
		streamBroke:       "La risposta si è interrotta. Chiedere di nuovo può aiutare.",
		sourcesLabel:      "Fonti:",
		cannotAnswer:      "Al momento non sono disponibili né l'assistente né la ricerca. Riprova tra un minuto.",
		asks:              "Che cosa dice la documentazione su «%s»?",
	},
	language.Russian: {
		found:             "Из документации:",
		seeAlso:           "См. также:",
		closest:           "Ближайший фрагмент:",
		notFound:          "Похоже, в документации нет ответа на этот вопрос. Ближайшие страницы:",
		notFoundAtAll:     "Похоже, в документации об этом ничего не сказано.",
		notChecked:        "Сейчас удалось проверить не все страницы, поэтому что-то может отсутствовать. Попробуйте спросить ещё раз чуть позже.",
		askSupport:        "Помощь: %s",
		modelUnavailable:  "Сейчас ассистент не может написать ответ.",
		searchUnavailable: "Поиск по документации сейчас недоступен, поэтому этот ответ на неё не опирается.",
		streamBroke:       "Ответ оборвался. Попробуйте спросить ещё раз.",
		sourcesLabel:      "Источники:",
		cannotAnswer:      "Сейчас недоступны ни ассистент, ни поиск. Спросите ещё раз через минуту.",
		asks:              "Что говорит документация о «%s»?",
	},
	language.Chinese: {
		found:             "文档中的说明：",
		seeAlso:           "另请参阅：",
		closest:           "最接近的段落：",
		notFound:          "文档似乎没有回答这个问题。最接近的页面是：",
		notFoundAtAll:     "文档似乎没有提到这方面的内容。",
		notChecked:        "刚才未能检查所有页面，因此这里可能有遗漏。请稍后再问一次。",
		askSupport:        "更多帮助：%s",
		modelUnavailable:  "助手目前无法撰写回答。",
		searchUnavailable: "目前无法搜索文档，因此以下回答并非依据文档。",
		streamBroke:       "回答中断了。请再问一次试试。",
		sourcesLabel:      "来源：",
		cannotAnswer:      "助手和搜索目前都不可用。请稍后再问。",
		asks:              "文档对“%s”是怎么说的？",
	},
	language.Japanese: {
		found:             "ドキュメントより：",
		seeAlso:           "関連項目：",
		closest:           "最も近い箇所：",
		notFound:          "ドキュメントにはこの質問への答えがないようです。最も近いページは次のとおりです：",
		notFoundAtAll:     "ドキュメントにはこれについての記述がないようです。",
		notChecked:        "今回はすべてのページを確認できなかったため、抜けがあるかもしれません。少し後でもう一度お試しください。",
		askSupport:        "サポート：%s",
		modelUnavailable:  "現在、アシスタントは回答を作成できません。",
		searchUnavailable: "現在ドキュメントを検索できないため、この回答はドキュメントに基づいていません。",
		streamBroke:       "回答が途中で切れました。もう一度質問してみてください。",
		sourcesLabel:      "出典：",
		cannotAnswer:      "現在、アシスタントも検索も利用できません。少し待ってからもう一度質問してください。",
		asks:              "「%s」についてドキュメントには何と書かれていますか？",
	},
	language.Korean: {
		found:             "문서에서 발췌:",
		seeAlso:           "함께 보기:",
		closest:           "가장 가까운 부분:",
		notFound:          "문서에 이 질문에 대한 답이 없는 것 같습니다. 가장 가까운 페이지는 다음과 같습니다:",
		notFoundAtAll:     "문서에 이에 대한 내용이 없는 것 같습니다.",
		notChecked:        "지금은 모든 페이지를 확인하지 못해 빠진 내용이 있을 수 있습니다. 잠시 후 다시 질문해 보세요.",
		askSupport:        "추가 도움: %s",
		modelUnavailable:  "지금은 어시스턴트가 답변을 작성할 수 없습니다.",
		searchUnavailable: "지금은 문서를 검색할 수 없어 이 답변은 문서에 근거하지 않습니다.",
		streamBroke:       "답변이 중단되었습니다. 다시 질문해 보세요.",
		sourcesLabel:      "출처:",
		cannotAnswer:      "지금은 어시스턴트와 검색을 모두 사용할 수 없습니다. 잠시 후 다시 질문해 주세요.",
		asks:              "문서에서는 “%s”에 대해 뭐라고 하나요?",
	},
}

// say returns a phrase in the language of the question, else in that of the
// site, else in English.
func (r *run) say(p phrase) string {
	if (p == notFound || p == notFoundAtAll) && r.incomplete() {
		p = notChecked
	}
	for _, l := range []language.Language{r.q.language, language.Of(r.site.Language)} {
		if sentences := phrases[l]; sentences != nil {
			return sentences[p]
		}
	}
	return phrases[language.English][p]
}
