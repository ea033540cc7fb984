package agents

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestIndexListsPagesBySection(t *testing.T) {
	files, full := Index(About{Title: "Acme", Description: "Docs of\nAcme.", URL: "https://docs.acme.com", Language: "en", Version: "2.x"}, []Page{
		{Title: "Welcome", Markdown: "https://docs.acme.com/index.md"},
		{Title: "Set [up]", Description: "How to set up.", Markdown: "https://docs.acme.com/guide/set-up.md", Section: "Guide", Language: "en-US", Version: "2.x"},
		{Title: "Installer", Markdown: "https://docs.acme.com/fr/guide.md", Section: "Guide", Language: "fr", Version: "2.x"},
		{Title: "Old", Markdown: "https://docs.acme.com/v1/guide.md", Section: "Guide", Language: "en", Version: "1.x"},
	})
	want := `# Acme

> Docs of Acme.

Each link below leads to a page as Markdown. Every page of https://docs.acme.com has this form at its URL with .md, or with the header Accept: text/markdown. 2 pages in one file: https://docs.acme.com/llms-full.txt

## Pages

- [Welcome](https://docs.acme.com/index.md)

## Guide

- [Set \[up\]](https://docs.acme.com/guide/set-up.md): How to set up.

## Optional

- [Other languages and versions](https://docs.acme.com/llms/others.txt): lists of the same documentation
`
	if len(files) != 4 || files["llms.txt"] != want {
		t.Errorf("got %v", files)
	}
	if got := fmt.Sprint(full); got != "map[llms-full.txt:[0 1] llms-full/language-fr.txt:[2] llms-full/version-1-x.txt:[3]]" {
		t.Errorf("the files of whole texts: %s", got)
	}
	for name, want := range map[string]string{
		"llms/others.txt": `# Acme: Other languages and versions

> Part of https://docs.acme.com/llms.txt

- [Language fr](https://docs.acme.com/llms/language-fr.txt): 1 of 1 page
- [Language fr, in one file](https://docs.acme.com/llms-full/language-fr.txt)
- [Version 1.x](https://docs.acme.com/llms/version-1-x.txt): 1 of 1 page
- [Version 1.x, in one file](https://docs.acme.com/llms-full/version-1-x.txt)
`,
		"llms/language-fr.txt": `# Acme: Language fr

> Part of https://docs.acme.com/llms.txt

- [Installer](https://docs.acme.com/fr/guide.md)
`,
		"llms/version-1-x.txt": `# Acme: Version 1.x

> Part of https://docs.acme.com/llms.txt

- [Old](https://docs.acme.com/v1/guide.md)
`,
	} {
		if files[name] != want {
			t.Errorf("%s is\n%s", name, files[name])
		}
	}
}

func TestIndexHasASummaryWithoutADescription(t *testing.T) {
	files, _ := Index(About{Title: "Acme"}, nil)
	if got := files["llms.txt"]; !strings.HasPrefix(got, "# Acme\n\n> The documentation of Acme.\n\n") {
		t.Errorf("it begins with %q", got)
	}
}

func TestLongIndexesAreSplitIntoLinkedParts(t *testing.T) {
	var pages []Page
	for i := range 10_000 {
		section := []string{"Small", "Reference", "Reference", "Reference", "Guide"}[i%5]
		if section == "Small" && i > 100 {
			section = "Reference"
		}
		pages = append(pages, Page{Title: fmt.Sprintf("Page %d", i), Description: strings.Repeat("word ", 30), Markdown: fmt.Sprintf("https://x.example/p%d.md", i), Section: section})
	}
	files, _ := Index(About{Title: "X", URL: "https://x.example"}, pages)
	listed := 0
	for name, text := range files {
		if n := utf8.RuneCountInString(text); n > maxIndex {
			t.Errorf("%s has %d characters", name, n)
		}
		listed += strings.Count(text, "/p")
		if name != "llms.txt" && !strings.Contains(files["llms.txt"], "https://x.example/"+name) {
			t.Errorf("%s is linked nowhere", name)
		}
	}
	if listed != len(pages) {
		t.Errorf("%d of %d pages are listed", listed, len(pages))
	}
	if !strings.Contains(files["llms.txt"], "- [Page 0](https://x.example/p0.md)") {
		t.Error("a small section isn't listed in llms.txt itself")
	}
}

func TestNewestVersion(t *testing.T) {
	for want, versions := range map[string][]string{
		"10.0": {"9.1", "10.0", "2.x"}, "v2": {"v1", "v2", "v2-beta", "next"}, "stable": {"1.0", "stable", "latest", "main"}, "": {"", ""}, "next": {"next", ""},
	} {
		if got := NewestVersion(versions); got != want {
			t.Errorf("of %v: %q, want %q", versions, got, want)
		}
	}
}
