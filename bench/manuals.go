package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// manuals are queries about manuals of other projects, a file for each, written
// from their tables of contents before any was searched: {"text", "relevant"}.
// Those without relevant pages are not judged.
//
//go:embed manuals/*.jsonl
var manuals embed.FS

// queriesPerLanguage is how many titles of translated pages are searched by a
// reader of each language.
const queriesPerLanguage = 5

// manual is a served manual, and what was measured of it.
type manual struct {
	name      string
	server    *server
	pages     []manualPage
	listed    map[string]manualPage // by path
	bodies    map[string]string     // served pages by URL
	sections  int
	judged    int
	first     int
	top       int
	results   int
	distinct  int
	opened    int
	addresses int
	translated, wanted,
	anchors, headings int
	problems []string
	snippets []string
}

// manualPage is a page of the admin API's list.
type manualPage struct{ URL, File, Title, Language, State string }

// manualHit is a result of a search.
type manualHit struct {
	Content, Path string
	Metadata      struct{ URL, Language, Heading string }
}

// benchManuals serves each folder of -root that is named like a file of queries
// with a bare docs directive, and measures what a reader finds there.
func benchManuals(ctx context.Context, b *bench) error {
	if b.root == "" {
		fmt.Fprintln(os.Stderr, "bench: manuals is left out: -root names no folder with built manuals")
		return nil
	}
	files, err := manuals.ReadDir("manuals")
	if err != nil {
		return err
	}
	var rows [][]string
	var all manual
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".jsonl")
		root, err := filepath.Abs(filepath.Join(b.root, name))
		if err != nil {
			return err
		}
		if root, err = filepath.EvalSymlinks(root); err != nil || b.only != "" && b.only != name {
			continue // not built here
		}
		m, err := b.manual(ctx, name, root)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, m.row())
		fmt.Printf("%s\n", strings.Join(m.problems, "\n"))
		for i := 0; i < b.snippets && len(m.snippets) > 0; i++ {
			fmt.Printf("\n%s: %s\n", name, m.snippets[i*len(m.snippets)/b.snippets])
		}
		all.judged, all.first, all.top = all.judged+m.judged, all.first+m.first, all.top+m.top
		all.results, all.distinct = all.results+m.results, all.distinct+m.distinct
		all.addresses, all.opened = all.addresses+m.addresses, all.opened+m.opened
		all.headings, all.anchors = all.headings+m.headings, all.anchors+m.anchors
		all.wanted, all.translated = all.wanted+m.wanted, all.translated+m.translated
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s has no folder named like a file of bench/manuals", b.root)
	}
	all.name = "sum"
	table("Manuals of other projects", []string{
		"manual", "pages", "sections", "distinct results", "URLs that open, with their anchor", "headings with an id that have an anchor",
		"first result right", "among the first three", "reader's language first",
	}, append(rows, all.row()))
	return nil
}

func (m *manual) row() []string {
	of := func(n, all int) string {
		if all == 0 {
			return "–"
		}
		return fmt.Sprintf("%d of %d", n, all)
	}
	pages, sections := "", ""
	if m.pages != nil {
		pages, sections = fmt.Sprint(len(m.pages)), fmt.Sprint(m.sections)
	}
	return []string{
		m.name, pages, sections, of(m.distinct, m.results), of(m.opened, m.addresses), of(m.anchors, m.headings),
		of(m.first, m.judged), of(m.top, m.judged), of(m.translated, m.wanted),
	}
}

