package lifetime

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

// clients are one of each protocol version.
func clients(t testing.TB) map[string]*http.Client {
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

// secure is a site over TLS, on a separate port.
type secure struct {
	*caddytest.Server
	t               testing.TB
	root, cert, key string
	port            int
}

func startSecure(t testing.TB, options, docs string) *secure {
	t.Helper()
	s := newSecure(t)
	s.load(options, docs, "")
	s.Ready("acme")
	return s
}

// newSecure is a site that nothing is loaded for yet.
func newSecure(t testing.TB) *secure {
	t.Helper()
	s := &secure{Server: caddytest.New(t), t: t, root: caddytest.AcmeFolder(t), port: caddytest.FreePort(t)}
	s.cert, s.key = certificate(t, s.Dir)
	s.Client.Transport = &http.Transport{TLSClientConfig: trusting.Clone()}
	return s
}

// load loads a configuration with global options, docs lines, and lines of
// the site.
func (s *secure) load(options, docs, site string) {
	s.t.Helper()
	s.loaded(s.TryLoad(s.caddyfile(options, docs, "", site)))
}

// loaded has the requests that follow go to the site, if err is nil.
func (s *secure) loaded(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.Base = s.address()
}

func (s *secure) address() string { return fmt.Sprintf("https://localhost:%d", s.port) }

// caddyfile is that of load, with directives beside the site.
func (s *secure) caddyfile(options, docs, beside, site string) string {
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
func answerNumbered(m *modelserver.Server, gap time.Duration) {
	m.Answer(func(r *modelserver.Request) modelserver.Reply {
		n := "?"
		if found := numbered.FindAllStringSubmatch(r.Question(), -1); found != nil {
			n = found[len(found)-1][1]
		}
		return modelserver.Reply{Text: numberedAnswer("", n), Gap: gap}
	})
}

const openStreams = 200

// ended is a stream that was read to its end.
type ended struct {
	*stream.Reply
	err error
}

// readAll reads all streams to their ends, at the same time.
func readAll(all []*caddytest.Stream) []ended {
	ends := make([]ended, len(all))
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() {
			body, err := r.ReadRest()
			if err != nil {
				ends[i] = ended{new(stream.Reply), fmt.Errorf("cut: %w after %q", err, body[max(0, len(body)-100):])}
				return
			}
			ends[i].Reply, ends[i].err = caddytest.ReadReply(i%2+1, []byte(body))
		})
	}
	wg.Wait()
	return ends
}

// openAll opens streams over all protocol versions and waits until each has
// begun. It returns their names too.
func (s *secure) openAll(t *testing.T) ([]*caddytest.Stream, []string) {
	t.Helper()
	all := make([]*caddytest.Stream, openStreams)
	names := make([]string, openStreams)
	cs := clients(t)
	var wg sync.WaitGroup
	for i := range all {
		protocol := []string{"h1", "h2", "h3"}[i%3]
		names[i] = fmt.Sprintf("%s v%d", protocol, i%2+1)
		wg.Go(func() {
			all[i] = s.OpenReply(t, cs[protocol], i%2+1, fmt.Sprintf("How do I install it, question number %d?", i), nil)
			all[i].ReadUntil(t, "guide/install)")
		})
	}
	wg.Wait()
	for i, r := range all {
		if want := map[string]int{"h1": 1, "h2": 2, "h3": 3}[names[i][:2]]; r.ProtoMajor != want {
			t.Fatalf("%s came over %s", names[i], r.Proto)
		}
	}
	return all, names
}

// Nothing of a reply that began before a reload is cut or altered, though
// index, model and threads of the old configuration are gone from the new.
func TestAReloadCutsAndAltersNoStream(t *testing.T) {
	m, url := caddytest.StartModel(t)
	answerNumbered(m, 60*time.Millisecond)
	s := startSecure(t, "", caddytest.LLM(url, "first", ""))
	all, names := s.openAll(t)
	s.load("", caddytest.LLM(url, "other", "max_tokens 1000")+"\nthreads ttl 2d", "synonyms rocket missile")
	s.load("", "threads off", "anchors pandoc")
	s.Ready("acme")
	for i, r := range readAll(all) {
		if r.err != nil || !r.Finished || r.FinishReason != "stop" || len(r.Sources) == 0 {
			t.Errorf("%s: finished %t %s, %d sources, %v", names[i], r.Finished, r.FinishReason, len(r.Sources), r.err)
		} else if want := numberedAnswer(s.Base, fmt.Sprint(i)); r.Text != want {
			t.Errorf("%s was altered:\n%s\nwant\n%s", names[i], r.Text, want)
		}
	}
}

