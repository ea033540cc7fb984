package site

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/access"
)

const ownKey, narrowKey = "svc_dsc_key_of_the_organization", "svc_dsc_key_with_one_origin_01"

func startOrigins(t *testing.T) *caddytest.Server {
	t.Helper()
	s := caddytest.Start(t, fmt.Sprintf(`site acme {
	root %s
	url https://docs.acme.test
}
key %s {
	organization acme
	origins https://app.acme.test http://localhost:*
}`, caddytest.AcmeFolder(t), narrowKey), "http://:0 {\n\tsearch\n\tassistant\n}\n")
	caddytest.Until(t, "the index is ready", func() bool {
		return s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: narrowKey, Body: `{"query":"x"}`}).Status == 200
	})
	return s
}

func TestOrigins(t *testing.T) {
	s := startOrigins(t)
	own := "http://" + strings.TrimPrefix(s.Base, "http://")
	for _, c := range []struct {
		name, origin string
		allowed      bool
	}{
		{"the site's own address", "https://docs.acme.test", true},
		{"the request's own host", own, true},
		{"an origin of the key", "https://app.acme.test", true},
		{"localhost by pattern", "http://localhost:5173", true},
		{"another origin", "https://evil.test", false},
		{"a longer host that starts alike", "https://app.acme.test.evil.test", false},
		{"another scheme", "http://app.acme.test", false},
		{"null", "null", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: narrowKey, Body: `{"query":"install"}`, Header: map[string]string{"Origin": c.origin}})
			allow := r.Header.Get("Access-Control-Allow-Origin")
			if c.allowed && (r.Status != 200 || allow != c.origin) {
				t.Errorf("status %d, allowed origin %q: %s", r.Status, allow, r.Body)
			}
			// The page can read why it is refused, and nothing else.
			if !c.allowed && (r.Status != 403 || allow != c.origin || r.Error(t).Code != "origin_not_allowed") {
				t.Errorf("status %d, allowed origin %q: %s", r.Status, allow, r.Body)
			}
			pre := s.Do(caddytest.Request{Method: http.MethodOptions, Path: caddytest.V2Path, Key: "-", Header: map[string]string{
				"Origin": c.origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,user-agent",
			}})
			if pre.Status != 204 || pre.Header.Get("Access-Control-Allow-Origin") != c.origin ||
				!strings.Contains(pre.Header.Get("Access-Control-Allow-Methods"), "POST") || pre.Header.Get("Access-Control-Allow-Headers") != "authorization,content-type,user-agent" {
				t.Errorf("preflight: %d %v", pre.Status, pre.Header)
			}
		})
	}
}

// A browser can read why it was refused only if the error carries the CORS
// headers, whichever handler made it.
func TestErrorsAreReadableByEveryAllowedOrigin(t *testing.T) {
	s := startOrigins(t)
	for _, q := range []caddytest.Request{
		{Path: caddytest.SearchPath, Key: "-", Body: `{"query":"x"}`},
		{Path: caddytest.SearchPath, Key: narrowKey, Body: `{"query":""}`},
		{Path: caddytest.V2Path, Key: narrowKey, Body: `{`},
		{Method: http.MethodGet, Path: caddytest.V2Path, Key: narrowKey},
	} {
		q.Header = map[string]string{"Origin": "https://app.acme.test"}
		r := s.Do(q)
		expose := r.Header.Get("Access-Control-Expose-Headers")
		if r.Status < 400 || r.Header.Get("Access-Control-Allow-Origin") != "https://app.acme.test" || !strings.Contains(expose, "Retry-After") || !strings.Contains(expose, "X-Thread-Id") {
			t.Errorf("%s %s: %d, headers %v", q.Method, q.Path, r.Status, r.Header)
		}
		if !strings.Contains(strings.Join(r.Header.Values("Vary"), ","), "Origin") {
			t.Errorf("Vary is %v", r.Header.Values("Vary"))
		}
	}
}

