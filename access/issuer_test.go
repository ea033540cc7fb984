package access

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

const audience = "https://docs.acme.com/mcp"

// startIssuer runs a provider whose key it returns.
func startIssuer(t *testing.T) (i *Issuer, key *ecdsa.PrivateKey) {
	t.Helper()
	key = newKey(t)
	s := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.SetIssuer(server.URL)
	return &Issuer{URL: server.URL}, key
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(v any) string {
	b, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(b)
}

// signAs signs claims with a header of any type.
func signAs(t *testing.T, key crypto.Signer, header, claims map[string]any) string {
	t.Helper()
	text := encode(header) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key.(*ecdsa.PrivateKey), sum[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestATokenProvesAPersonOnlyWhereAndWhileItIsMeantTo(t *testing.T) {
	i, key := startIssuer(t)
	with := func(changes map[string]any) map[string]any {
		claims := map[string]any{"iss": i.URL, "aud": audience, "sub": "mia", "exp": time.Now().Add(time.Minute).Unix()}
		maps.Copy(claims, changes)
		maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
		return claims
	}
	es256 := map[string]any{"alg": "ES256", "kid": "k"}
	typed := func(kind string) map[string]any { return map[string]any{"alg": "ES256", "kid": "k", "typ": kind} }
	good := signAs(t, key, es256, with(nil))

	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	hs256 := encode(map[string]any{"alg": "HS256", "kid": "k"}) + "." + encode(with(nil))
	mac := hmac.New(sha256.New, public)
	mac.Write([]byte(hs256))

	for name, token := range map[string]string{
		"a token":             good,
		"of two audiences":    signAs(t, key, es256, with(map[string]any{"aud": []string{"https://api.acme.com", audience}})),
		"an RFC 9068 token":   signAs(t, key, typed("at+jwt"), with(nil)),
		"the same, in full":   signAs(t, key, typed("application/at+jwt"), with(nil)),
		"a JWT that says so":  signAs(t, key, typed("JWT"), with(nil)),
		"a clock that's late": signAs(t, key, es256, with(map[string]any{"nbf": time.Now().Add(time.Minute).Unix()})),
	} {
		if claims, err := i.Claims(t.Context(), token, audience); err != nil || claims["sub"] != "mia" {
			t.Errorf("%s: %v %v", name, claims, err)
		}
	}
	for name, token := range map[string]string{
		"":                        "",
		"no JWT":                  "0123456789abcdef",
		"too long":                good + strings.Repeat("A", maxAccessToken),
		"another site":            signAs(t, key, es256, with(map[string]any{"aud": "https://docs.other.com/mcp"})),
		"below this site":         signAs(t, key, es256, with(map[string]any{"aud": audience + "/full"})),
		"the host alone":          signAs(t, key, es256, with(map[string]any{"aud": "https://docs.acme.com"})),
		"no audience":             signAs(t, key, es256, with(map[string]any{"aud": nil})),
		"another issuer":          signAs(t, key, es256, with(map[string]any{"iss": "https://id.other.com"})),
		"no issuer":               signAs(t, key, es256, with(map[string]any{"iss": nil})),
		"expired":                 signAs(t, key, es256, with(map[string]any{"exp": time.Now().Add(-time.Second).Unix()})),
		"valid forever":           signAs(t, key, es256, with(map[string]any{"exp": nil})),
		"not yet":                 signAs(t, key, es256, with(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})),
		"another key":             signAs(t, newKey(t), es256, with(nil)),
		"an unknown key":          signAs(t, key, map[string]any{"alg": "ES256", "kid": "other"}, with(nil)),
		"changed":                 strings.Replace(good, ".", "."+encode(with(map[string]any{"sub": "dana"})), 1),
		"no signature":            good[:strings.LastIndex(good, ".")+1],
		"alg none":                encode(map[string]any{"alg": "none"}) + "." + encode(with(nil)) + ".",
		"alg NoNe":                encode(map[string]any{"alg": "NoNe", "kid": "k"}) + "." + encode(with(nil)) + ".",
		"the public key's HS256":  hs256 + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
		"bound to a client's key": signAs(t, key, es256, with(map[string]any{"cnf": map[string]any{"jkt": "x"}})),
		"a logout token":          signAs(t, key, typed("logout+jwt"), with(nil)),
		"a DPoP proof":            signAs(t, key, typed("dpop+jwt"), with(nil)),
		"Keycloak's ID token":     signAs(t, key, typed("JWT"), with(map[string]any{"typ": "ID"})),
	} {
		if claims, err := i.Claims(t.Context(), token, audience); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v %v", name, claims, err)
		}
	}
}

// introspector is a provider that is asked about tokens.
func introspector(t *testing.T, answer func(token string) map[string]any) *Issuer {
	t.Helper()
	i := &Issuer{ClientID: "do:cs", ClientSecret: "s p"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "introspection_endpoint": i.URL + "/introspect"})
	})
	mux.HandleFunc("POST /introspect", func(w http.ResponseWriter, r *http.Request) {
		if id, secret, _ := r.BasicAuth(); id != "do%3Acs" || secret != "s+p" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(answer(r.FormValue("token")))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

func TestTheProviderIsAskedAboutEachToken(t *testing.T) {
	var i *Issuer
	var revoked atomic.Bool
	i = introspector(t, func(token string) map[string]any {
		m := map[string]any{"active": !revoked.Load(), "sub": "mia", "aud": audience, "iss": i.URL, "exp": time.Now().Add(time.Minute).Unix()}
		switch token {
		case "two":
			m["aud"] = []string{"x", audience}
		case "other site":
			m["aud"] = "https://docs.other.com/mcp"
		case "no audience":
			delete(m, "aud")
		case "other issuer":
			m["iss"] = "https://id.other.com"
		case "expired":
			m["exp"] = time.Now().Add(-time.Minute).Unix()
		case "bound":
			m["cnf"] = map[string]any{"x5t#S256": "x"}
		case "words":
			m["active"] = "true"
		}
		return m
	})
	for _, token := range []string{"one", "two"} {
		if claims, err := i.Claims(t.Context(), token, audience); err != nil || claims["sub"] != "mia" {
			t.Errorf("%s: %v %v", token, claims, err)
		}
	}
	for _, token := range []string{"other site", "no audience", "other issuer", "expired", "bound", "words"} {
		if claims, err := i.Claims(t.Context(), token, audience); !errors.Is(err, ErrToken) {
			t.Errorf("%s: %v %v", token, claims, err)
		}
	}
	revoked.Store(true)
	if _, err := i.Claims(t.Context(), "one", audience); !errors.Is(err, ErrToken) {
		t.Errorf("revoked: %v", err)
	}
	i.ClientSecret = "wrong"
	if _, err := i.Claims(t.Context(), "one", audience); err == nil || errors.Is(err, ErrToken) {
		t.Errorf("the provider refuses the site: %v", err)
	}
}

func TestAProviderThatIsDownOrIsAnotherProvesNothing(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": "https://" + r.Host, "jwks_uri": "http://" + r.Host + "/keys"})
	}))
	t.Cleanup(server.Close)
	before := issuerClient
	issuerClient = server.Client()
	t.Cleanup(func() { issuerClient = before })
	i := &Issuer{URL: server.URL}
	for range 3 {
		_, err := i.Claims(t.Context(), "a.b.c", audience)
		if err == nil || errors.Is(err, ErrToken) || !strings.Contains(err.Error(), "is not https") {
			t.Errorf("keys over http: %v", err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("a provider that failed was asked %d times at once", n)
	}
	other := &Issuer{URL: server.URL + "/realms/other"}
	if _, err := other.Claims(t.Context(), "a.b.c", audience); err == nil || errors.Is(err, ErrToken) {
		t.Errorf("metadata of another issuer: %v", err)
	}
}

// While the keys can't be fetched, no token is right or wrong.
func TestAProviderWhoseKeysAreAwayIsToBlame(t *testing.T) {
	i, key := startIssuer(t)
	var away atomic.Bool
	before := issuerClient
	issuerClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if away.Load() && r.URL.Path == "/keys" {
			return nil, errors.New("no route to host")
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	t.Cleanup(func() { issuerClient = before })
	token := signAs(t, key, map[string]any{"alg": "ES256", "kid": "k"}, map[string]any{"iss": i.URL, "aud": audience, "sub": "mia", "exp": time.Now().Add(time.Minute).Unix()})
	away.Store(true)
	if _, err := i.Claims(t.Context(), token, audience); err == nil || errors.Is(err, ErrToken) || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("without the keys: %v", err)
	}
	away.Store(false)
	// go-oidc shares a failure with who asks before the goroutine that fetched has
	// ended, which is after the answer.
	claims, err := i.Claims(t.Context(), token, audience)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); {
		runtime.Gosched()
		claims, err = i.Claims(t.Context(), token, audience)
	}
	if err != nil || claims["sub"] != "mia" {
		t.Errorf("with the keys again: %v %v", claims, err)
	}
	away.Store(true)
	if _, err := i.Claims(t.Context(), token, audience); err != nil {
		t.Errorf("with kept keys: %v", err)
	}
}

