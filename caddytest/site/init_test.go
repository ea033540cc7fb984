package site

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/command"
)

const recipeSites = "../recipes/testdata"

// initialized is the JSON of caddy docs init.
type initialized struct {
	File, Site, Generator, Caddyfile string
	Checks                           []struct {
		What      string
		OK        bool
		Found, Do string
	}
	Notes []string
}

// runInit runs caddy docs init in a folder for temporary files, which it must
// leave empty.
func runInit(t *testing.T, args ...string) (made initialized, err error) {
	t.Helper()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("XDG_DATA_HOME", temp)
	out, err := run(t, append([]string{"init", "--json"}, args...)...)
	if out != "" {
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("init %v left %v behind", args, left)
	}
	return made, err
}

func TestInitFindsTheGeneratorAndWritesACaddyfileThatWorks(t *testing.T) {
	for name, want := range map[string]struct {
		generator, has, lacks string
	}{
		"docusaurus": {"Docusaurus", "\tdocs acme\n\tfile_server\n}\n", "handle_errors"},
		"vitepress":  {"VitePress with clean URLs", "\t\tclean_urls on\n\t}\n\ttry_files {path} {path}.html {path}/index.html\n", "\tdocs acme\n"},
		"starlight":  {"Starlight", "\tdocs acme\n\tfile_server\n", "clean_urls"},
		"mkdocs":     {"MkDocs", "\tdocs acme\n", "clean_urls"},
		"sphinx":     {"Sphinx", "\tdocs acme\n\tfile_server\n}\n", "handle_errors"},
		"mdbook":     {"mdBook", "\tdocs acme\n\tfile_server\n}\n", "handle_errors"},
		"hugo":       {"Hugo", "\tdocs acme\n", "clean_urls"},
		"jekyll":     {"Jekyll", "\tdocs acme\n", "clean_urls"},
		"markdown":   {"Markdown", "\tdocs acme\n", "clean_urls"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "Caddyfile")
			root, err := filepath.Abs(filepath.Join(recipeSites, name))
			if err != nil {
				t.Fatal(err)
			}
			made, err := runInit(t, "--root", root, "--host", "docs.acme.com", "--config", file)
			if err != nil {
				t.Fatalf("%v %+v", err, made)
			}
			if made.Site != "acme" || !strings.HasPrefix(made.Generator, want.generator+" in ") {
				t.Errorf("found %s, a site of %s", made.Site, made.Generator)
			}
			written, err := os.ReadFile(file)
			if err != nil || string(written) != made.Caddyfile || !strings.Contains(made.Caddyfile, want.has) || strings.Contains(made.Caddyfile, want.lacks) {
				t.Errorf("%v: the Caddyfile is\n%s", err, written)
			}
			checked := ""
			for _, c := range made.Checks {
				checked += c.What + ": " + c.Found + "\n"
			}
			if !strings.Contains(checked, "site acme pages: all public") || !strings.Contains(checked, "site acme api: https://docs.acme.com answers") {
				t.Errorf("checked:\n%s", checked)
			}
			if again, err := runInit(t, "--root", root, "--config", file); err == nil || !strings.Contains(err.Error(), "is not changed") {
				t.Errorf("a file that exists: %v %+v", err, again)
			}
			if now, _ := os.ReadFile(file); !bytes.Equal(now, written) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestInitSaysWhatAFolderLacks(t *testing.T) {
	const html, markdown = "<!doctype html><html lang=en><title>Kite</title><main><h1>Kite</h1><p>It flies.</p></main></html>", "# Kite\n\nIt flies.\n"
	for name, c := range map[string]struct {
		files   map[string]string
		widget  bool
		says    []string
		nothing string
	}{
		"Markdown that nothing renders has no widget": {map[string]string{"index.md": markdown}, true, []string{"no page can have the widget", "there is no page at http://localhost:8080/"}, ""},
		"a front page that is HTML is there":          {map[string]string{"guide.md": markdown, "index.html": html}, false, nil, "there is no page"},
		"pages that are HTML have it":                 {map[string]string{"index.html": html, "more.md": markdown}, true, nil, "widget"},
		"a site without a front page":                 {map[string]string{"guide/kite.html": html}, false, []string{"there is no page at http://localhost:8080/"}, "widget"},
	} {
		args := []string{"--root", caddytest.Folder(t, c.files), "--config", filepath.Join(t.TempDir(), "Caddyfile")}
		if c.widget {
			args = append(args, "--widget")
		}
		made, err := runInit(t, args...)
		notes := strings.Join(made.Notes, "\n")
		for _, says := range c.says {
			if !strings.Contains(notes, says) {
				t.Errorf("%s: %v\n%s", name, err, notes)
			}
		}
		if c.nothing != "" && strings.Contains(notes, c.nothing) {
			t.Errorf("%s: %v\n%s", name, err, notes)
		}
	}
}

func TestInitFindsTheSiteInTheProjectOfItsGenerator(t *testing.T) {
	project := caddytest.Folder(t, map[string]string{"mkdocs.yml": "site_name: Kite\n", "docs/index.md": "# Kite\n"})
	file := filepath.Join(t.TempDir(), "Caddyfile")
	if _, err := runInit(t, "--root", project, "--config", file); err == nil || !strings.Contains(err.Error(), "run mkdocs build there first") {
		t.Errorf("a project that is not built: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a Caddyfile was written")
	}
	if err := os.CopyFS(filepath.Join(project, "site"), os.DirFS(filepath.Join(recipeSites, "mkdocs"))); err != nil {
		t.Fatal(err)
	}
	made, err := runInit(t, "--root", project, "--config", file)
	if err != nil || !strings.Contains(made.Caddyfile, "root * "+filepath.Join(project, "site")+"\n") {
		t.Errorf("%v\n%s", err, made.Caddyfile)
	}
}

// What init writes is run: a search finds a page of the site that is proxied,
// and the page is served.
func TestInitWritesTheCaddyfileOfAProxiedSite(t *testing.T) {
	mux := http.NewServeMux()
	upstream := httptest.NewServer(mux)
	t.Cleanup(upstream.Close)
	mux.HandleFunc("/sitemap.xml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>` + upstream.URL + `/guide</loc></url></urlset>`))
	})
	mux.HandleFunc("/guide", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><title>Guide</title><main><h1>Guide</h1><p>How to fly a kite in strong wind.</p></main></html>"))
	})
	file := filepath.Join(t.TempDir(), "Caddyfile")
	made, err := runInit(t, "--sitemap", upstream.URL+"/sitemap.xml", "--host", "http://localhost:8080", "--config", file, "--widget")
	if err != nil {
		t.Fatalf("%v %+v", err, made)
	}
	s := caddytest.New(t)
	text := strings.Replace(made.Caddyfile, "http://localhost:8080 {", "http://localhost:0 {", 1)
	if err := s.TryLoad(caddytest.Global(s.Dir, "") + text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s.Ready("docs")
	caddytest.Until(t, "the page is found", func() bool { return len(s.Search("docs", `{"query":"strong wind"}`)) == 1 })
	if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/guide", Key: "-"}); r.Status != http.StatusOK || !strings.Contains(string(r.Body), "/v1/widget/docs.js") {
		t.Errorf("the page: %d\n%s", r.Status, r.Body)
	}
}

