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
	for _, file := range []string{"Dockerfile", ".ci/release", "xcaddy.md", "README.md", "docs/install.md", "docs/index.md"} {
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
	// The overall exposure that systemd sees, from 0 to 10; Caddy's own unit has 9.
	exposure := func(dropIn string) string {
		t.Helper()
		unit := filepath.Join(caddytest.Folder(t, map[string]string{
			"caddy.service": "[Service]\nUser=caddy\nGroup=caddy\nExecStart=/bin/true run\nProtectSystem=full\nPrivateTmp=true\nAmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE\n" +
				strings.ReplaceAll(dropIn, "[Service]", ""),
		}), "caddy.service")
		out, _ := exec.Command(analyze, "security", "--offline=true", "--threshold=25", unit).CombinedOutput() // it fails beyond the threshold
		return regexp.MustCompile(`Overall exposure level for caddy.service: (\S+)`).FindString(string(out))
	}
	for dropIn, most := range map[string]float64{dropIn: 2.5, "": 10} {
		var level float64
		said := exposure(dropIn)
		if _, err := fmt.Sscanf(said, "Overall exposure level for caddy.service: %g", &level); err != nil || level > most || dropIn == "" && level < 5 {
			t.Errorf("with a drop-in of %d bytes: %q", len(dropIn), said)
		}
	}
}

// Every container that runs Caddy has the least rights, and no container can
// get more.
func TestContainersHaveTheLeastRights(t *testing.T) {
	compose := caddytest.ReadFile(t, "../../compose.yaml")
	_, caddy, _ := strings.Cut(compose, "x-caddy: &caddy\n")
	caddy, services, _ := strings.Cut(caddy, "\nservices:\n")
	for _, line := range []string{"read_only: true", "cap_drop: [ALL]", `security_opt: ["no-new-privileges:true"]`} {
		if !strings.Contains(caddy, "  "+line+"\n") {
			t.Errorf("Caddy's containers lack %s", line)
		}
	}
	for _, service := range regexp.MustCompile(`(?m)^  [a-z-]+:`).Split(services, -1)[1:] {
		own := strings.Contains(service, "<<: *caddy") || strings.Contains(service, "*docs")
		if service = strings.Split(service, "\nvolumes:\n")[0]; !own && strings.Contains(service, "image:") && !strings.Contains(service, "no-new-privileges:true") {
			t.Errorf("a service can get privileges:%s", service)
		}
		if strings.Contains(service, "privileged") || strings.Contains(service, "cap_add") {
			t.Errorf("a service has privileges:%s", service)
		}
	}
}

// A workflow that could write runs no code of the repository, and an action is
// the commit that was looked at.
func TestWorkflowsHaveTheLeastRights(t *testing.T) {
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		text := caddytest.ReadFile(t, file)
		for _, m := range regexp.MustCompile(`uses: (\S+)(.*)`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`^actions/[a-z-]+@[0-9a-f]{40}$`).MatchString(m[1]) || !regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`).MatchString(m[2]) {
				t.Errorf("%s: %s names no commit with its version", file, m[0])
			}
		}
		head, jobs, _ := strings.Cut(text, "\njobs:\n")
		if strings.Contains(head, "write") || !strings.Contains(head, "permissions:") {
			t.Errorf("%s: all jobs can write", file)
		}
		for _, job := range regexp.MustCompile(`(?m)^  [a-z]+:`).Split(jobs, -1)[1:] {
			if strings.Contains(job, ": write") && (strings.Contains(job, "checkout") || strings.Contains(job, ".ci/")) {
				t.Errorf("%s: a job that can write runs the repository's code:%s", file, job)
			}
		}
	}
	if release := caddytest.ReadFile(t, "../../.github/workflows/release.yml"); !strings.Contains(release, ".ci/vulnerabilities --fail") {
		t.Error("a release does not look for vulnerabilities")
	}
}

func TestTheCheckForVulnerabilitiesFailsIfItCannotLook(t *testing.T) {
	for argument, fails := range map[string]bool{"": false, "--fail": true} {
		cmd := exec.Command("bash", "../../.ci/vulnerabilities", argument)
		cmd.Env = append(os.Environ(), "GOVULNDB=http://127.0.0.1:9")
		out, err := cmd.CombinedOutput()
		if (err != nil) != fails || !strings.Contains(string(out), "can't be reached") {
			t.Errorf("%q: %v %s", argument, err, out)
		}
	}
}
