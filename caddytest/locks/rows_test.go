//go:build unix

package locks

import (
	"crypto/rand"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// table has every lock that is tested, and what else keeps pages from clients.
func table() []*row {
	// internal is a matcher for the pages that are locked for all but some.
	internal := func(but string) string { return "@out {\npath /internal/*\nnot " + but + "\n}\n" }
	const files = "file_server\n"
	staff := with("a reader", "Cookie", "theme=dark; session=staff", manual)
	guest := with("a guest", "Cookie", "session=guest", open)
	office := from("the office", office, manual)
	login := with("a reader", "Authorization", readerLogin, manual)
	wrong := with("a reader with a wrong password", "Authorization", wrongLogin, open)
	nobody := with("a reader with a cookie", "Cookie", "session=staff", nil)
	// refuses is a site all of whose pages have one response.
	refuses := func(name string, h http.HandlerFunc) *row {
		return &row{name: name, after: "reverse_proxy {origin}", origin: h, readers: []client{nobody}}
	}
	// behind is a site whose server shows its pages to staff, and has something
	// else for others.
	behind := func(name string, else_ http.HandlerFunc) *row {
		return &row{name: name, after: "reverse_proxy {origin}", origin: own(isStaff, manual, nil, else_), stranger: open, readers: []client{staff, guest}}
	}
	return []*row{
		{name: "no lock", after: files, stranger: manual},
		{name: "basic_auth on a folder", after: "basic_auth /internal/* {\nreader {hash}\n}\n" + files, stranger: open, readers: []client{login, wrong}},
		{name: "basic_auth on a page", after: "basic_auth /internal/plan.html {\nreader {hash}\n}\n" + files, stranger: without(plan), readers: []client{login}},
		{name: "basic_auth everywhere", after: "basic_auth {\nreader {hash}\n}\n" + files, readers: []client{login, with("a wrong password", "Authorization", wrongLogin, nil)}},
		{name: "basic_auth in a handle", after: "handle /internal/* {\nbasic_auth {\nreader {hash}\n}\nfile_server\n}\nhandle {\nfile_server\n}\n", stranger: open, readers: []client{login, wrong}},
		{name: "respond 403 outside of a network", after: internal("client_ip private_ranges") + "respond @out 403\n" + files, stranger: open, readers: []client{office}},
		{name: "respond 404 outside of a network", after: internal("client_ip private_ranges") + "respond @out 404\n" + files, stranger: open, readers: []client{office}},
		{name: "respond 404 outside of a network, for the whole site", after: "@outside not client_ip private_ranges\nrespond @outside 404\n" + files, readers: []client{office, nobody}},
		{name: "a file server for a network alone", after: "@office client_ip private_ranges\nhandle @office {\nfile_server\n}\n", readers: []client{office, nobody}},
		{name: "a handle for a network", after: "handle /internal/* {\n@lan client_ip private_ranges\nhandle @lan {\nfile_server\n}\nhandle {\nrespond 403\n}\n}\nhandle {\nfile_server\n}\n", stranger: open, readers: []client{office}},
		{name: "error 403", after: internal("client_ip private_ranges") + "error @out 403\n" + files, stranger: open, readers: []client{office}},
		{name: "error 403 with a page for it", after: internal("client_ip private_ranges") + "error @out 403\nhandle_errors {\nrewrite * /index.html\nfile_server\n}\n" + files, stranger: open, readers: []client{office}},
		{name: "abort", after: internal("client_ip private_ranges") + "abort @out\n" + files, stranger: open, readers: []client{office}},
		{name: "a redirect to a login on the host", after: internal("header Cookie *session=staff*") + "redir @out /guide/one.html\n" + files, stranger: open, readers: []client{staff, guest}},
		{name: "a redirect to another host", after: internal("header Cookie *session=staff*") + "redir @out https://login.test/?to={uri}\n" + files, stranger: open, readers: []client{staff, guest}},
		{name: "a redirect to a welcome with the path", after: internal("header Cookie *session=staff*") + "redir @out /welcome{uri}\nhandle /welcome/* {\nheader Content-Type text/html\nrespond \"<h1>Welcome</h1><p>Log in to read the manual of valves and pumps.\" 200\n}\nhandle {\nfile_server\n}\n", stranger: open, readers: []client{staff, guest}},
		{name: "path_regexp", after: "@out {\npath_regexp ^/internal/(plan|deep)\nnot header Cookie *session=staff*\n}\nrespond @out 403\n" + files, stranger: open, readers: []client{staff, guest}, tells: true},
		{name: "an expression", after: "@out expression `{http.request.uri.path}.startsWith(\"/internal/\") && {http.request.cookie.team} != \"red\"`\nrespond @out 403\n" + files, stranger: open, readers: []client{with("the red team", "Cookie", "team=red", manual), guest}},
		{name: "vars", after: "@out {\npath /internal/*\nnot vars {http.request.cookie.team} red\n}\nrespond @out 403\n" + files, stranger: open, readers: []client{with("the red team", "Cookie", "team=red", manual), guest}},
		{name: "a header of a proxy", after: internal("header X-Team red") + "respond @out 403\n" + files, stranger: open, readers: []client{with("the red team", "X-Team", "red", manual), with("the blue team", "X-Team", "blue", open)}},
		{name: "a language", after: internal("header Accept-Language de*") + "respond @out 403\n" + files, stranger: open, readers: []client{with("a German", "Accept-Language", "de-DE", manual)}},
		{name: "groups in cookies", after: "@plan {\npath /internal/plan*\nnot header_regexp Cookie group=(red|blue)\n}\nrespond @plan 403\n@deep {\npath /internal/deep/*\nnot header_regexp Cookie group=red\n}\nrespond @deep 403\n" + files, stranger: open, readers: []client{
			with("the red group", "Cookie", "group=red", manual), with("the blue group", "Cookie", "group=blue", without(deep)), guest,
		}, tells: true},
		{name: "remote_ip", after: internal("remote_ip 127.0.0.9") + "respond @out 403\n" + files, stranger: open, readers: []client{{name: "the right address", from: "127.0.0.9", opens: manual}, {name: "another address", from: "127.0.0.8", opens: open}}},
		{name: "client_ip behind a proxy that appends", after: internal("client_ip 10.0.0.0/8") + "respond @out 403\n" + files, stranger: open, readers: []client{from("the right address", "10.9.9.9", manual), from("a forger", "10.9.9.9, "+outside, open)}},
		{name: "a client certificate", before: "tls {\nclient_auth {\nmode verify_if_given\ntrust_pool file {pool}\n}\n}\n", after: "@out {\npath /internal/*\nvars {http.request.tls.client.subject} \"\"\n}\nrespond @out 403\n" + files, stranger: open, readers: []client{{name: "a reader with a certificate", certificate: true, header: map[string]string{"X-Forwarded-For": outside}, opens: manual}}},
		{name: "hidden files", after: "file_server {\nhide internal\n}\n", stranger: open, readers: []client{nobodyBut(open)}},
		{name: "forward_auth on a folder", after: "forward_auth /internal/* {auth} {\nuri /verify\n}\n" + files, login: staffOnly, stranger: open, readers: []client{staff, guest}},
		{name: "forward_auth everywhere", after: "forward_auth {auth} {\nuri /verify\n}\n" + files, login: staffOnly, readers: []client{staff, nobodyNamed("guest")}},
		{name: "forward_auth with a list for each reader", after: "forward_auth /internal/* {auth} {\nuri /verify\n}\n" + files, login: lists, stranger: open, readers: []client{
			with("Ann", "Cookie", "session=ann", without(deep)), with("Bob", "Cookie", "session=bob", without(plan)), guest,
		}},
		behind("a server with its own login", status(http.StatusUnauthorized)),
		behind("a login with the status 200", page("<title>Log in</title><h1>Log in</h1><form>Password</form>")),
		behind("a login with a token", func(w http.ResponseWriter, r *http.Request) {
			page("<title>Log in</title><h1>Log in</h1><form><input name=csrf value="+rand.Text()+">Password "+rand.Text()+"</form>")(w, r)
		}),
		behind("a login with the path", func(w http.ResponseWriter, r *http.Request) {
			page("<title>Log in</title><h1>Log in</h1><p>To read "+r.URL.Path+", log in.")(w, r)
		}),
		behind("a login among what other pages say", page(strings.ReplaceAll(strings.ReplaceAll(one.html, one.proof, ""), one.key, ""))),
		behind("an empty 200", func(http.ResponseWriter, *http.Request) {}),
		behind("the beginning of each page", func(w http.ResponseWriter, r *http.Request) {
			d := docAt(manual, r.URL.Path)
			if d == nil {
				http.NotFound(w, r)
				return
			}
			begin, _, _ := strings.Cut(strings.ReplaceAll(d.html, d.title, "a page"), "<!-- a comment -->")
			begin = begin[:len(begin)-len(begin)/4]
			page(begin+" Log in to read on.")(w, r)
		}),
		{name: "Members only, 200, at a page", after: "@out {\npath /internal/plan.html\nnot header Cookie *session=staff*\n}\nhandle @out {\nheader Content-Type text/html\nrespond \"<h1>Members only</h1>\" 200\n}\nhandle {\nfile_server\n}\n", stranger: without(plan), readers: []client{staff}},
		{name: "Members only, 200, in a folder", after: internal("header Cookie *session=staff*") + "handle @out {\nheader Content-Type text/html\nrespond \"<h1>Members only</h1>\" 200\n}\nhandle {\nfile_server\n}\n", stranger: open, readers: []client{staff, guest}},
		{name: "Members only, 200, everywhere", after: "@out not header Cookie *session=staff*\nhandle @out {\nheader Content-Type text/html\nrespond \"<h1>Members only</h1>\" 200\n}\nhandle {\nfile_server\n}\n", readers: []client{staff, nobodyNamed("guest")}},
		refuses("one shell for all addresses", page("<!doctype html><title>Manual</title><div id=app></div><script src=/app.js></script>")),
		refuses("all pages 404", status(http.StatusNotFound)),
		refuses("all pages 410", status(http.StatusGone)),
		refuses("all pages 451", status(http.StatusUnavailableForLegalReasons)),
		refuses("all pages 429", status(http.StatusTooManyRequests)),
		refuses("all pages 500", status(http.StatusInternalServerError)),
		refuses("all pages 503", status(http.StatusServiceUnavailable)),
		refuses("all pages a connection that ends", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		{name: "all pages of a server that is gone", after: "reverse_proxy 127.0.0.1:1", readers: []client{nobody}},
		{name: "all pages of a server that hangs", after: "reverse_proxy {origin}", origin: hang, docs: []*doc{front, plan}, readers: []client{nobody}, hangs: true},
		refuses("all pages another type", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(w, "%PDF")
		}),
		{name: "pages of a single-page application, with a lock", after: "reverse_proxy {origin}", origin: own(isStaff, manual, nil, page(front.html)), stranger: open, readers: []client{staff}},
		{name: "templates", after: "templates\n" + internal("header Cookie *session=staff*") + "respond @out 403\n" + files, docs: templated, stranger: templated[:2], readers: []client{with("a reader", "Cookie", "session=staff", templated)}},
		{name: "minified HTML", after: "reverse_proxy {origin}", origin: own(isStaff, manual, minified, status(http.StatusForbidden)), stranger: open, readers: []client{staff}},
		{name: "HTML with other entities", after: "reverse_proxy {origin}", origin: own(isStaff, manual, entities, status(http.StatusForbidden)), stranger: open, readers: []client{staff}},
		{name: "HTML with a banner and scripts", after: "reverse_proxy {origin}", origin: own(isStaff, manual, decorated, status(http.StatusForbidden)), stranger: open, readers: []client{staff}},
		{name: "pages of three words", after: internal("header Cookie *session=staff*") + "respond @out 403\n" + files, docs: short, stranger: short[:2], readers: []client{with("a reader", "Cookie", "session=staff", short)}},
		{name: "pages of three words behind a login with 200", after: "reverse_proxy {origin}", origin: own(isStaff, short, nil, page("<title>Log in</title><h1>Log in</h1>")), docs: short, stranger: short[:2], readers: []client{with("a reader", "Cookie", "session=staff", short)}},
		{name: "pages of three words, minified", after: "reverse_proxy {origin}", origin: own(isStaff, short, minified, status(http.StatusForbidden)), docs: short, stranger: short[:2], readers: []client{with("a reader", "Cookie", "session=staff", short)}},
		{name: "Markdown as it is", after: internal("header Cookie *session=staff*") + "respond @out 403\n" + files, docs: markdown, stranger: markdown[:2], readers: []client{with("a reader", "Cookie", "session=staff", markdown)}, tells: true},
		{name: "Markdown that a template renders", lines: "exclude /_site/*\n", after: "basic_auth /internal/* {\nreader {hash}\n}\n@page file {path}.md\nhandle @page {\nrewrite @page /_site/page.html\ntemplates\nfile_server\n}\n", docs: rendered, stranger: rendered[:2], readers: []client{with("a reader", "Authorization", readerLogin, rendered)}, tells: true},
		{name: "Markdown that is rendered before basic_auth", lines: "exclude /_site/*\n", after: "basic_auth /internal/* {\nreader {hash}\n}\n@page file {path}.md\nrewrite @page /_site/page.html\ntemplates\nfile_server\n", docs: rendered, stranger: rendered, tells: true},
		{name: "a bot on pages", after: "@bot {\nheader User-Agent *BadBot*\npath /guide/*\n}\nrespond @bot 403\n" + files, stranger: manual, readers: []client{with("a bot", "User-Agent", "BadBot/1.0", []*doc{front, plan, deep})}, tells: true},
		{name: "a locked page above open ones", after: "@out {\npath /office/ /office/index.html\nnot header Cookie *session=staff*\n}\nrespond @out 403\n" + files, docs: below, stranger: []*doc{below[0], below[2]}, readers: []client{with("a reader", "Cookie", "session=staff", below), with("a guest", "Cookie", "session=guest", []*doc{below[0], below[2]})}, tells: true},
		{name: "a lock in a named route", after: "invoke lock\n" + files, stranger: open, readers: []client{staff, guest}},
		{name: "one page for all that is missing, and hidden files", after: "try_files {path} {path}/index.html /index.html\nfile_server {\nhide internal\n}\n", stranger: open, readers: []client{nobodyBut(open)}},
		{name: "404 behind a page with 200", after: internal("header Cookie *session=staff*") + "error @out 404\nhandle_errors {\nrewrite * /guide/one.html\nfile_server {\nstatus 200\n}\n}\n" + files, stranger: open, readers: []client{staff, guest}},
		{name: "a lock by a map", after: "map {http.request.cookie.session} {allowed} {\nstaff yes\ndefault no\n}\n@out {\npath /internal/*\nvars {allowed} no\n}\nrespond @out 401\n" + files, stranger: open, readers: []client{staff, guest}},
		{name: "locks off", lines: "locks off\n", after: "respond /internal/* 403\n" + files, stranger: open, everything: true},
	}
}

// without returns manual without a page.
func without(d *doc) (rest []*doc) {
	for _, p := range manual {
		if p != d {
			rest = append(rest, p)
		}
	}
	return rest
}

func nobodyBut(opens []*doc) client { return with("a reader", "Cookie", "session=staff", opens) }

func nobodyNamed(session string) client {
	return with("a "+session, "Cookie", "session="+session, nil)
}

// isStaff reports whether a client has a session.
func isStaff(r *http.Request) bool { return session(r) == "staff" }

func session(r *http.Request) string {
	c, err := r.Cookie("session")
	if err != nil {
		return ""
	}
	return c.Value
}

// staffOnly is an authentication server.
func staffOnly(w http.ResponseWriter, r *http.Request) {
	if !isStaff(r) {
		http.Redirect(w, r, "https://login.test/?to="+r.Header.Get("X-Forwarded-Uri"), http.StatusFound)
	}
}

// lists is an authentication server that knows who may open what.
func lists(w http.ResponseWriter, r *http.Request) {
	uri, who := r.Header.Get("X-Forwarded-Uri"), session(r)
	if who == "ann" && strings.HasPrefix(uri, "/internal/plan") || who == "bob" && strings.HasPrefix(uri, "/internal/deep/") {
		return
	}
	w.WriteHeader(http.StatusForbidden)
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func page(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text) //nolint:gosec // a test's
	}
}

