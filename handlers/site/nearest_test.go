package site

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// manyPages are those of a large manual, with some thousand words.
func manyPages() *Pages {
	s := &Pages{site: &Site{Config: &options.Site{}}}
	verbs := strings.Fields("install configure upgrade deploy monitor restore export migrate secure debug")
	for i := range 2000 {
		name := fmt.Sprintf("%s-%s%d", verbs[i%len(verbs)], strings.Repeat(string(rune('a'+i%26)), 3+i%5), i)
		s.Public = append(s.Public, &retrieval.Document{Title: strings.ReplaceAll(name, "-", " the "), URL: fmt.Sprintf("/part%d/%s", i%40, name)})
	}
	return s
}

func TestTheNearestPageIsTheOneThatWasMeant(t *testing.T) {
	s := &Pages{site: &Site{Config: &options.Site{}}, language: "en"}
	for _, name := range []string{"fr/guide/upgrade", "", "guide/install", "guide/install/linux", "de/guide/install", "fr/guide/install", "guide/upgrade", "reference/command-line", "reference/file-server", "api/file-systems"} {
		language, _, _ := strings.Cut(name, "/")
		if len(language) != 2 {
			language = "en"
		}
		s.Public = append(s.Public, &retrieval.Document{Title: strings.ReplaceAll(name, "/", " "), URL: "/" + name, Language: language})
	}
	for asked, want := range map[string]string{
		"/guide/instal.md":              "guide/install",    // a typing error
		"/install":                      "guide/install",    // a folder left out
		"/docs/2.x/guide/install.html":  "guide/install",    // an older URL
		"/de/guide/instalieren":         "de/guide/install", // its language
		"/guides/upgrading/":            "guide/upgrade",    // another form of the word
		"/cli/commandline":              "reference/command-line",
		"/api/fileserver":               "reference/file-server",
		"/xyzzy":                        "none",
		"/" + strings.Repeat("a/", 500): "none",
	} {
		got := "none"
		for i, d := range s.Nearest(asked) {
			if i == 0 {
				got = strings.TrimPrefix(d.URL, "/")
			} else if strings.HasPrefix(d.URL, "/de/") != strings.HasPrefix(got, "de/") {
				t.Errorf("%s: %s beside %s", asked, d.URL, got)
			}
		}
		if got != want {
			t.Errorf("%.60s: %s, want %s", asked, got, want)
		}
	}
}

// Words of headings are named by a search that found nothing, but lead a path to
// no page.
func TestWordsOfHeadingsAreNamedAndLeadNoPathAstray(t *testing.T) {
	site := &Site{Config: &options.Site{}}
	s := &Pages{site: site, Public: []*retrieval.Document{
		{Title: "Thrust", URL: "/thrust", Breadcrumbs: []string{"Guide"}, Sections: []retrieval.Section{{Heading: "Calibration"}}},
		{Title: "Fuel", URL: "/fuel", Breadcrumbs: []string{"Guide"}},
	}}
	if got := s.Nearest("/calibratoin"); len(got) > 0 {
		t.Errorf("near to a word of a heading: %+v", got)
	}
	for asked, want := range map[string]string{"calibratoin": "calibration", "thrvst": "thrust", "xyzzy": ""} {
		spellings, parts := s.nearby("", asked)
		if got := strings.Join(spellings, " "); got != want || len(parts) != 1 || parts[0].Section != "Guide" || parts[0].Markdown != "/thrust.md" {
			t.Errorf("%s: %q, parts %+v", asked, got, parts)
		}
	}
}

func BenchmarkNearest(b *testing.B) {
	s := manyPages()
	s.Nearest("/")
	b.ReportAllocs()
	for b.Loop() {
		s.Nearest("/docs/latest/part7/instal-aaa1200")
	}
}