func TestInitChecksTheModelIfItsKeyIsThere(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	root := filepath.Join(recipeSites, "mkdocs")
	file := filepath.Join(t.TempDir(), "Caddyfile")
	made, err := runInit(t, "--root", root, "--config", file, "--model-url", gone.URL+"/v1", "--model", "small")
	if err == nil || !strings.Contains(err.Error(), "1 of ") || !strings.Contains(made.Caddyfile, "\t\tllm "+gone.URL+"/v1 small\n") {
		t.Errorf("a model that does not answer: %v\n%+v", err, made)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err) // the operator fixes what the check names
	}
	t.Setenv("NO_SUCH_KEY", "")
	made, err = runInit(t, "--root", root, "--config", file+"2", "--model-url", "https://api.openai.com/v1", "--model", "small", "--model-key", "NO_SUCH_KEY")
	if err != nil || !strings.Contains(made.Caddyfile, "api_key {env.NO_SUCH_KEY}") || !strings.Contains(strings.Join(made.Notes, "\n"), "set NO_SUCH_KEY") {
		t.Errorf("a model without its key: %v\n%+v", err, made)
	}
}

func TestInitAsksForWhatNoFlagSays(t *testing.T) {
	for _, c := range []struct{ answers, says, writes string }{
		{filepath.Join(recipeSites, "mkdocs") + "\ndocs.acme.com\n\n", "", "docs.acme.com {\n"},
		{filepath.Join(recipeSites, "mkdocs") + "\n", "", "http://localhost:8080 {\n"}, // the input ends early
		{"", "use --root FOLDER or --sitemap URL", ""},
		{"/no/such/folder\n\n\n", "name the folder of the built site", ""},
	} {
		file := filepath.Join(t.TempDir(), "Caddyfile")
		cmd := &cobra.Command{Use: "docs"}
		command.Fill(cmd)
		var stdout, stderr bytes.Buffer
		cmd.SetOut(&stdout)
		cmd.SetErr(&stderr)
		cmd.SetIn(strings.NewReader(c.answers))
		cmd.SetArgs([]string{"init", "--config", file})
		err := cmd.ExecuteContext(t.Context())
		written, _ := os.ReadFile(file)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) || len(written) > 0 {
				t.Errorf("%q: %v\n%s", c.answers, err, written)
			}
		case err != nil || !strings.Contains(string(written), c.writes) || !strings.Contains(stdout.String(), "caddy docs key create --site "):
			t.Errorf("%q: %v\n%s\n%s", c.answers, err, stdout.String(), written)
		}
	}
}

