//go:build unix

package caddytest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// childConfig is set in a copy of the test binary that is to be a Caddy: the
// end of a process can't be tested inside it.
const childConfig = "CADDYDOCS_TEST_CHILD"

func TestMain(m *testing.M) {
	if config := os.Getenv(childConfig); config != "" {
		os.Args = []string{"caddy", "run", "--config", config}
		caddycmd.Main() // exits
	}
	os.Exit(m.Run())
}

// child is a Caddy in a separate process.
type child struct {
	*Server
	cmd    *exec.Cmd
	exited chan error
	admin  *http.Client
	root   string
}

// config is a child's configuration in JSON.
func (c *child) config(t *testing.T, port int, docs, site string, stopTimeout, grace time.Duration) string {
	t.Helper()
	caddyfile := Global(c.Dir, docs) + fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s {\n%s\n}\n}\n", port, c.root, site)
	data := patch(t, caddyfile, func(config map[string]any) {
		config["admin"] = map[string]any{"listen": "unix//" + filepath.Join(c.Dir, "admin.sock"), "config": map[string]any{"persist": false}}
		apps := config["apps"].(map[string]any)
		apps["docs"].(map[string]any)["stop_timeout"] = stopTimeout.String()
		if grace > 0 {
			apps["http"].(map[string]any)["grace_period"] = grace.String()
		}
	})
	return string(data)
}

func startChild(t *testing.T, docs string, stopTimeout, grace time.Duration) (c *child, port int) {
	t.Helper()
	c = &child{Server: &Server{Dir: t.TempDir(), t: t}, root: acmeFolder(t), exited: make(chan error, 1)}
	port = freePort(t)
	c.Base = fmt.Sprintf("http://localhost:%d", port)
	c.start(t, c.config(t, port, docs, "", stopTimeout, grace))
	c.admin = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(c.Dir, "admin.sock"))
	}}}
	Until(t, "the child serves", func() bool {
		resp, err := c.Open(t.Context(), Request{Path: searchPath, Body: `{"query":"x"}`})
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return c, port
}

// start runs the process, which is killed when the test ends.
func (c *child) start(t *testing.T, config string) {
	t.Helper()
	Write(t, c.Dir, map[string]string{"caddy.json": config})
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), childConfig+"="+filepath.Join(c.Dir, "caddy.json"), "XDG_DATA_HOME="+c.Dir)
	output, err := os.Create(filepath.Join(c.Dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	c.cmd.Stdout, c.cmd.Stderr = output, output
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { c.exited <- c.cmd.Wait() }()
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
}

// terminate sends SIGTERM.
func (c *child) terminate(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the process, which must end well.
func (c *child) ends(t *testing.T) {
	t.Helper()
	select {
	case err := <-c.exited:
		if err != nil {
			t.Errorf("the process ended with %v", err)
		}
	case <-time.After(patience):
		t.Error("the process does not end")
	}
}

func TestStreamsFinishWhenTheProcessIsTerminated(t *testing.T) {
	m, url := startModel(t)
	m.Always(modelserver.Reply{Text: "See [Install](/guide/install): one two three four five.", Gap: 100 * time.Millisecond})
	c, _ := startChild(t, llm(url, "first", ""), 20*time.Second, 0)
	first := c.open(t, http.DefaultClient, 1, install, nil)
	second := c.open(t, http.DefaultClient, 2, install, nil)
	first.until(t, "See")
	second.until(t, "See")

	// A request whose body is still on its way.
	half, err := net.Dial("tcp", strings.TrimPrefix(c.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	body := Question(install, nil)
	fmt.Fprintf(half, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", v2Path, Key, len(body), body[:10])
	answers := bufio.NewReader(half)
	for line := ""; line != "\r\n"; { // 100 Continue: the handler reads the body
		if line, err = answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}

	c.terminate(t)
	Until(t, "new connections are refused", func() bool {
		conn, err := net.Dial("tcp", half.RemoteAddr().String())
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	if _, err := io.WriteString(half, body[10:]); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	refusal, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(refusal), `"code":"stopping"`) {
		t.Errorf("on an open connection: %d %v %s", resp.StatusCode, resp.Header, refusal)
	}
	for i, r := range []*reading{first, second} {
		text, err := r.rest()
		if err != nil {
			t.Fatalf("v%d was cut: %v", i+1, err)
		}
		if got, err := read(i+1, []byte(text)); err != nil || !got.Finished || !strings.HasSuffix(got.Text, "five.") || len(got.Sources) == 0 {
			t.Errorf("v%d: finished %t, text %q, %v", i+1, got.Finished, got.Text, err)
		}
	}
	c.ends(t)
}

func TestStreamsThatDoNotFinishEndWithAnErrorBeforeTheProcess(t *testing.T) {
	for name, limits := range map[string][2]time.Duration{
		"our own cap":    {700 * time.Millisecond, 0},
		"a grace period": {time.Hour, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			m, url := startModel(t)
			m.Always(modelserver.Reply{Text: "one two three four", Fault: modelserver.Hang, After: 3})
			c, port := startChild(t, llm(url, "first", ""), limits[0], limits[1])
			// One began before a reload: the end of the process is its end, too.
			before := c.open(t, http.DefaultClient, 1, install, map[string]any{"fp": "ann"})
			before.until(t, "three")
			config := c.config(t, port, llm(url, "first", "max_tokens 999"), "synonyms rocket missile", limits[0], limits[1])
			resp, err := c.admin.Post("http://caddy/load", "application/json", strings.NewReader(config))
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("reload: %s", answer)
			}
			after := c.open(t, http.DefaultClient, 2, install, map[string]any{"fp": "ann"})
			after.until(t, "three")
			c.terminate(t)
			for i, r := range []*reading{before, after} {
				text, err := r.rest()
				if err != nil {
					t.Fatalf("v%d was cut: %v", i+1, err)
				}
				got, err := read(i+1, []byte(text))
				if err != nil || got.Finished || !strings.Contains(got.Error, "again") || got.Text != "one two three" || len(got.Sources) == 0 {
					t.Errorf("v%d: finished %t, error %q, text %q, %v", i+1, got.Finished, got.Error, got.Text, err)
				}
			}
			c.ends(t)
			for _, r := range m.Requests() {
				<-r.Done()
				if !r.Cancelled() {
					t.Error("a request of the model was not cancelled")
				}
			}
			for _, r := range []*reading{before, after} {
				if turn := storedTurn(t, c.Dir, r.Header.Get("X-Thread-Id")); turn["partial"] != true || turn["answer"] != "one two three" {
					t.Errorf("the thread keeps %v", turn)
				}
			}
		})
	}
}

// storedTurn is the last turn of a thread in the storage.
func storedTurn(t *testing.T, dir, id string) map[string]any {
	t.Helper()
	var turn map[string]any
	err := filepath.WalkDir(filepath.Join(dir, "storage"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, id) {
			return err
		}
		data, err := os.ReadFile(path)
		var stored struct{ Turns []map[string]any }
		if err = errors.Join(err, json.Unmarshal(data, &stored)); err == nil && len(stored.Turns) > 0 {
			turn = stored.Turns[len(stored.Turns)-1]
		}
		return err
	})
	if err != nil || turn == nil {
		t.Fatalf("thread %s is not stored: %v", id, err)
	}
	return turn
}
