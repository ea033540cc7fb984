package ingest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixture reads a page that a real generator made; testdata/HOW.md says how.
func fixture(t *testing.T, generator, file string) *retrieval.Document {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", generator, file))
	if err != nil {
		t.Fatal(err)
	}
	doc, warnings, err := mustNew(t, Options{}).Document(file, data)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	return doc
}

func TestPagesOfRealGenerators(t *testing.T) {
	for _, c := range []struct {
		generator, file          string
		title, version, language string
		breadcrumbs, tags        string
		anchors                  string
		has                      []string
		hasNot                   []string
		old                      bool
	}{
		{
			generator: "sphinx-furo", file: "guide/install.html",
			title: "Installing Kite", version: "2.4.1", language: "en",
			anchors: "installing-kite from-packages configuration",
			has:     []string{"```bash\npip install kite\nkite --version\n```", "kite.retries | How often", "File ‣ Open"},
			hasNot:  []string{"¶", "Back to top", "Afterword", "Copyright", "Light mode"},
		},
		{
			generator: "sphinx-furo", file: "api.html",
			title: "API reference", version: "2.4.1", language: "en",
			anchors: "kite.send kite.Client kite.Client.close afterword",
			has:     []string{"kite.send(message, *, retries=3)", "kite.Unreachable", "```python\nkite.send(\"hello\")\n```"},
			hasNot:  []string{"¶", "On this page"},
		},
		{
			generator: "sphinx-rtd", file: "guide/install.html",
			title: "Installing Kite", version: "2.4.1", language: "en",
			anchors: "installing-kite from-packages configuration",
			has:     []string{"pip install kite\nkite --version"},
			hasNot:  []string{"View page source", "Previous", "Read the Docs", "\uf0c1"},
		},
		{
			generator: "sphinx-rtd", file: "api.html",
			title: "API reference", version: "2.4.1", language: "en",
			anchors: "kite.send kite.Client kite.Client.close afterword",
			has:     []string{"class kite.Client(address)"},
			hasNot:  []string{"View page source", "\uf0c1"},
		},
		{
			generator: "mkdocs-material", file: "guide/deploy/index.html",
			title: "Deploying", language: "en", breadcrumbs: "Harbor > Guide", tags: "cluster deployment",
			anchors: "deploying helm values",
			has:     []string{"```bash\nhelm install harbor ./chart\n```", "```powershell\nhelm.exe", "Linux", "replicas | 2", "Storage", "Hidden until"},
			hasNot:  []string{"¶", "Skip to content", "Made with", "Back to top", "\n1\n"},
		},
		{
			generator: "vitepress", file: "guide/start.html",
			title: "Getting started", version: "3.1", language: "en-US",
			anchors: "getting-started install config-file",
			has:     []string{"```sh\nnpm install lantern\n```", "pnpm add", "```js\nexport default {\n  wick: 'cotton',\n}\n```", "They see no light."},
			hasNot:  []string{"MIT licensed footer", "Edit this page", "Permalink", "Skip to content", "Return to top", "\u200b", "Next page"},
		},
		{
			generator: "vitepress", file: "index.html",
			title: "Lantern Light for docs", version: "3.1", language: "en-US", anchors: " ",
			has: []string{"Bright and small", "Starts in a blink"}, hasNot: []string{"Appearance", "MIT licensed footer"},
		},
		{
			generator: "hugo-docsy", file: "docs/tasks/scale/index.html",
			title: "Scale a service", language: "en", breadcrumbs: "Docs > Tasks", tags: "Scaling",
			anchors: "  before-you-begin check", old: true,
			has:    []string{"gust scale web --to 5", "replicas: 5", "Check your quota first.", "```bash\ngust get web\necho done\n```"},
			hasNot: []string{"actively maintained", "Last modified", "Create child page", "Feedback"},
		},
		{
			generator: "docusaurus", file: "docs/guide/setup/index.html",
			title: "Setup", version: "2.0", language: "en", breadcrumbs: "Guides", tags: "setup",
			anchors: " install-the-quill-command config",
			has:     []string{"```bash\nnpm install -g quill\n```", "brew install quill", "npm\n\n```", "Homebrew\n\n```", "```js\nmodule.exports = {\n  ink: 'blue',\n};\n```", "They used an ini file.", "Never commit quill.json."},
			hasNot:  []string{"Edit this page", "Direct link", "Quill footer", "Skip to main", "Previous", "On this page", "\u200b"},
		},
		{
			generator: "docusaurus", file: "docs/1.0/guide/setup/index.html",
			title: "Setup", version: "1.0", language: "en", breadcrumbs: "Guides", tags: "setup", old: true,
			anchors: " install-the-quill-command config", hasNot: []string{"no longer actively maintained", "Version: 1.0"},
		},
	} {
		t.Run(c.generator+" "+c.file, func(t *testing.T) {
			doc := fixture(t, c.generator, c.file)
			got := dump(doc)
			var anchors []string
			for _, s := range doc.Sections {
				if n := len(anchors); n == 0 || anchors[n-1] != s.Anchor || s.Anchor == "" {
					anchors = append(anchors, s.Anchor)
				}
			}
			for what, pair := range map[string][2]string{
				"title": {doc.Title, c.title}, "version": {doc.Version, c.version}, "language": {doc.Language, c.language},
				"breadcrumbs": {strings.Join(doc.Breadcrumbs, " > "), c.breadcrumbs}, "tags": {strings.Join(doc.Tags, " "), c.tags},
				"anchors": {strings.Join(strings.Fields(strings.Join(anchors, " ")), " "), strings.Join(strings.Fields(c.anchors), " ")},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s is %q, want %q", what, pair[0], pair[1])
				}
			}
			if (doc.Kind == retrieval.Old) != c.old {
				t.Errorf("its kind is %q", doc.Kind)
			}
			for _, s := range c.has {
				if !strings.Contains(got, s) {
					t.Errorf("lacks %q", s)
				}
			}
			for _, s := range c.hasNot {
				if strings.Contains(got, s) {
					t.Errorf("has %q", s)
				}
			}
			golden := filepath.Join("testdata", c.generator, strings.TrimSuffix(c.file, ".html")+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("sections differ from %s:\n%s", golden, got)
			}
		})
	}
}

func TestGeneratedListsAreNoPages(t *testing.T) {
	for _, c := range [][2]string{{"sphinx-furo", "genindex.html"}, {"hugo-docsy", "tags/scaling/index.html"}} {
		if doc := fixture(t, c[0], c[1]); doc != nil {
			t.Errorf("%s %s became a document", c[0], c[1])
		}
	}
}
