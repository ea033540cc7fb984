package ui

import "testing"

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
