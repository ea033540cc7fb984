package citation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// checkHTML fails if rendered has anything but text, its markup, and links to
// the site.
func checkHTML(t *testing.T, source, rendered string) {
	t.Helper()
	tags := strings.Fields("html head body p h3 ul ol li blockquote pre code strong em del br hr table thead tbody tr th td a")
	root, err := html.Parse(strings.NewReader(rendered))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if !slices.Contains(tags, n.Data) {
			t.Errorf("%q has the tag %s:\n%s", source, n.Data, rendered)
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "href":
				if !strings.HasPrefix(a.Val, "https://docs.acme.com/") {
					t.Errorf("%q links to %q:\n%s", source, a.Val, rendered)
				}
			case "rel", "tabindex", "align", "start", "class":
			default:
				t.Errorf("%q has the attribute %s:\n%s", source, a.Key, rendered)
			}
		}
	}
}

// ofSite lets links to the site through.
func ofSite(destination string) string {
	if strings.HasPrefix(destination, "https://docs.acme.com/") {
		return destination
	}
	return ""
}

var unchecked = []string{
	"![x](https://evil.net/i.png)", "[![x](/i.png)](https://docs.acme.com/install)", "![[a](https://docs.acme.com/a)](x)", "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<https://evil.net>", "<bob@evil.net>",
	"[x](javascript:alert(1))", "[x](JAVASCRIPT&colon;alert(1))", "[x](<https://docs.acme.com/\" onclick=alert(1)>)", "[a]\n\n[a]: https://evil.net", "[x](https://docs.acme.com/install \"a\\\" onclick=x\")",
	"# a", "###### b {onclick=x}", "a\n=", "> q", "- [ ] task", "7. seven", "```js onclick=x\n</code><script>\n```", "`<b>`", "&lt;script&gt;", "| a |\n|:-:|\n| [x](https://evil.net) |", "https://evil.net", "~~x~~", "***", "\u202egnp.exe", "<!-- c -->", "<https://docs.acme.com/a?b&amp;c>",
}

// Even a text that nobody checked becomes nothing but markup and links that
// the caller knows.
func TestRenderedAnswersLoadNothingAndLinkToKnownPages(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(16, 3))
	texts := slices.Clone(unchecked)
	for range 2000 {
		var b strings.Builder
		for range 2 + rnd.IntN(4) {
			b.WriteString(unchecked[rnd.IntN(len(unchecked))])
			b.WriteString([]string{"", " ", "\n", "\n\n", "\n    ", "\n> ", "\n- "}[rnd.IntN(7)])
		}
		texts = append(texts, b.String())
	}
	for _, text := range texts {
		checkHTML(t, text, HTML(text, ofSite))
		if t.Failed() {
			return
		}
	}
}

func TestRenderedAnswers(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"See [Install](https://docs.acme.com/install \"t\").": `<p>See <a href="https://docs.acme.com/install" rel="noreferrer noopener">Install</a>.</p>`,
		"<https://docs.acme.com/a>":                           `<p><a href="https://docs.acme.com/a" rel="noreferrer noopener">https://docs.acme.com/a</a></p>`,
		"[**x** `y`](https://evil.net) end":                   `<p><strong>x</strong> <code>y</code> end</p>`,
		"a ![two *cats*](c.png) b":                            `<p>a two <em>cats</em> b</p>`,
		"## Steps\n\n```\n<b>\n```":                           "<h3>Steps</h3>\n<pre tabindex=\"0\"><code>&lt;b&gt;\n</code></pre>",
		"<bob@evil.net> <https://evil.net>":                   `<p>bob@evil.net https://evil.net</p>`,
	} {
		if got := HTML(source, ofSite); strings.TrimSpace(got) != want {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
	}
}
