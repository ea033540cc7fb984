package site

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// startWithAdmin is caddytest.Start with an admin API, whose address it
// returns.
func startWithAdmin(t *testing.T, docs, sites string) (s *caddytest.Server, address string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := caddytest.Socket(t)
	s = caddytest.NewIn(t, dir)
	if err := s.TryLoad(strings.Replace(caddytest.Global(dir, docs), "admin off", "admin unix/"+socket, 1) + sites); err != nil {
		t.Fatal(err)
	}
	return s, "unix/" + socket
}

// Where a prefix is stripped, results have it, and the curl that key create
// prints is served: without a line by the operator, with a known host or not.
func TestAPrefixThatIsStrippedIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		block       string // ROOT is its folder
		pages, apis string
	}{
		"handle_path":                     {"handle_path /docs/* {\n\troot * ROOT\n\tdocs acme\n\tfile_server\n}\nrespond \"another page\"", "/docs", "/docs"},
		"handle_path twice":               {"handle_path /a/* {\n\thandle_path /b/* {\n\t\troot * ROOT\n\t\tdocs acme\n\t\tfile_server\n\t}\n}", "/a/b", "/a/b"},
		"uri strip_prefix":                {"handle /docs/* {\n\turi strip_prefix /docs\n\troot * ROOT\n\tdocs acme\n\tfile_server\n}", "/docs", "/docs"},
		"of the API only":                 {"root * ROOT\nhandle_path /api/* {\n\tdocs acme ROOT\n}\nfile_server", "", "/api"},
		"none":                            {"root * ROOT\ndocs acme\nfile_server", "", ""},
		"try_files to one page":           {"handle_path /docs/* {\n\troot * ROOT\n\troute {\n\t\tdocs acme\n\t\ttry_files {path} /index.html\n\t\tfile_server\n\t}\n}", "/docs", "/docs"},
		"pages without an HTML extension": {"handle_path /docs/* {\n\troot * ROOT\n\ttry_files {path} {path}.html {path}/index.html\n\tdocs acme\n\tfile_server\n}", "/docs", "/docs"},
	} {
		for at, host := range map[string]string{"any host": "http://:0", "a known host": fmt.Sprintf("http://localhost:%d", caddytest.FreePort(t))} {
			t.Run(name+" at "+at, func(t *testing.T) {
				root := caddytest.Folder(t, map[string]string{
					"index.html":         "<html><title>Acme</title><main><h1>Acme</h1><p>How to install Acme.</p></main></html>",
					"guide/install.html": "<html><title>Install</title><main><h1 id=install>Install</h1><p>Install it with the installer.</p><h2 id=linux>Linux</h2><p>Install it on Linux.</p></main></html>",
				})
				block := strings.ReplaceAll(strings.ReplaceAll(c.block, "ROOT", root), "\n", "\n\t")
				s, address := startWithAdmin(t, "", host+" {\n\t"+block+"\n}\n")
				search := func() []caddytest.Result {
					r := s.Do(caddytest.Request{Path: c.apis + caddytest.SearchPath, Body: `{"query":"install"}`})
					if r.Status != http.StatusOK && r.Status != http.StatusServiceUnavailable {
						t.Fatalf("%d %s", r.Status, r.Body)
					}
					var results []caddytest.Result
					_ = json.Unmarshal(r.Body, &results)
					return results
				}
				caddytest.Until(t, "all pages were asked for", func() bool {
					out, _ := run(t, "--address", address, "pages", "acme") // asks for them
					return strings.Count(out, "public  ") == 2
				})
				results := search()
				if len(results) != 3 {
					t.Errorf("%d results", len(results))
				}
				for _, r := range results {
					path := strings.TrimPrefix(r.Metadata.URL, s.Base)
					if !strings.HasPrefix(path, c.pages+"/") || strings.Contains(path, c.pages+c.pages+"/") && c.pages != "" {
						t.Errorf("the URL is %s, want it below %s", r.Metadata.URL, c.pages)
					}
					path, _, _ = strings.Cut(path, "#")
					if got := s.Do(caddytest.Request{Method: http.MethodGet, Path: path}); got.Status != http.StatusOK || !strings.Contains(string(got.Body), r.Metadata.Title) {
						t.Errorf("%s is %d %s", path, got.Status, got.Body)
					}
				}

				out := mustRun(t, "--address", address, "key", "create", "--site", "acme")
				secret, _, _ := strings.Cut(out, "\n")
				_, curl, _ := strings.Cut(out, "curl -s ")
				url, _, _ := strings.Cut(curl, " ")
				path := strings.TrimPrefix(strings.TrimPrefix(url, s.Base), "https://YOUR-SITE")
				if got := s.Do(caddytest.Request{Path: path, Key: secret, Body: `{"query":"install"}`}); got.Status != http.StatusOK {
					t.Errorf("the curl of key create asks %s: %d %s", path, got.Status, got.Body)
				}
				if at == "a known host" {
					var card struct {
						Title   string
						Remotes []struct{ URL string }
					}
					if err := json.Unmarshal([]byte(mustRun(t, "--address", address, "mcp", "acme", "--server-json")), &card); err != nil {
						t.Fatal(err)
					}
					path := strings.TrimPrefix(card.Remotes[0].URL, s.Base)
					if got := s.Do(caddytest.Request{Path: path, Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}); got.Status != http.StatusOK || card.Title != "acme" {
						t.Errorf("server.json names %s: %d %s", card.Remotes[0].URL, got.Status, got.Body)
					}
				}
				if out := mustRun(t, "--address", address, "doctor"); !strings.Contains(out, "ok    site acme api: ") {
					t.Errorf("doctor:\n%s", out)
				}
			})
		}
	}
}

