package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/handlers/command"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
)

func docs(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := &cobra.Command{Use: "docs"}
	command.Fill(cmd)
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	cmd.SetContext(t.Context())
	err := cmd.Execute()
	return out.String(), err
}

// writeWithoutRoutes writes a configuration for a command: what a command
// provisions is kept until its process ends, and routes would keep the counts
// of the requests of other tests.
func writeWithoutRoutes(t *testing.T, file, dir, site string) {
	t.Helper()
	text := caddytest.Global(dir, "site "+site+" {\nroot "+caddytest.AcmeFolder(t)+"\n}")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func aSiteMayBeNamedLikeACommand(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "Caddyfile")
	writeWithoutRoutes(t, file, dir, "backup")
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "data", "insights.db"))
	if err != nil {
		t.Fatal(err)
	}
	events := []insights.Event{
		{Search: &insights.Search{Query: "the site's own"}},
		{Reply: &insights.Reply{Thread: "a", Message: "m", Question: "What is slow?", Outcome: "answered", Answered: "yes", FirstToken: 2500}},
		{Reply: &insights.Reply{Thread: "b", Message: "n", Question: "What is quick?", Outcome: "answered", Answered: "yes", FirstToken: 30}},
		{Vote: &insights.Vote{Path: "guide", Rating: "down", Reasons: []string{"incomplete"}, Comment: "one line\nand another", Known: true}},
	}
	for i := range events {
		events[i].At, events[i].Scope = time.Now(), insights.Scope{Organization: "backup", Site: "backup"}
	}
	err = store.Append(t.Context(), "", events)
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		return docs(t, append([]string{"--config", file, "--address", "unix/" + filepath.Join(dir, "none.sock")}, args...)...)
	}
	for _, args := range [][]string{{"insights", "--site", "backup"}, {"insights", "--site=backup", "--searches"}, {"insights", "--searches", "--site", "backup"}, {"report", "backup"}, {"insights", "export", "backup"}} {
		if out, err := run(args...); err != nil || !strings.Contains(out, "the site's own") {
			t.Errorf("%q: %v %s", args, err, out)
		}
	}
	out, err := run("report", "backup")
	for _, has := range []string{"- 2.5 s to the first token: What is slow?\n", "- guide: “one line and another” (incomplete)\n"} {
		if err != nil || !strings.Contains(out, has) {
			t.Errorf("the report lacks %q: %v\n%s", has, err, out)
		}
	}
	if strings.Contains(out, "What is quick?") {
		t.Errorf("30 ms are slow:\n%s", out)
	}
	for _, name := range []string{"backup", "export", "erase"} {
		if _, err := run("insights", name); err == nil || !strings.Contains(err.Error(), "caddy docs insights --site "+name) {
			t.Errorf("insights %s: %v", name, err)
		}
	}
	if _, err := run("insights"); err == nil || !strings.Contains(err.Error(), "name the site") {
		t.Errorf("%v", err)
	}
	if _, err := run("insights", "acme", "--site", "backup"); err == nil || !strings.Contains(err.Error(), "two sites") {
		t.Errorf("%v", err)
	}
}

