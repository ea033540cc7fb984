package ui

import (
	"net/http"

	"github.com/caddy-docs/caddy-docs/handlers"
)

// askTexts are the texts of the page without JavaScript in one language. %s is
// the site's name, %d a number of characters.
type askTexts struct {
	Lang, Title, Field, Search, Ask, Answer, Sources, Results, None, NoWords, AskInstead, Help, Previous, Next, Pages string
	TooLong, Unavailable, Busy, Failed                                                                                string
}

// askLanguages are in the order of handlers.ReaderLanguage.
var askLanguages = []askTexts{
	{
		"en", "Search", "Question or words", "Search", "Ask", "Answer", "Sources", "Results", "Nothing found", "No page has these words.", "Ask a question instead.", "Get help", "Previous", "Next", "Pages of results",
		"The question is too long: it may have %d characters.", "Search is unavailable at the moment. Try again in a few seconds.", "Too many questions are being answered at the moment. Try again in a few seconds.", "The question could not be answered at the moment. Try again, or look at the results.",
	},
	{
		"de", "Suche", "Frage oder Wörter", "Suchen", "Fragen", "Antwort", "Quellen", "Treffer", "Nichts gefunden", "Diese Wörter stehen auf keiner Seite.", "Stellen Sie stattdessen eine Frage.", "Hilfe erhalten", "Zurück", "Weiter", "Trefferseiten",
		"Die Frage ist zu lang: Sie darf %d Zeichen haben.", "Die Suche ist gerade nicht verfügbar. Versuchen Sie es in einigen Sekunden noch einmal.", "Gerade werden zu viele Fragen beantwortet. Versuchen Sie es in einigen Sekunden noch einmal.", "Die Frage konnte gerade nicht beantwortet werden. Versuchen Sie es noch einmal, oder sehen Sie sich die Treffer an.",
	},
	{
		"fr", "Recherche", "Question ou mots", "Rechercher", "Demander", "Réponse", "Sources", "Résultats", "Aucun résultat", "Aucune page ne contient ces mots.", "Posez plutôt une question.", "Obtenir de l’aide", "Précédent", "Suivant", "Pages de résultats",
		"La question est trop longue : %d caractères au maximum.", "La recherche est indisponible pour le moment. Réessayez dans quelques secondes.", "Trop de questions sont en cours de traitement. Réessayez dans quelques secondes.", "La question n’a pas pu être traitée. Réessayez ou consultez les résultats.",
	},
	{
		"es", "Buscar", "Pregunta o palabras", "Buscar", "Preguntar", "Respuesta", "Fuentes", "Resultados", "No se encontró nada", "Ninguna página contiene estas palabras.", "Haga una pregunta.", "Obtener ayuda", "Anterior", "Siguiente", "Páginas de resultados",
		"La pregunta es demasiado larga: puede tener %d caracteres.", "La búsqueda no está disponible en este momento. Inténtelo de nuevo en unos segundos.", "Se están respondiendo demasiadas preguntas. Inténtelo de nuevo en unos segundos.", "No se pudo responder la pregunta. Inténtelo de nuevo o consulte los resultados.",
	},
	{
		"pt", "Pesquisar", "Pergunta ou palavras", "Pesquisar", "Perguntar", "Resposta", "Fontes", "Resultados", "Nada encontrado", "Nenhuma página contém estas palavras.", "Faça uma pergunta.", "Obter ajuda", "Anterior", "Seguinte", "Páginas de resultados",
		"A pergunta é longa demais: pode ter %d caracteres.", "A pesquisa não está disponível no momento. Tente novamente em alguns segundos.", "Há perguntas demais sendo respondidas. Tente novamente em alguns segundos.", "Não foi possível responder à pergunta. Tente novamente ou veja os resultados.",
	},
	{
		"it", "Cerca", "Domanda o parole", "Cerca", "Chiedi", "Risposta", "Fonti", "Risultati", "Nessun risultato", "Nessuna pagina contiene queste parole.", "Fai invece una domanda.", "Ottieni aiuto", "Precedente", "Successiva", "Pagine dei risultati",
		"La domanda è troppo lunga: può avere %d caratteri.", "La ricerca non è disponibile al momento. Riprova tra qualche secondo.", "Ci sono troppe domande in corso. Riprova tra qualche secondo.", "Non è stato possibile rispondere alla domanda. Riprova o guarda i risultati.",
	},
	{
		"ru", "Поиск", "Вопрос или слова", "Найти", "Спросить", "Ответ", "Источники", "Результаты", "Ничего не найдено", "Этих слов нет ни на одной странице.", "Задайте вопрос.", "Получить помощь", "Назад", "Далее", "Страницы результатов",
		"Вопрос слишком длинный: допустимо не более %d символов.", "Поиск сейчас недоступен. Повторите попытку через несколько секунд.", "Сейчас обрабатывается слишком много вопросов. Повторите попытку через несколько секунд.", "Не удалось ответить на вопрос. Повторите попытку или посмотрите результаты.",
	},
	{
		"zh", "搜索", "问题或关键词", "搜索", "提问", "回答", "来源", "结果", "未找到结果", "没有页面包含这些词。", "请改为提问。", "获取帮助", "上一页", "下一页", "结果页",
		"问题过长：最多 %d 个字符。", "搜索暂时不可用。请几秒钟后重试。", "当前正在回答的问题过多。请几秒钟后重试。", "暂时无法回答该问题。请重试或查看搜索结果。",
	},
	{
		"ja", "検索", "質問またはキーワード", "検索", "質問する", "回答", "出典", "検索結果", "見つかりませんでした", "これらの語を含むページはありません。", "質問してみてください。", "サポートを受ける", "前へ", "次へ", "検索結果のページ",
		"質問が長すぎます。%d 文字まで入力できます。", "現在、検索を利用できません。数秒後にもう一度お試しください。", "現在、多くの質問に回答しています。数秒後にもう一度お試しください。", "質問に回答できませんでした。もう一度試すか、検索結果をご覧ください。",
	},
	{
		"ko", "검색", "질문 또는 단어", "검색", "질문하기", "답변", "출처", "결과", "결과 없음", "이 단어가 있는 페이지가 없습니다.", "대신 질문해 보세요.", "도움 받기", "이전", "다음", "결과 페이지",
		"질문이 너무 깁니다. 최대 %d자까지 입력할 수 있습니다.", "지금은 검색할 수 없습니다. 몇 초 후에 다시 시도하세요.", "지금 처리 중인 질문이 너무 많습니다. 몇 초 후에 다시 시도하세요.", "질문에 답변하지 못했습니다. 다시 시도하거나 결과를 확인하세요.",
	},
}

// askTextsFor returns the texts in the language that the reader's browser
// prefers.
func askTextsFor(r *http.Request) *askTexts { return &askLanguages[handlers.ReaderLanguage(r)] }
