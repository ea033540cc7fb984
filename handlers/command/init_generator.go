package command

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	slash "path"
	"path/filepath"
	"regexp"
	"strings"
)

// generators are programs that build documentation sites.
var generators = []struct {
	name string // also that of its page of the manual below recipes/
	// config are the files by which its sources are known, output is where it
	// writes the site, and build is how.
	config, output []string
	build          string
	// mark is in its pages.
	mark string
}{
	{name: "Docusaurus", config: []string{"docusaurus.config.*"}, output: []string{"build"}, build: "npm run build", mark: `content="Docusaurus `},
	{
		name: "VitePress", config: []string{".vitepress/config.*", "docs/.vitepress/config.*"},
		output: []string{".vitepress/dist", "docs/.vitepress/dist"}, build: "npx vitepress build", mark: `content="VitePress `,
	},
	{name: "Starlight", config: []string{"astro.config.*"}, output: []string{"dist"}, build: "npm run build", mark: `content="Starlight `},
	{name: "MkDocs", config: []string{"mkdocs.yml"}, output: []string{"site"}, build: "mkdocs build", mark: `content="mkdocs-`},
	{name: "Sphinx", config: []string{"conf.py"}, output: []string{"_build/html", "build/html"}, build: "make html", mark: "documentation_options.js"},
	{name: "mdBook", config: []string{"book.toml"}, output: []string{"book"}, build: "mdbook build", mark: "<!-- Book generated using mdBook"},
	{name: "Hugo", config: []string{"hugo.toml", "hugo.yaml", "hugo.json"}, output: []string{"public"}, build: "hugo", mark: `content="Hugo `},
	{name: "Jekyll", config: []string{"_config.yml"}, output: []string{"_site"}, build: "bundle exec jekyll build", mark: `content="Jekyll `},
}

// maxLooked is how many files of a folder are examined.
const maxLooked = 5000

// lookAt finds out what is in the folder: a built site, or the project that it is
// built from.
func (s *firstSite) lookAt() error {
	root, err := filepath.Abs(s.Root)
	if err != nil {
		return err
	}
	if info, err := os.Stat(root); err != nil {
		return fmt.Errorf("%w; name the folder of the built site", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is a file; name the folder of the built site", root)
	}
	if s.Root, err = builtFrom(root); err != nil {
		return err
	}
	html, markdown, err := pagesIn(s.Root)
	switch {
	case err != nil:
		return err
	case len(html)+markdown == 0:
		return fmt.Errorf("%s has no pages (.html, .md or .mdx files); name the folder of the built site", s.Root)
	case len(html) == 0:
		s.generator = "Markdown"
		return nil
	}
	s.generator = "HTML"
	clean, dotted := 0, 0
	for _, name := range html[:min(len(html), 40)] {
		text := startOf(filepath.Join(s.Root, name))
		for _, g := range generators {
			if s.generator == "HTML" && strings.Contains(text, g.mark) {
				s.generator = g.name
			}
		}
		c, d := linkTargets(s.Root, filepath.ToSlash(name), text)
		clean, dotted = clean+c, dotted+d
	}
	s.cleanURLs = clean > dotted
	return nil
}

// builtFrom returns the folder that a generator writes if root has its sources,
// else root.
func builtFrom(root string) (string, error) {
	for _, g := range generators {
		for _, pattern := range g.config {
			if found, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern))); len(found) == 0 {
				continue
			}
			for _, out := range g.output {
				if built := filepath.Join(root, filepath.FromSlash(out)); isFolder(built) {
					return built, nil
				}
			}
			return "", fmt.Errorf("%s has the sources of a %s site, and %s is not there; run %s there first, or name the folder of the built site",
				root, g.name, strings.Join(g.output, " or "), g.build)
		}
	}
	return root, nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// pagesIn returns the first HTML files of a folder, and how many files of
// Markdown are among the first of all.
func pagesIn(root string) (html []string, markdown int, err error) {
	looked := 0
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if looked++; looked > maxLooked {
			return fs.SkipAll
		}
		switch slash.Ext(name) {
		case ".html", ".htm":
			html = append(html, filepath.FromSlash(name))
		case ".md", ".mdx":
			markdown++
		}
		return nil
	})
	return html, markdown, err
}

// startOf returns the first 256 kB of a file, "" if it can't be read: the check
// of the site names such files.
func startOf(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, 256<<10))
	return string(data)
}

var linkForm = regexp.MustCompile(`<a\s[^>]*href="([^"#?:]+)[#?"]`)

// linkTargets counts the links of a page to HTML files: those that name them without
// .html, and those with it.
func linkTargets(root, page, text string) (clean, dotted int) {
	for _, m := range linkForm.FindAllStringSubmatch(text, -1) {
		to := m[1]
		if strings.HasPrefix(to, "//") || strings.HasSuffix(to, "/") {
			continue
		}
		if !strings.HasPrefix(to, "/") {
			to = slash.Join("/", slash.Dir(page), to)
		}
		file := filepath.Join(root, filepath.FromSlash(slash.Clean(to)))
		switch {
		case slash.Ext(to) == ".html":
			if _, err := os.Stat(file); err == nil {
				dotted++
			}
		case isFolder(file):
		default:
			if _, err := os.Stat(file + ".html"); err == nil {
				clean++
			}
		}
	}
	return clean, dotted
}