func commandsShowExportAndErase(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := "unix/" + caddytest.Socket(t)
	root := caddytest.AcmeFolder(t)
	text := strings.Replace(caddytest.Global(dir, ""), "admin off", "admin "+address, 1) + "http://:0 {\n\troot " + root + "\n\tdocs acme\n\tfile_server\n}\n"
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(text); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	s.Search("acme", `{"query":"zzzqqqxxx|*"}`)
	thread := s.AskBody(caddytest.Question("Which zebra eats quarks?", nil)).ThreadID

	run := func(args ...string) string {
		t.Helper()
		out, err := docs(t, append([]string{"--address", address}, args...)...)
		if err != nil {
			t.Fatalf("caddy docs %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	caddytest.Until(t, "the batch is stored", func() bool { return strings.Contains(run("insights", "acme"), "zebra") })
	if out := run("insights", "acme"); !strings.Contains(out, "zzzqqqxxx") || !strings.Contains(out, "NO RESULT") {
		t.Errorf("%s", out)
	}
	if out := run("insights", "acme", "--unanswered", "--json"); !strings.Contains(out, `"wording": "Which zebra eats quarks?"`) || strings.Contains(out, "top_searches") {
		t.Errorf("%s", out)
	}
	if out := run("report", "acme"); !strings.Contains(out, "## Unanswered questions") || !strings.Contains(out, `zzzqqqxxx\|\*`) || !strings.Contains(out, "| first token, p50 / p95 | ") {
		t.Errorf("%s", out)
	}
	if out := run("insights", "export", "acme"); !strings.Contains(out, `{"kind":"search"`) || !strings.Contains(out, thread) {
		t.Errorf("%s", out)
	}
	if r := s.Do(caddytest.Request{Method: "GET", Path: "/old%7Cpage?secret=1", Key: "-", Header: map[string]string{"Referer": "https://forum.example/x", "User-Agent": "GPTBot/1.2"}}); r.Status != 404 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	caddytest.Until(t, "the missing page is stored", func() bool { return strings.Contains(run("insights", "acme", "--missing"), "/old|page") })
	if out := run("insights", "acme", "--missing"); !strings.Contains(out, "https://forum.example") || strings.Contains(out, "NO RESULT") {
		t.Errorf("%s", out)
	}
	if out := run("insights", "acme", "--missing", "--json"); !strings.Contains(out, `"name": "GPTBot"`) || strings.Contains(out, "top_searches") {
		t.Errorf("%s", out)
	}
	if out := run("report", "acme"); !strings.Contains(out, "## Missing pages") || !strings.Contains(out, `1 × /old\|page, linked from https:`) {
		t.Errorf("%s", out)
	}
	caddytest.Write(t, root, map[string]string{"old.html": "<title>Launch</title><main><h1>Launch</h1><p>" + launch() + "</p></main>"})
	caddytest.Until(t, "the page is public", func() bool { return s.Do(caddytest.Request{Method: "GET", Path: "/old.md", Key: "-"}).Status == 200 })
	if err := os.Rename(filepath.Join(root, "old.html"), filepath.Join(root, "launch.html")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the page has moved", func() bool { return run("moved", "acme", "--caddyfile") == "redir /old.html /launch.html permanent\n" })
	if out := run("moved", "acme"); !strings.Contains(out, "/old.html  /launch.html  proved, 100 %") {
		t.Errorf("%s", out)
	}
	if out := run("moved", "acme", "--json"); !strings.Contains(out, `"proved": true`) || !strings.Contains(out, `"title": "Launch"`) {
		t.Errorf("%s", out)
	}
	backup := filepath.Join(dir, "backup.db")
	run("insights", "backup", backup)
	if info, err := os.Stat(backup); err != nil || info.Size() == 0 {
		t.Errorf("%v", err)
	}
	if out, err := docs(t, "--address", address, "insights", "erase", "acme"); err == nil {
		t.Errorf("erasing nothing: %s", out)
	}
	if out := run("insights", "erase", "acme", "--text", "ZEBRA"); !strings.Contains(out, "texts of 1 conversation") {
		t.Errorf("%s", out)
	}
	if out := run("insights", "export", "acme"); strings.Contains(out, "zebra") {
		t.Errorf("%s", out)
	}
	if s, err := caddytest.App(t).Shared().Threads.Read(t.Context(), "acme", thread); err != nil || s != nil {
		t.Errorf("the conversation is still stored: %+v %v", s, err)
	}

	// Who did that is in the dashboard's audit, without the text.
	run("key", "create", "--site", "acme", "--name", "audited")
	store, done, err := caddytest.App(t).Recorded().Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	audit, err := store.Audit(t.Context(), insights.Scope{Organization: "acme"}, insights.Query{Limit: 10})
	if err != nil || len(audit) != 2 || audit[0].What != "key created" || audit[0].Who != "caddy docs" || audit[1].What != "text erased" || audit[1].Target != "" {
		t.Errorf("the audit is %+v (%v)", audit, err)
	}

	// Without the server, from the same file.
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "Caddyfile")
	writeWithoutRoutes(t, file, dir, "acme")
	out, err := docs(t, "--config", file, "--address", "unix/"+filepath.Join(dir, "none.sock"), "insights", "acme", "--searches")
	if err != nil || !strings.Contains(out, "zzzqqqxxx") {
		t.Errorf("%v\n%s", err, out)
	}
}

// launch is a text that is long enough to be recognized elsewhere.
func launch() string {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "At second %d the pilot of rocket %d reads gauge %d. ", i, i*i, 100-i)
	}
	return b.String()
}
