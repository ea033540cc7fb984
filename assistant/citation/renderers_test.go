package citation

import (
	"bytes"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/caddytest/markdown"
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

// dense are pieces of short texts, in which blocks begin and end often.
var dense = []string{
	"`", "`", "`", "```", "~~~", "[", "]", "](/n)", "](/n)", "](/install)", "(", ")", "!", "![", "\\", "<", ">", "-", "*", "_", "#", "1", ".", "&", " ", "  ", "\n", "\n", "\n\n", "\t", "x", ":", "=", "|",
	"//evil.net", "[y](//evil.net)", "[ok](/install)", "http://", "evil.net", "bob@evil.net", "https://evil.net", "www.", "<t>", "![](/x)", "[](/n)",
}

// adversarial is a random text made of what hurts.
func adversarial(rnd *rand.Rand) string {
	parts := []string{
		"[", "]", "(", ")", "![", "](", "`", "``", "```", "~~~", "\n", "\n\n", "\n\n\n", "    ", "  ", " ", "\t", "> ", ">", "- ", "* ", "1. ", "2) ", "12. ",
		"\\", "\\[", "\\`", "|", "| a | b |\n|---|---|\n| ", "|-|-|\n", "\n-|:-\n", "\n:-\n", "`|", "\\|", "<", ">", "</", "<!--", "-->", "&", "&#104;", "&colon;", ":", "://", "//", "/", "!", "#", "# ", "---", "===",
		"word", "https://evil.net/x", "http://evil.net", "HTTP://EVIL.net", "www.evil.net", "ftp://evil.net", "f", "evil.net", "ht", "tp://evil.net", "h", "w", "ww.evil.net",
		"[y](https://evil.net/a)", "![y](https://evil.net/i.png)", "[y](/nope)", "[ok](/install)", "[ok](https://docs.acme.com/install#linux)", "[bad](/install#nope)",
		"<https://evil.net>", "<img src=\"https://evil.net/i\">", "<script>", "<a href='https://evil.net'>", "<x-evil>", "[1]: https://evil.net/d\n", "[1]: /install\n", "[a][1]", "[1]", "![1]", "[y][", "[^1]", "[^1]: ",
		"![](/x)", "![](https://evil.net/i.png)", "[](/nope)", "[ ](/nope)", "[-](/nope)", "[1](/nope)", "[1.](/nope)", "[>](/nope)", "[#](/nope)", "[    ](/nope)", "[```](/nope)", "[~~~](/nope)", "[`](/nope)", "[=](/nope)", "[|](/nope)", "[- ```](/nope)", "[a\\](/nope)", "[x](", "\n```\n", "\n\n[y](https://evil.net/a)\n", "\n~~~\n", "``` a\n", "~~~ a\n", "- ```\n", "> ```\n", "\\<script>", "\\<", "\\&lt;", "&lt;", "//evil.example/p",
		"javascript:alert(1)", "(javascript:alert(1))", "[y](javascript:alert(1))", "[y](<https://evil.net/a b>)", "[y](https://evil.net \"t\")", "\"", "'", "é", "日本", "😀", "*", "**", "_", "~",
		"[`a`](https://evil.net)", "[|](https://help.acme.io/)", "[`x|y`](/install)", "`[a](/nope)`", "[`ok`](/install#linux)x", "[`ok`](https://docs.acme.com/install)&", "[[y](https://evil.net)](/install)", "[![i](https://evil.net)](https://evil.net)", "https://docs.acme.com/install", "<https://docs.acme.com/nope>", "\r", "{", "}", "$", "...", ".", ",", ";",
	}
	var b strings.Builder
	for range 1 + rnd.IntN(30) {
		b.WriteString(parts[rnd.IntN(len(parts))])
	}
	return b.String()
}

// hostile is a random text that is adversarial, tricky or dense.
func hostile(rnd *rand.Rand) string {
	var b strings.Builder
	switch rnd.IntN(3) {
	case 0:
		return adversarial(rnd)
	case 1:
		for range 1 + rnd.IntN(5) {
			b.WriteString(tricky[rnd.IntN(len(tricky))])
			b.WriteString([]string{"", "", " ", "\n", "\n\n", "`", ".", "/", "w"}[rnd.IntN(9)])
		}
	default:
		for range 2 + rnd.IntN(14) {
			b.WriteString(dense[rnd.IntN(len(dense))])
		}
	}
	return b.String()
}

// judge renders answers as readers' clients do.
type judge struct {
	gold   goldmark.Markdown
	others *markdown.Renderers // nil in short tests
}

func newJudge(t testing.TB) *judge {
	j := &judge{gold: goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(gmhtml.WithUnsafe()))}
	if !testing.Short() {
		j.others = markdown.Start(t, true)
	}
	return j
}

