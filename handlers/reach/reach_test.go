package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/caddy-docs/caddy-docs/handlers/hosting"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// provision loads a site's block without starting it.
func provision(t *testing.T, block string) (caddy.Context, *caddyhttp.App) {
	t.Helper()
	text := "{\n\tauto_https off\n\tmetrics\n}\nhttp://docs.acme.com:8080 {\n" + block + "\n}\n"
	raw, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	var config caddy.Config
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	config.Admin = &caddy.AdminConfig{Disabled: true}
	config.StorageRaw = json.RawMessage(fmt.Sprintf(`{"module":"file_system","root":%q}`, t.TempDir()))
	ctx, err := caddy.ProvisionContext(&config)
	if err != nil {
		t.Fatal(err)
	}
	app, err := ctx.App("http")
	if err != nil {
		t.Fatal(err)
	}
	return ctx, app.(*caddyhttp.App)
}

// write makes the files of a folder.
func write(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		name := filepath.Join(root, filepath.FromSlash(f))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("<title>"+f+"</title>"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// fileOf reads the files of the root of a block.
func fileOf(block string) func(*retrieval.Document) ([]byte, bool, error) {
	_, root, _ := strings.Cut(block, "root * ")
	root, _, _ = strings.Cut(root, "\n")
	return func(d *retrieval.Document) ([]byte, bool, error) {
		file, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(d.File)))
		return file, true, err
	}
}

// documents are those that a folder's files become.
func documents(base string, files ...string) (all []*retrieval.Document) {
	for _, f := range files {
		page := strings.TrimSuffix(f, path.Ext(f))
		url := "/" + page
		switch {
		case page == "index":
			page, url = "", "/"
		case strings.HasSuffix(page, "/index"):
			page = strings.TrimSuffix(page, "/index")
			url = "/" + page + "/"
		case path.Ext(f) == ".html":
			url = "/" + f
		}
		all = append(all, &retrieval.Document{Page: page, File: f, URL: base + url, Hash: f, Sections: []retrieval.Section{{Text: f}}})
	}
	return all
}

var discard = slog.New(slog.DiscardHandler)

const base = "http://docs.acme.com:8080"

