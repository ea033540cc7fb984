package embedded

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// fonts are translations of one page, two of which are not translated yet, and
// a page about something else.
func fonts() []*retrieval.Document {
	english := retrieval.Section{Heading: "Fonts", Text: "Add fonts to your site.", Sum: 1}
	of := func(page, language, readers, title string, s retrieval.Section) *retrieval.Document {
		return &retrieval.Document{
			Page: page, URL: "/" + page, Language: language, Readers: readers, Title: title, Translations: "/guides/fonts",
			Sections: []retrieval.Section{s},
		}
	}
	root := of("guides/fonts", "en", "", "Fonts", english)
	root.Translations = ""
	other := of("guides/colors", "en", "", "Colors", retrieval.Section{Text: "Colors go with fonts.", Sum: 3})
	other.Translations = ""
	return []*retrieval.Document{
		of("da/guides/fonts", "en", "da", "Fonts", english),
		of("de/guides/fonts", "de", "", "Schriften", retrieval.Section{Heading: "Schriften", Text: "Eigene Schriften (fonts) für die Website.", Sum: 2}),
		of("fa/guides/fonts", "en", "fa", "Fonts", english), root, other,
	}
}

func TestAPageIsFoundOnceInTheReadersLanguage(t *testing.T) {
	x := opened(t, Options{}, fonts()...)
	for language, want := range map[string]string{
		"": "guides/fonts", "en": "guides/fonts", "en-US": "guides/fonts", "fr": "guides/fonts",
		"de": "de/guides/fonts", "da": "da/guides/fonts",
	} {
		got := pages(search(t, x, retrieval.Query{Text: "fonts", Prefer: retrieval.Filter{Language: language}}))
		if !slices.Equal(got, []string{want, "guides/colors"}) {
			t.Errorf("readers of %q find %v", language, got)
		}
	}
	for language, want := range map[string]string{"en": "guides/fonts", "da": "da/guides/fonts", "fa": "fa/guides/fonts", "de": "de/guides/fonts"} {
		got := pages(search(t, x, retrieval.Query{Text: "fonts", Filter: retrieval.Filter{Language: language}}))
		if got[0] != want || strings.Count(strings.Join(got, " "), "guides/fonts") != 1 {
			t.Errorf("the filter %s finds %v", language, got)
		}
	}
	if got := pages(search(t, x, retrieval.Query{Text: "fonts", Boost: []string{"fa/guides/fonts"}})); got[0] != "fa/guides/fonts" {
		t.Errorf("a reader of a copy finds %v", got)
	}
}

// Eastern languages have no stop words between spaces: their script shows them.
// The translation that has the words is shown, not the original that has one of
// them.
func TestAScriptShowsTheLanguageOfAQuery(t *testing.T) {
	of := func(language, title, text string) *retrieval.Document {
		page := language + "/fonts"
		return &retrieval.Document{Page: page, URL: "/" + page, Language: language, Title: title, Sections: []retrieval.Section{{Text: text}}}
	}
	x := opened(t, Options{}, of("en", "Fonts", "Add fonts."), of("ja", "フォント", "fonts フォントをサイトに追加します。設定"),
		of("ko", "글꼴", "fonts 글꼴을 사이트에 추가합니다."), of("zh", "字体", "fonts 把字体添加到网站。設定"),
		&retrieval.Document{Page: "fr/a", URL: "/fr/a", Language: "fr", Title: "Bonjour", Sections: []retrieval.Section{{Text: "Tout le monde."}}})
	for _, c := range []struct{ query, prefer, want string }{
		{"fonts フォントを追加", "", "ja/fonts"}, {"fonts 글꼴", "", "ko/fonts"}, {"fonts 添加字体", "", "zh/fonts"},
		{"fonts フォント", "en", "ja/fonts"}, {"fonts 設定", "", "zh/fonts"}, {"fonts 設定", "ja", "ja/fonts"}, {"fonts", "", "en/fonts"},
		{"how do I add fonts to my site", "", "en/fonts"}, {"how do I add fonts to my site", "ja", "ja/fonts"},
		{"comment est-ce que je peux ajouter des fonts dans mon site", "", "en/fonts"}, {"comment est-ce que je peux ajouter des fonts dans mon site", "ja", "ja/fonts"},
	} {
		got := pages(search(t, x, retrieval.Query{Text: c.query, Prefer: retrieval.Filter{Language: c.prefer}}))
		if !slices.Equal(got, []string{c.want}) {
			t.Errorf("%q by readers of %q finds %v, want %s", c.query, c.prefer, got, c.want)
		}
	}
}