// shown is a text, and what of it was passed on.
type shown struct{ of, text string }

// judge fails if a renderer makes of one of the texts what no answer may hold.
func (j *judge) judge(t testing.TB, all ...shown) {
	t.Helper()
	pages := make([]map[string]string, len(all))
	if j.others != nil {
		texts := make([]string, len(all))
		for i, s := range all {
			texts[i] = s.text
		}
		var err error
		if pages, err = j.others.HTML(texts...); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range all {
		var b bytes.Buffer
		if err := j.gold.Convert([]byte(s.text), &b); err != nil {
			t.Fatal(err)
		}
		page := map[string]string{"goldmark": b.String(), "HTML": HTML(s.text, func(to string) string { return to })}
		for name, source := range pages[i] {
			// Blocks of code are CommonMark's, which showdown doesn't follow.
			if name != "showdown" || !strings.Contains(s.text, "```") && !strings.Contains(s.text, "~~~") {
				page[name] = source
			}
		}
		for name, source := range page {
			if bad := offences(source); bad != nil {
				t.Errorf("%q\nbecame %q\nwhich %s renders with %v", s.of, s.text, name, bad)
			}
		}
	}
}

// allowed are the addresses that answers about acme may link to.
var allowed = func() map[string]bool {
	allowed := map[string]bool{"https://help.acme.io/": true}
	for _, name := range []string{"install", "guide/proxy", "guide/tls", "api"} {
		d := acme().Page(name)
		allowed[d.URL] = true
		for i := range d.Sections {
			allowed[d.URL+"#"+d.Sections[i].Anchor] = true
		}
	}
	return allowed
}()

// offences returns the tags and links of HTML that no answer may hold.
func offences(source string) (bad []string) {
	z := html.NewTokenizer(strings.NewReader(source))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return bad
		case html.CommentToken:
			bad = append(bad, "a comment")
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			if !slices.Contains(strings.Fields("p s code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 hr em strong br del table thead tbody tr th td input a"), tok.Data) {
				bad = append(bad, "<"+tok.Data+">")
			}
			for _, at := range tok.Attr {
				if at.Key != "href" && at.Key != "src" || allowed[strings.TrimRight(at.Val, ".,!?")] { // showdown takes a sentence's end for a part of the URL
					continue
				}
				u, err := url.Parse(at.Val)
				if err != nil || !strings.EqualFold(u.Hostname(), "github.com") && u.Host != "status.acme.io:8443" && (strings.EqualFold(u.Host, "docs.acme.com") || !strings.HasSuffix(strings.ToLower(u.Hostname()), ".acme.com")) {
					bad = append(bad, "a link to "+at.Val)
				}
			}
		}
	}
}

// No renderer makes anything clickable but checked links, at any point of a
// stream, however it is cut.
func TestNoAnswerHoldsAnythingButCheckedLinks(t *testing.T) {
	j := newJudge(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	texts := slices.Clone(tricky)
	n := 600
	if testing.Short() {
		n = 300
	}
	for range n {
		texts = append(texts, hostile(rnd))
	}
	for batch := range slices.Chunk(texts, 100) {
		var all []shown
		for _, text := range batch {
			whole, _ := checked(text, nil)
			all = append(all, shown{text, whole})
			if again, _ := checked(text, func() int { return 1 + rnd.IntN(9) }); again != whole {
				t.Errorf("%q\nwhole     %q\nin pieces %q", text, whole, again)
			}
			// In the middle of the stream.
			runes := []rune(text)
			part := string(runes[:rnd.IntN(len(runes)+1)])
			all = append(all, shown{part, string(NewChecker(acme()).Append(nil, []byte(part)))})
		}
		j.judge(t, all...)
		if t.Failed() {
			return
		}
	}
}

func FuzzChecker(f *testing.F) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		f.Add(hostile(rnd), uint8(3))
	}
	j := newJudge(f)
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		text = strings.ToValidUTF8(text, "")
		if len(text) > 4000 {
			return
		}
		whole, _ := checked(text, nil)
		j.judge(t, shown{text, whole})
		if again, _ := checked(text, func() int { return int(size%16) + 1 }); again != whole {
			t.Fatalf("%q\nwhole     %q\nin pieces %q", text, whole, again)
		}
	})
}
