package site

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
)

// reader:secret
const (
	readerHash  = "$2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W"
	readerLogin = "Basic cmVhZGVyOnNlY3JldA=="
)

// privateFolder has public pages, and internal/plan.html, the only one with
// the word zebrafish.
func privateFolder(t *testing.T) string {
	return caddytest.Folder(t, map[string]string{
		"index.html":          "<html><head><title>Reactors</title></head><body><main><h1>Reactors</h1><p>All about reactors and their cooling.</p></main></body></html>",
		"guide/cooling.html":  "<html><head><title>Cooling</title></head><body><main><h1>Cooling</h1><p>The plan of the cooling of a reactor is public: it is cooled with water.</p></main></body></html>",
		"internal/plan.html":  "<html><head><title>Reactor plan</title></head><body><main><h1>Reactor plan</h1><p>The secret plan of the reactor: it is cooled with zebrafish.</p></main></body></html>",
		"internal/other.html": "<html><head><title>Reactor log</title></head><body><main><h1>Reactor log</h1><p>The secret log of the reactor names Quagmire.</p></main></body></html>",
		"login.html":          "<html><head><title>Log in</title></head><body><main><form>Log in</form></main></body></html>",
	})
}

// A lock, and what the reader who can open it sends.
type lock struct {
	block  string
	reader map[string]string
	// all is set if the lock covers the API, too.
	all bool
}

func locks(t *testing.T) map[string]lock {
	proxy := map[string]string{"X-Forwarded-For": "10.1.2.3"}
	login := map[string]string{"Authorization": readerLogin}
	cookie := map[string]string{"Cookie": "session=staff"}
	hash := "\treader " + readerHash + "\n"
	// A login server, which lets in who has the cookie.
	auth := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("session"); err == nil && c.Value == "staff" && r.URL.Query().Get("group") == "staff" {
			w.Header().Set("Remote-User", "ann")
			return
		}
		http.Redirect(w, r, "https://auth.acme.test/?rd="+r.Header.Get("X-Forwarded-Uri"), http.StatusFound)
	}))
	t.Cleanup(auth.Close)
	return map[string]lock{
		"basic_auth on a path":   {"basic_auth /internal/* {\n" + hash + "}\nfile_server", login, false},
		"basic_auth in a handle": {"handle /internal/* {\n\tbasic_auth {\n\t" + hash + "\t}\n\tfile_server\n}\nhandle {\n\tfile_server\n}", login, false},
		"basic_auth everywhere":  {"basic_auth {\n" + hash + "}\nfile_server", login, true},
		"respond":                {"@outside {\n\tpath /internal/*\n\tnot client_ip private_ranges\n}\nrespond @outside 403\nfile_server", proxy, false},
		"error":                  {"@outside {\n\tpath /internal/*\n\tnot client_ip private_ranges\n}\nerror @outside 403\nfile_server", proxy, false},
		"abort":                  {"@outside {\n\tpath /internal/*\n\tnot client_ip private_ranges\n}\nabort @outside\nfile_server", proxy, false},
		"a handle for a network": {"handle /internal/* {\n\t@lan client_ip private_ranges\n\thandle @lan {\n\t\tfile_server\n\t}\n\thandle {\n\t\trespond 403\n\t}\n}\nhandle {\n\tfile_server\n}", proxy, false},
		"a redirect to a login":  {"@out {\n\tpath /internal/*\n\tnot header Cookie *session=staff*\n}\nredir @out /login.html\nfile_server", cookie, false},
		"forward_auth":           {"forward_auth /internal/* " + auth.URL + " {\n\turi /verify?group=staff\n\tcopy_headers Remote-User\n}\nfile_server", cookie, false},
	}
}

