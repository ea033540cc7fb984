package site

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

const openapiPath = "/v1/openapi.json"

// lintersDir has the linters of OpenAPI documents and their rules.
const lintersDir = "../openapi"

// startDocumented runs acme without limits and saves its document.
func startDocumented(t *testing.T) (s *caddytest.Server, file string) {
	t.Helper()
	s = caddytest.Start(t, "", caddytest.Site(caddytest.AcmeFolder(t), "rate_limit off"))
	s.Ready("acme")
	r := s.Do(caddytest.Request{Method: http.MethodGet, Path: openapiPath, Key: "-"})
	if r.Status != http.StatusOK || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Fatalf("%d %v: %.300s", r.Status, r.Header, r.Body)
	}
	file = filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, r.Body, 0o600); err != nil {
		t.Fatal(err)
	}
	return s, file
}

// openapiDocument is what these tests read of it.
type openapiDocument struct {
	Servers    []struct{ URL string }
	Paths      map[string]map[string]json.RawMessage
	Components struct{ Parameters map[string]openapiParameter }
}

type openapiParameter struct {
	Ref      string `json:"$ref"`
	Name, In string
	Required bool
	Example  any
}

type openapiOperation struct {
	Parameters  []openapiParameter
	RequestBody struct {
		Content map[string]struct {
			Examples map[string]struct{ Value json.RawMessage }
		}
	}
	Responses map[string]struct {
		Headers map[string]any
		Content map[string]struct{ Example any }
	}
}

// exampleRequest is a request that was made from an example.
type exampleRequest struct {
	name      string
	operation *openapiOperation
	caddytest.Request
}

// requests returns those of the document's examples: of each operation one
// for each example of its body, or one.
func (d *openapiDocument) requests(t *testing.T) (out []exampleRequest) {
	t.Helper()
	for path, item := range d.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			o := new(openapiOperation)
			if err := json.Unmarshal(raw, o); err != nil {
				t.Fatal(err)
			}
			var shared []openapiParameter
			if p := item["parameters"]; p != nil {
				if err := json.Unmarshal(p, &shared); err != nil {
					t.Fatal(err)
				}
			}
			q := caddytest.Request{Method: strings.ToUpper(method), Header: map[string]string{}}
			target, query := path, url.Values{}
			for _, p := range append(shared, o.Parameters...) {
				if p.Ref != "" {
					p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
				if p.Example == nil {
					if p.Required {
						t.Errorf("%s %s: %s has no example", method, path, p.Name)
					}
					continue
				}
				switch value := fmt.Sprint(p.Example); p.In {
				case "path":
					target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(value))
				case "query":
					query.Set(p.Name, value)
				case "header":
					q.Header[p.Name] = value
				}
			}
			if q.Path = target; len(query) > 0 {
				q.Path += "?" + query.Encode()
			}
			if len(o.RequestBody.Content) == 0 {
				out = append(out, exampleRequest{q.Method + " " + path, o, q})
			}
			for media, content := range o.RequestBody.Content {
				if len(content.Examples) == 0 {
					t.Errorf("%s %s has no example", method, path)
				}
				for name, example := range content.Examples {
					one := q
					one.Header = maps.Clone(q.Header)
					one.Header["Content-Type"] = media
					one.Body = string(example.Value)
					if media == "application/x-www-form-urlencoded" {
						var fields map[string]string
						if err := json.Unmarshal(example.Value, &fields); err != nil {
							t.Fatal(err)
						}
						form := url.Values{}
						for k, v := range fields {
							form.Set(k, v)
						}
						one.Body = form.Encode()
					}
					out = append(out, exampleRequest{q.Method + " " + path + " " + name, o, one})
				}
			}
		}
	}
	return out
}

