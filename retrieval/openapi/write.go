package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/caddy-docs/caddy-docs/short"
)

// Bounds of a page.
const (
	maxPage        = 24 << 10 // bytes of an operation
	maxFields      = 150      // of one body
	maxVisits      = 2000     // of schemas in one body: references may multiply
	maxDepth       = 4        // of fields in fields
	maxDescription = 6000     // bytes of one text
	maxField       = 500
	maxExample     = 1500
	maxValues      = 40 // of an enumeration
)

// writer writes the page of one operation.
type writer struct {
	r    *reader
	head map[string]any // front matter
	out  bytes.Buffer
	// fields and visits count down in a schema.
	fields, visits int
	// named reports that fields have no description: those of responses would
	// outweigh what the operation does.
	named bool
}

// begin begins the page of an operation o.
func (r *reader) begin(op *Operation, o object) *writer {
	summary, description := short.Line(text(o["summary"])), text(o["description"])
	op.Title = cmp.Or(summary, firstSentence(description), humanize(op.ID), op.Method+" "+op.Path)
	for _, t := range listOf(o["tags"]) {
		if name := text(t); name != "" {
			op.Tags = append(op.Tags, name)
		} else if name := text(r.resolve(t)["name"]); name != "" { // of AsyncAPI
			op.Tags = append(op.Tags, name)
		}
	}
	w := &writer{r: r, head: map[string]any{"title": short.Excerpt(op.Title, 200)}}
	if len(op.Tags) > 0 {
		w.head["tags"] = op.Tags
	}
	w.head["breadcrumbs"] = nonEmpty(r.out.Title, append(op.Tags, "")[0])
	w.head["keywords"] = nonEmpty(op.ID, humanize(op.ID), op.Method+" "+op.Path)
	if o["deprecated"] == true {
		w.head["deprecated"] = true
	}
	w.heading(1, op.Title)
	if short.Line(description) != op.Title {
		w.prose(description)
	}
	w.heading(2, op.Method+" "+op.Path)
	if op.Webhook {
		w.paragraph("A webhook: this request is sent to you.")
	}
	if op.ID != "" {
		w.paragraph("Operation " + code(op.ID))
	}
	return w
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// page returns the page with its front matter.
func (w *writer) page() []byte {
	head, err := yaml.Marshal(w.head)
	if err != nil {
		panic(err) // texts always marshal
	}
	body := short.Bytes(w.out.String(), maxPage)
	return fmt.Appendf(nil, "---\n%s---\n\n%s", head, body)
}

func (w *writer) heading(level int, s string) {
	w.paragraph(strings.Repeat("#", level) + " " + escape(short.Line(s)))
}

func (w *writer) paragraph(markdown string) {
	if w.out.Len() < maxPage && markdown != "" {
		w.out.WriteString(markdown + "\n\n")
	}
}

// prose writes a description, which is Markdown or HTML.
func (w *writer) prose(s string) { w.paragraph(prose(short.Bytes(s, maxDescription))) }

func (w *writer) parameters(lists ...any) {
	known := map[string]bool{}
	var lines []string
	for i := range lists {
		for _, p := range listOf(lists[len(lists)-1-i]) { // the operation's own first
			o := w.r.resolve(p)
			name, in := text(o["name"]), text(o["in"])
			if name == "" || known[name+"\n"+in] || len(lines) == maxFields {
				continue
			}
			known[name+"\n"+in] = true
			schema := w.r.resolve(o["schema"])
			lines = append(lines, w.field(name, nonEmpty(in, w.typeOf(schema)), o["required"] == true, cmp.Or(text(o["description"]), text(schema["description"])), schema))
		}
	}
	if len(lines) > 0 {
		w.paragraph("Parameters:\n\n" + strings.Join(lines, "\n"))
	}
}

func (w *writer) body(body object) {
	if body == nil {
		return
	}
	w.heading(3, "Request body")
	w.prose(text(body["description"]))
	w.content(objectOf(body["content"]), true)
}

func (w *writer) responses(responses object) {
	for _, status := range sorted(responses) {
		o := w.r.resolve(responses[status])
		if o == nil {
			continue
		}
		if content := objectOf(o["content"]); status[0] == '2' && len(content) > 0 {
			w.heading(3, "Response "+status)
			w.prose(text(o["description"]))
			w.named = true
			w.content(content, false)
		} else {
			w.paragraph("Response " + status + ": " + prose(short.Bytes(short.Line(text(o["description"])), maxField)))
		}
	}
}

// content writes the first of the media types, which have the same fields.
func (w *writer) content(content object, request bool) {
	types := sorted(content)
	if len(types) == 0 {
		return
	}
	first := types[0]
	if slices.Contains(types, "application/json") {
		first = "application/json"
	}
	media := w.r.resolve(content[first])
	w.paragraph(code(strings.Join(types, ", ")))
	w.schema(objectOf(media["schema"]))
	example := media["example"]
	if examples := objectOf(media["examples"]); example == nil && len(examples) > 0 {
		example = w.r.resolve(examples[sorted(examples)[0]])["value"]
	}
	if example == nil {
		example = w.r.resolve(media["schema"])["example"]
	}
	if data, err := json.MarshalIndent(plain(example, 0), "", "  "); err == nil && example != nil && len(data) <= maxExample {
		w.paragraph("Example:\n\n```json\n" + string(data) + "\n```")
	}
}

// plain returns a value that encoding/json takes.
func plain(v any, depth int) any {
	switch v := v.(type) {
	case map[any]any, object:
		o := object{}
		for key, value := range objectOf(v) {
			if depth < 2*maxDepth {
				o[key] = plain(value, depth+1)
			}
		}
		return o
	case []any:
		list := make([]any, 0, min(len(v), 10))
		for _, e := range v[:min(len(v), 10)] {
			list = append(list, plain(e, depth+1))
		}
		return list
	}
	return v
}

// schema writes the fields of a schema.
func (w *writer) schema(s object) {
	if s == nil {
		return
	}
	w.fields, w.visits = maxFields, maxVisits
	var lines []string
	w.walk(s, 0, map[string]bool{}, func(line string) { lines = append(lines, line) })
	resolved := w.r.resolve(s)
	if name := nameOf(s); name != "" {
		w.paragraph("Schema " + code(name) + ". " + prose(short.Bytes(short.Line(text(resolved["description"])), maxField)))
	} else if len(lines) == 0 {
		w.paragraph(w.typeOf(resolved) + ". " + prose(short.Bytes(short.Line(text(resolved["description"])), maxField)))
	}
	w.paragraph(strings.Join(lines, "\n"))
}

// nameOf is the name of the schema that a reference points to.
func nameOf(s object) string {
	ref, _ := s["$ref"].(string)
	return ref[strings.LastIndex(ref, "/")+1:]
}

// walk writes the fields of a schema and of those in it. above are the references
// that led here, none of which is followed again.
func (w *writer) walk(s object, depth int, above map[string]bool, add func(string)) {
	if w.visits--; w.visits < 0 || depth > maxDepth {
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		if above[ref] {
			return
		}
		above[ref] = true
		defer delete(above, ref)
	}
	s = w.r.resolve(s)
	for _, part := range []string{"allOf", "oneOf", "anyOf"} {
		for _, v := range listOf(s[part]) {
			w.walk(objectOf(v), depth, above, add)
		}
	}
	if items := objectOf(s["items"]); items != nil {
		w.walk(items, depth, above, add)
	}
	required := map[string]bool{}
	for _, name := range listOf(s["required"]) {
		required[text(name)] = true
	}
	properties := objectOf(s["properties"])
	names := sorted(properties)
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(fmt.Sprint(!required[a]), fmt.Sprint(!required[b]))
	})
	for _, name := range names {
		if w.fields--; w.fields < 0 {
			return
		}
		p := objectOf(properties[name])
		resolved := w.r.resolve(p)
		add(strings.Repeat("  ", depth) + w.field(name, nonEmpty(w.typeOf(resolved)), required[name], text(resolved["description"]), resolved))
		if depth < maxDepth {
			w.walk(p, depth+1, above, add)
		}
	}
}

