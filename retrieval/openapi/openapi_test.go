package openapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/sourcetest"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const pets = `openapi: 3.1.0
info: {title: Pet API}
paths:
  /pets/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}, description: The pet.}
    get:
      operationId: showPet
      tags: [My Pets]
      summary: Show a pet
      description: "# How\n<p>Use the <code>id</code> that <b>createPet</b> returned.</p>"
      responses:
        200:
          description: The pet
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Pet'}
              example: {name: Rex}
        404: {description: No such pet}
  /pets:
    post:
      operationId: createPet
      deprecated: true
      tags: [My Pets]
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Pet'}
webhooks:
  petBorn:
    post: {operationId: onBirth, summary: A pet was born, tags: [My Pets]}
components:
  schemas:
    Pet:
      type: object
      description: An animal.
      required: [name]
      properties:
        name: {type: string, description: What it is called.}
        kind: {type: [string, 'null'], enum: [dog, cat], default: dog}
        mother: {$ref: '#/components/schemas/Pet'}
`

func TestWhatADescriptionSaysIsInThePages(t *testing.T) {
	d, err := Read([]byte(pets))
	if err != nil || len(d.Operations) != 3 || len(d.Problems) != 0 || d.Title != "Pet API" {
		t.Fatalf("%+v, %v", d, err)
	}
	for i, want := range [][]string{
		{"title: create Pet\n", "deprecated: true\n", "## POST /pets\n", "Operation `createPet`", "### Request body", "Schema `Pet`. An animal.", "- `name` (string, required): What it is called.\n", "- `kind` (string or null) One of `dog`, `cat`. Default: `dog`."},
		{"title: Show a pet\n", "- My Pets\n", "**How**", "Use the `id` that createPet returned.", "- `id` (path, string, required): The pet.", "### Response 200", "  \"name\": \"Rex\"", "Response 404: No such pet"},
		{"title: A pet was born\n", "## POST petBorn\n", "A webhook: this request is sent to you."},
	} {
		for _, part := range want {
			if !strings.Contains(strings.ToLower(string(d.Operations[i].Markdown)), strings.ToLower(part)) {
				t.Errorf("%q is not in\n%s", part, d.Operations[i].Markdown)
			}
		}
	}
}

func TestAsyncAPI(t *testing.T) {
	d, err := Read([]byte(`{"asyncapi":"3.0.0","info":{"title":"Orders"},"channels":{"orders":{"address":"shop/orders","messages":{"placed":{"title":"Order placed","payload":{"type":"object","properties":{"total":{"type":"number"}}}}}}},
		"operations":{"onOrder":{"action":"receive","channel":{"$ref":"#/channels/orders"},"summary":"An order was placed"}}}`))
	if err != nil || len(d.Operations) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, want := range []string{"## RECEIVE shop/orders", "### Order placed", "- `total` (number)"} {
		if !strings.Contains(string(d.Operations[0].Markdown), want) {
			t.Errorf("%q is not in\n%s", want, d.Operations[0].Markdown)
		}
	}
}

// The addresses are those to which Swagger UI 5.35, Redoc 2.5, Scalar 1.46 and
// Elements 9.0 link in Chromium, and the pages that docusaurus-openapi-docs 5.2
// writes.
func TestAddressesOfRenderers(t *testing.T) {
	d, err := Read([]byte(`{"openapi":"3.1.0","info":{"title":"Acme API"},"paths":{
		"/health":{"get":{"operationId":"health"}},
		"/pets":{"get":{"operationId":"listPets","tags":["My Pets"]},"post":{"operationId":"pets/create-one","tags":["My Pets"]}},
		"/pets/{petId}/vet-visits.json":{"get":{"tags":["My Pets"],"summary":"No id here"}},
		"/ready":{"get":{"summary":"Neither tag nor id"}}},
		"webhooks":{"newPet":{"post":{"operationId":"onNewPet","tags":["My Pets"]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		page string
		want []string
	}{
		"swagger-ui": {`<div id="swagger-ui"></div>`, []string{"#/default/health", "#/My Pets/listPets", "#/My Pets/pets/create-one", "#/My Pets/get_pets__petId__vet_visits_json", "#/default/get_ready", "#/webhooks/onNewPet"}},
		"redoc": {`<redoc spec-url="x"></redoc>`, []string{
			"#operation/health", "#tag/My-Pets/operation/listPets", "#tag/My-Pets/operation/pets/create-one",
			"#tag/My-Pets/paths/~1pets~1{petId}~1vet-visits.json/get", "#/paths/~1ready/get", "#tag/My-Pets/operation/onNewPet",
		}},
		"scalar": {`<script id="api-reference" data-url="x">`, []string{
			"#GET/health", "#tag/my-pets/GET/pets", "#tag/my-pets/POST/pets", "#tag/my-pets/GET/pets/{petId}/vet-visits.json", "#GET/ready", "#tag/my-pets/webhook/POST/newpet",
		}},
		"elements": {`<elements-api router="hash">`, []string{
			"#/operations/health", "#/operations/listPets", "#/operations/pets/create-one", "#/paths/pets-petId--vet-visits.json/get", "#/paths/ready/get", "#/webhooks/onNewPet",
		}},
		"elements with paths": {`<elements-api router="history">`, []string{
			"/operations/health", "/operations/listPets", "/operations/pets/create-one", "/paths/pets-petId--vet-visits.json/get", "/paths/ready/get", "/webhooks/onNewPet",
		}},
		"plain":      {`<h2 id="opIdhealth"><h2 id="get-pets"><a name="pets-create-one">`, []string{"#opIdhealth", "#get-pets", "#pets-create-one", "", "", ""}},
		"docusaurus": {"", []string{"/health", "/list-pets", "/pets-create-one", "/no-id-here", "/neither-tag-nor-id", "/on-new-pet"}},
	} {
		r := rendererOf([]byte(c.page))
		if c.page == "" {
			r = renderer{name: name}
		}
		for i, op := range d.Operations {
			path, fragment := r.address(op)
			if fragment != "" {
				fragment = "#" + fragment
			}
			if got := path + fragment; got != c.want[i] {
				t.Errorf("%s: %s %s is at %q, want %q", name, op.Method, op.Path, got, c.want[i])
			}
		}
	}
	for id, want := range map[string]string{"GetBalanceHistory": "get-balance-history", "getHTTPResponse2": "get-http-response-2", "repos/list-for_user": "repos-list-for-user"} {
		if got := kebab(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
}

func TestHostileDescriptions(t *testing.T) {
	bomb := `{"openapi":"3.0.0","paths":{"/x":{"get":{"operationId":"x","responses":{"200":{"description":"","content":{"application/json":{"schema":{"$ref":"#/components/schemas/s0"}}}}}}}},"components":{"schemas":{`
	for i := range 30 {
		bomb += fmt.Sprintf(`"s%d":{"properties":{`, i)
		for j := range 10 {
			bomb += fmt.Sprintf(`"p%d":{"$ref":"#/components/schemas/s%d"},`, j, (i+1+j)%30)
		}
		bomb += `"z":{}}},`
	}
	bomb += `"end":{"$ref":"#/components/schemas/end"}}}}`
	d, err := Read([]byte(bomb))
	if err != nil || len(d.Operations) != 1 || len(d.Operations[0].Markdown) > maxPage+1000 {
		t.Errorf("references that multiply: %v", err)
	}
	d, err = Read([]byte(`{"openapi":"3.0.0","paths":{"/a":{"$ref":"#/paths/~1b"},"/b":{"$ref":"#/paths/~1a"},"/c":{"get":{"requestBody":{"$ref":"https://evil.example/x.json"},"parameters":[{"$ref":"other.yaml#/x"}],"responses":7}}}}`))
	if err != nil || len(d.Operations) != 1 || len(d.Problems) != 1 || !strings.Contains(d.Problems[0], "refers to 2 other files or URLs") {
		t.Errorf("cycles and remote references: %+v, %v", d, err)
	}
	for text, want := range map[string]string{
		`{"openapi":"3.0.0","paths":{"/a"`: "unexpected end", "": "not an API description", "[1]": "not an API description", "swagger: '2.0'": "Swagger 2.0",
		"asyncapi: 2.6.0": "AsyncAPI 2.6.0", "a: &a [*a]": "", strings.Repeat("a", MaxSize+1): "larger than",
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]": "excessive aliasing",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: the error is %v, want %q", text, err, want)
		}
	}
}

func TestADescriptionIsASource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	write := func(text string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(pets)(t)
	sourcetest.Source{
		Open:    func(*testing.T) retrieval.Source { return &Source{File: file, Below: "reference", Renderer: "redoc"} },
		Change:  write(strings.Replace(pets, "Show a pet", "Look at a pet", 1)),
		Break:   write(`{"openapi": "3.0.0", "paths": {`), // half written
		Restore: write(pets),
	}.Test(t)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Source{File: file}).Snapshot(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(pets))
	f.Add([]byte(`{"openapi":"3.0.0","paths":{"/":{"get":{"tags":[{}],"parameters":[{"$ref":"#/"}]}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Read(data)
		if err != nil {
			return
		}
		for _, op := range d.Operations {
			for _, name := range Renderers {
				renderer{name: name}.address(op)
			}
			if len(op.Markdown) > 2*maxPage {
				t.Errorf("a page of %d bytes", len(op.Markdown))
			}
		}
	})
}

// A description at a URL is fetched again only if it has changed. What is no whole
// description is an error, so that the last good one stays.
func TestADescriptionIsFetched(t *testing.T) {
	text, bodies, asked := pets, 0, 0
	var instead http.HandlerFunc
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if instead != nil {
			instead(w, r)
			return
		}
		tag := fmt.Sprintf("%q", fmt.Sprint(len(text)))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		bodies++
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	s := &Source{File: server.URL + "/pets.yaml", Below: "reference", Renderer: "redoc", AllowPrivate: true}
	titles := func() string {
		t.Helper()
		snap, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all := ""
		for _, f := range snap.Files {
			content, err := snap.Read(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			all += string(content.Data)
		}
		return all
	}
	if all := titles() + titles(); strings.Count(all, "# Show a pet") != 2 || bodies != 1 || asked != 2 {
		t.Errorf("%d requests, %d with a body: %s", asked, bodies, all)
	}
	text = strings.Replace(pets, "Show a pet", "Show one of the pets", 1)
	if all := titles(); !strings.Contains(all, "# Show one of the pets") {
		t.Errorf("after the change: %s", all)
	}
	for name, bad := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"a web page": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!doctype html><title>Sign in</title>")
		},
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			_, _ = io.WriteString(w, text)
		},
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"private": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
		"a large one": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text+strings.Repeat(" ", MaxSize))
		},
	} {
		instead = bad
		if snap, err := s.Snapshot(t.Context()); err == nil {
			t.Errorf("%s: no error but %v", name, snap.Files)
		}
	}
	instead = nil
	if all := titles(); !strings.Contains(all, "# Show one of the pets") {
		t.Errorf("afterwards: %s", all)
	}
	s.AllowPrivate = false
	if _, err := s.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "private") {
		t.Errorf("a private address: %v", err)
	}
}
