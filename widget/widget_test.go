package widget

import (
	"bytes"
	"compress/gzip"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// What one reader loads, in bytes after gzip -9. The chunks of nine languages
// are loaded by readers of that language besides, and what is in the page on sites
// that have it.
const (
	maxLoader = 3000
	maxAll    = 12500
	maxPage   = 1500
)

func zipped(t *testing.T, b []byte) int {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

func TestTheWidgetIsSmall(t *testing.T) {
	script := Loader([]byte(`{"site":"acme","title":"Acme docs","placeholder":"Search Acme","accent":"#0a7","theme":"[data-theme=dark]","support":"https://acme.com/help"}`))
	first := zipped(t, script)
	if first > maxLoader {
		t.Errorf("the loader is %d bytes, above %d", first, maxLoader)
	}
	entries, err := dist.ReadDir("dist")
	if err != nil {
		t.Fatal(err)
	}
	all, language := first, 0
	for _, e := range entries {
		chunk, ok := Chunk(e.Name())
		if !ok {
			continue
		}
		size := zipped(t, chunk)
		t.Logf("%6d %6d %s", len(chunk), size, e.Name())
		switch name, _, _ := strings.Cut(e.Name(), "-"); {
		case len(name) == 2:
			language = max(language, size)
		case name != "page":
			all += size
		case size > maxPage:
			t.Errorf("what is in the page is %d bytes, above %d", size, maxPage)
		}
	}
	t.Logf("loader %d, all %d, largest language %d", first, all, language)
	if all > maxAll {
		t.Errorf("a reader loads %d bytes, above %d", all, maxAll)
	}
}

func TestTheLoaderHoldsTheSettings(t *testing.T) {
	script := Loader([]byte("{\"site\":\"acme\",\"title\":\"</script>\u2028\"}"))
	want := `{"site":"acme","title":"\u003c/script\u003e\u2028"}`
	if bytes.Count(script, []byte(want)) != 1 || bytes.Contains(script, []byte(placeholder)) {
		t.Errorf("%s is not in\n%s", want, script)
	}
}

func TestChunksAreFoundByName(t *testing.T) {
	script := Loader([]byte("{}"))
	_, name, _ := bytes.Cut(script, []byte("main-"))
	name, _, _ = bytes.Cut(name, []byte(`"`))
	if _, ok := Chunk("main-" + string(name)); !ok {
		t.Errorf("the chunk that the loader names, main-%s, is missing", name)
	}
	languages, err := fs.Glob(dist, "dist/de-*.js")
	if err != nil || len(languages) != 1 {
		t.Fatal(languages, err)
	}
	suffix := strings.TrimPrefix(languages[0], "dist/de")
	if body, ok := Chunk("nl" + suffix); !ok || string(body) != "export default[]\n" {
		t.Errorf("a language without texts has %q, %v", body, ok)
	}
	for _, name := range []string{"nl-AAAAAAAA.js", "nld" + suffix, "", ".", "..", "loader.js", "../widget.go", "main.js", `..\widget.go`} {
		if _, ok := Chunk(name); ok {
			t.Errorf("%q is a chunk", name)
		}
	}
}

func TestTheSourcesPassTheTypeChecker(t *testing.T) {
	if testing.Short() {
		t.Skip("the compiler takes seconds to start")
	}
	tsc, err := filepath.Abs("../caddytest/widget/node_modules/.bin/tsc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tsc); err != nil {
		t.Skip("the TypeScript compiler is not installed: run npm ci in caddytest/widget")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60e9)
	defer cancel()
	if out, err := exec.CommandContext(ctx, tsc, "-p", ".").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The manual names every text, custom property and event, and nothing else.
func TestTheManualDescribesTheWidget(t *testing.T) {
	read := func(names ...string) (all string) {
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all += string(b)
		}
		return all
	}
	manual := read("../docs/widget.md")
	for _, c := range []struct{ source, form, prefix string }{
		{read("src/strings/en.json") + `"open":`, `"(\w+)":`, ""},
		{read("src/loader.css", "src/main.css", "src/highlight.ts"), `var\(--docs-([\w-]+)`, "--docs-"},
		{read("docs.d.ts"), `'docs:(\w+)'`, "docs:"},
	} {
		found := regexp.MustCompile(c.form).FindAllStringSubmatch(c.source, -1)
		if len(found) < 5 {
			t.Errorf("only %d of %s", len(found), c.form)
		}
		for _, m := range found {
			if !strings.Contains(manual, "`"+c.prefix+m[1]+"`") {
				t.Errorf("docs/widget.md does not have `%s%s`", c.prefix, m[1])
			}
		}
	}
	source := read("src/loader.css", "src/main.css", "src/highlight.ts")
	for _, m := range regexp.MustCompile("`--docs-([\\w-]+)`").FindAllStringSubmatch(manual, -1) {
		if !strings.Contains(source, "--docs-"+m[1]) {
			t.Errorf("--docs-%s of docs/widget.md does nothing", m[1])
		}
	}
	parts := regexp.MustCompile("The names of parts are (.*?):").FindStringSubmatch(manual)
	if parts == nil {
		t.Fatal("docs/widget.md names no parts")
	}
	scripts := read("src/loader.ts", "src/main.ts", "src/search.ts", "src/ask.ts", "src/feedback.ts", "src/page.ts", "src/menu.ts", "src/markdown.ts")
	for _, m := range regexp.MustCompile("`([\\w-]+)`").FindAllStringSubmatch(parts[1], -1) {
		if !regexp.MustCompile(`'(\w+\.)(\w+\.)*` + m[1] + `['.]|[' ]` + m[1] + `[' ]`).MatchString(scripts) {
			t.Errorf("the part %s of docs/widget.md does not exist", m[1])
		}
	}
}

func TestTheButtonHasItsWordInTheSitesLanguages(t *testing.T) {
	got := Label(map[string]map[string]string{"de": {"1": "Frag"}, "nl": {"0": "Zoek"}}, []string{"", "en", "de", "pt-BR", "nl", "main", "*", "["})
	want := map[string]map[string]string{"de": {"0": "Suche", "1": "Frag"}, "nl": {"0": "Zoek"}, "pt": {"0": "Pesquisar"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
