//go:build unix

package assistant

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"
)

// acmeSections is how many sections acme's pages have.
const acmeSections = 9

// unlock takes the lock from a process that was killed, as the storage does
// when it has run out.
func unlock(t *testing.T, storage string) {
	t.Helper()
	held, err := filepath.Glob(filepath.Join(storage, "locks", "*meilisearch*"))
	if err != nil || len(held) == 0 {
		t.Fatalf("nobody holds the lock: %v", err)
	}
	for _, name := range held {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// many returns enough pages for a new index to be filled and swapped in.
func many(word string) map[string]string {
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("news/%d.md", i)] = fmt.Sprintf("# News %d\n\nSomething about %s.\n\n## More\n\nNumber %d of it.\n", i, word, i)
	}
	return files
}

// A Meilisearch that hangs, dies or takes its keys back is answered for
// within two seconds, and found again without a reload.
func TestAMeilisearchThatFailsAndComesBack(t *testing.T) {
	for _, fault := range []struct {
		name     string
		do, undo func(meili, *testing.T)
		status   int
		code     string
	}{
		{"it hangs", meili.hang, meili.resume, http.StatusServiceUnavailable, "search_unavailable"},
		{"it is killed", meili.kill, meili.restart, http.StatusServiceUnavailable, "search_unavailable"},
		{"its keys are revoked", meili.revoke, meili.grant, http.StatusInternalServerError, "search_misconfigured"},
	} {
		for _, fallback := range []string{"", "fallback embedded"} {
			t.Run(fault.name+" "+fallback, func(t *testing.T) {
				m := newMeili(t)
				s := caddytest.Start(t, meiliIndex(m.address(), fallback), caddytest.Site(caddytest.AcmeFolder(t)))
				s.Ready("acme")
				waitForSections(t, m, acmeSections)
				fault.do(m, t)
				for range 3 {
					r, found := searchSite(s, "install")
					if fallback != "" && !found {
						t.Errorf("the fallback: %d %s", r.Status, r.Body)
					}
					status, code := http.StatusServiceUnavailable, "search_unavailable"
					if fault.name == "its keys are revoked" { // retrying does not help
						status, code = http.StatusInternalServerError, "search_misconfigured"
					}
					if fallback == "" && (r.Status != status || (r.Header.Get("Retry-After") == "") != (status == http.StatusInternalServerError) || r.Error(t).Code != code) {
						t.Errorf("search: %d %v %s", r.Status, r.Header, r.Body)
					}
					if strings.Contains(string(r.Body), m.address()) || strings.Contains(string(r.Body), "api_key") {
						t.Errorf("the response has what only the operator should see: %s", r.Body)
					}
				}
				if fallback != "" {
					if r := s.Ask(t, 2, caddytest.InstallQuestion, nil); !r.Finished || r.Error != "" {
						t.Errorf("asking: %+v", r)
					}
				}
				fault.undo(m, t)
				caddytest.Until(t, "the server answers again", func() bool {
					_, found := searchSite(s, "install")
					return found && !strings.Contains(tail(s.Log()), "no Meilisearch server responded")
				})
				waitForSections(t, m, acmeSections)
			})
		}
	}
}

// The server ends, loses its data and takes its keys back while 24 readers
// search: each of them finds something again soon after it is back. While its
// keys are replaced, they find something all the time.
func TestAMeilisearchFailsUnderLoad(t *testing.T) {
	m := newMeili(t)
	docs := meiliIndex(m.address(), "")
	site := fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s {\n\t\trate_limit off\n\t}\n}\n", caddytest.FreePort(t), caddytest.AcmeFolder(t)) // one port, which reloads hand over
	s := caddytest.Start(t, docs, site)
	s.Ready("acme")
	waitForSections(t, m, acmeSections)
	const readers = 24
	var rounds [readers]atomic.Int64 // of searches that found something
	var failed, latest, refused atomic.Int64
	done := make(chan struct{})
	var group sync.WaitGroup
	for i := range readers {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if r, found := searchSite(s, "install"); found {
					rounds[i].Add(1)
					latest.Store(time.Now().UnixNano())
				} else if failed.Add(1); r.Status == http.StatusInternalServerError {
					refused.Add(1)
				} else if r.Status != http.StatusServiceUnavailable {
					t.Errorf("search: %d %s", r.Status, r.Body)
					return
				}
			}
		})
	}
	again := func(what string) {
		t.Helper()
		for i := range rounds {
			rounds[i].Store(0)
		}
		caddytest.Until(t, what, func() bool {
			for i := range rounds {
				if rounds[i].Load() == 0 {
					return false
				}
			}
			return true
		})
	}
	again("all readers find something")
	for _, fault := range []struct {
		name    string
		do      func(*testing.T)
		undo    func(*testing.T)
		refused bool
	}{
		{"killed", m.kill, m.restart, false},
		{"stopped", m.stop, m.restart, false},
		{"emptied", m.empty, m.refound, false},
		{"without keys", m.revoke, m.grant, true},
		{"killed again", m.kill, m.restart, false},
	} {
		before, denied := failed.Load(), refused.Load()
		fault.do(t)
		caddytest.Until(t, "searches fail", func() bool { return failed.Load() > before+readers })
		if fault.refused != (refused.Load() > denied) {
			t.Errorf("%s: of %d searches, %d were refused", fault.name, failed.Load()-before, refused.Load()-denied)
		}
		ended := time.Unix(0, latest.Load())
		fault.undo(t)
		back := time.Now()
		again("all readers find something again")
		t.Logf("%s: Meilisearch was away for %v; all readers found something %v after that", fault.name, back.Sub(ended).Round(time.Millisecond), time.Since(back).Round(time.Millisecond))
		waitForSections(t, m, acmeSections)
	}
	before := failed.Load()
	m.replaceKeys(t, func() {
		s.Load(docs, site)
		again("all searches of the former configuration have ended")
	})
	again("all readers find something with the new keys")
	if n := failed.Load() - before; n > 0 {
		t.Errorf("%d searches failed while the keys were replaced", n)
	}
	close(done)
	group.Wait()
}

