package ui

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

// refused reports whether one of the policies of a page refuses the widget,
// and records it for doctor.
func (in *injector) refused(policies []string) bool {
	for _, p := range policies {
		for policy := range strings.SplitSeq(p, ",") {
			if directive := refusing(policy, in.r.Host); directive != "" {
				in.site.RefusedWidget.CompareAndSwap(nil, &site.RefusedWidget{Page: in.r.URL.Path, Directive: directive})
				return true
			}
		}
	}
	return false
}

// refusing returns the directive of a Content-Security-Policy that refuses a
// script of the page's own origin, or its requests; "" if none does.
func refusing(policy, host string) string {
	directives := map[string]string{}
	for d := range strings.SplitSeq(policy, ";") {
		if words := strings.Fields(d); len(words) > 0 {
			if name := strings.ToLower(words[0]); directives[name] == "" {
				directives[name] = strings.Join(words, " ")
			}
		}
	}
	script := cmp.Or(directives["script-src-elem"], directives["script-src"], directives["default-src"])
	for _, directive := range []string{script, cmp.Or(directives["connect-src"], directives["default-src"])} {
		name, sources, _ := strings.Cut(directive, " ")
		if name == "" {
			continue
		}
		allowed := slices.ContainsFunc(strings.Fields(sources), func(source string) bool {
			switch source = strings.ToLower(source); source {
			case "'self'", "*", "https:", "http:":
				return true
			}
			_, after, ok := strings.Cut(source, "://")
			if !ok {
				after = source
			}
			return strings.EqualFold(strings.TrimSuffix(after, "/"), host)
		})
		strict := !strings.EqualFold(name, "connect-src") && strings.Contains(strings.ToLower(sources), "'strict-dynamic'")
		if !allowed || strict {
			return directive
		}
	}
	return ""
}

// pageHead is what the beginning of a page says.
type pageHead struct {
	at       int  // where the tag belongs, -1 if that is not known yet
	body     int  // where the body begins, 0 if it does not follow
	more     bool // it may follow
	document bool // it is a page, and no part of one
	hasTag   bool
	policies []string // in meta elements
}

// end is the head of a page in which something else begins at a place.
func (h pageHead) end(at, body int) pageHead {
	if h.at < 0 {
		h.at = at
	}
	h.body = body
	return h
}

// readHead reads a page as far as it is there, or whole.
func readHead(page []byte, whole bool) pageHead {
	// The elements that a head may have. Any other one ends it.
	inHead := []string{"html", "head", "title", "meta", "link", "script", "style", "base", "noscript", "template"}
	head := pageHead{at: -1}
	z := html.NewTokenizer(bytes.NewReader(page))
	z.SetMaxBuf(maxHead + 1)
	at, raw := 0, false
	inert, depth := "", 0 // an element whose content does nothing, and how often it is open
	for {
		kind := z.Next()
		size := len(z.Raw())
		if inert != "" && kind != html.ErrorToken {
			if name, _ := z.TagName(); string(name) == inert {
				switch kind {
				case html.StartTagToken, html.SelfClosingTagToken: // HTML has no self-closing elements
					depth++
				case html.EndTagToken:
					depth--
				}
			}
			if depth == 0 {
				inert = ""
			}
			at += size
			continue
		}
		switch kind {
		case html.ErrorToken:
			switch {
			case head.at >= 0:
				head.more = !whole
			case whole:
				head.at = len(page)
			}
			return head
		case html.DoctypeToken:
			head.document = true
		case html.TextToken:
			text := z.Raw()
			last := at+size == len(page) && !whole
			if !raw && !last && bytes.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && r != '\ufeff' }) {
				return head.end(at, 0)
			}
		case html.EndTagToken:
			raw = false
			if name, _ := z.TagName(); string(name) == "head" && head.at < 0 {
				head.at = at
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			token := z.Token()
			switch {
			case token.Data == "body":
				return head.end(at, at+size)
			case head.at >= 0 || !slices.Contains(inHead, token.Data):
				return head.end(at, 0)
			}
			raw = kind == html.StartTagToken && slices.Contains([]string{"title", "script", "style"}, token.Data)
			switch token.Data {
			case "noscript", "template":
				inert, depth = token.Data, 1
			case "html", "head", "title":
				head.document = true
			case "script":
				head.hasTag = head.hasTag || strings.Contains(attribute(token, "src"), "/v1/"+handlers.APIWidget+"/")
			case "meta":
				if strings.EqualFold(attribute(token, "http-equiv"), "content-security-policy") {
					head.policies = append(head.policies, attribute(token, "content"))
				}
			}
		}
		at += size
	}
}
