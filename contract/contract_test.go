package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/encoding/datastream"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
)

// schema is what the tests read of a schema.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"`
	AnyOf      []schema           `json:"anyOf"`
	Enum       []any              `json:"enum"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	MaxLength  int                `json:"maxLength"`
	MaxItems   int                `json:"maxItems"`
	Items      *schema            `json:"items"`
	Default    any                `json:"default"`
}

func (s *schema) is(kind string) bool {
	if s.Type == kind {
		return true
	}
	kinds, _ := s.Type.([]any)
	return slices.Contains(kinds, any(kind))
}

func (s *schema) nullable() bool {
	return s.is("null") || slices.ContainsFunc(s.AnyOf, func(one schema) bool { return one.is("null") })
}

func schemas(t *testing.T) map[string]*schema {
	t.Helper()
	var doc struct {
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Components.Schemas
}

// fieldsRead returns the names of the fields that functions of this project
// read: the cases of their switches over string(name).
func fieldsRead(t *testing.T, functions ...string) []string {
	t.Helper()
	names := map[string]bool{}
	for _, at := range functions {
		file, function, _ := strings.Cut(at, " ")
		f, err := parser.ParseFile(token.NewFileSet(), path.Join("../encoding", file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == function {
				found = true
				ast.Inspect(d, func(n ast.Node) bool {
					if s, ok := n.(*ast.SwitchStmt); ok && isName(s.Tag) {
						for _, c := range s.Body.List {
							for _, value := range c.(*ast.CaseClause).List {
								name, _ := strconv.Unquote(value.(*ast.BasicLit).Value)
								names[name] = true
							}
						}
					}
					return true
				})
			}
		}
		if !found {
			t.Fatalf("%s has no function %s", file, function)
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// isName reports whether an expression is string(name) or string(field).
func isName(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	function, _ := call.Fun.(*ast.Ident)
	argument, _ := call.Args[0].(*ast.Ident)
	return function != nil && function.Name == "string" && argument != nil && (argument.Name == "name" || argument.Name == "field")
}

func TestTheDocumentHasTheFieldsThatAreRead(t *testing.T) {
	all := schemas(t)
	for name, tt := range map[string]struct {
		functions []string
		// unread are fields that clients send and nothing reads.
		unread []string
	}{
		"SearchRequest":    {functions: []string{"search.go DecodeSearch"}},
		"SearchFilter":     {functions: []string{"request.go filter"}},
		"Context":          {functions: []string{"request.go context"}},
		"MessageRequestV1": {functions: []string{"request.go field"}},
		"MessageRequestV2": {functions: []string{"request.go field"}},
		"MessageV1":        {functions: []string{"request.go message", "datastream/request.go readField"}, unread: []string{"createdAt"}},
		"MessageV2":        {functions: []string{"request.go message", "uimessage/request.go readField"}},
		"Attachment":       {functions: []string{"datastream/request.go readAttachment"}},
		"FeedbackRequest":  {functions: []string{"feedback.go DecodeFeedback"}},
		"EventRequest":     {functions: []string{"feedback.go DecodeEvent"}},
	} {
		read := append(fieldsRead(t, tt.functions...), tt.unread...)
		slices.Sort(read)
		if have := slices.Sorted(maps.Keys(all[name].Properties)); !slices.Equal(have, read) {
			t.Errorf("%s has the fields %v, and %v reads %v", name, have, tt.functions, read)
		}
	}
	// A part has the fields of both generations while it is read.
	both := maps.Clone(all["PartV1"].Properties)
	maps.Copy(both, all["PartV2"].Properties)
	if have, read := slices.Sorted(maps.Keys(both)), fieldsRead(t, "request.go part"); !slices.Equal(have, read) {
		t.Errorf("PartV1 and PartV2 have the fields %v, and part reads %v", have, read)
	}
}

// bodies are the endpoints' bodies: a valid one, and what reads it.
var bodies = map[string]struct {
	valid  string
	decode func([]byte) error
}{
	"SearchRequest":    {`{"query":"q"}`, func(b []byte) error { _, err := encoding.DecodeSearch(b); return err }},
	"FeedbackRequest":  {`{"rating":"up","threadId":"t"}`, func(b []byte) error { _, err := encoding.DecodeFeedback(b); return err }},
	"EventRequest":     {`{"type":"click","query":"q","path":"p","position":1}`, func(b []byte) error { _, err := encoding.DecodeEvent(b); return err }},
	"MessageRequestV1": {`{"fp":"a","messages":[{"role":"user","content":"q"}]}`, func(b []byte) error { _, err := datastream.Decode(b); return err }},
	"MessageRequestV2": {`{"fp":"a","messages":[{"role":"user","parts":[{"type":"text","text":"q"}]}]}`, func(b []byte) error { _, err := uimessage.Decode(b); return err }},
}

// Each bound is accepted, and what is beyond it refused, with an error that
// names the field.
func TestTheDocumentHasTheBoundsThatHold(t *testing.T) {
	tried := 0
	for name, body := range bodies {
		s := schemas(t)[name]
		try := func(field string, value any, accepted bool) {
			t.Helper()
			tried++
			var fields map[string]any
			if err := json.Unmarshal([]byte(body.valid), &fields); err != nil {
				t.Fatal(err)
			}
			if name == "FeedbackRequest" { // one of these is required, and not both
				switch {
				case field == "path" && value != nil:
					delete(fields, "threadId")
				case field == "threadId" && value == nil:
					fields["path"] = "p"
				}
			}
			fields[field] = value
			b, _ := json.Marshal(fields)
			err := body.decode(b)
			var e *encoding.Error
			if accepted && err != nil || !accepted && (!errors.As(err, &e) || !strings.HasPrefix(e.Field, field)) {
				t.Errorf("%s: %s %.60v: %v", name, field, fmt.Sprint(value), err)
			}
		}
		for field, p := range s.Properties {
			required := slices.Contains(s.Required, field)
			if p.nullable() {
				try(field, nil, !required || name == "FeedbackRequest")
			}
			if p.Minimum != nil && p.Maximum != nil {
				try(field, *p.Minimum, true)
				try(field, *p.Maximum, true)
				try(field, *p.Minimum-1, false)
				try(field, *p.Maximum+1, false)
			}
			if p.is("integer") {
				try(field, *p.Minimum+.5, false)
			}
			if p.MaxLength > 0 {
				try(field, strings.Repeat("a", p.MaxLength), true)
				try(field, strings.Repeat("a", p.MaxLength+1), false)
			}
			if p.MaxItems > 0 {
				try(field, slices.Repeat([]string{strings.Repeat("a", p.Items.MaxLength)}, p.MaxItems), true)
				try(field, slices.Repeat([]string{"a"}, p.MaxItems+1), false)
				try(field, []string{strings.Repeat("a", p.Items.MaxLength+1)}, false)
			}
			for _, value := range p.Enum {
				try(field, value, true)
			}
			if len(p.Enum) > 0 {
				try(field, "something", false)
			}
			if required && !p.nullable() {
				try(field, nil, false)
			}
			if field != "id" && field != "trigger" { // which are any text
				try(field, map[bool]any{true: "x", false: 5}[p.is("integer") || p.is("number") || p.is("array") || p.AnyOf != nil], false)
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d values were tried", tried)
	}
	if s := schemas(t); s["SearchRequest"].Properties["pageSize"].Default != float64(encoding.DefaultHits) ||
		s["MessageRequestV2"].Properties["retrievalPageSize"].Default != float64(encoding.DefaultPageSize) {
		t.Error("the defaults differ")
	}
}

// jsonFields returns the fields of a struct, and those that are always there.
func jsonFields(v any) (names, required []string) {
	for f := range reflect.TypeOf(v).Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		if options == "" {
			required = append(required, name)
		}
	}
	slices.Sort(names)
	slices.Sort(required)
	return names, required
}

func TestTheDocumentHasTheFieldsOfResults(t *testing.T) {
	for name, v := range map[string]any{
		"SearchResult": encoding.Result{}, "SearchMetadata": encoding.Metadata{}, "Highlights": encoding.Highlights{},
	} {
		s := schemas(t)[name]
		names, required := jsonFields(v)
		if have := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(have, names) || !slices.Equal(slices.Sorted(slices.Values(s.Required)), required) {
			t.Errorf("%s has %v, of these always %v; the code %v and %v", name, have, s.Required, names, required)
		}
	}
}

var (
	declaration = regexp.MustCompile(`(?ms)^export (?:interface (\w+)|type (\w+) =) \{\n(.*?)^\}`)
	property    = regexp.MustCompile(`(?m)^  (\w+)(\??): (.*)$`)
	literal     = regexp.MustCompile(`'([^']*)'`)
)

