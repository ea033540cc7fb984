package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// childRole is the first argument of this program's children.
const childRole = "child"

// child runs a child of this program.
func child(role string, args []string) error {
	switch role {
	case "model":
		return serveModel(args)
	case "index":
		return indexChild(args)
	}
	return fmt.Errorf("no such role: %s", role)
}

// process is a measured child.
type process struct {
	cmd  *exec.Cmd
	log  string // its output, a file
	done chan struct{}
}

var (
	processes   = map[*process]bool{}
	processesMu sync.Mutex
)

// start starts a child whose output goes to a file.
func (b *bench) start(ctx context.Context, name, dir string, env []string, argv ...string) (*process, error) {
	log, err := os.CreateTemp(b.dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), env...), log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{cmd: cmd, log: log.Name(), done: make(chan struct{})}
	processesMu.Lock()
	processes[p] = true
	processesMu.Unlock()
	go func() { _ = cmd.Wait(); close(p.done) }()
	return p, nil
}

// self starts this program in one of its roles.
func (b *bench) self(ctx context.Context, role string, args ...string) (*process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return b.start(ctx, role, b.dir, nil, append([]string{exe, childRole, role}, args...)...)
}

// end stops a child with SIGTERM, or after three seconds with SIGKILL.
func (p *process) end() {
	processesMu.Lock()
	delete(processes, p)
	processesMu.Unlock()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(3 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func endAll() {
	processesMu.Lock()
	var all []*process
	for p := range processes {
		all = append(all, p)
	}
	processesMu.Unlock()
	for _, p := range all {
		p.end()
	}
}

// tail returns the end of a child's output.
func (p *process) tail() string {
	b, _ := os.ReadFile(p.log)
	return string(bytes.TrimSpace(b[max(0, len(b)-1500):]))
}

// listening waits until a child accepts connections.
func (p *process) listening(ctx context.Context, addr string) error {
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
			return fmt.Errorf("%s ended before it listened:\n%s", filepath.Base(p.cmd.Path), p.tail())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ticks a second of /proc/PID/stat: fixed at 100 for programs on Linux.
const ticks = 100

// cpu returns the CPU time of a child and its descendants.
func (p *process) cpu() time.Duration {
	var sum float64
	eachOf(p.cmd.Process.Pid, func(pid string) {
		if f := stat(pid); len(f) > 12 {
			user, _ := strconv.ParseFloat(f[11], 64)
			system, _ := strconv.ParseFloat(f[12], 64)
			sum += user + system
		}
	})
	return time.Duration(sum / ticks * float64(time.Second))
}

// rss returns the resident memory of a child and its descendants, in bytes.
func (p *process) rss() int64 {
	var sum int64
	eachOf(p.cmd.Process.Pid, func(pid string) {
		b, err := os.ReadFile("/proc/" + pid + "/statm")
		if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			sum += n * int64(os.Getpagesize())
		}
	})
	return sum
}

// peak returns the most resident memory that a child has had, in bytes.
func (p *process) peak() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var n int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &n); err == nil {
			return n << 10
		}
	}
	return 0
}

// stat returns the fields of /proc/PID/stat after the command's name.
func stat(pid string) []string {
	b, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.Fields(rest)
}

func eachOf(root int, each func(pid string)) {
	pid := strconv.Itoa(root)
	each(pid)
	tasks, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		for kid := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(kid); err == nil {
				eachOf(n, each)
			}
		}
	}
}

// freeAddress returns a loopback address with a free port.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// pause waits between two measurements.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

var errStreams = errors.New("streams failed")
