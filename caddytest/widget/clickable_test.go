package widget

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// tricky are texts that renderers decide differently.
var tricky = []string{
	"1https://evil.net/x", "xhttps://evil.net/x", "XHTTPS://EVIL.net", "_https://evil.net_", "éhttps://evil.net/x", "aftp://evil.net",
	"see //evil.net/x", "(//evil.net)", "a//evil.net", "///evil.net", `/\/evil.net`, "https:///evil.net", "xhttps:///evil.net", "xhttps:/\\/evil.net",
	"write to bob@evil.net now", "a.b-c+d@evil.net", "(bob@evil.net)", "mailto:bob@evil.net", "xmpp:bob@evil.net", "<bob@evil.net>", "bob\\@evil.net", "pkg@v1.2.3", "a@b", "@scope/pkg",
	"awww.evil.net", "1www.evil.net", "`www`.evil.net", "w`ww`.evil.net", "WWW.evil.net", "www\\.evil.net", "[www](x).evil.net", "www.www.evil.net",
	"evil.net", "install.sh and README.md, main.rs", "evil.net/x?y", "x.evil.co.uk:80/a", "e.g. this", "evil\\.net", "evil.net.", "end.It", "evil.рф", "127.0.0.1:80/x", "localhost//evil.net",
	"```\ncode\n```~~~\nhttps://evil.net [x](https://evil.net)\n", "```\ncode\n```\t\n```\n[x](https://evil.net)\n", "~~~\na\n~~~```\n[x](https://evil.net)", "```\na\n````~\n[x](https://evil.net)\n",
	"- ```\n  a\n  ```~\n  [x](https://evil.net)\n", "> ```\n> a\n> ```\t\n> ```\n> [x](https://evil.net)\n", "~~~ ```\n[x](https://evil.net)\n~~~\n",
	"[x](https://evil.net)", "![x](https://evil.net/i.png)", "<https://evil.net>", "[x](/install)", "[x](https://docs.acme.com/install) at https://docs.acme.com/install.", "https://docs.acme.com/install",
	"`a|[x](https://evil.net)` b\n|-|-|\n", "`a|b` `[x](https://evil.net)` |", "| a | b |\n|---|---|\n", "| `a|[x](https://evil.net)` `[x](https://evil.net)` |", "\n-|:-\n", "a\n:-\n`[x](https://evil.net)|`\n",
	"| `a\\|[x](https://evil.net)` | `\\\\|[x](https://evil.net)` |\n", "\\|", "\n---\n", "|[x](https://evil.net)", "`", "> ", "- ",
	"[bob@evil.net](/install)", "[evil.net](/install)", "[//evil.net](/install)", "[xhttps://evil.net](/install)", "`a` `https://evil.net`", "`unclosed https://evil.net bob@evil.net evil.net",
}

// clickable returns the addresses of links and images in HTML that a Markdown
// renderer made, other than links to the site.
func clickable(t *testing.T, source string) (bad []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if (a.Key == "href" || a.Key == "src") && a.Val != "https://docs.acme.com/install" {
				bad = append(bad, a.Val)
			}
		}
	}
	return bad
}

// No renderer makes anything clickable but checked links, at any point of a
// stream.
func TestNothingIsClickableButCheckedLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("npm packages take seconds to start")
	}
	t.Parallel()
	if err := npm.Install(t.Context(), "."); err != nil {
		t.Fatal(err)
	}
	install := &retrieval.Document{Page: "install", URL: "https://docs.acme.com/install"}
	page := func(name string) *retrieval.Document {
		if name == "install" {
			return install
		}
		return nil
	}
	texts := append([]string(nil), tricky...)
	rnd := rand.New(rand.NewPCG(18, 3))
	for range 60 {
		var b strings.Builder
		for range 2 + rnd.IntN(4) {
			b.WriteString(tricky[rnd.IntN(len(tricky))])
			b.WriteString([]string{"", "", " ", "\n", "\n\n", "`", ".", "/", "w"}[rnd.IntN(9)])
		}
		texts = append(texts, b.String())
	}
	type shown struct{ of, text string }
	var all []shown
	seen := make(map[string]bool)
	for _, text := range texts {
		c := citation.NewChecker(&citation.Site{URL: "https://docs.acme.com", Page: page})
		var out []byte
		add := func() {
			if s := string(out); !seen[s] {
				seen[s] = true
				all = append(all, shown{text, s})
			}
		}
		for _, r := range text {
			out = c.Append(out, []byte(string(r)))
			add()
		}
		out = c.End(out)
		add()
	}
	outputs := make([]string, len(all))
	for i, s := range all {
		outputs[i] = s.text
	}
	input, _ := json.Marshal(outputs)
	cmd := exec.CommandContext(t.Context(), "node", "render.mjs", "fuzzy")
	cmd.Stdin = bytes.NewReader(input)
	rendered, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var by []map[string]string
	if err := json.Unmarshal(rendered, &by); err != nil {
		t.Fatal(err)
	}
	gold := goldmark.New(goldmark.WithExtensions(extension.GFM))
	reported := make(map[string]bool)
	for i, s := range all {
		var b bytes.Buffer
		if err := gold.Convert([]byte(s.text), &b); err != nil {
			t.Fatal(err)
		}
		by[i]["goldmark"] = b.String()
		if by[i]["the pages without JavaScript"], err = citation.HTML(s.text, func(to string) string { return to }); err != nil {
			t.Fatal(err)
		}
		for name, source := range by[i] {
			if bad := clickable(t, source); bad != nil && !reported[name+s.of] {
				reported[name+s.of] = true
				t.Errorf("%s shows %q for\n%q, checked as\n%q", name, bad, s.of, s.text)
			}
		}
	}
	t.Logf("%d texts, %d prefixes, 5 renderers", len(texts), len(all))
}
