package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

const petsAPI = `openapi: 3.0.3
info: {title: Pet API}
paths:
  /pets:
    get: {operationId: listPets, tags: [pets], summary: List all pets, description: Returns every axolotl of the shop., responses: {200: {description: ok}}}
    post: {operationId: createVaccination, tags: [pets], summary: Vaccinate a pet, responses: {200: {description: ok}}}
`

const swaggerPage = `<!doctype html><html lang=en><head><title>API reference</title></head><body><div id="swagger-ui"></div><script src="/swagger-ui-bundle.js"></script><script>SwaggerUIBundle({url: "/openapi.yaml", dom_id: "#swagger-ui"})</script></body></html>`

// Operations are found, and lead to the place in the renderer that shows them.
// They are public only if both the page and what it loads are.
func TestAnOpenAPISource(t *testing.T) {
	root := t.TempDir()
	caddytest.Write(t, root, map[string]string{
		"index.md": "# Acme\n\nThe pet shop.\n", "openapi.yaml": petsAPI, "reference.html": swaggerPage,
	})
	block := func(extra string) string {
		return "http://:0 {\n\troot * " + root + "\n" + extra + "\tdocs acme {\n\t\tsource openapi " + filepath.Join(root, "openapi.yaml") + " below /reference\n\t}\n\ttry_files {path} {path}.html\n\tfile_server\n}\n"
	}
	s := caddytest.Start(t, "", block(""))
	s.Ready("acme")
	found := func(query string) string {
		r := s.Search("acme", `{"query":"`+query+`","pageSize":1}`)
		if len(r) == 0 {
			return ""
		}
		return r[0].Path
	}
	for query, want := range map[string]string{
		"createVaccination": "reference#/pets/createVaccination", "POST /pets": "reference#/pets/createVaccination",
		"GET /pets": "reference#/pets/listPets", "list all pets": "reference#/pets/listPets", "axolotl": "reference#/pets/listPets",
	} {
		caddytest.Until(t, query+" is found", func() bool { return found(query) == want })
	}
	r := s.Search("acme", `{"query":"createVaccination","pageSize":1}`)
	if u := r[0].Metadata.URL; !strings.HasSuffix(u, "/reference#/pets/createVaccination") {
		t.Errorf("the URL is %s", u)
	}

	// A half-written file leaves the last good operations.
	caddytest.Write(t, root, map[string]string{"openapi.yaml": "openapi: 3.0.3\npaths: {/pets: {get: {operationId: [", "news.md": "# News\n\nA new zebra.\n"})
	caddytest.Until(t, "another source goes on", func() bool { return found("zebra") == "news" })
	caddytest.Until(t, "the source fails", func() bool {
		st := caddytest.App(t).Site("acme").Index.Refresher.Status()
		return len(st.Sources) == 2 && strings.Contains(st.Sources[1].Error, "openapi.yaml")
	})
	caddytest.Write(t, root, map[string]string{"openapi.yaml": strings.Replace(petsAPI, "axolotl", "capybara", 1)})
	caddytest.Until(t, "it is back", func() bool { return found("capybara") == "reference#/pets/listPets" })
	if err := os.Remove(filepath.Join(root, "openapi.yaml")); err != nil {
		t.Fatal(err)
	}
	caddytest.Write(t, root, map[string]string{"openapi.yaml": petsAPI})

	for name, lock := range map[string]string{"the description": "/openapi.yaml", "the page": "/reference*"} {
		s.Load("", block("\t@lock path "+lock+"\n\tbasic_auth @lock {\n\t\treader $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n\t}\n"))
		s.Ready("acme")
		caddytest.Until(t, "the page is found", func() bool { return found("zebra") == "news" })
		caddytest.AllAsked(t, "acme")
		if got := found("createVaccination"); strings.HasPrefix(got, "reference") {
			t.Errorf("%s is locked, and %s is found by a stranger", name, got)
		}
	}
}