// Nothing of a page reaches a reader who can't open it: not in results,
// answers, sources, what a model is given, or what its tools return. Those who
// can open it get all of that.
func TestLockedPagesAreForThoseWhoCanOpenThem(t *testing.T) {
	const question = "What is the plan of the reactor?"
	for name, l := range locks(t) {
		t.Run(name, func(t *testing.T) {
			m, url := caddytest.StartModel(t)
			m.Answer(func(r *modelserver.Request) modelserver.Reply {
				switch {
				case strings.HasPrefix(r.Text("system"), "Rewrite "):
					return modelserver.Reply{Status: 500}
				case len(r.Tools) > 0 && r.Text("tool") == "":
					return modelserver.Reply{ToolCalls: []modelserver.ToolCall{
						modelserver.Call("a", "search", `{"query":"secret reactor plan"}`),
						modelserver.Call("b", "read_page", `{"page":"/internal/plan.html"}`),
					}}
				case strings.Contains(r.Text("tool")+r.Text("user")+r.Text("system"), "zebrafish"):
					return modelserver.Reply{Text: "With zebrafish, says [the plan](/internal/plan.html)."}
				}
				return modelserver.Reply{Text: "With water, or as in [the plan](/internal/plan.html)."}
			})
			for _, model := range []string{"", caddytest.LLM(url, "scripted", "")} {
				s := startBehindProxy(t, model, "root * "+privateFolder(t)+"\ndocs acme\n"+l.block)
				ask := func(path, body string, header map[string]string) *caddytest.Response {
					h := map[string]string{"X-API-Key": caddytest.Key, "X-Forwarded-For": "198.51.100.7"}
					for k, v := range header {
						h[k] = v
					}
					return s.Do(caddytest.Request{Path: path, Key: "-", Body: body, Header: h})
				}
				caddytest.Until(t, "the site is searched", func() bool {
					return strings.Contains(string(ask(caddytest.SearchPath, `{"query":"reactor"}`, l.reader).Body), "guide/cooling")
				})
				requests := map[string][2]string{"search": {caddytest.SearchPath, `{"query":"secret reactor plan","pageSize":50}`}}
				for _, v := range caddytest.Versions {
					path, body := caddytest.Message(v, question, nil)
					requests[fmt.Sprintf("v%d", v)] = [2]string{path, body}
				}
				for what, q := range requests {
					if model != "" && what == "search" {
						continue
					}
					before := len(m.Requests())
					r := ask(q[0], q[1], nil)
					body := string(r.Body)
					for _, request := range m.Requests()[before:] {
						body += request.Text("system") + request.Text("user") + request.Text("tool")
					}
					if strings.Contains(body, "zebrafish") || strings.Contains(body, "Quagmire") || strings.Contains(body, "internal/plan.html)") {
						t.Errorf("%s (model %t): a stranger gets\n%s", what, model != "", body)
					}
					if l.all != (r.Status == http.StatusUnauthorized) || !l.all && r.Status != http.StatusOK {
						t.Errorf("%s: a stranger gets %d", what, r.Status)
					}
					r = ask(q[0], q[1], l.reader)
					if r.Status != http.StatusOK || !strings.Contains(string(r.Body), "zebrafish") || !strings.Contains(string(r.Body), "internal/plan") {
						t.Errorf("%s (model %t): the reader gets %d\n%s", what, model != "", r.Status, r.Body)
					}
				}
			}
		})
	}
}

// Markdown is served as files, and a lock covers the URLs without extension,
// too: the link is the one that the reader who has the password can open.
func TestLockedMarkdownIsLinkedWhereItsReadersOpenIt(t *testing.T) {
	folder := caddytest.Folder(t, map[string]string{
		"index.md":  "# Reactors\n\nAll about reactors.\n",
		"x/page.md": "# Reactor plan\n\nIt is cooled with zebrafish.\n",
	})
	s := startBehindProxy(t, "", "root * "+folder+"\ndocs acme\nbasic_auth /x* {\n\treader "+readerHash+"\n}\nfile_server")
	search := func(login string) *caddytest.Response {
		h := map[string]string{"X-API-Key": caddytest.Key, "X-Forwarded-For": "198.51.100.7"}
		if login != "" {
			h["Authorization"] = login
		}
		return s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: "-", Body: `{"query":"reactor plan zebrafish"}`, Header: h})
	}
	type result struct {
		Metadata struct{ URL string }
	}
	var found []result
	caddytest.Until(t, "the reader finds the locked page", func() bool {
		return json.Unmarshal(search(readerLogin).Body, &found) == nil && len(found) > 0 && strings.Contains(found[0].Metadata.URL, "/x/page")
	})
	u, err := url.Parse(found[0].Metadata.URL)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: u.Path, Key: "-", Header: map[string]string{"Authorization": readerLogin}}); r.Status != http.StatusOK || u.Path != "/x/page.md" {
		t.Errorf("the reader gets %d at %s", r.Status, u)
	}
	if r := search(""); strings.Contains(string(r.Body), "zebrafish") || strings.Contains(string(r.Body), "/x/page") {
		t.Errorf("a stranger finds %s", r.Body)
	}
}