// "a" and "tu" are stop words of several languages: the words that only one
// translation has show what is wanted, of its versions the current one.
func TestWordsShowTheLanguageOfAQuery(t *testing.T) {
	of := func(folder, language, version, title, text string) *retrieval.Document {
		page := folder + "/buttercms"
		return &retrieval.Document{Page: page, URL: "/" + page, Language: language, Version: version, Title: title, Sections: []retrieval.Section{{Text: text}}}
	}
	x := opened(t, Options{},
		of("en", "en", "", "ButterCMS & Astro", "Add content to your Astro project using ButterCMS as a CMS."),
		of("es", "es", "", "ButterCMS y Astro", "Agrega contenido a tu proyecto de Astro usando ButterCMS como CMS."),
		of("fr", "fr", "", "ButterCMS et Astro", "Ajoutez du contenu à votre projet Astro avec ButterCMS comme CMS."),
		of("v1/es", "es", "1", "ButterCMS y Astro", "Agrega contenido a tu proyecto de Astro con contenido de ButterCMS."),
		of("en/a", "en", "", "Another", "Another page."), of("en/b", "en", "", "Other", "Other pages."),
		of("it", "it", "", "Altro", "Aggiungi a tuo piacere."), of("pt", "pt", "", "Outra", "Adicione a tua conta."))
	for _, c := range []struct{ query, prefer, want string }{
		{"Agrega contenido a tu proyecto Astro usando ButterCMS", "", "es/buttercms"}, {"ButterCMS", "", "en/buttercms"}, {"Astro CMS", "", "en/buttercms"},
		{"add content to a project", "", "en/buttercms"}, {"agrega contenido a tu proyecto de Astro", "fr", "fr/buttercms"}, {"ButterCMS", "fr", "fr/buttercms"},
	} {
		if got := pages(search(t, x, retrieval.Query{Text: c.query, Prefer: retrieval.Filter{Language: c.prefer}})); len(got) == 0 || got[0] != c.want {
			t.Errorf("%q by readers of %q finds %v, want %s", c.query, c.prefer, got, c.want)
		}
	}
}

// A page that only some can open neither hides a public copy nor is hidden.
func TestLockedPagesHideNoCopies(t *testing.T) {
	docs := fonts()
	x := opened(t, Options{}, docs...)
	public := &retrieval.PageSet{Has: func(p string) bool { return p != "guides/fonts" && p != "de/guides/fonts" }}
	got := pages(search(t, x, retrieval.Query{Text: "fonts", Open: public}))
	slices.Sort(got)
	if want := "da/guides/fonts de/guides/fonts guides/colors guides/fonts"; strings.Join(got, " ") != want {
		t.Errorf("found %v, want %s", got, want)
	}
	// The public pages alone, as a stranger searches them.
	got = pages(search(t, x, retrieval.Query{Text: "fonts", Pages: public, Prefer: retrieval.Filter{Language: "en"}}))
	if want := []string{"da/guides/fonts", "guides/colors"}; !slices.Equal(got, want) {
		t.Errorf("strangers find %v, want %v", got, want)
	}
}

