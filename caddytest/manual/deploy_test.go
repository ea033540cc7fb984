package manual

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2/caddyconfig"
)

func TestTheCaddyfilesOfDeployAdapt(t *testing.T) {
	files, err := filepath.Glob("../../deploy/*/Caddyfile")
	if err != nil || len(files) != 4 {
		t.Fatalf("%d Caddyfiles, %v", len(files), err)
	}
	compose := readFile(t, "../../compose.yaml")
	for _, file := range files {
		if _, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(readFile(t, file)), map[string]any{"filename": file}); err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", file, err, warnings)
		}
		if dir := filepath.Base(filepath.Dir(file)); !strings.Contains(compose, "./deploy/"+dir+":/etc/caddy:ro") {
			t.Errorf("compose.yaml does not use deploy/%s", dir)
		}
	}
}

// The site of the first profile is served and searched with its Caddyfile, with
// another folder and port.
func TestTheFirstProfileServesItsSite(t *testing.T) {
	text := readFile(t, "../../deploy/alone/Caddyfile")
	s := caddytest.New(t)
	text = strings.NewReplacer("docs.acme.com {", "http://localhost:0 {", "/srv/docs", caddytest.AcmeFolder(t)).Replace(text)
	if err := s.TryLoad(caddytest.Global(s.Dir, "") + text); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	if found := s.Search("acme", `{"query":"install linux"}`); len(found) == 0 {
		t.Error("nothing is found")
	}
}

// The versions that are pinned in several files are the same.
func TestTheSameVersionsArePinnedEverywhere(t *testing.T) {
	want := regexp.MustCompile(`caddyserver/caddy/v2 (v\S+)`).FindStringSubmatch(readFile(t, "../../go.mod"))[1]
	for _, file := range []string{"Dockerfile", ".ci/run", ".ci/release", "xcaddy.md", "README.md", "docs/install.md"} {
		found := regexp.MustCompile(`build (v2\.\S+)`).FindAllStringSubmatch(readFile(t, "../../"+file), -1)
		if len(found) == 0 {
			t.Errorf("%s builds no version", file)
		}
		for _, m := range found {
			if m[1] != want {
				t.Errorf("%s builds %s, go.mod has %s", file, m[1], want)
			}
		}
	}
	// The unit's drop-in allows what a stop may take.
	if conf := readFile(t, "../../deploy/systemd/caddy-docs.conf"); !strings.Contains(conf, "TimeoutStopSec=40s") || !strings.Contains(readFile(t, "../../compose.yaml"), "stop_grace_period: 40s") {
		t.Error("the time to stop differs between systemd and compose")
	}
}