// Anyone can send tokens with keys that the provider doesn't have.
func TestTokensWithUnknownKeysDoNotLoadTheProvider(t *testing.T) {
	i, key := startIssuer(t)
	fetched := 0
	before := issuerClient
	issuerClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/keys" {
			fetched++
		}
		return http.DefaultTransport.RoundTrip(r)
	})}
	t.Cleanup(func() { issuerClient = before })
	claims := map[string]any{"iss": i.URL, "aud": audience, "sub": "mia", "exp": time.Now().Add(time.Minute).Unix()}
	for n := range 30 {
		if _, err := i.Claims(t.Context(), signAs(t, newKey(t), map[string]any{"alg": "ES256", "kid": fmt.Sprint(n)}, claims), audience); !errors.Is(err, ErrToken) {
			t.Errorf("a forged token: %v", err)
		}
	}
	if _, err := i.Claims(t.Context(), signAs(t, key, map[string]any{"alg": "ES256", "kid": "k"}, claims), audience); err != nil {
		t.Error(err)
	}
	if fetched != 1 {
		t.Errorf("the keys were fetched %d times", fetched)
	}
}

// Keys that the provider has changed are fetched after the pause.
func TestChangedKeysAreFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, before := "old", issuerClient
		issuerClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			status := http.StatusOK
			if answer == "" {
				status = http.StatusServiceUnavailable
			}
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(answer))}, nil
		})}
		defer func() { issuerClient = before }()
		c := &http.Client{Transport: new(keysFetcher)}
		fetch := func() string {
			t.Helper()
			r, err := c.Get("https://login.acme.com/keys")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(r.Body)
			return fmt.Sprint(r.StatusCode, " ", string(body))
		}
		for _, step := range []struct {
			answer, want string
			wait         time.Duration
		}{
			{"old", "200 old", 0}, {"new", "200 old", keysPause - 1}, {"new", "200 new", 1}, {"", "503 ", keysPause}, {"newest", "200 newest", 0},
		} {
			answer = step.answer
			time.Sleep(step.wait)
			if got := fetch(); got != step.want {
				t.Errorf("%q, want %q", got, step.want)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzAccessToken(f *testing.F) {
	i := &Issuer{URL: "http://127.0.0.1:1", retry: time.Now().Add(time.Hour), err: errors.New("down")}
	keys := &oidc.StaticKeySet{}
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		if claims, err := i.verifyJWT(t.Context(), keys, token, audience); err == nil {
			t.Errorf("%q proves %v", token, claims)
		}
	})
}
