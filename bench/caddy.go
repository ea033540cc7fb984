package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// benchKey is the API key of the measured site.
const benchKey = "svc_dsc_bench_key_0123456789abcdef"

// build compiles the binary, once.
func (b *bench) build(ctx context.Context) error {
	if b.caddy != "" {
		return nil
	}
	out := filepath.Join(b.dir, "caddy")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, "github.com/caddy-docs/caddy-docs/cmd/caddy")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building cmd/caddy: %w\n%s", err, msg)
	}
	b.caddy = out
	return nil
}

// server is a measured Caddy.
type server struct {
	*process
	addr, admin string
}

// site is what a Caddy serves: the documentation of root, with search and
// assistant. The rate limits are on, and too high to refuse anything.
type site struct {
	root string
	llm  string // address of the model, "" for none
	data string // data directory, "" for a new one
}

// startCaddy starts Caddy with global options and the directives of one site.
func (b *bench) startCaddy(ctx context.Context, options, sites string, data string) (*server, error) {
	return b.startCaddyfile(ctx, data, func(addr, admin string) string {
		return fmt.Sprintf("{\n\tadmin %s\n\tpersist_config off\n\tauto_https off\n\tskip_install_trust\n%s\n}\n\nhttp://%s {\n%s\n}\n", admin, options, addr, sites)
	})
}

// startCaddyfile starts Caddy with a Caddyfile for two free addresses: of its
// site and of its admin API.
func (b *bench) startCaddyfile(ctx context.Context, data string, caddyfile func(addr, admin string) string) (*server, error) {
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	admin, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "caddy-")
	if err != nil {
		return nil, err
	}
	if data == "" {
		data = dir
	}
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(caddyfile(addr, admin)), 0o600); err != nil {
		return nil, err
	}
	env := []string{"XDG_DATA_HOME=" + data, "XDG_CONFIG_HOME=" + data, "HOME=" + data}
	p, err := b.start(ctx, "caddy", dir, env, b.caddy, "run", "--config", file)
	if err != nil {
		return nil, err
	}
	s := &server{process: p, addr: addr, admin: admin}
	return s, p.listening(ctx, addr)
}

// module starts Caddy with the module on a site.
func (b *bench) module(ctx context.Context, s site) (*server, error) {
	llm := ""
	if s.llm != "" {
		llm = fmt.Sprintf("\t\tllm http://%s/v1 bench {\n\t\t\tmax_tokens 1000000\n\t\t}\n", s.llm)
	}
	options := fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t\tsite bench {\n\t\t\troot %q\n\t\t}\n%s\t}", benchKey, s.root, llm)
	const limits = "{\n\t\trate_limit organization 100000 1s\n\t\trate_limit ip 100000 1s\n\t}"
	handlers := fmt.Sprintf("\tassistant bench %[1]s\n\tsearch bench %[1]s\n\troot * %[2]q\n\tfile_server\n", limits, s.root)
	return b.startCaddy(ctx, options, handlers, s.data)
}

// proxy starts Caddy as a reverse proxy of a model.
func (b *bench) proxy(ctx context.Context, model string) (*server, error) {
	return b.startCaddy(ctx, "", fmt.Sprintf("\treverse_proxy %s {\n\t\tflush_interval -1\n\t}", model), "")
}

// ready waits until the site finds something: its pages are proven public after
// the first search.
func (s *server) ready(ctx context.Context) error {
	body := []byte(`{"query":"how to configure this","pageSize":1}`)
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/v1/search/bench", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+benchKey)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		found, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		switch {
		case err != nil:
			return err
		case res.StatusCode == http.StatusOK && len(bytes.TrimSpace(found)) > len("[]"):
			return nil
		case res.StatusCode == http.StatusOK, res.StatusCode == http.StatusServiceUnavailable:
		default:
			return fmt.Errorf("the site answers %s:\n%s", res.Status, s.tail())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return fmt.Errorf("caddy ended:\n%s", s.tail())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// profileCPU writes a CPU profile of the server's next seconds to a file. It
// does not wait.
func (b *bench) profileCPU(ctx context.Context, s *server, name string, d time.Duration) {
	if b.profile != "" {
		go b.fetchProfile(ctx, s, fmt.Sprintf("profile?seconds=%d", max(1, int(d.Seconds()))), name+".pprof")
	}
}

// held returns how much the server's heap and stacks hold after a collection,
// in bytes.
func (s *server) held(ctx context.Context) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var total int64
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20) // a line has a stack
	for lines.Scan() {
		var n int64
		for _, format := range []string{"# HeapAlloc = %d", "# Stack = %d"} {
			if _, err := fmt.Sscanf(lines.Text(), format, &n); err == nil {
				total += n
			}
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if total == 0 {
		return 0, errors.New("the heap profile of the server has no totals")
	}
	return total, nil
}

// profileHeap writes a heap profile of the server.
func (b *bench) profileHeap(ctx context.Context, s *server, name string) {
	if b.profile != "" {
		b.fetchProfile(ctx, s, "heap", name+".heap.pprof")
		b.fetchProfile(ctx, s, "heap?debug=1", name+".heap.txt")
	}
}

// fetchProfile writes a profile, and ignores errors.
func (b *bench) fetchProfile(ctx context.Context, s *server, query, file string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/debug/pprof/"+query, nil)
	if err != nil {
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return
	}
	defer res.Body.Close()
	if os.MkdirAll(b.profile, 0o755) != nil {
		return
	}
	f, err := os.Create(filepath.Join(b.profile, file))
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = io.Copy(f, res.Body)
}

// jsonOf marshals values that always marshal.
func jsonOf(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
