package source_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

// site is a folder, or a sitemap, that is kept indexed by the real parts.
type site struct {
	t         testing.TB
	ctx       context.Context
	index     *embedded.Index
	refresher *retrieval.Refresher
	refreshed chan struct{}
}

func serve(t testing.TB, dir string, from func(*ingest.Ingester) retrieval.Source) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	reader := ingest.New(ingest.Options{URL: "https://docs.example.com"})
	index, err := embedded.Open(embedded.Options{Dir: filepath.Join(dir, "index")})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, ctx: ctx, index: index, refreshed: make(chan struct{}, 1)}
	s.refresher = retrieval.NewRefresher(retrieval.RefresherOptions{
		Site: "acme", Source: from(reader), Ingester: reader, Index: index, Restore: index.Restore, Dir: dir, Log: slog.New(slog.DiscardHandler),
		OnReport: func(retrieval.Report, error) {
			select {
			case s.refreshed <- struct{}{}:
			default:
			}
		},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.refresher.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		index.Close()
	})
	return s
}

func folder(root string) func(*ingest.Ingester) retrieval.Source {
	return func(in *ingest.Ingester) retrieval.Source {
		return &source.Folder{Root: root, Wants: in.Wants, Log: slog.New(slog.DiscardHandler)}
	}
}

// pages are those a search returns.
func (s *site) pages(query string) []string {
	hits, err := s.index.Search(s.ctx, retrieval.Query{Text: query, Limit: 50})
	if err != nil {
		return []string{err.Error()}
	}
	list := []string{}
	for _, h := range hits {
		list = append(list, h.Document.Page)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// eventually waits until a search returns just these pages.
func (s *site) eventually(query string, want ...string) {
	s.t.Helper()
	for {
		got := s.pages(query)
		if slices.Equal(got, want) || len(got)+len(want) == 0 {
			return
		}
		select {
		case <-s.refreshed:
		case <-s.ctx.Done():
			s.t.Fatalf("search for %q returns %q, want %q; status %+v", query, got, want, s.refresher.Status())
		}
	}
}

func put(t testing.TB, dir, file, text string) {
	t.Helper()
	name := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSearchFollowsTheFolder(t *testing.T) {
	root := t.TempDir()
	put(t, root, "index.html", "<html><head><title>Front</title></head><body><main><h1>Front</h1><p>walrus</p></main></body></html>")
	put(t, root, "guide/a.md", "# Guide\n\nzebra\n")
	s := serve(t, t.TempDir(), folder(root))
	s.eventually("zebra", "guide/a")
	s.eventually("walrus", "")

	put(t, root, "guide/new/b.md", "# New\n\nzebra\n")
	s.eventually("zebra", "guide/a", "guide/new/b")
	put(t, root, "guide/a.md", "# Guide\n\ngiraffe\n")
	s.eventually("zebra", "guide/new/b")
	s.eventually("giraffe", "guide/a")
	must(t, os.Rename(filepath.Join(root, "guide/new"), filepath.Join(root, "guide/newer")))
	s.eventually("zebra", "guide/newer/b")
	must(t, os.RemoveAll(filepath.Join(root, "guide/newer")))
	s.eventually("zebra")
	put(t, root, "guide/a.html", "<title>HTML</title><main><p>ostrich</p></main>")
	s.eventually("giraffe")
	s.eventually("ostrich", "guide/a")
	must(t, os.Remove(filepath.Join(root, "guide/a.html")))
	s.eventually("giraffe", "guide/a")
}

func TestNoSearchMixesTwoReleases(t *testing.T) {
	base := t.TempDir()
	const pages = 30
	// No two so alike that one is taken for a misspelling of the other.
	releases := []string{"alabaster", "bumblebee", "crocodile", "dandelion", "elephant"}
	for r, word := range releases {
		for p := range pages {
			put(t, base, fmt.Sprintf("releases/%d/p%02d.md", r, p), fmt.Sprintf("# Page\n\nzebra %d of %s\n", p, word))
		}
	}
	link := filepath.Join(base, "docs")
	must(t, os.Symlink("releases/0", link))
	s := serve(t, t.TempDir(), folder(link))
	all := s.titles(pages)
	s.eventually("alabaster", all...)

	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				hits, err := s.index.Search(s.ctx, retrieval.Query{Text: "zebra", Limit: 50})
				if err != nil || len(hits) != pages {
					t.Errorf("%d hits, %v", len(hits), err)
					return
				}
				for _, h := range hits {
					release := func(h retrieval.Hit) string {
						return path.Base(strings.ReplaceAll(h.Document.Sections[h.Section].Text, " ", "/"))
					}
					if a, b := release(h), release(hits[0]); a != b {
						t.Errorf("one answer has %q and %q", a, b)
						return
					}
				}
			}
		})
	}
	for r := 1; r < len(releases); r++ {
		must(t, os.Symlink(fmt.Sprintf("releases/%d", r), link+".new"))
		must(t, os.Rename(link+".new", link))
		s.eventually(releases[r], all...)
	}
	close(stop)
	group.Wait()
}