// Operators see which pages are locked or not served, and what a title writes
// to a terminal is left out.
func TestLockedPagesAreShownByCommands(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := caddytest.Socket(t)
	folder := caddytest.Folder(t, map[string]string{
		"index.html":         "<html lang=en><title>Front\x1b[31m page</title><main><h1>Front\x1b[31m page</h1><p>All about reactors.</p></main></html>",
		"internal/plan.html": "<html lang=en><title>Plan</title><main><h1>Plan</h1><p>The plan of the reactor.</p></main></html>",
		"gone.html":          "<html lang=en><title>Gone</title><main><h1>Gone</h1><p>The reactor is gone.</p></main></html>",
	})
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(strings.Replace(caddytest.Global(dir, ""), "admin off", "admin unix/"+socket, 1) +
		"http://localhost:0 {\nroot * " + folder + "\ndocs acme\nrespond /internal/* 403\nfile_server {\n\thide gone.html\n}\n}\n"); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	docs := func(args ...string) string {
		out, err := run(t, append([]string{"--address", "unix/" + socket}, args...)...)
		if err != nil && args[0] != "doctor" {
			t.Errorf("%s: %v", args[0], err)
		}
		return out
	}
	pages := docs("pages", "acme")
	if strings.Contains(pages, "\x1b") || strings.Count(pages, "\n") != 4 {
		t.Errorf("pages:\n%q", pages)
	}
	for _, want := range []string{"locked ", "responds with Forbidden", "not served ", "public "} {
		if !strings.Contains(pages, want) {
			t.Errorf("pages lack %q:\n%s", want, pages)
		}
	}
	if out := docs("pages", "acme", "--json"); !strings.Contains(out, `"state": "not served"`) {
		t.Errorf("pages --json:\n%s", out)
	}
	if out := docs("status"); !strings.Contains(out, "acme: 1 public, 1 locked, 1 not served") {
		t.Errorf("status:\n%s", out)
	}
	if out := docs("status", "--json"); !strings.Contains(out, `"not_served": 1`) {
		t.Errorf("status --json:\n%s", out)
	}
	if out := docs("doctor"); !strings.Contains(out, "FAIL  site acme pages: 1 of 3 are not served") || !strings.Contains(out, "exclude /gone.html") {
		t.Errorf("doctor:\n%s", out)
	}
}

// startBehindProxy starts a site whose clients name their IP in
// X-Forwarded-For.
func startBehindProxy(t *testing.T, docs, block string) *caddytest.Server {
	t.Helper()
	s := caddytest.New(t)
	if err := s.TryLoad(behindProxy(s.Dir, docs) + "http://localhost:0 {\n" + block + "\n}\n"); err != nil {
		t.Fatal(err)
	}
	return s
}

// behindProxy is Global for a server behind a proxy on this machine.
func behindProxy(dir, docs string) string {
	return strings.Replace(caddytest.Global(dir, docs), "{\n", "{\n\tservers {\n\t\ttrusted_proxies static 127.0.0.1/8\n\t}\n", 1)
}

// The site's URL is a proxy's, which speaks TLS: the locks of the server behind
// it count.
func TestLocksCountBehindAProxyThatSpeaksTLS(t *testing.T) {
	for name, address := range map[string]string{"any host": "http://:0", "its host": "http://localhost:0"} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.New(t)
			folder := privateFolder(t)
			docs := "\t\tsite acme {\n\t\t\troot " + folder + "\n\t\t\turl https://localhost\n\t\t}\n"
			block := "root * " + folder + "\nsearch acme\nrespond /internal/* 403\nfile_server"
			if err := s.TryLoad(behindProxy(s.Dir, docs) + address + " {\n" + block + "\n}\n"); err != nil {
				t.Fatal(err)
			}
			caddytest.AllAsked(t, "acme")
			for _, p := range caddytest.App(t).Site("acme").Reach.Pages() {
				want := reach.Public
				if strings.HasPrefix(p.Document.Page, "internal/") {
					want = reach.Locked
				}
				if p.State != want {
					t.Errorf("page %s is %v, must be %v", p.Document.Page, p.State, want)
				}
			}
		})
	}
}

