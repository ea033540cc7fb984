package ui

import (
	"strings"
	"testing"
)

func TestTheSupportLinkHasAPlaceForTheConversation(t *testing.T) {
	for support, want := range map[string]string{
		"":                                  "",
		"https://acme.com/help":             "https://acme.com/help?thread={t}",
		"https://acme.com/help?from=docs#a": "https://acme.com/help?from=docs&thread={t}#a",
		"mailto:help@acme.com":              "mailto:help@acme.com?thread={t}",
	} {
		if got := supportLink(support); got != want {
			t.Errorf("%q becomes %q, not %q", support, got, want)
		}
	}
}

func TestAPositionIsAPlaceOrASelector(t *testing.T) {
	for position, valid := range map[string]bool{
		"": true, "bottom-right": true, "bottom-left": true, "none": true,
		"#search": true, "button": true, "header > .search": true, "button:has(svg)": true, "site-search": true,
		"a:not([href^='#'], .x:is(b, i)) ~ p::before": true, `[title="a > (b"]`: true, `.md\:flex, .größe`: true, "*": true,
		"top": false, "top-right": false, "bottom-center": false, "left": false, "off": false,
		"#a[": false, "#a]": false, "a(b": false, `[a="b]`: false, "a,": false, "a,,b": false, "> a": false,
		"a >": false, "#": false, ".": false, "#1": false, "a{b}": false, "a;b": false, "</script>": false,
		strings.Repeat("a", 201): false,
	} {
		if err := (&Widget{Position: position}).Validate(); (err == nil) != valid {
			t.Errorf("%q: %v", position, err)
		}
	}
}
