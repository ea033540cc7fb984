package assistant

import "testing"

// What heldStems finds must be what terms would.
func TestHeldStemsAreThoseOfAllTerms(t *testing.T) {
	texts := map[Language]string{
		English: "The skies are happier. Configuring reverse_proxy with TLS-ALPN and `http.Server`; studies of dying flies, configured configurations.",
		German:  "Die Häuser und Übungen der Konfiguration: Straßen, Größe, größere Einstellungen ändern.",
		French:  "Les chevaux généraux, les configurations générales et l'œuvre.",
		Russian: "Настройки сервера и настройка серверов.",
		"ja":    "設定ファイルを変更する",
	}
	for l, text := range texts {
		all := terms(text, l)
		held := heldStems(text, all, l)
		for _, want := range all {
			if !held[want.stem] {
				t.Errorf("%s: %q, of %q, was not found", l, want.stem, want.word)
			}
		}
		for _, none := range terms("zebra ungefragt inexistant", l) {
			if heldStems(text, []term{none}, l)[none.stem] {
				t.Errorf("%s: %q stands nowhere", l, none.stem)
			}
		}
	}
}
