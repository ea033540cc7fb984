package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// articles are the elements that hold a page's article, by generator: an
// attribute and one of its values.
var articles = [][2]string{
	{"class", "theme-doc-markdown"},
	{"class", "vp-doc"},
	{"class", "md-content__inner"},
	{"class", "sl-markdown-content"},
	{"class", "td-content"},
	{"class", "bd-article"},
	{"class", "rst-content"},
	{"id", "furo-main-content"},
	{"id", "content"},
	{"role", "main"},
	{"", "article"},
	{"", "main"},
}

// runMarkdown measures what is lost and gained when the pages of folders are
// written as Markdown (retrieval/ingest): of HTML against the article's own
// text, as a browser has it, of Markdown and MDX against what the index reads
// of the page.
func runMarkdown(folders []string) error {
	if len(folders) == 0 {
		return errors.New("markdown: name the folders of built sites or of Markdown: go -C bench run . markdown /srv/docs")
	}
	rows := [][]string{{"site", "pages", "words", "lost", "gained", "code blocks", "identical"}}
	for _, folder := range folders {
		total, worst, err := measureMarkdown(folder)
		if err != nil {
			return err
		}
		rows = append(rows, []string{
			folder, fmt.Sprint(total.pages), fmt.Sprint(total.words), share(total.lost, total.words), share(total.gained, total.words),
			fmt.Sprint(total.code), share(total.same, total.code),
		})
		for _, w := range worst {
			fmt.Fprintln(os.Stderr, w)
		}
	}
	for i, row := range rows {
		fmt.Println("| " + strings.Join(row, " | ") + " |")
		if i == 0 {
			fmt.Println("|" + strings.Repeat("---|", len(row)))
		}
	}
	return nil
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(of))
}

// tally counts words and code blocks.
type tally struct {
	pages, words, lost, gained, code, same int
}

func measureMarkdown(folder string) (total tally, worst []string, err error) {
	in := ingest.New(ingest.Options{URL: "https://docs.example.com"})
	type bad struct {
		lost int
		line string
	}
	var found []bad
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := filepath.Rel(folder, name)
		if err != nil || !in.Wants(filepath.ToSlash(file)) {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		doc, _, err := in.Document(filepath.ToSlash(file), data)
		if err != nil || doc == nil {
			return nil //nolint:nilerr // the index reports it
		}
		md, err := in.Markdown(doc, data, "")
		if err != nil {
			return err
		}
		again, _, err := in.Document("page.md", md)
		if err != nil || again == nil {
			return fmt.Errorf("%s: its Markdown is not read: %w", file, err)
		}
		total.pages++
		indexed, code := indexWords(doc)
		reread, codeAgain := indexWords(again)
		words, ok := map[string]int(nil), false
		if strings.HasSuffix(file, ".html") {
			words, ok = articleWords(data)
		}
		if ok {
			reread = renderedWords(md)
		} else {
			words = indexed
		}
		lost, gained := difference(words, reread)
		for kind, n := range noteKinds(md) {
			lost[kind] -= min(n, lost[kind]) // the note's title is the mark
		}
		titles := map[string]int{} // of a page whose article lacks its title
		addWords(titles, doc.Title)
		for w, n := range titles {
			gained[w] -= min(n, gained[w])
		}
		same := sameBlocks(code, codeAgain)
		total.words += count(words)
		total.lost += count(lost)
		total.gained += count(gained)
		total.code += len(code)
		total.same += same
		if n := count(lost) + count(gained) + 20*(len(code)-same); n > 0 {
			found = append(found, bad{n, fmt.Sprintf("%s: lost %s gained %s; code %d of %d", file, few(lost), few(gained), same, len(code))})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b bad) int { return b.lost - a.lost })
	for _, b := range found[:min(len(found), 12)] {
		worst = append(worst, b.line)
	}
	return total, worst, err
}

// indexWords returns the words of a document, without its code, and its code
// blocks.
func indexWords(d *retrieval.Document) (words map[string]int, code []string) {
	words = map[string]int{}
	for i, s := range d.Sections {
		// Documented objects of Sphinx are headed by their names, which their
		// text repeats.
		if s.Heading != s.Anchor && (i == 0 || s.Heading != d.Sections[i-1].Heading || s.Anchor != d.Sections[i-1].Anchor) {
			addWords(words, s.Heading)
		}
		var block []string
		fence := ""
		for line := range strings.SplitSeq(s.Text, "\n") {
			switch {
			case fence != "" && line == fence:
				code = append(code, strings.Join(block, "\n"))
				fence, block = "", nil
			case fence != "":
				block = append(block, line)
			case strings.HasPrefix(line, "```"):
				fence = line[:len(line)-len(strings.TrimLeft(line, "`"))]
			default:
				addWords(words, line)
			}
		}
	}
	return words, code
}

func addWords(words map[string]int, s string) {
	for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words[strings.ToLower(w)]++
	}
}

