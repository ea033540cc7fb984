package handlers

import (
	"net/http"

	"golang.org/x/text/language"
)

// readerLanguages are those of what readers see, in the order of the texts. The
// first is for all other readers.
var readerLanguages = language.NewMatcher([]language.Tag{
	language.English, language.German, language.French, language.Spanish, language.Portuguese,
	language.Italian, language.Russian, language.Chinese, language.Japanese, language.Korean,
})

// ReaderLanguage returns which of the ten languages a browser prefers: English,
// German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese,
// Korean.
func ReaderLanguage(r *http.Request) int {
	accepted, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil || len(accepted) == 0 {
		return 0
	}
	_, i, _ := readerLanguages.Match(accepted...)
	return i
}

// sentences say to readers what they can do about an error: wait, shorten,
// missing, broken and owner, in that order.
var sentences = [...][5]string{
	{
		"Please wait a moment, then try again.", "This could not be read. Please shorten it or write it in other words.", "There is no such page, or you can't open it.",
		"Something went wrong. Please try again.", "This is not set up correctly. Please tell the owner of this site.",
	},
	{
		"Bitte warten Sie einen Moment und versuchen Sie es dann erneut.", "Das konnte nicht gelesen werden. Bitte kürzen Sie es oder formulieren Sie es anders.", "Diese Seite gibt es nicht, oder Sie können sie nicht öffnen.",
		"Etwas ist schiefgegangen. Bitte versuchen Sie es erneut.", "Hier ist etwas falsch eingerichtet. Bitte sagen Sie dem Betreiber dieser Website Bescheid.",
	},
	{
		"Veuillez patienter un instant, puis réessayer.", "Le texte n’a pas pu être lu. Veuillez le raccourcir ou le reformuler.", "Cette page n’existe pas ou vous ne pouvez pas l’ouvrir.",
		"Une erreur s’est produite. Veuillez réessayer.", "La configuration est incorrecte. Veuillez prévenir le responsable de ce site.",
	},
	{
		"Espere un momento e inténtelo de nuevo.", "No se pudo leer el texto. Acórtelo o escríbalo de otra forma.", "Esta página no existe o no puede abrirla.",
		"Algo salió mal. Inténtelo de nuevo.", "La configuración no es correcta. Avise al responsable de este sitio.",
	},
	{
		"Aguarde um momento e tente novamente.", "Não foi possível ler o texto. Encurte-o ou escreva-o de outra forma.", "Esta página não existe ou não pode abri-la.",
		"Algo correu mal. Tente novamente.", "A configuração não está correta. Avise o responsável por este site.",
	},
	{
		"Attendi un momento e riprova.", "Non è stato possibile leggere il testo. Accorcialo o riformulalo.", "Questa pagina non esiste o non puoi aprirla.",
		"Qualcosa è andato storto. Riprova.", "La configurazione non è corretta. Avvisa il responsabile di questo sito.",
	},
	{
		"Подождите немного и повторите попытку.", "Текст не удалось прочитать. Сократите его или сформулируйте иначе.", "Такой страницы нет, или у вас нет к ней доступа.",
		"Что-то пошло не так. Повторите попытку.", "Сайт настроен неправильно. Сообщите об этом его владельцу.",
	},
	{"请稍候再试。", "无法读取内容。请缩短或换一种说法。", "此页面不存在，或您无法打开它。", "出了点问题。请重试。", "此处的设置不正确。请告知本网站的所有者。"},
	{
		"しばらく待ってから、もう一度お試しください。", "内容を読み取れませんでした。短くするか、言い換えてください。", "このページは存在しないか、開く権限がありません。",
		"問題が発生しました。もう一度お試しください。", "設定が正しくありません。このサイトの管理者にお知らせください。",
	},
	{
		"잠시 기다린 후 다시 시도하세요.", "내용을 읽을 수 없습니다. 짧게 줄이거나 다르게 써 주세요.", "이 페이지가 없거나 열 수 없습니다.",
		"문제가 발생했습니다. 다시 시도하세요.", "설정이 올바르지 않습니다. 사이트 소유자에게 알려 주세요.",
	},
}

// sentence returns what to say to the reader about an error.
func sentence(r *http.Request, status int) string {
	all := &sentences[ReaderLanguage(r)]
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable:
		return all[0]
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return all[1]
	case http.StatusNotFound:
		return all[2]
	}
	if status >= 500 {
		return all[3]
	}
	return all[4]
}
