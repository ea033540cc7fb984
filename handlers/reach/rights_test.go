package reach

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// behindGate is a site of many pages behind one handler, which decides by path
// and cookie, as an authentication server does.
type behindGate struct {
	*Gate
	docs []*retrieval.Document

	mu    sync.Mutex
	asked []string // on behalf of readers
	opens func(path, cookie string) bool
	// status is what the gate responds, if it is not 0; wait, when.
	status atomic.Int64
	wait   atomic.Int64
	// strangers counts the requests of strangers.
	strangers atomic.Int64
}

func newBehindGate(t *testing.T, files []string, opens func(path, cookie string) bool) *behindGate {
	t.Helper()
	root := write(t, files...)
	g := &behindGate{docs: documents(base, files...), opens: opens}
	ctx, app := provision(t, "root * "+root+"\nfile_server")
	s, err := New(Options{
		Routes: NewRoutes(ctx), HTTP: app, URL: base, Documents: func() []*retrieval.Document { return g.docs },
		File: fileOf("root * " + root), Log: discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	g.Gate = s
	next := s.inside.chain
	s.inside.chain = caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		if !strings.HasPrefix(r.URL.Path, "/locked/") {
			return next.ServeHTTP(w, r)
		}
		*r.Context().Value(lastMark).(*mark) = 1
		cookie := r.Header.Get("Cookie")
		if cookie == "" {
			g.strangers.Add(1)
		} else {
			g.states.mu.Lock()
			g.asked = append(g.asked, r.URL.Path)
			g.states.mu.Unlock()
		}
		select {
		case <-time.After(time.Duration(g.wait.Load())):
		case <-r.Context().Done():
			return r.Context().Err()
		}
		if status := int(g.status.Load()); status != 0 {
			return caddyhttp.Error(status, nil)
		}
		if !g.opens(r.URL.Path, cookie) {
			return caddyhttp.Error(http.StatusForbidden, nil)
		}
		return next.ServeHTTP(w, r)
	})
	s.Update(t.Context())
	return g
}

// takeAsked returns what was asked for on behalf of readers since the last call.
func (g *behindGate) takeAsked() []string {
	g.states.mu.Lock()
	defer g.states.mu.Unlock()
	asked := g.asked
	g.asked = nil
	return asked
}

func readerWith(t *testing.T, cookie string) context.Context {
	r := httptest.NewRequest(http.MethodPost, "/v1/search/acme", nil)
	r.Header.Set("Cookie", cookie)
	return WithReader(t.Context(), r, func(string) bool { return false })
}

// search is a search that finds the documents in their order.
func (g *behindGate) search(ctx context.Context, enough int) (pages []string) {
	return g.searchFor(ctx, g.docs, enough)
}

func (g *behindGate) searchFor(ctx context.Context, documents []*retrieval.Document, enough int) (pages []string) {
	may := g.Searched(ctx)
	var hits []retrieval.Hit
	for _, d := range documents {
		if may.Pages == nil || may.Pages.Has(d.Page) {
			hits = append(hits, retrieval.Hit{Document: d})
		}
	}
	for _, h := range may.Open(ctx, hits, enough, true) {
		pages = append(pages, h.Document.Page)
	}
	return pages
}

func lockedFiles(folders, pages int) (files []string) {
	files = []string{"index.html"}
	for f := range folders {
		for p := range pages {
			files = append(files, fmt.Sprintf("locked/team%02d/page%03d.html", f, p))
		}
	}
	return files
}

func TestAReaderFindsAllThatTheirFoldersHave(t *testing.T) {
	g := newBehindGate(t, lockedFiles(12, 50), func(path, cookie string) bool {
		return strings.HasPrefix(path, "/locked/team03/") && cookie == "team03"
	})
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		if got := g.search(readerWith(t, "team03"), 100); len(got) != 51 || Incomplete(t.Context()) {
			t.Errorf("%d pages", len(got))
		}
		synctest.Wait()
		first := len(g.takeAsked())
		got := g.search(readerWith(t, "team03"), 10)
		if again := len(g.takeAsked()); len(got) != 10 || again > maxProbes {
			t.Errorf("then %d pages with %d requests", len(got), again)
		}
		if first > 51+2*12+maxCanaries {
			t.Errorf("%d requests for 50 pages in one of 12 folders", first)
		}
		if got := g.search(readerWith(t, "nobody"), 100); !slices.Equal(got, []string{""}) {
			t.Errorf("a stranger finds %q", got)
		}
		synctest.Wait()
		if asked := g.takeAsked(); len(asked) > maxCanaries+maxExplored+maxCanaries {
			t.Errorf("%d requests for a stranger", len(asked))
		}
	})
}

