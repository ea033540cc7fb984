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
	if st := x.Status(t.Context())[0]; !strings.Contains(st.Error, "is not responding") || st.Behind <= 0 || st.Version != "1.50.0" {
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

// holdSections makes a server hold one of the requests with sections until release
// is closed. They are counted, and held is closed when that one came.
func holdSections(s *meiliserver.Server, which int64) (sent *atomic.Int64, held, release chan struct{}) {
	sent, held, release = new(atomic.Int64), make(chan struct{}), make(chan struct{})
	s.Break(func(r *http.Request) *meiliserver.Fault {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/documents") && !strings.Contains(r.URL.Path, "_state") && sent.Add(1) == which {
			close(held)
			<-release
		}
		return nil
	})
	return sent, held, release
}

// While a server is filled, the status shows how far it is.
func TestTheStatusShowsTheProgressOfAFill(t *testing.T) {
	t.Parallel()
	s := fake(t)
	var docs []*retrieval.Document
	const pages, sections = 100, 41 // in several requests
	for i := range pages {
		docs = append(docs, page(fmt.Sprint("p/", i), "Page", slices.Repeat([]string{"One: Something."}, sections)...))
	}
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()})
	_, second, release := holdSections(s, 2)
	done := make(chan error, 1)
	go func() { done <- x.Replace(t.Context(), docs, nil) }()
	<-second
	st := x.Status(t.Context())[0]
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if st.Sent == 0 || st.Sent >= st.Sending || st.Sending != pages*sections || st.Rate <= 0 {
		t.Errorf("while it is filled: %+v", st)
	}
	if line := st.String(); !strings.Contains(line, fmt.Sprintf("; %d of 4100 sections sent, ", st.Sent)) || !strings.Contains(line, " a second") {
		t.Errorf("for people: %s", line)
	}
	if st := x.Status(t.Context())[0]; st.Sent+st.Sending != 0 || !strings.Contains(st.String(), "up to date") {
		t.Errorf("afterwards: %+v", st)
	}
}

// However many searches fail, an outage is one line of the log, its end another,
// and the searches are counted.
func TestAnOutageIsOneEventAndACounter(t *testing.T) {
	t.Parallel()
	s := fake(t)
	log, text := logged()
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: log})
	replace(t, x, site(), nil)
	for outage := 1; outage <= 2; outage++ {
		s.Break(meiliserver.Down)
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for range 50 {
					if _, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5}); !errors.Is(err, retrieval.ErrUnavailable) {
						t.Errorf("a search of a server that is down: %v", err)
					}
				}
			})
		}
		clients.Wait()
		if n := strings.Count(text(), "a Meilisearch server is not responding"); n != outage {
			t.Errorf("%d lines about %d outages", n, outage)
		}
		if got := x.Counts(); got.Failed != uint64(400*outage) {
			t.Errorf("counted %+v", got)
		}
		s.Break(nil)
		eventually(t, "the server is searched again", func() bool {
			return strings.Count(text(), "a Meilisearch server is responding again") == outage
		})
	}
}

// A search without the vector that this process's embedder should have made is
// one by keywords only; without an embedder, it is not.
func TestSearchesWhoseEmbedderFailedAreCounted(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]meilisearch.Counts{"m": {Answered: 1, KeywordOnly: 2}, "": {Answered: 3}} {
		o := options(t)
		o.Model = model
		x := open(t, o)
		vectors := vectorsOf(site())
		query := retrieval.Query{Text: "upstream"}
		if model == "" {
			vectors = nil
		} else {
			query.Vector = vectors[0][0]
		}
		replace(t, x, site(), vectors)
		search(t, x, query)
		for range 2 { // the embedder fails, or there is none
			search(t, x, retrieval.Query{Text: "upstream"})
		}
		if got := x.Counts(); got != want {
			t.Errorf("with the model %q: counted %+v, want %+v", model, got, want)
		}
	}
}