func (s *site) titles(n int) []string {
	var list []string
	for p := range n {
		list = append(list, fmt.Sprintf("p%02d", p))
	}
	return list
}

func TestBadFilesAreNamedAndTheRestIsFound(t *testing.T) {
	root := t.TempDir()
	put(t, root, "good.md", "# Good\n\nzebra\n")
	put(t, root, "binary.md", "zebra\x00\x01\x02\xff\xfe"+strings.Repeat("\x00", 1000))
	put(t, root, "line.md", "# Long\n\nzebra "+strings.Repeat("word ", 100_000))
	put(t, root, "line.html", "<main><p>quagga "+strings.Repeat("x", 10<<20))
	large, err := os.Create(filepath.Join(root, "large.html"))
	must(t, err)
	must(t, large.Truncate(50<<20))
	must(t, large.Close())
	must(t, os.Symlink(".", filepath.Join(root, "loop")))
	if err := source.MakePipe(filepath.Join(root, "pipe.md")); err != nil {
		t.Skip(err)
	}
	s := serve(t, t.TempDir(), folder(root))
	s.eventually("good", "good")
	status := s.refresher.Status()
	named := map[string]string{}
	for _, p := range status.Problems {
		named[p.File] = p.Reason
	}
	if !strings.Contains(named["large.html"], "larger than 12 MB") || !strings.Contains(named["binary.md"], "binary") {
		t.Errorf("problems %v", named)
	}
	put(t, root, "more.md", "# More\n\nzebra\n")
	s.eventually("more", "more")
}

func TestAFolderThatVanishesAndComesBack(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "docs")
	for i := range 20 {
		put(t, root, fmt.Sprintf("p%02d.md", i), fmt.Sprintf("# Page\n\nzebra %d\n", i))
	}
	s := serve(t, t.TempDir(), folder(root))
	all := s.titles(20)
	s.eventually("zebra", all...)
	must(t, os.Rename(root, root+".away"))
	for s.refresher.Status().Held == "" {
		select {
		case <-s.refreshed:
		case <-s.ctx.Done():
			t.Fatal("the folder's end went unnoticed")
		}
	}
	s.eventually("zebra", all...)
	put(t, root+".away", "p20.md", "# Page\n\nzebra 20\n")
	must(t, os.Rename(root+".away", root))
	s.eventually("zebra", s.titles(21)...)
}