// Each page has its own readers: 10 of 300.
func TestAReaderFindsTheFewPagesOfTheirList(t *testing.T) {
	g := newBehindGate(t, lockedFiles(1, 300), func(path, cookie string) bool {
		return cookie == "listed" && strings.HasSuffix(path, "7.html") && strings.Contains(path, "page0")
	})
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		ctx := readerWith(t, "listed")
		g.Saw(ctx, g.docs[1+7]) // as on every page that the reader opens
		synctest.Wait()
		if got := g.search(ctx, 100); len(got) != 11 || Incomplete(ctx) {
			t.Errorf("%d pages, incomplete: %t", len(got), Incomplete(ctx))
		}
	})
}

// What is asked for on behalf of a reader to whom nothing opens does not depend
// on what matches.
func TestWhatIsTriedDoesNotDependOnTheQuery(t *testing.T) {
	files := lockedFiles(5, 20)
	tried := func(n int) []string {
		g := newBehindGate(t, files, func(string, string) bool { return false })
		var asked []string
		synctest.Test(t, func(t *testing.T) {
			g.running = t.Context()
			ctx := readerWith(t, "wrong")
			may := g.Searched(ctx)
			var hits []retrieval.Hit
			for _, d := range g.docs[1 : 1+n] {
				hits = append(hits, retrieval.Hit{Document: d})
			}
			if open := may.Open(ctx, hits, 10, true); len(open) > 0 {
				t.Errorf("%d pages open", len(open))
			}
			synctest.Wait()
			asked = g.takeAsked()
		})
		slices.Sort(asked)
		return asked
	}
	if none, all := tried(0), tried(100); len(none) == 0 || !slices.Equal(none, all) {
		t.Errorf("without hits %d pages are tried, with hits %d", len(none), len(all))
	}
}

// A missing page takes the same requests as one that stays locked.
func TestMissingAndLockedPagesTakeTheSameRequests(t *testing.T) {
	g := newBehindGate(t, lockedFiles(1, 20), func(string, string) bool { return false })
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		ctx := readerWith(t, "wrong")
		g.Searched(ctx)
		synctest.Wait()
		g.takeAsked()
		for _, name := range []string{"locked/team00/page013.html", "locked/team00/missing.html"} {
			var d *retrieval.Document
			if i := slices.IndexFunc(g.docs, func(d *retrieval.Document) bool { return d.File == name }); i >= 0 {
				d = g.docs[i]
			}
			if g.CanOpen(ctx, name, d) {
				t.Errorf("%s opens", name)
			}
			first := g.takeAsked()
			if g.CanOpen(ctx, name, d) || len(first) > 1 || len(g.takeAsked()) > 0 {
				t.Errorf("%s is asked for at %q", name, first)
			}
		}
	})
}

// So it does where the lock answers 404, and a page could be at several paths.
func TestMissingAndLockedPagesTakeTheSameRequestsBehind404(t *testing.T) {
	for _, file := range []string{"locked/page.html", "locked/page.md", "https://docs.acme.com/locked/page.html"} {
		g := newBehindGate(t, []string{"index.html"}, func(string, string) bool { return false })
		g.docs = documents(base, "index.html", file)
		if strings.Contains(file, "://") {
			g.docs[1].Page, g.docs[1].URL = "locked/page", base+"/locked/page.html"
		}
		g.status.Store(http.StatusNotFound)
		g.Update(t.Context())
		synctest.Test(t, func(t *testing.T) {
			g.running = t.Context()
			ctx := readerWith(t, "wrong")
			g.CanOpen(ctx, "locked/page", g.docs[1])
			locked := len(g.takeAsked())
			g.CanOpen(ctx, "locked/none", nil)
			if missing := len(g.takeAsked()); missing != locked || locked == 0 {
				t.Errorf("%s: %d requests for a locked page, %d for a missing one", file, locked, missing)
			}
		})
	}
}

