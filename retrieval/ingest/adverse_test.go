package ingest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func repeated(piece string) func(int) string {
	return func(n int) string { return strings.Repeat(piece, n/len(piece)+1) }
}

func counted(format string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
}

// stairs nests each line deeper than the one before.
func stairs(step, line string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat(step, i) + line)
		}
		return b.String()
	}
}

func after(head string, rest func(int) string) func(int) string {
	return func(n int) string { return head + rest(n) }
}

// adverse are pages of about n bytes that some parser, ours, goldmark or
// x/net/html, takes or took quadratic time or memory for.
var adverse = []struct {
	name, file string
	page       func(n int) string
}{
	{"quotes nested in one line", "a.md", repeated("> ")},
	{"quotes nested by line", "a.md", stairs("> ", "a\n")},
	{"lists nested in one line", "a.md", repeated("1. ")},
	{"lists nested by line", "a.md", stairs("  ", "- a\n")},
	{"quotes and lists in turn", "a.md", repeated("> - > - > - a\n")},
	{"lazy lines after a deep quote", "a.md", after(strings.Repeat("> ", 99)+"a\n", repeated("b\n"))},
	{"opening brackets", "a.md", repeated("[")},
	{"brackets of pictures", "a.md", repeated("![")},
	{"brackets within brackets", "a.md", func(n int) string { return strings.Repeat("[", n/2) + "a" + strings.Repeat("]", n/2) }},
	{"links that never end", "a.md", repeated("[a](")},
	{"link titles that never end", "a.md", repeated("[a](b \"\n")},
	{"100,000 links", "a.md", counted("[a %d](b.md) ")},
	{"reference definitions", "a.md", counted("[r%d]: /u\n")},
	{"stars", "a.md", repeated("**a")},
	{"emphasis of two kinds", "a.md", repeated("*a_ ")},
	{"backticks", "a.md", repeated("`a ")},
	{"backticks in code", "a.md", func(n int) string {
		return "~~~\n" + strings.Repeat("`", n/2) + "\n" + strings.Repeat("```` ", n/10) + "\n~~~\n"
	}},
	{"a fence that never closes", "a.md", after("```\n", repeated("a\n"))},
	{"fences in quotes", "a.md", repeated("> ```\n> a\n")},
	{"footnotes", "a.md", func(n int) string {
		return counted("a[^%d]\n\n")(n/2) + counted("[^%d]: x\n\n")(n/2)
	}},
	{"one line of words", "a.md", repeated("word ")},
	{"one word", "a.md", repeated("a")},
	{"a paragraph of short lines", "a.md", repeated("a\n")},
	{"entities", "a.md", repeated("&CounterClockwiseContourIntegral;")},
	{"entities that are none", "a.md", repeated("&a")},
	{"a table of many rows", "a.md", after("|a|b|\n|-|-|\n", repeated("|c|d|\n"))},
	{"a wide table of short rows", "a.md", after(strings.Repeat("|a", 1000)+"|\n"+strings.Repeat("|-", 1000)+"|\n", repeated("|x\n"))},
	{"escaped pipes in a table", "a.md", after("|a|b|\n|-|-|\n", repeated("|`c\\|`|d\\|\n"))},
	{"headings of the same text", "a.md", repeated("## a\n\nb\n\n")},
	{"headings named like numbered ones", "a.md", counted("## a-%d\n\n## a\n\n")},
	{"attributes that are none", "a.md", repeated("## a {#b {#b {#b\n")},
	{"admonitions nested", "a.md", stairs("    ", "!!! note\n")},
	{"shortcodes that never end", "a.md", repeated("{{< highlight go >}}\n")},
	{"Liquid tags that never end", "a.md", repeated("{% highlight %}\n")},
	{"comments that never end", "a.md", repeated("a <!-- ")},
	{"inline tags", "a.md", repeated("a <b>")},
	{"blocks of HTML", "a.md", repeated("<div>a</div>\n\n")},
	{"elements nested in Markdown", "a.md", repeated("<div>")},
	{"imports that never end", "a.mdx", repeated("import {\n\n")},
	{"exports that never end", "a.mdx", repeated("export const a = {\n\n")},
	{"tags that never end", "a.mdx", repeated("<A b={`e`} ")},
	{"tags that never close", "a.mdx", repeated("<A>\n")},
	{"closing tags alone", "a.mdx", repeated("</A>\n")},
	{"components nested by line", "a.mdx", stairs(" ", "<A>\n")},
	{"elements whose end is missing", "a.mdx", repeated("<svg>\n")},
	{"braces", "a.mdx", repeated("{")},
	{"braces within braces", "a.mdx", func(n int) string { return strings.Repeat("{", n/2) + strings.Repeat("}", n/2) }},
	{"template strings that never end", "a.mdx", repeated("{`")},
	{"elements nested", "a.html", repeated("<div>")},
	{"formatting never closed", "a.html", repeated("<b><i>")},
	{"links never closed", "a.html", repeated("<a href=x>")},
	{"tables nested", "a.html", repeated("<table><tr><td>")},
	{"lists nested", "a.html", repeated("<ul><li>a")},
	{"headings nested", "a.html", repeated("<h2 id=x>a")},
	{"asides nested", "a.html", repeated("<footer>a")},
	{"banners nested", "a.html", repeated("<div class=pageinfo>a")},
	{"100,000 cells in a row", "a.html", after("<table><tr>", repeated("<td>a</td>"))},
	{"mains", "a.html", repeated("<main>a</main>")},
	{"articles", "a.html", repeated("<article>a</article>")},
	{"content elements of a generator", "a.html", repeated("<div class=vp-doc>a</div>")},
	{"attributes of one element", "a.html", func(n int) string { return "<p " + counted("a%d=1 ")(n) + ">x" }},
	{"empty elements before headings", "a.html", func(n int) string {
		return strings.Repeat("<p></p>", n/14) + strings.Repeat("<h2>a</h2>", n/20)
	}},
	{"a script that never ends", "a.html", repeated("<script>")},
}

