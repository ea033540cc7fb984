//go:build unix

package caddytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"
)

// processConfig is the variable that turns a copy of the test binary into a
// Caddy with the configuration that it names.
const processConfig = "CADDYDOCS_TEST_CONFIG"

// Main is the TestMain of packages that call StartProcess.
func Main(m *testing.M) {
	RunProcess()
	os.Exit(m.Run())
}

// RunProcess is the part of Main that runs a Caddy, for a TestMain that does
// more.
func RunProcess() {
	if config := os.Getenv(processConfig); config != "" {
		os.Args = []string{"caddy", "run", "--config", config}
		caddycmd.Main() // exits
	}
}

// Process is a Caddy in a separate process: for tests that end it, and for tests
// with two of them.
type Process struct {
	*Server
	cmd    *exec.Cmd
	exited chan struct{}
	err    error // set before exited is closed
}

// StartProcess runs a configuration whose first server listens at the port.
// The process is killed when the test ends.
func StartProcess(t *testing.T, dir string, port int, config []byte) *Process {
	t.Helper()
	p := &Process{Server: newServer(t, dir), exited: make(chan struct{})}
	p.Base = fmt.Sprintf("http://localhost:%d", port)
	Write(t, dir, map[string]string{"caddy.json": string(config)})
	p.cmd = exec.Command(os.Args[0]) //nolint:gosec // this binary
	p.cmd.Env = append(os.Environ(), processConfig+"="+filepath.Join(dir, "caddy.json"), "XDG_DATA_HOME="+dir)
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	p.cmd.Stdout, p.cmd.Stderr = output, output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			printed, _ := os.ReadFile(output.Name())
			t.Logf("the process printed:\n%s\nand logged:\n%s", printed, p.Log())
		}
	})
	return p
}

// Terminate sends SIGTERM.
func (p *Process) Terminate() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Wait waits for the process, which must exit with status 0.
func (p *Process) Wait() {
	p.t.Helper()
	select {
	case <-p.exited:
		if p.err != nil {
			p.t.Errorf("the process exited with %v", p.err)
		}
	case <-time.After(Patience):
		p.t.Error("the process does not exit")
	}
}
