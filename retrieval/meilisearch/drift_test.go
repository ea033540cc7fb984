package meilisearch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// tamper is what somebody else does to an index of a server.
type tamper func(t *testing.T, client sdk.ServiceManager, uid string)

// finish waits for a task of a server.
func finish(t *testing.T, client sdk.ServiceManager, info *sdk.TaskInfo, err error) {
	t.Helper()
	if err == nil {
		_, err = client.WaitForTask(info.TaskUID, 10*time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func idsOf(t *testing.T, client sdk.ServiceManager, uid string) (ids []string) {
	t.Helper()
	var page sdk.DocumentsResult
	if err := client.Index(uid).GetDocuments(&sdk.DocumentsQuery{Limit: 100, Fields: []string{"id"}}, &page); err != nil {
		t.Fatal(err)
	}
	for _, hit := range page.Results {
		ids = append(ids, strings.Trim(string(hit["id"]), `"`))
	}
	return ids
}

func deleteSome(t *testing.T, client sdk.ServiceManager, uid string) {
	info, err := client.Index(uid).DeleteDocuments(idsOf(t, client, uid)[:4], nil)
	finish(t, client, info, err)
}

func changeFilters(t *testing.T, client sdk.ServiceManager, uid string) {
	info, err := client.Index(uid).UpdateSettings(&sdk.Settings{FilterableAttributes: []string{"title"}})
	finish(t, client, info, err)
}

func deleteIndex(t *testing.T, client sdk.ServiceManager, uid string) {
	info, err := client.DeleteIndex(uid)
	finish(t, client, info, err)
}

// exchangeOne leaves the number of sections as it was.
func exchangeOne(t *testing.T, client sdk.ServiceManager, uid string) {
	info, err := client.Index(uid).DeleteDocuments(idsOf(t, client, uid)[:1], nil)
	finish(t, client, info, err)
	key := "id"
	info, err = client.Index(uid).AddDocuments(&[]map[string]any{{"id": "foreign", "page": "x", "title": "Foreign"}}, &sdk.DocumentOptions{PrimaryKey: &key})
	finish(t, client, info, err)
}

func uidOf(o meilisearch.Options) string {
	if o.Prefix == "" {
		return "_docs-acme-und"
	}
	return "_" + o.Prefix + "-acme-und"
}

func owned(id string) func(context.Context) (meilisearch.Owner, error) {
	return func(context.Context) (meilisearch.Owner, error) {
		return meilisearch.Owner{ID: id, Name: "storage of " + id}, nil
	}
}

func holdsAll(t *testing.T, o meilisearch.Options) bool {
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	stats, err := client.Index(uidOf(o)).GetStats(&sdk.StatsParams{})
	if err != nil || stats.NumberOfDocuments != 9 {
		return false
	}
	settings, err := client.Index(uidOf(o)).GetSettings()
	return err == nil && len(settings.FilterableAttributes) > 1
}

// What somebody changes in an index is noticed while nothing else happens,
// corrected and logged.
func TestWhatSomebodyChangesIsRestored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   tamper
		want string
	}{
		"sections are deleted":  {deleteSome, "has 5 sections instead of 9"},
		"settings are changed":  {changeFilters, "the settings of"},
		"the index is deleted":  {deleteIndex, "is missing"},
		"several are":           {func(t *testing.T, c sdk.ServiceManager, uid string) { deleteSome(t, c, uid); changeFilters(t, c, uid) }, "found="},
		"settings, by an owner": {changeFilters, "the settings of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.CheckInterval = 300 * time.Millisecond
			if strings.Contains(name, "owner") {
				o.Owner = owned("a")
			}
			var log func() string
			o.Log, log = logged()
			x := open(t, o)
			replace(t, x, site(), nil)
			tt.do(t, sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key)), uidOf(o))
			eventually(t, "it is restored", func() bool { return holdsAll(t, o) })
			eventually(t, "it is logged", func() bool {
				return strings.Contains(log(), "were changed from outside") && strings.Contains(log(), tt.want)
			})
			hits := search(t, x, retrieval.Query{Text: "upstream", Filter: retrieval.Filter{Version: "2.x"}})
			if len(hits) == 0 {
				t.Error("nothing is found with a filter")
			}
		})
	}
}

// A check on demand does not wait for the next minute.
func TestARefreshChecksTheServers(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	replace(t, x, site(), nil)
	deleteSome(t, sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key)), uidOf(o))
	x.CheckSoon()
	eventually(t, "it is restored", func() bool { return holdsAll(t, o) })
}

