package eval

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// trivial are texts of links that don't say where they lead.
const trivial = "|here|this|this page|this guide|this article|this section|this document|the docs|docs|documentation|" +
	"link|page|guide|read more|more|learn more|see here|click here|details|more details|more information|more info|" +
	"example|examples|above|below|next|previous|back|home|start here|source|hier|ici|aquí|qui|aqui|здесь|こちら|这里|여기|" +
	// What DocBook and others write above and below a page.
	"prev|up|top|contents|table of contents|next page|previous page|zurück|weiter|nach oben|zum anfang|inhaltsverzeichnis|" +
	"précédent|suivant|niveau supérieur|sommaire|anterior|siguiente|subir|inicio|пред|след|уровень выше|начало|" +
	"戻る|次へ|上に戻る|ホーム|上一页|下一页|上一级|起始页|이전|다음|위로|처음으로|"

// Generate proposes queries from a site's pages, with judgements: the texts of
// links from other pages (group "link") and descriptions (group
// "description"). It leaves out texts that say nothing ("here"), titles, URLs,
// and texts that lead to more than three pages. Equal input gives equal
// output.
func Generate(documents []*retrieval.Document) []Query {
	byPage := map[string]*retrieval.Document{}
	for _, d := range documents {
		byPage[d.Page] = d
	}
	pages := map[string][]string{}
	for _, d := range documents {
		for _, l := range d.Links {
			to := byPage[l.Page]
			text := oneLine(l.Text)
			if to == nil || to == d || !meaningful(text, to) {
				continue
			}
			key := strings.ToLower(text)
			if !slices.Contains(pages[key], to.Page) {
				pages[key] = append(pages[key], to.Page)
			}
		}
	}
	texts := make([]string, 0, len(pages))
	for t, p := range pages {
		if len(p) <= 3 {
			texts = append(texts, t)
		}
	}
	slices.Sort(texts)
	var out []Query
	for i, t := range texts {
		slices.Sort(pages[t])
		out = append(out, Query{ID: fmt.Sprintf("link-%04d", i+1), Text: t, Group: "link", Relevant: display(pages[t])})
	}
	sorted := slices.SortedFunc(slices.Values(documents), func(a, b *retrieval.Document) int { return strings.Compare(a.Page, b.Page) })
	n := 0
	seen := map[string]bool{}
	for _, d := range sorted {
		text := oneLine(d.Description)
		key := strings.ToLower(text)
		if len(strings.Fields(text)) < 3 && len([]rune(text)) < 12 || seen[key] || !meaningful(text, d) {
			continue
		}
		seen[key] = true
		n++
		out = append(out, Query{ID: fmt.Sprintf("description-%04d", n), Text: text, Group: "description", Relevant: display([]string{d.Page})})
	}
	return out
}

// display names the front page, whose Page is "".
func display(pages []string) []string {
	for i, p := range pages {
		if p == "" {
			pages[i] = "index"
		}
	}
	return pages
}

func oneLine(s string) string {
	return strings.Trim(short.Runes(short.Line(s), 1000), "\"'“”‘’`→›»«‹ ")
}

// meaningful reports whether a text says something about a page, besides its
// title.
func meaningful(text string, to *retrieval.Document) bool {
	lower := strings.ToLower(strings.TrimRight(text, ".!:…"))
	if strings.Contains(trivial, "|"+lower+"|") || strings.EqualFold(text, oneLine(to.Title)) || strings.Contains(text, "://") {
		return false
	}
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters >= 2
}
