package aisdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/browser"
)

// TestMain ends the browser that the tests share.
func TestMain(m *testing.M) { os.Exit(browser.Run(m)) }

const examples = "../../examples"

// frameworks are those that every major of the SDK has a package for.
var frameworks = []string{"react", "vue", "svelte"}

// example is the folder of a framework's chat page: that for versions 5 to 7,
// or that for version 4.
func example(framework string, major int) string {
	if major == 4 {
		framework += "-4"
	}
	return filepath.Join(examples, "chat", framework)
}

// linked returns the folder of the package ai that a framework's package of a
// major uses. Apps have to use the same one, as their types would differ.
func linked(t *testing.T, framework string, major int) string {
	t.Helper()
	for _, dir := range []string{fmt.Sprintf("node_modules/%s%d/node_modules/ai", framework, major), "node_modules/ai"} {
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	t.Fatalf("no package ai for %s %d", framework, major)
	return ""
}

// copyExamples puts each chat page into a folder MAJOR/FRAMEWORK, with the
// packages of that major.
func copyExamples(t *testing.T) (dir string, pages []string) {
	t.Helper()
	dir, err := os.MkdirTemp(".", "pages-") // within reach of node_modules
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	copied := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		check(err)
		check(os.WriteFile(to, data, 0o600))
	}
	link := func(from, to string) {
		t.Helper()
		from, err := filepath.Abs(from)
		check(err)
		check(os.MkdirAll(filepath.Dir(to), 0o755))
		check(os.Symlink(from, to))
	}
	chat := filepath.Join(examples, "chat")
	copied(filepath.Join(chat, "tsconfig.json"), filepath.Join(dir, "tsconfig.json"))
	for _, framework := range frameworks {
		config := fmt.Sprintf(`{"extends": "./tsconfig.json", "include": ["*/%s/*"]}`, framework)
		check(os.WriteFile(filepath.Join(dir, "tsconfig."+framework+".json"), []byte(config), 0o600))
	}
	for major := 4; major <= 7; major++ {
		sub := filepath.Join(dir, fmt.Sprint(major))
		for _, framework := range frameworks {
			page := filepath.Join(sub, framework)
			check(os.MkdirAll(page, 0o755))
			files, err := filepath.Glob(filepath.Join(example(framework, major), "*.*"))
			check(err)
			for _, file := range files {
				copied(file, filepath.Join(page, filepath.Base(file)))
			}
			link(fmt.Sprintf("node_modules/%s%d", framework, major), filepath.Join(page, "node_modules", "@ai-sdk", framework))
			link(linked(t, framework, major), filepath.Join(page, "node_modules", "ai"))
			pages = append(pages, page)
		}
		copied(filepath.Join(chat, "tsconfig.json"), filepath.Join(sub, "tsconfig.json"))
		shared, err := os.ReadFile(filepath.Join(chat, "docs.ts"))
		check(err)
		shared = bytes.ReplaceAll(shared, []byte("../../contract/"), []byte("../../../../contract/"))
		check(os.WriteFile(filepath.Join(sub, "docs.ts"), shared, 0o600))
	}
	return dir, pages
}

// The chat pages of the examples compile under --strict and are built by Vite,
// with the packages of each major for React, Vue and Svelte. In a browser, on
// another origin than the API's, each asks, asks again, and shows the answers
// with their sources in one thread, and an error as a sentence. So does the
// page of plain JavaScript.
func TestTheChatPagesOfTheExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node and a browser")
	}
	if err := Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir, pages := copyExamples(t)
	s := caddytest.StartAcme(t)

	var compiled sync.WaitGroup
	for _, checker := range [][]string{
		{"@typescript/native/bin/tsc", "-p", filepath.Join(dir, "tsconfig.react.json")},
		{"vue-tsc/bin/vue-tsc.js", "--noEmit", "-p", filepath.Join(dir, "tsconfig.vue.json")},
		{"svelte-check/bin/svelte-check", "--workspace", dir, "--tsgo-experimental-api", "--tsconfig", "./tsconfig.svelte.json", "--fail-on-warnings", "--output", "human"},
	} {
		compiled.Go(func() {
			if out, err := exec.Command("node", append([]string{"node_modules/" + checker[0]}, checker[1:]...)...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", checker[0], err, out)
			}
		})
	}
	defer compiled.Wait()

	build := exec.Command("node", append([]string{"build.mjs"}, pages...)...)
	build.Env = append(os.Environ(), "VITE_DOCS_SERVER="+s.Base, "VITE_DOCS_SITE=acme", "VITE_DOCS_KEY="+caddytest.Key)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}

	// The page of plain JavaScript has the address and the key in its text.
	plain, err := os.ReadFile(filepath.Join(examples, "javascript", "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	html := strings.NewReplacer("'/v2/assistant/acme/message'", "'"+s.Base+caddytest.V2Path+"'", "'svc_dsc_…'", "'"+caddytest.Key+"'").Replace(string(plain))
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dir)))
	mux.Handle("/javascript/", http.StripPrefix("/javascript/", http.FileServer(http.Dir(filepath.Join(examples, "javascript")))))
	mux.HandleFunc("/javascript/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, html)
	})
	origin := httptest.NewServer(mux)
	defer origin.Close()

	t.Run("pages", func(t *testing.T) {
		for _, folder := range pages {
			path, _ := filepath.Rel(dir, folder)
			path = filepath.ToSlash(path)
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				p := &tab{t, browser.Tab(t)}
				p.open(origin.URL + "/" + path + "/dist/")
				p.ask(caddytest.InstallQuestion)
				p.shows("the answer", "article.assistant p", "sudo acme-install")
				p.shows("its source", "article.assistant a[href*='/guide/install']", "")
				version4 := strings.HasPrefix(path, "4/")
				if !version4 { // whose request has no thread for a first answer
					p.press("Answer again")
					p.shows("another answer", "article.assistant p", "sudo acme-install")
				}
				p.ask("And on Windows?")
				p.shows("the second answer", "article.assistant:nth-of-type(4) p", "acme-setup.exe")
				if version4 {
					p.inThreads(2, 1)
				} else {
					p.inThreads(3, 1)
					p.press("New chat")
					p.ask(caddytest.InstallQuestion)
					p.shows("the answer of the second chat", "article.assistant:nth-of-type(2) p", "sudo acme-install")
					p.inThreads(4, 2)
					p.ask("Linux? cut this")
					p.shows("that the answer was cut", "[role=alert]", "not complete")
					p.press("Try again")
					p.inThreads(6, 2)
					p.shows("that it was cut again", "[role=alert]", "not complete")
				}
				p.ask(" ")
				p.shows("the error as a sentence", "[role=alert]", "")
				if text := p.text("[role=alert]"); strings.Contains(text, "{") || !strings.Contains(text, " ") {
					t.Errorf("the error is %q", text)
				}
			})
		}
		t.Run("javascript", func(t *testing.T) {
			t.Parallel()
			p := &tab{t, browser.Tab(t)}
			p.open(origin.URL + "/javascript/")
			p.ask(caddytest.InstallQuestion)
			p.shows("the answer", "pre", "sudo acme-install")
			p.shows("its source", "a[href*='/guide/install']", "")
			p.ask("And on Windows?")
			p.shows("the second answer", "pre:last-of-type", "acme-setup.exe")
			p.inThreads(2, 1)
			p.ask(" ")
			p.shows("the error as a sentence", "main > p", "")
			if text := p.text("main > p"); strings.Contains(text, "{") || !strings.Contains(text, " ") {
				t.Errorf("the error is %q", text)
			}
		})
	})
}