// Who has no key gets the same from a site that exists as from one that does
// not. With a key, a page can read that there is no such site.
func TestStrangersCannotTellWhichSitesThereAre(t *testing.T) {
	s := caddytest.Start(t, "key "+narrowKey+" {\n\torganization acme\n\torigins https://app.acme.test\n}",
		"http://:0 {\n\troot * "+caddytest.AcmeFolder(t)+"\n\tdocs acme {\n\t\turl https://docs.acme.test\n\t}\n\tfile_server\n}\n")
	s.Client.Transport = &http.Transport{DisableKeepAlives: true}
	caddytest.Until(t, "the index is ready", func() bool {
		return s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: narrowKey, Body: `{"query":"x"}`}).Status == 200
	})
	ids := regexp.MustCompile(`"requestId":"[^"]*"`)
	// what is all that the client gets of a response to a request for a site.
	what := func(q caddytest.Request, site string) string {
		q.Path = strings.ReplaceAll(q.Path, "SITE", site)
		r := s.Do(q)
		r.Header.Del("Date")
		return strings.ReplaceAll(fmt.Sprintf("%d %v %s", r.Status, r.Header, ids.ReplaceAll(r.Body, nil)), "/"+site, "/SITE")
	}
	for _, path := range []string{"/v1/search/SITE", "/v1/assistant/SITE/message", "/v2/assistant/SITE/message", "/v2/assistant/SITE/message/abc/stream", "/v1/assistant/SITE/message?chatId=abc"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions} {
			for _, origin := range []string{"", "https://docs.acme.test", "https://app.acme.test", "https://evil.test"} {
				for _, key := range []string{"-", "svc_dsc_0000000000000000000000"} {
					q := caddytest.Request{Method: method, Path: path, Key: key, Header: map[string]string{"Origin": origin}}
					if method == http.MethodPost {
						q.Body = `{"query":"install"}`
					}
					known, unknown := what(q, "acme"), what(q, "none")
					if known != unknown {
						t.Errorf("%s %s from %q with key %q: a site that exists\n%s\nanother\n%s", method, path, origin, key, known, unknown)
					}
					if method == http.MethodPost && !strings.Contains(path, "stream") && (!strings.HasPrefix(known, "401 ") || origin != "" && !strings.Contains(known, "Access-Control-Allow-Origin:["+origin+"]")) {
						t.Errorf("%s %s from %q: no 401 that its page can read: %s", method, path, origin, known)
					}
				}
			}
		}
	}
	r := s.Do(caddytest.Request{Path: "/v1/search/none", Key: narrowKey, Body: `{"query":"install"}`, Header: map[string]string{"Origin": "https://app.acme.test"}})
	if r.Status != 404 || r.Error(t).Code != "unknown_site" || r.Header.Get("Access-Control-Allow-Origin") != "https://app.acme.test" {
		t.Errorf("an unknown site, with a key: %d %v %s", r.Status, r.Header, r.Body)
	}
}

// A running server uses what another process changes in the storage.
func TestNewAndRevokedKeysTakeEffectWithoutAReload(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the keys to be looked at again, some seconds")
	}
	s := caddytest.StartAcme(t)
	ask := func(key string) int {
		return s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: key, Body: `{"query":"install"}`}).Status
	}
	create := func() (secret, id string, record []byte) {
		t.Helper()
		secret, made, err := access.Make(access.Key{Organization: "acme"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if record, err = access.Record(made); err != nil {
			t.Fatal(err)
		}
		return secret, made.ID, record
	}
	created, createdID, record := create()
	if got := ask(created); got != 401 {
		t.Fatalf("a key that is not stored: %d", got)
	}

	// Through the app a key takes effect at once.
	revoked, revokedID, other := create()
	if _, err := caddytest.App(t).Shared().Keys.Add(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if got := ask(revoked); got != 200 {
		t.Errorf("a key just created: %d", got)
	}

	// Another process changes the storage.
	storage := caddy.ActiveContext().Storage()
	if err := storage.Store(t.Context(), "docs/keys/"+createdID+".json", record); err != nil {
		t.Fatal(err)
	}
	if err := storage.Delete(t.Context(), "docs/keys/"+revokedID+".json"); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the new key works", func() bool { return ask(created) == 200 })
	caddytest.Until(t, "the revoked key is refused", func() bool { return ask(revoked) == 401 })

	if _, err := caddytest.App(t).Shared().Keys.Revoke(t.Context(), createdID); err != nil {
		t.Fatal(err)
	}
	if got := ask(created); got != 401 {
		t.Errorf("a key just revoked: %d", got)
	}
}

func TestKeysOfOthersAreRefused(t *testing.T) {
	s := caddytest.Start(t, fmt.Sprintf(`site acme {
	root %[1]s
	organization acme-inc
}
site blog {
	root %[1]s
	organization acme-inc
}
site other {
	root %[1]s
}
key svc_dsc_key_of_organization_acme {
	organization acme-inc
}
key svc_dsc_key_narrowed_to_the_blog {
	organization acme-inc
	sites blog
}
key svc_dsc_key_of_organization_other {
	organization other
}`, caddytest.AcmeFolder(t)), "http://:0 {\n\tsearch\n\tassistant\n}\n")
	for _, c := range []struct {
		key, site string
		status    int
	}{
		{"svc_dsc_key_of_organization_acme", "acme", 200},
		{"svc_dsc_key_of_organization_acme", "blog", 200},
		{"svc_dsc_key_of_organization_acme", "other", 403},
		{"svc_dsc_key_narrowed_to_the_blog", "blog", 200},
		{"svc_dsc_key_narrowed_to_the_blog", "acme", 403},
		{"svc_dsc_key_of_organization_other", "acme", 403},
	} {
		var r *caddytest.Response
		caddytest.Until(t, "the index is ready", func() bool {
			r = s.Do(caddytest.Request{Path: "/v1/search/" + c.site, Key: c.key, Body: `{"query":"install"}`})
			return r.Status != 503
		})
		if r.Status != c.status {
			t.Errorf("%s at %s: %d, want %d", c.key, c.site, r.Status, c.status)
		}
	}
}

// Whatever an operator leaves out by hand, nothing opens.
func TestHandlersWithoutAuthenticationStayClosed(t *testing.T) {
	s := caddytest.New(t)
	config := fmt.Sprintf(`{
	"admin": {"disabled": true, "config": {"persist": false}},
	"storage": {"module": "file_system", "root": %q},
	"apps": {
		"docs": {"data_dir": %q, "sites": {"acme": {"root": %q}}},
		"http": {"servers": {"srv0": {"listen": [":0"], "automatic_https": {"disable": true}, "routes": [
			{"match": [{"host": ["open.test"]}], "handle": [{"handler": "docs_api"}, {"handler": "docs_search", "anonymous": true}]},
			{"handle": [{"handler": "docs_search"}, {"handler": "docs_assistant"}]}
		]}}}
	}
}`, s.Dir+"/storage", s.Dir+"/data", caddytest.AcmeFolder(t))
	if err := s.TryLoadJSON([]byte(config)); err != nil {
		t.Fatal(err)
	}
	for _, q := range []caddytest.Request{{Path: caddytest.SearchPath, Body: `{"query":"x"}`}, {Path: caddytest.V2Path, Body: caddytest.Question("x", nil)}, {Path: caddytest.V1Path, Body: caddytest.V1Question("x", "")}} {
		// There is no docs_api in front: Caddy's own error pages answer.
		if r := s.Do(q); r.Status != 401 {
			t.Errorf("%s: %d %s", q.Path, r.Status, r.Body)
		}
	}
	var r *caddytest.Response
	caddytest.Until(t, "the index is ready", func() bool {
		r = s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: "-", Host: "open.test", Body: `{"query":"install"}`})
		return r.Status != 503
	})
	if r.Status != 200 {
		t.Errorf("anonymous, as the operator wrote: %d %s", r.Status, r.Body)
	}
}

