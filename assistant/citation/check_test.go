package citation

import (
	"testing"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// acme is a small site.
func acme() *Rules {
	pages := make(map[string]*retrieval.Document)
	add := func(name string, anchors ...string) {
		d := &retrieval.Document{Page: name, URL: "https://docs.acme.com/" + name}
		for _, a := range anchors {
			d.Sections = append(d.Sections, retrieval.Section{Anchor: a})
		}
		pages[name] = d
	}
	add("install", "", "linux", "windows", "macos")
	add("guide/proxy", "reverse-proxy", "timeouts")
	add("guide/tls", "", "own-certificate")
	add("api", "search")
	return &Rules{
		URL: "https://docs.acme.com", SupportURL: "https://help.acme.io/", AllowLinks: []string{"github.com", "*.acme.com", "status.acme.io:8443"},
		Current:  pages["guide/tls"],
		Passages: []Passage{{Page: pages["install"], URL: "https://docs.acme.com/install#linux", Title: "Install › Linux", Text: "Get it from https://quoted.net/acme."}},
		Page:     func(name string) *retrieval.Document { return pages[name] },
	}
}

// checked runs a text through a Checker, cut into pieces by cut (nil: whole).
func checked(text string, cut func() int) (string, *Checker) {
	c := NewChecker(acme())
	var out []byte
	for len(text) > 0 {
		n := len(text)
		if cut != nil {
			n = min(n, cut())
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n++
			}
		}
		out = c.Append(out, []byte(text[:n]))
		text = text[n:]
	}
	return string(c.End(out)), c
}

