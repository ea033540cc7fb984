package meilisearch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// oddValues are n different ones, made of what means something to the parser
// of filters.
func oddValues(n int) []string {
	pieces := []string{`\`, `"`, `'`, `\"`, `\\`, `\n`, `\u0041`, `\u{41}`, `\x41`, `\101`, "\n", "\t", " ", "a", "b", "=", "(", ")", "[", "]", ",", " OR ", " AND ", " NOT ", " IN ", "tags", "EXISTS", "é", "語", "🦀", "{", "}", "/", "*", "_geoRadius(1,2,3)"}
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{"": true}
	var out []string
	for len(out) < n {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if v := normal(b.String()); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// The property that FuzzNoValueChangesAFilter has, against a server's own
// parser: each value finds the one page that has it.
func TestEachOddValueFindsItsPageAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("much work of one goroutine")
	}
	t.Parallel()
	o := Options{Site: "acme", Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Prefix: "docs"}
	if o.Key = os.Getenv("MEILISEARCH_KEY"); os.Getenv("MEILISEARCH_URL") != "" {
		o.URLs, o.Prefix = []string{os.Getenv("MEILISEARCH_URL")}, fmt.Sprintf("docs-f%x", time.Now().UnixNano())
	} else {
		s := meiliserver.New()
		t.Cleanup(s.Close)
		o.URLs, o.Key = []string{s.URL}, s.Key
	}
	x, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	values := oddValues(400)
	docs := make([]*retrieval.Document, len(values))
	for i, v := range values {
		docs[i] = &retrieval.Document{
			Page: fmt.Sprint("p/", i), Title: "Page", Hash: v, Tags: []string{v}, Version: v,
			Sections: []retrieval.Section{{Text: "Some words."}},
		}
	}
	if err := x.Replace(t.Context(), docs, nil); err != nil {
		t.Fatal(err)
	}
	in := x.servers[0]
	uid := x.uidPrefix + "und"
	t.Cleanup(func() {
		for _, uid := range []string{uid, x.uidPrefix + stateIndex} {
			_ = in.drop(context.Background(), uid)
		}
	})
	for i, v := range values {
		for _, f := range []retrieval.Filter{{Tag: v}, {Version: v}, {Tag: v, Version: v}, {Tag: v, Version: values[(i+1)%len(values)]}} {
			expression, ok := filterOf(f)
			if !ok {
				t.Fatalf("%q is taken for too long", v)
			}
			found, err := in.search(t.Context(), in.searchKey, []searchRequest{{IndexUID: uid, Filter: expression, Limit: 1000, Attributes: []string{"page"}}})
			if err != nil {
				t.Errorf("%q: %v", v, err)
				continue
			}
			want := 1
			if f.Tag != "" && f.Version != "" && f.Tag != f.Version {
				want = 0
			}
			var pages []string
			for _, hit := range found[0].Hits {
				pages = append(pages, hit.Page)
			}
			if len(pages) != want || want == 1 && pages[0] != docs[i].Page {
				t.Errorf("%q (%s) finds %v, want %s", v, expression, pages, docs[i].Page)
			}
		}
	}
}
