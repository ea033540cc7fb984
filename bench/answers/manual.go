package answers

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"golang.org/x/net/html"

	_ "github.com/caddy-docs/caddy-docs"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// The manual's URL in this suite, and a host that answers may link to.
const (
	siteURL     = "https://manual.test"
	supportURL  = "https://help.manual.test/"
	allowedHost = "github.com"
	key         = "svc_dsc_bench_0123456789abcdef"
)

// frozen is the manual as it was when the conversations were written. Recall is
// measured over it, so that edits of the manual don't move it.
//
//go:embed testdata/manual.zip
var frozen []byte

// openFrozen reads the frozen manual into an index.
func openFrozen(ctx context.Context) (*embedded.Index, error) {
	z, err := zip.NewReader(bytes.NewReader(frozen), int64(len(frozen)))
	if err != nil {
		return nil, err
	}
	return openManual(ctx, z)
}

// openManual reads a folder of pages into an index, as a site does.
func openManual(ctx context.Context, folder fs.FS) (*embedded.Index, error) {
	in := ingest.New(ingest.Options{
		URL: siteURL, Anchors: "goldmark", Languages: []ingest.Scope{{Value: "en"}}, Exclude: []string{"/_site/*"},
	})
	var documents []*retrieval.Document
	err := fs.WalkDir(folder, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !in.Wants(name) {
			return err
		}
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		d, _, err := in.Document(name, data)
		if err == nil && d != nil {
			documents = append(documents, d)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the manual's pages: %w", err)
	}
	index, err := embedded.Open(embedded.Options{})
	if err != nil {
		return nil, err
	}
	return index, index.Replace(ctx, in.Complete(documents), nil)
}

// server is a real Caddy that serves the manual as Caddyfile.example does,
// with the fake model server as its model.
type server struct {
	base  string
	model *modelserver.Server
	close func()
}

// startCaddy runs Caddy in this process.
func startCaddy(ctx context.Context, folder string) (*server, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "caddy-docs-bench-")
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{model: modelserver.New()}
	endpoint := &http.Server{Handler: s.model, ReadHeaderTimeout: time.Minute}
	go func() { _ = endpoint.Serve(l) }()
	s.close = func() {
		_ = caddy.Stop()
		_ = endpoint.Close()
		_ = os.RemoveAll(dir)
	}
	cfg, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(fmt.Appendf(nil, caddyfile,
		filepath.Join(dir, "storage"), filepath.Join(dir, "data"), key, "http://"+l.Addr().String()+"/v1", folder, siteURL, supportURL, allowedHost), nil)
	if err != nil {
		s.close()
		return nil, err
	}
	if err := caddy.Load(cfg, true); err != nil {
		s.close()
		return nil, err
	}
	app, err := caddy.ActiveContext().App("http")
	if err != nil {
		s.close()
		return nil, err
	}
	address := app.(*caddyhttp.App).Servers["srv0"].Listeners()[0].Addr().String()
	s.base = "http://localhost:" + address[strings.LastIndexByte(address, ':')+1:]
	for range 500 {
		if r, err := s.post(ctx, "/v1/search/manual", `{"query":"key"}`); err == nil && r.status == http.StatusOK {
			return s, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.close()
	return nil, fmt.Errorf("the manual's index was not ready within 10 s")
}

const caddyfile = `{
	admin off
	persist_config off
	auto_https off
	skip_install_trust
	storage file_system %q
	log {
		output discard
	}
	docs {
		data_dir %q
		key %s
		llm %s scripted
		threads off
	}
}

http://:0 {
	root * %q
	docs manual {
		name caddy-docs
		url %s
		anchors goldmark
		language en
		exclude /_site/*
		support_url %s
		allow_links %s
	}
	@page {
		not path /_site/*
		file {path}.md {path}/index.md
	}
	rewrite @page /_site/page.html
	templates
	file_server
}
`

type response struct {
	status int
	body   string
}

func (s *server) post(ctx context.Context, path, body string) (*response, error) {
	return s.do(ctx, http.MethodPost, path, body)
}

func (s *server) do(ctx context.Context, method, path, body string) (*response, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	return &response{resp.StatusCode, string(data)}, err
}

// served are the pages that Caddy serves: the ids in the HTML of each path.
type served map[string]map[string]bool

// fetch requests every page of the index and collects its ids.
func (s *server) fetch(ctx context.Context, documents []*retrieval.Document) (served, error) {
	out := make(served)
	for _, d := range documents {
		path := strings.TrimPrefix(d.URL, siteURL)
		r, err := s.do(ctx, http.MethodGet, path, "")
		if err != nil {
			return nil, err
		}
		if r.status != http.StatusOK {
			continue
		}
		ids := make(map[string]bool)
		z := html.NewTokenizer(strings.NewReader(r.body))
		for z.Next() != html.ErrorToken {
			for _, a := range z.Token().Attr {
				if a.Key == "id" {
					ids[a.Val] = true
				}
			}
		}
		out[path] = ids
	}
	return out, nil
}

// has reports whether a path and fragment of the site are served.
func (s served) has(path, anchor string) bool {
	ids, ok := s[path]
	return ok && (anchor == "" || ids[anchor])
}