// A check that takes too long goes on, and the next search has its answer.
func TestASlowLockMakesTheFirstSearchIncomplete(t *testing.T) {
	g := newBehindGate(t, lockedFiles(1, 5), func(_, cookie string) bool { return cookie == "slow" })
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		g.wait.Store(int64(3 * time.Second))
		ctx := readerWith(t, "slow")
		began := time.Now()
		if got := g.search(ctx, 10); len(got) != 1 || !Incomplete(ctx) || time.Since(began) > 2*readerWait {
			t.Errorf("%q after %v, incomplete: %t", got, time.Since(began), Incomplete(ctx))
		}
		time.Sleep(10 * time.Second)
		ctx = readerWith(t, "slow")
		if got := g.search(ctx, 10); len(got) != 6 || Incomplete(ctx) {
			t.Errorf("then %q, incomplete: %t", got, Incomplete(ctx))
		}
	})
}

// What was proven for this content stays while there is no answer. Nothing else
// does.
func TestAnOutageOpensAndClosesNothing(t *testing.T) {
	open := true
	g := newBehindGate(t, lockedFiles(1, 3), func(path, _ string) bool { return open && strings.HasSuffix(path, "1.html") })
	states := func() (all []string) {
		for _, p := range g.Pages() {
			all = append(all, string(p.State))
		}
		return all
	}
	renew := func() {
		g.expire()
		for range 2 * len(g.docs) {
			g.states.mu.Lock()
			g.states.rest = time.Time{}
			g.states.mu.Unlock()
			g.Update(t.Context())
		}
	}
	want := []string{"public", "locked", "public", "locked"}
	if got := states(); !slices.Equal(got, want) {
		t.Fatalf("at first %q", got)
	}
	for _, status := range []int64{500, 502, 503, 504, 429} {
		g.status.Store(status)
		if renew(); !slices.Equal(states(), want) {
			t.Errorf("after %d: %q", status, states())
		}
	}
	changed := *g.docs[2]
	changed.Hash = "another"
	g.docs = slices.Clone(g.docs)
	g.docs[2] = &changed
	if g.View().IsPublic(&changed) {
		t.Error("a new content is public before it is asked for")
	}
	g.Update(t.Context())
	if got := states(); !slices.Equal(got, []string{"public", "locked", "unknown", "locked"}) {
		t.Errorf("a page that changed during the outage: %q", got)
	}
	g.status.Store(404)
	renew()
	if got := states(); !slices.Equal(got, []string{"public", "not served", "not served", "not served"}) {
		t.Errorf("after 404: %q", got)
	}
	g.status.Store(0)
	if renew(); !slices.Equal(states(), want) {
		t.Errorf("after the recovery: %q", states())
	}
}

// Indexes keep what they derive from the set that a search is narrowed to, and
// llms.txt is made again for another view: both remain until something changes.
func TestRenewalsKeepTheViewAndTheSets(t *testing.T) {
	g := newBehindGate(t, lockedFiles(1, 3), func(string, string) bool { return false })
	renew := func() *View {
		before := g.strangers.Load()
		for g.expire(); g.strangers.Load() < before+3; {
			g.Update(t.Context())
		}
		return g.View()
	}
	first := g.View()
	if renew() != first {
		t.Error("a view is published although nothing changed")
	}
	same := func(what string, v *View) {
		t.Helper()
		if v == first || v.Public != first.Public || v.sets.with([]int32{1}) != first.sets.with([]int32{1}) {
			t.Errorf("%s: the view is the same: %t, the set: %t", what, v == first, v.Public == first.Public)
		}
		first = v
	}
	g.status.Store(http.StatusUnauthorized)
	same("another reason", renew())
	if p := g.Pages()[1]; p.Why != "responds with Unauthorized" {
		t.Errorf("the page %s", p.Why)
	}
	g.docs = slices.Clone(g.docs)
	g.Update(t.Context())
	same("another generation of the same contents", g.View())
	g.docs = g.docs[:3]
	g.Update(t.Context())
	if v := g.View(); v.Public == first.Public || len(v.pages) != 3 {
		t.Errorf("without a page, the view has %d, and the set of the others: %t", len(v.pages), v.Public == first.Public)
	}
}