func TestSearchFollowsTheSitemap(t *testing.T) {
	var mu sync.Mutex
	pages := map[string]string{"/a": "zebra one", "/b": "zebra two"}
	status := map[string]int{}
	asked := map[string]int{}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/sitemap.xml" {
			fmt.Fprint(w, "<urlset>")
			for p := range pages {
				fmt.Fprintf(w, "<url><loc>%s%s</loc></url>", server.URL, p)
			}
			fmt.Fprint(w, "</urlset>")
			return
		}
		text, ok := pages[r.URL.Path]
		switch {
		case status[r.URL.Path] != 0:
			w.WriteHeader(status[r.URL.Path])
		case !ok:
			http.NotFound(w, r)
		case r.Header.Get("If-None-Match") == `"`+text+`"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			asked[r.URL.Path]++
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("ETag", `"`+text+`"`)
			fmt.Fprintf(w, "<html><head><title>Page</title></head><body><main><h1>Page</h1><p>%s</p></main></body></html>", text)
		}
	}))
	t.Cleanup(server.Close)
	s := serve(t, t.TempDir(), func(in *ingest.Ingester) retrieval.Source {
		return &source.Sitemap{URL: server.URL + "/sitemap.xml", AllowPrivate: true, Wants: in.Wants}
	})
	change := func(do func()) retrieval.Report {
		t.Helper()
		mu.Lock()
		do()
		mu.Unlock()
		report, err := s.refresher.Refresh(s.ctx)
		must(t, err)
		return report
	}
	s.eventually("zebra", "a", "b")
	if report := change(func() {}); report.Published {
		t.Errorf("nothing changed: %+v", report)
	}
	change(func() { status["/a"] = 503; pages["/b"] = "giraffe" })
	s.eventually("zebra", "a")
	s.eventually("giraffe", "b")
	if problems := s.refresher.Status().Problems; len(problems) != 1 || !strings.Contains(problems[0].Reason, "503") {
		t.Errorf("problems %+v", problems)
	}
	change(func() { status["/a"] = 410; pages["/c"] = "zebra" })
	s.eventually("zebra", "c")
	mu.Lock()
	defer mu.Unlock()
	if asked["/a"] != 1 || asked["/b"] != 2 || asked["/c"] != 1 {
		t.Errorf("pages sent: %v", asked)
	}
}

// BenchmarkAChangeUntilItIsFound writes one page of 10,000 and searches
// until it is found: what a reader sees of a change.
func BenchmarkAChangeUntilItIsFound(b *testing.B) {
	root := b.TempDir()
	text := strings.Repeat("Some words on a page about servers and their certificates. ", 20)
	for i := range 10_000 {
		put(b, root, fmt.Sprintf("d%d/p%d.md", i%100, i), fmt.Sprintf("# Page %d\n\n%s\n\n## More\n\n%s\n", i, text, text))
	}
	s := serve(b, b.TempDir(), folder(root))
	for s.refresher.Status().Pages != 10_000 {
		<-s.refreshed
	}
	b.ReportAllocs()
	var times []time.Duration
	for n := 0; b.Loop(); n++ {
		word := unlike(n)
		start := time.Now()
		put(b, root, "d7/fresh.md", "# Fresh\n\n"+word+"\n")
		s.eventually(word, "d7/fresh")
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*95/100].Milliseconds()), "p95-ms")
}

// unlike makes words of which none is a misspelling of another.
func unlike(n int) string {
	sum := sha256.Sum256([]byte{byte(n), byte(n >> 8)})
	word := make([]byte, 12)
	for i := range word {
		word[i] = 'a' + sum[i]%26
	}
	return string(word)
}

func TestARestartAnswersFromDiskAndReadsNothing(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	old := time.Now().Add(-time.Hour)
	for i := range 20 {
		put(t, root, fmt.Sprintf("p%02d.md", i), fmt.Sprintf("# Page\n\nzebra %d\n", i))
		must(t, os.Chtimes(filepath.Join(root, fmt.Sprintf("p%02d.md", i)), old, old))
	}
	run := func() (*embedded.Index, *retrieval.Refresher) {
		t.Helper()
		reader := ingest.New(ingest.Options{})
		index, err := embedded.Open(embedded.Options{Dir: filepath.Join(dir, "index")})
		must(t, err)
		index.Restore(t.Context(), func(int, int) {})
		return index, retrieval.NewRefresher(retrieval.RefresherOptions{
			Source: folder(root)(reader), Ingester: reader, Index: index, Restore: index.Restore, Dir: filepath.Join(dir, "pages"), Log: slog.New(slog.DiscardHandler),
		})
	}
	index, refresher := run()
	report, err := refresher.Refresh(t.Context())
	must(t, err)
	if report.Read != 20 || report.Added != 20 {
		t.Errorf("first start: %+v", report)
	}
	must(t, index.Close())

	index, refresher = run()
	defer index.Close()
	if hits, err := index.Search(t.Context(), retrieval.Query{Text: "zebra", Limit: 5}); err != nil || len(hits) != 5 || !refresher.Status().Ready {
		t.Errorf("before any refresh: %d hits, %v", len(hits), err)
	}
	report, err = refresher.Refresh(t.Context())
	must(t, err)
	if report.Read != 0 || report.Published || report.Pages != 20 {
		t.Errorf("second start: %+v", report)
	}
}

func TestPagesThatTheConfigurationNoLongerIncludesAreNotHeldBack(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	for i := range 20 {
		put(t, root, fmt.Sprintf("guide/p%02d.md", i), fmt.Sprintf("# Page\n\nzebra %d\n", i))
	}
	put(t, root, "api/run.md", "# Run\n\nzebra\n")
	for _, c := range []struct {
		include []string
		pages   int
	}{{nil, 21}, {[]string{"/api/**"}, 1}, {nil, 21}, {[]string{"/nothing/**"}, 0}} {
		reader := ingest.New(ingest.Options{Include: c.include})
		index, err := embedded.Open(embedded.Options{Dir: filepath.Join(dir, "index")})
		must(t, err)
		report, err := retrieval.NewRefresher(retrieval.RefresherOptions{
			Source: folder(root)(reader), Ingester: reader, Index: index, Restore: index.Restore, Dir: filepath.Join(dir, "pages"), Log: slog.New(slog.DiscardHandler),
		}).Refresh(t.Context())
		must(t, err)
		if report.Held != "" || report.Pages != c.pages {
			t.Errorf("include %v: %d pages, held: %q", c.include, report.Pages, report.Held)
		}
		must(t, index.Close())
	}
}
