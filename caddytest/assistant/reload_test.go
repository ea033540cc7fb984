package assistant

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/caddytest/stream"
)

// certificate writes a self-signed one for localhost.
func certificate(t testing.TB, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	caddytest.Write(t, dir, map[string]string{
		"cert.pem": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		"key.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
	return filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
}

// Any certificate is trusted: that of the tests is self-signed.
var trusting = &tls.Config{InsecureSkipVerify: true}

// clientsOfEveryHTTP are one of each protocol version.
func clientsOfEveryHTTP(t testing.TB) map[string]*http.Client {
	h3 := &http3.Transport{TLSClientConfig: trusting.Clone()}
	h2 := &http2.Transport{TLSClientConfig: trusting.Clone()}
	h1 := &http.Transport{TLSClientConfig: trusting.Clone(), TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, MaxIdleConnsPerHost: 300}
	t.Cleanup(func() {
		h3.Close()
		h2.CloseIdleConnections()
		h1.CloseIdleConnections()
	})
	return map[string]*http.Client{"h1": {Transport: h1}, "h2": {Transport: h2}, "h3": {Transport: h3}}
}

// secureSite is a site over TLS, on a separate port.
type secureSite struct {
	*caddytest.Server
	t               testing.TB
	root, cert, key string
	port            int
}

func startSecure(t testing.TB, options, docs string) *secureSite {
	t.Helper()
	s := newSecure(t)
	s.load(options, docs, "")
	s.Ready("acme")
	return s
}

// newSecure is a site that nothing is loaded for yet.
func newSecure(t testing.TB) *secureSite {
	t.Helper()
	s := &secureSite{Server: caddytest.New(t), t: t, root: caddytest.AcmeFolder(t), port: caddytest.FreePort(t)}
	s.cert, s.key = certificate(t, s.Dir)
	s.Client.Transport = &http.Transport{TLSClientConfig: trusting.Clone()}
	return s
}

// load loads a configuration with global options, docs lines, and lines of
// the site.
func (s *secureSite) load(options, docs, site string) {
	s.t.Helper()
	s.loaded(s.TryLoad(s.caddyfile(options, docs, "", site)))
}

// loaded has the requests that follow go to the site, if err is nil.
func (s *secureSite) loaded(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.Base = s.address()
}

func (s *secureSite) address() string { return fmt.Sprintf("https://localhost:%d", s.port) }

// caddyfile is that of load, with directives beside the site.
func (s *secureSite) caddyfile(options, docs, beside, site string) string {
	return strings.Replace(caddytest.Global(s.Dir, docs), "admin off", "admin off\n"+options, 1) +
		fmt.Sprintf("%s {\n%s\n\ttls %s %s\n\tdocs acme %s {\n%s\n\t}\n}\n", s.address(), beside, s.cert, s.key, s.root, site)
}

var numbered = regexp.MustCompile(`question number (\d+)`)

// numberedAnswer is the text that the model gives to a question. base is the
// site's address, "" in what the model says itself.
func numberedAnswer(base, n string) string {
	return "See [Install](" + base + "/guide/install) for " + n + ": " + strings.Join(caddytest.Numbers(60), n+" ") + "end."
}

// answerNumbered makes the model answer each question with a different text.
// Answers pause in the middle until hold is closed.
func answerNumbered(m *modelserver.Server, hold <-chan struct{}) {
	m.Answer(func(r *modelserver.Request) modelserver.Reply {
		n := "?"
		if found := numbered.FindAllStringSubmatch(r.Question(), -1); found != nil {
			n = found[len(found)-1][1]
		}
		return modelserver.Reply{Text: numberedAnswer("", n), Hold: hold, After: 30}
	})
}

// askedStream is a question whose answer has begun.
type askedStream struct {
	*caddytest.Stream
	name   string // its protocols, like "h3 v2"
	number string
}

// askAll asks over all protocols and waits until each answer has begun.
func (s *secureSite) askAll(t *testing.T) []*askedStream {
	t.Helper()
	streams := 200
	if testing.Short() {
		streams = 30
	}
	all := make([]*askedStream, streams)
	cs := clientsOfEveryHTTP(t)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = s.ask(t, cs, []string{"h1", "h2", "h3"}[i%3], i%2+1, i) })
	}
	wg.Wait()
	return all
}

