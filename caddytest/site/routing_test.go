package site

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// Other directives in a site block must neither take requests away from the API
// nor open what it protects.
func TestTheAPIIsReachedWhateverStandsAroundIt(t *testing.T) {
	body := `{"query":"install"}`
	for _, c := range []struct {
		name, block string // of the site; ROOT is its folder
		q           caddytest.Request
		status      int
	}{
		{"alone", "root * ROOT\ndocs acme\nfile_server", caddytest.Request{Path: caddytest.SearchPath}, 200},
		{"behind try_files", "root * ROOT\ntry_files {path} /index.html\ndocs acme\nfile_server", caddytest.Request{Path: caddytest.SearchPath}, 200},
		{"beside a catch-all handle", "root * ROOT\ndocs acme\nhandle {\n\tfile_server\n}", caddytest.Request{Path: caddytest.SearchPath}, 200},
		{"within handle_path", "root * ROOT\nhandle_path /api/* {\n\tdocs acme ROOT\n}\nfile_server", caddytest.Request{Path: "/api" + caddytest.SearchPath}, 200},
		{"within handle", "root * ROOT\nhandle /v1/* {\n\tdocs acme\n}\nhandle {\n\tfile_server\n}", caddytest.Request{Path: caddytest.SearchPath}, 200},
		{"behind basic_auth, without a login", "root * ROOT\nbasic_auth {\n\tbob $2a$04$d0sulD4PGRtUYhpQExJjXut4k5f8zb/Xo1yarVx.dcLJDqnhyBaja\n}\ndocs acme", caddytest.Request{Path: caddytest.SearchPath}, 401},
		{"with redir beside it", "root * ROOT\nredir /old /new\ndocs acme", caddytest.Request{Path: caddytest.SearchPath}, 200},
		{"with encode before it", "root * ROOT\nencode gzip zstd\ndocs acme\nfile_server", caddytest.Request{Path: caddytest.V2Path, Header: map[string]string{"Accept-Encoding": "gzip"}}, 200},
		{"with a matcher that holds", "root * ROOT\n@in header X-Inside yes\ndocs acme ROOT\nassistant @in acme", caddytest.Request{Path: caddytest.SearchPath}, 200},
		{"another API path", "root * ROOT\ndocs acme\nfile_server", caddytest.Request{Path: "/v1/search/acme/more"}, 404},
		{"a real page below /v1/", "root * ROOT\ndocs acme\nfile_server", caddytest.Request{Method: http.MethodGet, Path: "/v1/search/page.html"}, 200},
		{"only search: search", "root * ROOT\ndocs acme {\n\tonly search\n}\nfile_server", caddytest.Request{Path: caddytest.SearchPath}, 200},
		{"only search: assistant", "root * ROOT\ndocs acme {\n\tonly search\n}\nfile_server", caddytest.Request{Path: caddytest.V2Path}, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := caddytest.AcmeFolder(t)
			caddytest.Write(t, root, map[string]string{"v1/search/page.html": "<html><body><main><h1>A real page</h1></main></body></html>"})
			s := caddytest.Start(t, "", "http://:0 {\n\t"+strings.ReplaceAll(strings.ReplaceAll(c.block, "ROOT", root), "\n", "\n\t")+"\n}\n")
			q := c.q
			if q.Method == "" {
				q.Body = body
				if strings.HasSuffix(q.Path, "message") {
					q.Body = caddytest.Question("install", nil)
				}
			}
			var r *caddytest.Response
			caddytest.Until(t, "the index is ready", func() bool { r = s.Do(q); return r.Status != http.StatusServiceUnavailable })
			if r.Status != c.status {
				t.Errorf("status %d, want %d: %.300s", r.Status, c.status, r.Body)
			}
			if enc := r.Header.Get("Content-Encoding"); enc != "" && strings.HasSuffix(q.Path, "message") {
				t.Errorf("a stream came with Content-Encoding %s", enc)
			}
		})
	}
}

// The site's own login stays in front, and a key travels beside it.
func TestAKeyTravelsBesideBasicAuth(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	// The hash is of "hiccup".
	s := caddytest.Start(t, "", "http://:0 {\n\tbasic_auth {\n\t\tbob $2a$04$d0sulD4PGRtUYhpQExJjXut4k5f8zb/Xo1yarVx.dcLJDqnhyBaja\n\t}\n\tdocs acme "+root+"\n}\n")
	var r *caddytest.Response
	caddytest.Until(t, "the index is ready", func() bool {
		r = s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: "-", Body: `{"query":"install"}`, Header: map[string]string{"Authorization": "Basic Ym9iOmhpY2N1cA==", "X-API-Key": caddytest.Key}})
		return r.Status != http.StatusServiceUnavailable
	})
	if r.Status != http.StatusOK {
		t.Errorf("status %d: %s", r.Status, r.Body)
	}
}

