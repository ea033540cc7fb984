package meilisearch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// real is the server that MEILISEARCH_URL and MEILISEARCH_KEY name.
func real() (url, key string, ok bool) {
	url, key = os.Getenv("MEILISEARCH_URL"), os.Getenv("MEILISEARCH_KEY")
	return url, key, url != ""
}

// options are those of a new site on the server under test, which loses the
// site's indexes when the test ends.
func options(t *testing.T) meilisearch.Options {
	t.Helper()
	o := meilisearch.Options{Site: "acme", Dir: t.TempDir(), Log: quiet()}
	if url, key, ok := real(); ok {
		o.URLs, o.Key, o.Prefix = []string{url}, key, strings.ToLower(fmt.Sprintf("docs-t%x", time.Now().UnixNano()))
		t.Cleanup(func() { wipe(t, url, key, o.Prefix) })
		return o
	}
	s := fake(t)
	o.URLs, o.Key = []string{s.URL}, s.Key
	return o
}

// fakes are the fake servers by URL.
var fakes sync.Map

func fake(t *testing.T) *meiliserver.Server {
	t.Helper()
	s := meiliserver.New()
	fakes.Store(s.URL, s)
	t.Cleanup(func() {
		s.Break(nil)
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// held is the number of documents by index, without the index of the state.
func held(s *meiliserver.Server) map[string]int {
	all := s.Indexes()
	maps.DeleteFunc(all, func(uid string, _ int) bool { return strings.HasSuffix(uid, "_state") })
	return all
}

func wipe(t *testing.T, url, key, prefix string) {
	client := sdk.New(url, sdk.WithAPIKey(key))
	list, err := client.ListIndexes(&sdk.IndexesQuery{Limit: 1000})
	if err != nil {
		t.Error(err)
		return
	}
	for _, x := range list.Results {
		if strings.HasPrefix(strings.TrimPrefix(x.UID, "_"), prefix) {
			if _, err := client.DeleteIndex(x.UID); err != nil {
				t.Error(err)
			}
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// patient timeouts are met by a slow machine, too.
var patient = meilisearch.Timeouts{Probe: time.Minute, Search: time.Minute, Server: time.Minute, Embedder: time.Minute}

// open opens an index that waits for its servers as long as a slow machine
// needs, unless the test sets a timeout.
func open(t *testing.T, o meilisearch.Options) *meilisearch.Index {
	t.Helper()
	if o.Timeouts == (meilisearch.Timeouts{}) {
		o.Timeouts = patient
	}
	x, err := meilisearch.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func page(name, title string, sections ...string) *retrieval.Document {
	d := &retrieval.Document{Page: name, URL: "/" + name, File: name + ".md", Title: title, Hash: title + strings.Join(sections, "|")}
	for i, s := range sections {
		heading, text, _ := strings.Cut(s, ": ")
		d.Sections = append(d.Sections, retrieval.Section{Anchor: fmt.Sprint("s", i), Heading: heading, Level: 2, Text: text})
	}
	return d
}

func site() []*retrieval.Document {
	proxy := page("guide/proxy", "Reverse proxy", "Upstreams: Requests go to an upstream server.", "Health checks: An unhealthy upstream gets no requests.", "Headers: Headers of the request are passed on.")
	proxy.Tags, proxy.Version = []string{"HTTP", `we"ird\`}, "2.x"
	files := page("guide/files", "File server", "Browse: Lists a folder as a page.", "Hide: Files that are not served.")
	files.Version = "1.x"
	return []*retrieval.Document{
		proxy, files,
		page("guide/tls", "Automatic HTTPS", "Certificates: Certificates are obtained and renewed.", "Wildcards: A wildcard certificate needs a DNS challenge."),
		page("install", "Install", "Packages: Install the package with apt.", "Build: Build it from source with go build."),
	}
}

func replace(t *testing.T, x *meilisearch.Index, docs []*retrieval.Document, vectors [][][]float32) {
	t.Helper()
	if err := x.Replace(t.Context(), docs, of(vectors)); err != nil {
		t.Fatal(err)
	}
}

func search(t *testing.T, x retrieval.Index, q retrieval.Query) []retrieval.Hit {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	hits, err := x.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func pages(hits []retrieval.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Document.Page)
	}
	return out
}

// The contract that every index keeps, on a real server or the fake.
func TestAnIndexIsSearchedAndReplacedWhole(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	if _, err := x.Search(t.Context(), retrieval.Query{Text: "proxy", Limit: 5}); !errors.Is(err, retrieval.ErrNotReady) {
		t.Fatalf("before the first generation: %v", err)
	}
	replace(t, x, site(), nil)
	if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 || got[0] != "guide/proxy" {
		t.Errorf("upstream finds %v", got)
	}
	if d, err := x.Page(t.Context(), "install"); err != nil || d == nil || d.Title != "Install" {
		t.Errorf("page: %v %v", d, err)
	}
	if d, err := x.Page(t.Context(), "nowhere"); err != nil || d != nil {
		t.Errorf("a page that is not there: %v %v", d, err)
	}
	if len(x.Documents()) != 4 {
		t.Errorf("%d documents", len(x.Documents()))
	}
	if hits := search(t, x, retrieval.Query{Text: "xyzzyplugh"}); hits == nil || len(hits) != 0 {
		t.Errorf("nonsense finds %v", hits)
	}
	replace(t, x, site()[1:], nil)
	if got := search(t, x, retrieval.Query{Text: "upstream"}); len(got) != 0 {
		t.Errorf("a page that is gone is found: %v", pages(got))
	}
}

func TestScoresAreThoseOfTheEmbeddedIndex(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	e, err := embedded.Open(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	replace(t, x, site(), nil)
	if err := e.Replace(t.Context(), site(), nil); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, text := range []string{"reverse proxy", "wildcard certificate", "browse a folder", "install package", "headers", "file server hide"} {
		want := map[string]float64{}
		for _, h := range search(t, e, retrieval.Query{Text: text}) {
			want[h.Document.Page+h.Document.Sections[h.Section].Anchor] = h.Score
		}
		last := 1.0
		for i, h := range search(t, x, retrieval.Query{Text: text}) {
			if h.Score > last || h.Score < 0 {
				t.Errorf("%s: score %v after %v", text, h.Score, last)
			}
			last = h.Score
			if w, ok := want[h.Document.Page+h.Document.Sections[h.Section].Anchor]; ok && i == 0 {
				compared++
				if math.Abs(w-h.Score) > 1e-6 {
					t.Errorf("%s: the score is %v, that of the embedded index %v", text, h.Score, w)
				}
			}
		}
		for _, h := range search(t, x, retrieval.Query{Text: text, Threshold: .6}) {
			if h.Score < .6 {
				t.Errorf("%s: %v passes a threshold of .6", text, h.Score)
			}
		}
	}
	if compared < 4 {
		t.Errorf("only %d scores could be compared", compared)
	}
}

// Passages for models have their code and links, after a restart, too.
func TestAPageHasItsMarksAndLinks(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	d := page("a", "A", "One: See the other page.")
	d.Links = []retrieval.Link{{Page: "b", Anchor: "c", Text: "the other page"}}
	d.Sections[0].Marks = retrieval.Marks(nil).Append(4, retrieval.MarkLink, 0).Append(14, retrieval.MarkLinkEnd, 0)
	replace(t, x, []*retrieval.Document{d}, nil)
	x.Close()
	got, err := open(t, o).Page(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	text := got.Sections[0].Marked(func(i int) string { return "/" + got.Links[i].Page + "#" + got.Links[i].Anchor })
	if want := "See [the other page](/b#c)."; text != want {
		t.Errorf("the passage is %q, want %q", text, want)
	}
}

// The server returns the similarities of the nearest sections alone.
func TestSectionsFoundByWordsHaveTheirSimilarity(t *testing.T) {
	t.Parallel()
	docs, vectors := make([]*retrieval.Document, 120), make([][][]float32, 120)
	for i := range docs {
		text := "Text: common"
		if i == 59 { // not among the nearest 50
			text = "Text: zebra"
		}
		angle := float64(i) * .005
		if i >= 60 {
			angle = math.Pi / 2
		}
		docs[i] = page(fmt.Sprintf("p%d", i), fmt.Sprintf("Title%d", i), text)
		vectors[i] = [][]float32{{float32(math.Cos(angle)), float32(math.Sin(angle)), 0}}
	}
	e, err := embedded.Open(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Replace(t.Context(), docs, of(vectors)); err != nil {
		t.Fatal(err)
	}
	score := func(x retrieval.Index) float64 {
		t.Helper()
		for _, h := range search(t, x, retrieval.Query{Text: "zebra quagga okapi", Vector: []float32{1, 0, 0}, Limit: 200}) {
			if h.Document.Page == "p59" {
				return h.Score
			}
		}
		t.Fatal("the section with the word is not found")
		return 0
	}
	o := options(t)
	x := open(t, o)
	replace(t, x, docs, vectors)
	want, got := score(e), score(x)
	x.Close()
	again := score(open(t, o))
	if math.Abs(got-want) > .01 || math.Abs(again-want) > .01 {
		t.Errorf("the score is %v, after a restart %v, that of the embedded index %v", got, again, want)
	}
}

func TestOfAPageTwoSectionsAreFoundAtMost(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	docs := []*retrieval.Document{page("a", "Proxy", "One: proxy", "Two: proxy", "Three: proxy", "Four: proxy"), page("b", "Other", "One: a proxy there")}
	replace(t, x, docs, nil)
	count := map[string]int{}
	for _, p := range pages(search(t, x, retrieval.Query{Text: "proxy"})) {
		count[p]++
	}
	if count["a"] != 2 || count["b"] != 1 {
		t.Errorf("found %v", count)
	}
}

// A server finds sections that are equally good in any order.
func TestAPagesNameLeadsToItsBeginning(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	docs := []*retrieval.Document{page("ledger", "Ledger", ": Keeps records.", "One: A ledger.", "Two: A ledger, the ledger."), page("b", "Other", "One: a ledger there")}
	replace(t, x, docs, nil)
	docs[0] = page("ledger", "Ledger", ": Keeps all records.", "One: A ledger.", "Two: A ledger, the ledger.")
	replace(t, x, docs, nil)
	if hit := search(t, x, retrieval.Query{Text: "ledger"})[0]; hit.Document.Page != "ledger" || hit.Section != 0 {
		t.Errorf("section %d of %s is first", hit.Section, hit.Document.Page)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	docs := site()
	fr := page("fr/proxy", "Proxy inverse", "Serveurs: Les requêtes vont au serveur request.")
	fr.Language = "fr"
	br := page("pt/proxy", "Proxy reverso", "Servidores: request server.")
	br.Language = "pt_BR"
	replace(t, x, append(docs, fr, br), nil)
	for _, tt := range []struct {
		name   string
		filter retrieval.Filter
		want   []string
	}{
		{"a version", retrieval.Filter{Version: "2.X"}, []string{"guide/proxy"}},
		{"a tag in other letters", retrieval.Filter{Tag: "http"}, []string{"guide/proxy"}},
		{"a tag with marks", retrieval.Filter{Tag: `we"ird\`}, []string{"guide/proxy"}},
		{"a language", retrieval.Filter{Language: "fr"}, []string{"fr/proxy"}},
		{"a language takes its regions", retrieval.Filter{Language: "pt"}, []string{"pt/proxy"}},
		{"a region", retrieval.Filter{Language: "pt-BR"}, []string{"pt/proxy"}},
		{"another region", retrieval.Filter{Language: "pt-PT"}, nil},
		{"an attempt to widen it", retrieval.Filter{Tag: `x\" OR version = "2.x`}, nil},
		{"another attempt", retrieval.Filter{Version: `x" OR version = "2.x`}, nil},
		{"a value beyond all bounds", retrieval.Filter{Version: strings.Repeat("2", 5000)}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := pages(search(t, x, retrieval.Query{Text: "request server proxy", Filter: tt.filter}))
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, tt.want) {
				t.Errorf("found %v, want %v", got, tt.want)
			}
		})
	}
}

// of returns vectors by document, as Replace takes them.
func of(vectors [][][]float32) func(int) [][]float32 {
	if vectors == nil {
		return nil
	}
	return func(i int) [][]float32 { return vectors[i] }
}

func vectorsOf(docs []*retrieval.Document) [][][]float32 {
	out := make([][][]float32, len(docs))
	n := 0
	for i, d := range docs {
		for range d.Sections {
			a := float64(n) * .35
			out[i] = append(out[i], []float32{float32(math.Cos(a)), float32(math.Sin(a)), .1})
			n++
		}
	}
	out[len(out)-1][0] = nil // one section without
	return out
}

func TestKeywordsAreSearchedWhileTheQueryIsEmbedded(t *testing.T) {
	t.Parallel()
	s := fake(t)
	o := options(t)
	o.URLs, o.Key = []string{s.URL}, s.Key
	x := open(t, o)
	docs := site()
	vectors := vectorsOf(docs)
	replace(t, x, docs, vectors)
	asked := s.Calls("POST /multi-search")
	q := retrieval.Query{Text: "upstream", Embed: sync.OnceValue(func() []float32 {
		for end := time.Now().Add(time.Minute); s.Calls("POST /multi-search") == asked; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return nil // nothing is found
			}
		}
		return vectors[2][1]
	})}
	if found := pages(search(t, x, q)); !slices.Contains(found, "guide/tls") {
		t.Errorf("the vector found nothing: %v", found)
	}
}

// An embedder that outlasts the time of a server does not make it count as down.
func TestAnEmbedderWithoutEndLeavesAKeywordSearch(t *testing.T) {
	t.Parallel()
	s := fake(t)
	o := options(t)
	o.URLs, o.Key, o.Fallback = []string{s.URL}, s.Key, true
	o.Timeouts = meilisearch.Timeouts{Server: 2 * time.Second, Search: time.Minute}
	x := open(t, o)
	docs := site()
	vectors := vectorsOf(docs)
	replace(t, x, docs, vectors)
	search(t, x, retrieval.Query{Text: "upstream", Embed: func() []float32 {
		time.Sleep(3 * time.Second)
		return vectors[2][1]
	}})
	if c := x.Counts(); c.KeywordOnly != 1 || c.Fallback != 0 {
		t.Errorf("%+v", c)
	}
}

func TestMeaningFindsWhatWordsDoNot(t *testing.T) {
	t.Parallel()
	o := options(t)
	x := open(t, o)
	docs := site()
	vectors := vectorsOf(docs)
	replace(t, x, docs, nil)
	replace(t, x, docs, vectors) // vectors come after words
	q := retrieval.Query{Text: "zebra", Vector: vectors[2][1]}
	hits := search(t, x, q)
	if len(hits) == 0 || hits[0].Document.Page != "guide/tls" || hits[0].Section != 1 {
		t.Fatalf("found %v", pages(hits))
	}
	if hits[0].Score < .5 {
		t.Errorf("the section whose vector is the query's scores %v", hits[0].Score)
	}
	if got := search(t, x, retrieval.Query{Text: "upstream", Vector: []float32{1, 0}}); len(got) == 0 {
		t.Error("a vector of another model's length leaves nothing of the keywords")
	}
	// After a restart the vectors are still in the server.
	x.Close()
	y := open(t, o)
	if hits := search(t, y, q); len(hits) == 0 || hits[0].Document.Page != "guide/tls" || hits[0].Score < .5 {
		t.Errorf("after a restart: %v", hits)
	}
	replace(t, y, docs, nil) // without an embedder, what the server has stays
	if hits := search(t, y, q); len(hits) == 0 || hits[0].Document.Page != "guide/tls" {
		t.Errorf("without vectors in this process: %v", pages(hits))
	}
}

func TestLongQuestionsAreAskedByTheirKeyTerms(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	replace(t, x, site(), nil)
	q := retrieval.Query{Question: true, Text: "Hello there, could you please tell me, since my boss wants to know it and I have read everything twice by now, what an unhealthy upstream gets?"}
	if got := pages(search(t, x, q)); len(got) == 0 || got[0] != "guide/proxy" {
		t.Errorf("found %v", got)
	}
	// Marks that mean something to the server mean nothing here.
	for _, text := range []string{`-upstream`, `"upstream"`, `--upstream`} {
		if got := pages(search(t, x, retrieval.Query{Text: text})); len(got) == 0 || got[0] != "guide/proxy" {
			t.Errorf("%s finds %v", text, got)
		}
	}
}

func TestPreferAndBoost(t *testing.T) {
	t.Parallel()
	x := open(t, options(t))
	a, b := page("v1/start", "Start", "Run: Start the server."), page("v2/start", "Start", "Run: Start the server now.")
	a.Version, b.Version = "v1", "v2"
	replace(t, x, []*retrieval.Document{a, b, page("c", "Other", "Run: Start that server.")}, nil)
	for version, want := range map[string]string{"v1": "v1/start", "v2": "v2/start"} {
		if got := pages(search(t, x, retrieval.Query{Text: "start the server", Prefer: retrieval.Filter{Version: version}})); got[0] != want {
			t.Errorf("preferring %s finds %v", version, got)
		} else if got[1] == "v1/start" || got[1] == "v2/start" {
			t.Errorf("twins are next to each other: %v", got)
		}
	}
}

func TestSettingsAndIdsStayWhereNothingChanges(t *testing.T) {
	t.Parallel()
	s := fake(t)
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, SearchKey: s.SearchKey, Site: "acme", Dir: t.TempDir(), Log: quiet()}
	x := open(t, o)
	docs := site()
	replace(t, x, docs, nil)
	if got := held(s); !maps.Equal(got, map[string]int{"_docs-acme-und": 9}) {
		t.Fatalf("the server holds %v", got)
	}
	settings, adds, swaps := s.Calls("PATCH /indexes/*/settings"), s.Calls("POST /indexes/*/documents"), s.Calls("POST /swap-indexes")
	replace(t, x, docs, nil)
	if s.Calls("PATCH /indexes/*/settings") != settings || s.Calls("POST /indexes/*/documents") != adds || s.Calls("POST /swap-indexes") != swaps {
		t.Error("the same pages were written again")
	}
	changed := append(site()[1:], page("guide/proxy", "Reverse proxy", "Upstreams: Requests go elsewhere."))
	replace(t, x, changed, nil)
	if s.Calls("PATCH /indexes/*/settings") != settings || s.Calls("POST /swap-indexes") != swaps {
		t.Error("a small change rebuilt the index")
	}
	if got := held(s); !maps.Equal(got, map[string]int{"_docs-acme-und": 7}) {
		t.Errorf("the server holds %v", got)
	}
	x.Close()
	y := open(t, o)
	replace(t, y, changed, vectorsOf(changed))
	if s.Calls("POST /swap-indexes") != swaps+1 {
		t.Error("other settings did not come with a swap")
	}
	if n := s.Calls("POST /indexes/*/compact"); n != swaps+1 {
		t.Errorf("%d indexes were compacted, want those that were filled: %d", n, swaps+1)
	}
}

func TestAServerThatCannotCompactIsFilled(t *testing.T) {
	t.Parallel()
	for _, fault := range []meiliserver.Fault{{Status: http.StatusNotFound}, {Status: http.StatusForbidden, Code: "invalid_api_key"}} {
		s := fake(t)
		s.Break(func(r *http.Request) *meiliserver.Fault {
			if strings.HasSuffix(r.URL.Path, "/compact") {
				return &fault
			}
			return nil
		})
		x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Log: quiet()})
		replace(t, x, site(), nil)
		if n := s.Calls("POST /indexes/*/compact"); n != 1 {
			t.Errorf("%d: it was asked %d times", fault.Status, n)
		}
		if got := held(s); !maps.Equal(got, map[string]int{"_docs-acme-und": 9}) {
			t.Errorf("%d: the server holds %v", fault.Status, got)
		}
	}
}