func TestPatienceGrowsAndFailuresBackOff(t *testing.T) {
	g := newBehindGate(t, lockedFiles(1, 1), func(string, string) bool { return true })
	synctest.Test(t, func(t *testing.T) {
		g.wait.Store(int64(25 * time.Second))
		changed := *g.docs[1]
		changed.Hash = "another"
		g.docs = []*retrieval.Document{g.docs[0], &changed}
		var times []time.Duration
		for began := time.Now(); time.Since(began) < time.Hour && len(times) < 4; time.Sleep(tick) {
			before := time.Now()
			g.Update(t.Context())
			if took := time.Since(before); took > time.Second {
				times = append(times, took)
			}
		}
		if want := []time.Duration{(2 + 10) * time.Second, 25 * time.Second, 25 * time.Second, 25 * time.Second}; !slices.Equal(times, want) {
			t.Errorf("requests took %v, want %v", times, want)
		}
		if p := g.Pages()[1]; p.State != Public {
			t.Errorf("the slow page is %s: %s", p.State, p.Why)
		}
	})
}

// Pages that are slow only since many are asked for at once are all known after
// the first pass.
func TestNoPageIsLateSinceOthersAreAskedFor(t *testing.T) {
	g := newBehindGate(t, lockedFiles(1, 36), func(string, string) bool { return true })
	synctest.Test(t, func(t *testing.T) {
		g.inside.background = []chan struct{}{make(chan struct{}, atOnce())} // of this bubble
		core := make(chan struct{}, 1)
		next := g.inside.chain
		g.inside.chain = caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			core <- struct{}{} // whether the client waits or not
			time.Sleep(700 * time.Millisecond)
			<-core
			return next.ServeHTTP(w, r)
		})
		g.docs = changed(g.docs)
		g.Update(t.Context())
		if n := CountOf(g.Pages()); !n.AllPublic() || !g.View().Complete {
			t.Errorf("after the first pass: %s", n)
		}
	})
}

// Where all pages hang, the first pass asks for few of them twice.
func TestPagesThatHangAreLeftForLater(t *testing.T) {
	g := newBehindGate(t, lockedFiles(1, 50), func(string, string) bool { return true })
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		var hangs atomic.Bool
		hangs.Store(true)
		next := g.inside.chain
		g.inside.chain = caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
			if asked.Add(1); hangs.Load() {
				<-r.Context().Done()
				return r.Context().Err()
			}
			return next.ServeHTTP(w, r)
		})
		g.docs = changed(g.docs)
		g.Update(t.Context())
		if n := asked.Load(); n < 51+giveUpAfter || n > 51+2*giveUpAfter {
			t.Errorf("%d requests for 51 pages", n)
		}
		if n := CountOf(g.Pages()); n.Unknown != 51 || !g.View().Complete {
			t.Errorf("after the first pass: %s", n)
		}
		hangs.Store(false)
		time.Sleep(retryAfter)
		g.Update(t.Context())
		if n := CountOf(g.Pages()); !n.AllPublic() {
			t.Errorf("when one of the pages has an answer again: %s", n)
		}
	})
}

// changed is what documents are after a change of each.
func changed(documents []*retrieval.Document) (all []*retrieval.Document) {
	for _, d := range documents {
		c := *d
		c.Hash += " changed"
		all = append(all, &c)
	}
	return all
}

// Clients that the site refuses its front page get nothing by the API.
func TestWhoIsRefusedTheFrontPageIsRefused(t *testing.T) {
	root := write(t, "index.html")
	block := "root * " + root + "\n@banned header X-Ban *\nrespond @banned 451\n@bot header User-Agent bot\nabort @bot\nfile_server"
	s := site(t, block, documents(base, "index.html"))
	ask := func(name, value string) int {
		r := httptest.NewRequest(http.MethodPost, "/v1/search/acme", nil)
		r.Header.Set(name, value)
		return s.Refuses(WithReader(t.Context(), r, func(string) bool { return false }))
	}
	for header, want := range map[string]int{"X-Ban: yes": 451, "User-Agent: bot": 403, "User-Agent: curl": 0} {
		name, value, _ := strings.Cut(header, ": ")
		if got := ask(name, value); got != want {
			t.Errorf("%s: %d, want %d", header, got, want)
		}
	}
}

