package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/caddy-docs/caddy-docs/bench/ranking"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// maxLoss is how much lower than that of the embedded index the nDCG@10 of
// Meilisearch may be.
const maxLoss = .02

// benchQuality compares the order of results in Meilisearch with that in the
// embedded index: of the manual, with the queries that its links, titles and
// headings give, and of the sets that -sets names.
func (b *bench) benchQuality(ctx context.Context, m *meilisearchServer) error {
	manual, err := ranking.Generated("../docs")
	if err != nil {
		return err
	}
	manual.Name = "the manual"
	sets := []ranking.Set{manual}
	folders, err := filepath.Glob(b.sets)
	if err != nil {
		return fmt.Errorf("-sets: %w", err)
	}
	if b.sets != "" && len(folders) == 0 {
		return fmt.Errorf("-sets: there is no folder %q", b.sets)
	}
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		s, err := ranking.ReadSet(folder)
		if err != nil {
			return err
		}
		sets = append(sets, s)
	}
	var rows [][]string
	var opened *pair
	defer func() { opened.close(m) }()
	for _, s := range sets {
		if opened == nil || opened.corpus != s.Corpus {
			opened.close(m)
			if opened, err = m.open(ctx, s.Corpus, s.Documents); err != nil {
				return err
			}
		}
		row := []string{s.Name}
		for _, vectors := range []bool{false, true} {
			inside, there, n, err := opened.compare(ctx, &s, vectors, b.short)
			if err != nil {
				return err
			}
			if !vectors {
				row = append(row, fmt.Sprint(n))
			}
			row = append(row, fmt.Sprintf("%.3f", inside), fmt.Sprintf("%.3f", there), result(there-inside, fmt.Sprintf("≥ −%v", maxLoss), there-inside >= -maxLoss))
		}
		rows = append(rows, row)
	}
	table(fmt.Sprintf("nDCG@10 of the same pages and vectors, in the process and in Meilisearch %s", m.version(ctx)),
		[]string{"set", "queries", "keywords, in the process", "Meilisearch", "difference", "with vectors, in the process", "Meilisearch", "difference"}, rows)
	return nil
}

// pair is one corpus in both indexes.
type pair struct {
	corpus string
	inside *embedded.Index
	there  *meilisearch.Index
}

// qualitySite is the site of the compared indexes.
const qualitySite = "benchquality"

func (m *meilisearchServer) open(ctx context.Context, corpus string, documents []*retrieval.Document) (*pair, error) {
	vectors := make([][][]float32, len(documents))
	for i, d := range documents {
		for _, s := range d.Sections {
			vectors[i] = append(vectors[i], wordVector(d.Title+" "+s.Heading+" "+s.Text))
		}
	}
	p := &pair{corpus: corpus}
	var err error
	if p.inside, err = embedded.Open(embedded.Options{}); err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	if p.there, err = meilisearch.Open(meilisearch.Options{URLs: []string{m.url}, Key: m.key, Site: qualitySite, Log: quiet}); err != nil {
		return nil, err
	}
	of := func(i int) [][]float32 { return vectors[i] }
	if err = p.inside.Replace(ctx, documents, of); err == nil {
		err = p.there.Replace(ctx, documents, of)
	}
	return p, err
}

// compare returns the mean nDCG@10 of both indexes for n queries: with short,
// for every fourth.
func (p *pair) compare(ctx context.Context, s *ranking.Set, vectors, short bool) (inside, there float64, n int, err error) {
	for i, q := range s.Queries {
		if len(s.Grades[q.ID]) == 0 || short && i%4 > 0 {
			continue
		}
		search := retrieval.Query{Text: q.Text, Limit: 30}
		if vectors {
			search.Vector = wordVector(q.Text)
		}
		for index, sum := range map[retrieval.Index]*float64{p.inside: &inside, p.there: &there} {
			hits, err := index.Search(ctx, search)
			if err != nil {
				return 0, 0, 0, err
			}
			*sum += s.NDCG10(q, hits)
		}
		n++
	}
	return ratio(inside, float64(n)), ratio(there, float64(n)), n, nil
}

func (p *pair) close(m *meilisearchServer) {
	if p == nil {
		return
	}
	_ = p.there.Close()
	_ = p.inside.Close()
	m.drop(qualitySite)
}
