package repository

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Everyone who builds the plugin gets the versions that its go.mod raises, in
// Caddy, too.
func TestNoDependencyOfCaddyIsRaised(t *testing.T) {
	required := func(file string) map[string]string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		versions := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
			versions[m[1]] = m[2]
		}
		return versions
	}
	file, err := exec.Command("go", "list", "-m", "-f", "{{.GoMod}}", "github.com/caddyserver/caddy/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours, caddys := required("go.mod"), required(strings.TrimSpace(string(file)))
	if len(caddys) < 100 {
		t.Fatalf("Caddy requires only %d modules", len(caddys))
	}
	for module, version := range ours {
		if want, shared := caddys[module]; shared && version != want {
			t.Errorf("%s is %s, and Caddy requires %s", module, version, want)
		}
	}
}