// hang answers nothing for longer than any patience.
func hang(_ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(time.Minute):
	}
	panic(http.ErrAbortHandler)
}

func docAt(docs []*doc, p string) *doc {
	for _, d := range docs {
		if d.path == p {
			return d
		}
	}
	return nil
}

// own is a site's own server: it shows pages below /internal/ to some readers,
// and has something else for others. change is what it does to the files.
func own(may func(*http.Request) bool, docs []*doc, change func(string) string, or http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d := docAt(docs, r.URL.Path)
		switch {
		case strings.HasPrefix(r.URL.Path, "/internal/") && !may(r):
			or(w, r)
		case d == nil:
			http.NotFound(w, r)
		case change != nil:
			page(change(d.html))(w, r)
		default:
			page(d.html)(w, r)
		}
	}
}

var (
	spaces   = regexp.MustCompile(`\s+`)
	comments = regexp.MustCompile(`<!--.*?-->`)
	optional = regexp.MustCompile(`</(p|li|html|body|head)>|<(html|head|body)>`)
)

// minified is HTML as minifiers write it.
func minified(text string) string {
	text = comments.ReplaceAllString(text, "")
	text = optional.ReplaceAllString(text, "")
	text = spaces.ReplaceAllString(text, " ")
	text = strings.ReplaceAll(text, "> <", "><")
	return strings.ReplaceAll(strings.ReplaceAll(text, `"`, ""), "&amp; ", "& ")
}

