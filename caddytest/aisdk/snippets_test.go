package aisdk

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// snippet is a block of TypeScript of the manual.
var snippet = regexp.MustCompile("(?ms)^```(tsx?)\n(.*?)^```$")

// surroundings declare what the manual's snippets take from the page that they
// are put into.
const surroundings = `import type { ReactNode } from 'react'
declare global {
  function Markdown(props: { children: ReactNode }): ReactNode
}
`

// A snippet that is a part of an example gets what the example has.
const (
	hook = `
declare const input: string
declare const sendMessage: import('@ai-sdk/react').UseChatHelpers<import('ai').UIMessage>['sendMessage']
`
	sentence = `
declare function sentence(error: Error): string
`
)

// The TypeScript of the manual compiles under --strict, with the types of each
// release that it is written for.
func TestTheManualsTypeScriptCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	if err := Install(context.Background()); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages of the manual: %v", err)
	}
	files := map[int]map[string]string{4: {}, 5: {}, 6: {}, 7: {}}
	count := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range snippet.FindAllStringSubmatch(string(text), -1) {
			count++
			code := m[2]
			majors := []int{5, 6, 7}
			if strings.Contains(code, "/v1/assistant/") && !strings.Contains(code, "DefaultChatTransport") || strings.HasPrefix(code, "// 4\n") {
				majors = []int{4}
				code = sentence + code
			}
			if strings.HasPrefix(code, "sendMessage(") {
				code = hook + code
			}
			name := fmt.Sprintf("%s-%d.%s", strings.TrimSuffix(filepath.Base(page), ".md"), i+1, m[1])
			for _, major := range majors {
				files[major][name] = code + "\nexport {}\n"
			}
		}
	}
	if count < 6 {
		t.Errorf("only %d snippets were found", count)
	}
	var wg sync.WaitGroup
	for major, snippets := range files {
		wg.Go(func() {
			if out, err := compile(t, major, snippets); err != nil {
				t.Errorf("with ai@%d: %v\n%s", major, err, out)
			}
		})
	}
	wg.Wait()
}

// compile checks files with the types of a major release of the SDK.
func compile(t *testing.T, major int, files map[string]string) ([]byte, error) {
	dir, err := os.MkdirTemp("node_modules", "snippets-")
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config, _ := json.Marshal(map[string]any{
		"compilerOptions": map[string]any{
			"strict": true, "noEmit": true, "skipLibCheck": true, "target": "ES2022", "lib": []string{"ES2022", "DOM", "DOM.Iterable"},
			"module": "ESNext", "moduleResolution": "Bundler", "jsx": "react-jsx", "types": []string{},
			"paths": map[string][]string{
				"ai":                {fmt.Sprintf("../ai%d", major)},
				"@ai-sdk/react":     {fmt.Sprintf("../react%d", major)},
				"caddy-docs-client": {"../../../../contract/client"},
			},
		},
		"include": []string{"*"},
	})
	files["tsconfig.json"], files["surroundings.d.ts"] = string(config), surroundings
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return exec.Command("node", "node_modules/@typescript/native/bin/tsc", "-p", dir).CombinedOutput()
}