// Each example is answered with success, with the headers, the type and, if
// it is JSON, the fields of the example response.
func TestTheExamplesAreTrue(t *testing.T) {
	s, file := startDocumented(t)
	var doc openapiDocument
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil || len(doc.Servers) != 1 || doc.Servers[0].URL != s.Base {
		t.Fatalf("%v: the servers are %v, this one is %s", err, doc.Servers, s.Base)
	}
	requests := doc.requests(t)
	for _, q := range requests {
		t.Run(q.name, func(t *testing.T) {
			if strings.Contains(q.Path, "/openapi.json") || strings.Contains(q.Path, "/types.d.ts") || strings.Contains(q.Path, "/ask/") {
				q.Key = "-"
			}
			r := s.Do(q.Request)
			want, ok := q.operation.Responses[strconv.Itoa(r.Status)]
			if !ok || r.Status >= 300 {
				t.Fatalf("%d: %s", r.Status, r.Body)
			}
			for name := range want.Headers {
				if r.Header.Get(name) == "" && !strings.HasPrefix(name, "RateLimit") && name != "X-Results-Incomplete" { // which are off here, and for locks
					t.Errorf("no header %s", name)
				}
			}
			media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
			content, ok := want.Content[media]
			if !ok && (len(want.Content) > 0 || len(r.Body) > 0) {
				t.Fatalf("the type is %q: %s", media, r.Body)
			}
			if media == "application/json" && content.Example != nil {
				var got any
				if err := json.Unmarshal(r.Body, &got); err != nil {
					t.Fatal(err)
				}
				likeExample(t, "the response", got, content.Example)
			}
			if media == "text/event-stream" && !strings.Contains(string(r.Body), `"messageMetadata":{"finishReason":"stop"`) {
				t.Errorf("no whole reply: %s", r.Body)
			}
		})
	}
	if len(requests) < 25 {
		t.Errorf("only %d examples", len(requests))
	}
}

// likeExample reports fields of a response that its example doesn't have, and values
// of another type.
func likeExample(t *testing.T, at string, got, example any) {
	t.Helper()
	switch example := example.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s is %v, in the example an object", at, got)
		}
		for name, value := range fields {
			if _, ok := example[name]; !ok {
				if !slices.Contains([]string{"description"}, name) { // of pages that have one
					t.Errorf("%s.%s is not in the example", at, name)
				}
				continue
			}
			likeExample(t, at+"."+name, value, example[name])
		}
	case []any:
		items, ok := got.([]any)
		if !ok {
			t.Errorf("%s is %v, in the example an array", at, got)
		}
		for _, item := range items {
			likeExample(t, at+"[]", item, example[0])
		}
	default:
		if fmt.Sprintf("%T", got) != fmt.Sprintf("%T", example) {
			t.Errorf("%s is %v, in the example %v", at, got, example)
		}
	}
}

// The site's own file wins, and what the API does not serve stays the site's.
func TestFilesOfTheSiteWin(t *testing.T) {
	root := caddytest.Folder(t, map[string]string{"index.html": "<h1>Acme</h1>", "v1/openapi.json": `{"own":true}`})
	site := "http://localhost:0 {\n\thandle_path /api/* {\n\t\tsearch\n\t}\n\thandle {\n\t\troot * " + root + "\n\t\tdocs acme\n\t\ttry_files {path} /index.html\n\t\tfile_server\n\t}\n}\n"
	s := caddytest.Start(t, "", site)
	s.Ready("acme")
	get := func(path string, header map[string]string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: http.MethodGet, Path: path, Key: "-", Header: header})
	}
	if r := get(openapiPath, nil); string(r.Body) != `{"own":true}` {
		t.Errorf("the site's file: %.100s", r.Body)
	}
	r := get("/v1/types.d.ts", nil)
	if r.Status != 200 || !strings.Contains(string(r.Body), "export interface DocsUIMessage") || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("types: %d %.100s", r.Status, r.Body)
	}
	if again := get("/v1/types.d.ts", map[string]string{"If-None-Match": r.Header.Get("ETag")}); again.Status != http.StatusNotModified {
		t.Errorf("the types again: %d", again.Status)
	}
	r = get("/api"+openapiPath, nil)
	var doc openapiDocument
	if err := json.Unmarshal(r.Body, &doc); err != nil || doc.Servers[0].URL != s.Base+"/api" {
		t.Errorf("below a prefix: %v %v", err, doc.Servers)
	}
	if r := s.Do(caddytest.Request{Path: "/v1/types.d.ts", Key: "-"}); r.Status == http.StatusOK && strings.Contains(string(r.Body), "export") {
		t.Errorf("POST: %d %.100s", r.Status, r.Body)
	}
}

