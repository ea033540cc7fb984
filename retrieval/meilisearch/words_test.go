package meilisearch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// settingsOf are an index's settings as the client reads them.
func settingsOf(t *testing.T, o meilisearch.Options, language string) *sdk.Settings {
	t.Helper()
	prefix := o.Prefix
	if prefix == "" {
		prefix = "docs"
	}
	s, err := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key)).Index("_" + prefix + "-acme-" + language).GetSettings()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStopWordsOfASiteAreLeftOutOfQueries(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.StopWords = []string{"Acme", "app"}
	docs := append(site(), page("acme", "Acme", "About: Acme is what this is about."), page("app", "The app", "Acme app: An app of acme."))
	x := open(t, o)
	replace(t, x, docs, nil)
	// A server doesn't index stop words: queries of nothing else would find
	// nothing.
	if got := settingsOf(t, o, "und").StopWords; len(got) > 0 {
		t.Errorf("the server's stop words are %v", got)
	}
	reference, err := embedded.Open(embedded.Options{StopWords: o.StopWords})
	if err != nil {
		t.Fatal(err)
	}
	if err := reference.Replace(t.Context(), docs, nil); err != nil {
		t.Fatal(err)
	}
	for _, q := range []retrieval.Query{
		{Text: "acme upstream"},
		{Text: "how does acme hide files", Question: true},
		{Text: "acme"},
		{Text: "acme app"},
		{Text: `"acme app"`},
		{Text: "what is the acme", Question: true},
		{Text: "acme", Filter: retrieval.Filter{Version: "2.x"}},
	} {
		got, want := pages(search(t, x, q)), pages(search(t, reference, q))
		if len(want) > 0 && (len(got) == 0 || got[0] != want[0]) || len(want) == 0 && len(got) > 0 {
			t.Errorf("%s finds %v, the embedded index %v", q.Text, got, want)
		}
	}
	if got := pages(search(t, x, retrieval.Query{Text: "acme upstream"})); slices.Contains(got, "acme") {
		t.Errorf("a page with nothing but the stop word is found: %v", got)
	}
	// In semantic search as well, if no word is informative.
	vectors := vectorsOf(docs)
	replace(t, x, docs, vectors)
	if got := pages(search(t, x, retrieval.Query{Text: "acme", Vector: vectors[2][1]})); !slices.Contains(got, "guide/tls") || !slices.Contains(got, "acme") {
		t.Errorf("by word and meaning: %v", got)
	}
	x.Close()

	o.StopWords = nil
	y := open(t, o)
	replace(t, y, docs, vectors)
	if got := settingsOf(t, o, "und").StopWords; len(got) != 0 {
		t.Errorf("stop words that are no longer wanted: %v", got)
	}
}

func TestSynonymsAndAbbreviationsReachTheServer(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Synonyms = [][]string{{"upstream", "backend", "Origin Server"}}
	x := open(t, o)
	replace(t, x, append(site(), page("k", "Kubernetes", "Cluster: Run it on kubernetes.")), nil)
	for text, want := range map[string]string{"backend": "guide/proxy", "k8s": "k"} {
		if got := pages(search(t, x, retrieval.Query{Text: text})); len(got) == 0 || got[0] != want {
			t.Errorf("%s finds %v, want %s", text, got, want)
		}
	}
	if got := settingsOf(t, o, "und").Synonyms; len(got) > 0 {
		t.Errorf("the server's synonyms, beside those of this module: %v", got)
	}
}

