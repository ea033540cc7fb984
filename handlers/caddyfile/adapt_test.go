package caddyfile

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/standard"
)

var update = flag.Bool("update", false, "rewrite the JSON of the fixtures")

const separator = "\n----------\n"

// The fixtures are Caddyfiles and the JSON that they become, a file each: the
// Caddyfile, a line of ten hyphens, the JSON. Run with -update to write the JSON
// again, and read the difference.
func TestCaddyfilesAdaptToTheirJSON(t *testing.T) {
	files, err := filepath.Glob("../../caddytest/adapt/*.caddyfiletest")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures (%v)", err)
	}
	for _, file := range files {
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".caddyfiletest"), "_", " ")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			input, want, _ := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), separator)
			input = strings.TrimRight(input, "\n")
			got := adaptIndented(t, input+"\n")
			if *update {
				if err := os.WriteFile(file, []byte(input+separator+got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want = strings.TrimSpace(want); got != want {
				t.Errorf("%s: the JSON differs at %s\ngot:\n%s", file, firstDifference(got, want), got)
			}
		})
	}
}

// adaptIndented returns the indented JSON of a Caddyfile. Warnings fail the test: a
// Caddyfile that is not formatted has one.
func adaptIndented(t *testing.T, input string) string {
	t.Helper()
	adapter := caddyconfig.GetAdapter("caddyfile")
	config, warnings, err := adapter.Adapt([]byte(input), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		t.Errorf("warning: %s", w)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, config, "", "\t"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "\n  got:  " + strings.TrimSpace(g[i]) + "\n  want: " + strings.TrimSpace(w[i])
		}
	}
	return "the end of one of them"
}