func TestTheLintersPass(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	t.Parallel() // without a Caddy
	if err := npm.Install(t.Context(), lintersDir); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"Redocly":  {"node_modules/@redocly/cli/bin/cli.js", "lint", "--extends", "recommended", "--max-problems", "50", "--format", "codeframe"},
		"Spectral": {"node_modules/@stoplight/spectral-cli/dist/index.js", "lint", "--ruleset", "spectral.json", "--fail-severity", "hint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "node", append(args, "../../contract/openapi.json")...)
			cmd.Dir = lintersDir
			cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
			out, err := cmd.CombinedOutput()
			// Warnings don't fail Redocly's command.
			if err != nil || strings.Contains(string(out), "Warning was generated") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// Schemathesis makes requests from the document as it is served: its examples, values at its
// bounds, wrong and random ones. No answer is a 5xx or one that the document
// doesn't have.
func TestSchemathesisFindsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Python")
	}
	program, err := exec.LookPath("schemathesis")
	if err != nil {
		t.Skip("needs Schemathesis: pip install -r caddytest/requirements.txt")
	}
	s, _ := startDocumented(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// One worker: threads that parse Python at once can fail in Python 3.11
	// (github.com/python/cpython/issues/106905).
	cmd := exec.CommandContext(ctx, program, "run", s.Base+openapiPath,
		"--phases", "examples,coverage,fuzzing", "--max-examples", "10", "--no-shrink", "--seed", "1", "--workers", "1",
		"--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance",
		"-H", "Authorization: Bearer "+caddytest.Key)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONUTF8=1", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("%v: %s", err, text[max(0, len(text)-6000):])
	}
	if strings.Contains(text, "Authentication failed") || strings.Contains(text, "Missing test data") {
		t.Errorf("an operation is never answered: %s", text)
	}
	t.Log(text[max(0, len(text)-1500):])
}

// clientOfTypes has a request of each operation, by the types that
// openapi-typescript makes: one that is left out is an error.
const clientOfTypes = `import type { components, operations } from './api'

type Parameters = { path?: unknown, query?: unknown }
type Body<T> = [T] extends [{ content: infer C }] ? ([T] extends [never] ? unknown : { body: C[keyof C] }) : unknown
type Call<T extends { parameters: Parameters, requestBody?: unknown }> = Pick<T['parameters'], 'path' | 'query'> & Body<T['requestBody'] & {}>

const path = { domain: 'acme' }, chat = { domain: 'acme', chatId: 'c' }
const list = { jsonrpc: '2.0' as const, id: 1, method: 'tools/list' }
export const calls: { [O in keyof operations]: Call<operations[O]> } = {
  search: { path, body: { query: 'install' } },
  page: { path, body: { path: 'guide/install' } },
  askAssistant: { path, body: { fp: 'anonymous', messages: [{ role: 'user', parts: [{ type: 'text', text: 'install' }] }] } },
  askAssistantV1: { path, body: { fp: 'anonymous', messages: [{ role: 'user', content: 'install' }] } },
  resumeReply: { path: chat }, resumeStreamV1: { path: chat }, resumeReplyV1: { path, query: { chatId: 'c' } },
  feedback: { path, body: { path: 'guide/install', rating: 'up' } },
  event: { path, body: { type: 'search', query: 'install' } },
  token: { path }, widget: { path }, askPage: { path }, askPageAnswer: { path, body: { q: 'install' } },
  mcp: { path, body: list }, mcpFull: { path, body: list },
  openapi: {}, types: {},
}
// @ts-expect-error the query is required
export const empty: Call<operations['search']> = { path, body: {} }
export const url = (r: components['schemas']['SearchResult']): string | undefined => r.metadata.url
`