func (s *secureSite) ask(t *testing.T, cs map[string]*http.Client, protocol string, version, number int) *askedStream {
	t.Helper()
	a := &askedStream{name: fmt.Sprintf("%s v%d", protocol, version), number: fmt.Sprint(number)}
	a.Stream = s.OpenReply(t, cs[protocol], version, "How do I install it, question number "+a.number+"?", nil)
	a.ReadUntil(t, "guide/install)")
	if got := fmt.Sprintf("h%d", a.ProtoMajor); got != protocol {
		t.Errorf("%s came over %s", a.name, got)
	}
	return a
}

// readAll reads all answers to their ends, at the same time. whole is what
// the model says.
func (s *secureSite) readAll(t *testing.T, all []*askedStream, check func(a *askedStream, reply *stream.Reply, whole string)) {
	t.Helper()
	var wg sync.WaitGroup
	for _, a := range all {
		wg.Go(func() {
			body, err := a.ReadRest()
			if err != nil {
				t.Errorf("%s was cut: %v after %q", a.name, err, body[max(0, len(body)-100):])
				return
			}
			reply, err := caddytest.ReadReply(a.Version, []byte(body))
			if err != nil {
				t.Errorf("%s: %v", a.name, err)
				return
			}
			check(a, reply, numberedAnswer(s.Base, a.number))
		})
	}
	wg.Wait()
}

// Nothing of a reply that began before a reload is cut or altered, though
// index, model and threads of the old configuration are gone from the new.
func TestAReloadCutsAndAltersNoStream(t *testing.T) {
	m, url := caddytest.StartModel(t)
	hold := make(chan struct{})
	answerNumbered(m, hold)
	s := startSecure(t, "", caddytest.LLM(url, "first", ""))
	all := s.askAll(t)
	s.load("", caddytest.LLM(url, "other", "max_tokens 1000")+"\nthreads ttl 2d", "synonyms rocket missile")
	s.load("", "threads off", "anchors pandoc")
	s.Ready("acme")
	close(hold)
	s.readAll(t, all, func(a *askedStream, r *stream.Reply, whole string) {
		if !r.Finished || r.FinishReason != "stop" || len(r.Sources) == 0 {
			t.Errorf("%s: finished %t %s, %d sources", a.name, r.Finished, r.FinishReason, len(r.Sources))
		} else if r.Text != whole {
			t.Errorf("%s was altered:\n%s\nwant\n%s", a.name, r.Text, whole)
		}
	})
}

// With a grace_period Caddy cuts HTTP/3 when it is over, also on a reload:
// those replies end with an error part before, which a slow machine has a third
// of the period to send. The others go on.
func TestAReloadWithAGracePeriodEndsHTTP3WithAnError(t *testing.T) {
	m, url := caddytest.StartModel(t)
	hold := make(chan struct{})
	answerNumbered(m, hold)
	s := startSecure(t, "grace_period 3s", caddytest.LLM(url, "first", ""))
	var h3, others []*askedStream
	for _, a := range s.askAll(t) {
		if a.ProtoMajor == 3 {
			h3 = append(h3, a)
		} else {
			others = append(others, a)
		}
	}
	s.load("grace_period 3s", caddytest.LLM(url, "other", ""), "")
	s.readAll(t, h3, func(a *askedStream, r *stream.Reply, whole string) {
		if r.Finished || !strings.Contains(r.Error, "again") || !strings.HasPrefix(whole, r.Text) || len(r.Sources) == 0 {
			t.Errorf("%s: finished %t, error %q, text %q", a.name, r.Finished, r.Error, r.Text)
		}
	})
	close(hold)
	s.readAll(t, others, func(a *askedStream, r *stream.Reply, whole string) {
		if r.Text != whole || !r.Finished {
			t.Errorf("%s: finished %t, error %q, text %q", a.name, r.Finished, r.Error, r.Text)
		}
	})
}

// A client that stops reading holds neither its reply nor the model's for
// longer than the write timeout, over HTTP/1, 2 and 3, and with what may stand
// in the response's way.
func TestAClientThatStopsReadingIsLeft(t *testing.T) {
	t.Run("plain", func(t *testing.T) { leftUnread(t, "") })
	t.Run("access log and encode", func(t *testing.T) { leftUnread(t, "log\n\tencode zstd gzip") })
}

