package site

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// forPeople is what browsers send for a page.
const forPeople = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// longText is a text that no other page has, by its name.
func longText(name string) string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "Step %d of %s turns the %s valve by %d degrees and waits for the %s gauge. ", i, name, name, 7*i+len(name), name)
	}
	return b.String()
}

func framed(title, text string) string {
	return "<!doctype html><html lang=en><head><meta charset=utf-8><title>" + title + "</title><link rel=stylesheet href=style.css><link rel=canonical href=/canonical>" +
		"<script>document.documentElement.dataset.theme='dark'</script><script type=module src=app.js></script></head><body><nav><a href=guide/>Guide</a></nav><main><h1 id=top>" +
		title + "</h1><p>" + text + "</p></main><footer>Acme Inc.</footer></body></html>"
}

// withSlowPages returns a folder of files and of more pages than are asked for at
// once, below a-slow, and the address of a server that hangs until the test ends.
func withSlowPages(t *testing.T, files map[string]string) (dir, server string) {
	t.Helper()
	for i := range 40 {
		files[fmt.Sprintf("a-slow/%d.html", i)] = framed(fmt.Sprint("Slow ", i), longText(fmt.Sprint("slow", i)))
	}
	hangs := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hangs:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(hangs) })
	return caddytest.Folder(t, files), strings.TrimPrefix(slow.URL, "http://")
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
		t.Fatal(err)
	}
}

