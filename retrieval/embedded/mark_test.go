package embedded

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// marked writes [ ] around the words that a Marker finds in a text.
func marked(text string, mark retrieval.Marker) string {
	var b strings.Builder
	at := 0
	spans := mark(text)
	for i := 0; i < len(spans); {
		start, end := spans[i].Start, spans[i].End
		for i++; i < len(spans) && spans[i].Start <= end; i++ {
			end = max(end, spans[i].End)
		}
		fmt.Fprintf(&b, "%s[%s]", text[at:start], text[start:end])
		at = end
	}
	return b.String() + text[at:]
}

func TestMarkFindsTheWordsThatASearchFinds(t *testing.T) {
	x := opened(t, Options{}, page("a", "Certificates", "Text",
		"Configuring certificates for reverse_proxy with fileServer and --domain. Das Zertifikat. ﬁle systems… 証明書を取得する。 Straße naïve"),
		page("b", "Configuration", "Text", "The configuration of a log, logging, logs. A database and http.request.uri in v2.11."),
		page("c", "Protocols", "Text", "HTTP/3 and 3 matchers. C++ or C in .env files."))
	for query, want := range map[string][2]string{
		"configured ":          {"Configuring it, configure!", "[Configuring] it, configure!"},
		"certific":             {"All certificates of a Certificate", "All [certificates] of a [Certificate]"},
		"certficates ":         {"Certificates expire", "[Certificates] expire"},
		"reverse proxy":        {"use reverse_proxy, reverse-proxy or reverseProxy", "use [reverse_proxy], [reverse-proxy] or [reverseProxy]"},
		"reverse_proxy ":       {"a proxy in reverse", "a [proxy] in [reverse]"},
		"file server":          {"fileServer and file_server", "[fileServer] and [file_server]"},
		"--domain ":            {"run it with --domain here", "run it with [--domain] here"},
		"domain ":              {"run it with --domain here", "run it with --[domain] here"},
		"logg":                 {"Logging, loggers and logs", "[Logging], [loggers] and [logs]"},
		"db ":                  {"Any database", "Any [database]"},
		"証明書 ":                 {"証明書を取得する", "[証明書]を取得する"},
		"file ":                {"the ﬁle… here", "the [ﬁle]… here"},
		"naive ":               {"a naïve way", "a [naïve] way"},
		"uri ":                 {"http.request.uri is one", "http.request.[uri] is one"},
		"http.request.uri ":    {"http.request.uri is one", "[http.request.uri] is one"},
		"http/3 ":              {"HTTP/3 and 3 matchers of HTTP", "[HTTP/3] and 3 matchers of HTTP"},
		"http/3":               {"3 matchers of HTTP", "3 matchers of [HTTP]"},
		"c++":                  {"C++ or C", "[C++] or C"},
		".env":                 {"env of .env.local", "env of [.env].local"},
		"how to configure it ": {"how to be configuring it", "how to be [configuring] it"},
		"xyzzyplugh ":          {"nothing of it", "nothing of it"},
	} {
		if got := marked(want[0], x.Mark(retrieval.Query{Text: query})); got != want[1] {
			t.Errorf("%q: %s, want %s", query, got, want[1])
		}
	}
}

func TestMarkLeavesOutFragmentsOfKatakana(t *testing.T) {
	x := opened(t, Options{}, page("a", "マインスイーパ", "x", "マインスイーパで遊ぶ"), page("b", "パッケージ", "x", "パッケージのインストールや削除、メインのバージョン、プリンタとプロキシ"))
	for query, want := range map[string][2]string{
		"マインスイーパ ": {"インストールとマインスイーパ", "インストールと[マインスイーパ]"},
		"パッケージ ":   {"パッケージのバージョン", "[パッケージ]のバージョン"},
		"プリンタ":     {"プリンターのインターフェイス", "[プリンタ]ーのインターフェイス"},
		"プリンター ":   {"プリンタのインターフェイス", "[プリンタ]のインターフェイス"},
		"プリンター 削除": {"プリンタドライバの削除", "[プリンタ]ドライバの[削除]"},
		"ﾌﾟﾘﾝﾀ ":   {"ｲﾝﾀｰﾌｪｲｽとﾌﾟﾘﾝﾀ", "ｲﾝﾀｰﾌｪｲｽと[ﾌﾟﾘﾝﾀ]"},
		"プロキシ ":    {"リバースプロキシ設定", "リバース[プロキシ]設定"},
		"削除":       {"パッケージの削除", "パッケージの[削除]"},
	} {
		if got := marked(want[0], x.Mark(retrieval.Query{Text: query})); got != want[1] {
			t.Errorf("%q: %s, want %s", query, got, want[1])
		}
	}
}

func TestMarkKnowsOnlyThePagesOfAQuery(t *testing.T) {
	x := opened(t, Options{}, page("open", "Open", "Text", "The word certificate."), page("locked", "Locked", "Text", "The word certificated and certifier."))
	only := &retrieval.PageSet{Has: func(p string) bool { return p == "open" }}
	if got := marked("certificate certificated certifier", x.Mark(retrieval.Query{Text: "certifier ", Pages: only})); got != "certificate certificated certifier" {
		t.Errorf("a word of a locked page is known: %s", got)
	}
}

func TestMarkBeforeTheFirstPages(t *testing.T) {
	x, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if spans := x.Mark(retrieval.Query{Text: "x"})("x y"); spans != nil {
		t.Errorf("spans %v of an empty index", spans)
	}
}

func FuzzMark(f *testing.F) {
	docs := library(30, 1)
	x, err := Open(Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := x.Replace(context.Background(), docs, nil); err != nil {
		f.Fatal(err)
	}
	f.Add("server conf", "The ﬁle server… \xff 証明書 http.Server-x")
	f.Add("\xff", "")
	f.Add("ａｂｃ", "ａｂｃ e\u0301 \u1e9b\u0323")
	f.Fuzz(func(t *testing.T, query, text string) {
		mark := x.Mark(retrieval.Query{Text: query})
		last := 0
		for _, s := range mark(text) {
			if s.Start < last || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %+v of %d bytes", s, len(text))
			}
			last = s.Start
		}
	})
}

func BenchmarkSearchMarked(b *testing.B) {
	docs := library(3000, 1)
	for texts, dir := range map[string]string{"held": "", "read": b.TempDir()} {
		b.Run(texts, func(b *testing.B) {
			x := opened(b, Options{Dir: dir}, docs...)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				d := docs[i%len(docs)]
				i++
				q := retrieval.Query{Text: d.Title + " " + d.Sections[0].Heading, Limit: retrieval.MaxHits, Shown: 10}
				hits, err := x.Search(context.Background(), q)
				if err != nil {
					b.Fatal(err)
				}
				mark := x.Mark(q)
				for _, h := range hits[:min(10, len(hits))] {
					mark(h.Content())
				}
			}
		})
	}
}