// Types that a generator makes with its default options take requests of all
// operations with the required fields alone.
func TestGeneratedTypesTakeTheRequiredFieldsAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Node")
	}
	t.Parallel() // without a Caddy
	if err := npm.Install(t.Context(), lintersDir); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.ts"), []byte(clientOfTypes), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"node_modules/openapi-typescript/bin/cli.js", "../../contract/openapi.json", "-o", filepath.Join(dir, "api.ts")},
		{"node_modules/typescript/bin/tsc", "--strict", "--noEmit", "--target", "ES2022", "--module", "esnext", "--moduleResolution", "bundler", "--skipLibCheck", filepath.Join(dir, "app.ts")},
	} {
		cmd := exec.CommandContext(t.Context(), "node", args...)
		cmd.Dir = lintersDir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
	}
}

// clientInPython calls each operation by the package that openapi-python-client
// makes, with the required fields alone, and prints how many there are.
const clientInPython = `
import importlib, pkgutil, sys
from documentation_api_client import AuthenticatedClient, api, models as m

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
question = [m.PartV2(type_='text', text='install')]
tools = m.JSONRPCRequest(jsonrpc='2.0', id=1, method='tools/list')
calls = {
    'search': dict(body=m.SearchRequest(query='install')),
    'page': dict(body=m.PageRequest(path='guide/install')),
    'ask_assistant': dict(body=m.MessageRequestV2(fp='anonymous', messages=[m.MessageV2(role='user', parts=question)])),
    'ask_assistant_v1': dict(body=m.MessageRequestV1(fp='anonymous', messages=[m.MessageV1(role=m.MessageV1Role.USER, content='install')])),
    'resume_reply': dict(chat_id='c'), 'resume_reply_v1': dict(chat_id='c'), 'resume_stream_v1': dict(chat_id='c'),
    'feedback': dict(body=m.FeedbackRequest(path='guide/install', rating=m.FeedbackRequestRatingType1.UP)),
    'event': dict(body=m.EventRequest(type_=m.EventRequestType.SEARCH, query='install')),
    'token': dict(origin=sys.argv[1]), 'widget': {}, 'ask_page': {}, 'ask_page_answer': dict(body=m.AskForm(q='install')),
    'mcp': dict(body=tools), 'mcp_full': dict(body=tools),
    'openapi': {}, 'types': {},
}
found = {}
for module in pkgutil.walk_packages(api.__path__, api.__name__ + '.'):
    if module.ispkg:
        continue
    name = module.name.split('.')[-1]
    domain = {} if '.contract.' in module.name else {'domain': 'acme'}
    response = importlib.import_module(module.name).sync_detailed(**domain, **calls[name], client=client)
    assert response.status_code in (200, 204), (name, response)
    found[name] = response.parsed
assert '/guide/install' in found['search'][0].metadata.url and found['page'].path == 'guide/install'
assert '"finish"' in found['ask_assistant_v1'] and found['token'].token and found['mcp'].result, found
print(len(found))
`

func TestAGeneratedPythonClientCallsEachOperation(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Python")
	}
	program, err := exec.LookPath("openapi-python-client")
	if err != nil {
		t.Skip("needs openapi-python-client: pip install -r caddytest/requirements.txt")
	}
	s, file := startDocumented(t)
	dir := filepath.Join(t.TempDir(), "client")
	out, err := exec.CommandContext(t.Context(), program, "generate", "--path", file, "--output-path", dir).CombinedOutput()
	if err != nil || strings.Contains(string(out), "WARNING") {
		t.Fatalf("%v: %s", err, out)
	}
	var doc openapiDocument
	if err := json.Unmarshal([]byte(caddytest.ReadFile(t, file)), &doc); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, item := range doc.Paths {
		for method := range item {
			if method != "parameters" {
				operations++
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(program), "python"), "-c", clientInPython, s.Base, caddytest.Key)
	cmd.Dir = dir
	if out, err = cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != strconv.Itoa(operations) {
		t.Errorf("%d operations, %v: %s", operations, err, out)
	}
}
