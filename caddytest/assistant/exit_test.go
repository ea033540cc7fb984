//go:build unix

package assistant

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// acmeProcess is a Caddy in a separate process that serves acme.
type acmeProcess struct {
	*caddytest.Process
	root, socket       string
	port               int
	stopTimeout, grace time.Duration
}

// config is its configuration in JSON.
func (r *acmeProcess) config(t *testing.T, dir, docs, site string) []byte {
	t.Helper()
	caddyfile := caddytest.Global(dir, docs) + fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s {\n%s\n}\n}\n", r.port, r.root, site)
	return caddytest.AdaptWith(t, caddyfile, func(config map[string]any) {
		config["admin"] = map[string]any{"listen": "unix//" + r.socket, "config": map[string]any{"persist": false}}
		apps := config["apps"].(map[string]any)
		apps["docs"].(map[string]any)["stop_timeout"] = r.stopTimeout.String()
		if r.grace > 0 {
			apps["http"].(map[string]any)["grace_period"] = r.grace.String()
		}
	})
}

func startAcmeProcess(t *testing.T, docs string, stopTimeout, grace time.Duration) *acmeProcess {
	t.Helper()
	r := &acmeProcess{root: caddytest.AcmeFolder(t), socket: caddytest.Socket(t), port: caddytest.FreePort(t), stopTimeout: stopTimeout, grace: grace}
	dir := t.TempDir()
	r.Process = caddytest.StartProcess(t, dir, r.port, r.config(t, dir, docs, ""))
	caddytest.Until(t, "the process serves", func() bool {
		resp, err := r.Open(t.Context(), caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x"}`})
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return r
}

// reload loads a configuration through the admin API.
func (r *acmeProcess) reload(t *testing.T, docs, site string) {
	t.Helper()
	admin := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}}}
	resp, err := admin.Post("http://caddy/load", "application/json", bytes.NewReader(r.config(t, r.Dir, docs, site)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		t.Fatalf("reload: %s", answer)
	}
}

func TestStreamsFinishWhenTheProcessIsTerminated(t *testing.T) {
	t.Parallel() // the Caddy is another process
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: "See [Install](/guide/install): one two three four five.", Gap: 100 * time.Millisecond})
	c := startAcmeProcess(t, caddytest.LLM(url, "first", ""), 20*time.Second, 0)
	first := c.OpenReply(t, http.DefaultClient, 1, caddytest.InstallQuestion, nil)
	second := c.OpenReply(t, http.DefaultClient, 2, caddytest.InstallQuestion, nil)
	first.ReadUntil(t, "See")
	second.ReadUntil(t, "See")

	// A request whose body is still on its way.
	half, err := net.Dial("tcp", strings.TrimPrefix(c.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	body := caddytest.Question(caddytest.InstallQuestion, nil)
	fmt.Fprintf(half, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", caddytest.V2Path, caddytest.Key, len(body), body[:10])
	answers := bufio.NewReader(half)
	for line := ""; line != "\r\n"; { // 100 Continue: the handler reads the body
		if line, err = answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}

	c.Terminate()
	caddytest.Until(t, "new connections are refused", func() bool {
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
	for i, r := range []*caddytest.Stream{first, second} {
		text, err := r.ReadRest()
		if err != nil {
			t.Fatalf("v%d was cut: %v", i+1, err)
		}
		if got, err := caddytest.ReadReply(i+1, []byte(text)); err != nil || !got.Finished || !strings.HasSuffix(got.Text, "five.") || len(got.Sources) == 0 {
			t.Errorf("v%d: finished %t, text %q, %v", i+1, got.Finished, got.Text, err)
		}
	}
	c.Wait()
}

func TestStreamsThatDoNotFinishEndWithAnErrorBeforeTheProcess(t *testing.T) {
	t.Parallel() // the Caddy is another process
	for name, limits := range map[string][2]time.Duration{
		"our own cap":    {700 * time.Millisecond, 0},
		"a grace period": {time.Hour, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, url := caddytest.StartModel(t)
			m.Always(modelserver.Reply{Text: "one two three four", Fault: modelserver.Hang, After: 3})
			c := startAcmeProcess(t, caddytest.LLM(url, "first", ""), limits[0], limits[1])
			// One began before a reload: the end of the process is its end, too.
			before := c.OpenReply(t, http.DefaultClient, 1, caddytest.InstallQuestion, map[string]any{"fp": "ann"})
			before.ReadUntil(t, "three")
			c.reload(t, caddytest.LLM(url, "first", "max_tokens 999"), "synonyms rocket missile")
			after := c.OpenReply(t, http.DefaultClient, 2, caddytest.InstallQuestion, map[string]any{"fp": "ann"})
			after.ReadUntil(t, "three")
			c.Terminate()
			for i, r := range []*caddytest.Stream{before, after} {
				text, err := r.ReadRest()
				if err != nil {
					t.Fatalf("v%d was cut: %v", i+1, err)
				}
				got, err := caddytest.ReadReply(i+1, []byte(text))
				if err != nil || got.Finished || !strings.Contains(got.Error, "again") || got.Text != "one two three" || len(got.Sources) == 0 {
					t.Errorf("v%d: finished %t, error %q, text %q, %v", i+1, got.Finished, got.Error, got.Text, err)
				}
			}
			c.Wait()
			for _, r := range m.Requests() {
				<-r.Done()
				if !r.Cancelled() {
					t.Error("a request of the model was not cancelled")
				}
			}
			for _, r := range []*caddytest.Stream{before, after} {
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