// Restore finds what counts don't show, and with all it writes what is right
// already.
func TestRestoreComparesEachSection(t *testing.T) {
	t.Parallel()
	for _, embedder := range []string{"", "mine"} {
		t.Run("embedder "+embedder, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			o.Embedder = embedder
			x := open(t, o)
			if _, err := x.Restore(t.Context(), false); !errors.Is(err, retrieval.ErrNotReady) {
				t.Errorf("before there are pages: %v", err)
			}
			replace(t, x, site(), nil)
			restore := func(all bool, want string) {
				t.Helper()
				got, err := x.Restore(t.Context(), all)
				if err != nil || want == "" && len(got) > 0 || !strings.Contains(strings.Join(got, "; "), want) {
					t.Errorf("restored %q, %v; want %q", got, err, want)
				}
				if !holdsAll(t, o) {
					t.Error("the server holds something else")
				}
			}
			restore(false, "")
			client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
			exchangeOne(t, client, uidOf(o))
			restore(false, "lacks 1 of 9 sections and has 1 others")
			restore(false, "")
			// The id is that of the section, but the text is not.
			key := "id"
			info, err := client.Index(uidOf(o)).UpdateDocuments(&[]map[string]any{{"id": idsOf(t, client, uidOf(o))[0], "text": "tampered"}}, &sdk.DocumentOptions{PrimaryKey: &key})
			if _, isFake := fakes.Load(o.URLs[0]); !isFake { // it can't update
				finish(t, client, info, err)
			}
			restore(true, "9 sections were written again")
			var page sdk.DocumentsResult
			if err := client.Index(uidOf(o)).GetDocuments(&sdk.DocumentsQuery{Limit: 100}, &page); err != nil {
				t.Fatal(err)
			}
			for _, hit := range page.Results {
				if strings.Contains(string(hit["text"]), "tampered") {
					t.Error("what was tampered with is still there")
				}
			}
		})
	}
}

// Two Caddys with a storage each and one site name: the second neither writes
// nor searches the indexes of the first, and says so.
func TestIndexesOfAnotherOwnerAreLeftAlone(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Owner, o.CheckInterval = owned("first"), 300*time.Millisecond
	var firstLog func() string
	o.Log, firstLog = logged()
	first := open(t, o)
	replace(t, first, site(), nil)

	o2 := o
	o2.Owner, o2.Dir = owned("second"), t.TempDir()
	var log func() string
	o2.Log, log = logged()
	second := open(t, o2)
	other := []*retrieval.Document{page("other", "Other", "One: Something else entirely.")}
	if err := second.Replace(t.Context(), other, nil); err != nil {
		t.Error(err)
	}
	if _, err := second.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5}); !errors.Is(err, retrieval.ErrRefused) {
		t.Errorf("searching the other's: %v", err)
	}
	if !holdsAll(t, o) {
		t.Error("the first's sections were overwritten")
	}
	for _, want := range []string{"belong to another Caddy: storage of first", "write a prefix", "caddy docs index acme --full"} {
		if !strings.Contains(log(), want) {
			t.Errorf("the log lacks %q: %s", want, log())
		}
	}
	if _, err := second.Restore(t.Context(), false); err == nil || !strings.Contains(err.Error(), "storage of first") {
		t.Errorf("restoring: %v", err)
	}
	if f := finding(second.Check(t.Context()), "owner"); f == nil || f.Err == nil || !strings.Contains(f.Do, "prefix") {
		t.Errorf("the doctor: %+v", f)
	}
	if f := finding(first.Check(t.Context()), "owner"); f == nil || f.Err != nil || f.Found != "storage of first" {
		t.Errorf("the first's doctor: %+v", f)
	}

	// With another prefix, there is room for both.
	o3 := o2
	o3.Prefix, o3.Dir = strings.TrimSuffix(uidOf(o), "-acme-und")+"-2", t.TempDir()
	third := open(t, o3)
	replace(t, third, other, nil)
	if got := pages(search(t, third, retrieval.Query{Text: "entirely"})); len(got) != 1 {
		t.Errorf("with another prefix: %v", got)
	}
	if got := pages(search(t, first, retrieval.Query{Text: "upstream"})); len(got) == 0 {
		t.Error("the first's pages are not found")
	}

	// The operator gives them to the second.
	if _, err := second.Restore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := pages(search(t, second, retrieval.Query{Text: "entirely"})); len(got) != 1 {
		t.Errorf("the second finds %v", got)
	}
	eventually(t, "the first notices", func() bool {
		_, err := first.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
		return errors.Is(err, retrieval.ErrRefused) && strings.Contains(firstLog(), "belong to another Caddy: storage of second")
	})
}

// Caddys of one owner that have different pages don't take turns in writing
// them.
func TestOfOneOwnerTheLatestPagesStay(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Owner, o.CheckInterval = owned("both"), 200*time.Millisecond
	o.Locker = &locks{}
	var log func() string
	o.Log, log = logged()
	first := open(t, o)
	replace(t, first, site(), nil)
	o2 := o
	o2.Dir, o2.Log = t.TempDir(), quiet()
	second := open(t, o2)
	replace(t, second, []*retrieval.Document{page("other", "Other", "One: Something else entirely.")}, nil)
	eventually(t, "the first says so", func() bool { return strings.Contains(log(), "another Caddy has written other pages") })
	if strings.Contains(log(), "restored") {
		t.Errorf("the log: %s", log())
	}
	if got := pages(search(t, second, retrieval.Query{Text: "entirely"})); len(got) != 1 {
		t.Errorf("the second finds %v", got)
	}
}