// manual measures one manual.
func (b *bench) manual(ctx context.Context, name, root string) (*manual, error) {
	text, err := manuals.ReadFile("manuals/" + name + ".jsonl")
	if err != nil {
		return nil, err
	}
	queries, err := eval.ReadQueries(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	m, err := b.openManual(ctx, name, root)
	if err != nil {
		return nil, err
	}
	defer m.server.end()
	for _, q := range queries {
		if err := m.judge(ctx, q); err != nil {
			return nil, err
		}
	}
	if err := m.readers(ctx, queries); err != nil {
		return nil, err
	}
	docs, err := readSite(root)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		if err := m.checkAnchors(root, d); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// openManual serves a folder.
func (b *bench) openManual(ctx context.Context, name, root string) (*manual, error) {
	s, err := b.startCaddy(ctx, fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t}", benchKey), fmt.Sprintf("\troot * %q\n\tdocs bench\n\tfile_server\n", root), "")
	if err != nil {
		return nil, err
	}
	m := &manual{name: name, server: s, listed: map[string]manualPage{}, bodies: map[string]string{}}
	return m, m.listPages(ctx)
}

// listPages waits until all pages are indexed and were asked for.
func (m *manual) listPages(ctx context.Context) error {
	var status struct {
		Sites []struct{ Index struct{ Sections int } }
	}
	for {
		body, err := m.server.adminAPI(ctx, http.MethodGet, "/docs/status", nil)
		if err == nil {
			err = json.Unmarshal(body, &status)
		}
		if err == nil && len(status.Sites) == 1 && status.Sites[0].Index.Sections > 0 {
			m.sections = status.Sites[0].Index.Sections
			if body, err = m.server.adminAPI(ctx, http.MethodGet, "/docs/pages/bench", nil); err == nil && !bytes.Contains(body, []byte("not asked for yet")) {
				if err = json.Unmarshal(body, &m.pages); err != nil {
					return err
				}
				break
			}
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	for _, p := range m.pages {
		if u, err := url.Parse(p.URL); err == nil {
			m.listed[u.Path] = p
		}
	}
	return nil
}

// search returns the results for a reader on a page, "" for none.
func (m *manual) search(ctx context.Context, query, on string, limit int) (hits []manualHit, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.server.addr+"/v1/search/bench", bytes.NewReader(jsonOf(map[string]any{"query": query, "pageSize": limit})))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+benchKey)
	req.Header.Set("Content-Type", "application/json")
	if on != "" {
		req.Header.Set("Referer", on)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("search for %q: %s: %s", query, res.Status, body)
	}
	if err == nil {
		err = json.Unmarshal(body, &hits)
	}
	return hits, err
}

// judge counts what a query finds.
func (m *manual) judge(ctx context.Context, q eval.Query) error {
	hits, err := m.search(ctx, q.Text, "", 10)
	if err != nil {
		return err
	}
	texts := map[string]bool{}
	var paths []string
	for _, h := range hits {
		texts[strings.Join(strings.Fields(h.Content), " ")] = true
		paths = append(paths, h.Path)
		m.snippets = append(m.snippets, h.Metadata.Heading+": "+h.Content)
		m.addresses++
		switch opens, err := m.opens(ctx, h.Metadata.URL); {
		case err != nil:
			return err
		case opens:
			m.opened++
		default:
			m.problems = append(m.problems, fmt.Sprintf("%s: %q finds %s, which does not open", m.name, q.Text, h.Metadata.URL))
		}
	}
	m.results, m.distinct = m.results+len(hits), m.distinct+len(texts)
	if len(texts) < len(hits) {
		m.problems = append(m.problems, fmt.Sprintf("%s: %q finds the same text more than once", m.name, q.Text))
	}
	if len(q.Relevant) == 0 {
		return nil
	}
	m.judged++
	rank := slices.IndexFunc(eval.Pages(paths), func(p string) bool {
		return slices.ContainsFunc(q.Relevant, func(r string) bool { return isPage(p, r) })
	})
	if rank == 0 {
		m.first++
	}
	if rank >= 0 && rank < 3 {
		m.top++
	}
	if rank != 0 {
		m.problems = append(m.problems, fmt.Sprintf("%s: %q finds %s; wanted %s (%d)", m.name, q.Text, strings.Join(paths[:min(3, len(paths))], ", "), strings.Join(q.Relevant, ", "), rank+1))
	}
	return nil
}

// isPage reports whether a page is the wanted one, or is that in the folder for
// English.
func isPage(page, wanted string) bool {
	return strings.TrimPrefix(page, "en/") == eval.Page(wanted)
}

// opens reports whether a URL is answered with a page that has its anchor.
func (m *manual) opens(ctx context.Context, link string) (bool, error) {
	u, err := url.Parse(link)
	if err != nil {
		return false, err
	}
	_, written, _ := strings.Cut(link, "#")
	id := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	body, ok := m.bodies[u.String()]
	if !ok {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return false, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			return false, err
		}
		if res.StatusCode == http.StatusOK {
			body = string(data)
		}
		m.bodies[u.String()] = body
	}
	if body == "" || id == "" {
		return body != "", nil
	}
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		return false, err
	}
	for n := range doc.Descendants() {
		for _, target := range []string{attribute(n, "id"), attribute(n, "name")} {
			if target == written || target == id {
				return true, nil
			}
		}
	}
	return false, nil
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// readers searches as a reader on a page in each language: for titles of pages
// in it, and for the manual's keywords. The first result should be in that
// language, unless its page does not exist there.
func (m *manual) readers(ctx context.Context, queries []eval.Query) error {
	languages := m.languages()
	for language, pages := range languages {
		if len(pages) < 2*queriesPerLanguage || len(languages) == 1 {
			continue
		}
		var texts []string
		for i := range queriesPerLanguage {
			texts = append(texts, pages[i*len(pages)/queriesPerLanguage].Title)
		}
		for _, q := range queries {
			if len(strings.Fields(q.Text)) < 4 { // a question shows its own language
				texts = append(texts, q.Text)
			}
		}
		for _, text := range texts {
			hits, err := m.search(ctx, text, pages[0].URL, 1)
			if err != nil {
				return err
			}
			if len(hits) == 0 {
				continue
			}
			m.wanted++
			if hits[0].Metadata.Language == language || !m.exists(hits[0], language, languages) {
				m.translated++
			} else {
				m.problems = append(m.problems, fmt.Sprintf("%s: %q finds %s for a reader of %s", m.name, text, hits[0].Path, language))
			}
		}
	}
	return nil
}

// languages are the public pages of each language.
func (m *manual) languages() map[string][]manualPage {
	languages := map[string][]manualPage{}
	for _, p := range m.pages {
		if p.Language != "" && p.State == "public" {
			languages[p.Language] = append(languages[p.Language], p)
		}
	}
	return languages
}

// exists reports whether the page of a hit exists in a language: where its path
// names the language in a folder or before the extension, or has none.
func (m *manual) exists(h manualHit, language string, languages map[string][]manualPage) bool {
	u, err := url.Parse(h.Metadata.URL)
	if err != nil {
		return false
	}
	names := func(language string) []string {
		base, _, _ := strings.Cut(language, "-")
		return []string{language, strings.ToLower(language), base}
	}
	for _, to := range names(language) {
		paths := []string{path.Join("/", to, u.Path), path.Join("/", to, u.Path) + "/"}
		for _, from := range names(h.Metadata.Language) {
			paths = append(paths, strings.Replace(u.Path, "/"+from+"/", "/"+to+"/", 1), strings.Replace(u.Path, "/"+from+"/", "/", 1), strings.Replace(u.Path, "."+from+".", "."+to+".", 1))
		}
		for _, p := range paths {
			if page, ok := m.listed[p]; ok && page.Language == language {
				return true
			}
		}
	}
	return false
}

// checkAnchors counts the headings of a page's sections that have an id in its
// HTML, on them, in them, or on the element that begins with them, and those of
// them with an anchor.
func (m *manual) checkAnchors(root string, d *retrieval.Document) error {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(d.File)))
	if err != nil {
		return err
	}
	if ext := path.Ext(d.File); ext != ".html" && ext != ".htm" {
		return nil
	}
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return err
	}
	ids := map[string]bool{} // headings with an id
	for n := range doc.Descendants() {
		if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' && hasID(n) {
			ids[headingText(n)] = true
		}
	}
	for _, s := range d.Sections {
		if heading := letters(s.Heading); heading != "" && ids[heading] {
			m.headings++
			if s.Anchor != "" {
				m.anchors++
			} else if m.headings-m.anchors <= 3 {
				m.problems = append(m.problems, fmt.Sprintf("%s: %s has no anchor for %q", m.name, d.File, s.Heading))
			}
		}
	}
	return nil
}

func hasID(heading *html.Node) bool {
	for n := range heading.Descendants() {
		if attribute(n, "id") != "" || n.Data == "a" && attribute(n, "name") != "" {
			return true
		}
	}
	if attribute(heading, "id") != "" || heading.Data == "h1" { // what is around an h1 is the page
		return attribute(heading, "id") != ""
	}
	text := headingText(heading)
	for n := heading.Parent; n != nil && n.Type == html.ElementNode && n.Data != "main" && n.Data != "body" && strings.HasPrefix(headingText(n), text); n = n.Parent {
		if attribute(n, "id") != "" {
			return true
		}
	}
	return false
}

// headingText returns the letters and digits of an element's text.
func headingText(e *html.Node) string {
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type == html.TextNode && b.Len() < 1000 {
			b.WriteString(n.Data)
		}
	}
	return letters(b.String())
}

func letters(s string) string {
	return strings.Join(strings.FieldsFunc(strings.TrimRight(s, "¶#§ \n"), func(r rune) bool { return strings.ContainsRune(" \t\n ¶#§", r) }), "")
}