func TestInitRefusesWhatItCannotWrite(t *testing.T) {
	root := filepath.Join(recipeSites, "mkdocs")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--root", root, "--sitemap", "https://docs.acme.com/sitemap.xml"}, "either --root FOLDER"},
		{[]string{"--root", root, "--host", "*.acme.com"}, "must be a host, like docs.acme.com"},
		{[]string{"--root", root, "--host", "acme.com/docs"}, "recipes/index.md"},
		{[]string{"--root", root, "--host", "acme.com {\n\trespond x"}, "must be a host"},
		{[]string{"--root", root, "--site", "Acme Docs"}, "--site"},
		{[]string{"--root", filepath.Join(root, "index.html")}, "is a file"},
		{[]string{"--root", t.TempDir()}, "has no pages"},
		{[]string{"--sitemap", "docs.acme.com/sitemap.xml"}, "must be a URL, like https://docs.acme.com/sitemap.xml"},
		{[]string{"--root", root, "--model", "small"}, "--model-url"},
		{[]string{"--root", root, "--model-url", "https://api.openai.com/v1"}, "needs --model"},
		{[]string{"--root", root, "--model-url", "https://api.openai.com/v1", "--model", "small", "--model-key", "sk-123456"}, "not the key itself"},
	} {
		file := filepath.Join(t.TempDir(), "Caddyfile")
		_, err := runInit(t, append(c.args, "--config", file)...)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want an error that says %q", c.args, err, c.says)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%v: a file was written", c.args)
		}
	}
}

func TestVersionNamesTheFormatsOfWhatIsStored(t *testing.T) {
	var v struct {
		Module, Caddy, Go, System string
		IndexFormat               int `json:"index_format"`
		InsightsSchema            int `json:"insights_schema"`
	}
	if err := json.Unmarshal([]byte(mustRun(t, "version", "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.Module == "" || v.Caddy == "" || !strings.HasPrefix(v.Go, "go1.") || v.System == "" || v.IndexFormat < 2 || v.InsightsSchema < 1 {
		t.Errorf("%+v", v)
	}
	if out := mustRun(t, "version"); !strings.Contains(out, "caddy-docs  ") || !strings.Contains(out, "index       format ") {
		t.Errorf("version:\n%s", out)
	}
}