// The types are those of the document: the same fields, of which the same may
// be absent or null.
func TestTheTypesHaveTheFieldsOfTheDocument(t *testing.T) {
	all := schemas(t)
	seen := map[string]bool{}
	for _, m := range declaration.FindAllStringSubmatch(string(types), -1) {
		name := m[1] + m[2]
		have := map[string]bool{}
		for _, p := range property.FindAllStringSubmatch(m[3], -1) {
			have[p[1]] = true
			if all[name] == nil {
				continue
			}
			field := all[name].Properties[p[1]]
			if field == nil {
				t.Errorf("%s.%s is not in the document", name, p[1])
				continue
			}
			if optional := p[2] == "?"; optional == slices.Contains(all[name].Required, p[1]) {
				t.Errorf("%s.%s: optional is %v, unlike in the document", name, p[1], optional)
			}
			if null := strings.Contains(p[3], "| null"); null != field.nullable() {
				t.Errorf("%s.%s: null is %v, unlike in the document", name, p[1], null)
			}
			var values []any
			for _, v := range literal.FindAllStringSubmatch(p[3], -1) {
				values = append(values, v[1])
			}
			enum := field.Enum
			if field.Items != nil {
				enum = field.Items.Enum
			}
			if enum = slices.DeleteFunc(slices.Clone(enum), func(v any) bool { return v == nil }); p[1] != "code" && !slices.Equal(enum, values) {
				t.Errorf("%s.%s: %v, in the document %v", name, p[1], values, enum)
			}
		}
		if s := all[name]; s != nil {
			seen[name] = true
			for field := range s.Properties {
				if !have[field] {
					t.Errorf("%s has no %s", name, field)
				}
			}
		}
	}
	for name := range all {
		// MCP clients bring their own types, and browsers send the form.
		if !seen[name] && !strings.HasPrefix(name, "JSONRPC") && name != "AskForm" && name != "HighlightRange" {
			t.Errorf("there is no type %s", name)
		}
	}
	_, codes, _ := strings.Cut(string(types), "export type ErrorCode =")
	codes, _, _ = strings.Cut(codes, "\n\n")
	var values []any
	for _, v := range literal.FindAllStringSubmatch(codes, -1) {
		values = append(values, v[1])
	}
	if want := all["ApiError"].Properties["code"].Enum; !slices.Equal(values, want) {
		t.Errorf("the codes are %v, in the document %v", values, want)
	}
	_, metadata, _ := strings.Cut(string(types), "export type DocsMetadata = {")
	metadata, _, _ = strings.Cut(metadata, "\n}")
	outcome, _ := jsonFields(reply.Outcome{})
	for _, name := range outcome {
		if !strings.Contains(metadata, "\n  "+name+"?: ") {
			t.Errorf("DocsMetadata has no %s", name)
		}
	}
}

func TestTheDocumentNamesItsServer(t *testing.T) {
	var doc struct{ Servers []struct{ URL string } }
	if err := json.Unmarshal(OpenAPI(`https://docs.example/"api`), &doc); err != nil || len(doc.Servers) != 1 || doc.Servers[0].URL != `https://docs.example/"api` {
		t.Errorf("%v: %v", err, doc)
	}
}
