package source

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// limitedWatches is set in the child process, whose user namespace allows few
// watches.
const limitedWatches = "CADDY_DOCS_TEST_LIMITED_WATCHES"

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

// The kernel's own limit, in a user namespace where it is 8 watches: folders
// are polled, the log says so once and names the setting, and changes are
// still found.
func TestFoldersArePolledWhenTheLimitOfWatchesIsReached(t *testing.T) {
	if os.Getenv(limitedWatches) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), limitedWatches+"=1", "TMPDIR="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		switch {
		case err != nil && cmd.ProcessState == nil:
			t.Skipf("this system allows no user namespaces: %v", err)
		case err != nil:
			t.Fatalf("%v\n%s", err, out)
		case bytes.Contains(out, []byte("--- SKIP")):
			t.Skipf("%s", out)
		}
		return
	}
	if err := os.WriteFile("/proc/sys/user/max_inotify_watches", []byte("8"), 0); err != nil {
		t.Skipf("the limit of watches can't be lowered: %v", err)
	}
	log := new(lines)
	w := new(Watcher)
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	for range 3 {
		root := t.TempDir()
		for i := range 20 {
			if err := os.Mkdir(filepath.Join(root, fmt.Sprint(i)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		page := filepath.Join(root, "19", "page.md")
		var found atomic.Bool
		f := &Folder{Root: root, Watcher: w, Interval: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))}
		wait.Go(func() {
			_ = f.Watch(ctx, func() {
				if _, err := os.Stat(page); err == nil {
					found.Store(true)
				}
			})
		})
		until(t, "the limit is reached", func() bool { return strings.Contains(log.String(), "sysctl fs.inotify.max_user_watches") })
		if err := os.WriteFile(page, []byte("# New\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		until(t, "the new page is found", found.Load)
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log)
	}
}
