package caddyfile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// wholeGrammar returns the grammar as the manual shows it, from the tables
// that the parser walks: first the global option, then the directives.
func wholeGrammar() string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, w := range roots()[:1] {
		w.write(&b, 1)
	}
	b.WriteString("}\n")
	for _, w := range roots()[1:] {
		b.WriteByte('\n')
		w.write(&b, 0)
	}
	return b.String()
}

func (w *word) write(b *strings.Builder, depth int) {
	indent := strings.Repeat("\t", depth)
	for _, f := range w.forms {
		b.WriteString(indent + strings.TrimSpace(w.name+" "+f.args))
		if f.block != nil {
			b.WriteString(" {\n")
			for _, inner := range f.block {
				inner.write(b, depth+1)
			}
			b.WriteString(indent + "}")
		}
		b.WriteByte('\n')
	}
}

func TestTheManualHasTheWholeGrammar(t *testing.T) {
	page, err := os.ReadFile("../../docs/caddyfile.md")
	if err != nil {
		t.Fatal(err)
	}
	grammar := wholeGrammar()
	before, after, whole := strings.Cut(string(page), "```text\n"+grammar+"```")
	words := before + after
	if !whole {
		t.Errorf("caddyfile.md does not have the grammar as the parser has it:\n%s", grammar)
	}
	for line := range strings.Lines(grammar) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" && name != "{" && name != "}" && !regexp.MustCompile("`"+regexp.QuoteMeta(name)+"[ `]").MatchString(words) {
			t.Errorf("the word %s is not explained in caddyfile.md", name)
		}
	}
}

// docComments returns the indented lines of the parsers' doc comments. A line
// in brackets is about words that another block has.
func docComments(t *testing.T) (lines []string) {
	t.Helper()
	for _, file := range []string{"option.go", "directive.go", "dashboard.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "parse") {
				continue
			}
			for line := range strings.Lines(fn.Doc.Text()) {
				inner, ok := strings.CutPrefix(line, "\t")
				if inner = strings.TrimSpace(inner); ok && !strings.HasPrefix(inner, "[") {
					lines = append(lines, inner)
				}
			}
		}
	}
	return lines
}