// An API that requests don't reach is reported by doctor, status and the log,
// with what answers instead and what to write.
func TestAHiddenAPIIsReported(t *testing.T) {
	for name, c := range map[string]struct{ docs, block, found, do string }{
		"below a path": {
			"", "root * ROOT\nhandle /docs/* {\n\tdocs acme\n}\nfile_server",
			"the block for /docs/* around the directive does not match it",
			"to the top level of the site block, with its folder: docs acme ROOT",
		},
		"behind file_server in a route": {
			"", "root * ROOT\nroute {\n\tfile_server\n\tdocs acme\n}",
			"file_server answers first", "write the directive for site acme before it",
		},
		"behind a proxy in a route for a path": {
			"", "root * ROOT\nroute {\n\treverse_proxy /v1/* 127.0.0.1:9\n\tdocs acme\n}",
			"reverse_proxy for /v1/* answers first", "write the directive for site acme before it",
		},
		"only version 1": {
			"", "root * ROOT\nhandle /v1/* {\n\tdocs acme\n}\nfile_server",
			"POST /v2/assistant/acme/message does not reach it", "move the directive for site acme out of that block",
		},
		"none": {"", "root * ROOT\n@api path /v1/* /v2/*\nhandle @api {\n\tdocs acme\n}\nhandle {\n\tfile_server\n}", "", ""},
		"a matcher": {
			"", "root * ROOT\n@in header X-Inside yes\nhandle @in {\n\tdocs acme\n}\nfile_server",
			"the block for the matcher header around the directive does not match it", "move the directive for site acme out of that block",
		},
		"behind a redirect to a slash": {
			"", "root * ROOT\n@file not path */ *.html\nredir @file {path}/ permanent\ndocs acme\nfile_server",
			"a redirect to http://localhost/v1/search/acme/ answers first", "exclude /v1/* and /v2/* from the redirect",
		},
		"behind a redirect to another host": {
			"", "root * ROOT\nredir /v1/* https://www.acme.test{uri}\ndocs acme\nfile_server",
			"a redirect to https://www.acme.test/v1/search/acme answers first", "exclude /v1/* and /v2/* from the redirect",
		},
		"at another host":   {"", "root * ROOT\n@apex host localhost\nredir @apex http://www.acme.test{uri}\ndocs acme\nfile_server", "", ""},
		"at another scheme": {"", "root * ROOT\n@plain not header X-Forwarded-Proto https\nredir @plain https://{host}{uri}\ndocs acme\nfile_server", "", ""},
		"behind a login":    {"", "root * ROOT\nredir /v1/* https://login.acme.test/?to={uri}\ndocs acme\nfile_server", "", ""},
		"no route": {
			"site acme {\n\troot ROOT\n}", "respond 404", "no route serves it", "search acme",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := caddytest.AcmeFolder(t)
			replaced := strings.NewReplacer("ROOT", root).Replace
			s, address := startWithAdmin(t, replaced(c.docs), "http://:0 {\n\t"+strings.ReplaceAll(replaced(c.block), "\n", "\n\t")+"\n}\n")
			out, _ := run(t, "--address", address, "doctor")
			if c.found == "" {
				if !strings.Contains(out, "ok    site acme api: ") {
					t.Errorf("doctor:\n%s", out)
				}
				return
			}
			if !strings.Contains(out, "FAIL  site acme api: ") || !strings.Contains(out, c.found) || !strings.Contains(out, replaced(c.do)) {
				t.Errorf("doctor:\n%s", out)
			}
			caddytest.Until(t, "status reports it", func() bool { return strings.Contains(mustRun(t, "--address", address, "status"), c.found) })
			if !strings.Contains(s.Log(), c.found) {
				t.Error("the log does not report it")
			}
		})
	}
}
