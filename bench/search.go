package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// searchSite is a site that searches are measured on.
type searchSite struct {
	name      string
	sections  int
	root      string
	questions []string
}

// maxTargetSections is the size of a site up to which the targets hold.
const maxTargetSections = 15000

// result compares a figure with its target, if the site has one.
func (s *searchSite) result(figure float64, target string, met bool) string {
	if s.sections > maxTargetSections {
		return number(figure)
	}
	return result(figure, target, met)
}

func benchSearch(ctx context.Context, b *bench) error {
	sites, err := b.searchSites()
	if err != nil {
		return err
	}
	main := sites[0]
	for _, s := range sites {
		if s.sections <= 10000 {
			main = s
		}
	}
	costs := map[string]*cost{}
	for _, s := range sites {
		costs[s.name] = &cost{series: series{}}
	}
	if b.only == "" || b.only == "index" {
		if err := b.benchIndex(ctx, sites, costs); err != nil {
			return err
		}
	}
	if b.only == "" || b.only == "restart" || b.only == "endpoint" {
		for _, s := range sites {
			if err := b.benchEndpoint(ctx, s, costs[s.name], s == main); err != nil {
				return err
			}
		}
	}
	b.costTable(sites, costs)
	return nil
}

func (b *bench) searchSites() ([]*searchSite, error) {
	if b.root != "" {
		root, err := filepath.Abs(b.root)
		if err != nil {
			return nil, err
		}
		docs, err := readSite(root)
		if err != nil {
			return nil, err
		}
		s := &searchSite{name: filepath.Base(root), root: root}
		for _, d := range docs {
			s.sections += len(d.Sections)
			if b.queries == "" && d.Description != "" {
				s.questions = append(s.questions, d.Description)
			}
		}
		if b.queries != "" {
			s.questions, err = readQueries(b.queries)
		}
		if err == nil && len(s.questions) == 0 {
			err = fmt.Errorf("the pages of %s have no descriptions to search for; name a file with -queries", root)
		}
		return []*searchSite{s}, err
	}
	var out []*searchSite
	for w := range strings.SplitSeq(b.sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil || n < 10 || n > 200000 {
			return nil, fmt.Errorf("-sizes: %q is no number of sections from 10 to 200000", w)
		}
		if b.short && n > 10000 {
			continue
		}
		root, questions, err := b.generated(n)
		if err != nil {
			return nil, err
		}
		out = append(out, &searchSite{name: strconv.Itoa(n), sections: n, root: root, questions: questions})
	}
	return out, nil
}

// cost has the figures of a site.
type cost struct {
	series
	disk            int64
	embedded, bleve indexed
}

// benchIndex makes both indexes of each site, each in its own process.
func (b *bench) benchIndex(ctx context.Context, sites []*searchSite, costs map[string]*cost) error {
	for range b.rounds {
		for _, s := range sites {
			c := costs[s.name]
			for _, engine := range []string{"embedded", "bleve"} {
				out, err := b.indexOnce(ctx, engine, s.root)
				if err != nil {
					return err
				}
				c.add(engine, out.Index.Seconds())
				c.add("read", out.Read.Seconds())
				if engine == "bleve" {
					c.bleve = out
				} else {
					c.embedded = out
				}
			}
		}
	}
	var rows [][]string
	for _, s := range sites {
		c := costs[s.name]
		r := c.ratio("embedded", "bleve")
		rows = append(rows, []string{
			s.name, fmt.Sprint(c.embedded.Sections), number(c.median("read")), number(c.median("embedded")), number(c.median("bleve")),
			s.result(r, "≤ 1", r <= 1), number(float64(c.embedded.Disk) / 1e6), number(float64(c.bleve.Disk) / 1e6),
		})
	}
	table("Cold index, a process each: this project and bleve 2.6.1's builder (nothing stored, no positions)",
		[]string{"site", "sections", "reading the pages, s", "index, s", "bleve, s", "index ÷ bleve", "disk, MB (texts included)", "bleve, MB (without)"}, rows)
	return nil
}

func (b *bench) indexOnce(ctx context.Context, engine, root string) (out indexed, err error) {
	dir, err := os.MkdirTemp(b.dir, "index-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	p, err := b.self(ctx, "index", engine, root, dir)
	if err != nil {
		return out, err
	}
	<-p.done
	p.end()
	text, err := os.ReadFile(p.log)
	if err != nil {
		return out, err
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &out); err != nil {
		return out, fmt.Errorf("index %s: %w\n%s", engine, err, text)
	}
	if out.Found == 0 {
		return out, fmt.Errorf("index %s of %s finds nothing", engine, root)
	}
	return out, nil
}

// costTable prints the costs by size.
func (b *bench) costTable(sites []*searchSite, costs map[string]*cost) {
	if len(sites) < 2 || b.only != "" {
		return
	}
	var rows [][]string
	at := map[int]float64{}
	for _, s := range sites {
		c := costs[s.name]
		at[s.sections] = c.median("p99")
		rows = append(rows, []string{
			fmt.Sprint(s.sections), number(c.median("read")), number(c.median("embedded")), number(c.median("cold start")), number(c.median("restart")),
			number(c.median("RSS")), number(float64(c.disk) / 1e6), number(c.median("p50")), number(c.median("p99")), number(c.median("rate")),
		})
	}
	table("Cost against size", []string{"sections", "reading the pages, s", "index, s", "cold start, s", "restart, ms", "RSS, MB", "disk, MB", "p50, ms", "p99, ms", "answers/s, 8 clients"}, rows)
	if at[10000] > 0 && at[50000] > 0 {
		r := ratio(at[50000], at[10000])
		fmt.Printf("\np99 at 50,000 sections ÷ at 10,000: %s\n", result(r, "≤ 5", r <= 5))
	}
}
