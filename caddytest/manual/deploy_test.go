package manual

import (
	"fmt"
	"os"
	"os/exec"
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
	compose := caddytest.ReadFile(t, "../../compose.yaml")
	for _, file := range files {
		if _, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(caddytest.ReadFile(t, file)), map[string]any{"filename": file}); err != nil || len(warnings) > 0 {
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
	text := caddytest.ReadFile(t, "../../deploy/alone/Caddyfile")
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
	want := regexp.MustCompile(`caddyserver/caddy/v2 (v\S+)`).FindStringSubmatch(caddytest.ReadFile(t, "../../go.mod"))[1]
	for _, file := range []string{"Dockerfile", ".ci/release", "xcaddy.md", "README.md", "docs/install.md"} {
		found := regexp.MustCompile(`build (v2\.\S+)`).FindAllStringSubmatch(caddytest.ReadFile(t, "../../"+file), -1)
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
	if conf := caddytest.ReadFile(t, "../../deploy/systemd/caddy-docs.conf"); !strings.Contains(conf, "TimeoutStopSec=40s") || !strings.Contains(caddytest.ReadFile(t, "../../compose.yaml"), "stop_grace_period: 40s") {
		t.Error("the time to stop differs between systemd and compose")
	}
}

// systemd reads the drop-in with a unit like that of Caddy's package.
func TestSystemdAcceptsTheDropIn(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	verify := func(dropIn string) string {
		t.Helper()
		dir := caddytest.Folder(t, map[string]string{
			"caddy.service":                   "[Service]\nType=notify\nExecStart=/bin/true run\nTimeoutStopSec=5s\n",
			"caddy.service.d/caddy-docs.conf": dropIn,
		})
		cmd := exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", filepath.Join(dir, "caddy.service"))
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%v: %s", err, out)
		}
		return string(out)
	}
	dropIn := caddytest.ReadFile(t, "../../deploy/systemd/caddy-docs.conf")
	if said := verify(dropIn); said != "" {
		t.Error(said)
	}
	if said := verify(strings.ReplaceAll(dropIn, "TimeoutStopSec=40s", "TimeoutStopSec=forty")); !strings.Contains(said, "forty") {
		t.Errorf("a wrong drop-in is accepted: %q", said)
	}
}