func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	t.Parallel()
	s := fake(t)
	s.SetVersion("1.17.3")
	_, err := meilisearch.Open(meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Timeouts: patient, Log: quiet()})
	if err == nil || !strings.Contains(err.Error(), "1.17.3") || !strings.Contains(err.Error(), "1.18") {
		t.Errorf("error: %v", err)
	}
}

// eventually waits for what happens in the background.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatal("in vain: ", what)
}

// answering is a fault of every request, searching a fault of searches.
func answering(status int, code string) func(*http.Request) *meiliserver.Fault {
	return func(*http.Request) *meiliserver.Fault { return &meiliserver.Fault{Status: status, Code: code} }
}

func searching(status int, code string) func(*http.Request) *meiliserver.Fault {
	return func(r *http.Request) *meiliserver.Fault {
		if r.URL.Path != "/multi-search" {
			return nil
		}
		return &meiliserver.Fault{Status: status, Code: code}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		kind     error
		fault    func(*http.Request) *meiliserver.Fault
		timeouts meilisearch.Timeouts
	}{
		{"a server that is gone", retrieval.ErrUnavailable, meiliserver.Down, patient},
		{"a server that hangs", retrieval.ErrUnavailable, func(*http.Request) *meiliserver.Fault { return &meiliserver.Fault{Hang: true} }, meilisearch.Timeouts{Probe: time.Second / 5, Search: time.Second / 2, Server: time.Second / 5}},
		{"a busy server", retrieval.ErrUnavailable, answering(503, "too_many_search_requests"), patient},
		{"a server behind a proxy that has lost it", retrieval.ErrUnavailable, answering(502, ""), patient},
		{"another server at its address", retrieval.ErrUnavailable, answering(404, ""), patient},
		{"a key that was revoked", retrieval.ErrRefused, answering(403, "invalid_api_key"), patient},
		{"no key at all", retrieval.ErrRefused, answering(401, "missing_authorization_header"), patient},
		{"a filter that somebody's settings don't allow", retrieval.ErrRefused, searching(400, "invalid_search_filter"), patient},
		{"an index that was deleted", retrieval.ErrUnavailable, searching(404, "index_not_found"), patient},
	} {
		for _, fallback := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fallback %v", tt.name, fallback), func(t *testing.T) {
				t.Parallel()
				s := fake(t)
				o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Fallback: fallback, Dir: t.TempDir(), Log: quiet()}
				o.Timeouts = tt.timeouts
				x := open(t, o)
				eventually(t, "the server holds the pages", func() bool { return x.Replace(t.Context(), site(), nil) == nil && held(s)["_docs-acme-und"] == 9 })
				s.Break(tt.fault)
				for range 3 {
					hits, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
					switch {
					case fallback && (err != nil || len(hits) == 0 || hits[0].Document.Page != "guide/proxy"):
						t.Errorf("the fallback answers %v %v", pages(hits), err)
					case !fallback && (!errors.Is(err, tt.kind) || errors.Is(err, retrieval.ErrUnavailable) && tt.kind != retrieval.ErrUnavailable):
						t.Errorf("error: %v, want %v", err, tt.kind)
					}
				}
				s.Break(nil)
				before := x.Counts().Answered
				eventually(t, "the server answers again", func() bool {
					hits, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
					return err == nil && len(hits) > 0 && x.Counts().Answered > before
				})
			})
		}
	}
}