// The packages that the examples name are those that the tests run them with.
func TestTheExamplesNameTheTestedVersions(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	if err := Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	version := func(dir string) string {
		var p struct{ Version string }
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err == nil {
			err = json.Unmarshal(data, &p)
		}
		if err != nil {
			t.Error(err)
		}
		return p.Version
	}
	for _, framework := range frameworks {
		for _, major := range []int{4, 7} {
			file := filepath.Join(example(framework, major), "package.json")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var p struct{ Dependencies, DevDependencies map[string]string }
			if err := json.Unmarshal(data, &p); err != nil {
				t.Fatal(err)
			}
			for _, dependencies := range []map[string]string{p.Dependencies, p.DevDependencies} {
				for name, have := range dependencies {
					dir := filepath.Join("node_modules", name)
					switch name {
					case "@ai-sdk/" + framework:
						dir = fmt.Sprintf("node_modules/%s%d", framework, major)
					case "ai":
						dir = linked(t, framework, major)
					}
					if want := version(dir); have != want {
						t.Errorf("%s has %s %s, tested is %s", file, name, have, want)
					}
				}
			}
		}
	}
}

// tab is a tab of the browser.
type tab struct {
	*testing.T
	ctx context.Context
}

// threadsOfReplies keeps the threads that a page can read in the replies.
const threadsOfReplies = `
globalThis.threads = []
const original = fetch
globalThis.fetch = async (...args) => {
  const response = await original(...args)
  const thread = response.headers.get('X-Thread-Id')
  if (thread) threads.push(thread)
  if (String(args[1]?.body).includes('cut this')) { // as a proxy would
    const text = await response.text()
    return new Response(text.slice(0, text.indexOf('data: {"type":"finish"')), response)
  }
  return response
}
`

func (p *tab) open(url string) {
	p.Helper()
	if _, err := chromedp.Call(p.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: threadsOfReplies}); err != nil {
		p.Fatal(err)
	}
	if err := chromedp.Do(p.ctx, chromedp.Navigate(url)); err != nil {
		p.Fatal(err)
	}
}

func js[T any](p *tab, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return value
}

// button is the expression of a button by its text.
func button(text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('button')].find(b => b.textContent.trim() === %q)", text)
}

// ask types a question and presses Enter.
func (p *tab) ask(question string) {
	p.Helper()
	caddytest.Until(p, "the form is ready", func() bool { return js[bool](p, button("Ask")+"?.disabled === false") })
	js[bool](p, "document.querySelector('input').focus(), true")
	if _, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: question}); err != nil {
		p.Fatal(err)
	}
	if err := chromedp.Do(p.ctx, chromedp.KeyEvent("\r")); err != nil {
		p.Fatal(err)
	}
}

// press clicks a button when it is there.
func (p *tab) press(text string) {
	p.Helper()
	caddytest.Until(p, "the button "+text, func() bool { return js[bool](p, "Boolean("+button(text)+")") })
	js[bool](p, button(text)+".click(), true")
}

func (p *tab) text(selector string) string {
	p.Helper()
	return js[string](p, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.textContent).join('\\n')", selector))
}

// shows waits for an element with a text.
func (p *tab) shows(what, selector, text string) {
	p.Helper()
	caddytest.Until(p, what+" is shown", func() bool {
		return js[bool](p, fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.textContent.includes(%q))", selector, text))
	})
}

// inThreads waits for as many replies, and checks the number of their threads.
func (p *tab) inThreads(replies, threads int) {
	p.Helper()
	caddytest.Until(p, "the replies", func() bool { return js[int](p, "threads.length") == replies })
	if got := js[[]string](p, "threads"); len(slices.Compact(slices.Sorted(slices.Values(got)))) != threads {
		p.Errorf("%d replies in the threads %v, want %d", replies, got, threads)
	}
}