// Without a matcher the requests that a matcher excludes are not answered.
func TestTheOperatorsMatcherIsObeyed(t *testing.T) {
	s := caddytest.Start(t, "site acme {\n\troot "+caddytest.AcmeFolder(t)+"\n}", "http://:0 {\n\t@inside header X-Inside yes\n\tsearch @inside acme\n\trespond 418\n}\n")
	caddytest.Until(t, "the index is ready", func() bool {
		return s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x"}`, Header: map[string]string{"X-Inside": "yes"}}).Status == 200
	})
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"x"}`}); r.Status != 418 {
		t.Errorf("status %d", r.Status)
	}
}

// Each site is served where it belongs: sites without an address everywhere,
// others at their host.
func TestSitesAreServedAtTheirHosts(t *testing.T) {
	one, two := caddytest.AcmeFolder(t), caddytest.Folder(t, map[string]string{"index.md": "# Other\n\nOther pages about install.\n"})
	s := caddytest.Start(t, fmt.Sprintf("site one {\n\troot %s\n\turl http://one.test\n}\nsite two {\n\troot %s\n\turl http://two.test\n}\nkey svc_dsc_key_of_site_one_1 {\n\torganization one\n}\nkey svc_dsc_key_of_site_two_2 {\n\torganization two\n}", one, two),
		"http://:0 {\n\tsearch\n}\n")
	for _, c := range []struct {
		host, site, key string
		status          int
	}{
		{"one.test", "one", "svc_dsc_key_of_site_one_1", 200},
		{"one.test", "two", "svc_dsc_key_of_site_two_2", 404},
		{"two.test", "two", "svc_dsc_key_of_site_two_2", 200},
		{"elsewhere.test", "one", "svc_dsc_key_of_site_one_1", 200},
		{"one.test", "one", "svc_dsc_key_of_site_two_2", 403},
	} {
		t.Run(c.site+" at "+c.host, func(t *testing.T) {
			var r *caddytest.Response
			caddytest.Until(t, "the index is ready", func() bool {
				r = s.Do(caddytest.Request{Path: "/v1/search/" + c.site, Key: c.key, Host: c.host, Body: `{"query":"install"}`})
				return r.Status != 503
			})
			if r.Status != c.status {
				t.Errorf("status %d, want %d: %s", r.Status, c.status, r.Body)
			}
		})
	}
}

// docs without a folder takes the one that its block serves, never another's.
func TestTheRootIsThatOfTheBlock(t *testing.T) {
	one := caddytest.Folder(t, map[string]string{"a.md": "# Alpha\n\nzebra\n"})
	two := caddytest.Folder(t, map[string]string{"b.md": "# Beta\n\nzebra\n"})
	s := caddytest.Start(t, "key svc_dsc_the_key_of_the_sites {\n\torganization both\n}", fmt.Sprintf(`http://one.test:0 {
	root * %s
	docs one {
		organization both
	}
	file_server
}
http://two.test:0 {
	root * %s
	docs two {
		organization both
	}
	file_server
}
`, one, two))
	for site, title := range map[string]string{"one": "Alpha", "two": "Beta"} {
		var r *caddytest.Response
		caddytest.Until(t, "the index is ready", func() bool {
			r = s.Do(caddytest.Request{Path: "/v1/search/" + site, Key: "svc_dsc_the_key_of_the_sites", Host: site + ".test", Body: `{"query":"zebra"}`})
			return r.Status != 503
		})
		if !strings.Contains(string(r.Body), title) || r.Status != 200 {
			t.Errorf("%s: %d %s", site, r.Status, r.Body)
		}
	}
}

func TestARootThatCannotBeKnownIsAnErrorThatSaysWhatToWrite(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	for _, c := range []struct{ name, block, says string }{
		{"none", "docs acme", "no root is set"},
		{"a placeholder", "root * /srv/{host}\ndocs acme", "placeholder"},
		{"several", "root /a* /srv/a\nroot /b* /srv/b\ndocs acme", "several roots are set"},
		{"another block's", "docs acme\n}\nhttp://other.test:0 {\n\troot * " + root, "no root is set"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := caddytest.New(t)
			err := s.TryLoad(caddytest.Global(s.Dir, "") + "http://first.test:0 {\n\t" + c.block + "\n}\n")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "docs acme /path/to/docs") {
				t.Errorf("error is %v, want one that says %q and what to write", err, c.says)
			}
		})
	}
}

// Other routes keep their own errors.
func TestHandleErrorsOfTheSiteIsUntouched(t *testing.T) {
	s := caddytest.Start(t, "", "http://:0 {\n\tdocs acme "+caddytest.AcmeFolder(t)+"\n\thandle /boom {\n\t\terror 500\n\t}\n\thandle_errors {\n\t\trespond \"the site's own {err.status_code}\"\n\t}\n}\n")
	if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/boom"}); string(r.Body) != "the site's own 500" {
		t.Errorf("%d %q", r.Status, r.Body)
	}
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: "-", Body: `{"query":"x"}`}); !strings.HasPrefix(string(r.Body), `{"error"`) {
		t.Errorf("%d %q", r.Status, r.Body)
	}
	s.Load("", "http://:0 {\n\tdocs acme "+caddytest.AcmeFolder(t)+" {\n\t\terrors pass\n\t}\n\thandle_errors {\n\t\trespond \"the site's own {err.status_code}\"\n\t}\n}\n")
	if r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: "-", Body: `{"query":"x"}`}); string(r.Body) != "the site's own 401" {
		t.Errorf("errors pass: %d %q", r.Status, r.Body)
	}
}

// A snippet with docs in it may be imported into several blocks.
func TestASiteMayBeBroughtTwiceIfItIsTheSame(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	s := caddytest.Start(t, "", fmt.Sprintf("(docs) {\n\tdocs acme %s\n}\nhttp://one.test:0 {\n\timport docs\n}\nhttp://two.test:0 {\n\timport docs\n}\n", root))
	for _, host := range []string{"one.test", "two.test"} {
		var r *caddytest.Response
		caddytest.Until(t, "the index is ready", func() bool {
			r = s.Do(caddytest.Request{Path: caddytest.SearchPath, Host: host, Body: `{"query":"install"}`})
			return r.Status != 503
		})
		// url is that of the first host; the site is served at both all the same.
		if r.Status != 200 {
			t.Errorf("%s: %d %s", host, r.Status, r.Body)
		}
	}
}

// Each of two docs directives in a block serves its own site.
func TestTwoSitesInABlock(t *testing.T) {
	guide, api := caddytest.AcmeFolder(t), caddytest.AcmeFolder(t)
	key := "key svc_dsc_two_sites_0123456789 {\n\torganization acme\n}"
	s := caddytest.Start(t, key, "http://:0 {\n\troot * "+guide+"\n\tdocs guide {\n\t\torganization acme\n\t}\n\tdocs api "+api+" {\n\t\torganization acme\n\t}\n\tfile_server\n}\n")
	for _, site := range []string{"guide", "api"} {
		for _, path := range []string{"/v1/search/" + site, "/v2/assistant/" + site + "/message"} {
			body := `{"query":"install"}`
			if strings.HasSuffix(path, "message") {
				body = caddytest.Question("install", nil)
			}
			var r *caddytest.Response
			caddytest.Until(t, "the index is ready", func() bool {
				r = s.Do(caddytest.Request{Path: path, Key: "svc_dsc_two_sites_0123456789", Body: body})
				return r.Status != http.StatusServiceUnavailable
			})
			if r.Status != http.StatusOK {
				t.Errorf("%s: %d %s", path, r.Status, r.Body)
			}
		}
	}
}

// The connection that forward_auth opens for a request may come into use only
// after the request has another one, while our handlers run: what they note
// must not be where it reads. Only the race detector sees it.
func TestTheAPIBehindForwardAuth(t *testing.T) {
	var n atomic.Int64
	auth := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%3 == 0 { // so that connections are opened all the time
			w.Header().Set("Connection", "close")
		}
	}))
	t.Cleanup(auth.Close)
	folder := caddytest.Folder(t, map[string]string{"index.md": "# Hello\n\nA page about widgets.\n"})
	s := caddytest.Start(t, "", "http://localhost:0 {\n\troot * "+folder+"\n\tforward_auth "+auth.URL+" {\n\t\turi /verify\n\t}\n\tdocs acme\n\tfile_server\n}\n")
	s.Ready("acme")
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			for range 100 {
				if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/v1/widget/acme.js", Key: "-"}); r.Status != http.StatusOK {
					t.Errorf("%d: %s", r.Status, r.Body)
					return
				}
			}
		})
	}
	wait.Wait()
}
