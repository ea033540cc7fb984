package insights

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/handlers/command"
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

func TestCommandsShowExportAndErase(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := "unix/" + filepath.Join(dir, "admin.sock")
	text := strings.Replace(caddytest.Global(dir, ""), "admin off", "admin "+address, 1) + caddytest.Site(caddytest.AcmeFolder(t))
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if out := run("report", "acme"); !strings.Contains(out, "## Unanswered questions") || !strings.Contains(out, `zzzqqqxxx\|\*`) {
		t.Errorf("%s", out)
	}
	if out := run("insights", "export", "acme"); !strings.Contains(out, `{"kind":"search"`) || !strings.Contains(out, thread) {
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
	if out := run("insights", "erase", "acme", "--text", "ZEBRA"); !strings.Contains(out, "1 conversations") {
		t.Errorf("%s", out)
	}
	if out := run("insights", "export", "acme"); strings.Contains(out, "zebra") {
		t.Errorf("%s", out)
	}
	if s, err := caddytest.App(t).Conversations().Read(t.Context(), "acme", thread); err != nil || s != nil {
		t.Errorf("the conversation is still stored: %+v %v", s, err)
	}

	// Without the server, from the same file.
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	out, err := docs(t, "--config", file, "--address", "unix/"+filepath.Join(dir, "none.sock"), "insights", "acme", "--searches")
	if err != nil || !strings.Contains(out, "zzzqqqxxx") {
		t.Errorf("%v\n%s", err, out)
	}
}
