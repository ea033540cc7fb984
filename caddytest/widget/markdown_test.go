package widget

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/caddytest/markdown"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// mdCase is a text, and what of it is code and what is a link.
type mdCase struct {
	Name, Markdown string
	Code, Links    []string
	Text           string // what is shown, if not empty
	// Except says why one of them decides otherwise.
	Except map[string]string
}

// decided is what one of them takes for code and for links.
type decided struct{ code, links string }

// of joins both so that they can be compared: code by its lines, without the
// characters that the checker leaves out since they may begin blocks.
func of(code, links []string) decided {
	var lines []string
	for _, c := range code {
		for line := range strings.SplitSeq(c, "\n") {
			line = strings.TrimLeft(strings.ReplaceAll(line, "`", ""), " \t>-+*.)~0123456789")
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(links)
	return decided{strings.Join(lines, "\n"), strings.Join(slices.Compact(links), " ")}
}

// textOf returns the text of HTML.
func textOf(t *testing.T, source string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
	}
	return text.String()
}

// read returns what HTML marks as code and as links.
func read(t *testing.T, source string) decided {
	t.Helper()
	root, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	var code, links []string
	for n := range root.Descendants() {
		switch {
		case n.Type == html.ElementNode && n.Data == "code":
			var text strings.Builder
			for c := range n.Descendants() {
				if c.Type == html.TextNode {
					text.WriteString(c.Data)
				}
			}
			code = append(code, text.String())
		case n.Type == html.ElementNode && n.Data == "a":
			for _, a := range n.Attr {
				if a.Key == "href" {
					links = append(links, a.Val)
				}
			}
		}
	}
	return of(code, links)
}

// testMarkdown: one table decides for the checker of answers and for the
// widget what is code and what is a link, as the renderers of other clients
// do.
func testMarkdown(t *testing.T, s *stand) {
	source, err := os.ReadFile("testdata/markdown.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []mdCase
	if err := json.Unmarshal(source, &cases); err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		t.Skip("npm packages and a browser take seconds to start")
	}
	texts := make([]string, len(cases))
	for i, c := range cases {
		texts[i] = c.Markdown
	}
	input, _ := json.Marshal(texts)
	others, err := markdown.Start(t, false).HTML(texts...)
	if err != nil {
		t.Fatal(err)
	}

	s.serveRenderer(t)
	b := newTab(t, s)
	b.visit("/", "")
	// All at once: each text whole, as it grows, and as the checker passes it.
	var checkers []*citation.Checker
	var checked []string
	for _, c := range cases {
		checker := citation.NewChecker(&citation.Rules{URL: "https://docs.acme.com", AllowLinks: []string{"github.com"}, Page: func(string) *retrieval.Document { return nil }})
		checkers = append(checkers, checker)
		checked = append(checked, string(checker.End(checker.Append(nil, []byte(c.Markdown)))))
	}
	passed, _ := json.Marshal(checked)
	shown := js[[][3]string](b, importRenderer+`.then(m => {
		const passed = `+string(passed)+`
		const html = (text, grows) => {
			const out = document.createElement('div'), show = m.renderer(out)
			for (let i = 1; grows && i < text.length; i++) show(text.slice(0, i))
			show(text)
			return out.outerHTML
		}
		return `+string(input)+`.map((text, i) => [html(text), html(text, true), html(passed[i])])
	})`)
	for i, c := range cases {
		want := of(c.Code, c.Links)
		got := map[string]decided{
			"checker": of([]string{citation.Code(checked[i])}, checkers[i].Cited()),
			"widget":  read(t, shown[i][0]),
		}
		for _, name := range []string{"markdown-it", "marked", "micromark"} {
			got[name] = read(t, others[i][name])
		}
		for name, d := range got {
			why, excepted := c.Except[name]
			switch {
			case d != want && !excepted:
				t.Errorf("%s: %s takes %q for code and %q for links of\n%s", c.Name, name, d.code, d.links, c.Markdown)
			case d == want && excepted:
				t.Errorf("%s: %s decides as the others, so %q is wrong", c.Name, name, why)
			}
		}
		if got := textOf(t, shown[i][0]); c.Text != "" && got != c.Text {
			t.Errorf("%s: the text is %q, not %q", c.Name, got, c.Text)
		}
		if streamed := read(t, shown[i][1]); streamed != got["widget"] {
			t.Errorf("%s: shown as it grows, %q and %q; whole, %q and %q", c.Name, streamed.code, streamed.links, got["widget"].code, got["widget"].links)
		}
		// What the checker passes is decided alike by all that show it.
		passed := read(t, shown[i][2])
		passed.links = strings.NewReplacer("%28", "(", "%29", ")").Replace(passed.links)
		if c.Except == nil && passed != want {
			t.Errorf("%s: of the checked text %q, the widget takes %q for code and %q for links", c.Name, checked[i], passed.code, passed.links)
		}
	}
	b.calm()
}

// importRenderer imports the widget's renderer as the loader imports the rest:
// with what the loader has made already.
const importRenderer = `import('/extra/dom.js').then(dom => {
	globalThis.CONTEXT = [dom.h, dom.put, dom.icon, dom.adopt, dom.lens, null, {}, 'https://docs.acme.com', []]
	return import('/extra/markdown.js')
})`

// serveRenderer serves the widget's renderer as /extra/markdown.js, and what it
// takes from the loader as /extra/dom.js.
func (s *stand) serveRenderer(t *testing.T) {
	t.Helper()
	for _, name := range []string{"dom", "markdown"} {
		s.bundle(t, "/extra/"+name+".js", "../../widget/src/"+name+".ts", "T={}")
	}
}

// bundle serves a script with all that it imports, as the widget's build makes
// it.
func (s *stand) bundle(t *testing.T, url, file string, defines ...string) {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"-C", "../../widget/build", "run", ".", file}, defines...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	script, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	s.extra(url, script)
}

