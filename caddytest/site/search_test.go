package site

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// item is a search result with what search as you type needs.
type item struct {
	Content, Path string
	Metadata      struct {
		Title, Heading, Snippet string
		Description             *string
		Highlights              *struct{ Title, Heading, Snippet [][2]int }
	}
}

func searchItems(t *testing.T, s *caddytest.Server, body string) (items []item, r *caddytest.Response) {
	t.Helper()
	r = s.Do(caddytest.Request{Path: "/v1/search/acme", Body: body, Header: map[string]string{"Origin": "https://any.example"}})
	if r.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", body, r.Status, r.Body)
	}
	if err := json.Unmarshal(r.Body, &items); err != nil {
		t.Fatalf("%s: %v\n%s", body, err, r.Body)
	}
	return items, r
}

// cutOut returns the parts of a text that ranges of UTF-16 units name.
func cutOut(text string, ranges [][2]int) (parts []string) {
	units := utf16.Encode([]rune(text))
	for _, r := range ranges {
		parts = append(parts, string(utf16.Decode(units[r[0]:r[1]])))
	}
	return parts
}

func TestSearchMarksTheWordsOfTheQuery(t *testing.T) {
	s := caddytest.Start(t, "", "http://:0 {\n\troot "+caddytest.Folder(t, map[string]string{
		"install.md": "# Install 🦔 Acme\n\n## Installing certificates\n\n" + strings.Repeat("Words about nothing at all. ", 30) +
			"🦔 The installer puts the certificate where reverse_proxy finds it.\n\n" + strings.Repeat("More of nothing. ", 30),
		"other.md": "# Other\n\nNothing is here, or is installed.\n",
	})+"\n\tdocs acme\n\tfile_server\n}\n")
	s.Ready("acme")

	for query, want := range map[string]struct{ title, heading, snippet string }{
		"install certificates":  {"Install", "Installing certificates", "installer certificate"},
		"installing certifcate": {"Install", "Installing certificates", "installer certificate"},
		"inst":                  {"Install", "Installing", "installer"},
		"reverse proxy ":        {"", "", "reverse_proxy"},
		"reverse_proxy ":        {"", "", "reverse_proxy"},
	} {
		items, _ := searchItems(t, s, fmt.Sprintf(`{"query":%q}`, query))
		if len(items) == 0 || !strings.HasPrefix(items[0].Path, "install") {
			t.Errorf("%q found %+v", query, items)
			continue
		}
		m := items[0].Metadata
		for what, c := range map[string]struct {
			text   string
			ranges [][2]int
			want   string
		}{
			"title": {m.Title, m.Highlights.Title, want.title}, "heading": {m.Heading, m.Highlights.Heading, want.heading},
			"snippet": {m.Snippet, m.Highlights.Snippet, want.snippet},
		} {
			if got := strings.Join(cutOut(c.text, c.ranges), " "); got != c.want {
				t.Errorf("%q marks %q in the %s %q, want %q", query, got, what, c.text, c.want)
			}
		}
		if n := len(utf16.Encode([]rune(m.Snippet))); n > 200 || !strings.Contains(m.Snippet, "🦔 The installer") {
			t.Errorf("%q: a snippet of %d characters: %q", query, n, m.Snippet)
		}
	}
}

func TestSearchGivesOnlyTheFieldsThatAreAsked(t *testing.T) {
	s := caddytest.StartAcme(t)
	all, _ := searchItems(t, s, `{"query":"install"}`)
	lean, r := searchItems(t, s, `{"query":"install","fields":["snippet"]}`)
	if len(all) == 0 || len(lean) != len(all) {
		t.Fatalf("%d and %d results", len(all), len(lean))
	}
	for i := range lean {
		if lean[i].Content != "" || lean[i].Metadata.Description != nil || lean[i].Metadata.Snippet == "" ||
			lean[i].Path != all[i].Path || len(lean[i].Metadata.Snippet) > len(all[i].Metadata.Snippet) {
			t.Errorf("result %d: %+v, with all fields %+v", i, lean[i], all[i])
		}
	}
	t.Logf("%d results take %d bytes", len(lean), len(r.Body))
	for fields, want := range map[string][2]bool{
		`null`: {true, true}, `["content"]`: {true, false}, `["content","snippet"]`: {true, true}, `[]`: {false, false},
	} {
		items, _ := searchItems(t, s, `{"query":"install","fields":`+fields+`}`)
		if got := [2]bool{items[0].Content != "", items[0].Metadata.Snippet != ""}; got != want {
			t.Errorf("fields %s: content, snippet: %v", fields, got)
		}
	}
	bad := s.Do(caddytest.Request{Path: "/v1/search/acme", Body: `{"query":"x","fields":["title"]}`})
	if e := bad.Error(t); bad.Status != 400 || e.Error != "fields[0] must be content or snippet" {
		t.Errorf("an unknown field: %d %+v", bad.Status, e)
	}
}

