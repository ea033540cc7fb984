package language

import (
	"strings"
	"testing"
)

func TestStems(t *testing.T) {
	for _, c := range []struct{ name, language, a, b string }{
		{"English endings", "en", "configuring", "configured"},
		{"a region is its language", "en-US", "servers", "server"},
		{"German umlauts and plurals", "de", "häuser", "hauser"},
		{"French elision", "fr", "l'avion", "avion"},
		{"Spanish plurals", "es", "servidores", "servidor"},
		{"Portuguese with underscore", "pt_BR", "páginas", "pagina"},
		{"Russian cases", "ru", "сервера", "сервером"},
		{"both forms of Norwegian", "nb", "tjenester", "tjeneste"},
		{"English words in Japanese pages", "ja", "servers", "server"},
		{"accents without a stemmer", "cs", "nastavení", "nastaveni"},
		{"a language without rules keeps its words", "vi", "tên", "ten"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := Of(c.language)
			if l.Stem(c.a) != l.Stem(c.b) {
				t.Errorf("%s → %q, %s → %q", c.a, l.Stem(c.a), c.b, l.Stem(c.b))
			}
		})
	}
	if got := English.Stem("v2.11"); got != "v2.11" {
		t.Errorf("a word with digits is stemmed to %q", got)
	}
}

func TestStopWords(t *testing.T) {
	for _, c := range []struct {
		language Language
		word     string
		want     bool
	}{
		{English, "the", true},
		{English, "can", true},
		{English, "don’t", true},
		{English, "server", false},
		{German, "warum", true},
		{French, "comment", true},
		{Russian, "как", true},
		{English, "please", true},
		{Spanish, "favor", true},
		{Japanese, "the", false},
		{"vi", "the", false},
	} {
		if got := c.language.IsStop(c.word); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.word, c.language, got, c.want)
		}
	}
}

func TestEveryLanguageHasItsRules(t *testing.T) {
	for l, r := range known {
		if r.stop == nil {
			continue
		}
		if len(r.stop()) == 0 {
			t.Errorf("%s has no stop words", l)
		}
		r.filters()
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]Language{
		"How do I install it?":                 English,
		"Wie installiere ich das?":             German,
		"Comment installer le paquet ?":        French,
		"¿Cómo instalo el paquete?":            Spanish,
		"Como posso instalar o pacote?":        Portuguese,
		"Come si installa il pacchetto?":       Italian,
		"Как установить пакет?":                Russian,
		"如何安装这个软件包？":                           Chinese,
		"パッケージをインストールするには？":                    Japanese,
		"패키지를 어떻게 설치하나요?":                      Korean,
		"nginx.conf gzip":                      English,
		"Caddyでreverse_proxyを使うには？":            Japanese,
		"Wo liegen die Zertifikate von caddy?": German,
		"où sont les certificats":              French,
		"":                                     English,

		"To serve files with the server, put the path of the folder in a line and run it.":                                                                                                                  English,
		"Um Dateien auszuliefern, schreibt man den Pfad des Ordners in eine eigene Zeile und startet dann den Server, der sie mit der Adresse verbindet.":                                                   German,
		"Pour servir des fichiers avec le serveur, mettez le chemin du dossier dans une ligne à part et lancez-le avec la commande que nous avons vue.":                                                     French,
		"Чтобы раздавать файлы, напишите путь к папке на отдельной строке и запустите сервер, как это было показано выше, или по команде.":                                                                  Russian,
		"За да сервирате файлове, напишете пътя към папката на отделен ред и стартирайте сървъра, както беше показано по-горе, или с команда, която ще бъде описана в следващата част на това ръководство.": "bg",
		"Om bestanden te serveren, zet u het pad van de map op een aparte regel en start u de server met het commando dat wij eerder hebben gezien.":                                                        "nl",
		"Aby serwować pliki, wpisz ścieżkę do folderu w osobnym wierszu i uruchom serwer, tak jak to było pokazane wyżej, albo użyj polecenia, które jest opisane w następnej części.":                      "pl",
		strings.Repeat(`{"type": "string", "in": "query", "required": false, "no": 1, "de": "x"} `, 10):                                                                                                     English,
	} {
		if got := Detect(text, ""); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	if got := Detect("gzip?", German); got != German {
		t.Errorf("a text of no language is %s, want the fallback", got)
	}
}

func FuzzDetectAndStem(f *testing.F) {
	f.Add("Wie installiere ich l’avion?")
	f.Add("设定 \xff ΐ")
	f.Fuzz(func(t *testing.T, text string) {
		l := Detect(text, "")
		for w := range strings.FieldsSeq(strings.ToLower(text)) {
			l.Stem(w)
			l.IsStop(w)
		}
	})
}
