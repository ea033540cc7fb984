package openapi

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval/links"
)

// Renderers are what shows a description to readers, by the words of the
// configuration. Their addresses of operations are those of the releases that
// the tests open: Swagger UI 5, Redoc 2, Scalar 1, Stoplight Elements 9,
// docusaurus-openapi-docs 5.
var Renderers = []string{"swagger-ui", "redoc", "scalar", "elements", "docusaurus", "plain"}

// renderer is how operations are addressed on a page.
type renderer struct {
	name string
	// history is set if Stoplight Elements has a path for each operation, and not
	// a fragment.
	history bool
	ids     map[string]bool // of the elements of a plain page
}

var elementsHistory = regexp.MustCompile(`<elements-api\b[^>]*\brouter=["']?(?:history|memory|static)`)

// rendererOf recognizes what shows a description on a page. It is plain if
// nothing else is recognized.
func rendererOf(page []byte) renderer {
	has := func(marks ...string) bool {
		return slices.ContainsFunc(marks, func(m string) bool { return bytes.Contains(page, []byte(m)) })
	}
	switch {
	case has("swagger-ui", "SwaggerUIBundle"):
		return renderer{name: "swagger-ui"}
	case has("redoc.standalone", "<redoc", "Redoc.init", "redoc-container"):
		return renderer{name: "redoc"}
	case has("@scalar/api-reference", "Scalar.createApiReference", `id="api-reference"`):
		return renderer{name: "scalar"}
	case has("<elements-api"):
		return renderer{name: "elements", history: elementsHistory.Match(page)}
	}
	return renderer{name: "plain", ids: links.IDs(page)}
}

var (
	wordless  = regexp.MustCompile(`[^a-zA-Z0-9]`)
	unslugged = regexp.MustCompile(`[^\w\s$*_+~.()'"!\-:@]+`)
	spaces    = regexp.MustCompile(`\s+`)
	dashes    = regexp.MustCompile(`-{2,}`)
	slashes   = regexp.MustCompile(`[/{}\s]`)
	notSlug   = regexp.MustCompile(`[^a-z0-9\-]+`)
	// capitals end where a word begins with one: HTTPServer.
	capitals  = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
	kebabWord = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)
)

// address returns where an operation is: a path below the page, "" for the page
// itself, and a fragment, "" for none.
func (r renderer) address(op *Operation) (path, fragment string) {
	tag, method := "", strings.ToLower(op.Method)
	if len(op.Tags) > 0 {
		tag = op.Tags[0]
	}
	switch r.name {
	case "swagger-ui":
		if op.Webhook {
			tag = "webhooks"
		}
		tag = strings.TrimSpace(cmp.Or(tag, "default"))
		return "", "/" + tag + "/" + cmp.Or(op.ID, method+wordless.ReplaceAllString(op.Path, "_"))
	case "redoc":
		if tag != "" {
			tag = spaces.ReplaceAllString(strings.TrimSpace(unslugged.ReplaceAllString(strings.ReplaceAll(tag, "&", "and"), "")), "-")
			tag = "tag/" + tag + "/"
		}
		if op.ID != "" {
			return "", tag + "operation/" + op.ID
		}
		pointer := op.part + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(op.Path) + "/" + method
		return "", cmp.Or(tag, "/") + pointer
	case "scalar":
		if tag != "" {
			tag = "tag/" + slug(tag) + "/"
		}
		if op.Webhook {
			return "", tag + "webhook/" + op.Method + "/" + slug(op.Path)
		}
		return "", tag + op.Method + op.Path
	case "elements":
		switch p := slashes.ReplaceAllString(op.Path, "-"); {
		case op.Webhook:
			path = "/webhooks/" + cmp.Or(op.ID, op.Path+"/"+method)
		case op.ID != "":
			path = "/operations/" + op.ID
		default:
			if at := dashes.FindStringIndex(p); at != nil {
				p = p[:at[0]] + "-" + p[at[1]:] // the first one alone, as Elements does
			}
			path = "/paths/" + strings.TrimSuffix(strings.TrimPrefix(p, "-"), "-") + "/" + method
		}
		if r.history {
			return path, ""
		}
		return "", path
	case "docusaurus":
		return "/" + kebab(cmp.Or(op.ID, op.Title)), ""
	}
	return "", r.id(op)
}

// id returns the id of an operation on a plain page, "" if it has none.
func (r renderer) id(op *Operation) string {
	path := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(op.Path), "-"), "-")
	for _, want := range []string{
		op.ID, "opId" + op.ID, "operation/" + op.ID, "operation-" + op.ID, strings.ToLower(op.ID), slug(op.ID),
		strings.ToLower(op.Method) + "-" + path, strings.ToLower(op.Method) + "_" + path, slug(op.Title), slug(op.Method + " " + op.Path),
	} {
		if want != "" && r.ids[want] {
			return want
		}
	}
	return ""
}

// slug is a heading's id as GitHub makes it.
func slug(s string) string {
	return notSlug.ReplaceAllString(spaces.ReplaceAllString(strings.ToLower(strings.TrimSpace(s)), "-"), "")
}

// kebab is lodash's kebabCase.
func kebab(s string) string {
	s = capitals.ReplaceAllString(strings.ReplaceAll(s, "'", ""), "$1-$2")
	return strings.ToLower(strings.Join(kebabWord.FindAllString(s, -1), "-"))
}