// With locks off, the pages of the index are for everyone, and the log says so.
func TestLocksOff(t *testing.T) {
	s := startBehindProxy(t, "", "root * "+privateFolder(t)+"\ndocs acme {\n\tlocks off\n}\nrespond /internal/* 403\nfile_server")
	caddytest.Until(t, "a stranger finds the page", func() bool {
		r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"zebrafish"}`, Header: map[string]string{"X-Forwarded-For": "198.51.100.7"}})
		return strings.Contains(string(r.Body), "internal/plan")
	})
	caddytest.Until(t, "the log says so", func() bool {
		return strings.Contains(s.Log(), "locks are off: every page of the index is public")
	})
}

// Locks count wherever the site's folder is served, also if the URL of the site
// is not known or is that of a proxy that sends another host.
func TestLocksCountWhereTheFolderIsServed(t *testing.T) {
	folder := privateFolder(t)
	site := "site acme {\nroot " + folder + "\n"
	pages := "\troot * " + folder + "\n\tbasic_auth /internal/* {\n\t\treader " + readerHash + "\n\t}\n\tfile_server\n"
	for name, c := range map[string]struct{ docs, blocks, host, path string }{
		"a site without a URL":                     {site + "}", "http://docs.acme.test:0 {\n\tsearch acme\n" + pages + "}\n", "docs.acme.test", ""},
		"a site without a URL, on a wildcard host": {site + "}", "http://*.acme.test:0 {\n\tsearch acme\n" + pages + "}\n", "one.acme.test", ""},
		"a site of a wildcard host":                {"", "http://*.acme.test:0 {\n\tdocs acme\n" + pages + "}\n", "one.acme.test", ""},
		"a host from the environment":              {"", "http://:0 {\n\t@docs host {env.DOCS_HOST}\n\thandle @docs {\n\t\tdocs acme\n" + pages + "\t}\n}\n", "docs.acme.test", ""},
		"behind a CDN that sends another host":     {"", "http://origin.acme.test:0 {\n\tdocs acme {\n\t\turl https://docs.acme.test\n\t}\n" + pages + "}\n", "origin.acme.test", ""},
		"the same with the API of a global site":   {site + "url https://docs.acme.test\n}", "http://origin.acme.test:0 {\n\tsearch acme\n" + pages + "}\n", "origin.acme.test", ""},
		"an API on another host":                   {site + "}", "http://api.acme.test:0 {\n\tsearch acme\n}\nhttp://docs.acme.test:0 {\n" + pages + "}\n", "api.acme.test", ""},
		"a site without a URL, below a path":       {site + "}", "http://docs.acme.test:0 {\n\thandle_path /docs/* {\n\t\tsearch acme\n" + pages + "\t}\n}\n", "docs.acme.test", "/docs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCS_HOST", "docs.acme.test")
			s := caddytest.Start(t, c.docs, c.blocks)
			caddytest.AllAsked(t, "acme")
			find := func(query, login string) string {
				r := s.Do(caddytest.Request{Path: c.path + caddytest.SearchPath, Key: "-", Host: c.host, Body: `{"query":"` + query + `"}`, Header: map[string]string{"X-API-Key": caddytest.Key, "Authorization": login}})
				return string(r.Body)
			}
			if found := find("cooling", ""); !strings.Contains(found, "guide/cooling") {
				t.Errorf("a stranger finds no public page: %s", found)
			}
			if found := find("secret plan zebrafish", ""); strings.Contains(found, "internal/plan") {
				t.Errorf("a stranger finds a locked page: %s", found)
			}
			if found := find("secret plan zebrafish", readerLogin); !strings.Contains(found, "internal/plan") {
				t.Errorf("a reader finds nothing: %s", found)
			}
		})
	}
}

// Strangers' spelling is not corrected by the words of locked pages, and what
// they find has the scores that it has without them.
func TestNothingOfLockedPagesShowsToStrangers(t *testing.T) {
	folder := privateFolder(t)
	stranger := map[string]string{"X-Forwarded-For": "198.51.100.7"}
	find := func(s *caddytest.Server, query string) string {
		return string(s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"` + query + `"}`, Header: stranger}).Body)
	}
	block := "root * " + folder + "\ndocs acme {\n%s\n}\n@outside {\n\tpath /internal/*\n\tnot client_ip private_ranges\n}\nrespond @outside 403\nfile_server"
	locked := startBehindProxy(t, "", fmt.Sprintf(block, "language en"))
	caddytest.AllAsked(t, "acme")
	got := map[string]string{}
	for _, q := range []string{"reactor", "plan", "zebrafsh", "zebra", "quagmir", "cooling secret", "reactor log"} {
		got[q] = find(locked, q)
	}
	without := startBehindProxy(t, "", fmt.Sprintf(block, "language en\nexclude /internal/*"))
	caddytest.AllAsked(t, "acme")
	for q, r := range got {
		if want := find(without, q); r != want {
			t.Errorf("%s finds\n%s\nwithout the locked pages\n%s", q, r, want)
		}
	}
}

