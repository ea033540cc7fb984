package ingest

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
)

var autolink = regexp.MustCompile(`^<(?:[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>`)

// angle rewrites what begins with "<".
func (p *preparer) angle() {
	rest := p.src[p.pos:]
	if bytes.HasPrefix(rest, []byte("<!--")) {
		if _, end := p.until(p.pos+4, "-->"); end > 0 {
			if !p.mdx { // an empty line would end the HTML around it
				p.emit(string(p.src[p.pos:end]))
			}
			p.pos = end
			return
		}
	}
	if p.jsx && len(rest) > 1 {
		if t, end := p.tag(); end > 0 {
			p.write(t, end)
			return
		}
	}
	// In MDX, "<" is text unless it begins a link.
	if p.mdx && !autolink.Match(rest[:min(len(rest), 300)]) {
		p.emit("&lt;")
		p.pos++
		return
	}
	p.copy(1)
}

// write writes what is left of a tag that ends at end.
func (p *preparer) write(t tag, end int) {
	if t.closing {
		p.closeTag(t.name, end)
		return
	}
	if opaqueTags.has(t.name) && !t.selfClosing {
		if _, after := p.until(end, "</"+t.name+">"); after > 0 {
			p.pos = after
			return
		}
	}
	closed := t.selfClosing || voidTags.has(t.name)
	block := p.bol && !p.heading && (p.endsLine(end) || !closed && !inlineTags.has(t.name))
	p.pos = end
	text, b := t.text(), openBlock{name: t.name}
	to := t.attr("href") + t.attr("to")
	if strings.ContainsAny(to, " ()<>\n") {
		to = "" // Markdown does not take it as it is
	}
	switch {
	case t.name == "br":
		p.emit(" ")
	case headingTags.has(t.name) && !closed:
		p.separate()
		if id := t.attr("id"); id != "" {
			b.closing = " {#" + id + "}"
		}
		p.emit(strings.Repeat("#", int(t.name[1]-'0')) + " ")
		p.heading = true
	case block:
		p.separate()
		if !closed {
			b.closing = p.openNote(t.noteKind(), text != "")
		}
		if text != "" && to != "" {
			text = "[" + text + "](" + to + ")"
		}
		p.paragraph(text)
		b.block, b.column, b.content, b.indent = true, p.column, -1, p.indent
	case closed:
		if !p.heading {
			p.emit(text)
		}
	case to != "":
		p.emit("[")
		b.closing = "](" + to + ")"
	case text != "" && !p.heading:
		b.closing = " (" + text + ")"
	}
	if !closed {
		p.push(b)
	}
}

func (p *preparer) closeTag(name string, end int) {
	p.pos = end
	for i := len(p.open) - 1; i >= 0 && i >= len(p.open)-200; i-- {
		b := p.open[i]
		if b.name != name || b.indented {
			continue
		}
		p.open = p.open[:i]
		if b.block && b.closing != "" { // of a note
			p.separate()
			p.indent = b.indent
		}
		p.emit(b.closing)
		p.heading = p.heading && !headingTags.has(name)
		if b.block || name > "Z" && !inlineTags.has(name) { // an element like li
			p.separate()
			p.indent = b.indent
		}
		return
	}
}

// noteKind is the kind of note that a component shows, "" for others.
func (t tag) noteKind() string {
	switch {
	case noteComponents.has(t.name):
		return t.name
	case notesByAttribute.has(t.name):
		return cmp.Or(t.attr("type"), t.attr("kind"), t.attr("intent"), t.attr("style"), t.attr("variant"), "note")
	}
	return ""
}

// text is what readers see of a tag's attributes, as Markdown.
func (t tag) text() string {
	var out []string
	for _, a := range t.attrs {
		if s := plain(t.visible(a)); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// visible returns what readers see of an attribute.
func (t tag) visible(a tagAttribute) string {
	key := strings.ToLower(a.key)
	switch {
	case silentTags.has(t.name):
	case t.name == "" || t.name > "Z":
		if key == "alt" || key == "title" && t.name == "abbr" || key == "label" || key == "placeholder" {
			return a.value
		}
	case readerAttributes.has(key), key == "name", key == "value" && (t.name == "Color.Item" || t.name == "TabItem" && t.attr("label") == ""):
		return a.value
	case !strings.HasSuffix(t.name, "Field") && !fieldTags.has(t.name): // these document a parameter or field in their attributes
	case key == "path", key == "query", key == "body", key == "header", key == "type":
		return a.value
	case (key == "required" || key == "deprecated") && (a.value == "" || a.value == "true"):
		return key
	case key == "default" && a.literal:
		return "default: " + a.value
	}
	return ""
}

// expression rewrites {…}: text if it is a string, else nothing.
func (p *preparer) expression() bool {
	if p.heading && bytes.HasPrefix(p.src[p.pos:], []byte("{#")) {
		return false // an explicit id
	}
	end := p.balanced(p.pos, min(len(p.src), p.pos+maxTag))
	if end < 0 {
		return false
	}
	code := p.src[p.pos:end]
	p.pos = end
	if id := strings.Trim(string(code), "{}/* "); p.heading && strings.HasPrefix(id, "#") {
		p.emit("{" + id + "}")
		return true
	}
	value, ok := literal(code[1 : len(code)-1])
	switch {
	case !ok:
	case strings.Contains(strings.TrimSpace(value), "\n"):
		p.codeBlock("", value)
	case strings.TrimSpace(value) == "":
		p.emit(value)
	default:
		p.emit(plain(value))
	}
	return true
}
