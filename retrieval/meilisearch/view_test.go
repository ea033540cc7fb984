package meilisearch_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// clientKeys returns keys as the manual says: one that searches the views, and
// one that searches everything.
func clientKeys(t *testing.T, o meilisearch.Options) (view, all string) {
	t.Helper()
	if f, ok := fakes.Load(o.URLs[0]); ok {
		return f.(*meiliserver.Server).ViewKey, f.(*meiliserver.Server).SearchKey
	}
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	made := func(pattern string) string {
		key, err := client.CreateKey(&sdk.Key{Name: "test", Actions: []string{"search"}, Indexes: []string{pattern}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = client.DeleteKey(key.UID) })
		return key.Key
	}
	return made(o.Prefix + "-*"), made("_" + o.Prefix + "-*")
}

// With the key of the manual, other clients find public pages, and can read
// nothing of the others: neither text nor titles, in no index.
func TestAViewHasThePublicPagesOnly(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.ViewKey, o.SearchKey = clientKeys(t, o)
	x := open(t, o)
	docs := site()
	secret := page("internal/plan", "Zeppelin plan", "Takeover: Zeppelins will be bought.")
	docs = append(docs, secret)
	replace(t, x, docs, nil)
	client, stranger := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key)), sdk.New(o.URLs[0], sdk.WithAPIKey(o.ViewKey))
	view := strings.TrimPrefix(uidOf(o), "_")
	readable := func() (titles []string) {
		t.Helper()
		list, err := client.ListIndexes(&sdk.IndexesQuery{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, ix := range list.Results {
			if !strings.Contains(ix.UID, strings.TrimSuffix(view, "und")) {
				continue // of another test
			}
			found, err := stranger.MultiSearch(&sdk.MultiSearchRequest{Queries: []*sdk.SearchRequest{{IndexUID: ix.UID, Limit: 100, AttributesToRetrieve: []string{"title"}}}})
			if (err == nil) != (ix.UID == view) {
				t.Errorf("searching %s: %v", ix.UID, err)
			}
			if err == nil {
				for _, hit := range found.Results[0].Hits {
					titles = append(titles, string(hit["title"]))
				}
			}
		}
		slices.Sort(titles)
		return slices.Compact(titles)
	}
	if got := readable(); len(got) > 0 {
		t.Errorf("before a page is proven public, a stranger reads %v", got)
	}
	open := func(d *retrieval.Document) bool { return !strings.HasPrefix(d.Page, "internal/") }
	x.SetPublic(open)
	eventually(t, "the view has the public pages", func() bool { return len(readable()) == 4 })
	if got := strings.Join(readable(), " "); strings.Contains(got, "Zeppelin") || !strings.Contains(got, "Reverse proxy") {
		t.Errorf("a stranger reads %s", got)
	}
	if hits := search(t, x, retrieval.Query{Text: "zeppelins"}); len(hits) == 0 {
		t.Error("this Caddy doesn't find the locked page")
	}
	if f := finding(x.Check(t.Context()), "view_key"); f == nil || f.Err != nil {
		t.Errorf("the doctor of the key for the views: %+v", f)
	}
	// A page that is locked leaves the view.
	x.SetPublic(func(d *retrieval.Document) bool { return open(d) && d.Page != "install" })
	eventually(t, "the page is gone", func() bool { return len(readable()) == 3 })
	// Without the key, there is no view.
	x.Close()
	o.ViewKey = ""
	x = openIndex(t, o)
	replace(t, x, docs[1:], nil)
	if got := readable(); len(got) > 0 {
		t.Errorf("without a view, a stranger reads %v", got)
	}
	// A key that opens more is found.
	o.ViewKey = o.SearchKey
	if f := finding(openIndex(t, o).Check(t.Context()), "view_key"); f == nil || f.Err == nil || !strings.Contains(f.Err.Error(), "locked pages") || f.Do == "" {
		t.Errorf("the doctor of a key that opens everything: %+v", f)
	}
}

// A page that is locked while a view is written leaves it.
func TestAPageThatIsLockedDuringAnUpdateLeavesTheView(t *testing.T) {
	t.Parallel()
	s := fake(t)
	x := open(t, meilisearch.Options{
		URLs: []string{s.URL}, Key: s.Key, ViewKey: s.ViewKey, Site: "acme", Dir: t.TempDir(), Log: quiet(), CheckInterval: time.Hour,
	})
	replace(t, x, site(), nil)
	reached, locked := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Break(func(r *http.Request) *meiliserver.Fault {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/docs-acme-und/documents") {
			once.Do(func() {
				close(reached)
				<-locked
			})
		}
		return nil
	})
	x.SetPublic(func(*retrieval.Document) bool { return true })
	<-reached
	x.SetPublic(func(d *retrieval.Document) bool { return d.Page != "install" })
	close(locked)
	eventually(t, "the view has the sections of three pages", func() bool { return s.Indexes()["docs-acme-und"] == 7 })
}