// A lock that a reload adds counts from the first request of the new
// configuration.
func TestALockOfAReloadCountsAtOnce(t *testing.T) {
	root := "root * " + privateFolder(t) + "\ndocs acme {\n\trate_limit off\n}\n"
	s := startBehindProxy(t, "", root+"file_server")
	address, base := strings.TrimPrefix(s.Base, "http://"), s.Base
	load := func(block string) {
		t.Helper()
		if err := s.TryLoad(behindProxy(s.Dir, "") + "http://" + address + " {\n" + root + block + "\n}\n"); err != nil {
			t.Fatal(err)
		}
	}
	find := func() string {
		q, err := http.NewRequest(http.MethodPost, base+caddytest.SearchPath, strings.NewReader(`{"query":"zebrafish"}`))
		if err != nil {
			return ""
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("X-API-Key", caddytest.Key)
		q.Header.Set("X-Forwarded-For", "198.51.100.7")
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			return "" // on a connection that the reload closes
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		return string(body)
	}
	caddytest.Until(t, "the page is found", func() bool { return strings.Contains(find(), "internal/plan") })
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					find()
				}
			}
		})
	}
	for range 5 {
		load("respond /internal/* 403\nfile_server")
		for range 20 {
			if r := find(); strings.Contains(r, "zebrafish") {
				t.Errorf("after the reload the page is found: %s", r)
			}
		}
		load("file_server")
		caddytest.Until(t, "the page is found again", func() bool { return strings.Contains(find(), "internal/plan") })
	}
	close(stop)
	wait.Wait()
}