// Memory that is asked for is work that can be counted without a clock:
// twice the page may cost little more than twice as much.
func TestAdverseInputCostsInProportionToItsSize(t *testing.T) {
	in := mustNew(t, Options{})
	cost := func(t *testing.T, file, page string) float64 {
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		doc, _, _ := in.Document(file, []byte(page))
		runtime.ReadMemStats(&now)
		if doc != nil {
			text := 0
			for _, s := range doc.Sections {
				text += len(s.Text)
			}
			if text > 4*len(page) {
				t.Errorf("a page of %d bytes became a text of %d", len(page), text)
			}
		}
		return float64(now.TotalAlloc - before.TotalAlloc)
	}
	const size = 32 << 10
	for _, c := range adverse {
		t.Run(c.name, func(t *testing.T) {
			sound(t, c.file, []byte(c.page(size/8)))
			one, two := cost(t, c.file, c.page(size)), cost(t, c.file, c.page(2*size))
			if one > 1<<20 && two > 3*one {
				t.Errorf("%d bytes take %.0f kB, twice as many %.0f kB", size, one/1024, two/1024)
			}
		})
	}
}

// BenchmarkAdverse reports the time that a page twice as long takes, in
// times of the shorter one's: near 2 is linear, near 4 quadratic.
func BenchmarkAdverse(b *testing.B) {
	in := mustNew(b, Options{})
	for _, c := range adverse {
		b.Run(c.name, func(b *testing.B) {
			const size = 256 << 10
			var took [2]time.Duration
			for i := range took {
				page := []byte(c.page(size << i))
				start := time.Now()
				for range 3 {
					in.Document(c.file, page)
				}
				took[i] = time.Since(start)
			}
			b.ReportMetric(float64(took[1])/float64(max(took[0], time.Microsecond)), "T(2n)/T(n)")
			b.ReportMetric(took[1].Seconds()/3/(2*size)*(1<<20), "s/MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func TestWhatIsReadOtherwiseIsNamedInAWarning(t *testing.T) {
	for name, c := range map[string][2]string{
		"nested":       {strings.Repeat("> ", 5000) + "a", "nested more than a hundred deep"},
		"footnotes":    {counted("a[^%d] ")(40_000), "footnote marks"},
		"escapes":      {strings.Repeat("`a\\|b`\n", 6000), "escaped pipes"},
		"short rows":   {strings.Repeat("|a", 1000) + "|\n" + strings.Repeat("|-", 1000) + "|\n" + strings.Repeat("|x\n", 100), "rows lack"},
		"dense":        {strings.Repeat("*a_ ", 600_000) + "\n\n# Head\n\nfound", "more markup than text"},
		"front matter": {"+++\n" + strings.Repeat("a.", 1000) + "a = 1\n+++\nx", "nested more than 30 deep"},
	} {
		doc, warnings, err := mustNew(t, Options{}).Document("a.md", []byte(c[0]))
		if err != nil || doc == nil || len(warnings) != 1 || !strings.Contains(warnings[0], c[1]) {
			t.Errorf("%s: %v %v", name, warnings, err)
		}
	}
	plain := strings.Repeat("| a | b \\| c |\n", 2000)
	if _, warnings, _ := mustNew(t, Options{}).Document("a.md", []byte("| a | b |\n|---|---|\n"+plain)); len(warnings) > 0 {
		t.Errorf("an ordinary large table: %v", warnings)
	}
}