func TestAMovedPageIsRedirected(t *testing.T) {
	dir := caddytest.Folder(t, map[string]string{
		"index.html": framed("Acme", "Rockets."), "guide/engine.html": framed("Engine", longText("engine")), "guide/fuel.html": framed("Fuel", longText("fuel")),
		"guide/all.html": framed("Everything", longText("nozzle")),
	})
	s := caddytest.Start(t, "", "http://:0 {\n\troot "+dir+"\n\tdocs acme {\n\t\tmoved redirect\n\t}\n\tfile_server\n}\n")
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	get := func(method, path string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: method, Path: path, Key: "-", Header: map[string]string{"Accept": forPeople}})
	}
	location := func(method, path string) string {
		r := get(method, path)
		return fmt.Sprint(r.Status, " ", r.Header.Get("Location"))
	}
	rename(t, dir, "guide/engine.html", "manual/motor.html")
	caddytest.Until(t, "the page is redirected", func() bool { return location("GET", "/guide/engine.html") == "301 /manual/motor.html" })
	for method, want := range map[string]string{"HEAD": "301", "POST": "308", "DELETE": "308"} {
		if got := location(method, "/guide/engine?a=b"); got != want+" /manual/motor.html?a=b" {
			t.Errorf("%s: %s", method, got)
		}
	}
	for _, path := range []string{"/guide/engine.md", "/guide/engine.html.md"} {
		if got := location("GET", path); got != "301 /manual/motor.html.md" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := get("GET", "/guide/engine.html").Header.Get("Cache-Control"); got != "private, no-cache" {
		t.Errorf("Cache-Control: %s", got)
	}
	// A second move: the first URL leads to the end of the chain.
	rename(t, dir, "manual/motor.html", "motor/index.html")
	caddytest.Until(t, "both are redirected", func() bool {
		return location("GET", "/manual/motor.html") == "301 /motor/" && location("GET", "/guide/engine.html") == "301 /motor/"
	})
	// The page becomes a part of another one.
	caddytest.Write(t, dir, map[string]string{"guide/all.html": strings.Replace(framed("Everything", longText("nozzle")+longText("pump")+longText("tank")), "</main>",
		"<h2 id=fuel>Fuel</h2><p>"+longText("fuel")+"</p></main>", 1)})
	if err := os.Remove(filepath.Join(dir, "guide/fuel.html")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the section is where it leads", func() bool { return location("GET", "/guide/fuel.html") == "301 /guide/all.html#fuel" })
	// A file that is back wins.
	caddytest.Write(t, dir, map[string]string{"guide/engine.html": framed("Engine", "Another one.")})
	if r := get("GET", "/guide/engine.html"); r.Status != http.StatusOK {
		t.Errorf("the page is back: %d %v", r.Status, r.Header)
	}
	for _, path := range []string{"/nothing", "/guide/engine.png", "/wp-login.php"} {
		if r := get("GET", path); r.Status != http.StatusNotFound {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
}

// After a reload, redirects, pages and results don't wait until all pages have been
// asked for.
func TestWhatWasServedBeforeAReloadIsServedAfterIt(t *testing.T) {
	files := map[string]string{"index.html": framed("Acme", "Rockets."), "engine.html": framed("Engine", longText("engine")), "secret.html": framed("Secret", longText("secret"))}
	dir, slow := withSlowPages(t, files)
	site := func(lines string) string {
		return "http://:0 {\n\troot " + dir + "\n\t" + lines + "\n\tdocs acme {\n\t\tmoved redirect\n\t}\n\tfile_server\n}\n"
	}
	s := caddytest.Start(t, "", site(""))
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	get := func(path string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Header: map[string]string{"Accept": forPeople}})
	}
	rename(t, dir, "engine.html", "motor.html")
	caddytest.Until(t, "the page is redirected", func() bool { return get("/engine.html").Header.Get("Location") == "/motor.html" })
	s.Load("", site("reverse_proxy /a-slow/* "+slow+"\n\trespond /secret.html 403"))
	if r := get("/engine.html"); r.Status != http.StatusMovedPermanently {
		t.Errorf("the page that has moved: %d %s", r.Status, r.Body)
	}
	if r := get("/motor.html.md"); r.Status != http.StatusOK || !strings.Contains(string(r.Body), "engine valve") {
		t.Errorf("the page as Markdown: %d %s", r.Status, r.Body)
	}
	if r := get("/secret.html.md"); r.Status != http.StatusNotFound {
		t.Errorf("a page that is locked now: %d %s", r.Status, r.Body)
	}
	if found := s.Search("acme", `{"query":"engine valve"}`); len(found) == 0 || !strings.HasPrefix(found[0].Path, "motor") {
		t.Errorf("%d results, not the page first", len(found))
	}
	for _, r := range s.Search("acme", `{"query":"secret gauge"}`) {
		if strings.Contains(r.Path, "secret") {
			t.Errorf("a page that is locked now is found: %v", r)
		}
	}
	if r := get("/llms.txt"); r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("not all pages are known, but llms.txt is there: %d %s", r.Status, r.Body)
	}
	if strings.Contains(s.Log(), `"level":"error"`) {
		t.Error(s.Log())
	}
}

