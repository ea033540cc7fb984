package site

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// drives are characters by which a text changes what a terminal shows: an
// escape sequence, a bell, a C1 sequence, and overrides of the direction.
var drives = []string{"\x1b", "\a", "\b", "\r", "\u009b", "\u202e", "\u2066"}

// Neither a page nor a server can drive the terminal of an operator who runs a
// command.
func TestCommandsPrintNothingThatDrivesATerminal(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := caddytest.Socket(t)
	evil := strings.Join(drives, "x")
	folder := caddytest.Folder(t, map[string]string{
		"index.md":              "# Front " + evil + " page\n\nAll about reactors " + evil + " and their cooling.\n\n## Cooling " + evil + " rods\n\nReactors are cooled " + evil + " with water.\n",
		"guide/\x1b[31mrods.md": "# Rods\n\nThe rods of reactors.\n",
		"broken\x1b[31m.md":     "# Broken\n\nReactors \xff\xfe\x00\n",
	})
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(strings.Replace(caddytest.Global(dir, ""), "admin off", "admin unix/"+socket, 1) +
		"http://localhost:0 {\nroot * " + folder + "\ndocs acme\nfile_server\n}\n"); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")

	// A server that answers each request with such an error.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("{\"error\":\"no \\u001b[31m\u009b\u202e such site\"}"))
	}))
	t.Cleanup(server.Close)

	for _, args := range [][]string{
		{"search", "acme", "reactors"},
		{"ask", "acme", "How are reactors cooled?"},
		{"ask", "acme", "How are reactors cooled?", "--show-prompt"},
		{"pages", "acme"}, {"status"}, {"doctor"}, {"key", "list"},
		{"search", "no\x1b[31msite", "reactors"}, {"pages", "acme", "\x1b[31m"},
	} {
		for _, address := range []string{"unix/" + socket, strings.TrimPrefix(server.URL, "http://")} {
			out, err := run(t, append([]string{"--address", address}, args...)...)
			if err != nil {
				out += err.Error()
			} else if address == "unix/"+socket && len(out) < 20 {
				t.Errorf("%q prints %q", args, out)
			}
			if i := slices.IndexFunc(drives, func(d string) bool { return strings.Contains(out, d) }); i >= 0 {
				t.Errorf("%q prints %q:\n%q", args, drives[i], out)
			}
		}
	}

	// Programs get the page as it is.
	if out := mustRun(t, "--address", "unix/"+socket, "search", "acme", "reactors", "--json"); !strings.Contains(out, `\u001b`) || strings.Contains(out, "\x1b") {
		t.Errorf("search --json: %q", out)
	}
}