// languages are pages and queries in scripts without spaces between words.
var languages = map[string]struct {
	docs    []*retrieval.Document
	queries map[string]string
}{
	"ja": {[]*retrieval.Document{
		page("ja/proxy", "リバースプロキシ", "上流サーバー: リクエストは上流サーバーに送られます。", "ヘルスチェック: 応答しないサーバーは外されます。"),
		page("ja/tls", "自動HTTPS", "証明書: 証明書は自動的に取得され、更新されます。"),
		page("ja/files", "ファイルサーバー", "一覧: フォルダーの内容を一覧で表示します。"),
	}, map[string]string{
		"リバースプロキシ": "ja/proxy", "証明書の更新": "ja/tls", "フォルダーの一覧": "ja/files",
		"証明書はどのように更新されますか": "ja/tls", "HTTPS 証明書": "ja/tls",
	}},
	"zh": {[]*retrieval.Document{
		page("zh/proxy", "反向代理", "上游服务器: 请求会被转发到上游服务器。", "健康检查: 不健康的上游不会收到请求。"),
		page("zh/tls", "自动 HTTPS", "证书: 证书会自动获取并续期。"),
		page("zh/files", "文件服务器", "浏览: 以列表形式显示文件夹的内容。"),
	}, map[string]string{
		"反向代理": "zh/proxy", "证书续期": "zh/tls", "文件夹列表": "zh/files", "如何自动续期证书？": "zh/tls",
	}},
	"ko": {[]*retrieval.Document{
		page("ko/proxy", "리버스 프록시", "업스트림 서버: 요청은 업스트림 서버로 전달됩니다.", "상태 확인: 응답하지 않는 서버는 제외됩니다."),
		page("ko/tls", "자동 HTTPS", "인증서: 인증서는 자동으로 발급되고 갱신됩니다."),
		page("ko/files", "파일 서버", "목록: 폴더의 내용을 목록으로 보여 줍니다."),
	}, map[string]string{
		"리버스 프록시": "ko/proxy", "인증서 갱신": "ko/tls", "폴더 목록": "ko/files", "인증서는 어떻게 갱신됩니까": "ko/tls",
	}},
}

// The embedded index is the reference. The server may have the dictionaries
// of a language or not: the fake takes each character as a word, like a
// server that was built without them.
func TestScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	for language, c := range languages {
		t.Run(language, func(t *testing.T) {
			o := options(t)
			x := open(t, o)
			var docs []*retrieval.Document
			for _, d := range c.docs {
				d := *d
				d.Language = language
				docs = append(docs, &d)
			}
			docs = append(docs, site()...) // another language beside it
			replace(t, x, docs, nil)
			reference, err := embedded.Open(embedded.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := reference.Replace(t.Context(), docs, nil); err != nil {
				t.Fatal(err)
			}
			for text, want := range c.queries {
				for _, filter := range []retrieval.Filter{{}, {Language: language}} {
					q := retrieval.Query{Text: text, Question: strings.HasSuffix(text, "？") || len(text) > 30, Filter: filter}
					hits, of := search(t, x, q), search(t, reference, q)
					if len(of) == 0 || of[0].Document.Page != want {
						t.Fatalf("%s: the embedded index finds %v, want %s", text, pages(of), want)
					}
					if len(hits) == 0 || hits[0].Document.Page != want || hits[0].Section != of[0].Section {
						t.Errorf("%s finds %v, want %s", text, pages(hits), want)
						continue
					}
					if d := hits[0].Score - of[0].Score; d > 1e-6 || d < -1e-6 {
						t.Errorf("%s scores %v, in the embedded index %v", text, hits[0].Score, of[0].Score)
					}
				}
			}
		})
	}
}

// Every version from the least that is taken to the newest gets requests
// that it knows.
func TestVersionsOfTheServer(t *testing.T) {
	t.Parallel()
	for version, below135 := range map[string]bool{"1.18.0": true, "1.26.0": true, "1.34.3": true, "1.35.0": false, "1.50.0": false} {
		t.Run(version, func(t *testing.T) {
			s := fake(t)
			s.SetVersion(version)
			o := meilisearch.Options{
				URLs: []string{s.URL}, Key: s.Key, SearchKey: s.SearchKey, Site: "acme", Dir: t.TempDir(), Log: quiet(),
				StopWords: []string{"acme"}, Synonyms: [][]string{{"tls", "encryption"}},
			}
			x := open(t, o)
			docs := site()
			ja := page("ja/x", "設定", "設定ファイル: 設定ファイルを書きます。")
			ja.Language = "ja"
			docs = append(docs, ja)
			replace(t, x, docs, nil)                                              // a new index, swapped in by a rename
			replace(t, x, docs, vectorsOf(docs))                                  // other settings
			replace(t, x, docs[1:], vectorsOf(docs)[1:])                          // a small change
			search(t, x, retrieval.Query{Text: "設定", Vector: []float32{1, 0, 0}}) // words and meaning
			search(t, x, retrieval.Query{Text: "upstream", Filter: retrieval.Filter{Version: "2.x", Tag: "http"}})
			for _, f := range x.Check(t.Context()) {
				if f.Err != nil {
					t.Errorf("%s: %v", f.What, f.Err)
				}
			}
			f := finding(x.Check(t.Context()), "version")
			if strings.Contains(f.Found, "1.35 or later is recommended") != below135 {
				t.Errorf("the doctor says %q", f.Found)
			}
			if got := x.Counts(); got.Failed != 0 || got.Fallback != 0 || got.KeywordOnly != 0 {
				t.Errorf("counted %+v", got)
			}
		})
	}
}

