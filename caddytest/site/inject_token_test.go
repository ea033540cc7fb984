package site

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/caddytest"
)

const searchAcme = "/v1/search/acme"

// startTwoSites are two sites on one host, one of them with a key for another origin.
func startTwoSites(t *testing.T) *caddytest.Server {
	t.Helper()
	folder := caddytest.Folder(t, map[string]string{"index.md": "# Home\n\nThe widget of the front page.\n"})
	s := caddytest.Start(t, "key svc_dsc_0123456789abcdef {\norganization acme\norigins https://app.example\n}\nkey "+caddytest.Key+" {\norganization acme\norigins https://none.example\n}",
		"http://:0 {\n\troot "+folder+"\n\tdocs acme\n\tdocs beta {\n\t\torganization acme\n\t}\n\tfile_server\n}\n")
	caddytest.Until(t, "the site is ready", func() bool {
		r := s.Do(caddytest.Request{Path: searchAcme, Body: `{"query":"widget"}`, Header: map[string]string{"Origin": s.Base}})
		return r.Status == 200
	})
	return s
}

// requestToken asks for a token, with headers.
func requestToken(t *testing.T, s *caddytest.Server, site, origin string) (string, *caddytest.Response) {
	t.Helper()
	r := s.Do(caddytest.Request{Path: "/v1/token/" + site, Key: "-", Header: map[string]string{"Origin": origin}})
	var body struct {
		Token     string
		ExpiresIn int
	}
	if r.Status == 200 {
		if err := json.Unmarshal(r.Body, &body); err != nil || body.ExpiresIn != 900 || !strings.HasPrefix(body.Token, "svc_dsc_") {
			t.Errorf("token %s: %v", r.Body, err)
		}
	}
	return body.Token, r
}

func TestATokenOpensTheSiteForPagesThatAskedForIt(t *testing.T) {
	s := startTwoSites(t)
	for _, origin := range []string{s.Base, "https://app.example"} {
		tok, r := requestToken(t, s, "acme", origin)
		if r.Status != 200 || r.Header.Get("Access-Control-Allow-Origin") != origin || r.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s: %d %v %s", origin, r.Status, r.Header, r.Body)
		}
		found := s.Do(caddytest.Request{Path: searchAcme, Key: tok, Body: `{"query":"widget"}`, Header: map[string]string{"Origin": origin}})
		if found.Status != 200 || !strings.Contains(string(found.Body), "front page") || found.Header.Get("Access-Control-Allow-Origin") != origin {
			t.Errorf("%s: %d %v %s", origin, found.Status, found.Header, found.Body)
		}
		asked := s.Do(caddytest.Request{Path: "/v2/assistant/acme/message", Key: tok, Body: caddytest.Question("What is the widget?", nil), Header: map[string]string{"Origin": origin}})
		if asked.Status != 200 || !strings.Contains(string(asked.Body), `"finish"`) {
			t.Errorf("%s: asking: %d %s", origin, asked.Status, asked.Body)
		}
	}
	for origin, code := range map[string]string{"https://evil.example": "origin_not_allowed", "": "origin_missing", "null": "origin_missing"} {
		if _, r := requestToken(t, s, "acme", origin); r.Status != 403 || r.Error(t).Code != code {
			t.Errorf("origin %q: %d %s", origin, r.Status, r.Body)
		}
	}
	if _, r := requestToken(t, s, "nowhere", s.Base); r.Status != 404 {
		t.Errorf("an unknown site: %d", r.Status)
	}
}

// storageFolder is the storage of a server, as access reads it.
type storageFolder string

func (f storageFolder) Get(_ context.Context, key string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(f), key))
}

func (f storageFolder) Put(context.Context, string, []byte) error { return os.ErrPermission }

func (f storageFolder) Delete(context.Context, string) error { return os.ErrPermission }

func (f storageFolder) List(_ context.Context, prefix string) (keys []string, err error) {
	entries, err := os.ReadDir(filepath.Join(string(f), prefix))
	for _, e := range entries {
		keys = append(keys, prefix+"/"+e.Name())
	}
	return keys, err
}

