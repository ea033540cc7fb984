package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// The measure of a page's own text, on responses with the page and on others.
func TestAResponseProvesAPageByItsText(t *testing.T) {
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, "Section %c%c explains how the %c pump is primed before launch day. ", 'a'+i%26, 'a'+i%7, 'a'+i%13)
	}
	code := "Prime the pump.\n\n```sh\npump prime --wait\npump status\n```\n\n- first \"step\" & more\n- second step"
	nav := "<nav><a href=/pump>Prime the pump</a> <a href=/launch>Launch day</a> <a href=/x>Section aa explains</a></nav>"
	for name, c := range map[string]struct {
		text, title, body string
		want              bool
	}{
		"rendered":                            {code, "Pumps", "<h1>Pumps</h1><p>Prime the pump.</p><pre><span class=n>1</span>pump prime --wait\n<span class=n>2</span>pump status</pre><ul><li>first &quot;step&quot; &amp; more<li>second step</ul>", true},
		"minified":                            {code, "Pumps", "<p>Prime the <b>pu</b>mp.<pre>pump prime --wait\npump status</pre><ul><li>first \"step\" & more</li><li>second step</li></ul>", true},
		"a long page":                         {long.String(), "Launch", nav + "<p>" + long.String(), true},
		"a login with the site's menu":        {long.String(), "Launch", nav + "<form><input name=csrf value=8f2e1><p>Please log in to read /launch/day</form>", false},
		"a teaser":                            {long.String(), "Launch", nav + "<p>" + long.String()[:700] + "<p>Members only", false},
		"members only":                        {code, "Pumps", "Members only", false},
		"the path and title echoed":           {code, "Pumps", "<title>Pumps</title><p>Sign in to see /pumps", false},
		"an empty body":                       {code, "Pumps", "", false},
		"the text in a script":                {code, "Pumps", "<script>var x = `" + code + "`</script><p>Log in", false},
		"three words":                         {"Buy more milk", "Plan", "<p>Buy more milk</p>", true},
		"three words, refused":                {"Buy more milk", "Plan", "<p>Members only</p>", false},
		"one word":                            {"Milk", "Plan", "<main>Milk</main>", true},
		"Japanese":                            {"打ち上げの前にポンプを点検する", "点検", "<p>打ち上げの前に<b>ポンプ</b>を点検する</p>", true},
		"Japanese, another page":              {"打ち上げの前にポンプを点検する", "点検", "<p>ログインしてください</p>", false},
		"entities and soft hyphens":           {"Größe der Düse ändern, bevor sie heiß ist", "Düse", "<p>Gr&ouml;&szlig;e der D&uuml;&shy;se &auml;ndern, bevor sie hei&szlig; ist</p>", true},
		"words apart by style alone":          {"C Pump\nC Valve\nC Tank", "Classes", "<table><tr><td><span class=icon>C</span><a>Pump</a><tr><td><span class=icon>C</span><a>Valve</a><tr><td><span class=icon>C</span><a>Tank</a></table>", true},
		"words of images":                     {"Home Up Prev Next", "Support", "<a><img alt=Home></a><a><img src=x alt=Up></a><img alt=Prev><img alt=Next>", true},
		"another page's words apart":          {"C Pump\nC Valve\nC Tank", "Classes", "<span>C</span><a>Log</a><span>in</span>", false},
		"no text at all, and a title":         {"", "Maintenance window", "<title>Maintenance window</title><img src=x>", true},
		"no text at all, and another's title": {"", "Maintenance window", "<title>Sign in</title>", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &retrieval.Document{Title: c.title, Sections: []retrieval.Section{{Text: c.text}}}
			if p := Of(d); p.Enough(Response{HTML: true, Body: []byte(c.body)}) != c.want {
				t.Errorf("%d of %d pairs", len(p.In(Response{HTML: true, Body: []byte(c.body)}, 1e9)), len(p))
			}
		})
	}
}

func FuzzProof(f *testing.F) {
	f.Add("Buy more milk\n```\nx", "<p>Buy <b>more</b>")
	f.Fuzz(func(t *testing.T, text, body string) {
		p := Of(&retrieval.Document{Title: text, Sections: []retrieval.Section{{Heading: text, Text: text}}})
		if len(p) > maxPairs {
			t.Errorf("%d pairs", len(p))
		}
		if found := p.In(Response{HTML: true, Body: []byte(body)}, 1e9); len(found) > len(p) {
			t.Errorf("%d of %d pairs", len(found), len(p))
		}
	})
}
