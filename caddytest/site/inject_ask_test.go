package site

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

func askForm(s *caddytest.Server, q string, header map[string]string) *caddytest.Response {
	all := map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": s.Base}
	for k, v := range header {
		all[k] = v
	}
	return s.Do(caddytest.Request{Path: "/v1/ask/acme", Key: "-", Body: url.Values{"q": {q}}.Encode(), Header: all})
}

func TestThePageWithoutJavaScript(t *testing.T) {
	files := map[string]string{
		"install.md":  "# Install Acme\n\nRun `acme-install` to install the <b>server</b>. It takes a minute.\n\n| flag | what |\n|---|---|\n| a | b |\n",
		"locked.html": "<title>Locked</title><h1>Locked</h1><p>The secretword of the installation.",
	}
	for i := range 14 {
		files[fmt.Sprintf("more%d.md", i)] = fmt.Sprintf("# More %d\n\nThe widget of page %d.\n", i, i)
	}
	s := caddytest.Start(t, "", "http://:0 {\n\troot "+caddytest.Folder(t, files)+"\n\t@locked path /locked*\n\tbasic_auth @locked {\n\t\treader $2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W\n\t}\n\tdocs acme {\n\t\tname \"Acme <docs>\"\n\t}\n\tfile_server\n}\n")
	s.Ready("acme")
	caddytest.Until(t, "all pages are known", func() bool {
		return strings.Contains(string(getWith(s, "/v1/ask/acme?q=widget", nil).Body), `rel="next"`)
	})

	r := getWith(s, "/v1/ask/acme?q="+url.QueryEscape(`installing "acme" <script>alert(1)</script>`), nil)
	body := string(r.Body)
	if r.Status != 200 || r.Header.Get("Content-Type") != "text/html; charset=utf-8" || r.Header.Get("Cache-Control") != "private, no-store" ||
		!strings.HasPrefix(r.Header.Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") || r.Header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("%d %v", r.Status, r.Header)
	}
	for _, want := range []string{"<mark>Install</mark> <mark>Acme</mark></a>", "<mark>acme</mark>-<mark>install</mark>", "Acme &lt;docs&gt;", `href="/install.md"`, "value=\"installing &#34;acme&#34; &lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in the page:\n%s", want, body)
		}
	}
	if strings.Contains(body, "<script") || strings.Contains(body, "secretword") || strings.Contains(body, ">Answer<") {
		t.Errorf("the page has what it must not:\n%s", body)
	}

	asked := askForm(s, "How do I install Acme?", nil)
	if body := string(asked.Body); asked.Status != 200 || !strings.Contains(body, `<h2 id="answer">Answer</h2>`) || !strings.Contains(body, "Run <code>acme-install</code> to install") ||
		!strings.Contains(body, `<a href="/install.md">Install Acme</a>`) || strings.Contains(body, "secretword") {
		t.Errorf("asked: %d\n%s", asked.Status, body)
	}
	if r := askForm(s, "x", map[string]string{"Origin": "https://evil.example"}); r.Status != 403 || r.Error(t).Code != "origin_not_allowed" {
		t.Errorf("asked by a page elsewhere: %d %s", r.Status, r.Body)
	}

	// Pages of results, each once.
	seen, next := map[string]bool{}, "/v1/ask/acme?q=widget"
	for range 2 {
		r := getWith(s, next, nil)
		for _, m := range regexp.MustCompile(`href="(/more\d+)\.md"`).FindAllStringSubmatch(string(r.Body), -1) {
			seen[m[1]] = true
		}
		if m := regexp.MustCompile(`href="([^"]+)" rel="next"`).FindStringSubmatch(string(r.Body)); m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	if len(seen) != 14 {
		t.Errorf("two pages of results have %d of 14 pages", len(seen))
	}

	// The reader's own credentials open locked pages here, too.
	open := getWith(s, "/v1/ask/acme?q=secretword", map[string]string{"Authorization": "Basic cmVhZGVyOnNlY3JldA=="})
	if !strings.Contains(string(open.Body), "<mark>secretword</mark>") {
		t.Errorf("a reader who can open the locked page doesn't find it:\n%s", open.Body)
	}
	for name, c := range map[string]struct {
		path string
		want string
	}{
		"no question":       {"/v1/ask/acme", `name="q" value=""`},
		"nothing found":     {"/v1/ask/acme?q=xyzzyplugh", "Nothing found"},
		"too long":          {"/v1/ask/acme?q=" + strings.Repeat("a", 1001), "the maximum is 1000 characters"},
		"an offset of none": {"/v1/ask/acme?q=widget&offset=-7", "rel=\"next\""},
	} {
		if r := getWith(s, c.path, nil); r.Status != 200 || !strings.Contains(string(r.Body), c.want) {
			t.Errorf("%s: %d\n%s", name, r.Status, r.Body)
		}
	}
	if r := s.Do(caddytest.Request{Method: "HEAD", Path: "/v1/ask/acme?q=widget", Key: "-"}); r.Status != 200 || len(r.Body) != 0 {
		t.Errorf("HEAD: %d", r.Status)
	}
	if r := askForm(s, strings.Repeat("a", 20_000), nil); r.Status != 400 {
		t.Errorf("a long form: %d", r.Status)
	}
	for accepted, want := range map[string]string{
		"": "Nothing found", "en-GB": "Nothing found", "nl, sv": "Nothing found", "de-AT, en;q=0.5": "Nichts gefunden", "fr": "Aucun résultat", "es-MX": "No se encontró nada",
		"pt-BR": "Nada encontrado", "it": "Nessun risultato", "nl;q=0.9, ru;q=0.8": "Ничего не найдено", "zh-Hans-CN": "未找到结果", "ja": "見つかりませんでした", "ko-KR": "결과 없음", "€": "Nothing found",
	} {
		r := getWith(s, "/v1/ask/acme?q=xyzzyplugh", map[string]string{"Accept-Language": accepted})
		if lang := r.Header.Get("Content-Language"); !strings.Contains(string(r.Body), "<h2>"+want+"</h2>") || !strings.Contains(string(r.Body), `<html lang="`+lang+`">`) {
			t.Errorf("%s: %s\n%s", accepted, lang, r.Body)
		}
	}
	last := 0
	for range 300 {
		last = getWith(s, "/v1/ask/acme", nil).Status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after 300 requests: %d", last)
	}
}