func TestPagesChangeWhileNoServerIsThere(t *testing.T) {
	t.Parallel()
	s := fake(t)
	s.Break(meiliserver.Down)
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()}
	x := open(t, o)
	replace(t, x, site(), nil)
	if _, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5}); !errors.Is(err, retrieval.ErrUnavailable) {
		t.Errorf("error: %v", err)
	}
	s.Break(nil)
	eventually(t, "the pages reach the server", func() bool {
		hits, err := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
		return err == nil && len(hits) > 0
	})
}

func TestAFailedTaskIsAnErrorAndTheOldIndexServes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"documentAdditionOrUpdate", "settingsUpdate", "indexSwap"} {
		t.Run(kind, func(t *testing.T) {
			s := fake(t)
			x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()})
			docs := site()
			replace(t, x, docs, nil)
			s.FailTasks(func(k, _ string) string {
				if k == kind {
					return "no_space_left_on_device"
				}
				return ""
			})
			// Vectors need other settings, and so a new index.
			err := x.Replace(t.Context(), docs, of(vectorsOf(docs)))
			var task *meilisearch.TaskError
			if !errors.As(err, &task) || task.Problem.Code != "no_space_left_on_device" {
				t.Fatalf("error: %v", err)
			}
			if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 {
				t.Error("the old index does not serve")
			}
			s.FailTasks(nil)
			replace(t, x, docs, vectorsOf(docs))
			if got := held(s); !maps.Equal(got, map[string]int{"_docs-acme-und": 9}) {
				t.Errorf("the server holds %v", got)
			}
		})
	}
}