// A front page that takes long is waited for once, and refuses as before until
// it has an answer.
func TestASlowFrontPageIsWaitedForOnce(t *testing.T) {
	g := newBehindGate(t, []string{"locked/start.html"}, func(_, cookie string) bool { return cookie != "denied" })
	refuses := func(cookie string) (status int, waited time.Duration) {
		began := time.Now()
		return g.Refuses(readerWith(t, cookie)), time.Since(began)
	}
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		if status, _ := refuses("denied"); status != http.StatusForbidden {
			t.Errorf("the client is refused with %d", status)
		}
		g.wait.Store(int64(3 * time.Second))
		time.Sleep(openedFor + time.Second)
		if status, waited := refuses("denied"); status != http.StatusForbidden || waited != readerWait {
			t.Errorf("while the page takes long, with %d after %v", status, waited)
		}
		if status, waited := refuses("denied"); status != http.StatusForbidden || waited != 0 {
			t.Errorf("then with %d after %v", status, waited)
		}
		refuses("other")
		time.Sleep(4 * time.Second)
		for _, cookie := range []string{"denied", "other"} {
			status, waited := refuses(cookie)
			if want := map[string]int{"denied": http.StatusForbidden, "other": 0}[cookie]; status != want || waited != 0 {
				t.Errorf("%s, when it has an answer, with %d after %v", cookie, status, waited)
			}
		}
	})
}

// Who is refused does not get in with other headers while the answer takes long.
func TestARefusedClientStaysRefusedWithOtherHeaders(t *testing.T) {
	g := newBehindGate(t, []string{"locked/start.html"}, func(_, cookie string) bool { return !strings.HasPrefix(cookie, "denied") })
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		if status := g.Refuses(readerWith(t, "denied")); status != http.StatusForbidden {
			t.Errorf("the client is refused with %d", status)
		}
		g.wait.Store(int64(3 * time.Second))
		if status := g.Refuses(readerWith(t, "denied, again")); status != http.StatusForbidden {
			t.Errorf("with another header, while the page takes long, with %d", status)
		}
		time.Sleep(4 * time.Second)
		g.wait.Store(0)
		if status := g.Refuses(readerWith(t, "other")); status != 0 {
			t.Errorf("who is let in at the same address is refused with %d", status)
		}
		time.Sleep(4 * time.Second)
	})
}

// Before its turn has come, a page that is searched, read, or redirected to is asked
// for at once.
func TestPagesAreAskedForBeforeTheirTurn(t *testing.T) {
	files := []string{"index.html", "install.html", "locked/plan.html", "locked/wages.html"}
	g := newBehindGate(t, files, func(_, cookie string) bool { return cookie == "staff" })
	fresh, err := New(g.Options)
	if err != nil {
		t.Fatal(err)
	}
	fresh.inside.chain = g.inside.chain
	fresh.late.Store(g.docs[0]) // the first searches have waited
	search := func(ctx context.Context) (pages []string) {
		var hits []retrieval.Hit
		for _, d := range g.docs {
			hits = append(hits, retrieval.Hit{Document: d})
		}
		for _, h := range fresh.Searched(ctx).Open(ctx, hits, 10, true) {
			pages = append(pages, h.Document.File)
		}
		return pages
	}
	if got := search(t.Context()); len(got) > 0 {
		t.Errorf("before a pass has begun, %v are found", got)
	}
	fresh.states.due(g.docs, time.Now()) // a pass begins, and gets no further
	install, plan := g.docs[1], g.docs[2]
	for cookie, want := range map[string]bool{"staff": true, "other": false} {
		if got := fresh.CanOpen(readerWith(t, cookie), plan.Page, plan); got != want {
			t.Errorf("%s opens to %s: %t", plan.File, cookie, got)
		}
	}
	if !fresh.CanOpen(readerWith(t, "other"), install.Page, install) {
		t.Errorf("%s is closed", install.File)
	}
	if v := fresh.Prove(t.Context(), plan, install); v.Complete || v.IsPublic(plan) || !v.IsPublic(install) || v.IsPublic(g.docs[0]) {
		t.Errorf("public are %v", fresh.Pages())
	}
	if got := search(t.Context()); !slices.Equal(got, files[:2]) {
		t.Errorf("%v are found", got)
	}
	if v := fresh.View(); !v.Complete {
		t.Error("all pages were asked for, but the view is not complete")
	}
}

