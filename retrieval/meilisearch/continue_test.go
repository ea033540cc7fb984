package meilisearch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// proxy passes requests to a server, and counts the documents that the server
// has taken into indexes that are being filled. After cutAfter of them it calls
// cut and closes all connections, as if this process had been killed. It counts
// none before the server's answer: when it counted them as they came in, a request
// in the background cut the connection that the documents were still on, and they
// ended with "unexpected EOF". A client that leaves while it sends is no error.
type proxy struct {
	*httptest.Server
	sent, cutAfter atomic.Int64
	cut            func()
}

// sentKey has the number of documents in a request.
type sentKey struct{}

var filling = regexp.MustCompile(`^/indexes/[^/]+_[a-z0-9]{26}/documents$`)

func newProxy(t *testing.T, address string) *proxy {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{cut: func() {}}
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			n, _ := r.Request.Context().Value(sentKey{}).(int)
			p.sent.Add(int64(n))
			return nil
		},
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if most := p.cutAfter.Load(); most > 0 && p.sent.Load() >= most {
			p.cut()
			panic(http.ErrAbortHandler)
		}
		if r.Method == http.MethodPost && filling.MatchString(r.URL.Path) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			var documents []json.RawMessage
			if err := json.Unmarshal(body, &documents); err != nil {
				t.Errorf("documents that can't be read: %v", err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r = r.WithContext(context.WithValue(r.Context(), sentKey{}, len(documents)))
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// A process that ends in the middle of an update has sent some sections. The
// next one sends the others only, and what has changed since.
func TestAnInterruptedUpdateIsContinued(t *testing.T) {
	t.Parallel()
	for name, restored := range map[string]bool{"of a new site": false, "of a site that was searched": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testInterruptedUpdate(t, restored)
		})
	}
}

// testInterruptedUpdate interrupts the first update of a site, or, with
// restored, the one that brings the vectors.
func testInterruptedUpdate(t *testing.T, restored bool) {
	o := options(t)
	direct := o.URLs[0]
	p := newProxy(t, direct)
	o.URLs = []string{p.URL}
	var docs []*retrieval.Document
	const pages, sections = 60, 40
	for i := range pages {
		var texts []string
		for j := range sections {
			texts = append(texts, fmt.Sprintf("Part %d: Chapter %d of the upstream.", j, i))
		}
		docs = append(docs, page(fmt.Sprint("news/", i), fmt.Sprint("News ", i), texts...))
	}
	first := open(t, o)
	if restored {
		replace(t, first, docs, nil)
	}
	var ctx context.Context
	ctx, p.cut = context.WithCancel(t.Context())
	p.sent.Store(0)
	p.cutAfter.Store(1)
	if err := first.Replace(ctx, docs, of(vectorsOf(docs))); err == nil {
		t.Error("the update was not interrupted")
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	sent := p.sent.Load()
	if sent == 0 || sent >= pages*sections {
		t.Fatalf("%d of %d sections were sent before the end", sent, pages*sections)
	}

	p.cutAfter.Store(0)
	p.sent.Store(0)
	docs = append(docs[:pages-2], page("news/0/more", "Parachutes", "One: How they open.")) // and two are gone
	const now = (pages-2)*sections + 1
	var log func() string
	o.Log, log = logged()
	second := open(t, o)
	if restored {
		eventually(t, "the server is compared with what was searched", func() bool { return strings.Contains(log(), "is up to date") })
	}
	replace(t, second, docs, vectorsOf(docs))
	if again, most := p.sent.Load(), pages*sections-sent+1; again == 0 || again > most {
		t.Errorf("%d sections were sent by the next process, want at most %d", again, most)
	}
	if !strings.Contains(log(), "resuming an interrupted update") {
		t.Errorf("the log: %s", log())
	}
	if hits := search(t, second, retrieval.Query{Text: "parachutes"}); len(hits) == 0 || hits[0].Document.Page != "news/0/more" {
		t.Errorf("found %v", hits)
	}
	client, uid := sdk.New(direct, sdk.WithAPIKey(o.Key)), uidOf(o)
	stats, err := client.Index(uid).GetStats(&sdk.StatsParams{})
	if err != nil {
		t.Fatal(err)
	}
	if stats.NumberOfDocuments != now || stats.NumberOfEmbeddedDocuments != now-1 { // vectorsOf leaves one out
		t.Errorf("the server has %d sections, and vectors of %d, want %d", stats.NumberOfDocuments, stats.NumberOfEmbeddedDocuments, now)
	}
	list, err := client.ListIndexes(&sdk.IndexesQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list.Results {
		if strings.HasPrefix(x.UID, uid+"_") {
			t.Errorf("%s is left", x.UID)
		}
	}
}

// What an interrupted update has begun with other settings is not continued.
func TestAnInterruptedUpdateWithOtherSettingsBeginsAgain(t *testing.T) {
	t.Parallel()
	s := fake(t)
	p := newProxy(t, s.URL)
	o := meilisearch.Options{URLs: []string{p.URL}, Key: s.Key, Site: "acme", Dir: t.TempDir(), Log: quiet()}
	p.cutAfter.Store(1)
	first := open(t, o)
	replace(t, first, site(), nil)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	p.cutAfter.Store(0)
	p.sent.Store(0)
	o.Dir = t.TempDir()
	replace(t, open(t, o), site(), vectorsOf(site()))
	if p.sent.Load() != 9 {
		t.Errorf("%d sections were sent again, want all 9", p.sent.Load())
	}
	if all := held(s); len(all) != 1 || all["_docs-acme-und"] != 9 {
		t.Errorf("the server holds %v", all)
	}
}
