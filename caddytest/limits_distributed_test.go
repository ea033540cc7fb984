//go:build unix

package caddytest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestCaddysThatShareAStorageShareTheLimitOfAnOrganization(t *testing.T) {
	const (
		limit    = 300
		otherKey = "svc_dsc_other_key_0123456789abcdef"
		keys     = "key " + Key + " {\norganization acme\n}\nkey " + otherKey + " {\norganization other\n}"
		words    = "only search\nrate_limit organization 300 1h\nrate_limit distributed {\nread_interval 100ms\nwrite_interval 100ms\n}"
	)
	storage, root := t.TempDir(), acmeFolder(t)
	// instance starts a Caddy and returns a function that sends it a request
	// and reports whether the limit let it through.
	instance := func() func(key string) bool {
		c := &child{Server: &Server{Dir: t.TempDir(), t: t}, root: root, exited: make(chan error, 1)}
		port := freePort(t)
		c.Base = fmt.Sprintf("http://localhost:%d", port)
		caddyfile := strings.Replace(Global(c.Dir, keys), filepath.Join(c.Dir, "storage"), storage, 1) +
			fmt.Sprintf("http://localhost:%d {\n\tdocs acme %s {\n%s\n}\n}\n", port, root, words)
		config, err := Adapt(caddyfile)
		if err != nil {
			t.Fatal(err)
		}
		c.start(t, string(config))
		Until(t, "the child serves", func() bool {
			resp, err := c.Open(t.Context(), Request{Method: http.MethodOptions, Path: searchPath})
			if err != nil {
				return false
			}
			return resp.Body.Close() == nil
		})
		return func(key string) bool {
			return c.Do(Request{Path: searchPath, Key: key, Body: `{"query":"install"}`}).Status != http.StatusTooManyRequests
		}
	}
	// spend sends requests until the limit has let all of it through. While an
	// instance reads its own file while it is half written, which can happen
	// with this storage, it counts itself twice and refuses some.
	spend := func(send func(string) bool, key string) {
		t.Helper()
		passed := 0
		Until(t, "the limit is spent", func() bool {
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
		Until(t, "the other instance refuses", func() bool {
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

	first := instance()
	spend(first, Key)
	second := instance()
	refused(second, Key)
	spend(second, otherKey)
	refused(first, otherKey)
}
