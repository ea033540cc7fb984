// Package browser opens tabs of a headless Chromium, which all tests of a
// package share.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var shared struct {
	once sync.Once
	ctx  context.Context
	// missing says what to install, "" if Chromium is. err is why it does not
	// start.
	missing string
	err     error
	stop    []func()
}

// Tab opens a tab with its own cookies and storage. It reaches nothing but this
// machine, and is closed with the test. The test is skipped where Chromium is
// not installed, and with -short; it fails where Chromium does not start. TestMain
// of the package calls Run.
func Tab(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := open(t)
	t.Cleanup(cancel)
	return ctx
}

// Keep is Tab for a tab that further tests use: it stays open until Run ends.
func Keep(t testing.TB) context.Context {
	t.Helper()
	ctx, _ := open(t)
	return ctx
}

func open(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	shared.once.Do(func() { shared.missing, shared.err = start() })
	if shared.missing != "" {
		t.Skip(shared.missing)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, cancel := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as this context
		cancel()
		t.Fatal(err)
	}
	return ctx, cancel
}

// start starts Chromium. missing is what to install if there is none.
func start() (missing string, err error) {
	binary := ""
	for _, name := range []string{"chromium-headless-shell", "headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			binary = path
			break
		}
	}
	if binary == "" {
		return "no Chromium is installed: apt-get install chromium", nil
	}
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return "", err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(binary), chromedp.NoSandbox, chromedp.UserDataDir(dir), chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(5*time.Minute), // a busy machine takes its time
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		// Each window would have two hidden pages for the address bar, which take
		// as long to start as the tab itself.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"),
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	shared.stop = append(shared.stop, func() { _ = os.RemoveAll(dir) }, cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	shared.ctx = ctx
	shared.stop = append(shared.stop, cancel, func() { _ = chromedp.Cancel(ctx) })
	if err := chromedp.Do(ctx); err != nil {
		return "", fmt.Errorf("%s does not start: %w", binary, err)
	}
	return "", nil
}

// Run runs a package's tests and then ends the browser. It returns the exit code.
func Run(m *testing.M) int {
	code := m.Run()
	for _, stop := range slices.Backward(shared.stop) {
		stop()
	}
	return code
}