// What 1.18 brought and the swap needs.
func TestTheVersionBeforeTheLeastRefusesTheSwap(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{"1.17.1": false, "1.18.0": true} {
		s := fake(t)
		s.Plant("docs-x-und")
		s.SetVersion(version)
		_, err := sdk.New(s.URL, sdk.WithAPIKey(s.Key), sdk.DisableRetries()).SwapIndexes([]*sdk.SwapIndexesParams{{Indexes: []string{"docs-x-und", "docs-y-und"}, Rename: true}})
		if (err == nil) != want {
			t.Errorf("%s: %v", version, err)
		}
	}
}

func TestAServerThatTurnsOutTooOldLater(t *testing.T) {
	t.Parallel()
	s := fake(t)
	s.Break(meiliserver.Down)
	s.SetVersion("1.17.1")
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Fallback: true, Dir: t.TempDir(), Log: quiet()})
	replace(t, x, site(), nil)
	s.Break(nil)
	eventually(t, "the doctor says so", func() bool {
		f := finding(x.Check(t.Context()), "version")
		return f != nil && f.Err != nil && strings.Contains(f.Err.Error(), "1.17.1") && strings.Contains(f.Err.Error(), "1.18") && f.Do != ""
	})
	if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 {
		t.Error("the fallback does not answer")
	}
	if len(held(s)) != 0 {
		t.Errorf("it was written to: %v", held(s))
	}
}

// From 1.35 on the server asks no embedder on a private network, unless it
// was started with a flag: a server that is upgraded loses its embedder.
func TestAnUpgradeThatTakesTheEmbedderAway(t *testing.T) {
	t.Parallel()
	s, e := fake(t), embedding(t)
	s.SetVersion("1.34.0")
	s.DenyPrivate()
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Embedder: "mine", Dir: t.TempDir(), Log: quiet()}
	x := open(t, o)
	replace(t, x, site(), nil)
	setEmbedder(t, o, "mine", sources(e)["ollama"])
	replace(t, x, site()[1:], nil)
	if !findsZebra(t, x) {
		t.Error("before the upgrade meaning finds nothing")
	}
	s.SetVersion("1.35.0")
	if got := pages(search(t, x, retrieval.Query{Text: "folder"})); len(got) == 0 {
		t.Error("after it words find nothing")
	}
	f := finding(x.Check(t.Context()), "embedder mine")
	if f == nil || f.Err == nil || !strings.Contains(f.Do, "--experimental-allowed-ip-networks") {
		t.Errorf("the doctor: %+v", f)
	}
}

// The server splits identifiers at punctuation (nonSeparatorTokens is not set,
// which would make "end." a word of every text). Its candidates have all
// sections with the parts, and the ranking finds the identifier among them.
func TestIdentifiersWithPunctuationAreFoundFirst(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	names := []string{"c++", "c#", "http/3", "http/2", ".env", "--env", "@scope/env", "env", "net.http", "2.11", "21.1"}
	var docs []*retrieval.Document
	for i, name := range names {
		docs = append(docs, page(fmt.Sprint("name-", i), fmt.Sprint("Part ", i), fmt.Sprintf("Use: With %s in use, all is well.", name)))
	}
	for i := range 60 {
		docs = append(docs, page(fmt.Sprint("other/", i), fmt.Sprint("Other ", i), "Parts: Section C has env and http, 2 and 3 or 11, a scope and a net in use."))
	}
	replace(t, x, docs, nil)
	for i, name := range names {
		if name == "env" {
			continue // a word of every page
		}
		if got := pages(search(t, x, retrieval.Query{Text: name})); len(got) == 0 || got[0] != fmt.Sprint("name-", i) {
			t.Errorf("%q finds %v", name, got[:min(3, len(got))])
		}
	}
}
