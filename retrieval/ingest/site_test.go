package ingest

import (
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// The titles of pages above may be for others than those who can open the page.
func TestPagesGetTheNamesOfTheirFolders(t *testing.T) {
	in := New(Options{})
	given := []*retrieval.Document{
		{Page: "", Title: "Home", Hash: "0"},
		{Page: "guide", Title: "The guide", Hash: "1"},
		{Page: "guide/start", Title: "Start", Hash: "2"},
		{Page: "api/http-server/run", Title: "Run", Hash: "3"},
		{Page: "own/page", Title: "Page", Breadcrumbs: []string{"Its own"}, Hash: "4"},
		{Page: "blog/2026/11/22/release", Title: "Release", Hash: "5"},
		{Page: "zh-cn", Title: "文档", Hash: "6"},
		{Page: "zh-cn/guide/start", Title: "开始", Hash: "7"},
	}
	want := [][]string{nil, nil, {"Guide"}, {"Api", "Http server"}, {"Its own"}, {"Blog"}, nil, {"Guide"}}
	docs := in.Complete(slices.Clone(given))
	for i, d := range docs {
		if len(d.Breadcrumbs) != len(want[i]) || len(want[i]) > 0 && !strings.EqualFold(strings.Join(d.Breadcrumbs, "/"), strings.Join(want[i], "/")) {
			t.Errorf("%s: breadcrumbs %q, want %q", d.Page, d.Breadcrumbs, want[i])
		}
		own, _, _ := strings.Cut(d.Hash, retrieval.HashSuffix)
		if own != given[i].Hash {
			t.Errorf("%s: hash %s does not begin with the page's own, %s", d.Page, d.Hash, given[i].Hash)
		}
	}
	if given[2].Breadcrumbs != nil {
		t.Error("a document that an index may hold was changed")
	}
	again := in.Complete(slices.Clone(docs))
	for i := range again {
		if again[i] != docs[i] {
			t.Errorf("%s: completed twice", docs[i].Page)
		}
	}
	// The page above gets another title: those below don't change with it.
	renamed := *docs[1]
	renamed.Title = "Manual"
	docs[1] = &renamed
	if d := in.Complete(docs)[2]; d != again[2] {
		t.Errorf("after a rename: %q %s", d.Breadcrumbs, d.Hash)
	}
}

func TestADescriptionOfTheWholeSiteIsRemoved(t *testing.T) {
	in := mustNew(t, Options{})
	given := []*retrieval.Document{
		{Page: "", Title: "Kite", Description: "A kite's docs", Hash: "0"},
		{Page: "guide", Title: "Guide", Description: "How to fly", Hash: "1"},
		{Page: "guide/wind", Title: "Wind", Description: "A kite's docs", Hash: "2"},
		{Page: "api/send", Title: "Send", Description: "A kite's docs", Breadcrumbs: []string{"Its own"}, Hash: "3"},
	}
	docs := in.Complete(slices.Clone(given))
	again := in.Complete(slices.Clone(docs))
	for i, want := range []string{"A kite's docs", "How to fly", "", ""} {
		if docs[i].Description != want || again[i] != docs[i] {
			t.Errorf("%s: description %q, want %q", docs[i].Page, docs[i].Description, want)
		}
		if own, _, changed := strings.Cut(docs[i].Hash, retrieval.HashSuffix); own != given[i].Hash || changed != (docs[i] != given[i]) {
			t.Errorf("%s: hash %s", docs[i].Page, docs[i].Hash)
		}
	}
	if given[2].Description == "" || !slices.Equal(again[3].Breadcrumbs, []string{"Its own"}) || !slices.Equal(again[2].Breadcrumbs, []string{"Guide"}) {
		t.Errorf("breadcrumbs %q and %q", again[2].Breadcrumbs, again[3].Breadcrumbs)
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

// Pages name as x-default the page for readers of any language: here the
// English one, though most pages are Turkish and the front page says nothing.
func TestTheDefaultLanguageIsThatOfXDefault(t *testing.T) {
	in := New(Options{URL: "https://docs.acme.com"})
	page := func(file, language string) *retrieval.Document {
		doc, _, err := in.Document(file, []byte(`<html lang="`+language+`"><head><title>Tabs</title>
			<link rel="alternate" hreflang="tr" href="/tr/tabs.html">
			<link rel="alternate" hreflang="x-default" href="/en/tabs.html"></head>
			<body><main><h1>Tabs</h1><p>Text of the page.</p></main></body></html>`))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	docs := []*retrieval.Document{page("index.html", ""), page("tr/tabs.html", "tr"), page("tr/other.html", "tr"), page("en/tabs.html", "en")}
	if got := DefaultLanguage(docs); got != "en" {
		t.Errorf("the default language is %q", got)
	}
	if docs[1].XDefault || !docs[3].XDefault {
		t.Error("the wrong page is x-default")
	}
}

// Pages of a site that is built for another host have absolute links.
func TestXDefaultPagesOfAnotherHost(t *testing.T) {
	in := New(Options{})
	for file, want := range map[string]bool{"tabs/index.html": true, "da/tabs/index.html": false} {
		page := "https://docs.acme.com/" + strings.TrimSuffix(file, "index.html")
		doc, _, err := in.Document(file, []byte(`<html lang="en"><head><title>Tabs</title><link rel="canonical" href="`+page+`">
			<link rel="alternate" hreflang="x-default" href="https://docs.acme.com/tabs/"></head>
			<body><main><h1>Tabs</h1><p>Text of the page.</p></main></body></html>`))
		if err != nil {
			t.Fatal(err)
		}
		if doc.XDefault != want {
			t.Errorf("%s: x-default is %t", file, doc.XDefault)
		}
	}
}

func TestTheDefaultLanguageIsThatOfTheFrontPageOrOfMostPages(t *testing.T) {
	pages := func(list string) (docs []*retrieval.Document) {
		for p := range strings.FieldsSeq(list) {
			page, language, _ := strings.Cut(p, "=")
			docs = append(docs, &retrieval.Document{Page: page, Language: language})
		}
		return docs
	}
	for list, want := range map[string]string{
		"":                          "",
		"a= b=":                     "",
		"tr/a=tr tr/b=tr =en":       "en",
		"tr/a=tr a=en b=en tr/c=":   "en",
		"= de/a=de tr/a=tr de/b=de": "de",
		"tr/a=tr de/a=de":           "de",
	} {
		if got := DefaultLanguage(pages(list)); got != want {
			t.Errorf("%q gives %q, want %q", list, got, want)
		}
	}
}