// field is a line for a parameter or a field.
func (w *writer) field(name string, traits []string, required bool, description string, schema object) string {
	if required {
		traits = append(traits, "required")
	}
	s := "- " + code(name)
	if len(traits) > 0 {
		s += " (" + escape(strings.Join(traits, ", ")) + ")"
	}
	if d := short.Line(prose(short.Bytes(description, maxField))); d != "" && !w.named {
		s += ": " + d
	}
	values := listOf(schema["enum"])
	if len(values) == 0 {
		values = listOf(w.r.resolve(schema["items"])["enum"])
	}
	if len(values) > 0 {
		var list []string
		for _, v := range values[:min(len(values), maxValues)] {
			list = append(list, code(short.Bytes(text(v), 100)))
		}
		s += " One of " + strings.Join(list, ", ") + "."
	}
	if d := schema["default"]; text(d) != "" {
		s += " Default: " + code(short.Bytes(text(d), 100)) + "."
	}
	return s
}

// typeOf names the type of a schema.
func (w *writer) typeOf(s object) string {
	kind := text(s["type"])
	if list := listOf(s["type"]); len(list) > 0 { // of OpenAPI 3.1
		var kinds []string
		for _, k := range list {
			kinds = append(kinds, text(k))
		}
		kind = strings.Join(kinds, " or ")
	}
	if items := objectOf(s["items"]); items != nil {
		kind = strings.TrimSpace("array of " + cmp.Or(nameOf(items), text(items["type"])))
	}
	if format := text(s["format"]); format != "" && kind != "" {
		kind += " " + format
	}
	return short.Line(kind)
}

