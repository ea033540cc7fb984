package ingest

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func TestPagesHaveKinds(t *testing.T) {
	const text = "<main><h1>Kites</h1><p>They fly in the wind, if there is any.</main>"
	for _, c := range []struct {
		file, data string
		want       retrieval.Kind
	}{
		{"guide/a.html", text, retrieval.Current},
		{"guide/blog.html", text, retrieval.Current},
		{"blog/2026/a.html", text, retrieval.Blog},
		{"fr/docs/news/a.html", text, retrieval.Blog},
		{"a.html", `<nav aria-label=breadcrumb><li>Blog<li>Kites</nav>` + text, retrieval.Blog},
		{"a.md", "---\nlayout: post\n---\n# Kites\n\nThey fly.", retrieval.Blog},
		{"blog/changelog.html", text, retrieval.Changelog},
		{"a.html", "<main><h1>What’s new in 3.0</h1><p>Kites.</main>", retrieval.Changelog},
		{"a.html", "<main><h1>kite.fly() (deprecated)</h1><p>Kites.</main>", retrieval.Deprecated},
		{"a.html", "<meta name=deprecated content=true>" + text, retrieval.Deprecated},
		{"a.html", "<div class=version-warning>This version has reached its end of life.</div>" + text, retrieval.Old},
		{"docs/next/a.html", text, retrieval.Next},
		{"next/a.html", text, retrieval.Current},
		{"src/core/option.rs.html", text, retrieval.Listing},
		{"guide/node.js/a.html", text, retrieval.Current},
		{"a.html", "<main><h1>Kites</h1><p>This page has moved to <a href=/b>the manual</a>.</main>", retrieval.Moved},
		{"a.html", "<main><h1>Kites</h1><p>The first edition is no longer distributed. See <a href=/b>the current one</a>.</main>", retrieval.Moved},
		{"a.html", "<main><h1>Kites</h1><p>This page has moved.<p>" + strings.Repeat("They fly in the wind. ", 30) + "</main>", retrieval.Current},
	} {
		if got := read(t, Options{}, c.file, c.data).Kind; got != c.want {
			t.Errorf("%s %.90s: kind %q, want %q", c.file, c.data, got, c.want)
		}
	}
}

const (
	inEnglish    = "<p>To install the program you will need a computer that is connected to the network, and some time. " + "If you have both of them, then start with the first of the steps that are shown below. "
	inPortuguese = "<p>Para instalar o programa você vai precisar de um computador que esteja conectado com a rede, e um pouco de tempo. " + "Se você tem os dois, então comece com o primeiro dos passos que são mostrados mais abaixo. "
	inIndonesian = "<p>Untuk memasang program ini Anda akan memerlukan sebuah komputer yang telah terhubung dengan jaringan, dan juga waktu. " + "Jika Anda sudah memiliki keduanya, maka mulailah dari yang pertama dalam daftar yang ada di bawah ini. "
	inItalian    = "<p>Per installare il programma avrai bisogno di un computer che sia collegato alla rete, e di un po' di tempo. " + "Se hai tutti e due, allora comincia con il primo dei passi che sono mostrati più in basso. "
)

