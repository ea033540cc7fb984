package ranking

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// translated is documentation in many languages, each of which is a folder.
var translated = []struct {
	site
	languages []string
}{
	{site{"OpenTelemetry", "open-telemetry/opentelemetry.io", "dd5997c8b9fafbf72ea6b8059ade242d88b8f118", "content", nil}, strings.Fields("en bn es fr ja ko pl pt ro uk zh")},
	{site{"Astro", "withastro/docs", "741c1b89ba13cf9b4ac4087ef09dc269e113fa77", "src/content/docs", nil}, strings.Fields("en ar de es fr hi it ja ko pl pt-br ru zh-cn zh-tw")},
}

const (
	// mostHard is how many queries of a group are asked, leastHard how many
	// there must be.
	mostHard, leastHard = 250, 15
	// described is the least length of a description that is a query, in characters.
	described = 20
)

// Hard returns large sites with queries that are hard to find candidates for:
// one of all files given, with the questions about them, whose Relevant are
// files, and those with translations whose repositories are in a folder.
func Hard(ctx context.Context, folder string, files map[string][]byte, questions []eval.Query) (sets []Set, err error) {
	documents, err := documentsOf(files, ingest.Options{})
	if err != nil {
		return nil, err
	}
	pages := map[string]string{} // by file
	for _, d := range documents {
		pages[d.File] = d.Page
	}
	for i, q := range questions {
		for j, file := range q.Relevant {
			questions[i].Relevant[j] = pages[file]
		}
	}
	sets = hardSets("forty projects", documents, questions)
	for _, s := range translated {
		pages, err := checkout(ctx, filepath.Join(folder, filepath.FromSlash(s.repo)), s.commit, s.folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; clone it: git clone --bare https://github.com/%s %s", s.name, err, s.repo, filepath.Join(folder, s.repo))
		}
		var o ingest.Options
		for _, l := range s.languages {
			o.Languages = append(o.Languages, ingest.Scope{Value: l, Paths: []string{"/" + l, "/" + l + "/*"}})
		}
		if documents, err = documentsOf(pages, o); err != nil {
			return nil, err
		}
		sets = append(sets, hardSets(s.name, documents, nil)...)
	}
	return sets, nil
}

// hardSets returns a set for each group of queries of a site: those given,
// descriptions by language, titles of up to three words, and these with typing
// errors. Texts of two pages are left out.
func hardSets(name string, documents []*retrieval.Document, queries []eval.Query) (sets []Set) {
	all := map[string]map[string][]string{}
	add := func(group, text, page string) {
		if all[group] == nil {
			all[group] = map[string][]string{}
		}
		all[group][text] = append(all[group][text], page)
	}
	for _, d := range documents {
		if utf8.RuneCountInString(d.Description) >= described {
			add(strings.TrimSpace("descriptions "+d.Language), d.Description, d.Page)
		}
		if n := len(strings.Fields(d.Title)); n > 0 && n <= 3 {
			add("terms", d.Title, d.Page)
			if wrong := misspelled(d.Title); wrong != d.Title {
				add("terms with typing errors", wrong, d.Page)
			}
		}
	}
	for group, texts := range all {
		for text, pages := range texts {
			if len(pages) == 1 {
				queries = append(queries, eval.Query{ID: group + " " + text, Text: text, Group: group, Relevant: pages})
			}
		}
	}
	groups := map[string][]eval.Query{}
	for _, q := range queries {
		groups[q.Group] = append(groups[q.Group], q)
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		list := groups[group]
		if len(list) < leastHard {
			continue
		}
		slices.SortFunc(list, func(a, b eval.Query) int { return strings.Compare(a.ID, b.ID) })
		s := Set{Name: name + ", " + group, Corpus: name, Documents: documents, Grades: eval.Qrels{}, KeywordsOnly: true}
		for i, every := 0, 1+(len(list)-1)/mostHard; i < len(list); i += every {
			s.Queries = append(s.Queries, list[i])
			s.Grades[list[i].ID] = map[string]int{}
			for _, p := range list[i].Relevant {
				s.Grades[list[i].ID][eval.Page(p)] = 1
			}
		}
		sets = append(sets, s)
	}
	return sets
}

var longWord = regexp.MustCompile(`[A-Za-z]{5,}`)

// misspelled exchanges two letters in the middle of the longest word of a text,
// if that is Latin and has five letters.
func misspelled(text string) string {
	word := ""
	for _, w := range longWord.FindAllString(text, -1) {
		if len(w) > len(word) {
			word = w
		}
	}
	if word == "" {
		return text
	}
	b, at := []byte(word), len(word)/2
	b[at-1], b[at] = b[at], b[at-1]
	return strings.Replace(text, word, string(b), 1)
}
