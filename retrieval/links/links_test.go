package links

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// manual is a site of Markdown files, served as HTML.
type manual struct {
	files map[string]string // by name
	// served are bodies by path; every other path is absent, or unknown if down.
	served map[string]string
	down   bool
	asked  []string
}

func (m *manual) site(t *testing.T) Site {
	t.Helper()
	s := Site{
		File: func(d *retrieval.Document) ([]byte, error) {
			if text, ok := m.files[d.File]; ok {
				return []byte(text), nil
			}
			return nil, errors.New("gone")
		},
		URL: func(d *retrieval.Document) string { return "https://docs.example" + d.URL },
		Ask: func(_ context.Context, path string, use func(bool, []byte)) Answer {
			m.asked = append(m.asked, path)
			if m.down {
				return Unknown
			}
			body, ok := m.served[path]
			if !ok {
				return Absent
			}
			if use != nil {
				use(true, []byte(body))
			}
			return Present
		},
		Resolve: func(d *retrieval.Document, href string) (*url.URL, string, string, bool) {
			base, err := url.Parse(d.URL)
			if err != nil {
				t.Fatal(err)
			}
			u, err := base.Parse(href)
			if err != nil || u.Host != "" {
				return nil, "", "", false
			}
			return u, strings.TrimPrefix(u.Path, "/"), u.Fragment, true
		},
	}
	for _, name := range slices.Sorted(maps.Keys(m.files)) {
		page := strings.TrimSuffix(name, path.Ext(name))
		d := &retrieval.Document{Page: page, URL: "/" + page, File: name, Sections: []retrieval.Section{{Level: 1}}}
		for line := range strings.Lines(m.files[name]) {
			if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
				d.Sections = append(d.Sections, retrieval.Section{Level: 2, Heading: heading, Anchor: strings.ToLower(heading)})
			}
		}
		for _, href := range hrefs(d, []byte(m.files[name])) {
			if _, page, anchor, ok := s.Resolve(d, href); ok {
				d.Links = append(d.Links, retrieval.Link{Page: page, Anchor: anchor})
			}
		}
		s.Pages = append(s.Pages, d)
	}
	s.Whole = func(_ context.Context, page string) (*retrieval.Document, error) {
		i := slices.IndexFunc(s.Pages, func(d *retrieval.Document) bool { return d.Page == page })
		return s.Pages[i], nil
	}
	return s
}

func TestBrokenLinksHaveTheirLine(t *testing.T) {
	m := &manual{
		files: map[string]string{
			"index.md": "# Start\n\n[Here](install#linux), [gone](removed), [a file](download.zip).\n\n" +
				"```\n[code](removed)\n```\n\n[No such section](install#plan9), [top](install#top), [elsewhere](https://example.com/x).\n",
			"install.md": "# Install\n\n## Linux\n\n## Windows\n\nBack to [the start](index).\n",
		},
		served: map[string]string{
			"/download.zip": "PK",
			"/install":      `<h2 id="linux">Linux</h2><h2 id="windows">Windows</h2>`,
		},
	}
	report, err := Check(t.Context(), m.site(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range report.Broken {
		got = append(got, b.Where()+" "+b.Href+" "+b.What())
	}
	want := []string{"index.md:3 removed there is no such page", "index.md:9 install#plan9 there is no such section on the page"}
	if !slices.Equal(got, want) || report.NotChecked != 0 || report.Pages != 2 {
		t.Errorf("broken %q of %d pages, %d not checked; want %q", got, report.Pages, report.NotChecked, want)
	}
}

// What the site doesn't say is not known, whether it is down or is made by a
// script.
func TestWithoutAnAnswerNothingIsBroken(t *testing.T) {
	files := map[string]string{"a.md": "[x](removed), [y](b#nowhere)\n", "b.md": "# B\n\n## Real\n"}
	for name, test := range map[string]struct {
		site       manual
		notChecked int
	}{
		"down":   {manual{files: files, down: true}, 2},
		"script": {manual{files: files, served: map[string]string{"/b": `<div id="app"></div>`, "/removed": "<h1>An app</h1>"}}, 1},
	} {
		report, err := Check(t.Context(), test.site.site(t))
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Broken) != 0 || report.NotChecked != test.notChecked || len(test.site.asked) == 0 {
			t.Errorf("%s: %d broken, %d not checked (want %d), asked %q", name, len(report.Broken), report.NotChecked, test.notChecked, test.site.asked)
		}
	}
}

func TestAnchorsAreFoundAsGeneratorsMakeThem(t *testing.T) {
	known := markdownIDs([]byte("## Über uns!\n\nSetext heading\n---\n\n## Named {#own-id}\n\n<a id=\"raw\"></a>\n(label)=\n[#asciidoc]\n## `code` and [link](x)\n"))
	for _, anchor := range []string{"über-uns", "setext-heading", "setext-heading-2", "own-id", "raw", "label", "asciidoc", "code-and-link"} {
		if !known[loose(anchor)] {
			t.Errorf("%q is not found among %v", anchor, known)
		}
	}
	for _, anchor := range []string{"own", "code", "uns"} {
		if known[loose(anchor)] {
			t.Errorf("%q is found", anchor)
		}
	}
	ids := IDs([]byte(`<h2 id="one">1</h2><a name="two"></a><p title="id=three">`))
	if !ids["one"] || !ids["two"] || len(ids) != 2 {
		t.Errorf("IDs are %v", ids)
	}
}

func TestCodeIsNoLink(t *testing.T) {
	file := "a\n~~~\n[x](y)\n~~~\n`[q](r)` [s](t) <a href='u&amp;v'>w</a>\n\n[label]: /where\n"
	if got, want := hrefsOf("page.md", file), []string{"5 t", "5 u&v", "7 /where"}; !slices.Equal(got, want) {
		t.Errorf("links are %q, not %q", got, want)
	}
}

func TestLinksOfHTMLAreItsAttributes(t *testing.T) {
	file := "<!-- <a href=no> -->\n<p title=\"\n\">[x](no)\n<a\n class=c href='u&amp;v'>w</a><br/><A HREF=x>y</a>\n<script>href=\"no\"</script>\n<a href=\"z\">"
	if got, want := hrefsOf("page.html", file), []string{"4 u&v", "5 x", "7 z"}; !slices.Equal(got, want) {
		t.Errorf("links are %q, not %q", got, want)
	}
}

// hrefsOf returns the lines and targets of a file's links.
func hrefsOf(name, file string) (all []string) {
	for line, href := range hrefs(&retrieval.Document{File: name}, []byte(file)) {
		all = append(all, fmt.Sprint(line, " ", href))
	}
	return all
}

func TestATargetIsAskedForOnce(t *testing.T) {
	m := &manual{files: map[string]string{}}
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		m.files[name] = "[x](removed) [x](removed)\n"
	}
	report, err := Check(t.Context(), m.site(t))
	if err != nil || len(report.Broken) != 6 || !slices.Equal(m.asked, []string{"/removed"}) {
		t.Errorf("%d broken, asked %q: %v", len(report.Broken), m.asked, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Check(ctx, m.site(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("after the reader left: %v", err)
	}
}
