package site

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// heapInUse is what lives in memory.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what finalizers of the first released
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// llms-full.txt of a site of folders has every page, though its index keeps
// only outlines of the pages, and takes no memory while it is sent.
func TestLLMsFullTakesTheMemoryOfAPage(t *testing.T) {
	const pages, size = 200, 100_000
	parent := t.TempDir()
	for i := range pages {
		caddytest.Write(t, parent, map[string]string{
			fmt.Sprintf("acme/page-%03d.html", i): fmt.Sprintf("<html lang=en><title>Page %d</title><main><h1>Page %d</h1><pre>%s</pre><p>The end of %d.</p></main></html>", i, i, strings.Repeat("0123456789\n", size/11), i),
		})
	}
	s := caddytest.Start(t, "sites "+parent+"/* {\n\turl http://{site}.docs.test\n}\nkey "+caddytest.Key+" {\n\tsites acme\n}",
		"http://*.docs.test:0 {\n\troot * "+parent+"/{labels.2}\n\tdocs\n\tfile_server\n}\n")
	known := func() bool {
		return s.Do(caddytest.Request{Method: http.MethodGet, Path: "/llms.txt", Key: "-", Host: "acme.docs.test"}).Status == http.StatusOK
	}
	caddytest.Until(t, "the locks are known", known)
	before := heapInUse()
	r, err := s.Open(t.Context(), caddytest.Request{Method: http.MethodGet, Path: "/llms-full.txt", Key: "-", Host: "acme.docs.test"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body := bufio.NewReader(r.Body)
	read, ends := 0, 0
	for {
		line, err := body.ReadString('\n')
		read += len(line)
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(line, "The end of ") {
			continue
		}
		if ends++; ends != pages/2 {
			continue
		}
		// The server waits for this client, as soon as the buffers between them
		// are full.
		held := int64(0)
		caddytest.Until(t, "what was sent has left memory", func() bool {
			held = heapInUse() - before
			return held < int64(read)/4
		})
		t.Logf("after %d bytes the response takes %d bytes of memory", read, held)
	}
	if ends != pages || read < pages*size*9/10 {
		t.Errorf("%d pages in %d bytes", ends, read)
	}
}

// A site behind a proxy is read through its sitemap. Its pages are Markdown,
// after a restart, too.
func TestPagesOfAProxiedSiteAsMarkdown(t *testing.T) {
	mux := http.NewServeMux()
	upstream := httptest.NewServer(mux)
	defer upstream.Close()
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<urlset><url><loc>http://docs.acme.test/start</loc></url><url><loc>http://docs.acme.test/stop</loc></url></urlset>")
	})
	for _, page := range []string{"/start", "/stop"} {
		mux.HandleFunc(page, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `<html lang=en><title>Rockets</title><nav>Menu</nav><main><h1 id=top>Rockets</h1><p>All about <a href="/stop">rockets</a>.</p><pre><code class="language-sh">launch</code></pre></main></html>`)
		})
	}
	docs := "site acme {\n\tsitemap " + upstream.URL + "/sitemap.xml\n\turl http://docs.acme.test\n\tallow_private on\n}"
	sites := "http://:0 {\n\tsearch acme\n\tdocs_llms acme\n\tdocs_mcp acme\n\treverse_proxy " + strings.TrimPrefix(upstream.URL, "http://") + "\n}\n"
	s := caddytest.Start(t, docs, sites)
	get := func(path, accept string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: http.MethodGet, Path: path, Key: "-", Host: "docs.acme.test", Header: map[string]string{"Accept": accept}})
	}
	const text = "# [Rockets](#top)\n\nAll about [rockets](http://docs.acme.test/stop).\n\n```sh\nlaunch\n```\n"
	check := func(when string) {
		t.Helper()
		caddytest.Until(t, when+", the pages are known", func() bool { return get("/llms.txt", "*/*").Status == http.StatusOK })
		for path, accept := range map[string]string{"/start.md": "*/*", "/stop": forMarkdown} {
			r := get(path, accept)
			if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "text/markdown; charset=utf-8" || !strings.HasSuffix(string(r.Body), text) {
				t.Errorf("%s: %s: %d %v: %s", when, path, r.Status, r.Header, r.Body)
			}
		}
		if r := get("/start", "text/html"); !strings.Contains(string(r.Body), "<nav>") || !strings.Contains(strings.Join(r.Header.Values("Link"), " "), "<http://docs.acme.test/start.md>") {
			t.Errorf("%s: the page: %v %s", when, r.Header, r.Body)
		}
		if r := get("/llms.txt", "*/*"); strings.Count(string(r.Body), "http://docs.acme.test/st") != 2 {
			t.Errorf("%s: llms.txt: %s", when, r.Body)
		}
		if r := get("/llms-full.txt", "*/*"); strings.Count(string(r.Body), "launch") != 2 {
			t.Errorf("%s: llms-full.txt: %s", when, r.Body)
		}
		r := s.Do(caddytest.Request{Path: "/mcp", Key: "-", Host: "docs.acme.test", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"start"}}}`})
		if !strings.Contains(string(r.Body), "All about [rockets]") {
			t.Errorf("%s: MCP: %d %s", when, r.Status, r.Body)
		}
	}
	check("at first")
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Load(docs, sites)
	check("after a restart")
}
