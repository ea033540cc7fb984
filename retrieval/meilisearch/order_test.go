package meilisearch_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// With ranking server, the order, the scores and what is found are the server's:
// an operator's settings decide.
func TestTheOrderCanBeTheServers(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	docs := site()
	docs[3].Page = "" // the front page
	replace(t, x, docs, vectorsOf(docs))
	x.Close()

	o.ServerRanking = true
	x = open(t, o)
	replace(t, x, docs, vectorsOf(docs))
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	have, err := client.Index(uidOf(o)).GetSettings()
	if err != nil || have.SearchableAttributes[0] != "title" || !have.TypoTolerance.Enabled || slices.Contains(have.RankingRules, "attribute") && len(have.RankingRules) == 3 {
		t.Errorf("the settings are still those for the module's order: %+v, %v", have, err)
	}
	hits := search(t, x, retrieval.Query{Text: "upstream", Explain: true})
	if len(hits) != 1 || hits[0].Document.Page != "guide/proxy" || hits[0].Score <= 0 || hits[0].Score > 1 || !strings.Contains(hits[0].Content(), "upstream") ||
		len(hits[0].Why) != 1 || !strings.Contains(hits[0].Why[0], "Meilisearch") {
		t.Errorf("upstream finds %+v", hits)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "package"})); !slices.Equal(got, []string{""}) {
		t.Errorf("package finds %q, want the front page, once", got)
	}
	if hits := search(t, x, retrieval.Query{Text: "zebra", Vector: vectorsOf(docs)[2][1]}); len(hits) == 0 || hits[0].Document.Page != "guide/tls" {
		t.Errorf("a vector finds %q", pages(hits))
	}
	if hits := search(t, x, retrieval.Query{Text: "upstream", Threshold: .9999}); len(hits) > 0 && hits[0].Score < .9999 {
		t.Errorf("a threshold lets pass %+v", hits[0])
	}

	// Only the pages that the reader may find, whatever the server says.
	some := &retrieval.PageSet{Has: func(page string) bool { return page != "guide/proxy" }}
	if got := pages(search(t, x, retrieval.Query{Text: "upstream server headers", Pages: some})); slices.Contains(got, "guide/proxy") {
		t.Errorf("a locked page is found: %q", got)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "file server", Filter: retrieval.Filter{Version: "1.x"}})); !slices.Equal(got, []string{"guide/files"}) {
		t.Errorf("a filter finds %q", got)
	}

	// The operator's settings are used, and stay when the index is written again.
	info, err := client.Index(uidOf(o)).UpdateSettings(&sdk.Settings{Synonyms: map[string][]string{"parachute": {"wildcard"}}, RankingRules: []string{"exactness", "words"}})
	finish(t, client, info, err)
	if f := finding(x.Check(t.Context()), "settings of"); f == nil || f.Err != nil {
		t.Errorf("the doctor: %+v", f)
	}
	if _, err := x.Restore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if have, err = client.Index(uidOf(o)).GetSettings(); err != nil || !slices.Equal(have.RankingRules, []string{"exactness", "words"}) || len(have.Synonyms) != 1 {
		t.Errorf("the operator's settings are gone: %v %v, %v", have.RankingRules, have.Synonyms, err)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "parachute"})); !slices.Equal(got, []string{"guide/tls"}) {
		t.Errorf("a synonym of the server's finds %q", got)
	}
	x.Close()

	// Without the option, the settings and the order are the module's again.
	o.ServerRanking = false
	x = open(t, o)
	replace(t, x, docs, vectorsOf(docs))
	if f := finding(x.Check(t.Context()), "settings of"); f == nil || f.Err != nil {
		t.Errorf("the doctor afterwards: %+v", f)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "upstreem"})); len(got) == 0 || got[0] != "guide/proxy" {
		t.Errorf("afterwards, upstreem finds %q", got)
	}
}

// An embedder of the server's that fails or hangs leaves the words to its order.
func TestTheServersOrderNeedsNoEmbedder(t *testing.T) {
	t.Parallel()
	e := embedding(t)
	o := options(t)
	o.ServerRanking, o.Embedder, o.Timeouts = true, "mine", patient
	o.Timeouts.Embedder = 4 * time.Second // it hangs below
	x := open(t, o)
	replace(t, x, site(), nil)
	setEmbedder(t, o, "mine", sources(e)["rest"])
	eventually(t, "the embedder is seen", func() bool { x.CheckSoon(); return findsZebra(t, x) })
	for name, hang := range map[string]bool{"fails": false, "hangs": true} {
		e.set(http.StatusUnauthorized, hang)
		if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); !slices.Equal(got, []string{"guide/proxy"}) {
			t.Errorf("the embedder %s: upstream finds %q", name, got)
		}
		e.set(0, false)
	}
	// A real server gives up on its embedder before the deadline, and tells nobody.
	_, _, real := real()
	if counts, ok := x.EmbedderCounts(); !ok || counts.Late != 1 && !real || x.Counts().Failed != 0 {
		t.Errorf("counted %+v, %+v", counts, x.Counts())
	}
}
