package handlers

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/filestorage"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/app"
)

const (
	acmeKey  = "svc_dsc_acme0123456789abcdef"
	otherKey = "svc_dsc_other0123456789abcdef"
)

// testKeys opens with acmeKey and otherKey.
func testKeys() *access.Keys {
	var fixed []*access.Key
	for secret, k := range map[string]access.Key{
		acmeKey:  {Organization: "acme", Sites: []string{"docs", "blog"}},
		otherKey: {Organization: "other"},
	} {
		f, err := access.NewFixed(access.Hash(secret), k)
		if err != nil {
			panic(err)
		}
		fixed = append(fixed, f)
	}
	return access.NewKeys(nil, fixed, slog.New(slog.DiscardHandler))
}

// testKeyAuth is KeyAuth with an app that has only keys.
type testKeyAuth struct{ KeyAuth }

func (testKeyAuth) Provision(caddy.Context) error { return nil }

func (testKeyAuth) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID: "http.authentication.providers.docs_key_test",
		New: func() caddy.Module {
			a := new(app.App)
			a.Shared().Keys = testKeys()
			return &testKeyAuth{KeyAuth{a}}
		},
	}
}

// testIdentity answers with what the handlers behind KeyAuth know.
type testIdentity struct{}

func (testIdentity) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.docs_identity_test", New: func() caddy.Module { return new(testIdentity) }}
}

func (testIdentity) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	id := "none"
	if k, ok := IdentityOf(r); ok {
		id = k.ID
	}
	_, err := fmt.Fprintf(w, "identity %s user %s", id,
		repl.ReplaceAll("{http.auth.user.id} {http.auth.user.organization} {http.auth.user.sites} {http.auth.user.client}", "-"))
	return err
}

func init() {
	caddy.RegisterModule(testKeyAuth{})
	caddy.RegisterModule(testIdentity{})
	caddy.RegisterModule(ClientLimit{})
}

const testAuth = `{"handler":"authentication","providers":{"docs_key_test":{}}}`

// provision loads a route of handlers as Caddy does. The function it returns
// ends the configuration: its modules are cleaned up.
func provision(t testing.TB, handlers ...json.RawMessage) (caddyhttp.MiddlewareHandler, func()) {
	t.Helper()
	base, err := caddy.ProvisionContext(&caddy.Config{
		Admin:      &caddy.AdminConfig{Disabled: true},
		StorageRaw: json.RawMessage(fmt.Sprintf(`{"module":"file_system","root":%q}`, t.TempDir())),
		Logging:    &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{WriterRaw: json.RawMessage(`{"output":"discard"}`)}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(base)
	raw, err := json.Marshal(map[string]any{"routes": []any{map[string]any{"handle": handlers}}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := ctx.LoadModuleByID("http.handlers.subroute", raw)
	if err != nil {
		t.Fatal(err)
	}
	return h.(caddyhttp.MiddlewareHandler), cancel
}

// serve sends a request from an address with a key and headers, and returns
// the response and the handlers' error.
func serve(h caddyhttp.Handler, address, key string, headers ...string) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequest(http.MethodPost, "/v1/search/docs", nil)
	r.RemoteAddr = address
	if strings.Count(address, ":") > 1 {
		r.RemoteAddr = "[" + address + "]"
	}
	r.RemoteAddr += ":4711"
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, &caddyhttp.Server{})
	return w, h.ServeHTTP(w, r)
}

// next is a handler with what follows it.
func next(h caddyhttp.MiddlewareHandler) caddyhttp.Handler {
	return caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		return h.ServeHTTP(w, r, testNext)
	})
}

var testNext = caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
	return testIdentity{}.ServeHTTP(w, r, nil)
})

func status(err error) int {
	if he, ok := err.(caddyhttp.HandlerError); ok {
		return he.StatusCode
	}
	if err != nil {
		return http.StatusInternalServerError
	}
	return http.StatusOK
}

