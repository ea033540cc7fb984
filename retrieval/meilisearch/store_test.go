package meilisearch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestTheStoreKeepsEachPageOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t.TempDir())
	defer s.close()
	d := &retrieval.Document{Page: "a", Title: "A", Hash: "1", Sections: []retrieval.Section{{Heading: "One", Text: "Text."}}}
	o, err := s.keep(d)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Outline || len(o.Sections) != 1 || o.Sections[0].Text != "" {
		t.Errorf("the outline: %+v", o)
	}
	size := s.size
	for range 3 {
		if _, err := s.keep(d); err != nil {
			t.Fatal(err)
		}
	}
	if s.size != size {
		t.Errorf("the file grew from %d to %d bytes", size, s.size)
	}
	o.Hash, o.Breadcrumbs = "1+x", []string{"Above"} // what other pages add
	full, err := s.whole(o)
	if err != nil || full.Outline || full.Sections[0].Text != "Text." || len(full.Breadcrumbs) != 1 {
		t.Errorf("the whole document: %+v, %v", full, err)
	}

	// A damaged file is noticed, and what is read again replaces it.
	path := filepath.Join(s.dir, s.own)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.whole(o); !errors.Is(err, errNotStored) {
		t.Errorf("a damaged file: %v", err)
	}
	if _, err := s.keep(d); err != nil {
		t.Fatal(err)
	}
	if full, err = s.whole(o); err != nil || full.Sections[0].Text != "Text." {
		t.Errorf("after it is kept again: %+v, %v", full, err)
	}
}
