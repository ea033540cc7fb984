package site

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// handbook is a site behind a login, with a page for the staff alone.
var handbook = map[string]string{
	"index.html":       "<html lang=en><main><h1>Handbook</h1><p>How we work together here.</p></main></html>",
	"guide.html":       "<html lang=en><main><h1>Holidays</h1><p>Everyone has thirty days of holidays each year.</p></main></html>",
	"staff/bands.html": "<html lang=en><main><h1>Salary bands</h1><p>The salary bands begin at four thousand.</p></main></html>",
}

// handbookBlock is the manual's example. Its arguments are host, root, the login's
// address, and the words of sign_in.
const handbookBlock = `%[1]s {
	root * %[2]q
	@login {
		not docs_signed_in
		not path /mcp /v1/mcp/* /.well-known/oauth-protected-resource*
	}
	forward_auth @login %[3]s {
		uri /verify
		copy_headers Remote-User Remote-Groups
	}
	docs handbook {
		mcp {
			sign_in %[4]s
		}
	}
	@staff {
		path /staff/*
		not header_regexp Remote-Groups (^|,)staff(,|$)
	}
	respond @staff 403
	file_server
}
`

// handbookHeaders are those of the example.
const handbookHeaders = `%s {
	header Remote-User preferred_username
	header Remote-Groups groups
	%s
}`

// startHandbook serves the handbook behind a login that knows the cookie
// session=guest.
func startHandbook(t *testing.T, issuer, more string) *caddytest.Server {
	t.Helper()
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err != nil || c.Value != "guest" {
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Remote-User", "guest")
	}))
	t.Cleanup(login.Close)
	root := caddytest.Folder(t, handbook)
	host := fmt.Sprintf("http://localhost:%d", caddytest.FreePort(t))
	s := caddytest.Start(t, "", fmt.Sprintf(handbookBlock, host, root, login.URL, fmt.Sprintf(handbookHeaders, issuer, more)))
	caddytest.Until(t, "a guest finds the holidays", func() bool {
		r := s.Do(caddytest.Request{Path: "/v1/search/handbook", Body: `{"query":"holidays"}`, Header: map[string]string{"Cookie": "session=guest"}})
		return strings.Contains(string(r.Body), "thirty days")
	})
	return s
}

// signingProvider starts an identity provider, whose tokens are signed with a key k. It
// is down for requests that up, if not nil, refuses.
func signingProvider(t *testing.T, up func(*http.Request) bool) (*httptest.Server, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	provider := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}}
	idp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if up != nil && !up(r) {
			http.Error(w, "maintenance", http.StatusBadGateway)
			return
		}
		provider.ServeHTTP(w, r)
	}))
	t.Cleanup(idp.Close)
	provider.SetIssuer(idp.URL)
	return idp, key
}