// A keystroke costs at most 3 kB wherever the docs are, with `encode` and without.
func TestAKeystrokeIsCompressed(t *testing.T) {
	files := map[string]string{}
	for i := range 9 {
		files[fmt.Sprintf("справочник/руководство-администратора/настройка-сервера-%d.md", i)] = fmt.Sprintf(
			"# Настройка сервера приложений, часть %d\n\n## Перезапуск сервера после изменения настроек\n\nСервер %d. %s", i, i,
			strings.Repeat("Сервер перезапускается, когда администратор меняет настройки сервера. ", 9))
	}
	for name, directive := range map[string]string{"alone": "", "with encode": "encode"} {
		s := caddytest.Start(t, "", "http://:0 {\n\troot "+caddytest.Folder(t, files)+"\n\t"+directive+"\n\tdocs acme {\n\t\tlanguage ru\n\t}\n\tfile_server\n}\n")
		s.Ready("acme")
		const body = `{"query":"настройка серв","pageSize":7,"fields":["snippet"]}`
		send := func(accept, body string) *caddytest.Response {
			return s.Do(caddytest.Request{Path: "/v1/search/acme", Body: body, Header: map[string]string{"Accept-Encoding": accept}})
		}
		caddytest.Until(t, "the pages' addresses are known", func() bool { return strings.Contains(string(send("identity", body).Body), "6.md") })
		plain, small := send("identity", body), send("gzip, deflate, br, zstd", body)
		if len(plain.Body) < 3000 || strings.Count(string(plain.Body), `"path"`) != 7 || plain.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: plain, %v, %d bytes", name, plain.Header, len(plain.Body))
		}
		if len(small.Body) > 3000 || small.Header.Get("Content-Encoding") != "gzip" || unzipped(t, small) != string(plain.Body) {
			t.Errorf("%s: compressed, %v, %d bytes", name, small.Header, len(small.Body))
		}
		t.Logf("%s: %d bytes, %d compressed", name, len(plain.Body), len(small.Body))
		if r := send("gzip;q=0, zstd;q=0, *;q=0", body); string(r.Body) != string(plain.Body) {
			t.Errorf("%s: a client that refuses gzip: %v", name, r.Header)
		}
		if r := send("gzip", `{"query":"настройка серв"}`); directive == "" && r.Header.Get("Content-Encoding") != "" {
			t.Errorf("with the sections' texts: %v", r.Header)
		}
	}
}

func TestSearchIsPaged(t *testing.T) {
	files := map[string]string{}
	for i := range 35 {
		files[fmt.Sprintf("page%02d.md", i)] = fmt.Sprintf("# Page %d\n\nThe widget of number %d.\n", i, i)
	}
	s := caddytest.Start(t, "", "http://:0 {\n\troot "+caddytest.Folder(t, files)+"\n\tdocs acme\n\tfile_server\n}\n")
	s.Ready("acme")
	caddytest.Until(t, "all pages are known to be public", func() bool {
		_, r := searchItems(t, s, `{"query":"widget "}`)
		return r.Header.Get("X-Total-Count") == "35"
	})
	seen := map[string]bool{}
	for offset := 0; offset < 60; offset += 10 {
		items, r := searchItems(t, s, fmt.Sprintf(`{"query":"widget ","offset":%d}`, offset))
		if want := max(0, min(10, 35-offset)); len(items) != want {
			t.Errorf("at %d: %d results, want %d", offset, len(items), want)
		}
		if got := r.Header.Get("X-Total-Count"); got != "35" {
			t.Errorf("at %d: total %q", offset, got)
		}
		if !strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), "X-Total-Count") {
			t.Error("X-Total-Count is not exposed")
		}
		for _, i := range items {
			if seen[i.Path] {
				t.Errorf("%s is on two pages", i.Path)
			}
			seen[i.Path] = true
		}
	}
	for offset, want := range map[string]string{"-1": "a whole number from 0 to 100", "101": "a whole number from 0 to 100", `"a"`: "a whole number from 0 to 100"} {
		r := s.Do(caddytest.Request{Path: "/v1/search/acme", Body: `{"query":"x","offset":` + offset + `}`})
		if e := r.Error(t); r.Status != 400 || !strings.Contains(e.Error, want) {
			t.Errorf("offset %s: %d %+v", offset, r.Status, e)
		}
	}
}
