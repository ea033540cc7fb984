package meilisearch_test

import (
	"slices"
	"strings"
	"testing"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

func TestTheStatusShowsTheServer(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	if st := x.Status(t.Context())[0]; st.Version == "" || st.Error != "" || st.Behind != 0 || len(st.Indexes) != 0 {
		t.Errorf("before there are pages: %+v", st)
	}
	docs := site()
	replace(t, x, docs, vectorsOf(docs))
	st := x.Status(t.Context())[0]
	want := []meilisearch.IndexStatus{{UID: uidOf(o), Documents: 9, Wanted: 9, Embedded: 8}}
	if st.URL != o.URLs[0] || st.Error != "" || st.Behind != 0 || !slices.Equal(st.Indexes, want) {
		t.Errorf("with pages: %+v", st)
	}
	if st.LastTask == nil || st.LastTask.Status != "succeeded" || st.LastTask.Type == "" || st.LastTask.Finished.IsZero() {
		t.Errorf("the last task: %+v", st.LastTask)
	}
	if line := st.String(); !strings.Contains(line, "; up to date; "+uidOf(o)+" 9 of 9 sections, 8 with vectors; last task ") {
		t.Errorf("for people: %s", line)
	}
	// A task that fails is shown.
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	key := "id"
	info, err := client.Index(uidOf(o)).AddDocuments(&[]map[string]any{{"id": "not an id"}}, &sdk.DocumentOptions{PrimaryKey: &key})
	finish(t, client, info, err)
	if last := x.Status(t.Context())[0].LastTask; last == nil || last.Status != "failed" || !strings.Contains(last.Error, "invalid_document_id") {
		t.Errorf("a task that failed: %+v", last)
	}
}

func TestTheStatusShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := fake(t)
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()}
	x := open(t, o)
	replace(t, x, site(), nil)
	s.Break(meiliserver.Down)
	replace(t, x, site()[1:], nil)
	if st := x.Status(t.Context())[0]; !strings.Contains(st.Error, "does not answer") || st.Behind <= 0 || st.Version != "1.50.0" {
		t.Errorf("a server that is down: %+v", st)
	}
	s.Break(nil)
	eventually(t, "the server is up to date", func() bool {
		st := x.Status(t.Context())[0]
		return st.Error == "" && st.Behind == 0 && len(st.Indexes) == 1 && st.Indexes[0].Documents == 6
	})
	s.Grant("half", "version", "search", "indexes.*", "tasks.get")
	o.Key = "half"
	if st := open(t, o).Status(t.Context())[0]; !strings.Contains(st.Error, "without the actions documents.add") {
		t.Errorf("a key with half the rights: %+v", st)
	}
	o.Key = "wrong"
	if st := open(t, o).Status(t.Context())[0]; !strings.Contains(st.Error, "does not know the api_key") {
		t.Errorf("a wrong key: %+v", st)
	}
}
