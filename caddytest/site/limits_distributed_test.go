//go:build unix

package site

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// They share the secrets of browser tokens, too: a token of one is valid at the
// other.
func TestCaddysThatShareAStorageShareTheLimitOfAnOrganization(t *testing.T) {
	const (
		limit    = 300
		origin   = "https://app.example"
		otherKey = "svc_dsc_other_key_0123456789abcdef"
		keys     = "key " + caddytest.Key + " {\norganization acme\norigins " + origin + "\n}\nkey " + otherKey + " {\norganization other\n}"
		words    = "only search widget\nrate_limit organization 300 1h\nrate_limit ip 3000 1h\nrate_limit distributed {\nread_interval 100ms\nwrite_interval 100ms\n}"
	)
	storage, root := t.TempDir(), caddytest.AcmeFolder(t)
	// instance starts a Caddy and returns a function that sends it a request
	// and reports whether the limit let it through.
	instance := func() (func(key string) bool, *caddytest.Server) {
		port, dir := caddytest.FreePort(t), t.TempDir()
		caddyfile := strings.Replace(caddytest.Global(dir, keys), filepath.Join(dir, "storage"), storage, 1) +
			fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s {\n%s\n}\n}\n", port, root, words)
		config, err := caddytest.Adapt(caddyfile)
		if err != nil {
			t.Fatal(err)
		}
		c := caddytest.StartProcess(t, dir, port, config)
		caddytest.Until(t, "the process serves", func() bool {
			resp, err := c.Open(t.Context(), caddytest.Request{Method: http.MethodOptions, Path: caddytest.SearchPath})
			if err != nil {
				return false
			}
			return resp.Body.Close() == nil
		})
		return func(key string) bool {
			return c.Do(caddytest.Request{Path: caddytest.SearchPath, Key: key, Body: `{"query":"install"}`}).Status != http.StatusTooManyRequests
		}, c.Server
	}
	// spend sends requests until the limit has let all of it through. While an
	// instance reads its own file while it is half written, which can happen
	// with this storage, it counts itself twice and refuses some.
	spend := func(send func(string) bool, key string) {
		t.Helper()
		passed := 0
		caddytest.Until(t, "the limit is spent", func() bool {
			for passed < limit && send(key) {
				passed++
			}
			return passed == limit
		})
		if send(key) {
			t.Errorf("an instance lets through more than %d", limit)
		}
	}
	// refused waits until an instance knows that the other has spent the limit.
	refused := func(send func(string) bool, key string) {
		t.Helper()
		passed := 0
		caddytest.Until(t, "the other instance refuses", func() bool {
			if send(key) {
				passed++
				return false
			}
			return true
		})
		t.Logf("the other instance let %d of %d through", passed, limit)
		if passed > limit/2 {
			t.Errorf("together the instances let %d through, the limit is %d", limit+passed, limit)
		}
	}

	first, firstServer := instance()
	spend(first, caddytest.Key)
	second, secondServer := instance()
	refused(second, caddytest.Key)
	spend(second, otherKey)
	refused(first, otherKey)

	tok, _ := requestToken(t, firstServer, "acme", origin)
	for name, c := range map[string]struct {
		server *caddytest.Server
		token  string
		want   bool
	}{"its own": {firstServer, tok, true}, "the other's": {secondServer, tok, true}, "a forged one": {secondServer, tok[:len(tok)-4] + "AAAA", false}} {
		r := c.server.Do(caddytest.Request{Path: caddytest.SearchPath, Key: c.token, Body: `{"query":"install"}`, Header: map[string]string{"Origin": origin}})
		if (r.Status != http.StatusUnauthorized) != c.want {
			t.Errorf("%s token: %d %s", name, r.Status, r.Body)
		}
	}
}
