package aisdk

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// migrated runs a client of the manual, with the page reloaded between two
// questions.
const migrated = `
import { JSDOM } from 'jsdom'
const { window } = new JSDOM('<!doctype html>', { url: 'http://localhost/' })
for (const name of ['document', 'navigator', 'localStorage', 'HTMLElement', 'Node', 'FileList']) {
  Object.defineProperty(globalThis, name, { value: window[name], configurable: true })
}
globalThis.window = window
const { createElement } = await import('react')
const { createRoot } = await import('react-dom/client')
const { useChat } = await import('react4')

const out = { threads: [], answers: [], queries: [] }
const original = fetch
globalThis.fetch = async (...args) => {
  const response = await original(...args)
  const thread = response.headers.get('x-thread-id')
  if (thread) out.threads.push(thread)
  return response
}

const { Chat } = await import('reactMAJOR')
for (const [load, text] of ['QUESTION', 'And on Windows?'].entries()) {
  const { transport } = await import('./client.js?' + load)
  const chat = new Chat({ transport })
  await chat.sendMessage({ text })
  if (chat.error) throw chat.error
  const { parts } = chat.messages.at(-1)
  out.queries.push(parts.find(p => p.type === 'tool-search').input.query)
  out.answers.push(parts.filter(p => p.type === 'text').map(p => p.text).join(''))
}

const { v1, search, page } = await import('./client.js')
await new Promise((done, fail) => {
  let asked = false
  const Page = () => {
    const { messages, status, error, append } = useChat(v1)
    if (error) fail(error)
    if (status === 'ready' && messages.length > 1) {
      out.answers.push(messages.at(-1).content)
      done()
    } else if (!asked) {
      asked = true
      setTimeout(() => append({ role: 'user', content: 'QUESTION' }))
    }
  }
  createRoot(document.body.appendChild(document.createElement('div'))).render(createElement(Page))
})

out.search = await search('install')
out.page = await page(out.search[0].path)
out.error = await page('nosuch').catch(e => e.message)
console.log(JSON.stringify(out))
process.exit() // React waits for timers
`

// The manual's Caddyfile for clients of Mintlify's API serves the manual's client
// of all four endpoints, and its thread continues after the page is reloaded.
func TestTheManualsClientOfMintlifysAPIWorksHere(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	if err := Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	manual := caddytest.ReadFile(t, "../../docs/migrate.md")
	block := regexp.MustCompile("(?s)```caddyfile\n(.*?)```").FindStringSubmatch(manual)
	code := snippet.FindStringSubmatch(manual)
	if block == nil || code == nil {
		t.Fatal("migrate.md has no Caddyfile or no client")
	}
	s := caddytest.Start(t, "", strings.NewReplacer("docs.acme.com", "http://:0", "/srv/docs", caddytest.AcmeFolder(t)).Replace(block[1]))
	caddytest.Until(t, "the site is searched below its prefix", func() bool {
		return s.Do(caddytest.Request{Path: "/discovery/v1/search/acme", Body: `{"query":"install"}`}).Status == http.StatusOK
	})
	client := strings.NewReplacer("https://docs.acme.com", s.Base, "svc_dsc_…", caddytest.Key).Replace(code[2])
	for _, major := range []string{"5", "6", "7"} {
		t.Run("ai "+major, func(t *testing.T) {
			dir, err := os.MkdirTemp("node_modules", "migrate-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			for name, text := range map[string]string{
				"client.ts":    strings.ReplaceAll(client, "'ai'", "'ai"+major+"'"),
				"run.js":       strings.NewReplacer("MAJOR", major, "QUESTION", caddytest.InstallQuestion).Replace(migrated),
				"package.json": `{"type":"module"}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var text []byte
			for _, args := range [][]string{
				{"node_modules/@typescript/native/bin/tsc", "--ignoreConfig", "--noCheck", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", filepath.Join(dir, "client.ts")},
				{filepath.Join(dir, "run.js")},
			} {
				if text, err = exec.CommandContext(t.Context(), "node", args...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", args[0], err, npm.Last(text))
				}
			}
			var out struct {
				Threads, Answers, Queries []string
				Search                    []struct {
					Path, Content string
					Metadata      struct{ Title string }
				}
				Page  struct{ Path, Content string }
				Error string
			}
			if err := json.Unmarshal(text, &out); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if len(out.Answers) != 3 || !strings.Contains(out.Answers[0], "sudo acme-install") || !strings.Contains(out.Answers[2], "sudo acme-install") {
				t.Errorf("answers: %q", out.Answers)
			}
			if len(out.Queries) != 2 || !strings.Contains(out.Queries[1], "Windows") || !strings.Contains(out.Queries[1], "Acme") {
				t.Errorf("the question after the reload is searched without the one before: %q", out.Queries)
			}
			if len(out.Threads) != 3 || out.Threads[0] != out.Threads[1] || out.Threads[2] == out.Threads[0] {
				t.Errorf("the threads of a question, one after a reload, and one by v1: %q", out.Threads)
			}
			if len(out.Search) == 0 || out.Search[0].Path != "guide/install" || out.Search[0].Content == "" || out.Search[0].Metadata.Title == "" {
				t.Errorf("search: %+v", out.Search)
			}
			if out.Page.Path != "guide/install" || !strings.Contains(out.Page.Content, "[Install Acme](#install-acme)") {
				t.Errorf("page: %+v", out.Page)
			}
			if !strings.Contains(out.Error, "no such page") {
				t.Errorf("a page that isn't there: %q", out.Error)
			}
		})
	}
}
