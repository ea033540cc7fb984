package site

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// translatedSite is a site as Starlight builds it: the pages of a language that
// are not translated have the text of the original and say so on main.
func translatedSite(t *testing.T) string {
	files := map[string]string{}
	put := func(folder, frame, language, name, text string) {
		var alternates strings.Builder
		for _, l := range []string{"da", "de"} {
			fmt.Fprintf(&alternates, `<link rel="alternate" hreflang="%s" href="/%s/%s/">`, l, l, name)
		}
		files[path.Join(folder, name, "index.html")] = fmt.Sprintf(`<!doctype html><html lang="%s"><head><title>%s</title>%s
			<link rel="alternate" hreflang="en" href="/%s/"></head><body><main lang="%s"><h1 id="top">%s</h1><p>%s</p></main></body></html>`,
			frame, name, alternates.String(), name, language, name, text)
	}
	english := map[string]string{
		"fonts":  "Add fonts to your pages with a line of the configuration. The fonts are loaded when a reader opens one of the pages.",
		"themes": "Themes choose the colors and the fonts of all your pages. You can write a theme of your own in a file.",
	}
	for name, text := range english {
		put("", "en", "en", name, text)
		put("da", "da", "en", name, text)
	}
	put("de", "de", "de", "fonts", "Eigene Schriften (fonts) werden mit einer Zeile der Konfiguration hinzugefügt. Sie werden geladen, wenn jemand eine der Seiten öffnet.")
	put("de", "de", "en", "themes", english["themes"])
	return caddytest.Folder(t, files)
}

func TestReadersFindEachPageOnceInTheirLanguage(t *testing.T) {
	s := caddytest.Start(t, "", caddytest.Site(translatedSite(t)))
	s.Ready("acme")
	for name, c := range map[string]struct {
		header map[string]string
		filter string
		want   []string
	}{
		"nobody in particular":            {nil, "", []string{"fonts", "themes"}},
		"on a German page":                {map[string]string{"Referer": s.Base + "/de/themes/", "Accept-Language": "en"}, "", []string{"de/fonts", "de/themes"}},
		"on a page that isn't translated": {map[string]string{"Referer": s.Base + "/da/fonts/"}, "", []string{"da/fonts", "da/themes"}},
		"a browser in German":             {map[string]string{"Accept-Language": "fr, de-AT;q=0.8, en;q=0.5"}, "", []string{"de/fonts", "de/themes"}},
		"on another site":                 {map[string]string{"Referer": "https://example.com/de/fonts/"}, "", []string{"fonts", "themes"}},
		"a filter for English":            {nil, `, "filter": {"language": "en"}`, []string{"fonts", "themes"}},
		"a filter for Danish":             {nil, `, "filter": {"language": "da"}`, []string{"da/fonts", "da/themes"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.Do(caddytest.Request{Path: "/v1/search/acme", Header: c.header, Body: `{"query": "fonts pages"` + c.filter + `}`})
			var results []caddytest.Result
			if err := json.Unmarshal(r.Body, &results); err != nil {
				t.Fatalf("%v: %s", err, r.Body)
			}
			var found []string
			for _, result := range results {
				page, _, _ := strings.Cut(result.Path, "#")
				found = append(found, page)
			}
			slices.Sort(found)
			if !slices.Equal(found, c.want) {
				t.Errorf("found %v, want %v", found, c.want)
			}
		})
	}
}
