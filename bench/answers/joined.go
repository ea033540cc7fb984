package answers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/caddy-docs/caddy-docs/retrieval/eval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// Joined makes one site of all public sites, whose repositories are in a folder.
// It returns the files without translations, each site's in a folder with its
// name, and the questions about them, whose Relevant are files.
func Joined(ctx context.Context, folder string) (files map[string][]byte, questions []eval.Query, err error) {
	sites, err := readSites()
	if err != nil {
		return nil, nil, err
	}
	files = map[string][]byte{}
	for _, s := range sites {
		dir := filepath.Join(folder, filepath.FromSlash(s.Repository))
		if _, err := os.Stat(dir); err != nil {
			return nil, nil, fmt.Errorf("%w; the suite answers -public fetches it", err)
		}
		options := ingest.Options{URL: s.url()}
		for _, l := range s.Languages {
			options.Exclude = append(options.Exclude, "/"+l, "/"+l+"/*")
		}
		in := ingest.New(options)
		of, err := s.files(ctx, dir, in)
		if err != nil {
			return nil, nil, err
		}
		for name, data := range of {
			files[s.Name+"/"+name] = data
		}
	}
	all, err := readPublic[question]("questions.jsonl")
	for i, q := range all {
		query := eval.Query{ID: fmt.Sprint("question ", i), Text: q.Question, Group: "natural questions"}
		for _, at := range append([]question{q}, q.Also...) {
			if len(at.Lines) > 0 || len(at.Facts) > 0 {
				query.Relevant = append(query.Relevant, q.Site+"/"+at.Path)
			}
		}
		if len(query.Relevant) > 0 {
			questions = append(questions, query)
		}
	}
	return files, questions, err
}