// Searches that come at the same time ask for a page once.
func TestSearchesShareTheRequestsForPagesBeforeTheirTurn(t *testing.T) {
	g := newBehindGate(t, []string{"locked/plan.html", "locked/wages.html"}, func(_, cookie string) bool { return cookie == "staff" })
	fresh, err := New(g.Options)
	if err != nil {
		t.Fatal(err)
	}
	fresh.inside.chain = g.inside.chain
	fresh.states.due(g.docs, time.Now()) // a pass begins, and gets no further
	g.wait.Store(int64(200 * time.Millisecond))
	g.strangers.Store(0)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { fresh.Prove(t.Context(), g.docs...) })
	}
	wait.Wait()
	if n := g.strangers.Load(); n > int64(len(g.docs)) {
		t.Errorf("%d pages are asked for with %d requests", len(g.docs), n)
	}
	if v := fresh.View(); !v.Complete || v.IsPublic(g.docs[0]) {
		t.Errorf("the view is %+v", fresh.Pages())
	}
}

// After Run has ended, nothing is published: what OnView writes would be there again
// after it has been removed.
func TestNothingIsPublishedAfterRun(t *testing.T) {
	g := newBehindGate(t, []string{"index.html"}, func(string, string) bool { return true })
	fresh, err := New(g.Options)
	if err != nil {
		t.Fatal(err)
	}
	viewing, view := make(chan struct{}), make(chan struct{})
	fresh.OnView = func(*View) {
		viewing <- struct{}{}
		<-view
	}
	fresh.states.due(g.docs, time.Now())
	go fresh.Prove(t.Context(), g.docs...)
	<-viewing
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fresh.Run(ctx)
	}()
	select {
	case <-ended:
		t.Error("Run has ended while a view is published")
	case <-time.After(100 * time.Millisecond):
	}
	close(view)
	<-ended
	before := fresh.View()
	if fresh.publish(g.docs); fresh.View() != before {
		t.Error("a view is published after Run")
	}
}

// Pages that gave no answer beside others are asked for with more patience. Until
// then, the view lacks them, and is not complete.
func TestPagesThatAreAskedForOnceMoreAreNotProved(t *testing.T) {
	g := newBehindGate(t, []string{"locked/plan.html"}, func(string, string) bool { return true })
	fresh, err := New(g.Options)
	if err != nil {
		t.Fatal(err)
	}
	fresh.inside.chain = g.inside.chain
	fresh.states.due(g.docs, time.Now())
	fresh.states.pages[g.docs[0].Page] = &Page{Document: g.docs[0], State: Unknown}
	fresh.states.mark(g.docs, true)
	g.strangers.Store(0)
	g.status.Store(http.StatusServiceUnavailable)
	if v := fresh.Prove(t.Context(), g.docs...); v.Complete || g.strangers.Load() > 0 {
		t.Errorf("the view is complete: %t, after %d requests", v.Complete, g.strangers.Load())
	}
}

// A client that is refused finds nothing either while it is not known yet which page
// it is refused.
func TestARefusedClientFindsNothingBeforeTheFirstPass(t *testing.T) {
	g := newBehindGate(t, []string{"locked/start.html"}, func(_, cookie string) bool { return cookie != "denied" })
	for cookie, want := range map[string]int{"denied": 0, "other": 1} {
		fresh, err := New(g.Options)
		if err != nil {
			t.Fatal(err)
		}
		fresh.inside.chain = g.inside.chain
		fresh.late.Store(g.docs[0])
		fresh.states.due(g.docs, time.Now()) // a pass begins, and gets no further
		ctx := readerWith(t, cookie)
		if status := fresh.Refuses(ctx); status != 0 {
			t.Fatalf("%s is refused with %d before a page is known", cookie, status)
		}
		if got := fresh.Searched(ctx).Open(ctx, []retrieval.Hit{{Document: g.docs[0]}}, 10, true); len(got) != want {
			t.Errorf("%s finds %d pages, want %d", cookie, len(got), want)
		}
	}
}

