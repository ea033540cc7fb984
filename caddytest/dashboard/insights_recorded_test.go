package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
)

var acme = insights.Scope{Organization: "acme", Site: "acme"}

// today is a period around now, also at midnight.
func today() insights.Period { return insights.LastDays(2, time.Now().Add(12*time.Hour)) }

// stop ends Caddy, which stores what is buffered, and opens what it has stored.
func stop(t *testing.T, s *caddytest.Server) *insights.Store {
	t.Helper()
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(s.Dir, "data", "insights.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// events are all events of acme.
func events(t *testing.T, store *insights.Store) (all []insights.Event) {
	t.Helper()
	err := store.Export(t.Context(), acme, today(), func(e insights.Event) error {
		all = append(all, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func overview(t *testing.T, store *insights.Store) insights.Overview {
	t.Helper()
	o, err := store.Overview(t.Context(), acme, today())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOneCaddy runs the tests of the Caddy in this process, one after the other.
func TestOneCaddy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"Searches, replies, votes and clicks are recorded", searchesRepliesVotesAndClicksAreRecorded},
		{"Both versions are recorded", bothVersionsAreRecorded},
		{"Missing pages are counted if somebody can learn from them", missingPagesAreCounted},
		{"Feedback for another site's conversation is refused", feedbackForAnotherSitesConversationIsRefused},
		{"Bad reports say what to send", badReportsSayWhatToSend},
		{"Insights off leave nothing", insightsOffLeaveNothing},
		{"Texts and clicks off", textsAndClicksOff},
		{"A reload loses nothing", aReloadLosesNothing},
		{"A broken store keeps nothing from being served", aBrokenStoreKeepsNothingFromBeingServed},
		{"A site may be named like a command", aSiteMayBeNamedLikeACommand},
		{"Commands show export and erase", commandsShowExportAndErase},
		{"The raw files have nothing that is never stored", theRawFilesHaveNothingThatIsNeverStored},
		{"Every source is recorded as such", everySourceIsRecordedAsSuch},
		{"Of a typing session the final query is recorded", ofATypingSessionTheFinalQueryIsRecorded},
	} {
		t.Run(test.name, test.run)
	}
}

func post(t *testing.T, s *caddytest.Server, path, body string, want int) *caddytest.Response {
	t.Helper()
	r := s.Do(caddytest.Request{Path: path, Body: body})
	if r.Status != want {
		t.Fatalf("POST %s %s: %d %s", path, body, r.Status, r.Body)
	}
	return r
}

func searchesRepliesVotesAndClicksAreRecorded(t *testing.T) {
	s := caddytest.Start(t, "", caddytest.MetricsSite(caddytest.AcmeFolder(t)))
	s.Ready("acme") // searches for x
	s.Search("acme", `{"query":"  Install LINUX "}`)
	s.Search("acme", `{"query":"zzzqqqxxx","filter":{"language":"en"}}`)
	s.Search("acme", `{"query":"mail jane@example.com"}`)
	first := s.AskBody(caddytest.Question(caddytest.InstallQuestion, map[string]any{"fp": "ann", "currentPath": "/guide/configure?token=abc"}))
	second := s.AskBody(caddytest.Question("And on Windows?", map[string]any{"fp": "ann", "threadId": first.ThreadID}))
	if second.ThreadID != first.ThreadID {
		t.Fatal("another thread")
	}
	post(t, s, "/v1/feedback/acme", fmt.Sprintf(`{"threadId":%q,"messageId":"a hook's own","rating":"up"}`, first.ThreadID), http.StatusNoContent)
	post(t, s, "/v1/feedback/acme", fmt.Sprintf(`{"threadId":%q,"rating":"down","reasons":["wrong"],"comment":"call +1, or jane@example.com"}`, first.ThreadID), http.StatusNoContent)
	post(t, s, "/v1/feedback/acme", `{"path":"/guide/install/","rating":"up"}`, http.StatusNoContent)
	post(t, s, "/v1/events/acme", `{"type":"click","query":"install linux","path":"guide/install#on-linux","position":1}`, http.StatusNoContent)
	r := s.Do(caddytest.Request{Path: "/v1/events/acme", Body: `{"type":"click","query":"install linux","path":"private","position":1}`, Header: map[string]string{"Sec-GPC": "1"}})
	if r.Status != http.StatusNoContent {
		t.Errorf("with Sec-GPC: %d", r.Status)
	}
	missed(t, "acme", "/old", "", "Mozilla/5.0")
	for series, want := range map[string]float64{
		`caddy_docs_missing_total{outcome="nothing",site="acme"}`:         1,
		`caddy_docs_events_total{kind="search",site="acme",source="api"}`: 3,
		`caddy_docs_clicks_total{site="acme"}`:                            1,
		`caddy_docs_feedback_total{rating="down",site="acme"}`:            1,
		`caddy_docs_answered_total{answered="yes",site="acme"}`:           1,
		`caddy_docs_insights_dropped_total`:                               0,
	} {
		if got := s.Metric(t, series); got < want {
			t.Errorf("%s is %v, want at least %v", series, got, want)
		}
	}

	store := stop(t, s)
	o := overview(t, store)
	if o.Searches < 4 || o.NoResult < 1 || o.Clicks != 1 || o.Conversations != 1 || o.Replies != 2 || o.Yes < 1 || o.Up != 1 || o.Down != 1 || o.FirstToken == nil {
		t.Errorf("%+v", o.Counts)
	}
	var queries []string
	for _, e := range events(t, store) {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "jane@") || strings.Contains(string(text), "token=abc") || strings.Contains(string(text), "127.0.0.1") || strings.Contains(string(text), "private") {
			t.Errorf("%s", text)
		}
		switch {
		case e.Search != nil:
			queries = append(queries, e.Search.Query)
			if e.Search.Query == "install linux" && (e.Search.Hits == 0 || e.Search.Top == nil || *e.Search.Top < .3 || e.Source != insights.API) {
				t.Errorf("%+v", e.Search)
			}
		case e.Reply != nil && e.Reply.Question == caddytest.InstallQuestion:
			r := e.Reply
			if r.Page != "guide/configure" || r.Nearest != "guide/install" || !slices.Contains(r.Cited, "guide/install") || r.Model != "extractive" || r.Outcome != "extractive" || r.Thread != first.ThreadID || !strings.HasPrefix(r.Message, "msg_") || r.Language != "en" {
				t.Errorf("%+v", r)
			}
		case e.Vote != nil && e.Vote.Thread != "":
			if e.Vote.Rating != "down" || !strings.HasPrefix(e.Vote.Message, "msg_") {
				t.Errorf("%+v", e.Vote)
			}
		case e.Vote != nil && e.Vote.Path != "guide/install":
			t.Errorf("%+v", e.Vote)
		case e.Click != nil && e.Click.Path != "guide/install":
			t.Errorf("%+v", e.Click)
		}
	}
	for _, want := range []string{"install linux", "zzzqqqxxx", "mail [email]"} {
		if !slices.Contains(queries, want) {
			t.Errorf("%q is not in %q", want, queries)
		}
	}
	use, err := store.KeyUse(t.Context(), acme, today())
	if err != nil || len(use) != 1 || !strings.HasPrefix(use[0].Key, "fixed-") || use[0].Replies != 2 {
		t.Errorf("use of keys: %+v %v", use, err)
	}
}

func bothVersionsAreRecorded(t *testing.T) {
	s := caddytest.StartAcme(t)
	s.AskAll(t, caddytest.InstallQuestion, nil)
	if o := overview(t, stop(t, s)); o.Replies != 2 || o.Conversations != 2 {
		t.Errorf("%+v", o.Counts)
	}
}

func feedbackForAnotherSitesConversationIsRefused(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	const stranger = "svc_dsc_key_of_organization_other"
	keys := "key " + caddytest.Key + " {\norganization acme\n}\nkey " + stranger + " {\norganization other\n}"
	s := caddytest.Start(t, keys, "http://:0 {\n\thandle_path /third/* {\n\t\tdocs third "+root+" {\n\t\t\torganization other\n\t\t}\n\t}\n\thandle_path /second/* {\n\t\tdocs second "+root+" {\n\t\t\torganization acme\n\t\t}\n\t}\n\thandle {\n\t\tdocs acme "+root+"\n\t}\n}\n")
	s.Ready("acme")
	thread := s.AskBody(caddytest.Question(caddytest.InstallQuestion, nil)).ThreadID
	if e := post(t, s, "/second/v1/feedback/second", fmt.Sprintf(`{"threadId":%q,"rating":"up"}`, thread), http.StatusNotFound).Error(t); e.Code != "unknown_thread" {
		t.Errorf("%+v", e)
	}
	post(t, s, "/v1/feedback/acme", `{"threadId":"thr_20260101aaaaaaaaaaaaaaaaaaaaaaaaaa","rating":"up"}`, http.StatusNotFound)
	for path, want := range map[string]int{"/third/v1/feedback/third": http.StatusNotFound, "/v1/feedback/acme": http.StatusForbidden} {
		if r := s.Do(caddytest.Request{Path: path, Key: stranger, Body: fmt.Sprintf(`{"threadId":%q,"rating":"up"}`, thread)}); r.Status != want {
			t.Errorf("%s with another organization's key: %d %s", path, r.Status, r.Body)
		}
	}
	post(t, s, "/v1/feedback/acme", fmt.Sprintf(`{"threadId":%q,"rating":"up"}`, thread), http.StatusNoContent)
	// A vote that is taken back does not count.
	other := s.AskBody(caddytest.Question("And on Windows?", nil)).ThreadID
	post(t, s, "/v1/feedback/acme", fmt.Sprintf(`{"threadId":%q,"rating":"up"}`, other), http.StatusNoContent)
	post(t, s, "/v1/feedback/acme", fmt.Sprintf(`{"threadId":%q,"rating":null}`, other), http.StatusNoContent)
	if o := overview(t, stop(t, s)); o.Up != 1 {
		t.Errorf("%+v", o.Counts)
	}
}

func badReportsSayWhatToSend(t *testing.T) {
	s := caddytest.StartAcme(t)
	for _, c := range []struct{ path, body, says string }{
		{"feedback", `{}`, `rating must be "up", "down" or null`},
		{"feedback", `{"rating":"up"}`, "threadId must be that of a reply, or path that of a page"},
		{"feedback", `{"rating":"up","threadId":"a","path":"b"}`, "path must be left out"},
		{"feedback", `{"rating":1,"path":"b"}`, "rating"},
		{"feedback", `{"rating":"sideways","path":"b"}`, `rating must be "up", "down" or null`},
		{"feedback", `{"rating":"up","threadId":"../keys"}`, "threadId must be"},
		{"feedback", `{"rating":"up","path":"b","comment":"` + strings.Repeat("x", 1001) + `"}`, "the maximum is 1000 characters"},
		{"feedback", `{"rating":"up","path":"b","reasons":["1","2","3","4","5","6","7","8","9","10","11"]}`, "the maximum is 10 reasons"},
		{"events", `{"type":"search"}`, "query must be what was searched for"},
		{"events", `{"type":"view","query":"x"}`, `type must be "search" or "click"`},
		{"events", `{"query":"x"}`, `type must be "search" or "click"`},
		{"events", `{"type":"click","query":"x","position":1}`, "path must be"},
		{"events", `{"type":"click","query":"x","path":"a"}`, "position must be"},
		{"events", `{"type":"click","query":"x","path":"a","position":0}`, "position must be"},
		{"events", `[]`, "the body must be an object"},
	} {
		if e := post(t, s, "/v1/"+c.path+"/acme", c.body, http.StatusBadRequest).Error(t); !strings.Contains(e.Error, c.says) {
			t.Errorf("%s %s: %s", c.path, c.body, e.Error)
		}
	}
	for path, code := range map[string]int{"/v1/feedback/acme": http.StatusUnauthorized, "/v1/events/acme": http.StatusUnauthorized} {
		if r := s.Do(caddytest.Request{Path: path, Body: `{}`, Key: "-"}); r.Status != code {
			t.Errorf("%s without a key: %d", path, r.Status)
		}
		if r := s.Do(caddytest.Request{Path: path, Body: `{"comment":"` + strings.Repeat("x", 20_000) + `"}`}); r.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s with 20 kB: %d", path, r.Status)
		}
		r := s.Do(caddytest.Request{Method: http.MethodOptions, Path: path, Key: "-", Header: map[string]string{"Origin": "https://elsewhere.test", "Access-Control-Request-Method": "POST"}})
		if r.Status != http.StatusNoContent {
			t.Errorf("preflight of %s: %d", path, r.Status)
		}
	}
}

func insightsOffLeaveNothing(t *testing.T) {
	s := caddytest.Start(t, "insights off", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	thread := s.AskBody(caddytest.Question(caddytest.InstallQuestion, nil)).ThreadID
	post(t, s, "/v1/feedback/acme", fmt.Sprintf(`{"threadId":%q,"rating":"up"}`, thread), http.StatusNoContent)
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "data", "insights.db")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

func textsAndClicksOff(t *testing.T) {
	s := caddytest.Start(t, "insights {\ntexts off\nclicks off\nstore sqlite other.db\n}", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	s.AskBody(caddytest.Question(caddytest.InstallQuestion, nil))
	post(t, s, "/v1/events/acme", `{"type":"click","query":"install","path":"guide/install","position":1}`, http.StatusNoContent)
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(s.Dir, "data", "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for _, e := range events(t, store) {
		if e.Click != nil || e.Search != nil && e.Search.Query != "" || e.Reply != nil && e.Reply.Question != "" {
			t.Errorf("%+v %+v %+v", e.Click, e.Search, e.Reply)
		}
	}
	if o := overview(t, store); o.Searches == 0 || o.Replies != 1 {
		t.Errorf("%+v", o.Counts)
	}
}

func aReloadLosesNothing(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "events.jsonl")
	site := strings.Replace(caddytest.Site(caddytest.AcmeFolder(t)), ":0", fmt.Sprint(":", caddytest.FreePort(t)), 1)
	s := caddytest.Start(t, "insights {\njsonl "+lines+"\n}", site)
	s.Ready("acme")
	base := s.Base
	ask := func() bool {
		req, err := http.NewRequest(http.MethodPost, base+caddytest.SearchPath, strings.NewReader(`{"query":"count me"}`))
		if err != nil {
			return false
		}
		req.Header.Set("Authorization", "Bearer "+caddytest.Key)
		req.Header.Set("Content-Type", "application/json")
		req.Close = true // a reload closes idle connections
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	var asked, sent atomic.Int64                                                       // an answer may be lost that was recorded
	for _, more := range []string{"", "retention 30d\n", "store sqlite second.db\n"} { // the same recorder, another, another store
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				asked.Add(1)
				if ask() {
					sent.Add(1)
				}
			}
		}()
		enough := func() {
			n := sent.Load() + 5
			caddytest.Until(t, "searches are answered", func() bool { return sent.Load() >= n })
		}
		enough()
		s.Load("insights {\n"+more+"jsonl "+lines+"\n}", site)
		enough()
		close(stop)
		<-done
	}
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	var stored int64
	for _, file := range []string{"insights.db", "second.db"} {
		store, err := sqlite.Open(t.Context(), filepath.Join(s.Dir, "data", file))
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.Searches(t.Context(), acme, insights.Query{Period: today()})
		_ = store.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range list {
			if q.Query == "count me" {
				stored += q.Searches
			}
		}
	}
	if stored < sent.Load() || stored > asked.Load() {
		t.Errorf("%d of %d searches were answered, %d are stored", sent.Load(), asked.Load(), stored)
	}
	data, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for line := range strings.Lines(string(data)) {
		var e struct {
			Kind, Site, Source string
			At                 time.Time
			Search             *insights.Search
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Kind == "search" && e.Site == "acme" && e.Source == "api" && !e.At.IsZero() && e.Search.Query == "count me" {
			n++
		}
	}
	if n != stored {
		t.Errorf("%d searches are stored, %d are lines of JSON", stored, n)
	}
}

func aBrokenStoreKeepsNothingFromBeingServed(t *testing.T) {
	dir := t.TempDir()
	caddytest.Write(t, dir, map[string]string{"data/insights.db": strings.Repeat("this is no database. ", 100)})
	s := caddytest.StartIn(t, dir, "", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	s.Search("acme", `{"query":"install"}`)
	found := false
	for _, c := range caddytest.App(t).Doctor(t.Context()) {
		if c.What == "insights" {
			found = true
			if c.OK || !strings.Contains(c.Found, "not a database") || !strings.Contains(c.Do, "insights.db") {
				t.Errorf("%+v", c)
			}
		}
	}
	if !found {
		t.Error("doctor says nothing of it")
	}

	// Once the file is moved away, at the latest when Caddy stops, nothing is lost.
	file := filepath.Join(dir, "data", "insights.db")
	if err := os.Rename(file, file+".broken"); err != nil {
		t.Fatal(err)
	}
	if o := overview(t, stop(t, s)); o.Searches < 1 {
		t.Errorf("%+v", o.Counts)
	}
}