func TestLinksOfAnAnswer(t *testing.T) {
	j := newJudge(t)
	for _, c := range []struct{ name, in, want string }{
		{"a link to a section that exists stays", "See [Install](https://docs.acme.com/install#linux).", "See [Install](https://docs.acme.com/install#linux)."},
		{"a relative link is written as it is served", "See [Install](/install#linux).", "See [Install](https://docs.acme.com/install#linux)."},
		{"a link by file name is written as it is served", "See [x](guide/proxy.md#timeouts \"t\").", "See [x](https://docs.acme.com/guide/proxy#timeouts)."},
		{"a link relative to the reader's page is found", "See [x](proxy#timeouts).", "See [x](https://docs.acme.com/guide/proxy#timeouts)."},
		{"an anchor of the reader's page is found", "See [x](#own-certificate).", "See [x](https://docs.acme.com/guide/tls#own-certificate)."},
		{"a link to a page that does not exist becomes text", "See [the guide](https://docs.acme.com/nope).", "See the guide."},
		{"a link to an anchor that does not exist becomes text", "See [the guide](/install#nope).", "See the guide."},
		{"a code span that a list's item ends hides no link", "Set `docs\n- [the guide](/install#nope) and `x`.", "Set `docs\n- the guide and `x`."},
		{"nor does a code span before a list", "`[--origin](/nope)`\n- [the guide](/nope)` b", "`[--origin](/nope)`\n- the guide` b"},
		{"a link to a foreign host becomes text", "See [evil](https://evil.example.net/x).", "See evil."},
		{"a link to an allowed host stays", "See [repo](https://github.com/acme/acme).", "See [repo](https://github.com/acme/acme)."},
		{"a link to an allowed subdomain stays", "See [x](https://cdn.acme.com/a).", "See [x](https://cdn.acme.com/a)."},
		{"a host with an empty part is none", "https://x..acme.com [x](https://x..acme.com)", "`x..acme.com` x"},
		{"the support address stays", "[Ask](https://help.acme.io/)", "[Ask](https://help.acme.io/)"},
		{"an image without text becomes its address", "![](/x)``` a\n[x](https://evil.net) ![y](https://evil.net) <img src=x>\n", "`/x` ``` a\nx y &lt;img src=x>\n"},
		{"so does a link without text", "[](https://evil.net/a)~~~\n[ ](/nope)- ``` a\n", "`evil.net/a`~~~\n`/nope`- ``` a\n"},
		{"with neither, brackets stay", "[]()``` a\n[x](https://evil.net)", "\\[\\]``` a\nx"},
		{"in a list, a quote and a tilde fence as well", "- ![](/x)``` a\n\n> ![](/x)~~~ a\n\n~~~\n![](/x)~~~\n~~~\n[x](https://evil.net)", "- `/x` ``` a\n\n> `/x`~~~ a\n\n~~~\n![](/x)~~~\n~~~\nx"},
		{"a link's text begins no block", "[- ```](/n) a\n[> b](/n)\n[# c](/n)\n[===](/n)\n[~~~](/n)\n[1. ```](/n) d\n[*](/n) e", "\\- a\n\\> b\n\\# c\n\\===\n\\~~~\n1\\. d\n\\* e"},
		{"nor does it with what is around it", "-[ ](/n)-[-](/n)\n[1](/n). ``` a\n1[2](/n)) ``` b\n|-[-](/n)-|", "-`/n`--\n1\\. ``` a\n12\\) ``` b\n|-\\--|"},
		{"an address alone begins none either", "http://- ``` a\nhttp:\\//* b\nwww.- c", "`-` ``` a\nhttp:// * b\n\\- c"},
		{"emphasis and code of a link's text stay", "[**a** `b`](/n) [`c`](/n)", "**a** `b` `c`"},
		{"a fence's language and title hold no link", "```[a]( //evil.example/p) `", "``` a     evil example p  `"},
		{"and nothing of them vanishes", "```!```\n```````\n[x](https://evil.net)", "``` ```\n```````\n[x](https://evil.net)\n```````"},
		{"an escaped tag is one for showdown", "\\<script>x\\</script>", "&lt;script>x&lt;/script>"},
		{"a space before a link's URL is none for showdown", "[x] (javascript:a) [y]\t(https://evil.net)", "[x] \\(javascript:a) [y]\t\\(`evil.net`)"},
		{"escaped brackets before a parenthesis hide no link from marked", "[\\[\\]()a](/install)2", "[\\[\\]\\()a](https://docs.acme.com/install)2"},
		{"backticks without a pair make no link for marked", "[```](javascript:a```])", "\\[```](javascript:a```\\])"},
		{"javascript never", "[x](javascript:alert(1)) [y](data:text/html,x) [z](JaVaScRiPt&#58;alert)", "x y z"},
		{"a bar in a link's text splits no table", "| a | b |\n|---|---|\n[|](https://help.acme.io/)x\n[`x|y`](/install)x", "| a | b |\n|---|---|\n[\\|](https://help.acme.io/)x\n[x\\|y](https://docs.acme.com/install)x"},
		{"code with bars passes", "Use `--format <json|yaml>`, `a[x|y]` and `<n>`.\n- `budget <n>[k|M] tokens|requests`: What", "Use `--format <json|yaml>`, `a[x|y]` and `<n>`.\n- `budget <n>[k|M] tokens|requests`: What"},
		{"code with escaped bars passes in a table", "| a | b |\n|---|---|\n| `<n>[k\\|M]` | `\\|<x>` |", "| a | b |\n|---|---|\n| `<n>[k\\|M]` | `\\|<x>` |"},
		{"code with bars that split cells is none", "| a | b |\n|---|---|\n| `a|[x](https://evil.net)` ![y](https://evil.net) |\n| `a\\\\|<b>` |", "| a | b |\n|---|---|\n| `a|x` y |\n| `a\\\\|&lt;b>` |"},
		{"code after bars that split cells is none", "| a | b |\n|---|---|\n| `a|b` `[x](https://evil.net)` |", "| a | b |\n|---|---|\n| `a|b` ` x` |"},
		{"code with bars makes no head of a table", "`a|[x](https://evil.net)` b\n--|:-\n`[x](https://evil.net)|`", "`a|[x](https://evil.net)` b\n--\\|:-\n` x|`"},
		{"nor in what was a link", "[`a|[x](https://evil.net)` b](/nope)\n-|-", "`a|[x](https://evil.net)` b\n-\\|-"},
		{"a table of one column has no bar", "a\n:-\n`[x](https://evil.net)|`", "a\n:-\n` x|`"},
		{"an image becomes its alternative text", "![diagram](https://evil.net/p.png?q=1) here", "diagram here"},
		{"an image inside a link goes, the link stays", "[![alt](https://evil.net/p.png) text](/install)", "[alt text](https://docs.acme.com/install)"},
		{"a bare address of a page stays", "Go to https://docs.acme.com/install.", "Go to https://docs.acme.com/install."},
		{"a bare foreign address becomes code", "Go to https://evil.net/x?y=1, now", "Go to `evil.net/x?y=1`, now"},
		{"a local address stays readable", "Open http://localhost:8080/ now", "Open `http://localhost:8080/` now"},
		{"an autolink of a page stays", "<https://docs.acme.com/install#linux>", "<https://docs.acme.com/install#linux>"},
		{"a foreign autolink becomes code", "<https://evil.net/x>", "`evil.net/x`"},
		{"www is an address", "at www.evil.net today", "at `evil.net` today"},
		{"ftp is an address", "at ftp://evil.net/x and FTP://evil.net", "at `evil.net/x` and `evil.net`"},
		{"an e-mail address is no link", "mail bob@evil.net, bob@localhost.x or <bob@evil>", "mail bob@`evil.net`, bob@`localhost.x` or &lt;bob@`evil`>"},
		{"an @ without a host's name stays", "**nDCG@10**, recall@5 (lodash@4). Use user@host: P@k.", "**nDCG@10**, recall@5 (lodash@4). Use user@host: P@k."},
		{"an @ that a host's name may follow is none", "mailto:bob@evil x://bob@evil a@b<i>.com a@b\\.com a@b&#46;com", "mailto:bob@`evil` x:/\\/bob@`evil` a@`b`&lt;i>.com a@`b.com` a@`b`&amp;#46;com"},
		{"HTML is shown, not rendered", "a <img src=x onerror=y> b <b>c</b>", "a &lt;img src=x onerror=y> b &lt;b>c&lt;/b>"},
		{"a comparison stays", "if a < b && c > d", "if a < b && c > d"},
		{"a definition makes no references links", "See [Install][1].\n\n[1]: https://docs.acme.com/install#linux\n[2]: /install\n", "See [Install][1].\n\n\\[1\\]: https://docs.acme.com/install#linux\n\\[2\\]: /install\n"},
		{"a foreign definition is none", "See [x][1].\n\n[1]: https://evil.net/x\n", "See [x][1].\n\n\\[1\\]: `evil.net/x`\n"},
		{"code spans pass", "Use `[a](https://evil.net)` and ``<b>`</b>``.", "Use `[a](https://evil.net)` and ``<b>`</b>``."},
		{"code blocks pass", "Do:\n\n```html\n<img src=\"https://evil.net\">\n[a](b)\n```\n\nThen [x](/nope).", "Do:\n\n```html\n<img src=\"https://evil.net\">\n[a](b)\n```\n\nThen x."},
		{"code blocks in lists pass", "1. Do\n   ```sh\n   curl https://a.example <x>\n   ```\n2. Then <b>", "1. Do\n   ```sh\n   curl https://a.example <x>\n   ```\n2. Then &lt;b>"},
		{"brackets that are no link stay", "a[0] and [x] and - [ ] todo", "a[0] and [x] and - [ ] todo"},
		{"a port that is not allowed becomes text", "See [x](https://github.com:8443/acme), [y](https://status.acme.io/) and [z](http://status.acme.io:8443/).", "See x, y and [z](http://status.acme.io:8443/)."},
		{"a default port is none", "See [x](https://github.com:443/acme) and [y](http://github.com:443/).", "See [x](https://github.com:443/acme) and y."},
		{"an open block of code is closed", "Run\n```sh\nacme run", "Run\n```sh\nacme run\n```"},
		{"an open block of code that ends with its line is closed", "~~~~\nacme run\n", "~~~~\nacme run\n~~~~"},
		{"a closed block of code without a last newline is not closed again", "```sh\nacme run\n```", "```sh\nacme run\n```"},
		{"an open block of code in a list ends with it", "- a\n  ```\n  b", "- a\n  ```\n  b"},
		{"a task list stays", "- [ ] one\n- [x] two", "- [ ] one\n- [x] two"},
		{"an unclosed bracket cannot become a link later", "see [the\nnext](https://evil.net/x)", "see \\[the\nnext\\](`evil.net/x`)"},
		{"a backtick without its pair is no code", "a ` b ![x](https://evil.net/i)\nc", "a ` b x\nc"},
		{"a backtick of the line before takes no bracket into code", "`a`[`b\n[`tls`](/guide/tls)x [](/guide/tls)", "`a`\\[`b\n[tls](https://docs.acme.com/guide/tls)x [docs.acme.com/guide/tls](https://docs.acme.com/guide/tls)"},
		{"a host that no URL can have is no link", "at https://(cdn.acme.com today", "at `(cdn.acme.com` today"},
		{"an empty port is the site's own host", "at https://docs.acme.com: today and [x](https://docs.acme.com:/install)", "at `docs.acme.com`: today and [x](https://docs.acme.com/install)"},
		{"an empty port before a fragment, too", "at https://docs.acme.com:#a today", "at `docs.acme.com:#a` today"},
		{"a host is written in lower case", "at https://evil.net.ACME.com today", "at https://evil.net.acme.com today"},
		{"a scheme before an address does not become its scheme", "a `b https://<https://evil.net>", "a `b https:// evil\\.net"},
		{"an address in what was a link ends with it", "[[see https://docs.acme.com/install](/nope)](/nope)x", "see <https://docs.acme.com/install>x"},
		{"a scheme alone leaves no backticks", "http://'[``](/install)x", "http:// '[docs.acme.com/install](https://docs.acme.com/install)x"},
		{"several marks behind an address are not in it", "https://docs.acme.com/install: https://docs.acme.com/install,! https://docs.acme.com/install!", "<https://docs.acme.com/install>: <https://docs.acme.com/install>,! https://docs.acme.com/install!"},
		{"a fence is no head of a table", "~~~a|b\n-|:-\n[x](https://evil.net)", "~~~a b\n-|:-\n[x](https://evil.net)\n~~~"},
		{"a backtick without its pair is in no link's text", "[a `[` b`](/install)x [c ``d``](/install)", "[a \\[ b](https://docs.acme.com/install)x [c d](https://docs.acme.com/install)"},
		{"a backslash before an address takes no mark of it", "\\https://docs.acme.com/install[y](/nope)", "\\ <https://docs.acme.com/install>y"},
		{"an address in pieces is none", "ht[tp](x)://evil.net and [ht](x)tp://evil.net", "ht tp:/\\/evil\\.net and ht tp:/\\/evil\\.net"},
		{"an emphasised link stays", "**[Install](/install)**", "**[Install](https://docs.acme.com/install)**"},
		{"code in a link's text stays", "[`tls` option](/guide/tls)", "[`tls` option](https://docs.acme.com/guide/tls)"},
		{"an exclamation before a link makes no image", "Great![Install](/install)", "Great! [Install](https://docs.acme.com/install)"},
		{"words that begin like addresses pass", "how when http www https: ftp: of with", "how when http www https: ftp: of with"},
		{"emoji and other scripts pass", "Übung 😀 日本語 – “x”", "Übung 😀 日本語 – “x”"},
		{"an ampersand passes", "AT&T &amp; x &lt; y &c", "AT&T &amp; x &lt; y &c"},
		{"an entity is as long in pieces", "&00000000000000000000000000000000x;", "&amp;00000000000000000000000000000000x;"},
		{"entities cannot spell an address", "&#104;ttp&colon;//evil.net", "&amp;#104;ttp&amp;colon;/\\/evil\\.net"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := checked(c.in, nil)
			if got != c.want {
				t.Errorf("\ngot  %q\nwant %q", got, c.want)
			}
			j.judge(t, shown{c.in, got})
			for size := 1; size < 12; size++ {
				if again, _ := checked(c.in, func() int { return size }); again != got {
					t.Errorf("in pieces of %d:\ngot   %q\nwhole %q", size, again, got)
				}
			}
		})
	}
}