// With a grace_period Caddy cuts HTTP/3 at its end, also on a reload: those
// replies end with an error part before. The others go on.
func TestAReloadWithAGracePeriodEndsHTTP3WithAnError(t *testing.T) {
	m, url := caddytest.StartModel(t)
	answerNumbered(m, 60*time.Millisecond)
	s := startSecure(t, "grace_period 3s", caddytest.LLM(url, "first", ""))
	all, names := s.openAll(t)
	s.load("grace_period 3s", caddytest.LLM(url, "other", ""), "")
	for i, r := range readAll(all) {
		whole := numberedAnswer(s.Base, fmt.Sprint(i))
		switch {
		case r.err != nil:
			t.Errorf("%s: %v", names[i], r.err)
		case strings.HasPrefix(names[i], "h3"):
			if r.Finished || !strings.Contains(r.Error, "again") || !strings.HasPrefix(whole, r.Text) || len(r.Sources) == 0 {
				t.Errorf("%s: finished %t, error %q, text %q", names[i], r.Finished, r.Error, r.Text)
			}
		case r.Text != whole || !r.Finished:
			t.Errorf("%s: finished %t, error %q, text %q", names[i], r.Finished, r.Error, r.Text)
		}
	}
}

// A client that stops reading holds neither its reply nor the model's for
// longer than the write timeout, over HTTP/1, 2 and 3, and with what may stand
// in the response's way.
func TestAClientThatStopsReadingIsLeft(t *testing.T) {
	t.Run("plain", func(t *testing.T) { leftUnread(t, "") })
	t.Run("access log", func(t *testing.T) { leftUnread(t, "log") })
	t.Run("encode", func(t *testing.T) { leftUnread(t, "encode zstd gzip") })
}

func leftUnread(t *testing.T, beside string) {
	const limit = time.Second
	m, url := caddytest.StartModel(t)
	// More than all buffers on the way hold: those of the sockets, 64 kB of
	// HTTP/2's window.
	words := make([]string, 400_000)
	for i := range words {
		words[i] = fmt.Sprintf("word%d of many ", i)
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
		if !request.Cancelled() || request.Sent() > 390_000 {
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

// Time limits of the whole server cut no stream without a word. Caddy lets no
// handler have more than its write timeout: the reply ends with an error
// part before it.
func TestTimeoutsOfTheServerCutNoStreamWithoutAWord(t *testing.T) {
	for name, write := range map[string]string{"without a write timeout": "", "with a write timeout": "write 2s"} {
		t.Run(name, func(t *testing.T) {
			m, url := caddytest.StartModel(t)
			answerNumbered(m, 30*time.Millisecond) // 3.6 s
			s := startSecure(t, "servers {\n\ttimeouts {\n\t\tread_body 1s\n\t\tread_header 1s\n\t\tidle 1s\n"+write+"\n\t}\n}", caddytest.LLM(url, "first", ""))
			var all []*caddytest.Stream
			var names []string
			for name, c := range clients(t) {
				for _, v := range caddytest.Versions {
					all, names = append(all, s.OpenReply(t, c, v, "How, question number 7?", nil)), append(names, fmt.Sprintf("%s v%d", name, v))
				}
			}
			whole := numberedAnswer(s.Base, "7")
			for i, r := range readAll(all) {
				complete := r.Finished && r.Text == whole
				if write != "" {
					complete = !r.Finished && strings.Contains(r.Error, "again") && r.Text != "" && strings.HasPrefix(whole, r.Text)
				}
				if r.err != nil || !complete {
					t.Errorf("%s: finished %t, error %q, %v, text %q", names[i], r.Finished, r.Error, r.err, r.Text)
				}
			}
		})
	}
}
