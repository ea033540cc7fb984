package meilisearch_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// A call that may be repeated is, whole, and no more than twice; a swap that
// may have happened is not.
func TestCallsAreRepeatedWholeAndBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		failures   int // before the server answers
		calls      int // wanted
		done       bool
	}{
		{"documents after two failures", "/documents", 2, 3, true},
		{"documents that never go in", "/documents", 1000, 3, false},
		{"settings after one failure", "/settings", 1, 3, true}, // read, refused, and set
		{"a swap", "/swap-indexes", 1, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := fake(t)
			x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Fallback: true, Dir: t.TempDir(), Log: quiet()})
			var calls, failures atomic.Int64
			s.Break(func(r *http.Request) *meiliserver.Fault {
				if r.Method == http.MethodGet || !strings.HasSuffix(r.URL.Path, c.path) || strings.Contains(r.URL.Path, "_state/") {
					return nil
				}
				calls.Add(1)
				if failures.Add(1) <= int64(c.failures) {
					return &meiliserver.Fault{Status: http.StatusServiceUnavailable}
				}
				return nil
			})
			replace(t, x, site(), nil)
			sections := held(s)["_docs-acme-und"]
			if n := int(calls.Load()); n > c.calls || n < 1 {
				t.Errorf("%d calls, want at most %d", n, c.calls)
			}
			if c.done && sections != 9 || !c.done && sections != 0 {
				t.Errorf("the server holds %d sections", sections)
			}
			s.Break(nil)
			eventually(t, "the server has the pages, and nothing is left", func() bool {
				all := held(s)
				return len(all) == 1 && all["_docs-acme-und"] == 9
			})
		})
	}
}

func TestSettingsOfAnIndex(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	docs := site()
	docs = append(docs, page("v/1", "Release 2111", "Changes: What 2111 brought."), page("v/2", "Release 2112", "Changes: What 2112 brought."))
	replace(t, x, docs, vectorsOf(docs))
	have := settingsOf(t, o, "und")
	if got := have.SearchableAttributes; !slices.Equal(got, []string{"terms.title", "terms.heading", "terms.text"}) {
		t.Errorf("searchable: %v", got)
	}
	if got := have.FilterableAttributes; !slices.Equal(got, []string{"language", "page", "tags", "version"}) {
		t.Errorf("filterable: %v", got)
	}
	if got := have.RankingRules; !slices.Equal(got, []string{"words", "attribute", "exactness"}) {
		t.Errorf("ranking: %v", got)
	}
	if have.TypoTolerance.Enabled {
		t.Errorf("typing errors: %+v", have.TypoTolerance)
	}
	if e := have.Embedders["docs"]; e.Source != sdk.UserProvidedEmbedderSource || e.Dimensions != 3 {
		t.Errorf("embedder: %+v", e)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "release 2111"})); len(got) == 0 || got[0] != "v/1" {
		t.Errorf("a number finds %v", got)
	}
}

func TestSettingsThatSomebodyChangedAreSetAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]*sdk.Settings{
		"filters":    {FilterableAttributes: []string{"title"}},
		"ranking":    {RankingRules: []string{"exactness", "words"}},
		"stop words": {StopWords: []string{"proxy"}}, // the module sets none
		"synonyms":   {Synonyms: map[string][]string{"proxy": {"file"}}},
		"typos":      {TypoTolerance: &sdk.TypoTolerance{Enabled: true, MinWordSizeForTypos: sdk.MinWordSizeForTypos{OneTypo: 2, TwoTypos: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			x := open(t, o)
			replace(t, x, site(), nil)
			want := settingsOf(t, o, "und")
			prefix := o.Prefix
			if prefix == "" {
				prefix = "docs"
			}
			client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
			info, err := client.Index("_" + prefix + "-acme-und").UpdateSettings(change)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.WaitForTask(info.TaskUID, 0); err != nil {
				t.Fatal(err)
			}
			if f := finding(x.Check(t.Context()), "settings of"); f == nil || f.Err == nil || !strings.Contains(f.Do, "caddy docs index acme") {
				t.Errorf("the doctor: %+v", f)
			}
			replace(t, x, site(), nil)
			if f := finding(x.Check(t.Context()), "settings of"); f == nil || f.Err != nil {
				t.Errorf("the doctor afterwards: %+v", f)
			}
			if got := settingsOf(t, o, "und"); fmt.Sprint(got.FilterableAttributes, got.RankingRules, got.StopWords, *got.TypoTolerance, got.Synonyms) !=
				fmt.Sprint(want.FilterableAttributes, want.RankingRules, want.StopWords, *want.TypoTolerance, want.Synonyms) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// While an index is rebuilt and swapped, again and again, every search
// finds what is in both.
func TestNoSearchSeesAGap(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	docs := site()
	replace(t, x, docs, nil)
	over := make(chan struct{})
	var group sync.WaitGroup
	var searches atomic.Int64
	for range 3 {
		group.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				hits, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
				if err != nil || len(hits) == 0 || hits[0].Document.Page != "guide/proxy" {
					t.Errorf("found %v, %v", pages(hits), err)
					return
				}
				searches.Add(1)
			}
		})
	}
	for i := range 4 {
		var vectors [][][]float32
		if i%2 == 0 {
			vectors = vectorsOf(docs) // other settings: a new index
		}
		replace(t, x, docs, vectors)
	}
	// Other pages, most of the index: a new one, too.
	more := slices.Clone(docs)
	for i := range 120 {
		more = append(more, page(fmt.Sprint("more/", i), "More", fmt.Sprintf("One: Number %d of many.", i)))
	}
	replace(t, x, more, nil)
	replace(t, x, docs, nil)
	close(over)
	group.Wait()
	if searches.Load() < 10 {
		t.Errorf("only %d searches", searches.Load())
	}
	if got := x.Counts(); got.Failed != 0 || got.Fallback != 0 {
		t.Errorf("counted %+v", got)
	}
}

// What a server says of documents is an error of the index, which keeps
// what it has: nothing of it is a reader's.
func TestDocumentsThatAreRefusedLeaveTheOldIndex(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
	}{{http.StatusRequestEntityTooLarge, "payload_too_large"}, {http.StatusBadRequest, "malformed_payload"}, {http.StatusForbidden, "invalid_api_key"}} {
		t.Run(c.code, func(t *testing.T) {
			s := fake(t)
			x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()})
			replace(t, x, site(), nil)
			s.Break(func(r *http.Request) *meiliserver.Fault {
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "-und/documents") {
					return &meiliserver.Fault{Status: c.status, Code: c.code}
				}
				return nil
			})
			err := x.Replace(t.Context(), append(site(), page("new", "New", "One: Something new.")), nil)
			if e := (*meilisearch.ServerError)(nil); !errors.As(err, &e) || e.Status != c.status || e.Code != c.code {
				t.Errorf("error: %v", err)
			}
			if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 {
				t.Error("the old pages are not found")
			}
			s.Break(nil)
			replace(t, x, append(site(), page("new", "New", "One: Something new.")), nil)
			if got := held(s)["_docs-acme-und"]; got != 10 {
				t.Errorf("the server holds %d sections", got)
			}
		})
	}
}
