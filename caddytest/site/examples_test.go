package site

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

const examplesDir = "../../examples"

func TestEveryExampleHoldsAConversation(t *testing.T) {
	s := caddytest.StartAcme(t)
	program := filepath.Join(t.TempDir(), "ask")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if out, err := exec.Command("go", "build", "-o", program, examplesDir+"/go").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	thread := regexp.MustCompile(`(?m)^thread (thr_\w+)$`)
	for _, command := range [][]string{{"node", "javascript/cli.mjs"}, {"python3", "python/ask.py"}, {program}} {
		t.Run(strings.TrimSuffix(filepath.Base(command[0]), ".exe"), func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("%s is not installed", command[0])
			}
			ask := func(key string, questions ...string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], questions...)...)
				cmd.Dir = examplesDir
				cmd.Env = append(os.Environ(), "DOCS_URL="+s.Base+caddytest.V2Path, "DOCS_KEY="+key, "PYTHONDONTWRITEBYTECODE=1")
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			out, err := ask(caddytest.Key, caddytest.InstallQuestion, "And on Windows?")
			threads := thread.FindAllStringSubmatch(out, -1)
			if err != nil || !strings.Contains(out, "sudo acme-install") || !strings.Contains(out, "acme-setup.exe") || !strings.Contains(out, "guide/install") {
				t.Errorf("%v\n%s", err, out)
			}
			if len(threads) != 2 || threads[0][1] != threads[1][1] {
				t.Errorf("the threads are %v", threads)
			}
			if out, err := ask("svc_dsc_not_a_key_of_this_site", "Anything?"); err == nil || !strings.HasPrefix(out, "this needs a valid API key") {
				t.Errorf("a wrong key: %v\n%s", err, out)
			}
		})
	}
}