func TestCopiesByText(t *testing.T) {
	section := func(n uint64) retrieval.Section {
		return retrieval.Section{Heading: "Install", Text: "Install the server in many steps.", Sum: n}
	}
	page := func(name, canonical string, sums ...uint64) *retrieval.Document {
		d := &retrieval.Document{Page: name, URL: "/" + name, Title: "Install", Canonical: canonical}
		for _, n := range sums {
			d.Sections = append(d.Sections, section(n))
		}
		return d
	}
	for name, c := range map[string]struct {
		docs []*retrieval.Document
		want string
	}{
		"the same text: the shorter URL":     {[]*retrieval.Document{page("docs/guide/install", "", 1, 2), page("docs/install", "", 1, 2)}, "docs/install"},
		"most sections":                      {[]*retrieval.Document{page("install", "", 1, 2, 3), page("old-install", "", 1, 2, 4)}, "install"},
		"the original":                       {[]*retrieval.Document{page("a", "/longer/name", 1, 2), page("longer/name", "", 1, 3)}, "longer/name"},
		"a page names an unrelated original": {[]*retrieval.Document{page("a", "/b", 1), page("b", "", 2)}, "a b"},
		"the newest version": {func() []*retrieval.Document {
			old, newest, next := page("v1.9/install", "", 1), page("v1.10/install", "", 1), page("next/install", "", 1)
			old.Version, newest.Version, next.Version, next.Kind = "1.9", "1.10", "next", retrieval.Next
			return []*retrieval.Document{old, next, newest}
		}(), "v1.10/install"},
		"English, where as many pages are in each language": {func() []*retrieval.Document {
			da, en := page("da/install", "", 1), page("en/install", "", 2)
			da.Language, en.Language = "da", "en"
			return []*retrieval.Document{da, en}
		}(), "en/install"},
		"the language of most pages": {func() []*retrieval.Document {
			da, en, other := page("da/install", "", 1), page("en/install", "", 2), page("da/other", "", 3)
			da.Language, en.Language, other.Language = "da", "en", "da"
			return []*retrieval.Document{da, en, other}
		}(), "da/install da/other"},
		"a front page that all pages name isn't their original": {func() []*retrieval.Document {
			a, b := page("a", "", 1), page("b", "", 2)
			a.Translations, b.Translations = "/", "/"
			return []*retrieval.Document{a, b}
		}(), "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			x := opened(t, Options{}, c.docs...)
			found := map[string]bool{}
			for _, h := range search(t, x, retrieval.Query{Text: "install server"}) {
				found[h.Document.Page] = true
			}
			for p := range strings.FieldsSeq(c.want) {
				if !found[p] {
					t.Errorf("%s is not found", p)
				}
				delete(found, p)
			}
			if len(found) > 0 {
				t.Errorf("besides %s: %v", c.want, found)
			}
		})
	}
}

func TestVersionsAndLanguagesWithOtherNamesThanTheirFoldersAreOnePage(t *testing.T) {
	of := copiesOf([]*retrieval.Document{
		{Page: "v2/install", Version: "2.x", Folders: []string{"v2"}},
		{Page: "v1/install", Version: "1.x", Folders: []string{"v1"}},
		{Page: "br/install", Language: "pt-BR", Folders: []string{"br"}},
		{Page: "v1/usage", Version: "2.x"},
		{Page: "usage", Version: "2.x"},
	})
	if want := []uint32{1, 1, 1, 0, 0}; !slices.Equal(of, want) {
		t.Errorf("copies %v, want %v", of, want)
	}
}

func TestASectionIsListedOnce(t *testing.T) {
	page := func(name string, own uint64) *retrieval.Document {
		return &retrieval.Document{Page: name, Title: name, Sections: []retrieval.Section{
			{Heading: name, Text: "About logging and more.", Sum: own}, {Heading: "Logging", Text: "Logging of requests.", Sum: 7},
		}}
	}
	x := opened(t, Options{}, page("proxy", 1), page("server", 2))
	sums := map[uint64]int{}
	hits := search(t, x, retrieval.Query{Text: "logging requests"})
	for _, h := range hits {
		sums[h.Document.Sections[h.Section].Sum]++
	}
	if len(hits) != 3 || sums[7] != 1 {
		t.Errorf("%d hits with sections %v", len(hits), sums)
	}
}