// Responses state the limits, and browsers can read refused requests.
func TestLimits(t *testing.T) {
	s := caddytest.Start(t, "key "+caddytest.Key+" {\n\torigins https://app.acme.test\n}", "http://:0 {\n\tdocs acme "+caddytest.AcmeFolder(t)+" {\n\t\trate_limit organization 1000 1m\n\t\trate_limit ip 30 1m\n\t}\n}\n")
	s.Ready("acme")
	var limited *caddytest.Response
	left := -1
	for range 100 {
		r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install"}`, Header: map[string]string{"Origin": "https://app.acme.test"}})
		if r.Status == http.StatusTooManyRequests {
			limited = r
			break
		}
		if policy := r.Header.Get("RateLimit-Policy"); !strings.Contains(policy, "q=30") || !strings.Contains(policy, "w=60") {
			t.Fatalf("RateLimit-Policy is %q", policy)
		}
		var now, seconds int
		if _, err := fmt.Sscanf(r.Header.Get("RateLimit"), `"ip";r=%d;t=%d`, &now, &seconds); err != nil || seconds < 1 || seconds > 63 {
			t.Fatalf("RateLimit is %q: %v", r.Header.Get("RateLimit"), err)
		}
		if left >= 0 && now != left-1 {
			t.Fatalf("%d are left after %d", now, left)
		}
		left = now
	}
	if limited == nil {
		t.Fatal("100 requests passed a limit of 30")
	}
	e := limited.Error(t)
	if limited.Header.Get("Retry-After") == "" || e.Code != "rate_limited" || limited.Header.Get("Access-Control-Allow-Origin") == "" ||
		left != 0 || !strings.HasPrefix(limited.Header.Get("RateLimit"), `"ip";r=0;t=`) ||
		!strings.Contains(limited.Header.Get("Access-Control-Expose-Headers"), "RateLimit,") {
		t.Errorf("%+v %v", e, limited.Header)
	}
	// A reload keeps what was counted; another limit takes effect.
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install"}`}); r.Status != 429 {
		t.Errorf("before the reload: %d", r.Status)
	}
	root := caddytest.AcmeFolder(t)
	s.Load("", "http://:0 {\n\tdocs acme "+root+" {\n\t\trate_limit organization 1000 1m\n\t\trate_limit ip 30 1m\n\t}\n}\n")
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install"}`}); r.Status != 429 {
		t.Errorf("after a reload: %d", r.Status)
	}
	s.Load("", "http://:0 {\n\tdocs acme "+root+" {\n\t\trate_limit off\n\t}\n}\n")
	s.Ready("acme")
}

