// Package npm installs the npm packages that tests compare with or run, next
// to the package.json that names them.
package npm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// minNode is the oldest Node that runs all packages.
const minNode = 20

// checkNode says in one sentence what is missing.
func checkNode(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return fmt.Errorf("the tests with npm packages need Node %d or later in the PATH (https://nodejs.org), or run go test with -short: %w", minNode, err)
	}
	version := strings.TrimSpace(string(out))
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < minNode {
		return fmt.Errorf("the tests with npm packages need Node %d or later, but node --version is %s; run go test with -short to do without", minNode, version)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("the tests with npm packages need npm in the PATH, which comes with Node (https://nodejs.org): %w", err)
	}
	return nil
}

// Folder returns the path of a folder of the repository that has a package.json,
// from below which the test runs.
func Folder(name string) string {
	folder := filepath.FromSlash(name)
	for up := ""; len(up) < 40; up = filepath.Join(up, "..") {
		if _, err := os.Stat(filepath.Join(up, folder, "package.json")); err == nil {
			return filepath.Join(up, folder)
		}
	}
	return folder // an error names it
}

// Install installs the packages that the lock file in dir names, or its
// package.json where there is none, unless they are there already. Test binaries
// that call it at the same time wait for each other.
func Install(ctx context.Context, dir string) error {
	if err := checkNode(ctx); err != nil {
		return err
	}
	command := "ci"
	want, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if errors.Is(err, os.ErrNotExist) {
		command = "install"
		want, err = os.ReadFile(filepath.Join(dir, "package.json"))
	}
	if err != nil {
		return fmt.Errorf("reading the list of npm packages: %w", err)
	}
	stamp := filepath.Join(dir, "node_modules", ".installed")
	installed := func() bool {
		have, err := os.ReadFile(stamp)
		return err == nil && bytes.Equal(have, want)
	}
	if installed() {
		return nil
	}
	unlock, err := lock(ctx, filepath.Join(dir, "node_modules.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if installed() {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", command, "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("installing packages with npm %s in %s: %w: %s", command, dir, err, Last(out))
	}
	if err := os.WriteFile(stamp, want, 0o644); err != nil {
		return fmt.Errorf("noting that the npm packages are installed: %w", err)
	}
	return nil
}

// staleLock is the age at which a lock is that of a process that died.
const staleLock = 10 * time.Minute

// lock makes a lock file and returns what removes it.
func lock(ctx context.Context, file string) (unlock func(), err error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			_ = f.Close()
			return func() { _ = os.Remove(file) }, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("locking the npm packages: %w", err)
		}
		if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > staleLock {
			_ = os.Remove(file)
			continue
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another test to install npm packages (%s): %w", file, ctx.Err())
		case <-tick.C:
		}
	}
}

// Last returns the last kilobyte of a program's output.
func Last(out []byte) string {
	out = bytes.TrimSpace(out)
	return string(out[max(0, len(out)-1000):])
}
