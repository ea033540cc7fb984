package citation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestPagesAreNamedByTheirPaths(t *testing.T) {
	for _, c := range []struct{ address, base, want string }{
		{"/guide/tls.html?x#y", "", "guide/tls"},
		{"/docs/guide/", "https://acme.com/docs", "guide"},
		{"https://acme.com/docs/index.html", "https://acme.com/docs/", ""},
		{"/", "", ""},
		{"guide/../install.md", "", "install"},
		{"/docsguide", "https://acme.com/docs", "docsguide"},
	} {
		if got, ok := PageName(c.address, c.base); !ok || got != c.want {
			t.Errorf("%q below %q: %q %v, want %q", c.address, c.base, got, ok, c.want)
		}
	}
	for _, foreign := range []string{"https://evil.net/install", "javascript:alert(1)", "mailto:a@b.c"} {
		if got, ok := PageName(foreign, "https://docs.acme.com"); ok {
			t.Errorf("%q is page %q", foreign, got)
		}
	}
}

func TestWhatACheckerReports(t *testing.T) {
	text, c := checked("See [x](/install#linux), [y](https://evil.net), <https://github.com/acme> and `a b`.\n```sh\nacme run\n```\n", nil)
	urls := c.Cited()
	slices.Sort(urls)
	if want := []string{"https://docs.acme.com/install#linux", "https://github.com/acme"}; !slices.Equal(urls, want) {
		t.Errorf("cited %q, want %q", urls, want)
	}
	if got, want := Code(text), "a b\nacme run\n"; got != want {
		t.Errorf("code %q, want %q", got, want)
	}
}

func TestAURLThatAPassageQuotesIsShownWhole(t *testing.T) {
	got, _ := checked("Get https://quoted.net/acme or https://other.net/acme.", nil)
	if want := "Get `https://quoted.net/acme` or `other.net/acme`."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestALinkWithoutTextIsNamedByItsTitle(t *testing.T) {
	got, _ := checked("See [](/install#linux) and [](/guide/tls).", nil)
	if want := "See [Install › Linux](https://docs.acme.com/install#linux) and [docs.acme.com/guide/tls](https://docs.acme.com/guide/tls)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAPassageIsLinkedWhereverItsPageIs(t *testing.T) {
	s := acme()
	for _, u := range []string{"https://blog.acme.org/launch.html", "/guide/fuel.html", "https://api.acme.org/docs#send"} {
		s.Passages = append(s.Passages, Passage{Page: &retrieval.Document{Page: "a site/" + u, URL: u}})
	}
	for in, want := range map[string]string{
		"[a](https://blog.acme.org/launch.html?x)": "[a](https://blog.acme.org/launch.html)",
		"[a](/guide/fuel.html)":                    "[a](/guide/fuel.html)",
		"[a](https://api.acme.org/docs#send)":      "[a](https://api.acme.org/docs#send)",
		"[a](https://api.acme.org/docs#read)":      "a",
		"[a](https://blog.acme.org/other.html)":    "a",
	} {
		c := NewChecker(s)
		if got := string(c.End(c.Append(nil, []byte(in)))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestLookupsOfPagesAreBounded(t *testing.T) {
	n := 0
	s := acme()
	s.Page = func(string) *retrieval.Document { n++; return nil }
	c := NewChecker(s)
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "[x](/page-%d) [x](/page-%d) ", i, i)
	}
	c.Append(nil, []byte(text.String()))
	if n != maxLookups {
		t.Errorf("%d pages were looked up, want %d", n, maxLookups)
	}
}

func TestLinksAreWrittenAsMarkdown(t *testing.T) {
	for _, c := range []struct{ title, url, want string }{
		{"Install", "https://acme.com/a", "[Install](https://acme.com/a)"},
		{"", "https://acme.com/a_b", "[acme.com/a_b](https://acme.com/a_b)"},
		{"a [b] *c* _d_ e_f <g> `h` & !", "https://acme.com/a b(c)&d", "[a \\[b\\] \\*c\\* \\_d\\_ e_f &lt;g> \\`h\\` &amp; \\!](https://acme.com/a%20b%28c%29&amp;d)"},
	} {
		if got := Link(c.title, c.url); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Text outside links comes out at once. A letter that could begin http, ftp or
// www, and a dot behind a word, wait for the next one.
func TestNothingOutsideALinkIsHeldBack(t *testing.T) {
	text := "Run it as root (see [Install](https://docs.acme.com/install#linux)), then wait; fast or slow, how and when don't matter.\n\n- one `code` here\n1. **two**\n\n> three\n"
	c := NewChecker(acme())
	var out []byte
	link := false
	for i := range len(text) {
		out = c.Append(out, []byte{text[i]})
		link = link && text[i] != ')' || text[i] == '['
		if !link && strings.IndexByte("fhw.", text[i]) < 0 && len(out) < i+1 {
			t.Fatalf("after %q only %q has passed", text[:i+1], out)
		}
	}
}

func TestATokenCostsNoAllocation(t *testing.T) {
	c := NewChecker(acme())
	out := make([]byte, 0, 1<<10)
	word, line := []byte(" word, how"), []byte(".\n\nNext")
	c.Append(out, line)
	if n := testing.AllocsPerRun(1000, func() {
		c.Append(out, word)
		c.Append(out, line)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkChecker is the check of a reply of some 300 tokens.
func BenchmarkChecker(b *testing.B) {
	text := strings.Repeat("Run the service with `acme run --config x` and see [Install](/install#linux), then go on.\n", 12)
	b.ReportAllocs()
	var out []byte
	for b.Loop() {
		c := NewChecker(acme())
		for i := 0; i < len(text); i += 4 {
			out = c.Append(out[:0], []byte(text[i:min(i+4, len(text))]))
		}
		c.End(out)
	}
}
