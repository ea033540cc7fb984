//go:build unix

package locks

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// outages are sites that depend on something that goes away, and what it
// responds with then. Those without a response depend on a server that dies.
func outages() []*row {
	const files = "file_server\n"
	staff := with("a reader", "Cookie", "session=staff", manual)
	guest := with("a guest", "Cookie", "session=guest", open)
	folder := func(name string, fault http.HandlerFunc) *row {
		return &row{name: name, after: "forward_auth /internal/* {auth} {\nuri /verify\n}\n" + files, login: staffOnly, fault: fault, stranger: open, readers: []client{staff, guest}}
	}
	server := func(name string, fault http.HandlerFunc) *row {
		return &row{name: name, after: "reverse_proxy {origin}", origin: own(isStaff, manual, nil, status(http.StatusUnauthorized)), fault: fault, stranger: open, readers: []client{staff, guest}}
	}
	end := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	slow := folder("an authentication server that hangs", hang)
	slow.hangs = true
	return []*row{
		{name: "an authentication server that dies", after: "forward_auth /internal/* {mortal} {\nuri /verify\n}\n" + files, docs: copies(manual), stranger: open, readers: []client{staff, guest}},
		{name: "an authentication server of the whole site that dies", after: "forward_auth {mortal} {\nuri /verify\n}\n" + files, docs: copies(manual), readers: []client{staff, nobodyNamed("guest")}},
		folder("an authentication server that is overloaded", status(http.StatusServiceUnavailable)),
		folder("an authentication server that ends connections", end),
		folder("an authentication server that answers 404", status(http.StatusNotFound)),
		slow,
		server("a server that is overloaded", status(http.StatusServiceUnavailable)),
		server("a server that ends connections", end),
		server("a server that limits requests", status(http.StatusTooManyRequests)),
		forgetful(server("a server that lost its pages", status(http.StatusNotFound))),
		forgetful(server("a server under maintenance", page("<title>Maintenance</title><h1>Back soon</h1>"))),
		{name: "a server without a lock that is overloaded", after: "reverse_proxy {origin}", origin: own(isStaff, manual[:2], nil, nil), docs: copies(manual[:2]), fault: status(http.StatusServiceUnavailable), stranger: manual[:2], keeps: true},
	}
}

// forgetful is a site that says that its pages are gone: they come back when they
// are renewed, minutes later.
func forgetful(r *row) *row {
	r.forgets = true
	return r
}

// copies returns the pages as another slice: a row with one has a separate
// folder.
func copies(docs []*doc) []*doc { return append([]*doc(nil), docs...) }

// An outage publishes nothing: not while it lasts, not for pages that change
// meanwhile, not across a reload, and not after it. Afterwards everybody has
// again what is theirs.
func TestAnOutagePublishesNothing(t *testing.T) {
	w := newWorld(t, outages())
	w.load(t)
	w.settle(t)
	before := make(map[*row]truth)
	for _, r := range w.rows {
		before[r] = w.truth(r)
	}
	now := w.truth
	began := time.Now()
	phase := func(what string) {
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
		began = time.Now()
	}
	w.each(func(r *row) { w.shown(r, before[r], before[r], 2*time.Second) })

	phase("before the outage")
	w.phase = 1
	for _, r := range w.rows {
		w.setFault(r.host, r.fault)
	}
	w.mortal.die()
	w.each(func(r *row) {
		must := nothing(r)
		w.shown(r, before[r], must, 0)
		if r.keeps { // what was proven stays
			res, err := w.send(r, &r.clients()[0], searchFor(r, one.key))
			if err != nil || !hasProof(string(res.Body), one) {
				r.errorf("a page that was proven public is not found in an outage: %v", err)
			}
		}
	})

	phase("the outage")

	// The pages change, so that they must be asked for again.
	for _, r := range w.rows {
		files := make(map[string]string)
		for _, d := range r.pages() {
			files[d.file] = strings.Replace(d.html, "</main>", "<p>It has changed.</p></main>", 1)
		}
		caddytest.Write(t, r.root, files)
	}
	caddytest.Until(t, "the pages have changed", func() bool {
		for _, r := range w.rows {
			for _, d := range caddytest.App(t).Site(r.site).Index.Documents() {
				d, err := caddytest.App(t).Site(r.site).Index.Page(t.Context(), d.Page)
				if err != nil || d == nil || !strings.Contains(d.Sections[len(d.Sections)-1].Text, "has changed") {
					return false
				}
			}
		}
		return true
	})
	w.each(func(r *row) {
		if !r.hangs {
			w.shown(r, now(r), nothing(r), 0)
		}
	})
	w.settle(t)
	w.each(func(r *row) { w.shown(r, now(r), nothing(r), 0) })

	phase("changed pages in the outage")
	w.phase, w.extra = 2, "header X-Phase 2"
	w.load(t)
	w.each(func(r *row) {
		if !r.hangs {
			w.shown(r, now(r), nothing(r), 0)
		}
	})
	w.settle(t)
	w.each(func(r *row) { w.shown(r, now(r), now(r), 2*time.Second) })

	phase("a reload in the outage")
	w.phase = 3
	for _, r := range w.rows {
		w.setFault(r.host, nil)
	}
	w.mortal.live(t)
	w.each(func(r *row) { w.shown(r, now(r), nothing(r), 0) })
	w.each(func(r *row) {
		must := now(r)
		if r.forgets {
			must = nothing(r)
		}
		w.shown(r, now(r), must, caddytest.Patience)
	})
	phase("after the outage")
	w.report(t)
}

