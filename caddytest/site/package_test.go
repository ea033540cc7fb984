package site

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// usesThePackage asks twice in one chat, and once in another.
const usesThePackage = `
import { docsTransport, sentence } from 'caddy-docs-client'
const t = docsTransport({ server: process.argv[2], site: 'acme', key: 'k' })
const ask = async id => {
  const { body } = t.prepareSendMessagesRequest({ id, messages: [], trigger: 'submit-message' })
  await t.fetch(t.api, { method: 'POST', headers: t.headers, body: JSON.stringify(body) })
}
await ask('a'); await ask('a'); await ask('b')
console.log(sentence(new Error('{"error":"for developers","message":"for readers"}')))
`

// What npm packs of contract/ installs elsewhere, has types, and gives each chat
// its thread.
func TestThePackageOfTheContract(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	t.Parallel() // without a Caddy
	if err := npm.Install(t.Context(), lintersDir); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(in, program string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = in
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v %s", program, args, err, npm.Last(out))
		}
		return strings.TrimSpace(string(out))
	}
	run("../../contract", "npm", "pack", "--silent", "--pack-destination", dir)
	packed, _ := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if len(packed) != 1 {
		t.Fatalf("packed: %v", packed)
	}
	for name, text := range map[string]string{
		"package.json": `{"type":"module","private":true}`, "use.mjs": usesThePackage,
		"use.ts": "import { docsTransport, sentence, type SearchResult } from 'caddy-docs-client'\nconst t = docsTransport({ server: '', site: 'acme' })\nexport const all: [string, string, SearchResult[]] = [t.api, sentence(new Error('')), []]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--offline", packed[0])
	run(lintersDir, "node", "node_modules/typescript/bin/tsc", "--strict", "--noEmit", "--target", "ES2022", "--module", "esnext", "--moduleResolution", "bundler", "--skipLibCheck", filepath.Join(dir, "use.ts"))

	var threads []string
	var made atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ ThreadID string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		threads = append(threads, body.ThreadID)
		if body.ThreadID == "" {
			body.ThreadID = fmt.Sprintf("thread_%d", made.Add(1))
		}
		w.Header().Set("X-Thread-Id", body.ThreadID)
	}))
	t.Cleanup(server.Close)
	if out := run(dir, "node", "use.mjs", server.URL); out != "for readers" {
		t.Errorf("a reader reads %q", out)
	}
	if got := fmt.Sprintf("%q", threads); got != `["" "thread_1" ""]` {
		t.Errorf("the threads of two questions and a new chat: %s", got)
	}
}
