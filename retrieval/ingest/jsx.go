package ingest

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
)

// plainLink matches link targets that Markdown takes as they are.
var plainLink = regexp.MustCompile(`^[^ ()<>\n]+$`)

func isHeadingTag(name string) bool {
	return len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'
}

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
		if t, end, ok := p.tag(); ok {
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
	text := t.text()
	switch {
	case t.name == "br":
		p.emit(" ")
	case isHeadingTag(t.name) && !closed:
		p.separate()
		id := ""
		if a := t.attr("id"); a != "" {
			id = " {#" + a + "}"
		}
		p.emit(strings.Repeat("#", int(t.name[1]-'0')) + " ")
		p.heading = true
		p.push(openBlock{name: t.name, closing: id})
	case t.name == "li" && !closed:
		p.separate()
		p.emit("- ")
		p.push(openBlock{name: t.name})
	case (t.name == "td" || t.name == "th") && !closed:
		if !p.bol {
			p.emit(" | ")
		}
		p.push(openBlock{name: t.name})
	case block:
		p.separate()
		closing := ""
		if !closed {
			closing = p.openNote(t.noteKind(), text != "")
		}
		if href := t.attr("href"); text != "" && plainLink.MatchString(href) {
			text = "[" + text + "](" + href + ")"
		}
		p.paragraph(text)
		if !closed {
			p.push(openBlock{name: t.name, block: true, column: p.column, content: -1, indent: p.indent, closing: closing})
		}
	case closed:
		if !p.heading {
			p.emit(text)
		}
	default:
		b := openBlock{name: t.name}
		if to := t.attr("href") + t.attr("to"); plainLink.MatchString(to) && p.closesInLine(t.name) {
			p.emit("[")
			b.closing = "](" + to + ")"
		} else if text != "" && !p.heading {
			b.closing = " (" + text + ")"
		}
		p.push(b)
	}
}

func (p *preparer) closesInLine(name string) bool {
	rest, _, _ := bytes.Cut(p.src[p.pos:min(len(p.src), p.pos+1000)], []byte("\n"))
	return bytes.Contains(rest, []byte("</"+name))
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
		switch {
		case isHeadingTag(name):
			p.heading = false
			p.separate()
		case b.block || name == "tr" || name == "li" || name == "p":
			p.separate()
			p.indent = b.indent
		}
		return
	}
}

// noteKind is the kind of note that a component shows, "" for others.
func (t tag) noteKind() string {
	switch t.name {
	case "Note", "Tip", "Info", "Warning", "Caution", "Danger", "Important", "Check", "Error":
		return t.name
	case "Callout", "Admonition", "Aside", "Alert", "Hint":
		return cmp.Or(t.attr("type"), t.attr("kind"), t.attr("intent"), t.attr("style"), t.attr("variant"), "note")
	}
	return ""
}

// fieldTags document a parameter or field in their attributes.
var fieldTags = regexp.MustCompile(`Field$|^(?:Param|Property|Parameter|Attribute)$`)

// text is what readers see of a tag's attributes, as Markdown.
func (t tag) text() string {
	if silentTags.has(t.name) {
		return ""
	}
	var out []string
	for _, a := range t.attrs {
		for _, s := range t.visible(a) {
			if s = plain(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return strings.Join(out, " ")
}

// visible returns what readers see of an attribute.
func (t tag) visible(a tagAttribute) []string {
	key := strings.ToLower(a.key)
	element := t.name == "" || t.name[0] >= 'a' && t.name[0] <= 'z'
	field := fieldTags.MatchString(t.name)
	switch {
	case element:
		if key == "alt" || key == "title" && t.name == "abbr" || key == "label" || key == "placeholder" {
			return []string{a.value}
		}
	case field && (key == "path" || key == "query" || key == "body" || key == "header" || key == "type"):
		return []string{a.value}
	case field && (key == "required" || key == "deprecated"):
		if a.value == "" || a.value == "true" {
			return []string{key}
		}
	case field && key == "default" && a.literal:
		return []string{"default: " + a.value}
	case readerAttributes.has(key) || key == "name",
		key == "value" && (t.name == "Color.Item" || t.name == "TabItem" && t.attr("label") == ""):
		return []string{a.value}
	case key == "tags" || key == "items" || key == "rss":
		return a.list
	}
	return nil
}

var commentID = regexp.MustCompile(`^\{/\*\s*#([^\s*]+)\s*\*/\}$`)

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
	if m := commentID.FindSubmatch(code); m != nil && p.heading {
		p.emit("{#" + string(m[1]) + "}")
		return true
	}
	value, _, ok := literal(code[1 : len(code)-1])
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
