package embedded

import (
	"context"
	"errors"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func page(path, title string, sections ...string) *retrieval.Document {
	d := &retrieval.Document{Page: path, URL: "/" + path, Title: title, Hash: path + title}
	for i := 0; i+1 < len(sections); i += 2 {
		d.Hash += sections[i] + sections[i+1]
		d.Sections = append(d.Sections, retrieval.Section{Anchor: sections[i], Heading: sections[i], Level: 2, Text: sections[i+1]})
	}
	return d
}

func opened(t testing.TB, o Options, docs ...*retrieval.Document) *Index {
	t.Helper()
	x, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	x.Restore(context.Background(), func(int, int) {})
	if docs != nil {
		if err := x.Replace(context.Background(), docs, nil); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func search(t testing.TB, x *Index, q retrieval.Query) []retrieval.Hit {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	hits, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func TestASearchBeforeTheFirstGenerationIsNotReady(t *testing.T) {
	x := opened(t, Options{})
	if _, err := x.Search(context.Background(), retrieval.Query{Text: "x", Limit: 1}); !errors.Is(err, retrieval.ErrNotReady) {
		t.Fatalf("got %v, want ErrNotReady", err)
	}
}

func TestThePageWhoseTitleIsTheQueryComesFirst(t *testing.T) {
	x := opened(t, Options{},
		page("log", "Logging", "Levels", "How to log in JSON."),
		page("tls", "TLS", "Logging", "logging logging of handshakes and more"),
	)
	hits := search(t, x, retrieval.Query{Text: "logging"})
	if len(hits) != 2 || hits[0].Document.Page != "log" {
		t.Fatalf("got %v", hits)
	}
}

func TestAReloadSearchesThePagesOfTheRunningIndex(t *testing.T) {
	dir := t.TempDir()
	running := opened(t, Options{Dir: dir}, hashed()...)
	x := opened(t, Options{Dir: dir, Running: running, Synonyms: [][]string{{"setzen", "install"}}})
	hits := search(t, x, retrieval.Query{Text: "setzen"})
	if len(hits) == 0 || hits[0].Content() == "" {
		t.Fatalf("before its first Replace it finds %v", hits)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	next := append(x.Documents()[1:], page("new", "New", "Novelty", "A page about novelty."))
	if err := x.Replace(context.Background(), next, nil); err != nil {
		t.Fatal(err)
	}
	if hits := search(t, x, retrieval.Query{Text: "novelty"}); len(hits) != 1 || hits[0].Content() != "A page about novelty." {
		t.Errorf("after its first Replace it finds %v", hits)
	}
}
