package site

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/command"
)

// run runs `caddy docs` with arguments and returns what it printed.
func run(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	cmd := &cobra.Command{Use: "docs"}
	command.Fill(cmd)
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	cmd.SetContext(t.Context())
	err = cmd.Execute()
	return stdout.String(), err
}

// mustRun is run for commands that have to succeed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, args...)
	if err != nil {
		t.Fatalf("caddy docs %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// commandConfig is a Caddyfile with an admin API on a socket in dir.
func commandConfig(t *testing.T, dir string) (caddyfile, address string) {
	t.Helper()
	socket := caddytest.Socket(t)
	text := strings.Replace(caddytest.Global(dir, "site acme {\n\troot "+caddytest.AcmeFolder(t)+"\n\turl https://docs.acme.test\n}"), "admin off", "admin unix/"+socket, 1)
	return text + "http://:0 {\n\tsearch\n\tassistant\n}\n", "unix/" + socket
}

func TestCommandsAskTheRunningServer(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	caddyfile, address := commandConfig(t, dir)
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(caddyfile); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	docs := func(args ...string) string {
		t.Helper()
		return mustRun(t, append([]string{"--address", address}, args...)...)
	}

	caddytest.Until(t, "the refresh has ended", func() bool { return strings.Contains(docs("status"), "ready") })
	if out := docs("status"); !strings.Contains(out, "acme") || !strings.Contains(out, "kept for 30 days") || !strings.Contains(out, "server    "+address+"\n") {
		t.Errorf("status:\n%s", out)
	}
	var status struct {
		Server string
		Sites  []struct {
			Name  string
			Index struct{ Pages int }
		}
	}
	if err := json.Unmarshal([]byte(docs("status", "--json")), &status); err != nil || status.Sites[0].Index.Pages != 4 || status.Server != address {
		t.Errorf("status --json: %v %+v", err, status)
	}
	if out := docs("doctor"); strings.Contains(out, "FAIL") || !strings.Contains(out, "site acme index") {
		t.Errorf("doctor:\n%s", out)
	}
	// What can't be written is a problem, though it can be read.
	blocked := filepath.Join(s.Dir, "storage", "docs", "doctor")
	if err := errors.Join(os.RemoveAll(blocked), os.WriteFile(blocked, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, "--address", address, "doctor"); err == nil || !strings.Contains(out, "FAIL  storage: ") || !strings.Contains(out, "free space if it is full") {
		t.Errorf("doctor with a storage that takes nothing: %v\n%s", err, out)
	}
	if out, err := run(t, "--address", address, "mcp", "acme", "--server-json"); err == nil || !strings.Contains(err.Error(), "docs_mcp acme") {
		t.Errorf("server.json without an MCP server: %v %s", err, out)
	}
	if out := docs("index", "acme", "--wait"); !strings.Contains(out, "acme: 4 pages (+0 −0 ~0)") {
		t.Errorf("index: %s", out)
	}
	if out := docs("search", "acme", "install on linux"); !strings.Contains(out, "https://docs.acme.test/guide/install#on-linux") {
		t.Errorf("search:\n%s", out)
	}
	if out := docs("search", "acme", "install on linux", "--explain"); !strings.Contains(out, "words: install ") || !strings.Contains(out, "value: ") {
		t.Errorf("search --explain:\n%s", out)
	}
	if out := docs("search", "acme", "install on linux", "--explain", "--json"); !strings.Contains(out, `"why": [`) {
		t.Errorf("search --explain --json:\n%s", out)
	}
	if out := docs("ask", "acme", "How do I install Acme on Linux?"); !strings.Contains(out, "sudo acme-install") || !strings.Contains(out, "Sources") {
		t.Errorf("ask:\n%s", out)
	}
	var answer struct {
		Answer  string
		Sources []any
	}
	if err := json.Unmarshal([]byte(docs("ask", "acme", "How do I install Acme?", "--json")), &answer); err != nil || answer.Answer == "" || len(answer.Sources) == 0 {
		t.Errorf("ask --json: %v %+v", err, answer)
	}

	// Keys: the secret is printed, works at once, and is nowhere else.
	var made struct {
		Secret string
		Key    struct{ ID string }
	}
	if err := json.Unmarshal([]byte(docs("key", "create", "--site", "acme", "--name", "ci", "--expires", "90d", "--origin", "http://localhost:*", "--json")), &made); err != nil {
		t.Fatal(err)
	}
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: made.Secret, Body: `{"query":"install"}`}); r.Status != 200 {
		t.Errorf("the new key: %d %s", r.Status, r.Body)
	}
	if out := docs("key", "list"); !strings.Contains(out, made.Key.ID) || !strings.Contains(out, "ci") || strings.Contains(out, made.Secret) {
		t.Errorf("key list:\n%s", out)
	}
	if strings.Contains(s.Log(), made.Secret) {
		t.Error("the secret is in the log")
	}
	if out := docs("key", "create"); !strings.Contains(out, "https://docs.acme.test/v1/search/acme") || !strings.Contains(out, "DefaultChatTransport") {
		t.Errorf("key create prints no snippet:\n%s", out)
	}
	docs("key", "revoke", made.Key.ID)
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: made.Secret, Body: `{"query":"install"}`}); r.Status != 401 {
		t.Errorf("the revoked key: %d", r.Status)
	}

	// Evaluation, and queries made from the site.
	queries := filepath.Join(dir, "queries.jsonl")
	if err := os.WriteFile(queries, []byte(`{"id":"1","text":"install on linux","relevant":["guide/install"]}
{"id":"2","text":"max_thrust","relevant":["reference"],"group":"options"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	baseline := filepath.Join(dir, "run.jsonl")
	if out := docs("eval", "acme", queries, "--out", baseline, "--min-ndcg", "0.9"); !strings.Contains(out, "nDCG@10") || !strings.Contains(out, "options") {
		t.Errorf("eval:\n%s", out)
	}
	if out := docs("eval", "acme", queries, "--baseline", baseline); !strings.Contains(out, "+0.0000 nDCG@10") {
		t.Errorf("eval against itself:\n%s", out)
	}
	if err := os.WriteFile(queries, []byte(`{"id":"1","text":"install on linux","relevant":["nowhere"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "--address", address, "eval", "acme", queries, "--min-ndcg", "0.5"); err == nil || !strings.Contains(err.Error(), "below 0.5") {
		t.Errorf("eval below the minimum: %v", err)
	}

	// Failures have a message and the exit status 1.
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"search", "nosuch", "x"}, `there is no site "nosuch"; the sites are: acme`},
		{[]string{"search", "acme", " "}, "query"},
		{[]string{"key", "create", "--site", "nosuch"}, "the sites are: acme"},
		{[]string{"key", "create", "--expires", "yesterday"}, "--expires"},
		{[]string{"key", "create", "--origin", "acme.com/path"}, "origin"},
		{[]string{"key", "revoke", "nosuchkey"}, "no such key"},
		{[]string{"key", "revoke", made.Secret}, "by its id"},
		{[]string{"eval", "acme"}, "--generate"},
	} {
		if out, err := run(t, append([]string{"--address", address}, c.args...)...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want an error that says %q\n%s", c.args, err, c.says, out)
		}
	}
}

