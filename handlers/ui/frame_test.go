package ui

import (
	"strings"
	"testing"
)

func TestAFrameIsAPageWithoutItsContent(t *testing.T) {
	const head = "<!doctype html><html><head><title>T</title></head><body>"
	for page, want := range map[string]string{
		head + "<nav><a href=/a aria-current='page'>A</a></nav><main><article>x</article><nav><a rel=next href=/b>B</a></nav></main><footer>F</footer>": "<nav><a href=/a>A</a></nav><main><article>|</article></main><footer>F</footer>",
		head + "<div role=main><div>x</div></div><aside><a href=#b>B</a></aside>":                                                                       "<div role=main>|</div>",
		head + "<article>x</article><aside><a href=#b>B</a><a href=/c>C</a></aside>":                                                                    "<article>|</article><aside><a href=#b>B</a><a href=/c>C</a></aside>",
		head + "<main>x</main><footer><div role=navigation><div><a rel=next href=/b>B</a></div> or </div>F</footer>":                                    "<main>|</main><footer>F</footer>",
		head + "<div role=navigation><div><a href=/b>B</a></div></div><main>x</main>":                                                                   "<div role=navigation><div><a href=/b>B</a></div></div><main>|</main>",
		head + "<nav><aside><a href=#b>B</a></aside></nav><main>x</main>":                                                                               "<main>|</main>",
		head + "<script src=a.js></script><script>let a</script><script type=module>let b</script><main>x</main>":                                       "<script>let a</script><main>|</main>",
		head + "<main>x<main>y</main></main>":                                                                                                           "", head + "<main>x</main><main>y</main>": "", head + "<article>x</article><article>y</article>": "",
		head + "<main>x": "", "<main>x</main>": "", "": "", head + "<p>x": "",
		"<html><head><base href=/x/><title>T</title></head><body><main>x</main>": "<main>|</main>",
		"<html><body><main>x</main><title>T</title>":                             "",
	} {
		f := newFrame([]byte(page), "/a/")
		got := ""
		if f != nil {
			_, before, _ := strings.Cut(string(f.toContent), "<body>")
			got = before + "|" + string(f.end)
			if strings.Count(string(f.toTitle), "<base") != 1 || !strings.Contains(page, "<base") && !strings.Contains(string(f.toTitle), `<base href="/a/">`) || !strings.HasPrefix(string(f.toContent), "</title>") {
				t.Errorf("%s: the head is %s", page, f.toTitle)
			}
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", page, got, want)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("<html><head><title>T</title></head><body><nav><a href=#a>A</a></nav><main>x</main></body></html>"))
	f.Add([]byte("<head></title><title><main></head><script src=x><main></main></script></nav>"))
	f.Fuzz(func(t *testing.T, page []byte) {
		if made := newFrame(page, "/"); made != nil && len(made.toTitle)+len(made.toContent)+len(made.end) > len(page)+100 {
			t.Error("a frame longer than its page")
		}
		if with := withList(page, []byte("list")); with != nil && len(with) != len(page)+4 {
			t.Error("not the page with the list")
		}
	})
}
