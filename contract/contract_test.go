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
)

// schema is what the tests read of a schema.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        any                `json:"type"`
	AnyOf       []schema           `json:"anyOf"`
	Enum        []any              `json:"enum"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	MaxLength   int                `json:"maxLength"`
	MaxItems    int                `json:"maxItems"`
	Items       *schema            `json:"items"`
	Description string             `json:"description"`
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
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Components.Schemas
}

// fieldsRead returns the names in JSON of the fields of structs of this project:
// a type's, those of the variables of a function, or with a slash those of the
// struct in one of their fields.
func fieldsRead(t *testing.T, at string) []string {
	t.Helper()
	names := map[string]bool{}
	file, place, _ := strings.Cut(at, " ")
	name, within, nested := strings.Cut(place, "/")
	f, err := parser.ParseFile(token.NewFileSet(), path.Join("../encoding", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	jsonName := func(field *ast.Field) string {
		tag, _ := strconv.Unquote(field.Tag.Value)
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		return name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return n.Name.Name == name
		case *ast.TypeSpec:
			return n.Name.Name == name
		case *ast.StructType:
			for _, field := range n.Fields.List {
				if field.Tag == nil || nested && jsonName(field) != within {
					continue
				}
				if !nested {
					names[jsonName(field)] = true
					continue
				}
				for _, inner := range field.Type.(*ast.ArrayType).Elt.(*ast.StructType).Fields.List {
					names[jsonName(inner)] = true
				}
			}
			return false
		}
		return true
	})
	if len(names) == 0 {
		t.Fatalf("%s has no struct at %s", file, place)
	}
	return slices.Sorted(maps.Keys(names))
}

func TestTheDocumentHasTheFieldsThatAreRead(t *testing.T) {
	all := schemas(t)
	for name, place := range map[string]string{
		"SearchRequest": "search.go DecodeSearch", "SearchFilter": "search.go filter",
		"Context": "request.go DecodeRequest/context", "MessageRequestV1": "request.go DecodeRequest", "MessageRequestV2": "request.go DecodeRequest",
		"FeedbackRequest": "feedback.go DecodeFeedback", "EventRequest": "feedback.go DecodeEvent",
	} {
		if have, read := slices.Sorted(maps.Keys(all[name].Properties)), fieldsRead(t, place); !slices.Equal(have, read) {
			t.Errorf("%s has the fields %v, and %s reads %v", name, have, place, read)
		}
	}
	// Messages and parts have the fields of both generations while they are read.
	for place, schemas := range map[string][2]string{"request.go message": {"MessageV1", "MessageV2"}, "request.go part": {"PartV1", "PartV2"}} {
		both := maps.Clone(all[schemas[0]].Properties)
		maps.Copy(both, all[schemas[1]].Properties)
		delete(both, "createdAt") // which clients send and nothing reads
		if have, read := slices.Sorted(maps.Keys(both)), fieldsRead(t, place); !slices.Equal(have, read) {
			t.Errorf("%v have the fields %v, and %s reads %v", schemas, have, place, read)
		}
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
	"MessageRequestV1": {`{"fp":"a","messages":[{"role":"user","content":"q"}]}`, func(b []byte) error { _, err := encoding.DecodeRequest(b, encoding.V1); return err }},
	"MessageRequestV2": {`{"fp":"a","messages":[{"role":"user","parts":[{"type":"text","text":"q"}]}]}`, func(b []byte) error { _, err := encoding.DecodeRequest(b, encoding.V2); return err }},
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
			if name == "EventRequest" && field == "path" && value == nil { // as if it were left out
				fields["type"] = "search"
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
	// As words: generators of clients take a field with a default for required.
	if s := schemas(t); !strings.HasSuffix(s["SearchRequest"].Properties["pageSize"].Description, fmt.Sprintf(" Default: %d.", encoding.DefaultHits)) ||
		!strings.HasSuffix(s["MessageRequestV2"].Properties["retrievalPageSize"].Description, fmt.Sprintf(" Default: %d.", encoding.DefaultPageSize)) {
		t.Error("the defaults differ")
	}
}

// jsonFields returns the fields of a struct, and those that are always there.
func jsonFields(v any) (names, required []string) {
	for f := range reflect.TypeOf(v).Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
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

func TestTheDocumentNamesItsServerAndASite(t *testing.T) {
	var doc struct {
		Servers    []struct{ URL string }
		Components struct {
			Parameters struct{ Domain, Origin struct{ Example string } }
		}
	}
	if err := json.Unmarshal(OpenAPI(`https://docs.example/"api`, "handbook"), &doc); err != nil || len(doc.Servers) != 1 ||
		doc.Servers[0].URL != `https://docs.example/"api` || doc.Components.Parameters.Domain.Example != "handbook" || doc.Components.Parameters.Origin.Example != "https://docs.example" {
		t.Errorf("%v: %v", err, doc)
	}
}