func TestCommandsWorkOnAConfigurationWhenNoServerRuns(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text, _ := commandConfig(t, dir)
	config := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	nobody := "unix/" + filepath.Join(dir, "nobody.sock")
	if _, err := run(t, "--address", nobody, "status"); err == nil || !strings.Contains(err.Error(), "--config") || !strings.Contains(err.Error(), nobody) {
		t.Errorf("with neither server nor config: %v", err)
	}
	out := mustRun(t, "--config", config, "key", "create")
	if !strings.Contains(out, filepath.Join(dir, "storage")) {
		t.Errorf("key create does not say where it wrote:\n%s", out)
	}
	secret, _, _ := strings.Cut(out, "\n")
	if out := mustRun(t, "--config", config, "key", "list"); strings.Count(out, "acme") < 2 {
		t.Errorf("key list:\n%s", out)
	}
	// Without an index, a command that needs one builds it.
	if out := mustRun(t, "--config", config, "ask", "acme", "How do I install Acme on Linux?"); !strings.Contains(out, "sudo acme-install") {
		t.Errorf("ask without an index:\n%s", out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "--config", config, "ask", "acme", "How do I install Acme on Linux?", "--show-prompt"); !strings.Contains(out, "#on-linux") {
		t.Errorf("ask --show-prompt without an index:\n%s", out)
	}
	if out := mustRun(t, "--config", config, "index"); !strings.Contains(out, "4 pages") || !strings.Contains(out, filepath.Join(dir, "data")) {
		t.Errorf("index:\n%s", out)
	}
	if out := mustRun(t, "--config", config, "search", "acme", "install on linux"); !strings.Contains(out, "#on-linux") {
		t.Errorf("search:\n%s", out)
	}
	if out := mustRun(t, "--config", config, "ask", "acme", "How do I install Acme on Linux?"); !strings.Contains(out, "sudo acme-install") {
		t.Errorf("ask:\n%s", out)
	}
	mustRun(t, "--config", config, "doctor")
	if out := mustRun(t, "--config", config, "moved", "acme"); !strings.HasPrefix(out, "WAS ") {
		t.Errorf("moved:\n%s", out)
	}

	// The server that starts later accepts the key.
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(text); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: secret, Body: `{"query":"install"}`}); r.Status != 200 {
		t.Errorf("the key made before: %d %s", r.Status, r.Body)
	}
}