// code is a text as Markdown code.
func code(s string) string { return "`" + strings.ReplaceAll(short.Line(s), "`", "'") + "`" }

var special = regexp.MustCompile("[\\\\`*_\\[\\]<>#]")

// escape writes a text so that Markdown shows it as it is.
func escape(s string) string { return special.ReplaceAllString(s, `\$0`) }

var (
	tag   = regexp.MustCompile(`</?([a-zA-Z]\w*)[^<>]*>|<!--.*?-->`)
	title = regexp.MustCompile(`(?m)^[ \t]{0,3}#{1,6}[ \t]+(.*?)[ \t#]*$`)
)

// prose returns a description without HTML, and without headings: those would
// divide the operation into sections that have no address.
func prose(s string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "```") {
		if i%2 == 1 {
			b.WriteString("```" + part + "```")
			continue
		}
		part = title.ReplaceAllString(part, "**$1**\n")
		part = tag.ReplaceAllStringFunc(part, func(t string) string {
			switch strings.ToLower(tag.FindStringSubmatch(t)[1]) {
			case "p", "br", "div", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr":
				return "\n\n"
			case "code", "tt", "kbd":
				return "`"
			case "li":
				if t[1] != '/' {
					return "\n- "
				}
			}
			return ""
		})
		b.WriteString(strings.ReplaceAll(part, "<", "&lt;"))
	}
	return strings.TrimSpace(b.String())
}

// firstSentence returns the first sentence of a description as a title, "" if it
// is too long for one.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(prose(s), "\n\n")
	s = short.Line(strings.NewReplacer("`", "", "*", "", "&lt;", "<").Replace(s))
	if first, _, ok := strings.Cut(s, ". "); ok {
		s = first
	}
	if s = strings.TrimSuffix(s, "."); len(s) > 120 {
		return ""
	}
	return s
}

// humanize makes words of an operationId: "list pets" of listPets.
func humanize(id string) string {
	var b strings.Builder
	before := ' '
	for _, r := range id {
		switch {
		case strings.ContainsRune("_-./:", r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	if s := short.Line(b.String()); s != id {
		return s
	}
	return ""
}