// With errors pass, an error reaches the site's own pages, and the key reaches
// no log, in whichever header it was sent.
func TestErrorsThatArePassedLogNoKey(t *testing.T) {
	const secret = "svc_dsc_very_secret_key_0123456789"
	docs := "key " + secret + "\nindex meilisearch http://127.0.0.1:9" // its searches fail
	site := "docs acme " + caddytest.AcmeFolder(t) + " {\n\terrors pass\n}\n"
	for name, c := range map[string]struct{ handleErrors, unauthorized, failed string }{
		"without handle_errors":             {"", `{"error":"this needs a valid API key`, `{"error":"search is unavailable`},
		"with handle_errors":                {"handle_errors {\n\trespond \"own {err.status_code} at {http.request.uri.path}\"\n}\n", "own 401 at /api/v1/search/acme", "own 503 at /api/v1/search/acme"},
		"with handle_errors for other ones": {"handle_errors 404 {\n\trespond other\n}\n", "", ""},
		"with handle_errors that fails":     {"handle_errors {\n\terror 500\n}\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.Start(t, docs, "http://:0 {\nhandle_path /api/* {\n"+site+"}\n"+c.handleErrors+"}\n")
			ask := func(key string) *caddytest.Response {
				return s.Do(caddytest.Request{Path: "/api" + caddytest.SearchPath, Key: "-", Body: `{"query":"install"}`, Header: map[string]string{"X-API-Key": key}})
			}
			if r := ask(secret[:len(secret)-1]); r.Status != 401 || !strings.HasPrefix(string(r.Body), c.unauthorized) {
				t.Errorf("a wrong key: %d %s", r.Status, r.Body)
			}
			caddytest.Until(t, "the index is ready", func() bool {
				return !strings.Contains(string(ask(secret).Body), "index_not_ready")
			})
			if r := ask(secret); r.Status != 503 || !strings.HasPrefix(string(r.Body), c.failed) {
				t.Errorf("a search that fails: %d %s", r.Status, r.Body)
			}
			log := s.Log()
			for line := range strings.Lines(log) {
				// With the level DEBUG, Caddy logs the request that handle_path changes.
				if strings.Contains(line, secret[:len(secret)-1]) && !strings.Contains(line, `"logger":"http.handlers.rewrite"`) {
					t.Errorf("the log holds the key: %s", line)
				}
			}
			if !strings.Contains(log, `"msg":"request failed","status":503`) {
				t.Errorf("the failure is not in the log:\n%s", log)
			}
		})
	}
}

// Neither the log nor the adapted configuration holds a key.
func TestKeysAreNeitherLoggedNorInTheConfig(t *testing.T) {
	const secret = "svc_dsc_very_secret_key_0123456789"
	dir := t.TempDir()
	site := "http://:0 {\n\tlog\n\tdocs acme " + caddytest.AcmeFolder(t) + "\n}\n"
	cfg, err := caddytest.Adapt(caddytest.Global(dir, "key "+secret) + site)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(cfg), secret) {
		t.Errorf("the adapted configuration holds the key")
	}
	s := caddytest.StartIn(t, dir, "key "+secret, site)
	caddytest.Until(t, "the index is ready", func() bool {
		return s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: secret, Body: `{"query":"install"}`}).Status == 200
	})
	s.Do(caddytest.Request{Path: caddytest.V2Path, Key: secret, Body: caddytest.Question("install", map[string]any{"fp": "a reader's own name"})})
	s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: secret, Body: `{"query":""}`})
	caddytest.Until(t, "the reply is logged", func() bool { return strings.Contains(s.Log(), `"outcome":"extractive"`) })
	if log := s.Log(); strings.Contains(log, secret) || strings.Contains(log, "a reader's own name") {
		t.Errorf("the log holds a key or a fingerprint")
	}
}

func TestAnOrganizationOverItsLimitReadsThatNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := caddytest.Start(t, "", caddytest.Site(caddytest.AcmeFolder(t), "rate_limit organization 2 1h\nrate_limit ip 9 1h"))
	var r *caddytest.Response
	caddytest.Until(t, "the organization is over its limit", func() bool {
		r = s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"install"}`})
		return r.Status == http.StatusTooManyRequests
	})
	if want := `"organization";r=0;t=` + r.Header.Get("Retry-After"); !slices.Contains(r.Header.Values("RateLimit"), want) {
		t.Errorf("RateLimit is %q instead of %q", r.Header.Get("RateLimit"), want)
	}
}