// Mistakes on the command line are errors that show what there is.
func TestWrongCommandsShowTheUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{"foo"}, []string{`there is no command "docs foo"`, "search ", "doctor ", "key "}},
		{[]string{"serach", "acme", "x"}, []string{`there is no command "docs serach"; did you mean search?`}},
		{[]string{"key", "list-all"}, []string{`there is no command "docs key list-all"`}},
		{[]string{"key", "crate"}, []string{`there is no command "docs key crate"; did you mean create?`}},
		{[]string{"key", "foo"}, []string{`there is no command "docs key foo"`, "create ", "list ", "revoke "}},
		{[]string{"search", "acme", "x", "--explian"}, []string{"unknown flag: --explian; did you mean --explain?"}},
		{[]string{"status", "--confg", "x"}, []string{"unknown flag: --confg; did you mean --config?"}},
		{[]string{"search"}, []string{`search SITE "query"`, "--size"}},
		{[]string{"search", "acme", "x", "--size", "100"}, []string{"--size is 100, and must be from 1 to 50"}},
		{[]string{"search", "acme", "x", "--threshold", "2"}, []string{"--threshold is 2, and must be from 0 to 1"}},
		{[]string{"ask", "acme", "x", "--passages", "99"}, []string{"--passages is 99, and must be from 1 to 50"}},
		{[]string{"search", "acme"}, []string{`search SITE "query"`}},
		{[]string{"pages"}, []string{"pages SITE"}},
		{[]string{"doctor", "acme"}, []string{"docs doctor"}},
	} {
		_, err := run(t, c.args...)
		for _, says := range c.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v: the error lacks %q: %v", c.args, says, err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(file, []byte("{\n\tadmin off\n}\nhttp://:0 {\n\tdocs /srv/docs\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "--config", file, "status"); err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), "the name of a site is expected") {
		t.Errorf("a wrong Caddyfile: %v", err)
	}
	for _, args := range [][]string{{}, {"--help"}, {"key"}} {
		if out := mustRun(t, args...); !strings.Contains(out, "Available Commands") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	if out := mustRun(t, "status", "--help"); !strings.Contains(out, "CADDY_ADMIN") {
		t.Errorf("the help does not name CADDY_ADMIN:\n%s", out)
	}
}

func TestAnswersAreExplainedToOperators(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	_, url := caddytest.StartModel(t)
	socket := caddytest.Socket(t)
	global := strings.Replace(caddytest.Global(dir, caddytest.LLM(url, "scripted", "")), "admin off", "admin unix/"+socket, 1)
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(global + "http://:0 {\n\tdocs acme " + caddytest.AcmeFolder(t) + " {\n\t\tinstructions \"Call the reader captain.\"\n\t}\n}\n"); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	for _, want := range []string{"searched for  What is the default of max_thrust?", "tokens", "of at most 6000 tokens", "/reference.html#max_thrust", "--- system", "Call the reader captain.", "Question\nWhat is the default"} {
		if out := mustRun(t, "--address", "unix/"+socket, "ask", "acme", "What is the default of max_thrust?", "--show-prompt"); !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	var e struct {
		Query    string
		Passages []struct {
			Score  float64
			Tokens int
		}
		Prompt []struct{ Role, Content string }
	}
	out := mustRun(t, "--address", "unix/"+socket, "ask", "acme", "What is the default of max_thrust?", "--show-prompt", "--json")
	if err := json.Unmarshal([]byte(out), &e); err != nil || e.Query == "" || len(e.Passages) == 0 || e.Passages[0].Tokens == 0 || e.Passages[0].Score == 0 || len(e.Prompt) != 2 {
		t.Errorf("%v %s", err, out)
	}
}