func difference(before, after map[string]int) (lost, gained map[string]int) {
	lost, gained = map[string]int{}, map[string]int{}
	for w, n := range before {
		if n > after[w] {
			lost[w] = n - after[w]
		}
	}
	for w, n := range after {
		if n > before[w] {
			gained[w] = n - before[w]
		}
	}
	return lost, gained
}

func count(words map[string]int) (n int) {
	for _, c := range words {
		n += c
	}
	return n
}

func few(words map[string]int) string {
	var all []string
	for w, n := range words {
		all = append(all, fmt.Sprintf("%s×%d", w, n))
	}
	slices.Sort(all)
	return fmt.Sprintf("%d%v", count(words), all[:min(len(all), 12)])
}

func sameBlocks(before, after []string) (same int) {
	left := slices.Clone(after)
	for _, b := range before {
		if i := slices.Index(left, b); i >= 0 {
			left = slices.Delete(left, i, i+1)
			same++
		}
	}
	return same
}

// articleWords returns the words in the article of a page as a browser has
// them: all text but scripts, menus, buttons and what is hidden.
func articleWords(data []byte) (map[string]int, bool) {
	root, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	for _, a := range articles {
		if n := findElement(root, a[0], a[1]); n != nil {
			words := map[string]int{}
			var text strings.Builder
			articleText(&text, n)
			addWords(words, text.String())
			return words, true
		}
	}
	return nil, false
}

func findElement(n *html.Node, key, value string) *html.Node {
	if key == "" && n.Data == value {
		return n
	}
	for _, a := range n.Attr {
		if a.Key == key && (a.Val == value || key == "class" && slices.Contains(strings.Fields(a.Val), value)) {
			return n
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if found := findElement(c, key, value); found != nil {
			return found
		}
	}
	return nil
}

var silent = strings.Fields("script style svg template noscript nav button input select iframe footer")

// silentClasses are on a heading's link to itself, line numbers, the lines of
// code that mdBook hides (boring), and the like.
var silentClasses = strings.Fields("boring headerlink header-anchor hash-link sl-anchor-link td-heading-self-link linenos linenodiv line-numbers-wrapper lang visually-hidden sr-only katex-html md-source-file md-tags table-of-contents toctree-wrapper-none theme-doc-toc-mobile td-page-meta edit-link related prev-next-area page-info bottom-of-page pagination")

func articleText(text *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		text.WriteString(strings.NewReplacer("\u200b", "", "\u00ad", "").Replace(n.Data))
		return
	}
	if slices.Contains(silent, n.Data) || n.Type == html.ElementNode && pageNote.MatchString(textBelow(n, 200)) {
		return
	}
	panel := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "role" && a.Val == "tabpanel" })
	for _, a := range n.Attr {
		switch {
		case a.Key == "hidden" && !panel || a.Key == "aria-hidden" && a.Val == "true",
			a.Key == "class" && slices.ContainsFunc(strings.Fields(a.Val), func(c string) bool { return slices.Contains(silentClasses, c) }):
			return
		case a.Key == "alt" && n.Data == "img":
			text.WriteString(" " + a.Val + " ")
		}
	}
	inline := slices.Contains(strings.Fields("a abbr b cite code em i kbd mark q s small span strong sub sup u var wbr samp"), n.Data)
	if !inline {
		text.WriteByte(' ')
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		articleText(text, c)
	}
	if !inline {
		text.WriteByte(' ')
	}
}

func noteKinds(md []byte) map[string]int {
	kinds := map[string]int{}
	for _, m := range noteKind.FindAllSubmatch(md, -1) {
		kinds[strings.ToLower(string(m[1]))]++
	}
	return kinds
}

// pageNote matches what themes say about the page at the end of the article.
var pageNote = regexp.MustCompile(`(?i)^last (?:updated|modified)\b.{0,80}$`)

// noteKind matches the mark of a note, which readers see as color and icon.
var noteKind = regexp.MustCompile(`(?m)^[> ]*\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]$`)

// textBelow is the text of an element with single spaces, "" if it is longer
// than most bytes.
func textBelow(n *html.Node, most int) string {
	var text strings.Builder
	var add func(*html.Node)
	add = func(n *html.Node) {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
		for c := n.FirstChild; c != nil && text.Len() <= 2*most; c = c.NextSibling {
			add(c)
		}
	}
	add(n)
	if s := strings.Join(strings.Fields(text.String()), " "); len(s) <= most {
		return s
	}
	return ""
}

// renderedWords returns the words of Markdown as a reader sees them.
func renderedWords(md []byte) map[string]int {
	_, body, _ := bytes.Cut(md[4:], []byte("\n---\n"))
	var page bytes.Buffer
	gfm := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(renderhtml.WithUnsafe()))
	words := map[string]int{}
	body = noteKind.ReplaceAll(body, nil)
	if gfm.Convert(body, &page) != nil {
		return words
	}
	root, err := html.Parse(&page)
	if err != nil {
		return words
	}
	var text strings.Builder
	articleText(&text, root)
	addWords(words, text.String())
	return words
}