func nothing(r *row) truth {
	all := make(truth, len(r.clients()))
	for i := range all {
		all[i] = map[*doc]bool{}
	}
	return all
}

func (w *world) setFault(host string, fault http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if fault == nil {
		delete(w.faults, host)
		return
	}
	w.faults[host] = fault
}

// A client that is refused the front page that strangers get is refused
// everything else, with the same status. So is what the site's own routes refuse
// a bot.
func TestClientsThatAreRefusedAreRefusedEverywhere(t *testing.T) {
	bot := with("a bot", "User-Agent", "BadBot/1.0", nil)
	bad := from("an address on a list", denied, nil)
	w := newWorld(t, []*row{
		{name: "a list of addresses", after: "@bad client_ip 203.0.113.0/24\nrespond @bad 403\nfile_server\n", stranger: manual, readers: []client{bad}, refuses: http.StatusForbidden},
		{name: "a list of addresses, for legal reasons", after: "@bad client_ip 203.0.113.0/24\nerror @bad 451\nfile_server\n", stranger: manual, readers: []client{bad}, refuses: http.StatusUnavailableForLegalReasons},
		{name: "a bot", after: "@bot header User-Agent *BadBot*\nrespond @bot 403\nfile_server\n", stranger: manual, readers: []client{bot}, refuses: http.StatusForbidden},
		{name: "a bot that a handle refuses", after: "@bot header User-Agent *BadBot*\nhandle @bot {\nrespond 403\n}\nhandle {\nfile_server\n}\n", stranger: manual, readers: []client{bot}, refuses: http.StatusForbidden},
		{name: "a bot that gets another page", after: "@bot header User-Agent *BadBot*\nhandle @bot {\nheader Content-Type text/html\nrespond \"<h1>Pay first</h1>\" 402\n}\nhandle {\nfile_server\n}\n", stranger: manual, readers: []client{bot}, refuses: http.StatusPaymentRequired},
	})
	w.load(t)
	w.settle(t)
	w.each(func(r *row) {
		clients := r.clients()
		w.shown(r, w.truth(r), w.truth(r), 2*time.Second) // the stranger
		for _, ch := range channels {
			if strings.Contains(ch.name, "Try") {
				continue
			}
			for _, d := range r.pages() {
				res, err := w.send(r, &clients[1], ch.request(r, d))
				if err != nil {
					r.errorf("%s: %v", ch.name, err)
					continue
				}
				if res.Status != r.refuses && (!ch.host || res.Status != http.StatusNotFound) || strings.Contains(spoken(ch, res), d.proof) {
					r.errorf("%s for %s gets %d, not %d: %.300s", ch.name, d.path, res.Status, r.refuses, res.Body)
				}
				if ch.list {
					break
				}
			}
		}
	})
	w.reportRefused(t)
}

// reportRefused is report without what shown says of the refused: they are
// shown nothing, which shown does not know.
func (w *world) reportRefused(t *testing.T) {
	for _, r := range w.rows {
		kept := r.findings[:0]
		for _, f := range r.findings {
			if !strings.HasPrefix(f, "SHOWN: ") || !strings.Contains(f, r.readers[0].name) {
				kept = append(kept, f)
			}
		}
		r.findings = kept
	}
	w.report(t)
}

