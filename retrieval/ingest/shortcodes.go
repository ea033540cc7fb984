package ingest

import (
	"regexp"
	"strings"
)

var (
	quoted       = regexp.MustCompile("\"((?:[^\"\\\\]|\\\\.)*)\"|`([^`]*)`|'((?:[^'\\\\]|\\\\.)*)'")
	namedValue   = regexp.MustCompile("([\\w-]+)\\s*=\\s*(?:" + quoted.String() + ")")
	endHighlight = regexp.MustCompile(`\{(?:\{[<%]\s*/\s*highlight\s*[>%]\}|%-?\s*endhighlight\s*-?%)\}`)
	// captionMarkup matches links and bold text in captions of components.
	captionMarkup = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*\)|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`)
)

// shortcode rewrites Hugo's {{< name … >}} and {{% name … %}}, and Liquid's
// {% name … %}, which end with closing.
func (p *preparer) shortcode(begin int, closing string) bool {
	inner, end := p.until(p.pos+begin, closing)
	if end < 0 {
		return false
	}
	inner = strings.TrimSpace(strings.Trim(strings.TrimSpace(inner), "-"))
	if strings.HasPrefix(inner, "/*") {
		p.copy(end - p.pos) // shown, not run
		return true
	}
	name, arguments := splitCall(strings.TrimSuffix(inner, "/"))
	switch {
	case linkShortcodes.has(name):
		if q := quoted.FindStringSubmatch(arguments); q != nil {
			p.emit(strings.ReplaceAll(q[1]+q[2]+q[3], " ", "%20"))
		}
		p.pos = end
	case name == "comment" && closing == "%}":
		if _, after := p.until(end, "{% endcomment %}"); after > 0 {
			end = after
		}
		p.pos = end
	case name == "highlight" && p.highlight(end, arguments):
	default:
		p.replace(end, visible(name, arguments))
	}
	return true
}

// splitCall splits a tag into name and arguments. A closing tag has no name.
func splitCall(s string) (name, arguments string) {
	i := strings.IndexAny(s+" ", " \t\n\"")
	if strings.HasPrefix(s, "/") {
		return "", s[i:]
	}
	return s[:i], s[i:]
}

// highlight writes the code up to the closing tag, and reports whether there
// is one.
func (p *preparer) highlight(from int, arguments string) bool {
	if p.budget < 0 {
		return false
	}
	at := endHighlight.FindIndex(p.src[from:])
	if at == nil {
		p.budget -= len(p.src) - from
		return false
	}
	language, _ := splitCall(strings.Trim(arguments, "\" \t\n"))
	p.codeBlock(language, string(p.src[from:from+at[0]]))
	p.pos = from + at[1]
	return true
}

// visible picks what readers see of a tag's arguments.
func visible(name, arguments string) string {
	var out []string
	named := namedValue.FindAllStringSubmatch(arguments, 20)
	for _, a := range named {
		if readerAttributes.has(strings.ToLower(a[1])) {
			out = append(out, plain(a[2]+a[3]+a[4]))
		}
	}
	if q := quoted.FindStringSubmatch(arguments); len(named) == 0 && titledShortcodes.has(name) && q != nil {
		out = append(out, plain(q[1]+q[2]+q[3]))
	}
	return strings.Join(out, " ")
}

// replace writes what is left of a tag that ends at end: a paragraph if
// nothing else is in its line, else words.
func (p *preparer) replace(end int, text string) {
	if p.bol && p.endsLine(end) {
		p.separate()
		p.paragraph(text)
	} else {
		p.emit(text)
	}
	p.pos = end
}

// plain escapes text for Markdown. Backticks keep their meaning, which they
// also have in components.
func plain(s string) string {
	s = captionMarkup.ReplaceAllString(strings.Join(strings.Fields(s), " "), "$1$2")
	var b strings.Builder
	ticks := strings.Count(s, "`")%2 == 0
	code := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '`' && ticks:
			code = !code
		case code:
		case strings.IndexByte("\\`*_[]<>#|~", c) >= 0,
			i == 0 && (c == '-' || c == '+' || c == '='),
			(c == '.' || c == ')') && i > 0 && i < 10 && strings.Trim(s[:i], "0123456789") == "":
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
