package meilisearch_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// actions are what the keys of an index must permit.
var actions = []string{
	"documents.add", "documents.delete", "documents.get", "indexes.create", "indexes.delete", "indexes.get",
	"indexes.swap", "search", "settings.get", "settings.update", "stats.get", "tasks.get", "version",
}

// keyWith makes a key for all indexes, on the server under test.
func keyWith(t *testing.T, o meilisearch.Options, actions []string) string {
	t.Helper()
	if s, ok := fakes.Load(o.URLs[0]); ok {
		key := strings.Join(actions, " ") + t.Name()
		s.(*meiliserver.Server).Grant(key, actions...)
		return key
	}
	key, err := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key)).CreateKey(&sdk.Key{Name: t.Name(), Actions: actions, Indexes: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key)).DeleteKey(key.UID) })
	return key.Key
}

// logged returns a logger and what it has logged.
func logged() (*slog.Logger, func() string) {
	var mu sync.Mutex
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return b.Write(p)
	}), nil))
	return log, func() string {
		mu.Lock()
		defer mu.Unlock()
		return b.String()
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// Each action that a key lacks is named in the log and by the doctor, searches
// fail for good at once, and when the key permits it, nothing has to be loaded.
func TestARightThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for _, missing := range actions {
		if missing == "indexes.create" {
			continue // it shows when an index is created
		}
		t.Run(missing, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Key = keyWith(t, o, slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return a == missing }))
			var log func() string
			o.Log, log = logged()
			x := open(t, o)
			want := "without the actions " + missing
			if missing == "search" {
				want = "does not permit searches with the api_key"
			}
			eventually(t, "the log names it", func() bool {
				return strings.Contains(log(), want) && strings.Contains(log(), "refuses the configured keys")
			})
			if strings.Contains(log(), "is not responding") {
				t.Errorf("the log: %s", log())
			}
			refused := func(when string) {
				t.Helper()
				if _, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5}); !errors.Is(err, retrieval.ErrRefused) {
					t.Errorf("%s: %v", when, err)
				}
			}
			refused("before there are pages")
			if err := x.Replace(t.Context(), site(), nil); err != nil {
				t.Errorf("the site's pages: %v", err)
			}
			refused("then")
			found := false
			for _, f := range x.Check(t.Context()) {
				if strings.HasSuffix(f.What, " keys") {
					found = f.Err != nil && strings.Contains(f.Err.Error(), want) && f.Do != ""
				}
			}
			if !found {
				t.Errorf("the doctor: %+v", x.Check(t.Context()))
			}
		})
	}
}

func TestKeysThatTheServerDoesNotKnow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ key, searchKey, want, do string }{
		"an unknown key":        {"nobody-has-this-key", "", "does not know the api_key", "set api_key"},
		"no key":                {"", "", "needs an api_key", "set api_key"},
		"an unknown search key": {"its own", "nobody-has-this-key", "searches with the search_key", "set search_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			if tt.key != "its own" {
				o.Key = tt.key
			}
			o.SearchKey = tt.searchKey
			var log func() string
			o.Log, log = logged()
			x := open(t, o)
			eventually(t, "the log says it", func() bool { return strings.Contains(log(), tt.want) && strings.Contains(log(), tt.do) })
			if err := x.Replace(t.Context(), site(), nil); err != nil {
				t.Error(err)
			}
			if _, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5}); !errors.Is(err, retrieval.ErrRefused) {
				t.Errorf("searching: %v", err)
			}
		})
	}
}

// A key that gets the right that it lacked needs no reload, and one that loses
// it leaves what is searched.
func TestRightsComeAndGo(t *testing.T) {
	t.Parallel()
	s := fake(t)
	without := slices.DeleteFunc(slices.Clone(actions), func(a string) bool { return a == "indexes.delete" })
	s.Grant("some", without...)
	o := meilisearch.Options{URLs: []string{s.URL}, Key: "some", Site: "acme", Dir: t.TempDir()}
	var log func() string
	o.Log, log = logged()
	x := open(t, o)
	eventually(t, "the log names the right", func() bool { return strings.Contains(log(), "indexes.delete") })
	replace(t, x, site(), nil)
	if n := s.Indexes()["_docs-acme-und"]; n != 0 {
		t.Errorf("%d sections were written with half the rights", n)
	}
	s.Grant("some", actions...)
	eventually(t, "the pages are searched", func() bool {
		hits, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
		return err == nil && len(hits) > 0
	})
	if !strings.Contains(log(), "the configured keys now have all") {
		t.Errorf("the log: %s", log())
	}
	x.Close()
	s.Grant("some", without...)
	x = open(t, o)
	if hits := search(t, x, retrieval.Query{Text: "upstream"}); len(hits) == 0 {
		t.Error("what is on the server is not found")
	}
}