// Blocks that are finished keep their elements, and the last one its own as
// far as it has not changed: a selection in them stays.
func testRenderer(t *testing.T, s *stand) {
	s.serveRenderer(t)
	b := newTab(t, s)
	b.visit("/", "")
	moved := js[[]string](b, importRenderer+`.then(m => {
		const out = document.createElement('div'), text = `+quote(strings.Repeat(longAnswer+"\n\n", 8))+`
		const show = m.renderer(out)
		const bad = [], seen = new Map(), observer = new MutationObserver(all => {
			for (const { target, removedNodes } of all) for (const [e, html] of seen) if (e.contains(target) || [...removedNodes].includes(e)) bad.push(html)
		})
		observer.observe(out, { subtree: true, childList: true, characterData: true })
		for (let i = 4; i < text.length + 4; i += 4) {
			show(text.slice(0, i))
			for (const r of observer.takeRecords()) for (const [e, html] of seen) if (e.contains(r.target) || [...r.removedNodes].includes(e)) bad.push(html)
			// All but the last two blocks are finished; so are all items but the last.
			for (const e of [...out.children].slice(0, -2)) seen.set(e, e.outerHTML.slice(0, 80))
			const list = out.lastElementChild
			if (list && /^(OL|UL)$/.test(list.tagName)) for (const e of [...list.children].slice(0, -2)) seen.set(e, e.outerHTML.slice(0, 80))
		}
		const whole = document.createElement('div')
		m.renderer(whole)(text)
		if (whole.innerHTML !== out.innerHTML) {
			let i = 0
			while (whole.innerHTML[i] === out.innerHTML[i]) i++
			bad.push('differs from the whole: ' + out.innerHTML.slice(i - 50, i + 200) + ' / ' + whole.innerHTML.slice(i - 50, i + 200))
		}
		if (seen.size < 30) bad.push('only ' + seen.size + ' blocks were watched')
		return bad.slice(0, 5)
	})`)
	if len(moved) > 0 {
		t.Errorf("changed after they were finished: %q", moved)
	}
	shapes := [][2]string{
		{"Title\n---\ntext\n===\n---", `<h3>Title</h3><h3>text</h3><hr>`},
		{"- [ ] a\n- [x] b\n- [y] c", `<ul><li><p>☐ a</p></li><li><p>☑ b</p></li><li><p>[y] c</p></li></ul>`},
		{"3. a\n   > b\n   c\n4. d", "<ol start=\"3\"><li><p>a</p><blockquote><p>b\nc</p></blockquote></li><li><p>d</p></li></ol>"},
		{"**bold *both*** ~~gone~~ ***all*** 2 * 3 * 4 _a_ snake_case_name ~one~ **open *one*", `<p><strong>bold <em>both</em></strong> <del>gone</del> <em><strong>all</strong></em> 2 * 3 * 4 <em>a</em> snake_case_name ~one~ **open <em>one</em></p>`},
		{"a|b\n:-:|--:\n\n\\*x\\* &lt;", `<div tabindex="0" role="group" aria-label="a,b" part="table" class="table"><table><tr><th style="text-align: center;">a</th><th style="text-align: end;">b</th></tr></table></div><p>*x* &lt;</p>`},
	}
	input, _ := json.Marshal(shapes)
	for i, html := range js[[]string](b, importRenderer+`.then(m => `+string(input)+`.map(([text]) => {
		const out = document.createElement('div')
		m.renderer(out)(text)
		return out.innerHTML
	}))`) {
		if html != shapes[i][1] {
			t.Errorf("%q becomes\n%s, not\n%s", shapes[i][0], html, shapes[i][1])
		}
	}
}
