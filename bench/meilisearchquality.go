package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

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
	var rows, costs [][]string
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
			c, err := opened.compare(ctx, &s, vectors, b.short)
			if err != nil {
				return err
			}
			if !vectors {
				row = append(row, fmt.Sprint(opened.sections), fmt.Sprint(len(c.took)))
			}
			inside, there, server := c.means[0], c.means[1], c.means[2]
			p99, most := quantile(c.took, .99), quantile(c.received, 1)
			costs = append(costs, []string{
				s.Name, map[bool]string{false: "keywords", true: "with vectors"}[vectors], number(ms(quantile(c.took, .5))),
				result(ms(p99), "≤ 100", p99 <= 100*time.Millisecond), number(float64(quantile(c.received, .5)) / 1e3), result(float64(most)/1e3, "≤ 60", most <= 60_000),
			})
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
	table("Searches of the module in that server, one at a time, and what it sends for each",
		[]string{"set", "by", "p50, ms", "p99, ms", "kB, median", "kB, most"}, costs)
	return nil
}

// pair is one corpus in both indexes, the latter in the module's order and in the
// server's.
type pair struct {
	corpus        string
	sections      int
	inside        *embedded.Index
	there, server *meilisearch.Index
	// sent is how many bytes the server has sent to there.
	sent  atomic.Int64
	proxy *httptest.Server
}

// compared is what a pair did with the queries of a set.
type compared struct {
	means    [3]float64 // nDCG@10 of all indexes
	took     []time.Duration
	received []int64 // bytes
}

// countedBody counts what is read of a body.
type countedBody struct {
	io.ReadCloser
	total *atomic.Int64
}

func (c countedBody) Read(p []byte) (n int, err error) {
	n, err = c.ReadCloser.Read(p)
	c.total.Add(int64(n))
	return n, err
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
	target, err := url.Parse(m.url)
	if err != nil {
		return nil, err
	}
	p.proxy = httptest.NewServer(&httputil.ReverseProxy{
		// The server sends compressed answers in small packets, which delays them.
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: func(r *http.Response) error {
			r.Body = countedBody{r.Body, &p.sent}
			return nil
		},
	})
	if p.inside, err = embedded.Open(embedded.Options{}); err != nil {
		return nil, err
	}
	if err := p.inside.Replace(ctx, s.Documents, of); err != nil {
		return nil, err
	}
	for site, to := range map[string]**meilisearch.Index{qualitySite: &p.there, qualitySite + "server": &p.server} {
		o := meilisearch.Options{URLs: []string{p.proxy.URL}, Key: m.key, Site: site, ServerRanking: to == &p.server, Log: slog.New(slog.DiscardHandler), Timeouts: meilisearch.Timeouts{Server: time.Minute, Search: time.Minute}}
		if *to, err = meilisearch.Open(o); err != nil {
			return nil, err
		}
		if err := (*to).Replace(ctx, s.Documents, of); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// compare searches with the queries of a set: with short, with every fourth.
func (p *pair) compare(ctx context.Context, s *ranking.Set, vectors, short bool) (c compared, err error) {
	for i, q := range s.Queries {
		if len(s.Grades[q.ID]) == 0 || short && i%4 > 0 {
			continue
		}
		search := retrieval.Query{Text: q.Text, Limit: 30}
		if vectors {
			search.Vector = wordVector(q.Text)
		}
		for j, index := range []retrieval.Index{p.inside, p.there, p.server} {
			began, sent := time.Now(), p.sent.Load()
			hits, err := index.Search(ctx, search)
			if err != nil {
				return c, err
			}
			if index == retrieval.Index(p.there) {
				c.took, c.received = append(c.took, time.Since(began)), append(c.received, p.sent.Load()-sent)
			}
			c.means[j] += s.NDCG10(q, hits)
		}
	}
	for j := range c.means {
		c.means[j] /= float64(max(len(c.took), 1))
	}
	return c, nil
}

func (p *pair) close(m *meilisearchServer) {
	if p == nil {
		return
	}
	_ = p.there.Close()
	_ = p.server.Close()
	_ = p.inside.Close()
	p.proxy.Close()
	m.drop(qualitySite)
	m.drop(qualitySite + "server")
}