func TestReadersOfAMissingPageGetAPageInTheSitesFrame(t *testing.T) {
	files := map[string]string{
		"index.html": framed("Acme", "Rockets."), "guide/install.html": framed("Install the engine", "Unpack it."), "style.css": "p{}",
		"private/install.html": framed("Secret install", "Password."),
	}
	block := func(more string) string {
		return "http://:0 {\n\troot " + caddytest.Folder(t, files) + "\n\tbasic_auth /private/* {\n\t\treader $2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W\n\t}\n" + more + "\tfile_server\n}\n"
	}
	s := caddytest.Start(t, "", block("\tdocs acme\n"))
	ask := func(method, path, accept string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: method, Path: path, Key: "-", Header: map[string]string{"Accept": accept, "Accept-Language": "de"}})
	}
	ready := func() {
		t.Helper()
		s.Ready("acme")
		caddytest.AllAsked(t, "acme")
	}
	ready()
	r := ask("GET", "/guide/instal", forPeople)
	page := string(r.Body)
	for _, want := range []string{
		"<nav><a href=guide/>Guide</a></nav>", "<footer>Acme Inc.</footer>", `<base href="/">`, "<title>Seite nicht gefunden</title>", "<h1>Seite nicht gefunden</h1>",
		">Install the engine</a>", `action="/v1/ask/acme"`, "dataset.theme", "style.css", "noindex",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, other := range []string{"Rockets", "app.js", "canonical", "Secret", "private", "<title>Acme"} {
		if strings.Contains(page, other) {
			t.Errorf("the page has %s", other)
		}
	}
	if r.Status != http.StatusNotFound || r.Header.Get("Content-Type") != "text/html; charset=utf-8" || t.Failed() {
		t.Errorf("%d %v\n%s", r.Status, r.Header, page)
	}
	if r := ask("HEAD", "/guide/instal", forPeople); r.Status != http.StatusNotFound || len(r.Body) > 0 || r.Header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %d %v", r.Status, r.Header)
	}
	var list struct {
		Code  string
		Moved bool
		Pages []struct{ Title, URL string }
	}
	r = ask("GET", "/guide/instal", "application/json")
	if err := json.Unmarshal(r.Body, &list); err != nil || r.Status != 404 || list.Code != "no_page" || list.Moved || len(list.Pages) != 1 || list.Pages[0].URL != s.Base+"/guide/install.html" {
		t.Errorf("JSON: %d %s", r.Status, r.Body)
	}
	for _, path := range []string{"/guide/install.png", "/wp-login.php", "/private/x"} {
		if r := ask("GET", path, forPeople); strings.Contains(string(r.Body), "Install") {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	for method, accept := range map[string]string{"GET": "*/*", "POST": forPeople} {
		if r := ask(method, "/guide/instal", accept); r.Status != http.StatusNotFound || len(r.Body) > 0 {
			t.Errorf("%s %s: %d %s", method, accept, r.Status, r.Body)
		}
	}

	// The site's own page for it is the frame.
	files["404.html"] = strings.Replace(framed("Lost", "You are lost."), "Acme Inc.", "Lost Inc.", 1)
	s.Load("", block("\tdocs acme {\n\t\twidget inject\n\t}\n"))
	ready()
	page = string(ask("GET", "/guide/instal", forPeople).Body)
	if !strings.Contains(page, "Lost Inc.") || strings.Contains(page, "You are lost") || !strings.Contains(page, "/v1/widget/acme.js") {
		t.Errorf("with a 404.html:\n%s", page)
	}
	// One without a main element can't be a frame.
	files["404.html"], files["index.html"] = "<p>Lost.</p>", "<h1>Acme</h1><p>Rockets.</p>"
	s.Load("", block("\tdocs acme\n"))
	ready()
	if page = string(ask("GET", "/guide/instal", forPeople).Body); !strings.Contains(page, ">Install the engine</a>") || strings.Contains(page, "Lost") {
		t.Errorf("without a frame:\n%s", page)
	}
	// The operator's page wins, where it is for pages that aren't there.
	s.Load("", block("\tdocs acme\n\thandle_errors 500 {\n\t\trespond \"Broken\"\n\t}\n"))
	ready()
	if r := ask("GET", "/guide/instal", forPeople); !strings.Contains(string(r.Body), "Install the engine") {
		t.Errorf("handle_errors is for others: %d %s", r.Status, r.Body)
	}
	s.Load("", block("\tdocs acme\n\thandle_errors 404 {\n\t\trespond \"Ours\"\n\t}\n"))
	ready()
	if r := ask("GET", "/guide/instal", forPeople); string(r.Body) != "Ours" {
		t.Errorf("the operator's page: %d %s", r.Status, r.Body)
	}
	s.Load("", block("\tdocs acme {\n\t\tmoved off\n\t}\n"))
	ready()
	if r := ask("GET", "/guide/instal", forPeople); r.Status != 404 || len(r.Body) > 0 {
		t.Errorf("off: %d %s", r.Status, r.Body)
	}
}

// The page that a site behind a proxy sends stays, and gets the list where the
// widget may change pages.
func TestASitesOwnPageForAMissingOneStays(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Upstream", "yes")
		switch r.URL.Path {
		case "/sitemap.xml":
			fmt.Fprintf(w, `<urlset><url><loc>http://%s/guide/install</loc></url></urlset>`, r.Host)
		case "/guide/install":
			w.Header().Set("Link", "</style.css>; rel=preload; as=style")
			w.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(w, framed("Install", "Unpack it."))
		default:
			w.Header().Set("ETag", `"own"`)
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, framed("Lost", "You are lost."))
			if r.URL.Path == "/guide/install-long" {
				fmt.Fprint(w, strings.Repeat("<p>long", 1<<18))
			}
		}
	}))
	defer upstream.Close()
	site := func(words string) string {
		return "http://:0 {\n\tdocs acme {\n\t\tsitemap " + upstream.URL + "/sitemap.xml\n\t\tallow_private on\n" + words + "\t}\n\treverse_proxy " + strings.TrimPrefix(upstream.URL, "http://") + "\n}\n"
	}
	s := caddytest.Start(t, "", site(""))
	get := func(path, accept string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Header: map[string]string{"Accept": accept}})
	}
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	if r := get("/guide/instal", forPeople); r.Status != 404 || string(r.Body) != framed("Lost", "You are lost.") || r.Header.Get("ETag") != `"own"` {
		t.Errorf("without the widget: %d %v %s", r.Status, r.Header, r.Body)
	}
	if r := get("/guide/instal", "application/json"); r.Status != 404 || !strings.Contains(string(r.Body), `"title":"Install"`) || r.Header.Get("X-Upstream") != "" {
		t.Errorf("JSON: %d %v %s", r.Status, r.Header, r.Body)
	}
	hints := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(int, textproto.MIMEHeader) error {
		hints++
		return nil
	}})
	if resp, err := s.Open(ctx, caddytest.Request{Method: "GET", Path: "/guide/install", Key: "-"}); err != nil || resp.Body.Close() != nil || hints != 1 {
		t.Errorf("%d early hints, %v", hints, err)
	}
	s.Load("", site("\t\twidget inject\n"))
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	r := get("/guide/instal", forPeople)
	page := string(r.Body)
	if at := strings.Index(page, ">Install</a>"); r.Status != 404 || at < strings.Index(page, "You are lost") || at > strings.Index(page, "</main>") ||
		!strings.Contains(page, "/v1/widget/acme.js") || r.Header.Get("ETag") != "" || r.Header.Get("X-Upstream") != "yes" {
		t.Errorf("with the widget: %d %v\n%s", r.Status, r.Header, page)
	}
	if r := get("/guide/install-long", forPeople); r.Status != 404 || len(r.Body) < 7<<18 || strings.Contains(string(r.Body), ">Install</a>") {
		t.Errorf("a long one: %d, %d bytes", r.Status, len(r.Body))
	}
}

