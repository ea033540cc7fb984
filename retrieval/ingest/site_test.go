package ingest

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestCompleteFillsBreadcrumbsFromThePagesAbove(t *testing.T) {
	docs := []*retrieval.Document{
		{Page: "guide", Title: "The guide", Hash: "a"},
		{Page: "guide/how-to/x", Title: "X", Hash: "b"},
		{Page: "en/guide/y", Title: "Y", Breadcrumbs: []string{"Own"}, Hash: "c"},
	}
	Complete(docs)
	hash := docs[1].Hash
	Complete(docs)
	if got := strings.Join(docs[1].Breadcrumbs, " > "); got != "The guide > How to" || hash == "b" || docs[1].Hash != hash {
		t.Errorf("%q %q", got, docs[1].Hash)
	}
	if docs[0].Breadcrumbs != nil || docs[2].Breadcrumbs[0] != "Own" {
		t.Errorf("%v %v", docs[0].Breadcrumbs, docs[2].Breadcrumbs)
	}
}

func TestCanonicalAddressesOfThePageItselfAreUsed(t *testing.T) {
	for href, want := range map[string]string{
		"https://x.com/v1/a":         "https://x.com/v1/a",
		"/v1/a/":                     "https://x.com/v1/a/",
		"https://x.com/latest/a":     "https://x.com/v1/a.html",
		"https://elsewhere.com/v1/a": "https://x.com/v1/a.html",
	} {
		if doc := read(t, Options{URL: "https://x.com"}, "v1/a.html", `<link rel=canonical href="`+href+`"><p>x`); doc.URL != want {
			t.Errorf("%s: %s", href, doc.URL)
		}
	}
}

func TestLinksLeadToPagesOfTheSite(t *testing.T) {
	doc := read(t, Options{URL: "https://x.com/docs"}, "guide/a.md", "[B](b.md#c) [up](../index.md) [root](/docs/api/) [out](https://y.com) [img](a.png) [above](/blog)")
	want := []retrieval.Link{{Page: "guide/b", Anchor: "c", Text: "B"}, {Text: "up"}, {Page: "api", Text: "root"}}
	if len(doc.Links) != len(want) {
		t.Fatalf("%+v", doc.Links)
	}
	for i, l := range want {
		if doc.Links[i] != l {
			t.Errorf("%+v, want %+v", doc.Links[i], l)
		}
	}
}