func leftUnread(t *testing.T, beside string) {
	const limit = time.Second
	m, url := caddytest.StartModel(t)
	// More than all buffers on the way hold: those of the sockets, 64 kB of
	// HTTP/2's window.
	words := make([]string, 40_000)
	for i := range words {
		words[i] = fmt.Sprintf("word%d %s ", i, strings.Repeat("x", 200))
	}
	m.Always(modelserver.Reply{Tokens: words, Burst: 500})
	s := newSecure(t)
	cfg := caddytest.AdaptWith(t, s.caddyfile("", caddytest.LLM(url, "first", "max_tokens 1000000"), beside, ""), func(c map[string]any) {
		everyHandler(c["apps"].(map[string]any)["http"], func(h map[string]any) {
			if h["handler"] == "docs_assistant" {
				h["write_timeout"] = limit.String()
			}
		})
	})
	s.loaded(s.TryLoadJSON(cfg))
	s.Ready("acme")
	requests := map[string]*modelserver.Request{}
	for name, transport := range map[string]http.RoundTripper{
		"h1": &http.Transport{TLSClientConfig: trusting.Clone(), DialContext: shortOfMemory, ReadBufferSize: 4096, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}},
		"h2": &http.Transport{TLSClientConfig: trusting.Clone(), ForceAttemptHTTP2: true, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}},
		"h3": &http3.Transport{TLSClientConfig: trusting.Clone(), QUICConfig: &quic.Config{InitialStreamReceiveWindow: 64 << 10, MaxStreamReceiveWindow: 64 << 10}},
	} {
		if testing.Short() && name == "h1" {
			continue // the system buffers 6 MB of it, which the race detector makes slow
		}
		for _, v := range caddytest.Versions {
			r := s.OpenReply(t, &http.Client{Transport: transport}, v, caddytest.InstallQuestion, nil)
			if got := fmt.Sprintf("h%d", r.ProtoMajor); got != name {
				t.Fatalf("the answer came over %s", got)
			}
			r.ReadUntil(t, "word1 ")
			requests[fmt.Sprintf("%s v%d", name, v)] = m.Last()
		}
	}
	for name, request := range requests {
		select {
		case <-request.Done():
		case <-time.After(caddytest.Patience):
			t.Fatalf("%s: the model's request goes on", name)
		}
		if !request.Cancelled() || request.Sent() > 39_000 {
			t.Errorf("%s: the model's request: canceled %t after %d tokens", name, request.Cancelled(), request.Sent())
		}
	}
	caddytest.Until(t, "the replies are logged as disconnected", func() bool { return strings.Count(s.Log(), `"outcome":"disconnected"`) == len(requests) })
}

// shortOfMemory dials for a client whose system keeps little for it to read.
func shortOfMemory(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		_ = c.(*net.TCPConn).SetReadBuffer(4096)
	}
	return c, err
}

// everyHandler visits the handlers of a JSON configuration.
func everyHandler(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["handler"]; ok {
			visit(v)
		}
		for _, inner := range v {
			everyHandler(inner, visit)
		}
	case []any:
		for _, inner := range v {
			everyHandler(inner, visit)
		}
	}
}

// Time limits of the whole server cut no stream without an error. Caddy lets
// no handler have more than its write timeout: the reply ends with an error
// part before it.
func TestTimeoutsOfTheServerCutNoStreamWithoutAnError(t *testing.T) {
	for name, write := range map[string]string{"without a write timeout": "", "with a write timeout": "write 2s"} {
		t.Run(name, func(t *testing.T) {
			m, url := caddytest.StartModel(t)
			hold := make(chan struct{})
			answerNumbered(m, hold)
			s := startSecure(t, "servers {\n\ttimeouts {\n\t\tread_body 1s\n\t\tread_header 1s\n\t\tidle 1s\n"+write+"\n\t}\n}", caddytest.LLM(url, "first", ""))
			if write == "" { // an answer that takes longer than all of them
				time.AfterFunc(1500*time.Millisecond, func() { close(hold) })
			}
			var all []*askedStream
			cs := clientsOfEveryHTTP(t)
			for protocol := range cs {
				for _, v := range caddytest.Versions {
					all = append(all, s.ask(t, cs, protocol, v, 7))
				}
			}
			if write != "" { // the page without JavaScript is shown, too
				r := s.Do(caddytest.Request{Path: "/v1/ask/acme", Key: "-", Body: "q=How+do+I+install+it", Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}})
				if r.Status != http.StatusOK || !strings.Contains(string(r.Body), "</html>") {
					t.Errorf("the ask page: %d %s", r.Status, r.Body)
				}
			}
			s.readAll(t, all, func(a *askedStream, r *stream.Reply, whole string) {
				complete := r.Finished && r.Text == whole
				if write != "" {
					complete = !r.Finished && strings.Contains(r.Error, "again") && r.Text != "" && strings.HasPrefix(whole, r.Text)
				}
				if !complete {
					t.Errorf("%s: finished %t, error %q, text %q", a.name, r.Finished, r.Error, r.Text)
				}
			})
		})
	}
}
