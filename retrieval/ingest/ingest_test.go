package ingest

import (
	"errors"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func mustNew(t testing.TB, o Options) *Ingester {
	t.Helper()
	return New(o)
}

func read(t testing.TB, o Options, file, data string) *retrieval.Document {
	t.Helper()
	doc, _, _, err := mustNew(t, o).document(file, []byte(data), nil)
	if err != nil {
		t.Fatalf("Document(%q): %v", file, err)
	}
	return doc
}

func TestPagesAreNamedAndLinkedAsServed(t *testing.T) {
	for _, c := range []struct{ name, site, file, page, url string }{
		{"a Markdown file loses its extension", "", "guide/start.md", "guide/start", "/guide/start"},
		{"an HTML file keeps it in its address", "https://x.com", "guide/a.html", "guide/a", "https://x.com/guide/a.html"},
		{"an index is its folder's page", "https://x.com/docs", "guide/index.html", "guide", "https://x.com/docs/guide/"},
		{"the front page has no name", "https://x.com/docs/", "index.md", "", "https://x.com/docs/"},
		{"Hugo's _index.md is an index", "", "guide/_index.md", "guide", "/guide/"},
		{"blanks and letters are escaped", "https://x.com", "für dich/a b.md", "für dich/a b", "https://x.com/f%C3%BCr%20dich/a%20b"},
		{"dots in names stay", "", "v1.2/rel.1.md", "v1.2/rel.1", "/v1.2/rel.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := read(t, Options{URL: c.site}, c.file, "# A\n\ntext")
			if doc.Page != c.page || doc.URL != c.url {
				t.Errorf("got %q %q, want %q %q", doc.Page, doc.URL, c.page, c.url)
			}
		})
	}
	if doc := read(t, Options{CleanURLs: true}, "a/b.html", "<p>x"); doc.URL != "/a/b" {
		t.Errorf("clean URL is %q", doc.URL)
	}
}

func TestPagesNotMeantToBeFoundAreSkipped(t *testing.T) {
	for name, c := range map[string][2]string{
		"a draft":                {"a.md", "---\ndraft: true\n---\n# A\n\nb"},
		"noindex":                {"a.html", `<meta name=robots content="noindex, follow"><p>x`},
		"a redirect":             {"a.html", `<meta http-equiv=refresh content="0; URL=/b"><p>x`},
		"a redirect, in short":   {"a.html", `<meta http-equiv="refresh" content="0; ./b.html"><p>x`},
		"a redirect by script":   {"a.html", "<html><head><noscript><meta http-equiv=\"refresh\" content=\"0; url=b.html\"/></noscript></head><body><script>window.location.href = 'b.html'</script><p>You should have been redirected.</p><a href=b.html>If not, click here.</a></body></html>"},
		"an error page":          {"404.html", `<h1>Not found</h1>`},
		"an empty file":          {"a.md", " \n"},
		"a page of scripts only": {"a.html", `<body><script>x</script></body>`},
	} {
		doc, warnings, err := mustNew(t, Options{}).Document(c[0], []byte(c[1]))
		if doc != nil || warnings != nil || err != nil {
			t.Errorf("%s: %v %v %v", name, doc, warnings, err)
		}
	}
	if doc := read(t, Options{}, "a.html", `<title>A</title><meta http-equiv=refresh content="30.5 ;"><noscript><meta http-equiv=refresh content="0; url=/plain"></noscript><p>x`); doc.Title != "A" {
		t.Errorf("a page that sends readers without JavaScript elsewhere: %+v", doc)
	}
	if _, _, err := mustNew(t, Options{}).Document("a.md", []byte("\x89PNG\x00\x00\x00\x00\x01")); !errors.Is(err, errBinary) {
		t.Errorf("binary: %v", err)
	}
}

var _ retrieval.Ingester = (*Ingester)(nil)

func dump(doc *retrieval.Document) string {
	var b strings.Builder
	for _, s := range doc.Sections {
		b.WriteString(strings.Repeat("#", s.Level) + " " + strings.Join(append(s.Path, s.Heading), " > ") + " [" + s.Anchor + "]\n" + s.Text + "\n\n")
	}
	return b.String()
}