// A page that moved behind a lock is named only to readers who can open it, and one
// from behind one not to those who could not read it there.
func TestAMoveNamesNoLockedPage(t *testing.T) {
	dir := caddytest.Folder(t, map[string]string{
		"index.html": framed("Acme", "Rockets."), "plans.html": framed("Plans", longText("plan")), "private/salary.html": framed("Salaries", longText("salary")),
		"private/other.html": framed("Other", longText("other")),
	})
	s := caddytest.Start(t, "", "http://:0 {\n\troot "+dir+"\n\tbasic_auth /private/* {\n\t\treader $2a$04$g0ENMs0qKsGT6qHYUhSqj.9WAgrgoQ6.SD/3KExvytz85gg4HL44W\n\t}\n\tdocs acme {\n\t\tmoved redirect\n\t}\n\tfile_server\n}\n")
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	get := func(path, authorization, accept string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Header: map[string]string{"Accept": accept, "Authorization": authorization}})
	}
	rename(t, dir, "plans.html", "private/plans.html")
	rename(t, dir, "private/salary.html", "salary-2.html")
	caddytest.Until(t, "the reader is redirected", func() bool {
		return get("/plans.html", agentsLogin, forPeople).Header.Get("Location") == "/private/plans.html"
	})
	for _, accept := range []string{forPeople, "application/json", "text/markdown", "*/*"} {
		if r := get("/plans.html", "", accept); r.Status != 404 || strings.Contains(string(r.Body), "private") || strings.Contains(string(r.Body), "Plans") {
			t.Errorf("%s: a stranger gets %d %v %s", accept, r.Status, r.Header, r.Body)
		}
		if r := get("/private/salary.html", "", accept); r.Status != 401 {
			t.Errorf("%s: a stranger gets %d %v %s", accept, r.Status, r.Header, r.Body)
		}
	}
}