func TestAStolenTokenIsWorthNothing(t *testing.T) {
	s := startTwoSites(t)
	tok, _ := requestToken(t, s, "acme", s.Base)
	text, signature, _ := strings.Cut(tok, ".")
	// The server's secret signs what it issued 16 minutes ago.
	expired := access.NewTokens(storageFolder(filepath.Join(s.Dir, "storage")), slog.New(slog.DiscardHandler)).
		Issue(t.Context(), access.Token{Site: "acme", Origin: s.Base, Address: "127.0.0.1"}, time.Now().Add(-16*time.Minute))
	for name, c := range map[string]struct {
		path, token, origin, code string
	}{
		"on another origin":       {searchAcme, tok, "https://evil.example", "token_origin"},
		"on another of the site":  {searchAcme, tok, "https://app.example", "token_origin"},
		"without an origin":       {searchAcme, tok, "", "token_origin"},
		"for another site":        {"/v1/search/beta", tok, s.Base, "token_site"},
		"for a site that is none": {"/v1/search/nowhere", tok, s.Base, "token_site"},
		"expired":                 {searchAcme, expired, s.Base, "token_expired"},
		"tampered":                {searchAcme, text + "x." + signature, s.Base, "token_invalid"},
		"without its signature":   {searchAcme, text + ".", s.Base, "token_invalid"},
		"asked in the assistant":  {"/v2/assistant/beta/message", tok, s.Base, "token_site"},
	} {
		r := s.Do(caddytest.Request{Path: c.path, Key: c.token, Body: `{"query":"widget"}`, Header: map[string]string{"Origin": c.origin}})
		if r.Status != 401 || r.Error(t).Code != c.code || r.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
		if strings.Contains(string(r.Body), "widget") {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	if log := s.Log(); strings.Contains(log, tok) {
		t.Error("the token is in the log")
	}
}

// startProxied is a site whose clients say their address in X-Forwarded-For, as
// behind a proxy. Limits are counted for as long as the process lives, so tests
// of them use separate addresses and organizations.
func startProxied(t *testing.T, organization, words string) (s *caddytest.Server, from func(address string) map[string]string) {
	t.Helper()
	folder := caddytest.Folder(t, map[string]string{"index.md": "# Home\n\nThe widget of the front page.\n"})
	s = caddytest.New(t)
	if err := s.TryLoad(strings.Replace(caddytest.Global(s.Dir, "key "+caddytest.Key+" {\norganization "+organization+"\n}"), "admin off", "admin off\n\tservers {\n\t\ttrusted_proxies static 127.0.0.1 ::1\n\t}", 1) +
		"http://:0 {\n\tlog\n\troot " + folder + "\n\tdocs acme {\n\t\torganization " + organization + "\n" + words + "\n\t}\n\tfile_server\n}\n"); err != nil {
		t.Fatal(err)
	}
	return s, func(address string) map[string]string {
		return map[string]string{"Origin": s.Base, "X-Forwarded-For": address}
	}
}

// someAddress is one that no other test has.
func someAddress() string {
	return fmt.Sprintf("10.%d.%d.%d", rand.N(256), rand.N(256), 1+rand.N(254))
}

func tokenFrom(t *testing.T, s *caddytest.Server, header map[string]string) string {
	t.Helper()
	r := s.Do(caddytest.Request{Path: "/v1/token/acme", Key: "-", Header: header})
	var body struct{ Token string }
	if err := json.Unmarshal(r.Body, &body); err != nil || body.Token == "" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	return body.Token
}

func TestATokenIsForOneNetwork(t *testing.T) {
	s, from := startProxied(t, "acme", "")
	s.Ready("acme")
	tok := tokenFrom(t, s, from("203.0.113.9"))
	for address, code := range map[string]string{"203.0.113.200": "", "203.0.114.9": "token_network", "2001:db8::1": "token_network"} {
		r := s.Do(caddytest.Request{Path: searchAcme, Key: tok, Body: `{"query":"widget"}`, Header: from(address)})
		if code == "" && r.Status != 200 || code != "" && (r.Status != 401 || r.Error(t).Code != code) {
			t.Errorf("from %s: %d %s", address, r.Status, r.Body)
		}
	}
}

// The widget has a separate share: programs with a key don't close it, and it
// doesn't close them. In the access log a token's user is the widget.
func TestATokenSpendsTheWidgetsShareOfTheLimit(t *testing.T) {
	s, from := startProxied(t, strings.ToLower(crand.Text()), "rate_limit organization 200 1h\nrate_limit ip 1000 1h")
	header := from(someAddress())
	tok := tokenFrom(t, s, header)
	search := func(key string) *caddytest.Response {
		return s.Do(caddytest.Request{Path: searchAcme, Key: key, Body: `{"query":"install"}`, Header: header})
	}
	passed := 0
	caddytest.Until(t, "the token has spent the limit", func() bool {
		for range 300 {
			if r := search(tok); r.Status == http.StatusTooManyRequests {
				return r.Error(t).Code == "rate_limited" && r.Header.Get("Retry-After") != ""
			}
			passed++
		}
		return false
	})
	if passed != 200 {
		t.Errorf("%d requests were let through", passed)
	}
	if r := search(caddytest.Key); r.Status != http.StatusOK {
		t.Errorf("a key of the organization: %d", r.Status)
	}
	caddytest.Until(t, "the access log names the user", func() bool { return strings.Contains(s.Log(), `"user_id":"widget"`) })
}

func TestTokensFeedbackAndEventsAreLimitedByAddress(t *testing.T) {
	s, from := startProxied(t, "acme", "")
	header := from(someAddress())
	for path, limit := range map[string]int{"/v1/token/acme": 600, "/v1/feedback/acme": 60, "/v1/events/acme": 120} {
		passed := 0
		var r *caddytest.Response
		caddytest.Until(t, path+" is limited", func() bool {
			for range limit {
				// Bad ones count, too.
				if r = s.Do(caddytest.Request{Path: path, Body: `{}`, Header: header}); r.Status == http.StatusTooManyRequests {
					return true
				}
				passed++
			}
			return false
		})
		if passed < limit || r.Error(t).Code != "rate_limited" || r.Header.Get("Retry-After") == "" || r.Header.Get("Access-Control-Allow-Origin") != s.Base {
			t.Errorf("%s: after %d requests %v %s", path, passed, r.Header, r.Body)
		}
	}
	header = from(someAddress())
	tokenFrom(t, s, header) // another client
}

func TestWidgetOffIssuesNoTokens(t *testing.T) {
	s := caddytest.Start(t, "", "http://:0 {\n\troot "+caddytest.Folder(t, map[string]string{"index.html": "<title>x</title>"})+"\n\tdocs acme {\n\t\twidget off\n\t}\n\tfile_server\n}\n")
	s.Ready("acme")
	for _, path := range []string{"/v1/token/acme", "/v1/widget/acme.js"} {
		for _, method := range []string{"POST", "GET"} {
			if r := s.Do(caddytest.Request{Method: method, Path: path, Header: map[string]string{"Origin": s.Base}}); r.Status != 404 && r.Status != 405 {
				t.Errorf("%s %s: %d", method, path, r.Status)
			}
		}
	}
}
