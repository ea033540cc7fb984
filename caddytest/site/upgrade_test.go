package site

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// The current code opens what released versions have stored: a folder of
// fixtures has the storage, the data folder, the pages, and Caddyfiles with
// their JSON. Before a release, record its version:
//
//	go test ./caddytest/site -run RecordAVersion -record v0.2.0
//
// A fixture changes until its version is tagged, and never again.
const fixtures = "../upgrade/testdata"

var record = flag.String("record", "", "write the fixture of this version")

// fixtureFacts says what a fixture holds.
type fixtureFacts struct {
	At          time.Time
	Secret      string // of a key that was created
	Thread      string
	IndexFormat int
}

const (
	storedQuestion = "How do I install Acme on Linux?"
	storedReader   = "ann"
)

// keepLong is the options of the server that reads a fixture. Threads are kept for
// as long as possible, as the fixture grows old.
func keepLong(pages string) string {
	return "threads ttl 3650d\n\tsite acme {\n\t\troot " + pages + "\n\t}"
}

const apiBlock = "http://:0 {\n\tsearch\n\tassistant\n}\n"

func TestRecordAVersion(t *testing.T) {
	if *record == "" {
		t.Skip("records the fixture of a release with -record VERSION")
	}
	to := filepath.Join(fixtures, *record)
	if _, err := os.Stat(to); err == nil {
		t.Fatalf("%s exists: what a release has stored does not change", to)
	}
	dir, pages := t.TempDir(), caddytest.AcmeFolder(t)
	s := caddytest.StartIn(t, dir, keepLong(pages), apiBlock)
	s.Ready("acme")
	caddytest.Until(t, "the index is stored", func() bool {
		_, err := os.Stat(filepath.Join(dir, "data", "acme", "index", "index.snapshot"))
		return err == nil
	})
	secret, made, err := access.Make(access.Key{Name: "upgrade", Organization: "acme", Sites: []string{"acme"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	data, err := access.Record(made)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := caddytest.App(t).Shared().Keys.Add(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	s.Search("acme", `{"query":"install linux"}`)
	reply := s.AskBody(caddytest.Question(storedQuestion, map[string]any{"fp": storedReader}))
	s.Do(caddytest.Request{Path: "/v1/feedback/acme", Body: fmt.Sprintf(`{"threadId":%q,"rating":"up"}`, reply.ThreadID)})
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	for from, name := range map[string]string{filepath.Join(dir, "storage", "docs"): "storage/docs", filepath.Join(dir, "data"): "data", pages: "pages"} {
		if err := os.CopyFS(filepath.Join(to, filepath.FromSlash(name)), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"everything", "first_minute", "docs_with_words_of_both", "llm_with_every_word", "index_meilisearch_with_every_word", "insights_with_every_word", "key_with_every_word", "search_with_every_word", "assistant_with_every_word"} {
		text, err := os.ReadFile(filepath.Join("..", "adapt", name+".caddyfiletest"))
		if err != nil {
			t.Fatal(err)
		}
		caddytest.Write(t, to, map[string]string{"caddyfiles/" + name + ".caddyfiletest": string(text)})
	}
	facts, err := json.MarshalIndent(fixtureFacts{time.Now().UTC().Truncate(time.Second), secret, reply.ThreadID, embedded.SnapshotFormat}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	caddytest.Write(t, to, map[string]string{"stored.json": string(facts) + "\n"})
}

// eachVersion runs a test with each fixture.
func eachVersion(t *testing.T, run func(t *testing.T, fixture string, facts fixtureFacts)) {
	folders, err := filepath.Glob(fixtures + "/v*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, fixture := range folders {
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(fixture, "stored.json"))
			if err != nil {
				t.Fatal(err)
			}
			var facts fixtureFacts
			if err := json.Unmarshal(data, &facts); err != nil {
				t.Fatal(err)
			}
			run(t, fixture, facts)
		})
	}
}

// copyFixture returns a copy of a fixture, which the server may change.
func copyFixture(t *testing.T, fixture string) string {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatEachReleaseHasStoredIsOpened(t *testing.T) {
	eachVersion(t, func(t *testing.T, fixture string, facts fixtureFacts) {
		dir := copyFixture(t, fixture)
		s := caddytest.StartIn(t, dir, keepLong(filepath.Join(dir, "pages")), apiBlock)
		s.Ready("acme")
		if found := s.Search("acme", `{"query":"install linux"}`); len(found) == 0 || found[0].Path != "guide/install#on-linux" {
			t.Errorf("found %+v", found)
		}
		rebuilt := strings.Contains(s.Log(), "the stored search index can't be used and will be rebuilt")
		if rebuilt != (facts.IndexFormat != embedded.SnapshotFormat) {
			t.Errorf("an index of format %d (this version's is %d) is rebuilt: %t", facts.IndexFormat, embedded.SnapshotFormat, rebuilt)
		}
		if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: facts.Secret, Body: `{"query":"install"}`}); r.Status != http.StatusOK {
			t.Errorf("the stored key: %d %s", r.Status, r.Body)
		}
		// The thread goes on: it is not another one.
		if reply := s.AskBody(caddytest.Question("And on Windows?", map[string]any{"fp": storedReader, "threadId": facts.Thread})); reply.ThreadID != facts.Thread {
			t.Errorf("the thread %s is continued as %s", facts.Thread, reply.ThreadID)
		}
		for line := range strings.Lines(s.Log()) {
			if strings.Contains(line, `"level":"error"`) {
				t.Errorf("logged: %s", line)
			}
		}
	})
}

// After a downgrade, an index and a table of pages of a newer release are
// rebuilt, and its keys and threads are read without what is unknown.
func TestWhatANewerReleaseHasStoredIsReadOrRebuilt(t *testing.T) {
	eachVersion(t, func(t *testing.T, fixture string, facts fixtureFacts) {
		dir := copyFixture(t, fixture)
		newer := func(pattern, old, changed string) {
			t.Helper()
			files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
			if err != nil || len(files) != 1 {
				t.Fatalf("%s: %v, %v", pattern, files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil || !bytes.Contains(data, []byte(old)) {
				t.Fatalf("%s has no %s: %v", files[0], old, err)
			}
			data = bytes.Replace(data, []byte(old), []byte(changed), 1)
			if strings.HasSuffix(files[0], ".snapshot") {
				end := len(data) - crc32.Size
				data = binary.BigEndian.AppendUint32(data[:end], crc32.Checksum(data[:end], crc32.MakeTable(crc32.Castagnoli)))
			}
			if err := os.WriteFile(files[0], data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		newer("data/acme/index/index.snapshot", fmt.Sprintf("caddy-docs index %d\n", facts.IndexFormat), "caddy-docs index 999\n")
		newer("data/acme/pages/pages.json", `{"format":`, `{"new":[{}],"format":999`)
		newer("storage/docs/keys/*.json", `{`, `{"new":{"a":1},`)
		newer("storage/docs/threads/acme/*/*.json", `{`, `{"new":{"a":1},`)
		s := caddytest.StartIn(t, dir, keepLong(filepath.Join(dir, "pages")), apiBlock)
		s.Ready("acme")
		if found := s.Search("acme", `{"query":"install linux"}`); len(found) == 0 || found[0].Path != "guide/install#on-linux" {
			t.Errorf("found %+v", found)
		}
		for _, want := range []string{"the stored search index can't be used and will be rebuilt", "a newer version of caddy-docs wrote it: its format is 999"} {
			if !strings.Contains(s.Log(), want) {
				t.Errorf("the log has no %q:\n%s", want, s.Log())
			}
		}
		if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: facts.Secret, Body: `{"query":"install"}`}); r.Status != http.StatusOK {
			t.Errorf("the stored key: %d %s", r.Status, r.Body)
		}
		if reply := s.AskBody(caddytest.Question("And on Windows?", map[string]any{"fp": storedReader, "threadId": facts.Thread})); reply.ThreadID != facts.Thread {
			t.Errorf("the thread %s is continued as %s", facts.Thread, reply.ThreadID)
		}
	})
}

func TestTheInsightsOfEachReleaseAreRead(t *testing.T) {
	eachVersion(t, func(t *testing.T, fixture string, facts fixtureFacts) {
		store, err := sqlite.Open(t.Context(), filepath.Join(copyFixture(t, fixture), "data", "insights.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		kinds := map[string]int{}
		err = store.Export(t.Context(), insights.Scope{Organization: "acme", Site: "acme"}, insights.LastDays(2, facts.At.Add(12*time.Hour)), func(e insights.Event) error {
			kinds[e.Kind()]++
			return nil
		})
		if err != nil || len(kinds) < 3 {
			t.Errorf("%v: read %v, want searches, replies and votes", err, kinds)
		}
	})
}

// later are the handlers that v0.1.0 did not have, and their routes.
var later = regexp.MustCompile(`,{"handle":\[{[^{}]*"handler":"docs_not_found"[^{}]*}\]}|,{[^{}]*"handler":"docs_not_found"[^{}]*}`)

func TestTheCaddyfilesOfEachReleaseBecomeTheSameJSON(t *testing.T) {
	eachVersion(t, func(t *testing.T, fixture string, _ fixtureFacts) {
		files, err := filepath.Glob(filepath.Join(fixture, "caddyfiles", "*.caddyfiletest"))
		if err != nil || len(files) < 5 {
			t.Fatalf("%d Caddyfiles, %v", len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text, want, _ := bytes.Cut(data, []byte("\n----------\n"))
			got, err := caddytest.Adapt(string(text) + "\n")
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			var a, b bytes.Buffer
			if err := json.Compact(&a, got); err != nil {
				t.Fatal(err)
			}
			if err := json.Compact(&b, want); err != nil {
				t.Fatal(err)
			}
			if got := later.ReplaceAllString(a.String(), ""); got != b.String() {
				t.Errorf("%s becomes\n%s\nwas\n%s", file, &a, &b)
			}
		}
	})
}

// After a downgrade, the insights of a newer release are left alone, with a
// sentence that says so, and the site is served.
func TestInsightsOfANewerReleaseAreRefusedWithASentence(t *testing.T) {
	dir := t.TempDir()
	s := caddytest.StartIn(t, dir, keepLong(caddytest.AcmeFolder(t)), apiBlock)
	s.Ready("acme")
	if err := caddy.Stop(); err != nil { // stores the search
		t.Fatal(err)
	}
	file := filepath.Join(dir, "data", "insights.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := db.Exec("update docs_schema set version = 999"); err != nil {
		t.Fatal(err)
	} else if n, _ := r.RowsAffected(); n != 1 {
		t.Fatalf("%d rows", n)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// No search here: what can't be recorded would delay the stop.
	s.Load(keepLong(caddytest.AcmeFolder(t)), apiBlock)
	caddytest.Until(t, "the site is searched", func() bool { return caddytest.App(t).Status().Sites[0].Index.Ready })
	const sentence = "a newer release of caddy-docs has written this database; install that release, or restore a backup"
	said := ""
	for _, c := range caddytest.App(t).Doctor(t.Context()) {
		if !c.OK {
			said += c.Found + "\n" + c.Do + "\n"
		}
	}
	if !strings.Contains(said, sentence) || !strings.Contains(said, "install the release that wrote it, or move it away") {
		t.Errorf("doctor says:\n%s", said)
	}
}