// tail is the last line of a log.
func tail(log string) string {
	log = strings.TrimSpace(log)
	return log[strings.LastIndexByte(log, '\n')+1:]
}

// A task that the server does not carry out leaves the old pages, and is
// tried again.
func TestAFailedTaskOfMeilisearchLeavesTheOldIndexAndIsTriedAgain(t *testing.T) {
	m := newMeili(t)
	g := newGate(t, m)
	root := caddytest.AcmeFolder(t)
	s := caddytest.Start(t, meiliIndex(g.URL, ""), caddytest.Site(root))
	s.Ready("acme")
	waitForSections(t, m, acmeSections)
	var spoilt atomic.Int32
	g.set(func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/documents") && r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			// An id of a form that the server refuses, in the middle of a batch.
			body = bytes.Replace(body, []byte(`{"id":"`), []byte(`{"id":"!`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			spoilt.Add(1)
		}
		pass.ServeHTTP(w, r)
	})
	caddytest.Write(t, root, many("parachutes"))
	caddytest.Until(t, "the task fails", func() bool {
		return spoilt.Load() > 0 && strings.Contains(s.Log(), "invalid_document_id")
	})
	if _, found := searchSite(s, "install"); !found {
		t.Error("the old pages are not found")
	}
	if n := m.documents(t)["_docs-acme-en"] + m.documents(t)["_docs-acme-und"]; n != acmeSections {
		t.Errorf("the old index holds %d sections", n)
	}
	g.set(nil)
	caddytest.Until(t, "the new pages are found", func() bool { return s.Finds("parachutes") })
	waitForSections(t, m, acmeSections+120)
}

// A server that lost what it had, vectors too, while no Caddy ran, gets it
// again, though no page has changed since.
func TestAMeilisearchThatLostItsVectorsGetsThemAgain(t *testing.T) {
	m := newMeili(t)
	_, model := caddytest.StartModel(t)
	docs, site := meiliIndex(m.address(), "")+"\nembedder "+model+" fake-embed", caddytest.Site(caddytest.AcmeFolder(t))
	const uid, sections = "_docs-acme-en", 6
	s := caddytest.Start(t, docs, site)
	caddytest.Until(t, "the server has the vectors", func() bool { return m.vectors(t, uid) == sections })
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	m.lose(t, uid)
	s.Load(docs, site)
	caddytest.Until(t, "the server has the vectors again", func() bool { return m.vectors(t, uid) == sections })
	waitForSections(t, m, acmeSections)
}

// A Caddy that is stopped while it removes the previous index leaves it;
// the next start does that.
func TestACaddyThatStopsBeforeItCleansUpMeilisearchDoesSoAtTheNextStart(t *testing.T) {
	m := newMeili(t)
	g := newGate(t, m)
	root := caddytest.AcmeFolder(t)
	docs, site := meiliIndex(g.URL, ""), caddytest.Site(root)
	s := caddytest.Start(t, docs, site)
	s.Ready("acme")
	waitForSections(t, m, acmeSections)
	reached := g.holdAt(func(r *http.Request) bool { return r.Method == http.MethodDelete }, false)
	caddytest.Write(t, root, many("parachutes"))
	<-reached
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	g.set(nil)
	s.Load(docs, site)
	s.Ready("acme")
	caddytest.Until(t, "the new pages are found", func() bool { return s.Finds("parachutes") })
	waitForSections(t, m, acmeSections+120)
}