func TestThePagesTextDecidesWherePathAndLanguageLie(t *testing.T) {
	for _, c := range []struct{ file, said, text, language, readers string }{
		{"en/install.html", "en", inPortuguese, "pt", "en"},
		{"pt-BR/install.html", "pt-BR", inPortuguese, "pt-BR", ""},
		{"en/install.html", "en-GB", inEnglish, "en-GB", ""},
		{"de/install.html", "de", inEnglish, "en", "de"},
		{"install.html", "", inEnglish, "", ""},
		{"it/install.html", "", inItalian, "it", ""},
		{"it/install.html", "", inEnglish, "", ""}, // information technology
		{"install.it.html", "", inItalian, "it", ""},
		{"id/install.html", "", inIndonesian, "id", ""},
		{"id/install.html", "", inEnglish, "", ""},
		{"en/install.html", "en", "<p>Instale o programa.", "en", ""},
		{"en/install.html", "en", "<pre>" + inPortuguese + inPortuguese + "</pre>", "en", ""},
	} {
		doc := read(t, Options{}, c.file, "<html lang='"+c.said+"'><main><h1>1</h1>"+strings.Repeat(c.text, 4)+"</main>")
		if doc.Language != c.language || doc.Readers != c.readers {
			t.Errorf("%s, lang=%s, %.30s: in %q for %q, want %q for %q", c.file, c.said, c.text, doc.Language, doc.Readers, c.language, c.readers)
		}
	}
	o := Options{Languages: []Scope{{Value: "en", Paths: []string{"/en/*"}}}}
	if doc := read(t, o, "en/install.html", "<main>"+strings.Repeat(inPortuguese, 4)); doc.Language != "en" {
		t.Errorf("the configuration says en, the page is in %q", doc.Language)
	}
	untranslated := `<html lang="da"><main lang="en"><div class="sl-markdown-content"><p>Fonts.</div></main>`
	if doc := read(t, Options{}, "da/fonts/index.html", untranslated); doc.Language != "en" || doc.Readers != "da" {
		t.Errorf("an untranslated page is in %q for %q", doc.Language, doc.Readers)
	}
}

func TestOriginalsAndTranslations(t *testing.T) {
	const links = `<link rel=alternate hreflang=en href=/en/a.html><link rel=alternate hreflang=de href=/de/a.html>`
	for _, c := range []struct{ file, head, canonical, translations string }{
		{"a.html", "", "", ""},
		{"a.html", `<link rel=canonical href=/a.html>`, "", ""},
		{"v1/a.html", `<link rel=canonical href=/v2/a.html>`, "/v2/a", ""},
		{"old.html", `<link rel=canonical href=/>`, "/", ""},
		{"a.html", `<link rel=canonical href=https://elsewhere.example/b>`, "/b", ""},
		{"de/a.html", links, "", "/de/a"},
		{"en/a.html", links, "", "/de/a"},
		{"en/a.html", links + `<link rel=alternate hreflang=x-default href=/a.html>`, "", "/a"},
		{"fr/guide/a.html", "", "", "/guide/a"},
		{"v2/pt-BR/a.html", "", "", "/v2/a"},
		{"guide/a.fr.html", "", "", "/guide/a"},
	} {
		doc := read(t, Options{URL: "https://docs.example"}, c.file, c.head+"<main><p>x</main>")
		if doc.Canonical != c.canonical || doc.Translations != c.translations {
			t.Errorf("%s %s: canonical %q, translations %q, want %q, %q", c.file, c.head, doc.Canonical, doc.Translations, c.canonical, c.translations)
		}
	}
}

func TestSectionsOfTheSameWordsHaveTheSameSum(t *testing.T) {
	a := read(t, Options{}, "a.md", "## Wind\n\nKites *need*\nwind.\n\n## Other\n\nKites need wind.")
	b := read(t, Options{}, "b/index.html", "<title>Kites</title><main><h2 id=w>Wind</h2><p>Kites need <b>wind.</b></main>")
	if a.Sections[0].Sum != b.Sections[0].Sum || a.Sections[0].Sum == a.Sections[1].Sum || a.Sections[0].Sum == 0 {
		t.Errorf("%x, %x and, below another heading, %x", a.Sections[0].Sum, b.Sections[0].Sum, a.Sections[1].Sum)
	}
}

func TestTheConfigurationSaysWhatPagesAre(t *testing.T) {
	in := New(Options{Kinds: []Scope{{Value: "blog", Paths: []string{"/stories/*"}}, {Value: "current", Paths: []string{"/changelog"}}}})
	for file, want := range map[string]retrieval.Kind{
		"stories/first.md": retrieval.Blog, "changelog.md": retrieval.Current, "v1/changelog.md": retrieval.Changelog, "guide.md": retrieval.Current,
	} {
		doc, _, err := in.Document(file, []byte("# A page\n\nIts text."))
		if err != nil {
			t.Fatal(err)
		}
		if doc.Kind != want {
			t.Errorf("%s is %q, want %q", file, doc.Kind, want)
		}
	}
}