func TestDocCommentsHaveTheGrammarOfTheirParsers(t *testing.T) {
	got, want := docComments(t), []string{}
	for line := range strings.Lines(wholeGrammar()) {
		if line = strings.TrimSpace(line); line != "" {
			want = append(want, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("no doc comment of a parser has %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("a doc comment has %s, the grammar has not", line)
		}
	}
}

// everyWord calls f with each word of the grammar, each of its forms, and
// the words around it.
func everyWord(f func(path []string, w *word, form *form)) {
	var walk func(path []string, w *word)
	walk = func(path []string, w *word) {
		for i := range w.forms {
			f(path, w, &w.forms[i])
			for j := range w.forms[i].block {
				walk(append(slices.Clone(path), w.name+" "+w.forms[i].example), &w.forms[i].block[j])
			}
		}
	}
	for i, w := range roots() {
		root := "option"
		if i > 0 {
			root = "directive"
		}
		walk([]string{root}, &w)
	}
}

func TestTheExampleOfEveryWordIsTakenByTheParser(t *testing.T) {
	n := 0
	everyWord(func(path []string, w *word, f *form) {
		if f.example == "" {
			return // the block itself, or another plugin's module
		}
		n++
		t.Run(strings.Join(append(path[1:], w.name, f.example), " › "), func(t *testing.T) {
			input := w.name + " " + f.example
			if w.name == "site" {
				input += " {\nroot /srv\n}"
			}
			if w.name == "group" {
				input += " {\nsites docs\n}"
			}
			if w.name == "embedder" && strings.HasPrefix(f.example, "meilisearch") {
				input = "index meilisearch http://m\n" + input
			}
			if w.name == "sites" && f.block != nil {
				input += " {\nurl https://{site}.acme.com\n}"
			}
			// A site has pages: sitemap is one way to have them, root another.
			pages := "root /srv\n"
			switch w.name {
			case "root", "sitemap":
				pages = ""
			case "allow_private":
				pages, input = "", "sitemap https://acme.com/sitemap.xml\n"+input
			}
			for i := len(path) - 1; i > 0; i-- {
				head := strings.TrimSpace(path[i])
				switch {
				case strings.HasPrefix(head, "sites "):
					if w.name != "url" {
						input = "url https://{site}.acme.com\n" + input
					}
				case strings.HasPrefix(head, "group ") && w.name != "sites":
					input = "sites docs\n" + input
				case strings.HasPrefix(head, "site "):
					input = pages + input
				case head == "docs" && path[0] == "directive":
					head = "docs acme"
				}
				input = head + " {\n" + input + "\n}"
			}
			if path[0] == "option" {
				input = "{\n" + input + "\n}\n"
			} else {
				input = "localhost {\n" + input + "\n}\n"
			}
			if _, err := adapt(input); err != nil {
				t.Errorf("%v\n%s", err, caddyfile.Format([]byte(input)))
			}
		})
	})
	if n < 50 {
		t.Errorf("only %d examples were tried", n)
	}
}

func TestEveryWordHasAnExample(t *testing.T) {
	everyWord(func(path []string, w *word, f *form) {
		if f.example == "" && f.args != "" && len(path) > 1 && f.args != "<module> ..." {
			t.Errorf("%s: %s %s has none", path, w.name, f.args)
		}
	})
}

func TestEveryWordIsInAFixture(t *testing.T) {
	files, err := filepath.Glob("../../caddytest/adapt/*.caddyfiletest")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures (%v)", err)
	}
	var all strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		input, _, _ := strings.Cut(string(data), "\n----------\n")
		all.WriteString(input + "\n")
	}
	everyWord(func(_ []string, w *word, f *form) {
		if f.args == "<module> ..." {
			return
		}
		// The first word of the arguments, where it is one of the grammar's.
		first, _, _ := strings.Cut(f.args, " ")
		pattern := `(?m)^\s*` + w.name + `\b`
		if regexp.MustCompile(`^[a-z]+$`).MatchString(first) {
			pattern += `\s+` + first
		}
		if !regexp.MustCompile(pattern).MatchString(all.String()) {
			t.Errorf("no fixture has %s %s", w.name, f.args)
		}
	})
}

func TestGrammarIsFormattedAsCaddyFmtDoes(t *testing.T) {
	if got := string(caddyfile.Format([]byte(wholeGrammar()))); got != wholeGrammar() {
		t.Errorf("caddy fmt makes of it:\n%s", got)
	}
}

func TestNoSecretIsInErrorsOrAdaptedConfigs(t *testing.T) {
	const secret = "svc_dsc_Secret0123456789abcdef"
	for name, input := range map[string]string{
		"a key that is adapted":           inDocs("key " + secret),
		"a key twice":                     inDocs("key " + secret + "\nkey " + secret),
		"a key with a character too many": inDocs("key " + secret + "!"),
		"a key without its prefix":        inDocs("key x" + secret),
		"an api_key":                      inDocs("llm http://m/v1 x {\napi_key " + secret + "\n}"),
		"an api_key that is half hidden":  inDocs("llm http://m/v1 x {\napi_key {env.A}" + secret + "\n}"),
		"an api_key of Meilisearch":       inDocs("index meilisearch http://m {\nsearch_key " + secret + "\n}"),
		"a database with a password":      inDocs("insights {\nstore postgres postgres://docs:" + secret + "@db/docs\n}"),
		"a database with a password word": inDocs("insights {\nstore postgres \"host=db password=" + secret + "\"\n}"),
		"an address with a password":      inDocs("embedder http://me:" + secret + "@m/v1 x"),
	} {
		t.Run(name, func(t *testing.T) {
			config, err := adapt(input)
			if err != nil {
				config = err.Error()
			}
			if strings.Contains(config, "Secret") {
				t.Errorf("the secret is in %s", config)
			}
		})
	}
}