// BenchmarkAMissingPage compares, in turn, a request over the loopback interface
// with moved suggest and off, of a site of 2,000 pages: medians in µs, of the whole
// request and of what is more.
func BenchmarkAMissingPage(b *testing.B) {
	files := map[string]string{"index.html": framed("Acme", "Rockets.")}
	for i := range 2000 {
		files[fmt.Sprintf("part%d/page-%d.html", i%40, i)] = framed(fmt.Sprintf("The page %d", i), "Text.")
	}
	dir := caddytest.Folder(b, files)
	hosts := []string{"off", "suggest"}
	config := "http://:0 {\n\troot " + dir + "\n"
	for _, words := range hosts {
		config += "\t@" + words + " host " + words + "\n\thandle @" + words + " {\n\t\tdocs " + words + " {\n\t\t\torganization acme\n\t\t\tmoved " + words + "\n\t\t}\n\t\tfile_server\n\t}\n"
	}
	s := caddytest.Start(b, "", config+"}\n")
	for _, host := range hosts {
		s.Ready(host)
		caddytest.AllAsked(b, host)
	}
	for client, path := range map[string]string{"browser": "/part7/pgae-47", "scanner": "/wp-login.php"} {
		b.Run(client, func(b *testing.B) {
			var took [2][]time.Duration
			for b.Loop() {
				for i, host := range hosts {
					begun := time.Now()
					r := s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Host: host, Header: map[string]string{"Accept": forPeople}})
					took[i] = append(took[i], time.Since(begun))
					if r.Status != http.StatusNotFound {
						b.Fatal(r.Status)
					}
				}
			}
			var medians [2]float64
			for i := range took {
				slices.Sort(took[i])
				medians[i] = float64(took[i][len(took[i])/2].Nanoseconds()) / 1000
			}
			b.ReportMetric(medians[0], "off-µs")
			b.ReportMetric(medians[1], "suggest-µs")
			b.ReportMetric(medians[1]-medians[0], "more-µs")
		})
	}
}

// What else responds where the site has nothing comes before redirects and lists:
// Markdown, the API, and the operator's handle_errors.
func TestAMissingPageLeavesOtherResponses(t *testing.T) {
	files := map[string]string{"index.html": framed("Acme", "Rockets."), "guide/engine.html": framed("Engine", longText("engine"))}
	dir := caddytest.Folder(t, files)
	s := caddytest.Start(t, "site acme {\n\troot "+dir+"\n\tmoved redirect\n}\ngroup aaa {\n\tsites acme\n\torganization acme\n}", "http://:0 {\n\troot "+dir+"\n\tdocs\n\tfile_server\n}\n")
	s.Ready("acme")
	s.Ready("aaa")
	caddytest.AllAsked(t, "acme")
	get := func(path, accept string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: "GET", Path: path, Key: "-", Header: map[string]string{"Accept": accept}})
	}
	// No pages of the group are here.
	if r := get("/guide/engine", forPeople); r.Status != 301 || r.Header.Get("Location") != "/guide/engine.html" {
		t.Errorf("another form of the address: %d %v", r.Status, r.Header)
	}
	for _, path := range []string{"/guide/engine.md", "/index.md"} {
		for _, accept := range []string{forPeople, "application/json", "text/markdown", "*/*"} {
			if r := get(path, accept); r.Status != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/markdown") {
				t.Errorf("%s for %s: %d %v", path, accept, r.Status, r.Header)
			}
		}
	}
	for _, accept := range []string{"application/json", "*/*"} {
		if r := get("/v1/nothing", accept); r.Error(t).Code != "unknown_path" {
			t.Errorf("the API for %s: %d %s", accept, r.Status, r.Body)
		}
	}

	s = caddytest.Start(t, "", "http://:0 {\n\thandle_path /docs/* {\n\t\troot "+dir+"\n\t\tdocs below\n\t\tfile_server\n\t}\n\thandle_errors {\n\t\t@docs path /docs/*\n\t\trespond @docs \"own page\" 404\n\t}\n}\n")
	s.Ready("below")
	caddytest.AllAsked(t, "below")
	if r := get("/docs/nothing", forPeople); r.Status != 404 || string(r.Body) != "own page" {
		t.Errorf("handle_errors: %d %s", r.Status, r.Body)
	}
}