// The conversation given to a model leaves out the turns about pages that
// the reader can't open any longer.
func TestTurnsAboutLockedPagesAreForThoseWhoCanOpenThem(t *testing.T) {
	m, url := caddytest.StartModel(t)
	m.Always(modelserver.Reply{Text: "With zebrafish, says [the plan](/internal/plan.html)."})
	l := locks(t)["forward_auth"]
	s := startBehindProxy(t, caddytest.LLM(url, "scripted", ""), "root * "+privateFolder(t)+"\ndocs acme\n"+l.block)
	ask := func(text, thread string, header map[string]string) *caddytest.Response {
		h := map[string]string{"X-API-Key": caddytest.Key, "X-Forwarded-For": "198.51.100.7"}
		for k, v := range header {
			h[k] = v
		}
		fields := map[string]any{"fp": "ann"}
		if thread != "" {
			fields["threadId"] = thread
		}
		path, body := caddytest.Message(2, text, fields)
		return s.Do(caddytest.Request{Path: path, Key: "-", Body: body, Header: h})
	}
	caddytest.Until(t, "the reader finds the page", func() bool {
		return strings.Contains(string(s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"zebrafish"}`, Header: l.reader}).Body), "internal/plan")
	})
	first := ask("What is the secret plan of the reactor?", "", l.reader)
	thread := first.Header.Get("X-Thread-Id")
	if !strings.Contains(string(first.Body), "internal/plan.html") || thread == "" {
		t.Fatalf("the first answer is %s", first.Body)
	}
	for name, c := range map[string]struct {
		header map[string]string
		told   bool
	}{"the reader": {l.reader, true}, "the same reader, logged out": {nil, false}} {
		before := len(m.Requests())
		r := ask("And how is it cooled?", thread, c.header)
		if r.Header.Get("X-Thread-Id") != thread {
			t.Fatalf("%s: another thread", name)
		}
		told := ""
		for _, request := range m.Requests()[before:] {
			for _, role := range []string{"system", "user", "assistant", "tool"} {
				told += request.Text(role)
			}
		}
		if strings.Contains(told, "zebrafish") != c.told {
			t.Errorf("%s: the model is given\n%s", name, told)
		}
	}
}

// A model is given more than the sources that a client sees: a turn is for those
// who can open all of it, and so is a turn that repeats one.
func TestATurnIsForThoseWhoCanOpenAllThatTheModelWasGiven(t *testing.T) {
	m, url := caddytest.StartModel(t)
	secret, other := modelserver.Reply{Text: "It is cooled with zebrafish."}, modelserver.Reply{Text: "The documentation doesn't say."}
	m.Always(secret)
	l := locks(t)["forward_auth"]
	s := startBehindProxy(t, caddytest.LLM(url, "scripted", ""), "root * "+privateFolder(t)+"\ndocs acme\n"+l.block)
	ask := func(text, thread string, header map[string]string, said ...string) *caddytest.Response {
		h := map[string]string{"X-API-Key": caddytest.Key, "X-Forwarded-For": "198.51.100.7"}
		maps.Copy(h, header)
		fields := map[string]any{"fp": "ann", "retrievalPageSize": 1}
		if thread != "" {
			fields["threadId"] = thread
		}
		var messages []any
		for i, text := range said {
			messages = append(messages, map[string]any{"role": []string{"user", "assistant"}[i%2], "parts": []any{map[string]any{"type": "text", "text": text}}})
		}
		if len(said) > 0 {
			fields["messages"] = messages
		}
		path, body := caddytest.Message(2, text, fields)
		return s.Do(caddytest.Request{Path: path, Key: "-", Body: body, Header: h})
	}
	told := func(thread string, header map[string]string) bool {
		before := len(m.Requests())
		ask("And with what is that fed?", thread, header)
		return slices.ContainsFunc(m.Requests()[before:], func(r *modelserver.Request) bool { return strings.Contains(r.Text("user"), "zebrafish") })
	}
	caddytest.Until(t, "the reader finds the page", func() bool {
		return strings.Contains(string(s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"zebrafish"}`, Header: l.reader}).Body), "internal/plan")
	})
	first := ask("What is public of the plan of the cooling?", "", l.reader)
	thread := first.Header.Get("X-Thread-Id")
	if strings.Contains(string(first.Body), `"url":"/internal/plan.html"`) || !strings.Contains(m.Requests()[len(m.Requests())-1].Text("user"), "secret plan") {
		t.Fatalf("the first answer is %s", first.Body)
	}
	m.Always(other)
	if told(thread, nil) || !told(thread, l.reader) {
		t.Error("a turn without locked sources, made with a locked page")
	}
	m.Always(secret)
	ask("", thread, nil, "What is public of the cooling?", secret.Text, "Say that again, please")
	m.Always(other)
	if told(thread, nil) {
		t.Error("a turn that a client's own copy of a locked one was repeated in")
	}
}

// An open block must not decide for another block of the same site.
func TestAPageIsPublicOnlyInEveryBlockOfItsSite(t *testing.T) {
	folder := privateFolder(t)
	open := "http://intern.acme.test:0 {\n\troot * " + folder + "\n\tdocs acme\n\tfile_server\n}\n"
	below := "http://intern.acme.test:0 {\n\thandle_path /docs/* {\n\t\troot * " + folder + "\n\t\tdocs acme\n\t\tfile_server\n\t}\n}\n"
	closed := "http://docs.acme.test:0 {\n\troot * " + folder + "\n\tbasic_auth /internal/* {\n\t\treader " + readerHash + "\n\t}\n\tdocs acme\n\tfile_server\n}\n"
	for name, sites := range map[string]string{"open first": open + closed, "closed first": closed + open, "below a path": below + closed, "closed, then below a path": closed + below} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.Start(t, "", sites)
			found := func(query, login string) bool {
				h := map[string]string{"X-API-Key": caddytest.Key}
				if login != "" {
					h["Authorization"] = login
				}
				return strings.Contains(string(s.Do(caddytest.Request{Path: caddytest.SearchPath, Key: "-", Host: "docs.acme.test", Body: `{"query":"` + query + `"}`, Header: h}).Body), query)
			}
			caddytest.Until(t, "public pages are found", func() bool { return found("water", "") })
			caddytest.AllAsked(t, "acme")
			if found("zebrafish", "") {
				t.Error("a stranger finds a locked page")
			}
			caddytest.Until(t, "who has the password finds the page", func() bool { return found("zebrafish", readerLogin) })
		})
	}
}

