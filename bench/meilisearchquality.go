package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/caddy-docs/caddy-docs/bench/answers"
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
// headings give, of the sets that -sets names, and of large sites whose
// repositories are in the folder of -repositories.
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
	if b.repositories != "" {
		files, questions, err := answers.Joined(ctx, b.repositories)
		if err != nil {
			return fmt.Errorf("-repositories: %w", err)
		}
		hard, err := ranking.Hard(ctx, b.repositories, files, questions)
		if err != nil {
			return fmt.Errorf("-repositories: %w", err)
		}
		sets = append(sets, hard...)
	}
	var rows [][]string
	var opened *pair
	defer func() { opened.close(m) }()
	for _, s := range sets {
		if opened == nil || opened.corpus != s.Corpus {
			opened.close(m)
			if opened, err = m.open(ctx, &s); err != nil {
				return err
			}
		}
		row := []string{s.Name}
		for _, vectors := range []bool{false, true} {
			if vectors && s.KeywordsOnly {
				row = append(row, "", "", "", "")
				continue
			}
			means, n, err := opened.compare(ctx, &s, vectors, b.short)
			if err != nil {
				return err
			}
			if !vectors {
				row = append(row, fmt.Sprint(opened.sections), fmt.Sprint(n))
			}
			inside, there, server := means[0], means[1], means[2]
			row = append(row, fmt.Sprintf("%.3f", inside), fmt.Sprintf("%.3f", there),
				result(there-inside, fmt.Sprintf("≥ −%v", maxLoss), there-inside >= -maxLoss), fmt.Sprintf("%.3f", server))
		}
		rows = append(rows, row)
	}
	table(fmt.Sprintf("nDCG@10 of the same pages and vectors, in the process and in Meilisearch %s", m.version(ctx)),
		[]string{
			"set", "sections", "queries", "keywords, in the process", "Meilisearch", "difference", "ranking server",
			"with vectors, in the process", "Meilisearch", "difference", "ranking server",
		}, rows)
	return nil
}

// pair is one corpus in both indexes, the latter in the module's order and in the
// server's.
type pair struct {
	corpus        string
	sections      int
	inside        *embedded.Index
	there, server *meilisearch.Index
}

// qualitySite is the site of the compared indexes.
const qualitySite = "benchquality"

func (m *meilisearchServer) open(ctx context.Context, s *ranking.Set) (*pair, error) {
	p := &pair{corpus: s.Corpus}
	vectors := make([][][]float32, len(s.Documents))
	for i, d := range s.Documents {
		p.sections += len(d.Sections)
		for _, section := range d.Sections {
			if !s.KeywordsOnly {
				vectors[i] = append(vectors[i], wordVector(d.Title+" "+section.Heading+" "+section.Text))
			}
		}
	}
	of := func(i int) [][]float32 { return vectors[i] }
	if s.KeywordsOnly {
		of = nil
	}
	var err error
	if p.inside, err = embedded.Open(embedded.Options{}); err != nil {
		return nil, err
	}
	if err := p.inside.Replace(ctx, s.Documents, of); err != nil {
		return nil, err
	}
	for site, to := range map[string]**meilisearch.Index{qualitySite: &p.there, qualitySite + "server": &p.server} {
		o := meilisearch.Options{URLs: []string{m.url}, Key: m.key, Site: site, ServerRanking: to == &p.server, Log: slog.New(slog.DiscardHandler)}
		if *to, err = meilisearch.Open(o); err != nil {
			return nil, err
		}
		if err := (*to).Replace(ctx, s.Documents, of); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// compare returns the mean nDCG@10 of all indexes for n queries: with short,
// for every fourth.
func (p *pair) compare(ctx context.Context, s *ranking.Set, vectors, short bool) (means [3]float64, n int, err error) {
	for i, q := range s.Queries {
		if len(s.Grades[q.ID]) == 0 || short && i%4 > 0 {
			continue
		}
		search := retrieval.Query{Text: q.Text, Limit: 30}
		if vectors {
			search.Vector = wordVector(q.Text)
		}
		n++
		for j, index := range []retrieval.Index{p.inside, p.there, p.server} {
			hits, err := index.Search(ctx, search)
			if err != nil {
				return means, 0, err
			}
			means[j] += (s.NDCG10(q, hits) - means[j]) / float64(n)
		}
	}
	return means, n, nil
}

func (p *pair) close(m *meilisearchServer) {
	if p == nil {
		return
	}
	_ = p.there.Close()
	_ = p.server.Close()
	_ = p.inside.Close()
	m.drop(qualitySite)
	m.drop(qualitySite + "server")
}