func TestHalfABatchAndLeftoversAreMended(t *testing.T) {
	t.Parallel()
	s := fake(t)
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()}
	x := open(t, o)
	replace(t, x, site(), nil)
	x.Close()
	s.Drop("_docs-acme-und")                             // half of it is gone
	s.Plant("_docs-acme-und_abcdefghijklmnopqrstuvwxyz") // of a run that was killed
	s.Plant("_docs-acme-en-und")                         // another site's
	open(t, o)
	eventually(t, "the index is whole again", func() bool {
		return maps.Equal(held(s), map[string]int{"_docs-acme-und": 9, "_docs-acme-en-und": 0})
	})
}

func TestTheServerGoesAwayInTheMiddleOfAReindex(t *testing.T) {
	t.Parallel()
	s := fake(t)
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Fallback: true, Dir: t.TempDir(), Log: quiet()})
	docs := site()
	replace(t, x, docs, nil)
	gone := false
	s.Break(func(r *http.Request) *meiliserver.Fault {
		if r.URL.Path == "/swap-indexes" || gone {
			gone = true
			return &meiliserver.Fault{Cut: true}
		}
		return nil
	})
	if err := x.Replace(t.Context(), docs, of(vectorsOf(docs))); err != nil {
		t.Fatal(err)
	}
	if got := held(s)["_docs-acme-und"]; got != 9 {
		t.Errorf("the old index holds %d sections", got)
	}
	s.Break(nil)
	eventually(t, "it is finished and cleaned up", func() bool {
		return len(held(s)) == 1 && len(search(t, x, retrieval.Query{Text: "zebra", Vector: vectorsOf(docs)[2][1]})) > 0
	})
}

