package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/contract"
)

// openAPI is what these tests read of the document.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema struct {
					AllOf []struct {
						Properties struct{ Code struct{ Enum []string } }
					}
				}
				Example struct{ Code string }
			}
		}
		Schemas struct {
			APIError struct {
				Properties struct{ Code struct{ Enum []string } }
			} `json:"ApiError"`
		}
	}
}

func readOpenAPI(t *testing.T) (doc openAPI) {
	t.Helper()
	if err := json.Unmarshal(contract.OpenAPI("http://localhost", "acme"), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// operation names what an endpoint does with a method.
func operation(e endpoint, method string) string {
	return fmt.Sprintf("%s %s v%d resume=%v full=%v", method, e.api, e.version, e.resume, e.full)
}

func TestTheDocumentHasTheOperationsOfTheAPI(t *testing.T) {
	documented := map[string]bool{}
	for path, item := range readOpenAPI(t).Paths {
		if path == openAPIPath || path == typesPath {
			continue
		}
		for method := range item {
			if method == "parameters" {
				continue
			}
			method = strings.ToUpper(method)
			target := strings.NewReplacer("{domain}", "acme", "{chatId}", "c1").Replace(path)
			r := httptest.NewRequest(method, target, nil)
			if strings.HasPrefix(path, "/v1/assistant/") && strings.HasSuffix(path, "/message") && method == http.MethodGet {
				r = httptest.NewRequest(method, target+"?chatId=c1", nil)
			}
			e, ok := parseRequest(r)
			if !ok || e.site != "acme" || !slices.Contains(e.methods(), method) {
				t.Errorf("%s %s is in the document, but not in the API", method, path)
			}
			documented[operation(e, method)] = true
		}
	}
	for api, a := range apis {
		for version := 1; version <= max(a.versions, 1); version++ {
			endpoints := []endpoint{{api: api, version: version}}
			switch api {
			case apiAssistant:
				endpoints = append(endpoints, endpoint{api: api, version: version, resume: true})
			case apiMCP:
				endpoints = append(endpoints, endpoint{api: api, version: version, full: true})
			}
			for _, e := range endpoints {
				for _, method := range e.methods() {
					if method != http.MethodHead && !documented[operation(e, method)] {
						t.Errorf("the document does not have %s", operation(e, method))
					}
				}
			}
		}
	}
}

// statuses are the names of the constants that this package answers with.
var statuses = map[string]int{
	"StatusBadRequest": 400, "StatusUnauthorized": 401, "StatusForbidden": 403, "StatusNotFound": 404, "StatusMethodNotAllowed": 405,
	"StatusRequestEntityTooLarge": 413, "StatusUnsupportedMediaType": 415, "StatusTooManyRequests": 429,
	"StatusInternalServerError": 500, "StatusServiceUnavailable": 503,
}

// codesOfTheHandlers finds the status and code of each error that this package
// and package ui make: the calls of Fail and refuse, and what describe says of others.
func codesOfTheHandlers(t *testing.T) map[int][]string {
	t.Helper()
	codes := map[int][]string{}
	add := func(status int, code string) {
		if !slices.Contains(codes[status], code) {
			codes[status] = append(codes[status], code)
		}
	}
	files, _ := filepath.Glob("*.go")
	more, _ := filepath.Glob("ui/*.go")
	for _, name := range append(files, more...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			function, _ := call.Fun.(*ast.Ident)
			if of, ok := call.Fun.(*ast.SelectorExpr); ok {
				function = of.Sel
			}
			switch {
			case function == nil:
			case function.Name == "Fail" && len(call.Args) == 4:
				status, ok := call.Args[0].(*ast.SelectorExpr)
				if !ok { // that of a Validate
					return true
				}
				if statuses[status.Sel.Name] == 0 {
					t.Fatalf("%s: Fail has the status %s, which this test doesn't know", name, status.Sel.Name)
				}
				add(statuses[status.Sel.Name], text(call.Args[1]))
			case function.Name == "refuse" && len(call.Args) == 2 && strings.HasPrefix(text(call.Args[0]), "token_"):
				add(http.StatusUnauthorized, text(call.Args[0]))
			}
			return true
		})
	}
	for _, status := range statuses {
		if _, code := describe(status, errors.New("of another handler"), ""); code != "refused" {
			add(status, code)
		}
	}
	return codes
}

// text is the value of a string literal, "" for anything else.
func text(e ast.Expr) string {
	l, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(l.Value)
	return s
}

func TestTheDocumentHasTheErrorCodesOfTheAPI(t *testing.T) {
	components := readOpenAPI(t).Components
	all := map[string]bool{"refused": true}
	documented := map[string]bool{}
	for name, response := range components.Responses {
		content := response.Content["application/json"]
		var codes []string
		for _, s := range content.Schema.AllOf {
			codes = append(codes, s.Properties.Code.Enum...)
		}
		if !slices.Contains(codes, content.Example.Code) {
			t.Errorf("the example of %s has the code %q", name, content.Example.Code)
		}
		documented[strings.Join(slices.Sorted(slices.Values(codes)), " ")] = true
	}
	codes := codesOfTheHandlers(t)
	for status, codes := range codes {
		// An unexpected error is 500 whichever 5xx another handler gave.
		if status == http.StatusServiceUnavailable {
			codes = slices.DeleteFunc(codes, func(c string) bool { return c == "internal" })
		}
		slices.Sort(codes)
		if !documented[strings.Join(codes, " ")] {
			t.Errorf("no response of the document has the codes of %d, %v", status, codes)
		}
		for _, code := range codes {
			all[code] = true
		}
	}
	if len(documented) != len(codes) {
		t.Errorf("the document has %d kinds of errors, the API %d", len(documented), len(codes))
	}
	if want := slices.Sorted(maps.Keys(all)); !slices.Equal(components.Schemas.APIError.Properties.Code.Enum, want) {
		t.Errorf("ApiError has the codes %v, the API %v", components.Schemas.APIError.Properties.Code.Enum, want)
	}
}
