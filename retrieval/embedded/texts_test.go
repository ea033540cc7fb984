package embedded

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// long returns pages whose texts together are too long to be held.
func long() (docs []*retrieval.Document) {
	for i := range 5 {
		d := page(fmt.Sprint("page-", i), fmt.Sprint("Page ", i), "Install", fmt.Sprintf("Number%d word. ", i)+strings.Repeat("filler ", heldTexts/20), "Configure", fmt.Sprintf("Set option%d.", i))
		d.Hash, d.Links = fmt.Sprint("hash-", i), []retrieval.Link{{Page: "page-0", Text: "first"}}
		docs = append(docs, d)
	}
	return docs
}

func keep(t *testing.T, x *Index, docs []*retrieval.Document) (kept []*retrieval.Document, outlines int) {
	for _, d := range docs {
		k, err := x.Keep(d)
		if err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, k); k.Outline {
			outlines++
		}
	}
	return kept, outlines
}

func TestTextsOfALargeSiteAreNotHeldUntilTheyArePublished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	x := opened(t, Options{Dir: dir})
	docs := long()
	other := page("page-4", "Another file of page 4", "Install", "Not this one.")
	other.Hash = "other"
	kept, outlines := keep(t, x, append(docs, other))
	if outlines != 4 || kept[1] != docs[1] || kept[3].Sections[0].Text != "" {
		t.Fatalf("%d outlines, the texts of which are %d bytes", outlines, len(kept[3].Sections[0].Text))
	}
	if err := x.Replace(context.Background(), kept[:5], nil); err != nil {
		t.Fatal(err)
	}
	check := func(x *Index) {
		t.Helper()
		for i, d := range docs {
			if hits := search(t, x, retrieval.Query{Text: fmt.Sprint("option", i)}); len(hits) != 1 || hits[0].Content() != d.Sections[1].Text {
				t.Errorf("page %d: %v", i, hits)
			}
			whole, err := x.Page(context.Background(), d.Page)
			if err != nil || whole.Sections[0].Text != d.Sections[0].Text || len(whole.Links) != 1 {
				t.Errorf("page %d: %v", i, err)
			}
		}
	}
	check(x)
	if files, _ := os.ReadDir(dir); len(files) != 1 || files[0].Name() != snapshotFile {
		t.Errorf("the folder has %v", files)
	}
	if err := x.Replace(context.Background(), x.Documents(), nil); err != nil {
		t.Fatal(err)
	}
	if err := x.Replace(context.Background(), kept[:5], nil); err != nil {
		t.Errorf("outlines of the same pages: %v", err)
	}
	check(x)
	again := opened(t, Options{Dir: dir})
	again.Restore(context.Background(), func(int, int) {})
	check(again)
}

func TestTextsStayInMemoryWhereTheyCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", filepath.Join(file, "dir")} {
		x := opened(t, Options{Dir: dir})
		kept, outlines := keep(t, x, long())
		if outlines > 0 {
			t.Fatalf("%q: %d outlines", dir, outlines)
		}
		if err := x.Replace(context.Background(), kept, nil); err != nil {
			t.Fatal(err)
		}
		if hits := search(t, x, retrieval.Query{Text: "option3"}); len(hits) != 1 || hits[0].Content() != "Set option3." {
			t.Errorf("%q: %v", dir, hits)
		}
	}
}