// The server is killed when it has taken documents and not yet indexed all:
// what it holds after its restart is made whole.
func TestAMeilisearchIsKilledInTheMiddleOfABatch(t *testing.T) {
	m := newMeili(t)
	g := newGate(t, m)
	root := caddytest.AcmeFolder(t)
	s := caddytest.Start(t, meiliIndex(g.URL, "fallback embedded"), caddytest.Site(root))
	s.Ready("acme")
	waitForSections(t, m, acmeSections)
	reached := g.holdAt(func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/documents") && r.Method == http.MethodPost
	}, true)
	caddytest.Write(t, root, many("parachutes"))
	<-reached
	m.kill(t)
	g.set(func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) })
	g.CloseClientConnections()
	if _, found := searchSite(s, "install"); !found {
		t.Error("the fallback finds nothing")
	}
	m.restart(t)
	g.set(nil)
	caddytest.Until(t, "the new pages are found", func() bool { return s.Finds("parachutes") })
	waitForSections(t, m, acmeSections+120)
}

// Of two servers one is down while pages change: reading goes on with the
// other, and the one that returns is brought up to date.
func TestOneOfTwoMeilisearchServersIsDownWhilePagesChange(t *testing.T) {
	a, b := newMeili(t), newMeili(t)
	root := caddytest.AcmeFolder(t)
	s := caddytest.Start(t, meiliIndex(a.address()+" "+b.address(), ""), caddytest.Site(root))
	s.Ready("acme")
	waitForSections(t, a, acmeSections)
	waitForSections(t, b, acmeSections)
	a.kill(t)
	if r, found := searchSite(s, "install"); !found {
		t.Errorf("the second server was not asked: %d %s", r.Status, r.Body)
	}
	caddytest.Write(t, root, many("parachutes"))
	caddytest.Until(t, "the new pages are found", func() bool { return s.Finds("parachutes") })
	waitForSections(t, b, acmeSections+120)
	a.restart(t)
	caddytest.Until(t, "the first is up to date", func() bool { return a.documents(t)["_docs-acme-und"] == b.documents(t)["_docs-acme-und"] })
	waitForSections(t, a, acmeSections+120)
	b.kill(t)
	if !s.Finds("parachutes") {
		t.Error("the server that returned does not answer")
	}
}

// One of two Caddys that share a Meilisearch, and a storage, is killed while
// it fills a new index: the other has results at all times, and finishes the
// update.
func TestOfTwoCaddysOnOneMeilisearchOneIsKilledInTheMiddleOfAReindex(t *testing.T) {
	method := func(m, suffix string) func(*http.Request) bool {
		return func(r *http.Request) bool { return r.Method == m && strings.HasSuffix(r.URL.Path, suffix) }
	}
	for _, tt := range []struct {
		name  string
		at    func(*http.Request) bool
		after bool
	}{
		{"when the new index is there", method("PATCH", "/settings"), false},
		{"before documents are sent", method("POST", "/documents"), false},
		{"when documents were taken", method("POST", "/documents"), true},
		{"before the swap", method("POST", "/swap-indexes"), false},
		{"after the swap", method("POST", "/swap-indexes"), true},
		{"before it cleans up", func(r *http.Request) bool { return r.Method == http.MethodDelete }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMeili(t)
			g := newGate(t, m)
			root := caddytest.AcmeFolder(t)
			s := caddytest.Start(t, meiliIndex(m.address(), ""), caddytest.Site(root, "rate_limit off"))
			s.Ready("acme")
			waitForSections(t, m, acmeSections)

			// The other has many pages more.
			other := caddytest.AcmeFolder(t)
			caddytest.Write(t, other, many("parachutes"))
			dir, port := t.TempDir(), caddytest.FreePort(t)
			storage := filepath.Join(s.Dir, "storage")
			caddyfile := caddytest.Global(dir, meiliIndex(g.URL, "")) + fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s\n}\n", port, other)
			reached := g.holdAt(tt.at, tt.after)
			second := caddytest.StartProcess(t, dir, port, caddytest.AdaptWith(t, caddyfile, func(config map[string]any) {
				config["storage"] = map[string]any{"module": "file_system", "root": storage}
			}))

			// The first is searched all the time.
			done, missed := make(chan struct{}), make(chan string, 1)
			go func() {
				defer close(missed)
				for n := 0; ; n++ {
					select {
					case <-done:
						return
					default:
					}
					if r, found := searchSite(s, "install"); !found {
						missed <- fmt.Sprintf("search %d: %d %s", n, r.Status, r.Body)
						return
					}
				}
			}()
			select {
			case <-reached:
			case <-time.After(caddytest.Patience):
				t.Fatal("the other does not come that far")
			}
			second.Kill()
			unlock(t, storage)
			caddytest.Write(t, root, many("parachutes"))
			caddytest.Until(t, "the one that is left finishes", func() bool { return s.Finds("parachutes") })
			close(done)
			if what, ok := <-missed; ok {
				t.Errorf("nothing was found in between: %s", what)
			}
			waitForSections(t, m, acmeSections+120)
		})
	}
}
