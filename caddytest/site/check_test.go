package site

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
)

// linkedSite is a folder of pages with links that lead somewhere and links that
// don't, and its configuration.
func linkedSite(t *testing.T) (config string) {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "site")
	long := " Acme is a tool that moves boxes from one place to another, and keeps a list of them.\n\n"
	for name, text := range map[string]string{
		"index.html": `<!doctype html><title>Acme</title><main><h1>Acme</h1><p>` + long + `</p>
<p><a href="guide/install.html">there</a> <a href="/guide/install.html#linux">a heading</a> <a href="guide/install.html#term-box">an id</a>
<a href="/guide/instal.html">BROKEN page</a> <a href="guide/install.html#macos">BROKEN section</a>
<a href="/old">a redirect</a> <a href="/live/status">a route without a file</a> <a href="/hidden.html">not in the index</a>
<a href="/fails/always">no clear answer</a> <a href="/private/plan.html">locked</a> <a href="/private/none.html">behind a lock</a>
<a href="/private/plan.html#nothing">a section behind a lock</a>
<a href="https://other.test/nothing">another host</a> <a href="/logo.svg">a file</a> <a href="#top">the top</a>
<a href="/app/#/route">of a script</a> <a href="mailto:a@acme.test">mail</a></p></main>`,
		"guide/install.html": `<!doctype html><title>Install</title><main><h1>Install</h1><h2 id="linux">Linux</h2><p>` + long + `</p>
<dl><dt id="term-box">Box</dt><dd>A thing with six sides.</dd></dl></main>`,
		"hidden.html":       `<!doctype html><title>Hidden</title><meta name="robots" content="noindex"><p>` + long,
		"private/plan.html": `<!doctype html><title>Plan</title><main><h1>Plan</h1><p>` + long + `<a href="/private/lost.html">a link on a locked page</a></p></main>`,
		"app/index.html":    `<!doctype html><title>App</title><main><h1>App</h1><p>` + long + `</p><p><a href="/app/#made-by-a-script">section</a></p></main>`,
		"notes.md": "# Notes\n" + long + "See [the guide](guide/install.html), [BROKEN](guide/none.html)\nand [a heading](#what-s-new), [BROKEN](#whats-old).\n\n" +
			"```md\n[an example](/of/code)\n```\n\n## What's new?\n" + long + "[by reference][ref]\n\n[ref]: ./nowhere\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config = filepath.Join(dir, "Caddyfile")
	text := caddytest.Global(dir, "") + `http://acme.test {
	root * ` + root + `
	docs acme {
		url http://acme.test
	}
	redir /old /guide/install.html
	respond /live/* "up"
	respond /fails/* 503
	error /private/* 401
	file_server
}
`
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestLinksThatLeadNowhereAreFound(t *testing.T) {
	config := linkedSite(t)
	junit := filepath.Join(t.TempDir(), "junit.xml")
	out, err := run(t, "--config", config, "--address", "unix//nobody.sock", "--json", "check", "acme", "--junit", junit)
	if err == nil || !strings.Contains(err.Error(), "broken links") {
		t.Errorf("the exit status: %v", err)
	}
	var report links.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []string
	for i := range report.Broken {
		got = append(got, report.Broken[i].Where()+" "+report.Broken[i].Href)
	}
	want := []string{
		"index.html:5 /guide/instal.html", "index.html:5 guide/install.html#macos",
		"notes.md:5 #whats-old", "notes.md:4 guide/none.html", "notes.md:16 ./nowhere",
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(got, "\n")+"\n", w+"\n") {
			t.Errorf("%s is not found", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("found:\n%s", strings.Join(got, "\n"))
	}
	if report.NotChecked == 0 {
		t.Error("nothing counts as not checked")
	}
	xml, err := os.ReadFile(junit)
	if err != nil || !strings.Contains(string(xml), `failures="5"`) || !strings.Contains(string(xml), "notes.md:16") {
		t.Errorf("%v: JUnit: %s", err, xml)
	}
}