func TestKeyAuth(t *testing.T) {
	acme, _ := testKeys().Authenticate(acmeKey)
	good := fmt.Sprintf("identity %s user %s acme docs,blog 192.0.2.7", acme.ID, acme.ID)
	h, end := provision(t, json.RawMessage(testAuth))
	defer end()
	for name, tt := range map[string]struct {
		headers []string
		want    string // "" is 401
	}{
		"a Bearer key":             {[]string{"Authorization", "Bearer " + acmeKey}, good},
		"the scheme in lower case": {[]string{"Authorization", "bearer " + acmeKey}, good},
		"two spaces":               {[]string{"Authorization", "Bearer  " + acmeKey}, good},
		"X-API-Key":                {[]string{"X-API-Key", acmeKey}, good},
		"X-API-Key beside the site's basic login":  {[]string{"X-API-Key", acmeKey, "Authorization", "Basic dTpw"}, good},
		"X-API-Key beside the site's own token":    {[]string{"X-API-Key", acmeKey, "Authorization", "Bearer eyJhbGciOi"}, good},
		"no key":                                   {nil, ""},
		"an empty key":                             {[]string{"Authorization", "Bearer "}, ""},
		"a key without its scheme":                 {[]string{"Authorization", acmeKey}, ""},
		"a key as basic login":                     {[]string{"Authorization", "Basic " + acmeKey}, ""},
		"an unknown key":                           {[]string{"Authorization", "Bearer svc_dsc_0000000000000000"}, ""},
		"a key of another kind":                    {[]string{"Authorization", "Bearer sk-0000000000000000"}, ""},
		"a long key":                               {[]string{"Authorization", "Bearer svc_dsc_" + strings.Repeat("a", 100_000)}, ""},
		"bytes":                                    {[]string{"X-API-Key", "svc_dsc_\xff\x00"}, ""},
		"an unknown key hides no other":            {[]string{"Authorization", "Bearer svc_dsc_0000000000000000", "X-API-Key", acmeKey}, ""},
		"two keys separated by a comma":            {[]string{"X-API-Key", acmeKey + "," + otherKey}, ""},
		"a placeholder":                            {[]string{"X-API-Key", "{http.auth.user.id}"}, ""},
		"the ID of a key instead of the key":       {[]string{"X-API-Key", acme.ID}, ""},
		"the hash of a key instead of the key":     {[]string{"X-API-Key", access.Prefix + access.Hash(acmeKey)}, ""},
		"a placeholder's value sent by the client": {[]string{"X-API-Key", "docs_key"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := serve(next(h), "192.0.2.7", "", tt.headers...)
			challenge := w.Header().Get("WWW-Authenticate")
			if tt.want != "" {
				if err != nil || w.Body.String() != tt.want || challenge != "" {
					t.Errorf("%v %q, challenge %q; want %q", err, w.Body, challenge, tt.want)
				}
				return
			}
			if status(err) != http.StatusUnauthorized || challenge != "Bearer" || w.Body.Len() > 0 {
				t.Errorf("%v %q, challenge %q; want 401 by Bearer", err, w.Body, challenge)
			}
			if strings.Contains(err.Error(), acmeKey) {
				t.Errorf("the error holds the key: %v", err)
			}
		})
	}
}

func TestIdentityCannotBeForgedByVariables(t *testing.T) {
	h, end := provision(t, json.RawMessage(`{"handler":"vars","docs_key":"svc_dsc_0000000000000000"}`))
	defer end()
	w, err := serve(next(h), "192.0.2.7", "")
	if err != nil || !strings.HasPrefix(w.Body.String(), "identity none") {
		t.Errorf("%v %q", err, w.Body)
	}
	if _, ok := IdentityOf(httptest.NewRequest(http.MethodGet, "/", nil)); ok {
		t.Error("a request that never met Caddy has an identity")
	}
}

// The address is the one that trusted_proxies makes of it: through a real
// server, which alone knows.
func TestClientsAreCountedByTheAddressBehindTrustedProxies(t *testing.T) {
	for name, tt := range map[string]struct{ trusted, forwarded, want string }{
		"a trusted proxy's client":            {`"trusted_proxies":{"source":"static","ranges":["127.0.0.0/8"]},`, "198.51.100.9", "198.51.100.9"},
		"a trusted proxy's IPv6 client":       {`"trusted_proxies":{"source":"static","ranges":["127.0.0.0/8"]},`, "2001:db8:7:8:9::1", "2001:db8:7:8::/64"},
		"a client that claims to be another":  {``, "198.51.100.9", "127.0.0.1"},
		"a client that nobody speaks for":     {``, "", "127.0.0.1"},
		"a trusted proxy that names no other": {`"trusted_proxies":{"source":"static","ranges":["127.0.0.0/8"]},`, "", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			config := fmt.Sprintf(`{
				"admin": {"disabled": true, "config": {"persist": false}},
				"logging": {"logs": {"default": {"writer": {"output": "discard"}}}},
				"storage": {"module": "file_system", "root": %q},
				"apps": {"http": {"servers": {"srv0": {"listen": ["127.0.0.1:0"], %s "automatic_https": {"disable": true},
					"routes": [{"handle": [%s, {"handler": "docs_identity_test"}]}]}}}}}`, t.TempDir(), tt.trusted, testAuth)
			if err := caddy.Load([]byte(config), true); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := caddy.Stop(); err != nil {
					t.Error(err)
				}
			}()
			app, err := caddy.ActiveContext().App("http")
			if err != nil {
				t.Fatal(err)
			}
			address := app.(*caddyhttp.App).Servers["srv0"].Listeners()[0].Addr().String()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+acmeKey)
			if tt.forwarded != "" {
				req.Header.Set("X-Forwarded-For", tt.forwarded)
			}
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || !strings.HasSuffix(string(body), " "+tt.want) {
				t.Errorf("%v %q, want client %s", err, body, tt.want)
			}
		})
	}
}
