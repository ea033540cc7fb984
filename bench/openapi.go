package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/openapi"
)

// specQuestions are questions about public API descriptions, written before any
// was searched.
//
//go:embed openapi.jsonl
var specQuestions []byte

type specQuestion struct {
	Spec, Text string
	Relevant   []string
}

// benchOpenAPI indexes each description in a folder and searches for its
// operations: by operationId, by method and path, by summary, and by questions.
func benchOpenAPI(ctx context.Context, b *bench) error {
	if b.specs == "" {
		fmt.Fprintln(os.Stderr, "bench: openapi is left out: -specs names no folder with API descriptions")
		return nil
	}
	questions := map[string][]specQuestion{}
	for s := bufio.NewScanner(bytes.NewReader(specQuestions)); s.Scan(); {
		var q specQuestion
		if err := json.Unmarshal(s.Bytes(), &q); err != nil {
			return err
		}
		questions[q.Spec] = append(questions[q.Spec], q)
	}
	files, err := filepath.Glob(filepath.Join(b.specs, "*.*"))
	if err != nil {
		return err
	}
	var rows [][]string
	var sum [8]int
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if questions[name] == nil {
			continue
		}
		row, counts, err := benchSpec(ctx, name, file, questions[name])
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		rows = append(rows, row)
		for i, n := range counts {
			sum[i] += n
		}
	}
	all := []string{"all", "", "", ""}
	for i := 1; i < len(sum); i += 2 {
		all = append(all, shareOf(sum[i-1], sum[i]))
	}
	table("API descriptions", []string{"", "MB", "operations", "read and indexed, s", "operationId first", "method and path first", "summary first", "questions, in the first three"}, append(rows, all))
	return nil
}

func shareOf(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", n, of, 100*float64(n)/float64(of))
}

func benchSpec(ctx context.Context, name, file string, questions []specQuestion) (row []string, counts [8]int, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, counts, err
	}
	d, err := openapi.Read(data)
	if err != nil {
		return nil, counts, err
	}
	x, err := embedded.Open(embedded.Options{})
	if err != nil {
		return nil, counts, err
	}
	defer x.Close()
	began := time.Now()
	in := ingest.New(ingest.Options{URL: "https://docs.acme.com"})
	r := retrieval.NewRefresher(retrieval.RefresherOptions{
		Source: &openapi.Source{File: file, Below: "reference", Renderer: "redoc"}, Ingester: in, Index: x,
	})
	if _, err := r.Refresh(ctx); err != nil {
		return nil, counts, err
	}
	took := time.Since(began)
	titles := map[string][]string{} // what else has the same summary
	heading := func(op *openapi.Operation) string { return op.Method + " " + op.Path }
	for _, op := range d.Operations {
		titles[op.Title] = append(titles[op.Title], heading(op))
	}
	find := func(text string, question bool, within int, relevant ...string) (bool, error) {
		hits, err := x.Search(ctx, retrieval.Query{Text: text, Limit: 10, Question: question})
		var found []string
		for _, h := range hits {
			page, err := x.Page(ctx, h.Document.Page)
			if err != nil || page == nil {
				return false, fmt.Errorf("page %q: %w", h.Document.Page, err)
			}
			i := slices.IndexFunc(page.Sections, func(s retrieval.Section) bool { return s.Level == 2 })
			if op := page.Sections[max(i, 0)].Heading; !slices.Contains(found, op) {
				found = append(found, op)
			}
		}
		found = found[:min(within, len(found))]
		ok := slices.ContainsFunc(found, func(op string) bool { return slices.Contains(relevant, op) })
		if !ok && os.Getenv("BENCH_MISSED") != "" {
			fmt.Fprintf(os.Stderr, "%s: %q found %q, not %q\n", name, text, found, relevant)
		}
		return ok, err
	}
	count := func(i int, ok bool, err error) error {
		counts[i+1]++
		if ok {
			counts[i]++
		}
		return err
	}
	for _, op := range d.Operations {
		if op.ID != "" {
			ok, err := find(op.ID, false, 1, heading(op))
			if err := count(0, ok, err); err != nil {
				return nil, counts, err
			}
		}
		ok, err := find(heading(op), false, 1, heading(op))
		if err := count(2, ok, err); err != nil {
			return nil, counts, err
		}
		ok, err = find(op.Title, false, 1, titles[op.Title]...)
		if err := count(4, ok, err); err != nil {
			return nil, counts, err
		}
	}
	for _, q := range questions {
		for _, want := range q.Relevant {
			if !slices.ContainsFunc(d.Operations, func(op *openapi.Operation) bool { return heading(op) == want }) {
				return nil, counts, fmt.Errorf("%q: there is no %s", q.Text, want)
			}
		}
		ok, err := find(q.Text, true, 3, q.Relevant...)
		if err := count(6, ok, err); err != nil {
			return nil, counts, err
		}
	}
	row = []string{d.Title, fmt.Sprintf("%.1f", float64(len(data))/1e6), fmt.Sprint(len(d.Operations)), fmt.Sprintf("%.1f", took.Seconds())}
	for i := 1; i < len(counts); i += 2 {
		row = append(row, shareOf(counts[i-1], counts[i]))
	}
	return row, counts, nil
}