// site is what the files of a folder are, behind a block.
func site(t *testing.T, block string, docs []*retrieval.Document) *Gate {
	t.Helper()
	ctx, app := provision(t, block)
	s, err := New(Options{Routes: NewRoutes(ctx), HTTP: app, URL: base, Documents: func() []*retrieval.Document { return docs }, File: fileOf(block), Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	return s
}

// askOnce asks for a path as a stranger.
func askOnce(ctx context.Context, in *inside, path string) (got answer, err error) {
	err = in.ask(ctx, in.background, insideTimeout, path, stranger, func(a answer) { got = a })
	return got, err
}

// settle asks for all pages, also again for those that a busy machine was too
// slow for.
func settle(t *testing.T, s *Gate) {
	t.Helper()
	for range 10 {
		s.Update(t.Context())
		if !slices.ContainsFunc(s.Pages(), func(p Page) bool { return strings.HasPrefix(p.Why, "does not respond") }) {
			return
		}
		s.expire()
	}
}

// expire lets all answers be old.
func (s *Gate) expire() {
	s.states.mu.Lock()
	defer s.states.mu.Unlock()
	for name, p := range s.states.pages {
		c := *p
		c.due = time.Time{}
		s.states.pages[name] = &c
	}
	s.states.then, s.states.rest = time.Time{}, time.Time{}
}

func TestAStrangersRequestDecidesWhatIsPublic(t *testing.T) {
	files := []string{"index.html", "guide/index.html", "guide/install.html", "guide/raw.md", "private/plan.html"}
	for name, c := range map[string]struct {
		block string
		want  map[string]string // by file: state and URL
	}{
		"files": {"file_server", map[string]string{
			"index.html": "public /", "guide/index.html": "public /guide/", "guide/install.html": "public /guide/install.html",
			"guide/raw.md": "public /guide/raw.md", "private/plan.html": "public /private/plan.html",
		}},
		"try_files": {"try_files {path} {path}.html {path}/index.html\nfile_server", map[string]string{
			"guide/install.html": "public /guide/install.html", "guide/raw.md": "public /guide/raw.md",
		}},
		"a redirect to the URL without extension": {"@html path_regexp ^(.*)\\.html$\nredir @html {re.1}\ntry_files {path} {path}.html {path}/index.html\nfile_server", map[string]string{
			"guide/install.html": "public /guide/install", "private/plan.html": "public /private/plan",
		}},
		"basic_auth on a folder": {"basic_auth /private/* {\n\treader $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n}\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"basic_auth in a handle": {"handle /private/* {\n\tbasic_auth {\n\t\treader $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n\t}\n\tfile_server\n}\nhandle {\n\tfile_server\n}", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"respond outside": {"@outside {\n\tpath /private/*\n\tnot remote_ip private_ranges\n}\nrespond @outside 403\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"error outside": {"@outside {\n\tpath /private/*\n\tnot remote_ip private_ranges\n}\nerror @outside 403\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"abort outside": {"@outside {\n\tpath /private/*\n\tnot remote_ip private_ranges\n}\nabort @outside\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"a handle for the network, 403 for the others": {"@lan remote_ip private_ranges\nhandle @lan {\n\tfile_server\n}\nhandle {\n\trespond 403\n}", map[string]string{
			"index.html": "locked /", "private/plan.html": "locked /private/plan.html",
		}},
		"a redirect to a login on another host": {"redir /private/* https://login.acme.com/?next={uri}\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"a login form with the status 200": {"@outside {\n\tpath /private/*\n\tnot remote_ip private_ranges\n}\nheader @outside Content-Type text/html\nrespond @outside \"who are you?\" 200\nfile_server", map[string]string{
			"index.html": "public /", "guide/install.html": "public /guide/install.html", "private/plan.html": "locked /private/plan.html",
		}},
		"another page instead": {"@outside {\n\tpath /guide/*\n\tnot remote_ip private_ranges\n}\nrewrite @outside /private/plan.html\nfile_server", map[string]string{
			"index.html": "public /", "guide/index.html": "locked /guide/", "guide/install.html": "locked /guide/install.html", "private/plan.html": "public /private/plan.html",
		}},
		"a front page for every unknown URL of a folder": {"handle /guide/* {\n\ttry_files {path} /guide/index.html\n\tfile_server\n}\nfile_server", map[string]string{
			"guide/index.html": "public /guide/", "guide/install.html": "public /guide/install.html", "private/plan.html": "public /private/plan.html",
		}},
		"a redirect to a login of the site": {"redir /private/* /login\nrespond /login \"who are you\" 200\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"hidden files": {"file_server {\n\thide private\n}", map[string]string{
			"index.html": "public /", "private/plan.html": "not served /private/plan.html",
		}},
		"one page for every URL": {"try_files {path} /index.html\n@md path *.md\nrespond @md 404\nfile_server", map[string]string{
			"index.html": "public /", "guide/install.html": "public /guide/install.html", "guide/raw.md": "locked /guide/raw",
		}},
		"errors and files": {"respond /private/* 500\nrespond /guide/install.html 410\nheader /guide/* Content-Type image/png\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "unknown /private/plan.html",
			"guide/install.html": "not served /guide/install.html", "guide/index.html": "not served /guide/",
		}},
		"a redirect that never ends": {"redir /private/* {uri}\nfile_server", map[string]string{
			"index.html": "public /", "private/plan.html": "locked /private/plan.html",
		}},
		"a handler that panics or is missing": {"handle /guide/* {\n\tabort\n}\nhandle /private/* {\n\theader X y\n}\nhandle {\n\tfile_server\n}", map[string]string{
			"index.html": "public /", "guide/install.html": "locked /guide/install.html", "private/plan.html": "not served /private/plan.html",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, files...)
			s := site(t, "root * "+root+"\n"+c.block, documents(base, files...))
			for _, p := range s.Pages() {
				want, ok := c.want[p.File]
				if got := string(p.State) + " " + strings.TrimPrefix(p.URL, base); ok && got != want {
					t.Errorf("%s is %s (%s), want %s", p.File, got, p.Why, want)
				}
			}
			v := s.View()
			if v.Elsewhere || !v.Complete {
				t.Errorf("the view is %+v", v)
			}
		})
	}
}

func TestASiteThatIsServedElsewhereIsPublic(t *testing.T) {
	files := []string{"index.html", "a.md", "b/index.md"}
	for name, block := range map[string]string{
		"no page":           "respond /other hello",
		"nothing but pages": "respond 404",
	} {
		t.Run(name, func(t *testing.T) {
			s := site(t, block, documents(base, files...))
			if v := s.View(); !v.Elsewhere || v.Public != nil {
				t.Errorf("the view is %+v", v)
			}
		})
	}
	t.Run("another host", func(t *testing.T) {
		ctx, app := provision(t, "respond ok")
		docs := documents("https://docs.other.com", files...)
		s, err := New(Options{Routes: NewRoutes(ctx), HTTP: app, URL: "https://docs.other.com", Documents: func() []*retrieval.Document { return docs }, Log: discard})
		if err != nil {
			t.Fatal(err)
		}
		if v := s.View(); !v.Elsewhere || !s.CanOpen(t.Context(), docs[0].Page, docs[0]) || s.View().AnyLocked([]string{"/gone"}) || !s.CanOpenAll(t.Context(), []string{"/gone"}) {
			t.Errorf("the view is %+v", v)
		}
	})
}

// A template that renders all pages fails for those that do not exist only
// where there is a body, so HEAD says nothing.
func TestTemplatesDecideWhichPagesAreServed(t *testing.T) {
	root := write(t, "docs/markdown/install.md")
	page := `{{$file := printf "/docs/markdown/%s.md" (trimPrefix "/docs/" .OriginalReq.URL.Path)}}{{if not (fileExists $file)}}{{httpError 404}}{{end}}<h1>Page</h1>{{include $file}}`
	if err := os.WriteFile(filepath.Join(root, "docs", "page.html"), []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	block := "root * " + root + "\ntemplates\n@page {\n\tpath /docs/*\n\tnot path *.md\n}\nrewrite @page /docs/page.html\nfile_server"
	s := site(t, block, []*retrieval.Document{
		{Page: "docs/install", File: "docs/install.md", URL: base + "/docs/install", Hash: "1", Title: "docs/markdown/install.md"},
		{Page: "docs/markdown/install", File: "docs/markdown/install.md", URL: base + "/docs/markdown/install", Hash: "2"},
	})
	for _, p := range s.Pages() {
		switch want := base + "/docs/install"; {
		case p.File == "docs/install.md" && (p.State != Public || p.URL != want || p.Raw):
			t.Errorf("%s is %+v", p.File, p)
		case p.File == "docs/markdown/install.md" && (p.State != Public || p.URL != base+"/docs/markdown/install.md" || !p.Raw):
			t.Errorf("%s is %+v", p.File, p)
		}
	}
}

func TestPagesServedAsTextHaveNoAnchors(t *testing.T) {
	d := &retrieval.Document{Page: "guide", File: "guide.md", URL: base + "/guide", Hash: "1", Sections: []retrieval.Section{{Anchor: "install", Text: "x"}}}
	for block, want := range map[string]string{
		"file_server": base + "/guide.md#",
		"header /guide.md Content-Type text/plain\nfile_server":                    base + "/guide.md#",
		"header /guide Content-Type text/html\nrespond /guide \"<h2 id=install>\"": base + "/guide#install",
	} {
		s := site(t, "root * "+write(t, "guide.md")+"\n"+block, []*retrieval.Document{d})
		got := s.View().Document(d)
		if url := got.URL + "#" + got.Sections[0].Anchor; url != want {
			t.Errorf("%s: %s, want %s", block, url, want)
		}
		if raw, _ := Raw(s.Pages()); (raw == 1) != strings.HasSuffix(want, "#") {
			t.Errorf("%s: %d pages are raw", block, raw)
		}
	}
	if d.Sections[0].Anchor == "" {
		t.Error("a document of the index was changed")
	}
}

func TestTwoFilesAtOneURLAreOnePage(t *testing.T) {
	root := write(t, "guide.html", "guide/index.md")
	docs := []*retrieval.Document{
		{Page: "guide.md", File: "guide.md", URL: base + "/guide", Hash: "1"},
		{Page: "guide", File: "guide.html", URL: base + "/guide.html", Hash: "2"},
	}
	s := site(t, "root * "+root+"\n@html path *.html\nredir /guide.html /guide\ntry_files {path}.html\nfile_server", docs)
	states := map[string]State{}
	for _, p := range s.Pages() {
		states[p.File] = p.State
	}
	if states["guide.html"] == states["guide.md"] {
		t.Errorf("the states are %v", states)
	}
	if v := s.View(); v.Public == nil || len(v.locks) > 0 {
		t.Errorf("the view is %+v", v)
	}
}

func TestAReaderOpensWhatTheirRequestOpens(t *testing.T) {
	files := []string{"index.html", "private/plan.html", "lan/plan.html", "form/index.html", "form/plan.html"}
	root := write(t, files...)
	docs := documents(base, files...)
	s := site(t, "root * "+root+`
	@private {
		path /private/*
		not header Cookie *session=good*
		not header Authorization "Bearer sso"
	}
	respond @private 401
	@lan {
		path /lan/*
		not remote_ip private_ranges
	}
	abort @lan
	@form {
		path /form/*
		not header Cookie *session=good*
	}
	rewrite @form /index.html
	file_server`, docs)
	request := func(addr string, header ...string) context.Context {
		r, err := http.NewRequest(http.MethodPost, "/v1/search/acme", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.RemoteAddr = addr
		for i := 0; i < len(header); i += 2 {
			r.Header.Add(header[i], header[i+1])
		}
		return WithReader(t.Context(), r, func(v string) bool { return strings.Contains(v, "svc_dsc_") })
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		want string
	}{
		"no reader":                 {t.Context(), "index.html"},
		"a stranger":                {request("198.51.100.7:1000"), "index.html"},
		"a stranger with our key":   {request("198.51.100.7:1000", "Authorization", "Bearer svc_dsc_x"), "index.html"},
		"a cookie":                  {request("198.51.100.7:1000", "Cookie", "session=good"), "index.html private/plan.html form/index.html form/plan.html"},
		"a wrong cookie":            {request("198.51.100.7:1000", "Cookie", "session=bad"), "index.html"},
		"the site's own token":      {request("198.51.100.7:1000", "Authorization", "Bearer sso"), "index.html private/plan.html"},
		"an address of the network": {request("10.0.0.8:1000"), "index.html lan/plan.html"},
		"both":                      {request("10.0.0.8:1000", "Cookie", "session=good"), "index.html private/plan.html lan/plan.html form/index.html form/plan.html"},
		"a forged address":          {request("198.51.100.7:1000", "X-Forwarded-For", "10.0.0.8"), "index.html"},
	} {
		for range 2 { // from the cache, too
			var open []string
			for _, d := range docs {
				if s.CanOpen(c.ctx, d.Page, d) {
					open = append(open, d.File)
				}
			}
			if got := strings.Join(open, " "); got != c.want {
				t.Errorf("%s opens %s, want %s", name, got, c.want)
			}
		}
	}
}

// What a reader could open is known for half a minute.
func TestALostPermissionCountsAfterHalfAMinute(t *testing.T) {
	files := []string{"index.html", "private/plan.html"}
	root := write(t, append(files, "permitted")...)
	docs := documents(base, files...)
	s := site(t, "root * "+root+"\n@private {\n\tpath /private/*\n\tnot {\n\t\theader Cookie *good*\n\t\tfile /permitted\n\t}\n}\nrespond @private 401\nfile_server", docs)
	r := httptest.NewRequest(http.MethodPost, "/v1/search/acme", nil)
	r.Header.Set("Cookie", "session=good")
	synctest.Test(t, func(t *testing.T) {
		can := func() bool {
			return s.CanOpen(WithReader(t.Context(), r, func(string) bool { return false }), docs[1].Page, docs[1])
		}
		if !can() {
			t.Error("the reader can't open the page")
		}
		if err := os.Remove(filepath.Join(root, "permitted")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Second)
		if !can() {
			t.Error("the permission is forgotten after 25 s")
		}
		time.Sleep(10 * time.Second)
		if can() {
			t.Error("the permission lasts for 35 s")
		}
	})
}

// A lock refuses the clean URL of a Markdown file that is served as it is. Who
// has the password gets the file's own URL.
func TestAReaderFindsLockedMarkdownWhereItIsServed(t *testing.T) {
	root := write(t, "index.md", "x/page.md", "x/sub/index.md", "rendered/page.md")
	docs := []*retrieval.Document{
		{Page: "", File: "index.md", URL: base + "/", Hash: "0"},
		{Page: "x/page", File: "x/page.md", URL: base + "/x/page", Hash: "1", Sections: []retrieval.Section{{Anchor: "install", Text: "x"}}},
		{Page: "x/sub", File: "x/sub/index.md", URL: base + "/x/sub/", Hash: "2"},
		{Page: "rendered/page", File: "rendered/page.md", URL: base + "/rendered/page", Hash: "3", Sections: []retrieval.Section{{Anchor: "install", Text: "x"}}},
	}
	s := site(t, "root * "+root+`
	@out {
		path /x* /rendered*
		not header Cookie session=good
	}
	header /rendered/page Content-Type text/html
	route {
		respond @out 401
		respond /rendered/page "<h2 id=install>x</h2>"
	}
	file_server`, docs)
	reader := func(cookie string) context.Context {
		r, err := http.NewRequest(http.MethodPost, "/v1/search/acme", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.RemoteAddr = "198.51.100.7:1000"
		r.Header.Set("Cookie", "session="+cookie)
		return WithReader(t.Context(), r, func(string) bool { return false })
	}
	want := map[string]string{
		"x/page": base + "/x/page.md#", "x/sub": base + "/x/sub/index.md#", "rendered/page": base + "/rendered/page#install",
	}
	for range 2 { // also after the pages were asked for again
		for _, d := range docs[1:] {
			if s.CanOpen(reader("bad"), d.Page, d) || s.CanOpen(t.Context(), d.Page, d) {
				t.Errorf("a stranger opens %s", d.Page)
			}
			if !s.CanOpen(reader("good"), d.Page, d) {
				t.Errorf("the reader can't open %s", d.Page)
				continue
			}
			got := s.View().Document(d)
			url := got.URL + "#"
			if len(got.Sections) > 0 {
				url += got.Sections[0].Anchor
			}
			if url != want[d.Page] {
				t.Errorf("%s is at %s, want %s", d.Page, url, want[d.Page])
			}
			quoted := []string{base + "/index.md", url}
			if !s.View().AnyLocked(quoted) || !s.CanOpenAll(reader("good"), quoted) || s.CanOpenAll(reader("bad"), quoted) {
				t.Errorf("a turn that quotes %s is not for its readers alone", url)
			}
		}
		s.expire()
		for range len(docs) {
			s.Update(t.Context())
		}
	}
	gone := []string{base + "/gone"}
	if !s.View().AnyLocked(gone) || s.CanOpenAll(reader("good"), gone) || s.View().AnyLocked([]string{base + "/index.md#x"}) {
		t.Error("a page that is not known counts as public, or one that is public as locked")
	}
	found := func() (pages []string) {
		s.states.found.Range(func(key, _ any) bool {
			if page, ok := key.(string); ok {
				pages = append(pages, page)
			}
			return true
		})
		slices.Sort(pages)
		return pages
	}
	if got := found(); !slices.Equal(got, []string{"x/page", "x/sub"}) {
		t.Errorf("%q were found", got)
	}
	s.states.due(docs[:2], time.Now()) // x/sub is gone
	if got := found(); !slices.Equal(got, []string{"x/page"}) {
		t.Errorf("%q are kept, of which x/page is left", got)
	}
	changed := *docs[1]
	changed.Hash = "4"
	if s.states.due([]*retrieval.Document{docs[0], &changed}, time.Now()); len(found()) > 0 {
		t.Errorf("%q are kept after a change", found())
	}
}

func TestPagesThatWereNotAskedForAreLocked(t *testing.T) {
	files := []string{"index.html", "private/plan.html", "hidden/x.html"}
	root := write(t, files...)
	docs := documents(base, files...)
	block := "root * " + root + "\nrespond /private/* 403\nfile_server {\n\thide hidden\n}"
	ctx, app := provision(t, block)
	s, err := New(Options{Routes: NewRoutes(ctx), HTTP: app, URL: base, Documents: func() []*retrieval.Document { return docs }, File: fileOf(block), Log: discard})
	if err != nil {
		t.Fatal(err)
	}
	v := s.View()
	if v.Complete || v.IsPublic(docs[0]) || v.Elsewhere {
		t.Errorf("the view before the first request is %+v", v)
	}
	s.Update(t.Context())
	if v := s.View(); !v.Complete || !v.IsPublic(docs[0]) || v.IsPublic(docs[1]) || v.IsPublic(docs[2]) {
		t.Errorf("the view after them is %+v", v)
	}
}

func TestTheModulesOwnRequestsAreMarked(t *testing.T) {
	ctx, app := provision(t, "respond ok")
	in, err := newInside(NewRoutes(ctx), app.Servers["srv0"], "docs.acme.com:8080")
	if err != nil {
		t.Fatal(err)
	}
	marked := false
	in.chain = caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		marked = IsInside(r)
		return nil
	})
	if a, err := askOnce(t.Context(), in, "/x"); err != nil || a.status != 0 || !marked {
		t.Errorf("%+v, %v, marked %t", a, err, marked)
	}
}

// A handler that does not return is left after insideTimeout, and an error is
// no permission.
func TestARequestInsideEndsInTime(t *testing.T) {
	ctx, app := provision(t, "respond ok")
	in, err := newInside(NewRoutes(ctx), app.Servers["srv0"], "docs.acme.com:8080")
	if err != nil {
		t.Fatal(err)
	}
	in.chain = caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
		time.Sleep(time.Minute)
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for _, ask := range []func() (answer, error){
			func() (answer, error) { return askOnce(t.Context(), in, "/x") },
			func() (answer, error) { return askOnce(t.Context(), in, "/x") },
		} {
			if a, err := ask(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v, %v", a, err)
			}
		}
		if d := time.Since(began); d != 2*insideTimeout {
			t.Errorf("two requests took %v", d)
		}
		time.Sleep(time.Minute) // until the handlers have returned
	})
}

// Requests inside the process are no visits.
func TestRequestsInsideAreNotLoggedAndNotCounted(t *testing.T) {
	log := filepath.Join(t.TempDir(), "access.log")
	ctx, app := provision(t, "log {\n\toutput file "+log+"\n}\nmetrics /metrics\nrespond ok")
	if app.Metrics == nil {
		t.Fatal("metrics are off")
	}
	in, err := newInside(NewRoutes(ctx), app.Servers["srv0"], "docs.acme.com:8080")
	if err != nil {
		t.Fatal(err)
	}
	noticed := func() (what []string) {
		if b, _ := os.ReadFile(log); len(b) > 0 {
			what = append(what, "access log")
		}
		families, err := ctx.GetMetricsRegistry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "caddy_http_requests_total" {
				what = append(what, f.GetName())
			}
		}
		return what
	}
	if a, err := askOnce(t.Context(), in, "/x"); err != nil || a.status != http.StatusOK {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := noticed(); len(got) > 0 {
		t.Errorf("a request inside is in %v", got)
	}
	app.Servers["srv0"].ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, base+"/x", nil))
	if got := noticed(); len(got) != 2 {
		t.Errorf("a visit is in %v", got)
	}
}

func BenchmarkAsk(b *testing.B) {
	root := b.TempDir()
	if err := os.WriteFile(filepath.Join(root, "index.html"), []byte("<title>x</title>"), 0o600); err != nil {
		b.Fatal(err)
	}
	text := "{\n\tauto_https off\n}\nhttp://docs.acme.com:8080 {\n\troot * " + root + "\n\tencode\n\tfile_server\n}\n"
	raw, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
	if err != nil {
		b.Fatal(err)
	}
	var config caddy.Config
	if err := json.Unmarshal(raw, &config); err != nil {
		b.Fatal(err)
	}
	config.Admin = &caddy.AdminConfig{Disabled: true}
	ctx, err := caddy.ProvisionContext(&config)
	if err != nil {
		b.Fatal(err)
	}
	app, err := ctx.App("http")
	if err != nil {
		b.Fatal(err)
	}
	in, err := newInside(NewRoutes(ctx), app.(*caddyhttp.App).Servers["srv0"], "docs.acme.com:8080")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if a, err := askOnce(b.Context(), in, "/"); err != nil || a.status != 200 {
			b.Fatal(a, err)
		}
	}
}

func TestTheFirstCompletePassLogsPagesThatAreNotServed(t *testing.T) {
	files := []string{"index.html", "guide.html", "guide/raw.md", "more.md"}
	for name, c := range map[string]struct{ block, want string }{
		"all served":    {"file_server", ""},
		"raw files":     {"@md path /guide/raw* /more*\nerror @md 404\nfile_server", `level=WARN msg="some pages are left out because they are not served" pages=2 of=4 example=` + base + `/guide/raw why="/guide/raw responds with Not Found" write="exclude /**.md"`},
		"one page":      {"error /guide* 404\nfile_server {\n\thide more.md\n}", `write="exclude /guide.html"`},
		"none served":   {"error * 404\nfile_server", `level=ERROR msg="this Caddy serves the site, but none of its pages can be opened, so search and assistant have nothing to show" pages=4 example=` + base + `/ why="/ responds with Not Found" fix="serve the pages here; if they are served elsewhere, write their URL: url https://…; if anyone may read every page, write: locks off`},
		"another files": {"error /guide.html 404\nerror /guide 404\nerror /guide/ 404\nfile_server", `write="exclude /guide.html"`},
	} {
		t.Run(name, func(t *testing.T) {
			root := write(t, files...)
			ctx, app := provision(t, "root * "+root+"\n"+c.block)
			docs := documents(base, files...)
			var log strings.Builder
			s, err := New(Options{
				Routes: NewRoutes(ctx), HTTP: app, URL: base, Documents: func() []*retrieval.Document { return docs }, File: fileOf("root * " + root),
				Log: slog.New(slog.NewTextHandler(&log, nil)),
			})
			if err != nil {
				t.Fatal(err)
			}
			s.Update(t.Context())
			got := log.String()
			if !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("logged\n%s\nwant\n%s", got, c.want)
			}
			docs = append(docs, documents(base, "new.html")...)
			s.Update(t.Context())
			if log.String() != got {
				t.Errorf("logged again: %s", &log)
			}
		})
	}
}

// The index may have other pages by the time that the states are logged.
func TestWhatIsLoggedIsOfThePagesThatWereAskedFor(t *testing.T) {
	block := "root * " + write(t, "index.html") + "\nfile_server"
	ctx, app := provision(t, block)
	asked, newer := documents(base, "index.html"), documents(base, "index.html")
	newer[0].Hash = "of another content"
	var log strings.Builder
	s, err := New(Options{
		Routes: NewRoutes(ctx), HTTP: app, URL: base, File: fileOf(block), Log: slog.New(slog.NewTextHandler(&log, nil)),
		Documents: func() (now []*retrieval.Document) { now, asked = asked, newer; return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Update(t.Context())
	if log.String() != "" {
		t.Errorf("logged %s", &log)
	}
}

func TestWhatIsAdvisedToExcludeIsNeverEveryFile(t *testing.T) {
	page := func(state State, file, url string) Page {
		return Page{State: state, Document: &retrieval.Document{File: file, URL: url}}
	}
	front := page(Public, "index.html", base+"/")
	for want, p := range map[string]Page{
		"exclude /**.yaml": page(NotServed, "api.yaml#getUser", base+"/api#getUser"),
		"exclude /license": page(NotServed, "license", base+"/license"),
		"exclude /a#b.md":  page(NotServed, "a#b.md", base+"/a%23b"),
	} {
		pages := []Page{front, p}
		if want == "exclude /a#b.md" {
			pages = append(pages, page(Public, "c.md", base+"/c"))
		}
		if _, got := FirstNotServed(pages); got != want {
			t.Errorf("%s: %q, want %q", p.File, got, want)
		}
	}
}

// Ticks without anything to do look at no page; new pages and old answers are
// found all the same.
func TestWhatIsDueIsFound(t *testing.T) {
	docs := documents(base, "index.html", "guide.html", "more.html")
	s := site(t, "root * "+write(t, "index.html", "guide.html", "more.html")+"\nfile_server", docs)
	now := time.Now()
	names := func(at time.Duration) string {
		var all []string
		if s.states.isSettled(docs, now.Add(at)) {
			return ""
		}
		due, again := s.states.due(docs, now.Add(at))
		for _, d := range append(due, again...) {
			all = append(all, d.File)
			if p := s.states.pages[d.Page]; p != nil {
				p.due = now.Add(at + maxAge) // later than the test looks, whatever the spread
			}
		}
		return strings.Join(all, " ")
	}
	if got := names(0) + names(maxAge/2-time.Second); got != "" {
		t.Errorf("%q is due at once", got)
	}
	var again []string
	for at := maxAge / 2; at <= maxAge+tick; at += tick {
		if got := names(at); got != "" {
			again = append(again, got)
		}
	}
	if slices.Sort(again); !slices.Equal(again, []string{"guide.html", "index.html", "more.html"}) {
		t.Errorf("%q are asked for again", again)
	}
	docs = slices.Clone(docs)
	changed := *docs[2]
	changed.Hash = "another"
	docs[2] = &changed
	if got := names(maxAge + 2*tick); got != "more.html" {
		t.Errorf("after a change, %q is due", got)
	}
}

// No minute has many more pages than another.
func TestPagesAreAskedForAgainAtDifferentTimes(t *testing.T) {
	var minutes [5]int
	for i := range 1000 {
		minutes[spread(fmt.Sprintf("%s/page-%d", base, i))/time.Minute]++
	}
	for i, n := range minutes {
		if n < 100 || n > 300 {
			t.Errorf("%d of 1,000 pages in minute %d", n, i)
		}
	}
}

func BenchmarkATickWithoutAnythingToDo(b *testing.B) {
	docs := documents(base, "a.html", "b.html", "c.html", "d.html", "e.html", "f.html", "g.html", "h.html", "i.html", "j.html", "k.html", "l.html", "m.html", "n.html", "o.html", "p.html", "q.html", "r.html", "s.html", "t.html")
	s := &Gate{states: states{pages: make(map[string]*Page)}}
	now := time.Now()
	for _, d := range docs {
		s.states.pages[d.Page] = &Page{Document: d, asking: asking{due: now.Add(maxAge)}}
	}
	s.states.due(docs, now)
	for b.Loop() {
		if !s.states.isSettled(docs, now) {
			b.Fatal("a page is due")
		}
	}
}

func TestAServerIsFoundByTheHostOfAHandle(t *testing.T) {
	for name, block := range map[string]string{
		"in a handle":            "@docs host other.acme.com docs.acme.com\nhandle @docs {\n\treverse_proxy 127.0.0.1:1\n}",
		"beside a general route": "@docs host docs.acme.com\nhandle @docs {\n\treverse_proxy 127.0.0.1:1\n}\nrespond ok",
	} {
		_, app := provision(t, "}\nhttp://:8080 {\n"+block)
		at, _ := url.Parse("https://docs.acme.com")
		if hosting.ServerFor(app, at) == nil {
			t.Errorf("%s: no server is found", name)
		}
	}
	_, app := provision(t, "respond ok\n}\nhttp://:8080 {\n@docs host other.acme.com\nhandle @docs {\n\treverse_proxy 127.0.0.1:1\n}")
	if at, _ := url.Parse("https://docs.acme.com"); hosting.ServerFor(app, at) != nil {
		t.Error("a server is found that has no pages there")
	}
}

// A second block that is down for a moment closes no page that was proven.
func TestABlockWithoutAnAnswerClosesNothing(t *testing.T) {
	root := write(t, "index.html", "a.html")
	block := "root * " + root + "\nfile_server\n}\nhttp://other.acme.com:8080 {\n@down file {\nroot " + root + "\ntry_files /down.flag\n}\nrespond @down 503\nroot * " + root + "\nfile_server"
	ctx, app := provision(t, block)
	docs := documents(base, "index.html", "a.html")
	at, _ := url.Parse("http://other.acme.com:8080")
	s, err := New(Options{
		Routes: NewRoutes(ctx), HTTP: app, URL: base, Documents: func() []*retrieval.Document { return docs }, File: fileOf(block), Log: discard,
		Also: []Place{{hosting.ServerFor(app, at), at.Host, ""}},
	})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	for _, down := range []bool{false, true} {
		if down {
			if err := os.WriteFile(filepath.Join(root, "down.flag"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			s.expire()
			s.Update(t.Context())
		}
		for _, p := range s.Pages() {
			if p.State != Public {
				t.Errorf("down %t: %s is %s: %s", down, p.URL, p.State, p.Why)
			}
		}
	}
}

func TestAGroupIsCompleteWithAMemberWithoutPages(t *testing.T) {
	block := "root * " + write(t, "index.html") + "\nfile_server"
	full, empty := site(t, block, documents(base, "index.html")), site(t, block, nil)
	docs := documents(base, "index.html")
	docs[0].Page, docs[0].Source = In("x", ""), "x"
	g, err := New(Options{Routes: full.Routes, Documents: func() []*retrieval.Document { return docs }, Members: func() []Member { return []Member{{"x", full}, {"y", empty}} }, Log: discard})
	if err != nil || !g.View().Complete {
		t.Errorf("it is not complete: %v", err)
	}
}

// The log says what is known of it, and nothing of whether it is shown.
func TestAPublicPageWhoseServerFailsIsLoggedAsPublic(t *testing.T) {
	root, down := write(t, "index.html"), t.TempDir()
	s := site(t, "\troot * "+root+"\n\t@down file {\n\t\troot "+down+"\n\t\ttry_files now\n\t}\n\trespond @down 503\n\tfile_server", documents(base, "index.html"))
	var log strings.Builder
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	if err := os.WriteFile(filepath.Join(down, "now"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		s.expire()
		s.Update(t.Context())
	}
	want := `msg="a page can't be checked; its last known state stays" url=` + base + `/ state=public why=`
	if got := log.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("logged\n%s\nwant once %s", got, want)
	}
}