func TestAPlaceIsListedOnce(t *testing.T) {
	long := page("expansion", "Expansion", "Glob qualifiers", "Glob qualifiers "+strings.Repeat("select files. ", 50), "Glob qualifiers", "More glob qualifiers "+strings.Repeat("select more. ", 50),
		"Flags", "Beside glob qualifiers, there are flags.")
	long.Sections[0].Anchor, long.Sections[1].Anchor, long.Sections[2].Anchor = "glob", "glob", "flags"
	operation := page("api/create", "Create an incident", "", "Creates an incident.", "POST /incidents", "To create an incident, send it.")
	operation.URL, operation.Sections[0].Anchor, operation.Sections[1].Anchor = "/api#createIncident", "", ""
	plain := page("notes", "Notes", "Parachutes", "Parachutes are folded.", "More parachutes", "Parachutes are opened.")
	plain.Sections[0].Anchor, plain.Sections[1].Anchor = "", ""
	x := opened(t, Options{}, append(manual(), long, operation, plain)...)
	for query, want := range map[string][]string{
		"glob qualifiers": {"/expansion#glob", "/expansion#flags"}, "create an incident": {"/api#createIncident"}, "parachutes": {"/notes", "/notes"},
	} {
		var got []string
		for _, h := range search(t, x, retrieval.Query{Text: query}) {
			if link := h.Document.URL; slices.Contains([]string{"expansion", "api/create", "notes"}, h.Document.Page) {
				if anchor := h.Document.Sections[h.Section].Anchor; anchor != "" {
					link += "#" + anchor
				}
				got = append(got, link)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

func TestKindsAreBehindCurrentPagesUnlessAskedFor(t *testing.T) {
	words := map[retrieval.Kind]string{
		retrieval.Blog: "retries announcement", retrieval.Changelog: "retries changelog", retrieval.Deprecated: "deprecated retries", retrieval.Listing: "retries source",
		retrieval.Next: "retries unreleased", retrieval.Old: "retries 1.4",
	}
	for kind, asked := range words {
		of := page("a", "Options", "Retries", "Retries are set by an option "+asked+".")
		current := page("b", "Options again", "Retries", "Retries are set by an option of the client.")
		of.Kind = kind
		x := opened(t, Options{}, of, current)
		if got := pages(search(t, x, retrieval.Query{Text: "retries option"})); got[0] != "b" {
			t.Errorf("%s comes first: %v", kind, got)
		}
		if got := pages(search(t, x, retrieval.Query{Text: asked})); got[0] != "a" {
			t.Errorf("%q finds %v", asked, got)
		}
	}
}

func TestAHeadingThatIsTheQueryComesFirst(t *testing.T) {
	reference := page("reference", "Schema", "Internal", "internal: hide tasks.")
	guide := page("guide", "Usage", "Internal tasks", "They are left out of the list that the command prints, since nobody calls them by name on the command line.")
	x := opened(t, Options{}, reference, guide)
	if got := pages(search(t, x, retrieval.Query{Text: "internal tasks"})); got[0] != "guide" {
		t.Errorf("found %v", got)
	}
}

// Paths of an API have many words in common, some joined by dots.
func TestAHeadingWrittenAsTheQueryComesFirst(t *testing.T) {
	docs := manual()
	for _, name := range []string{"Calls", "Keys", "Queues", "Messages", "Records"} {
		all, one := "POST /v1/accounts/{account}/"+name+".json", "POST /v1/accounts/{account}/"+name+"/{id}.json"
		docs = append(docs, page(name+"/all", "Make one of the "+name, all, "The request "+all+" makes one of the "+name+" for an account, and GET "+all+" lists the "+name+"."), page(name+"/one", "Change it", one, "The request changes it."))
	}
	x := opened(t, Options{}, docs...)
	for _, name := range []string{"Calls", "Queues"} {
		query := "POST /v1/accounts/{account}/" + name + "/{id}.json"
		for _, query := range []string{query, strings.ToLower(query)} {
			if got := pages(search(t, x, retrieval.Query{Text: query})); got[0] != name+"/one" {
				t.Errorf("%q finds %v", query, got)
			}
		}
	}
}

// A manual on one page is behind the pages that it repeats, but pages that share
// sections with many others are not.
func TestAPageThatRepeatsOthersIsBehindThem(t *testing.T) {
	section := func(sum uint64, heading string) retrieval.Section {
		return retrieval.Section{Heading: heading, Anchor: strings.ToLower(heading), Text: heading + " in the wind.", Sum: sum}
	}
	all := &retrieval.Document{Page: "all", URL: "/all", Title: "Kite manual"}
	docs := []*retrieval.Document{all}
	for i, name := range []string{"Lines", "Tails", "Sails", "Knots"} {
		of := []retrieval.Section{section(uint64(3*i+1), name), section(uint64(3*i+2), name+" in use"), section(uint64(3*i+3), "Repair of "+name)}
		all.Sections = append(all.Sections, of...)
		docs = append(docs, &retrieval.Document{Page: fmt.Sprint("c", i), URL: fmt.Sprint("/c", i), Title: "Chapter", Sections: of})
	}
	x := opened(t, Options{}, append(manual(), docs...)...)
	for query, want := range map[string]string{"repair sails of a kite": "c2", "kite tails": "c1", "knots for kites": "c3"} {
		if got := pages(search(t, x, retrieval.Query{Text: query})); got[0] != want {
			t.Errorf("%q finds %v", query, got)
		}
	}
	for i := range docs[1:] { // every page has the sections of a trait
		docs[i+1].Sections = append([]retrieval.Section{section(100, "Clone"), section(101, "Debug"), section(102, "Into"), section(103, "From"), section(104, "Any")}, docs[i+1].Sections[:1]...)
	}
	docs[1].Sections = append(docs[1].Sections, section(200, "Knitting"), section(201, "Weaving"))
	for page, factor := range factorsOf(docs[1:]) {
		if factor != 1 {
			t.Errorf("%s is taken for a page that repeats others", docs[page+1].Page)
		}
	}
}