func TestSeveralServersHoldEverything(t *testing.T) {
	t.Parallel()
	a, b := fake(t), fake(t)
	x := open(t, meilisearch.Options{URLs: []string{a.URL, b.URL}, Key: a.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()})
	replace(t, x, site(), nil)
	if held(a)["_docs-acme-und"] != 9 || held(b)["_docs-acme-und"] != 9 {
		t.Fatalf("they hold %v and %v", held(a), held(b))
	}
	a.Break(meiliserver.Down)
	if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 {
		t.Error("the second server was not asked")
	}
	replace(t, x, site()[1:], nil)
	if held(b)["_docs-acme-und"] != 6 {
		t.Errorf("the second holds %v", held(b))
	}
	a.Break(nil)
	eventually(t, "the first is brought up to date", func() bool { return held(a)["_docs-acme-und"] == 6 })
}

// locks is a lock whose holder can lose it.
type locks struct {
	mu   sync.Mutex
	held bool
	most int
	now  int
}

func (l *locks) Lock(ctx context.Context, _ string) error {
	for {
		l.mu.Lock()
		if !l.held {
			l.held = true
			l.now++
			l.most = max(l.most, l.now)
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (l *locks) Unlock(context.Context, string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	l.now--
	return nil
}

func (l *locks) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
}

// late is a lock that comes when nobody wants it any more.
type late struct {
	locks
	come func()
}

func (l *late) Lock(ctx context.Context, name string) error {
	defer l.come()
	return l.locks.Lock(ctx, name)
}

func TestALockThatComesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	s := fake(t)
	ctx, cancel := context.WithCancel(t.Context())
	l := &late{come: cancel}
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Locker: l, Log: quiet()})
	if err := x.Replace(ctx, site(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		t.Error("the lock is still held")
	}
}