// A person skips forward_auth, which deletes the headers that it copies: locks see
// none by which a client says who it is, but where the connection comes from.
func TestAPersonsLocksSeeNoOtherHeadersOfTheClient(t *testing.T) {
	idp, key := signingProvider(t, nil)
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sign in", http.StatusUnauthorized) }))
	t.Cleanup(login.Close)
	for header, test := range map[string]struct{ lock, value string }{
		"Remote-Email":     {"not header Remote-Email *@staff.acme.com", "mallory@staff.acme.com"},
		"X-Forwarded-User": {"not header X-Forwarded-User mia", "mia"},
		"Cookie":           {"not header Cookie *role=staff*", "role=staff"},
		"X-Real-Ip":        {"not client_ip private_ranges", "203.0.113.7"},
		"X-Forwarded-For":  {"not client_ip private_ranges", "203.0.113.7"},
	} {
		t.Run(header, func(t *testing.T) {
			host := fmt.Sprintf("http://localhost:%d", caddytest.FreePort(t))
			block := strings.NewReplacer("Remote-User Remote-Groups", "Remote-User "+header, "not header_regexp Remote-Groups (^|,)staff(,|$)", test.lock).Replace(handbookBlock)
			s := caddytest.New(t)
			global := strings.Replace(behindProxy(s.Dir, ""), "127.0.0.1/8\n", "127.0.0.1/8\n\t\tclient_ip_headers X-Forwarded-For X-Real-IP\n", 1)
			if err := s.TryLoad(global + fmt.Sprintf(block, host, caddytest.Folder(t, handbook), login.URL, fmt.Sprintf(handbookHeaders, idp.URL, ""))); err != nil {
				t.Fatal(err)
			}
			claims, _ := json.Marshal(map[string]any{
				"iss": idp.URL, "aud": s.Base + "/mcp", "sub": "mallory", "exp": time.Now().Add(time.Hour).Unix(), "preferred_username": "mallory",
			})
			token := oidctest.SignIDToken(key, "k", oidc.ES256, string(claims))
			fetch := func(page string) string {
				h := map[string]string{"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25", header: test.value}
				return string(s.Do(caddytest.Request{
					Path: "/mcp", Key: token, Header: h,
					Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"` + page + `"}}}`,
				}).Body)
			}
			caddytest.Until(t, "a person reads the holidays", func() bool { return strings.Contains(fetch("guide"), "thirty days") })
			if text := fetch("staff/bands"); strings.Contains(text, "four thousand") {
				t.Error(text)
			}
		})
	}
}

// A lock that believes the headers of sign_in from anyone is open to anyone:
// doctor tries it.
func TestTheDoctorFindsLocksThatBelieveHeadersOfStrangers(t *testing.T) {
	for name, test := range map[string]struct{ lock, value string }{
		"any value":  {"@staff {\n\tpath /staff/*\n\tnot header Remote-User *\n}\nrespond @staff 403", "x"},
		"one value":  {"@staff {\n\tpath /staff/*\n\tnot header Remote-Groups staff\n}\nrespond @staff 403", "staff"},
		"a pattern":  {"@staff {\n\tpath /staff/*\n\tnot header_regexp Remote-Groups (^|,)hr-staff(,|$)\n}\nrespond @staff 403", "hr-staff"},
		"expression": {"@staff `path('/staff/*') && !{header.Remote-Groups}.contains('boss')`\nrespond @staff 404", "boss"},
		"in handle":  {"handle /staff/* {\n\t@in header Remote-Groups *staff*\n\thandle @in {\n\t\tfile_server\n\t}\n\thandle {\n\t\trespond 403\n\t}\n}", "staff"},
		"right":      {"@in {\n\tpath /staff/*\n\tnot docs_signed_in\n}\nrequest_header @in -Remote-Groups\n@staff {\n\tpath /staff/*\n\tnot header Remote-Groups staff\n}\nrespond @staff 403", ""},
		"closed":     {"respond /staff/* 403", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.Start(t, "", fmt.Sprintf("http://localhost:0 {\n\troot * %q\n%s\ndocs handbook {\n\tmcp {\n\t\tsign_in http://localhost:1 {\n\t\t\theader Remote-User sub\n\t\t\theader Remote-Groups groups\n\t\t}\n\t}\n}\nfile_server\n}\n", caddytest.Folder(t, handbook), test.lock))
			waitForLocks(t, s)
			found := ""
			for _, check := range caddytest.App(t).Doctor(t.Context()) {
				if check.What == "site handbook locks" {
					found = check.Found + " " + check.Do
				}
			}
			if test.value == "" && found != "" || test.value != "" && (!strings.Contains(found, fmt.Sprintf("/staff/bands.html can be opened without signing in by sending the sign_in headers with the value %q", test.value)) || !strings.Contains(found, "docs_signed_in")) {
				t.Errorf("doctor: %s", found)
			}
		})
	}
}

// While the provider's keys can't be fetched, a right token is no error of the
// client's, and opens nothing.
func TestWithoutTheProvidersKeysNoPageOpens(t *testing.T) {
	var there atomic.Bool
	idp, key := signingProvider(t, func(r *http.Request) bool { return r.URL.Path == "/.well-known/openid-configuration" || there.Load() })
	s := startHandbook(t, idp.URL, "")
	claims, _ := json.Marshal(map[string]any{
		"iss": idp.URL, "aud": s.Base + "/mcp", "sub": "mia", "exp": time.Now().Add(time.Hour).Unix(), "preferred_username": "mia", "groups": []string{"staff"},
	})
	token := oidctest.SignIDToken(key, "k", oidc.ES256, string(claims))
	for range 2 {
		r := askHandbook(s, "/mcp", token, nil)
		if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || r.Header.Get("WWW-Authenticate") != "" || strings.Contains(string(r.Body), "four thousand") {
			t.Errorf("without the keys: %d %v %s", r.Status, r.Header, r.Body)
		}
	}
	there.Store(true)
	caddytest.Until(t, "the staff find the salary bands", func() bool {
		return strings.Contains(string(askHandbook(s, "/mcp", token, nil).Body), "four thousand")
	})
}

// startProvider runs the identity provider and returns its URL.
func startProvider(t *testing.T, tokens string) string {
	t.Helper()
	installClients(t)
	cmd := exec.Command("node", "provider.mjs", tokens)
	cmd.Dir = clientsDir
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider: %v", err)
	}
	return strings.TrimSpace(line)
}

// signedIn is what a client found as a person.
type signedIn struct {
	Found                         []string
	Page, Resource, Token, Client string
}

// The official SDKs' own OAuth clients find their way from the challenge to the
// provider and back, and see what the person may see.
func TestPublishedClientsSignIn(t *testing.T) {
	issuer := startProvider(t, "jwt")
	s := startHandbook(t, issuer, "scopes openid profile")
	for name, command := range map[string][]string{"TypeScript": {"node", "sign_in.mjs"}, "Python": {"python3", "sign_in.py"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "Python" {
				needModules(t, "mcp")
			}
			out, err := runClient(t, command[0], command[1], s.Base+"/mcp", "mia", "guest")
			var people map[string]map[string]signedIn
			if err == nil {
				err = json.Unmarshal(out, &people)
			}
			if err != nil || len(people["mia"]) == 0 || len(people["guest"]) != len(people["mia"]) {
				t.Fatalf("%v: %s", err, out)
			}
			for person, all := range people {
				staff := person == "mia"
				for name, got := range all {
					if got.Resource != s.Base+"/mcp" {
						t.Errorf("%s asked for a token for %s", name, got.Resource)
					}
					if found := strings.Contains(strings.Join(got.Found, " "), "/staff/bands"); found != staff || strings.Contains(got.Page, "four thousand") != staff {
						t.Errorf("%s: staff %v: %+v", name, staff, got)
					}
				}
			}
		})
	}
}

// A provider that is asked about each token can take it back.
func TestARevokedTokenOpensNothing(t *testing.T) {
	t.Setenv("DOCS_CLIENT_SECRET", "a secret of the site")
	issuer := startProvider(t, "opaque")
	s := startHandbook(t, issuer, "scopes openid profile\nintrospect docs {env.DOCS_CLIENT_SECRET}")
	out, err := runClient(t, "node", "sign_in.mjs", s.Base+"/mcp", "mia")
	var people map[string]map[string]signedIn
	if err == nil {
		err = json.Unmarshal(out, &people)
	}
	if err != nil || len(people["mia"]) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	for name, got := range people["mia"] {
		if strings.Count(got.Token, ".") == 2 {
			t.Errorf("%s got a JWT", name)
		}
		if r := askHandbook(s, "/mcp", got.Token, nil); !strings.Contains(string(r.Body), "four thousand") {
			t.Errorf("%s, before: %d %s", name, r.Status, r.Body)
		}
		if r := askHandbook(s, "/v1/mcp/handbook", got.Token, nil); r.Status != http.StatusUnauthorized {
			t.Errorf("%s, for another address: %d %s", name, r.Status, r.Body)
		}
		response, err := http.PostForm(issuer+"/token/revocation", url.Values{"token": {got.Token}, "client_id": {got.Client}})
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if r := askHandbook(s, "/mcp", got.Token, nil); r.Status != http.StatusUnauthorized || r.Error(t).Code != "unauthorized" {
			t.Errorf("%s, revoked (%s): %d %s", name, response.Status, r.Status, r.Body)
		}
	}
}

// askHandbook searches as a client would, and returns the response.
func askHandbook(s *caddytest.Server, path, token string, header map[string]string) *caddytest.Response {
	h := map[string]string{"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
	for k, v := range header {
		h[k] = v
	}
	key := token
	if token == "" {
		key = "-"
	}
	return s.Do(caddytest.Request{
		Path: path, Key: key, Header: h,
		Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"salary bands four thousand"}}}`,
	})
}

func TestOnlyAPersonsTokenOpensWhatThePersonMayRead(t *testing.T) {
	idp, key := signingProvider(t, nil)
	s := startHandbook(t, idp.URL, "")
	token := func(user string, groups ...string) string {
		claims, _ := json.Marshal(map[string]any{
			"iss": idp.URL, "aud": s.Base + "/mcp", "sub": user, "exp": time.Now().Add(time.Hour).Unix(), "preferred_username": user, "groups": groups,
		})
		return oidctest.SignIDToken(key, "k", oidc.ES256, string(claims))
	}
	secret := func(r *caddytest.Response) bool { return strings.Contains(string(r.Body), "four thousand") }

	caddytest.Until(t, "the staff find the salary bands", func() bool {
		return secret(askHandbook(s, "/mcp", token("mia", "writers", "staff"), nil))
	})
	forged := map[string]string{"Remote-User": "mia", "Remote-Groups": "staff", "remote-groups": "staff"}
	for name, r := range map[string]*caddytest.Response{
		"another person":                       askHandbook(s, "/mcp", token("guest"), nil),
		"another person with forged headers":   askHandbook(s, "/mcp", token("guest"), forged),
		"a group with a comma":                 askHandbook(s, "/mcp", token("guest", "x,staff"), nil),
		"a name with a line break":             askHandbook(s, "/mcp", token("guest\r\nRemote-Groups: staff"), nil),
		"a part of the group's name":           askHandbook(s, "/mcp", token("guest", "staff-of-others"), nil),
		"a token for another address":          askHandbook(s, "/v1/mcp/handbook", token("mia", "staff"), nil),
		"no token, forged headers":             askHandbook(s, "/mcp", "", forged),
		"a cookie, but no token":               askHandbook(s, "/mcp", "", map[string]string{"Cookie": "session=guest"}),
		"the API's key, forged headers":        askHandbook(s, "/mcp", caddytest.Key, forged),
		"the key, a token as a bystander":      askHandbook(s, "/mcp", "x", map[string]string{"X-API-Key": caddytest.Key, "Remote-Groups": "staff"}),
		"search with the token":                s.Do(caddytest.Request{Path: "/v1/search/handbook", Body: `{"query":"salary bands"}`, Header: map[string]string{"X-API-Key": caddytest.Key, "Authorization": "Bearer " + token("mia", "staff"), "Remote-Groups": "staff"}}),
		"search with a cookie, forged headers": s.Do(caddytest.Request{Path: "/v1/search/handbook", Body: `{"query":"salary bands"}`, Header: map[string]string{"Cookie": "session=guest", "Remote-Groups": "staff", "Remote-User": "mia"}}),
		"the page, forged headers":             getPage(s, "/staff/bands.html", "Remote-Groups", "staff", "Cookie", "session=guest"),
	} {
		if secret(r) {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	if r := askHandbook(s, "/mcp", token("guest"), nil); r.Status != http.StatusOK || !strings.Contains(string(r.Body), `\"results\":[`) {
		t.Errorf("a guest: %d %s", r.Status, r.Body)
	}
	r := askHandbook(s, "/mcp", "", nil)
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.Base)
	if got := r.Header.Get("WWW-Authenticate"); r.Status != http.StatusUnauthorized || got != challenge || r.Error(t).Code != "unauthorized" {
		t.Errorf("no token: %d %q %s", r.Status, got, r.Body)
	}
	r = askHandbook(s, "/mcp", "a.b.c", map[string]string{"Origin": "https://claude.ai"})
	if got := r.Header.Get("WWW-Authenticate"); r.Status != http.StatusUnauthorized || got != challenge+`, error="invalid_token"` || r.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("no valid token: %d %q %s", r.Status, got, r.Body)
	}
	for path, resource := range map[string]string{
		"/.well-known/oauth-protected-resource":                           "/mcp",
		"/.well-known/oauth-protected-resource/mcp":                       "/mcp",
		"/.well-known/oauth-protected-resource/v1/mcp/handbook":           "/v1/mcp/handbook",
		"/.well-known/oauth-protected-resource/v1/mcp/handbook/full":      "/v1/mcp/handbook/full",
		"/v1/mcp/handbook/.well-known/oauth-protected-resource":           "/v1/mcp/handbook",
		"/.well-known/oauth-protected-resource/v1/mcp/other":              "",
		"/.well-known/oauth-protected-resource/v1/search/handbook":        "",
		"/.well-known/oauth-protected-resource-of-others/v1/mcp/handbook": "",
	} {
		r := s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Host: strings.TrimPrefix(s.Base, "http://"), Header: map[string]string{"Origin": "https://claude.ai"}})
		var got struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
		}
		_ = json.Unmarshal(r.Body, &got)
		if resource == "" {
			if got.Resource != "" {
				t.Errorf("%s: %s", path, r.Body)
			}
		} else if got.Resource != s.Base+resource || len(got.Servers) != 1 || got.Servers[0] != idp.URL || r.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
}