// Of two sites, one below the other, one responds.
func TestAMissingPageIsOfOneSite(t *testing.T) {
	outer := caddytest.Folder(t, map[string]string{"index.html": framed("Acme", "Rockets."), "engine.html": framed("Engine", longText("engine"))})
	inner := caddytest.Folder(t, map[string]string{"index.html": framed("Below", "Boats."), "sail.html": framed("Sail", longText("sail"))})
	s := caddytest.Start(t, "", "http://:0 {\n\tdocs outer {\n\t\troot "+outer+"\n\t\torganization acme\n\t\twidget inject\n\t}\n\thandle_path /below/* {\n\t\troot "+inner+"\n\t\tdocs inner {\n\t\t\torganization acme\n\t\t\twidget inject\n\t\t}\n\t\tfile_server\n\t}\n\thandle {\n\t\troot "+outer+"\n\t\tfile_server\n\t}\n}\n")
	s.Ready("outer")
	caddytest.AllAsked(t, "outer")
	caddytest.AllAsked(t, "inner")
	r := s.Do(caddytest.Request{Method: "GET", Path: "/below/engine", Key: "-", Header: map[string]string{"Accept": forPeople}})
	if n := strings.Count(string(r.Body), "data-docs-missing"); r.Status != 404 || n != 1 || !strings.Contains(string(r.Body), `<a href="/below/">Home</a>`) {
		t.Errorf("%d lists: %d %s", n, r.Status, r.Body)
	}
}

// A redirect leads to where the page is served, also before all pages have been asked
// for.
func TestARedirectAfterAReloadLeadsToWhereThePageIsServed(t *testing.T) {
	files := map[string]string{"index.html": framed("Acme", "Rockets."), "engine.html": framed("Engine", longText("engine"))}
	dir, slow := withSlowPages(t, files)
	site := func(lines string) string {
		return "http://:0 {\n\troot " + dir + "\n\tdocs acme {\n\t\tmoved redirect\n\t}\n\troute {\n\t\t" + lines +
			"\n\t\t@html path *.html\n\t\terror @html 404\n\t\ttry_files {path} {path}.html {path}/index.html\n\t\tfile_server\n\t}\n}\n"
	}
	s := caddytest.Start(t, "", site(""))
	s.Ready("acme")
	caddytest.AllAsked(t, "acme")
	location := func() string {
		return s.Do(caddytest.Request{Method: "GET", Path: "/engine", Key: "-", Header: map[string]string{"Accept": forPeople}}).Header.Get("Location")
	}
	rename(t, dir, "engine.html", "motor.html")
	caddytest.Until(t, "the page is redirected", func() bool { return location() == "/motor" })
	s.Load("", site("reverse_proxy /a-slow/* "+slow))
	if got := location(); got != "/motor" {
		t.Errorf("the page is redirected to %q", got)
	}
}