func TestTwoWritersAndALockThatIsLost(t *testing.T) {
	t.Parallel()
	s := fake(t)
	l := &locks{}
	var both []*meilisearch.Index
	for range 2 {
		both = append(both, open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Locker: l, Log: quiet()}))
	}
	s.Break(func(r *http.Request) *meiliserver.Fault {
		if r.Method == http.MethodPost {
			l.lose()
		}
		return nil
	})
	var group sync.WaitGroup
	errs := make([]error, 2)
	for i, x := range both {
		group.Go(func() { errs[i] = x.Replace(t.Context(), site(), nil) })
	}
	group.Wait()
	s.Break(nil)
	for i, x := range both {
		if errs[i] != nil { // it noticed; the refresher tries again
			replace(t, x, site(), nil)
		}
	}
	eventually(t, "both agree on what the server holds", func() bool {
		return maps.Equal(held(s), map[string]int{"_docs-acme-und": 9})
	})
	for _, x := range both {
		if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 {
			t.Error("nothing is found")
		}
	}
}

func TestTheOtherWriterFindsTheWorkDone(t *testing.T) {
	t.Parallel()
	s := fake(t)
	l := &locks{}
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Locker: l, Log: quiet()}
	a, b := open(t, o), open(t, o)
	var group sync.WaitGroup
	for _, x := range []*meilisearch.Index{a, b} {
		group.Go(func() {
			if err := x.Replace(t.Context(), site(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.Calls("POST /indexes/*/documents"); n != 1 {
		t.Errorf("the documents were sent %d times", n)
	}
	if l.most != 1 {
		t.Errorf("%d held the lock at once", l.most)
	}
}

func TestAnEmbedderOfTheServersStaysInItsIndex(t *testing.T) {
	t.Parallel()
	s := fake(t)
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Embedder: "mine", Dir: t.TempDir(), Log: quiet()}
	x := open(t, o)
	replace(t, x, site(), nil)
	if got := pages(search(t, x, retrieval.Query{Text: "upstream"})); len(got) == 0 {
		t.Error("without the embedder, keywords find nothing")
	}
	client := sdk.New(s.URL, sdk.WithAPIKey(s.Key))
	if _, err := client.Index("_docs-acme-und").UpdateSettings(&sdk.Settings{Embedders: map[string]sdk.Embedder{"mine": {Source: sdk.OpenaiEmbedderSource, Model: "m", URL: embedding(t).URL + "/v1/embeddings"}}}); err != nil {
		t.Fatal(err)
	}
	replace(t, x, site()[:1], nil)
	have, err := client.Index("_docs-acme-und").GetSettings()
	if err != nil || have.Embedders["mine"].Source != sdk.OpenaiEmbedderSource {
		t.Errorf("the embedder: %v %v", have.Embedders, err)
	}
	if s.Calls("POST /swap-indexes") != 0 {
		t.Error("the index was swapped, and its embedder with it")
	}
}

func TestCheckSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := fake(t)
	find := func(fs []meilisearch.Finding, what string) *meilisearch.Finding {
		for i := range fs {
			if strings.Contains(fs[i].What, what) {
				return &fs[i]
			}
		}
		return nil
	}
	x := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, SearchKey: "wrong", Site: "acme", Dir: t.TempDir(), Log: quiet()})
	replace(t, x, site(), nil)
	fs := x.Check(t.Context())
	if f := find(fs, "keys"); f == nil || f.Err == nil || !strings.Contains(f.Do, "search_key") {
		t.Errorf("a wrong search key: %+v", f)
	}
	x = open(t, meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, SearchKey: s.SearchKey, Site: "acme", Dir: t.TempDir(), Log: quiet()})
	replace(t, x, site(), nil)
	fs = x.Check(t.Context())
	for _, what := range []string{"version", "keys", "index _docs-acme-und", "settings of", "search in"} {
		if f := find(fs, what); f == nil || f.Err != nil {
			t.Errorf("%s: %+v", what, f)
		}
	}
	s.Drop("_docs-acme-und")
	if f := find(x.Check(t.Context()), "index _docs-acme-und"); f == nil || f.Err == nil || !strings.Contains(f.Err.Error(), "lacks 4 of 9") {
		t.Errorf("half an index: %+v", f)
	}
	s.Break(meiliserver.Down)
	if f := find(x.Check(t.Context()), "server"); f == nil || f.Err == nil || f.Do == "" {
		t.Errorf("no server: %+v", f)
	}
	bad := open(t, meilisearch.Options{URLs: []string{s.URL}, Key: "wrong", Site: "acme", Log: quiet()})
	s.Break(nil)
	if f := find(bad.Check(t.Context()), "keys"); f == nil || f.Err == nil {
		t.Errorf("a wrong key: %+v", f)
	}
}

// As long as one Caddy writes, however slowly, another one does not: its pages
// wait, and it says so.
func TestASlowWriterKeepsTheLock(t *testing.T) {
	t.Parallel()
	s := fake(t)
	l := &locks{}
	log, text := logged()
	o := meilisearch.Options{URLs: []string{s.URL}, Key: s.Key, Site: "acme", Locker: l, Log: log}
	slow, other := open(t, o), open(t, o)
	sent, writes, release := holdSections(s, 1)
	done := make(chan error, 1)
	go func() { done <- slow.Replace(t.Context(), site(), nil) }()
	<-writes
	more := append(site(), page("new", "New", "One: Something new."))
	replace(t, other, more, nil) // returns although nothing could be written
	if n := sent.Load(); n != 1 || !strings.Contains(text(), "is already in progress") {
		t.Errorf("the other one has sent %d batches; the log: %s", n-1, text())
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	eventually(t, "the pages that waited are written", func() bool { return held(s)["_docs-acme-und"] == 10 })
	if l.most != 1 {
		t.Errorf("%d held the lock at once", l.most)
	}
}