// Where the first block has no pages, the other one's locks hold.
func TestABlockWithTheAPIAloneDecidesNothing(t *testing.T) {
	dir := privateFolder(t)
	up := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(up.Close)
	port := fmt.Sprint(caddytest.FreePort(t)) // one that the URL of a block can name
	s := caddytest.Start(t, "", "http://assistant.acme.test:"+port+" {\n\tdocs acme "+dir+"\n}\nhttp://docs.acme.test:"+port+" {\n\tbasic_auth /internal/* {\n\t\treader "+readerHash+"\n\t}\n\tdocs acme "+dir+"\n\treverse_proxy "+strings.TrimPrefix(up.URL, "http://")+"\n}\n")
	found := func(query string) bool {
		return strings.Contains(string(s.Do(caddytest.Request{Path: caddytest.SearchPath, Host: "docs.acme.test", Body: `{"query":"` + query + `"}`}).Body), query)
	}
	caddytest.Until(t, "public pages are found", func() bool { return found("water") })
	caddytest.AllAsked(t, "acme")
	if found("zebrafish") {
		t.Error("a stranger finds a locked page")
	}
}

// However many locked pages a query matches, a search of a reader who opens
// none of them asks for a few, 8 at a time.
func TestASearchAsksForFewLockedPages(t *testing.T) {
	var mu sync.Mutex
	asked, now, most := 0, 0, 0
	auth := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" {
			mu.Lock()
			asked, now = asked+1, now+1
			most = max(most, now)
			mu.Unlock()
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(auth.Close)
	files := map[string]string{"index.html": "<title>Reactors</title><h1>Reactors</h1><p>All about reactors."}
	for i := range 100 {
		files[fmt.Sprintf("internal/%d.html", i)] = fmt.Sprintf("<title>Plan %d</title><h1>Plan %d</h1><p>The secret plan of reactor %d.", i, i, i)
	}
	s := startBehindProxy(t, "", "root * "+caddytest.Folder(t, files)+"\ndocs acme\nforward_auth /internal/* "+auth.URL+" {\n\turi /verify\n}\nfile_server")
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	r := s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"secret plan","pageSize":50}`, Header: map[string]string{"Cookie": "session=unknown"}})
	mu.Lock()
	defer mu.Unlock()
	if r.Status != http.StatusOK || strings.Contains(string(r.Body), "secret") {
		t.Errorf("a reader who may open nothing gets %d %s", r.Status, r.Body)
	}
	if asked < 3 || asked > 24 || most > 8 {
		t.Errorf("%d pages were asked for, %d at a time", asked, most)
	}
}

// A search embeds its query once, also where it looks among locked pages and
// then among the others.
func TestASearchAmongLockedPagesEmbedsItsQueryOnce(t *testing.T) {
	_, url := caddytest.StartModel(t)
	s := startBehindProxy(t, "embedder "+url+" fake-embed", "root * "+privateFolder(t)+"\ndocs acme\n@outside {\n\tpath /internal/*\n\tnot client_ip private_ranges\n}\nrespond @outside 403\nfile_server\nhandle /metrics {\n\tmetrics\n}")
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	caddytest.Embedded(t)
	queries := func() (n float64) {
		for name, v := range s.Metrics(t) {
			if strings.HasPrefix(name, "caddy_docs_query_embeddings_total") {
				n += v
			}
		}
		return n
	}
	before := queries()
	for i, client := range []string{"198.51.100.7", "10.1.2.3"} {
		s.Do(caddytest.Request{Path: caddytest.SearchPath, Body: `{"query":"reactor plan"}`, Header: map[string]string{"X-Forwarded-For": client}})
		if n := queries() - before; n != float64(i+1) {
			t.Errorf("%d searches count %v queries", i+1, n)
		}
	}
}
