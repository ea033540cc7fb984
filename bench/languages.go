package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// multilingual are repositories with documentation in several languages, the
// original in English, and their folders of pages.
var multilingual = [][2]string{
	{"open-telemetry/opentelemetry.io", "content"},
	{"withastro/docs", "src/content/docs"},
	{"withastro/starlight", "docs/src/content/docs"},
	{"nushell/nushell.github.io", "."},
}

// translatedPages is how many pages of each language a reader searches for.
const translatedPages = 12

// benchLanguages searches the repositories' pages, as they are, as a reader on a
// page in each language: for titles of translated pages, and for their titles in
// English. It counts first results in another language that exist in the
// reader's.
func benchLanguages(ctx context.Context, b *bench) error {
	var rows [][]string
	for _, of := range multilingual {
		root := filepath.Join(b.repositories, of[0], of[1])
		if _, err := os.Stat(root); b.repositories == "" || err != nil {
			fmt.Fprintf(os.Stderr, "bench: languages of %s is left out: it is not in a folder named by -repositories\n", of[0])
			continue
		}
		m, err := b.openManual(ctx, of[0], root)
		if err != nil {
			return fmt.Errorf("%s: %w", of[0], err)
		}
		row, err := m.translations(ctx)
		m.server.end()
		if err != nil {
			return fmt.Errorf("%s: %w", of[0], err)
		}
		rows = append(rows, row)
		fmt.Printf("%s\n", strings.Join(m.problems, "\n"))
	}
	if len(rows) > 0 {
		table("Readers of translations", []string{
			"documentation", "pages", "languages", "title in the reader's language: first result in another, of", "title in English: first result in another, of",
		}, rows)
	}
	return nil
}

// translations searches for translated pages.
func (m *manual) translations(ctx context.Context) ([]string, error) {
	languages := m.languages()
	var wrong, asked [2]int // by title in the reader's language, and in English
	for _, language := range slices.Sorted(maps.Keys(languages)) {
		pages := slices.DeleteFunc(languages[language], func(p manualPage) bool { return m.english(p) == "" })
		for i := range min(translatedPages, len(pages)) {
			p := pages[i*len(pages)/min(translatedPages, len(pages))]
			for kind, title := range []string{p.Title, m.english(p)} {
				hits, err := m.search(ctx, title, pages[0].URL, 1)
				if err != nil {
					return nil, err
				}
				asked[kind]++
				if len(hits) > 0 && hits[0].Metadata.Language != language && m.exists(hits[0], language, languages) {
					wrong[kind]++
					m.problems = append(m.problems, fmt.Sprintf("%s: %q finds %s for a reader of %s", m.name, title, hits[0].Path, language))
				}
			}
		}
	}
	return []string{
		m.name, fmt.Sprint(len(m.pages)), fmt.Sprint(len(languages)),
		fmt.Sprintf("%d of %d", wrong[0], asked[0]), fmt.Sprintf("%d of %d", wrong[1], asked[1]),
	}, nil
}

// english returns the title of a page's original, "" if the page is none's
// translation.
func (m *manual) english(p manualPage) string {
	u, err := url.Parse(p.URL)
	if err != nil || p.Language == "en" {
		return ""
	}
	for _, folder := range []string{"/", "/en/"} {
		for _, own := range []string{p.Language, strings.ToLower(p.Language)} {
			if original, ok := m.listed[strings.Replace(u.Path, "/"+own+"/", folder, 1)]; ok && original.Language != p.Language {
				return original.Title
			}
		}
	}
	return ""
}