// openIndex is open, where a test has another open.
func openIndex(t *testing.T, o meilisearch.Options) *meilisearch.Index { return open(t, o) }

// What an earlier release has left where strangers' keys open it is removed.
func TestIndexesOfEarlierReleasesAreRemoved(t *testing.T) {
	t.Parallel()
	s := fake(t)
	for _, uid := range []string{"docs-acme-en", "docs-acme-_state", "docs-acme-_owner", "docs-acme-notes-en"} {
		s.Plant(uid)
	}
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()})
	replace(t, x, site(), nil)
	for uid := range s.Indexes() {
		if strings.HasPrefix(uid, "docs-acme-") && uid != "docs-acme-notes-en" {
			t.Errorf("%s is left", uid)
		}
	}
	if _, ok := s.Indexes()["docs-acme-notes-en"]; !ok {
		t.Error("the index of another site is gone")
	}
}

// What an operator sets in a view, or in an index that is rebuilt, stays.
func TestSettingsOfTheOperatorStay(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.ViewKey, o.SearchKey = clientKeys(t, o)
	x := open(t, o)
	x.SetPublic(func(*retrieval.Document) bool { return true })
	docs := site()
	replace(t, x, docs, nil)
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	uids := []string{uidOf(o), strings.TrimPrefix(uidOf(o), "_")}
	for _, uid := range uids {
		info, err := client.Index(uid).UpdateSettings(&sdk.Settings{SearchCutoffMs: 321, SortableAttributes: []string{"title"}})
		finish(t, client, info, err)
	}
	replace(t, x, docs, vectorsOf(docs)) // rebuilds
	if _, err := x.Restore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for _, uid := range uids {
		have, err := client.Index(uid).GetSettings()
		if err != nil || have.SearchCutoffMs != 321 || !slices.Equal(have.SortableAttributes, []string{"title"}) {
			t.Errorf("%s: %d ms, sortable %v, %v", uid, have.SearchCutoffMs, have.SortableAttributes, err)
		}
	}
	have, err := client.Index(uids[1]).GetSettings()
	if err != nil || have.DistinctAttribute == nil || *have.DistinctAttribute != "page" {
		t.Errorf("the view is not distinct by page: %v", have.DistinctAttribute)
	}
}

