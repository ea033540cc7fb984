// Package openapi reads API descriptions, OpenAPI 3.0 and 3.1 and AsyncAPI 3,
// as pages: one in Markdown for each operation, at the address that opens it in
// what renders the description.
//
// It walks the JSON or YAML as it is, without a model of the specification:
// what is missing or wrong in one operation takes nothing from the others. Only
// references within the file are followed.
package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/caddy-docs/caddy-docs/short"
)

// Bounds of a description.
const (
	// MaxSize is the size of the largest one that is read, in bytes.
	MaxSize       = 24 << 20
	maxOperations = 10_000
	// maxRefs is how long a chain of references is at most.
	maxRefs = 20
)

// Operation is what clients do: a request, a webhook that they get, or messages
// on a channel.
type Operation struct {
	// Method is the HTTP method, or SEND or RECEIVE, in capitals.
	Method string
	// Path is that of the request, the name of the webhook or the address of the
	// channel.
	Path string
	// ID is the operationId, "" if there is none.
	ID       string
	Title    string
	Tags     []string
	Webhook  bool
	part     string // of the description that has it
	Markdown []byte
}

// Description is what was read.
type Description struct {
	Title      string
	Operations []*Operation
	// Problems are what could not be read as written.
	Problems []string
}

// object is a JSON object.
type object = map[string]any

// reader reads a description.
type reader struct {
	root   object
	out    *Description
	remote map[string]bool // references that are not followed
}

// Read reads a description.
func Read(data []byte) (d *Description, err error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("it is larger than %d MB; split it by the parts of the API", MaxSize>>20)
	}
	// yaml.v3 promises errors, and has broken that promise before.
	defer func() {
		if p := recover(); p != nil {
			d, err = nil, fmt.Errorf("it can't be read: %v", p)
		}
	}()
	var parsed any
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		err = json.Unmarshal(data, &parsed)
	} else {
		err = yaml.Unmarshal(data, &parsed)
	}
	if err != nil {
		return nil, err
	}
	r := &reader{root: objectOf(parsed), out: new(Description), remote: map[string]bool{}}
	version, async := text(r.root["openapi"]), text(r.root["asyncapi"])
	switch {
	case strings.HasPrefix(version, "3."), strings.HasPrefix(async, "3."):
	case text(r.root["swagger"]) != "":
		return nil, errors.New("it is Swagger 2.0; convert it to OpenAPI 3 (npx swagger2openapi)")
	case async != "":
		return nil, fmt.Errorf("it is AsyncAPI %.20s; convert it to AsyncAPI 3 (npx @asyncapi/cli convert)", async)
	default:
		return nil, errors.New("it has neither openapi: 3.… nor asyncapi: 3.…, so it is not an API description")
	}
	r.out.Title = short.Line(text(objectOf(r.root["info"])["title"]))
	if async != "" {
		r.channels()
	} else {
		r.paths("paths")
		r.paths("webhooks")
	}
	if len(r.remote) > 0 {
		first := slices.Sorted(maps.Keys(r.remote))
		r.out.Problems = append(r.out.Problems, fmt.Sprintf("refers to %d other files or URLs, which are not read, the first is %.200s; put all into one file (npx @redocly/cli bundle)", len(first), first[0]))
	}
	return r.out, nil
}

func (r *reader) paths(part string) {
	items := objectOf(r.root[part])
	for _, path := range sorted(items) {
		item := r.resolve(items[path])
		for _, method := range []string{"get", "post", "put", "patch", "delete", "head", "options", "trace", "query"} {
			o := r.resolve(item[method])
			if o == nil {
				continue
			}
			op := &Operation{
				Method: strings.ToUpper(method), Path: path, ID: text(o["operationId"]), Webhook: part == "webhooks", part: part,
			}
			w := r.begin(op, o)
			w.parameters(item["parameters"], o["parameters"])
			w.body(r.resolve(o["requestBody"]))
			w.responses(objectOf(o["responses"]))
			if !r.add(op, w) {
				return
			}
		}
	}
}

// channels reads the operations of AsyncAPI.
func (r *reader) channels() {
	operations := objectOf(r.root["operations"])
	for _, id := range sorted(operations) {
		o := r.resolve(operations[id])
		channel := r.resolve(o["channel"])
		op := &Operation{Method: strings.ToUpper(text(o["action"])), Path: text(channel["address"]), ID: id, part: "operations"}
		w := r.begin(op, o)
		w.prose(text(channel["description"]))
		messages := listOf(o["messages"])
		if len(messages) == 0 {
			named := objectOf(channel["messages"])
			for _, name := range sorted(named) {
				messages = append(messages, named[name])
			}
		}
		for _, m := range messages {
			message := r.resolve(m)
			w.heading(3, cmp.Or(text(message["title"]), text(message["name"]), "Message"))
			w.prose(cmp.Or(text(message["summary"]), text(message["description"])))
			payload := objectOf(message["payload"])
			if s, ok := payload["schema"]; ok {
				payload = objectOf(s)
			}
			w.schema(payload)
		}
		if !r.add(op, w) {
			return
		}
	}
}

// add adds an operation, and reports whether there may be more.
func (r *reader) add(op *Operation, w *writer) bool {
	if len(r.out.Operations) == maxOperations {
		r.out.Problems = append(r.out.Problems, fmt.Sprintf("has more than %d operations; the rest is left out", maxOperations))
		return false
	}
	op.Markdown = w.page()
	r.out.Operations = append(r.out.Operations, op)
	return true
}

// resolve returns the object that a value is or refers to, nil if there is none.
func (r *reader) resolve(v any) object {
	o := objectOf(v)
	for range maxRefs {
		ref, ok := o["$ref"].(string)
		if !ok {
			return o
		}
		target := objectOf(r.at(ref))
		if target == nil {
			return nil
		}
		if d, own := o["description"]; own { // as OpenAPI 3.1 allows
			target = maps.Clone(target)
			target["description"] = d
		}
		o = target
	}
	return nil
}

// at returns what a reference within the file points to.
func (r *reader) at(ref string) any {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		if ref != "#" && len(r.remote) < 1000 {
			r.remote[ref] = true
		}
		return nil
	}
	var v any = r.root
	for part := range strings.SplitSeq(rest, "/") {
		if p, err := url.PathUnescape(part); err == nil {
			part = p
		}
		v = objectOf(v)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return v
}

// objectOf returns a value as an object, nil if it is none. Keys of YAML may be
// numbers, such as the status of a response.
func objectOf(v any) object {
	switch v := v.(type) {
	case object:
		return v
	case map[any]any:
		o := make(object, len(v))
		for key, value := range v {
			o[fmt.Sprint(key)] = value
		}
		return o
	}
	return nil
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// text returns a value as text, "" for objects and lists.
func text(v any) string {
	switch v := v.(type) {
	case nil, object, map[any]any, []any:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

func sorted(o object) []string { return slices.Sorted(maps.Keys(o)) }
