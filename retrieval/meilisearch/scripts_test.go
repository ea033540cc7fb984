package meilisearch_test

import (
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Languages written without spaces, or with words that grow, each in a
// separate index, also on a server that was built without their
// dictionaries.
func TestSitesInJapaneseKoreanAndChinese(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	in := func(language string, d *retrieval.Document) *retrieval.Document {
		d.Language = language
		return d
	}
	replace(t, x, []*retrieval.Document{
		in("ja", page("ja/install", "インストール", "証明書: 証明書は自動的に取得され、更新されます。", "リバースプロキシ: リクエストは上流のサーバーに転送されます。", "東京都の設定: 京都と東京都の設定は別の場所にあります。")),
		in("ja", page("ja/log", "ログ出力", "ローテーション: 古いログは削除されます。")),
		in("ko", page("ko/install", "설치", "인증서: 인증서는 자동으로 발급되고 갱신됩니다.", "리버스 프록시: 요청은 업스트림 서버로 전달됩니다.")),
		in("zh", page("zh/install", "安装", "证书: 证书会自动获取和续期。", "反向代理: 请求会转发到上游服务器。")),
	}, nil)
	for _, tt := range []struct{ query, page, heading string }{
		{"証明書", "ja/install", "証明書"},
		{"証明書の更新", "ja/install", "証明書"},
		{"リバースプロキシ", "ja/install", "リバースプロキシ"},
		{"京都", "ja/install", "東京都の設定"},
		{"古いログ", "ja/log", "ローテーション"},
		{"인증서 갱신", "ko/install", "인증서"},
		{"업스트림", "ko/install", "리버스 프록시"},
		{"证书", "zh/install", "证书"},
		{"续期", "zh/install", "证书"},
		{"反向代理转发", "zh/install", "反向代理"},
	} {
		hits := search(t, x, retrieval.Query{Text: tt.query})
		if len(hits) == 0 || hits[0].Document.Page != tt.page || hits[0].Document.Sections[hits[0].Section].Heading != tt.heading {
			t.Errorf("%s finds %v", tt.query, pages(hits))
		}
	}
}
