package handlers

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestEveryLanguageHasEveryText(t *testing.T) {
	names := slices.Sorted(maps.Keys(readerTexts["en"]))
	if len(readerTexts) < 10 || len(names) < 20 {
		t.Fatalf("%d languages with %d texts", len(readerTexts), len(names))
	}
	for lang, texts := range readerTexts {
		if has := slices.Sorted(maps.Keys(texts)); !slices.Equal(has, names) {
			t.Errorf("%s has %q, en has %q", lang, has, names)
		}
		for name, text := range texts {
			if text == "" || strings.Contains(text, "%d") != (name == "tooLong") {
				t.Errorf("%s: %s is %q", lang, name, text)
			}
		}
	}
}

func TestReadersGetTextsInTheirLanguage(t *testing.T) {
	for accept, want := range map[string]string{
		"": "en", "de-AT, en;q=0.5": "de", "pt-BR": "pt", "zh-Hans-CN": "zh", "tlh": "en", "ja;q=x": "en", "sv, fr;q=0.8": "fr",
	} {
		texts, lang := Texts(&http.Request{Header: http.Header{"Accept-Language": {accept}}})
		if lang != want || texts["search"] != readerTexts[want]["search"] {
			t.Errorf("%q: %s, %q", accept, lang, texts["search"])
		}
	}
}