// entities is HTML with every letter outside of ASCII, and some in it, as an
// entity.
func entities(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r > 126 {
			fmt.Fprintf(&b, "&#x%X;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return strings.NewReplacer(" valve ", " v&#97;lve&nbsp;", " pump ", "&#32;pump&#x20;", "&amp;", "&#38;", " word ", " w&shy;ord ").Replace(b.String())
}

// decorated is HTML with what a proxy adds.
func decorated(text string) string {
	text = strings.Replace(text, "<main>", "<div class=banner>A new version is out! "+html.EscapeString("We use <cookies>")+"</div><script>var site={};</script><main>", 1)
	return strings.Replace(text, "</body>", "<script>track()</script><div id=chat>Chat with us about anything</div></body>", 1)
}

// templated are pages that Caddy's templates render.
var templated = func() (docs []*doc) {
	for _, d := range []*doc{newDoc("/"), newDoc("/guide/one.html"), newDoc("/internal/plan.html")} {
		d.html = strings.Replace(d.html, "<h2", "<p>Written in {{now | date \"2006\"}} for {{.Host}}: {{range (list \"a\" \"b\")}}item {{.}} {{end}}</p>\n<h2", 1)
		docs = append(docs, d)
	}
	return docs
}()

// short are pages of three words.
var short = func() (docs []*doc) {
	for _, p := range []string{"/", "/red.html", "/internal/blue.html"} {
		d := newDoc(p)
		d.html = "<title>" + d.title + "</title><main><h1>" + d.title + "</h1><p>" + d.key + " " + d.proof + ".</p></main>"
		docs = append(docs, d)
	}
	return docs
}()

// below are a folder's front page, and a page below it.
var below = []*doc{newDoc("/"), newDoc("/office/"), newDoc("/office/one.html")}

// markdown are pages that are served as Markdown.
var markdown = func() (docs []*doc) {
	for _, p := range []string{"/start.md", "/guide/one.md", "/internal/plan.md"} {
		docs = append(docs, inMarkdown(newDoc(p)))
	}
	return docs
}()

func inMarkdown(d *doc) *doc {
	text := regexp.MustCompile(`(?s)<main>(.*)</main>`).FindStringSubmatch(d.html)[1]
	text = comments.ReplaceAllString(text, "")
	text = strings.NewReplacer("<h1>", "# ", "</h1>", "\n", `<h2 id="details">`, "\n## ", "</h2>", "\n", "<p>", "", "</p>", "\n", "&amp;", "&").Replace(text)
	d.html = "---\ntitle: About " + d.title + "\n---\n\n" + strings.TrimSpace(text) + "\n"
	return d
}

// rendered are Markdown pages at URLs without an extension, with the template
// that renders them.
var rendered = func() (docs []*doc) {
	for _, p := range []string{"/start", "/guide/one", "/internal/plan"} {
		d := inMarkdown(newDoc(p))
		d.file += ".md"
		docs = append(docs, d)
	}
	return docs
}()

// template is the file of the manual's recipe.
const template = `{{- $page := readFile (printf "%s.md" .OriginalReq.URL.Path) | splitFrontMatter -}}
<!doctype html>
<html lang="en"><head><title>{{$page.Meta.title}}</title></head><body><main>{{markdown $page.Body}}</main></body></html>
`
