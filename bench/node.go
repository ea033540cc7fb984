package main

import (
	"context"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// nodeFiles are the Node peers and their locked versions.
//
//go:embed node/package.json node/package-lock.json node/*.mjs
var nodeFiles embed.FS

// peers installs the Node peers into the temporary directory. If that fails, it
// prints why and returns false.
func (b *bench) peers(ctx context.Context) bool {
	if b.node != "" {
		return true
	}
	if err := b.installPeers(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench: without the Node peers: %v\n", err)
		return false
	}
	return true
}

func (b *bench) installPeers(ctx context.Context) error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed", tool)
		}
	}
	dir := filepath.Join(b.dir, "node")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := nodeFiles.ReadDir("node")
	if err != nil {
		return err
	}
	for _, e := range entries {
		content, err := nodeFiles.ReadFile("node/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), content, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--loglevel", "error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	b.node = dir
	return nil
}
