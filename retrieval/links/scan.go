package links

import (
	"bytes"
	"iter"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// hrefPattern matches where a link leads: [text](here), [label]: here, and
// href="here", also of components (to=, link:).
var hrefPattern = regexp.MustCompile(`\]\(\s*<?([^\s<>]*?)>?(?:\s+["'(][^\n]*?)?\)` +
	`|(?m:^[ \t>]*\[[^\]\n]+\]:[ \t]*<?([^\s<>]+))` +
	`|\b(?:href|to|link|url)\s*[=:]\s*\{?(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'<>{}]+))`)

// hrefs returns the targets of the links of a page's file, each with its line.
func hrefs(d *retrieval.Document, file []byte) iter.Seq2[int, string] {
	if isMarkdown(d) {
		return markdownHrefs(withoutCode(file))
	}
	return htmlHrefs(file)
}

// htmlHrefs returns the targets of the links of HTML, each with the line where its
// tag begins.
func htmlHrefs(page []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		z := html.NewTokenizer(bytes.NewReader(page))
		for line := 1; ; {
			token := z.Next()
			if token == html.ErrorToken {
				return
			}
			lines := bytes.Count(z.Raw(), []byte("\n"))
			for more := token == html.StartTagToken || token == html.SelfClosingTagToken; more; {
				var key, value []byte
				if key, value, more = z.TagAttr(); string(key) == "href" && !yield(line, string(value)) {
					return
				}
			}
			line += lines
		}
	}
}

// markdownHrefs returns the targets of the links of a Markdown file, each with
// its line.
func markdownHrefs(data []byte) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		line, at := 1, 0
		for _, m := range hrefPattern.FindAllSubmatchIndex(data, -1) {
			for i := 2; i < len(m); i += 2 {
				if m[i] < 0 {
					continue
				}
				line += bytes.Count(data[at:m[i]], []byte("\n"))
				at = m[i]
				if !yield(line, html.UnescapeString(string(data[m[i]:m[i+1]]))) {
					return
				}
			}
		}
	}
}

var fencePattern = regexp.MustCompile("(?m)^[ \\t>*+-]*(?:```+|~~~+)[^\n]*")

// withoutCode replaces the code of a Markdown file with blanks, so that its
// lines keep their numbers.
func withoutCode(file []byte) []byte {
	out := bytes.Clone(file)
	begin := -1
	for _, m := range fencePattern.FindAllIndex(file, -1) {
		if begin < 0 {
			begin = m[0]
			continue
		}
		blank(out[begin:m[1]])
		begin = -1
	}
	for _, m := range codePattern.FindAllIndex(out, -1) {
		blank(out[m[0]:m[1]])
	}
	return out
}

// codePattern matches inline code that has a link in it.
var codePattern = regexp.MustCompile("`[^`\n]*\\]\\([^`\n]*`")

func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}

// IDs returns the ids of the elements of HTML, and the names of its links.
func IDs(page []byte) map[string]bool {
	found := map[string]bool{}
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			for more := true; more; {
				var key, value []byte
				if key, value, more = z.TagAttr(); string(key) == "id" || string(key) == "name" {
					found[string(value)] = true
				}
			}
		}
	}
}

var (
	// headingPattern matches a heading of Markdown, idPattern what gives an id to
	// anything: {#id}, id="…", (label)= of MyST.
	headingPattern = regexp.MustCompile(`(?m)^[ \t>*+-]*#{1,6}[ \t]+(.+)$|^[ \t]*([^\n]+)\n[ \t]*(?:=+|-{2,})[ \t]*$`)
	idPattern      = regexp.MustCompile(`\{:?[^}\n]*#([^\s}]+)|\b(?:id|name)=\{?["']?([^"'\s>}]+)|(?m:^\(([^)\n]+)\)=)|\[#([^\]\s]+)\]`)
	markupPattern  = regexp.MustCompile(`<[^>]*>|\]\([^)]*\)|\{[^}]*\}`)
	// openPattern matches what a generator replaces with text that the file
	// doesn't have, whose headings are not known.
	openPattern = regexp.MustCompile(`\{\{|\{%|(?m:^[ \t]*(?:import\s|</?[A-Z]|--8<--|:::|<!--\s*@include|=== ["']|\.\. ))`)
)

// markdownIDs returns the anchors that a generator may give what is in a
// Markdown file, as loose writes them.
func markdownIDs(page []byte) map[string]bool {
	found := map[string]bool{}
	for _, m := range headingPattern.FindAllSubmatch(page, -1) {
		heading := string(m[1]) + string(m[2])
		found[loose(heading)] = true
		found[loose(markupPattern.ReplaceAllString(heading, ""))] = true
	}
	for _, m := range idPattern.FindAllSubmatch(page, -1) {
		found[loose(string(bytes.Join(m[1:], nil)))] = true
	}
	return found
}

// loose is an anchor without what generators disagree about: the case, all but
// letters and digits, a number behind one of several equal headings.
func loose(anchor string) string {
	s := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, anchor)
	if bare := strings.TrimRight(s, "0123456789"); bare != "" {
		return bare
	}
	return s
}
