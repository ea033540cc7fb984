// Package markdown renders Markdown with the npm packages that chat clients
// use, for tests of what readers see of an answer.
package markdown

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// Renderers is a process with commonmark, markdown-it, marked, micromark and
// showdown. It is for one goroutine.
type Renderers struct {
	texts *json.Encoder
	pages *bufio.Reader
}

// Start installs the packages and starts the process, which ends with the
// test. fuzzy has markdown-it link hosts and e-mail addresses without a scheme,
// as its option linkify does.
func Start(t testing.TB, fuzzy bool) *Renderers {
	t.Helper()
	dir := npm.Folder("caddytest/markdown")
	if err := npm.Install(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", "render.mjs")
	if fuzzy {
		cmd.Args = append(cmd.Args, "fuzzy")
	}
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	return &Renderers{json.NewEncoder(in), bufio.NewReader(out)}
}

// HTML returns what each renderer makes of each text, by its name.
func (r *Renderers) HTML(texts ...string) ([]map[string]string, error) {
	if err := r.texts.Encode(texts); err != nil {
		return nil, fmt.Errorf("sending texts to render.mjs: %w", err)
	}
	line, err := r.pages.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("reading from render.mjs: %w", err)
	}
	var pages []map[string]string
	return pages, json.Unmarshal(line, &pages)
}