// Whether this Caddy serves a site is read from its configuration. Where it
// does not, all pages are public, as the operator wrote; where it does and none
// of them opens, nothing is shown, and the error names the ways out.
func TestWhereASiteIsServedIsReadFromTheConfiguration(t *testing.T) {
	const site = "site acme {\nroot %s\n%s\n}"
	for name, c := range map[string]struct {
		url, blocks, host string
		public            bool
		log, doctor       string
	}{
		"no server has the host of the URL": {
			"url https://docs.acme.test", "http://api.acme.test:0 {\nsearch acme\n}\n", "api.acme.test", true,
			"count as public", "all count as public",
		},
		"no server has the host, and the pages' host is another server's": {
			"url https://docs.acme.test", "http://api.acme.test:0 {\nsearch acme\n}\nhttp://other.acme.test:0 {\nrespond 403\n}\n", "api.acme.test", true,
			"count as public", "all count as public",
		},
		"nothing serves the folder": {
			"", "http://api.acme.test:0 {\nsearch acme\n}\n", "api.acme.test", true,
			"count as public", "all count as public",
		},
		"a server without a host matcher": {
			"url https://docs.acme.test", "http://:0 {\nroot * FOLDER\nsearch acme\nrespond 404\nfile_server\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a server with the host and nothing there": {
			"url https://docs.acme.test", "http://docs.acme.test:0 {\nroot * FOLDER\nsearch acme\nrespond 404\nfile_server\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a server with a wildcard host": {
			"url https://docs.acme.test", "http://*.acme.test:0 {\nroot * FOLDER\nsearch acme\nrespond 503\nfile_server\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a server that is down behind a proxy": {
			"url https://docs.acme.test", "http://docs.acme.test:0 {\nsearch acme\nreverse_proxy 127.0.0.1:1\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a block that has the folder without a lock, before that with the API": {
			"", "http://a.acme.test:0 {\nroot * FOLDER\nfile_server\n}\nhttp://docs.acme.test:0 {\nroot * FOLDER\nsearch acme\nrespond /internal/* 403\nfile_server\n}\n", "docs.acme.test", false,
			"", "",
		},
		"a block that has the folder without a lock, at another address": {
			"", "http://127.0.0.9:0 {\nbind 127.0.0.9\nroot * FOLDER\nfile_server\n}\nhttp://docs.acme.test:0 {\nroot * FOLDER\nsearch acme\nrespond /internal/* 403\nfile_server\n}\n", "docs.acme.test", false,
			"", "",
		},
		"a server with the host in Unicode": {
			"url http://docs.müller.test", "http://docs.Müller.test:0 {\nsearch acme\nreverse_proxy 127.0.0.1:1\n}\n", "docs.xn--mller-kva.test", false,
			"locks off", "locks off",
		},
		"a server with the host in Unicode that shows the page": {
			"url http://docs.müller.test", "http://docs.müller.test:0 {\nsearch acme\nroot * FOLDER\nheader X-Served here\nfile_server\n}\n", "docs.xn--mller-kva.test", true,
			"", "",
		},
		"a URL with a dot at its end": {
			"url http://DOCS.acme.test.", "http://docs.acme.test:0 {\nsearch acme\nreverse_proxy 127.0.0.1:1\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a server with two wildcards": {
			"url https://docs.acme.test", "http://*.*.test:0 {\nsearch acme\nreverse_proxy 127.0.0.1:1\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a host in a handle with a wildcard in the middle": {
			"url https://docs.acme.test", "http://:0 {\n@docs host docs.*.test\nhandle @docs {\nsearch acme\nreverse_proxy 127.0.0.1:1\n}\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a host with a placeholder": {
			"url https://docs.acme.test", "http://:0 {\nvars tenant acme\n@docs host docs.{vars.tenant}.test\nhandle @docs {\nsearch acme\nreverse_proxy 127.0.0.1:1\n}\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a server for one host, or any at a path": {
			"url http://docs.acme.test/docs", "http://intern.acme.test:0, http://:0/docs* {\nsearch acme\nuri strip_prefix /docs\nreverse_proxy 127.0.0.1:1\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a server with the host, and a block for all others": {
			"url https://docs.acme.test", "http://docs.acme.test:0 {\nsearch acme\nreverse_proxy 127.0.0.1:1\n}\nhttp://:0 {\nrespond ok\n}\n", "docs.acme.test", false,
			"locks off", "locks off",
		},
		"a server that asks another one, behind a login": {
			"url https://docs.acme.test", "http://docs.acme.test:0 {\nsearch acme\n@out not path /v1/*\nbasic_auth @out {\nreader " + readerHash + "\n}\nreverse_proxy 127.0.0.1:1\n}\n", "docs.acme.test", false,
			"", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			caddyfile := strings.Replace(caddytest.Global(w.Dir, fmt.Sprintf(site, w.shared, c.url)), "admin off", "admin unix/"+w.socket(), 1)
			if err := w.TryLoad(caddyfile + strings.ReplaceAll(c.blocks, "FOLDER", w.shared)); err != nil {
				t.Fatal(err)
			}
			acme := &row{site: "acme", host: c.host}
			stranger := &client{}
			found := func() bool {
				res, err := w.send(acme, stranger, searchFor(acme, plan.key))
				return err == nil && strings.Contains(string(res.Body), plan.proof)
			}
			caddytest.Until(t, "the log says what it is", func() bool { return strings.Contains(w.Log(), c.log) })
			if c.public {
				caddytest.Until(t, "the pages are public", found)
			}
			if !c.public {
				caddytest.Until(t, "every page was asked for", func() bool { return w.known(t, acme) })
			}
			if found() != c.public {
				t.Errorf("a stranger finds the page: %t", !c.public)
			}
			if !c.public && c.log != "" && !strings.Contains(w.Log(), "url ") {
				t.Errorf("the log does not name url:\n%s", w.Log())
			}
			if out := w.doctor(t); !strings.Contains(out, c.doctor) {
				t.Errorf("doctor does not say %q:\n%s", c.doctor, out)
			}
		})
	}
}
