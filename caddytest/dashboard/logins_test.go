//go:build unix

package dashboard

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// startGateway runs a second Caddy: the login that forward_auth asks. guest
// gets through without a name.
func startGateway(t *testing.T) int {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	port, dir := caddytest.FreePort(t), t.TempDir()
	var users strings.Builder
	for _, name := range []string{"dana", "wim", "reader", "eve", "guest"} {
		fmt.Fprintf(&users, "\t\t\t%s %s\n", name, hash)
	}
	config, err := caddytest.Adapt(fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	storage file_system %q
}
http://:%d {
	route {
		basic_auth {
%s		}
		@named vars_regexp {http.auth.user.id} ^(dana|wim|reader|eve)$
		header @named Remote-User {http.auth.user.id}
		@writers vars_regexp {http.auth.user.id} ^(wim|reader)$
		header @writers Remote-Groups "staff, writers"
		respond 200
	}
}
`, filepath.Join(dir, "storage"), port, users.String()))
	if err != nil {
		t.Fatal(err)
	}
	gateway := caddytest.StartProcess(t, dir, port, config)
	caddytest.Until(t, "the gateway answers", func() bool {
		resp, err := http.Get(gateway.Base) //nolint:noctx // the wait is bounded
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusUnauthorized
	})
	return port
}

// authority makes certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	_, a.cert, a.key = a.make(&x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// make signs a certificate, the authority's own first.
func (a *authority) make(c *x509.Certificate) (tls.Certificate, *x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, parsed, key
}

func writePEM(t *testing.T, file, kind string, der []byte) string {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The logins of the manual: forward_auth with a second Caddy, and client
// certificates. What locked pages say is for those who can open them.
func TestLogins(t *testing.T) {
	gateway := startGateway(t)
	dir := t.TempDir()
	ca := newAuthority(t)
	server, _, serverKey := ca.make(&x509.Certificate{Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	der, err := x509.MarshalPKCS8PrivateKey(serverKey)
	if err != nil {
		t.Fatal(err)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	// The site knows dana and wim, too: to refuse an unknown name, basic_auth
	// compares with a hash that takes a second.
	other, err := bcrypt.GenerateFromPassword([]byte("not "+password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	docs, plain, mutual := caddytest.FreePort(t), caddytest.FreePort(t), caddytest.FreePort(t)
	folder := caddytest.Folder(t, map[string]string{
		"install.html":     pages["install.html"],
		"secret/plan.html": "<!doctype html><html lang=en><title>Secret plan</title><main><h1>Secret plan</h1><p>The secret plan is to launch the marmot on Friday.</p></main>",
	})
	s := caddytest.New(t)
	s.Load("key "+caddytest.Key+" {\n organization acme\n}", fmt.Sprintf(`http://localhost:%d {
	root * %s
	basic_auth /secret/* {
		reader %s
		dana %s
		wim %s
	}
	docs acme-docs {
		organization acme
	}
	file_server
}
http://localhost:%d {
	handle_path /gate/* {
		forward_auth localhost:%d {
			uri /check
			copy_headers Remote-User Remote-Groups
		}
		docs_dashboard {
			user {header.Remote-User}
			groups {header.Remote-Groups}
			admin dana
			member acme @writers
		}
	}
	handle_path /unruled/* {
		basic_auth {
			reader %s
		}
		docs_dashboard
	}
}
https://localhost:%d {
	tls %s %s {
		client_auth {
			mode require_and_verify
			trust_pool file %s
		}
	}
	docs_dashboard {
		user {tls_client_subject}
		admin "CN=dana,O=Acme"
	}
}
`, docs, folder, hash, other, other, plain, gateway, hash, mutual,
		writePEM(t, filepath.Join(dir, "cert.pem"), "CERTIFICATE", server.Certificate[0]), writePEM(t, filepath.Join(dir, "key.pem"), "PRIVATE KEY", der),
		writePEM(t, filepath.Join(dir, "ca.pem"), "CERTIFICATE", ca.cert.Raw)))
	s.Base = fmt.Sprintf("http://localhost:%d", docs)
	s.Ready("acme-docs")
	caddytest.Until(t, "the lock is known", func() bool {
		_, body := get(t, s.Client, fmt.Sprintf("http://localhost:%d/gate/acme/acme-docs/content?state=locked&format=json", plain), "dana")
		return strings.Contains(body, "/secret/plan")
	})

	t.Run("forward_auth", func(t *testing.T) {
		site := fmt.Sprintf("http://localhost:%d/gate/acme/acme-docs", plain)
		for name, c := range map[string]struct {
			user   string
			header []string
			status int
		}{
			"an administrator":                 {"dana", nil, http.StatusOK},
			"a member of a group":              {"wim", nil, http.StatusOK},
			"someone without a role":           {"eve", nil, http.StatusNotFound},
			"a stranger":                       {"", nil, http.StatusUnauthorized},
			"a guest without a name":           {"guest", nil, http.StatusUnauthorized},
			"a guest who sends a name":         {"guest", []string{"Remote-User", "dana"}, http.StatusUnauthorized},
			"someone who sends a group":        {"eve", []string{"Remote-Groups", "writers"}, http.StatusNotFound},
			"someone who sends another's name": {"eve", []string{"Remote-User", "dana"}, http.StatusNotFound},
		} {
			if status, body := get(t, s.Client, site, c.user, c.header...); status != c.status {
				t.Errorf("%s: %d, want %d\n%.300s", name, status, c.status, body)
			}
		}
	})

	t.Run("client certificates", func(t *testing.T) {
		site := fmt.Sprintf("https://localhost:%d/acme/acme-docs", mutual)
		roots := x509.NewCertPool()
		roots.AddCert(ca.cert)
		client := func(of *authority, name string) *http.Client {
			config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
			if of != nil {
				cert, _, _ := of.make(&x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"Acme"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
				config.Certificates = []tls.Certificate{cert}
			}
			c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
			t.Cleanup(c.CloseIdleConnections)
			return c
		}
		if status, body := get(t, client(ca, "dana"), site, ""); status != http.StatusOK || !strings.Contains(body, "Overview") {
			t.Errorf("dana: %d\n%.300s", status, body)
		}
		if status, _ := get(t, client(ca, "eve"), site, ""); status != http.StatusNotFound {
			t.Errorf("eve: %d", status)
		}
		for name, c := range map[string]*http.Client{"no certificate": client(nil, ""), "a certificate of another authority": client(newAuthority(t), "dana")} {
			if resp, err := c.Get(site); err == nil { //nolint:noctx // fails at once
				_ = resp.Body.Close()
				t.Errorf("%s: %d", name, resp.StatusCode)
			}
		}
	})

	t.Run("a login alone gives no role", func(t *testing.T) {
		address := fmt.Sprintf("http://localhost:%d/unruled/", plain)
		status, body := get(t, s.Client, address, "reader")
		if status != http.StatusOK || !strings.Contains(body, "You have no role here") || strings.Contains(body, "acme-docs") {
			t.Errorf("%d\n%s", status, body)
		}
		if status, _ := get(t, s.Client, address+"acme/acme-docs", "reader"); status != http.StatusNotFound {
			t.Errorf("a site is %d", status)
		}
		if !strings.Contains(s.Log(), "nobody signed in by another login") {
			t.Error("the start log does not say so")
		}
	})

	t.Run("answers from locked pages", func(t *testing.T) {
		body := `{"fp":"reader","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"What is the secret plan with the marmot?"}]}]}`
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.Base+"/v2/assistant/acme-docs/message", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-API-Key", caddytest.Key)
		r.SetBasicAuth("reader", password)
		resp, err := s.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		thread := threadID.FindString(string(answer))
		if err != nil || thread == "" || !strings.Contains(string(answer), "launch the marmot") {
			t.Fatalf("the reader's own answer: %d %v\n%s", resp.StatusCode, err, answer)
		}
		site := fmt.Sprintf("http://localhost:%d/gate/acme/acme-docs", plain)
		caddytest.Until(t, "the conversation is recorded", func() bool {
			_, body := get(t, s.Client, site+"/conversations?format=json", "dana")
			return strings.Contains(body, thread)
		})
		for user, sees := range map[string]bool{"dana": true, "wim": false, "reader": true} {
			status, body := get(t, s.Client, site+"/conversations/"+thread, user)
			if status != http.StatusOK || strings.Contains(body, "launch the marmot") != sees {
				t.Errorf("%s sees the answer: %t (%d)\n%s", user, !sees, status, body)
			}
			for _, path := range []string{"/try?q=marmot", "/try?question=What+is+the+secret+plan+with+the+marmot", "/content"} {
				if status, body := get(t, s.Client, site+path, user); status != http.StatusOK || strings.Contains(body, "launch the marmot") {
					t.Errorf("%s: %s is %d, or shows the locked page:\n%s", user, path, status, body)
				}
			}
		}
	})
}
