// Package pgserver runs a Postgres server for tests, from the binaries of
// Debian's package postgresql or those in PATH.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a Postgres server with its own folder.
type Server struct {
	bin, dir, port string
	as             *syscall.SysProcAttr
	cmd            *exec.Cmd
	exited         chan struct{}
}

// ErrMissing is returned by New where Postgres is not installed.
var ErrMissing = errors.New("postgres is not installed; on Debian: apt-get install postgresql")

// binaries returns the folder with initdb and postgres.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.Sort(found)
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb), nil
	}
	return "", ErrMissing
}

// New makes a database cluster in a folder, which it creates, and starts it.
func New(dir string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if s.as, err = account(dir); err != nil {
		return nil, err
	}
	if out, err := s.command("initdb", "-D", s.data(), "-U", "docs", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, s.port, _ = net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	return s, s.Start()
}

// Run starts a server for a test, and makes a database. Where Postgres is
// missing, the test is skipped.
func Run(t testing.TB) (s *Server, dsn string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "docs-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // Postgres runs as another user where this is root
		t.Fatal(err)
	}
	s, err = New(filepath.Join(dir, "pg"))
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if dsn, err = s.Create("docs"); err != nil {
		t.Fatal(err)
	}
	return s, dsn
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...) //nolint:gosec // a program of Postgres, for tests
	cmd.Dir = s.dir
	cmd.SysProcAttr = s.as
	return cmd
}

// DSN is the address of a database.
func (s *Server) DSN(database string) string {
	return "postgres://docs@127.0.0.1:" + s.port + "/" + database + "?sslmode=disable"
}

// Start starts the server and waits until it answers.
func (s *Server) Start() error {
	s.cmd = s.command("postgres", "-D", s.data(), "-p", s.port, "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=40")
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(s.cmd, s.exited)
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := s.ping()
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("postgres ended: %w", err)
		case <-time.After(30 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("postgres does not answer: %w", err)
		}
	}
}

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return err
	}
	return c.Close(ctx)
}

// Stop ends the server at once, with its connections. Start starts it again.
func (s *Server) Stop() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.exited
}

// Create makes an empty database and returns its address.
func (s *Server) Create(name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", err
	}
	return s.DSN(name), nil
}