// A process that begins with an empty folder takes nothing away: the vectors
// in the server stay, and are read instead of made again.
func TestVectorsInTheServerAreKeptAndReadBack(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Model = "m"
	docs := site()
	vectors := vectorsOf(docs)
	first := open(t, o)
	replace(t, first, docs, vectors)
	first.Close()
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	embedded := func() int64 {
		t.Helper()
		stats, err := client.Index(uidOf(o)).GetStats(&sdk.StatsParams{})
		if err != nil {
			t.Fatal(err)
		}
		return stats.NumberOfEmbeddedDocuments
	}
	has := embedded()
	o.Dir = t.TempDir()
	joined := open(t, o)
	eventually(t, "it begins with the state in the server", func() bool { return len(joined.Documents()) == len(docs) })
	changed := append(docs[:3:3], page("install", "Install", "Packages: Install it with brew.", "Build: Build it with make."))
	replace(t, joined, changed, nil)
	if hits := search(t, joined, retrieval.Query{Text: "upstream"}); len(hits) == 0 || hits[0].Document.Sections[hits[0].Section].Text == "" {
		t.Errorf("the process that joined finds %v", pages(hits))
	}
	if n := embedded(); has == 0 || n != has-1 {
		t.Errorf("of %d vectors, %d are left after a page of two sections changed, one of them with a vector", has, n)
	}
	var names []string
	var sections []int
	for _, d := range changed {
		for i := range d.Sections {
			names, sections = append(names, d.Page), append(sections, i)
		}
	}
	for i, v := range joined.Vectors(t.Context(), names, sections) {
		if (v == nil) != (names[i] == "install") {
			t.Errorf("section %d of %s: %v", sections[i], names[i], v)
		}
	}
	// So does a rebuild.
	if _, err := joined.Restore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if n := embedded(); n != has-1 {
		t.Errorf("after a rebuild, %d of %d vectors are left", n, has-1)
	}
	// But those of another model can't be compared.
	o.Dir, o.Model = t.TempDir(), "another"
	replace(t, open(t, o), changed, nil)
	if n := embedded(); n != 0 {
		t.Errorf("%d vectors of another model are left", n)
	}
}

// A fallback that is added to a site answers although no page changes.
func TestAFallbackThatIsAddedIsFilled(t *testing.T) {
	t.Parallel()
	s := fake(t)
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()}
	x := open(t, o)
	replace(t, x, site(), vectorsOf(site()))
	x.Close()
	o.Fallback = true
	x = open(t, o)
	eventually(t, "vectors are wanted again", x.LacksVectors)
	s.Break(meiliserver.Down)
	if hits := search(t, x, retrieval.Query{Text: "upstream"}); len(hits) == 0 || x.Counts().Fallback != 1 {
		t.Errorf("found %v, counts %+v", pages(hits), x.Counts())
	}
}

// A key for indexing that does not work takes no search away.
func TestAnUnusableKeyForIndexingLeavesSearch(t *testing.T) {
	t.Parallel()
	o := options(t)
	_, o.SearchKey = clientKeys(t, o)
	x := open(t, o)
	replace(t, x, site(), nil)
	x.Close()
	o.Key = "nobody-has-this-key"
	var log func() string
	o.Log, log = logged()
	x = open(t, o)
	if hits := search(t, x, retrieval.Query{Text: "upstream"}); len(hits) == 0 {
		t.Error("nothing is found")
	}
	replace(t, x, site()[1:], nil)
	if hits := search(t, x, retrieval.Query{Text: "certificates"}); len(hits) == 0 {
		t.Error("nothing is found after a refresh")
	}
	if !strings.Contains(log(), "does not know the api_key") || !strings.Contains(log(), "no Meilisearch server accepts the new pages") {
		t.Errorf("the log: %s", log())
	}
	if st := x.Status(t.Context())[0]; !strings.Contains(st.Error, "api_key") {
		t.Errorf("the status: %+v", st)
	}
}

// A change of one page costs three tasks at most, and sends nothing else.
func TestAPageIsChangedInThreeTasks(t *testing.T) {
	t.Parallel()
	s := fake(t)
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()})
	replace(t, x, site(), nil)
	tasks := func() (n int) {
		for _, route := range []string{
			"POST /indexes", "DELETE /indexes/*", "PATCH /indexes/*/settings", "POST /indexes/*/documents", "POST /indexes/*_state/documents",
			"POST /indexes/*/documents/delete-batch", "POST /swap-indexes",
		} {
			n += s.Calls(route)
		}
		return n
	}
	before, state := tasks(), 0
	s.Break(func(r *http.Request) *meiliserver.Fault {
		if strings.HasSuffix(r.URL.Path, "_state/documents") {
			state += int(r.ContentLength)
		}
		return nil
	})
	replace(t, x, append(site()[1:], page("guide/proxy", "Reverse proxy", "Upstreams: Requests go elsewhere.")), nil)
	if n := tasks() - before; n > 3 {
		t.Errorf("%d tasks", n)
	}
	if state == 0 || state > 500 {
		t.Errorf("%d bytes of the state were written", state)
	}
}