// The front page is asked for while requests for locked pages take all slots.
func TestLocksThatHangLeaveSlotsToTheFrontPage(t *testing.T) {
	g := newBehindGate(t, []string{"locked/start.html"}, func(_, cookie string) bool { return cookie != "denied" })
	for range readersInsideAtOnce {
		g.inside.readers[0] <- struct{}{}
	}
	if status := g.Refuses(readerWith(t, "denied")); status != http.StatusForbidden {
		t.Errorf("the client is refused with %d", status)
	}
}

// Locks that hang close no public page, except to those who were refused before.
func TestPublicPagesOpenWhileLocksHang(t *testing.T) {
	g := newBehindGate(t, []string{"locked/start.html", "locked/plan.html"}, func(path, cookie string) bool {
		return cookie == "staff" || cookie != "denied" && strings.Contains(path, "start")
	})
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		if status := g.Refuses(readerWith(t, "denied")); status != http.StatusForbidden {
			t.Errorf("the client is refused with %d", status)
		}
		if status := g.Refuses(readerWith(t, "any")); status != 0 { // at the same address
			t.Errorf("another client is refused with %d", status)
		}
		g.wait.Store(int64(20 * time.Second))
		for _, d := range g.Documents() {
			public := strings.Contains(d.File, "start")
			for cookie, want := range map[string]bool{"any": public, "staff": public, "denied": false} {
				if got := g.CanOpen(readerWith(t, cookie), d.Page, d); got != want {
					t.Errorf("%s opens to %s: %t", d.File, cookie, got)
				}
			}
		}
		time.Sleep(time.Minute)
	})
}

// However many clients come, and however long their headers are, few are
// remembered.
func TestTheReadersThatAreRememberedAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("30,000 readers of one goroutine take long with the race detector")
	}
	root := write(t, "index.html")
	s := site(t, "root * "+root+"\nfile_server", documents(base, "index.html"))
	for i := range 3 * maxReaders {
		s.readers.rights(s, visitOf(readerWith(t, fmt.Sprint(i))))
	}
	if n := len(s.readers.now) + len(s.readers.before); n > 2*maxReaders {
		t.Errorf("%d readers are remembered", n)
	}
	long := strings.Repeat("x", 1<<20)
	for i := range 200 {
		s.readers.rights(s, visitOf(readerWith(t, long+fmt.Sprint(i))))
	}
	if n := len(s.readers.now) + len(s.readers.before); n > 2*(maxReadersSize>>20+1) {
		t.Errorf("%d readers with headers of 1 MB are remembered", n)
	}
}

// Where rights go by folder, a search asks a lock for the pages that it shows,
// and for as many others.
func TestASearchAsksALockAtMostTwentyTimes(t *testing.T) {
	g := newBehindGate(t, lockedFiles(50, 40), func(path, cookie string) bool {
		var folder, reader int
		_, _ = fmt.Sscanf(path, "/locked/team%d/", &folder)
		_, _ = fmt.Sscanf(cookie, "reader%d", &reader)
		return (folder-reader%50+50)%50 < 5
	})
	random := rand.New(rand.NewPCG(1, 2))
	searches := 200
	if testing.Short() {
		searches = 40
	}
	synctest.Test(t, func(t *testing.T) {
		g.running = t.Context()
		all := slices.Clone(g.docs)
		finds := 0
		for n := range searches {
			random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			ctx := readerWith(t, fmt.Sprintf("reader%d", n/4))
			if found := g.searchFor(ctx, all[:400], 10); len(found) == 10 {
				finds++
			}
			synctest.Wait()
			if asked := g.takeAsked(); len(asked) > 20 {
				t.Errorf("search %d of a reader asks the lock %d times", n%4+1, len(asked))
			}
		}
		if finds < searches*3/4 {
			t.Errorf("%d of %d searches show ten pages", finds, searches)
		}
	})
}
