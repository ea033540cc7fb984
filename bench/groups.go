package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/bench/ranking"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// groupSections is the size of the generated pages that are cut into sites.
const groupSections = 50000

// unloadedAfter is how long after the last search the indexes of folders' sites
// have left memory.
const unloadedAfter = 75 * time.Second

// cut is the pages of a folder as one site, and as many.
type cut struct {
	root, parent string
	sites, pages int
}

// benchGroups compares groups of sites with the same pages as one site.
func benchGroups(ctx context.Context, b *bench) error {
	folders, err := filepath.Glob(b.sets)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, folder := range folders {
		set, err := ranking.ReadSet(folder)
		if err != nil {
			return err
		}
		row := []string{set.Name, fmt.Sprint(len(set.Documents)), fmt.Sprint(len(set.Queries))}
		for i, sites := range []int{10, 200} {
			one, group, err := b.groupQuality(ctx, &set, sites)
			if err != nil {
				return fmt.Errorf("%s: %w", folder, err)
			}
			if i == 0 {
				row = append(row, fmt.Sprintf("%.4f", one))
			}
			word := "met"
			if group-one < -.01 || group-one > .01 {
				word = "**missed**"
			}
			row = append(row, fmt.Sprintf("%+.4f: %s (target within 0.01)", group-one, word))
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		table("nDCG@10 of groups, above that of the same pages as one site", []string{"set", "pages", "queries", "one site", "10 sites", "200 sites"}, rows)
	}
	if b.only == "quality" {
		return nil
	}
	return b.groupCosts(ctx)
}

// cutInto puts each page of a folder into one of many sites.
func (b *bench) cutInto(root string, sites int) (*cut, error) {
	parent, err := os.MkdirTemp(b.dir, "cut-")
	if err != nil {
		return nil, err
	}
	c := &cut{root: root, parent: parent, sites: sites}
	used := map[string]bool{}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(below))
		site := fmt.Sprintf("part-%d", int(sum.Sum32())%sites)
		used[site] = true
		c.pages++
		to := filepath.Join(parent, site, below)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o600)
	})
	c.sites = len(used)
	return c, err
}

// serve starts Caddy with some of a site with all pages, the sites that they are
// cut into, and the group of those.
func (b *bench) serve(ctx context.Context, c *cut, data, addr string, whole, parts, group bool) (*server, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	options := "\tdocs {\n\t\tkey " + benchKey + " {\n\t\t\torganization bench\n\t\t}\n"
	var handlers, names string
	if whole {
		names += " whole"
		options += fmt.Sprintf("\t\tsite whole {\n\t\t\troot %q\n\t\t\turl http://whole.test:%s\n\t\t\torganization bench\n\t\t}\n", c.root, port)
		handlers += fmt.Sprintf("}\nhttp://whole.test:%s {\n\troot * %q\n\tfile_server\n", port, c.root)
	}
	if parts {
		options += fmt.Sprintf("\t\tsites %s/* {\n\t\t\turl http://{site}.docs.test:%s\n\t\t\torganization bench\n\t\t}\n", c.parent, port)
		handlers += fmt.Sprintf("}\nhttp://*.docs.test:%s {\n\troot * %s/{labels.2}\n\tfile_server\n", port, c.parent)
	}
	if group {
		names += " group"
		options += fmt.Sprintf("\t\tgroup %s {\n\t\t\tsites part-*\n\t\t\torganization bench\n\t\t}\n", "group")
	}
	search := ""
	if names != "" {
		search = "\tsearch" + names + " {\n\t\trate_limit organization 100000 1s\n\t\trate_limit ip 100000 1s\n\t}\n"
	}
	return b.startCaddy(ctx, options+"\t}", search+"\trespond 404\n"+strings.TrimSuffix(handlers, "\n"), data)
}

// publicPages waits until a site, or all together, have so many public pages.
func (s *server) publicPages(ctx context.Context, name string, pages int) error {
	for {
		var status struct {
			Sites []struct {
				Name  string
				Pages *struct{ Public int }
			}
		}
		body, err := s.adminAPI(ctx, http.MethodGet, "/docs/status", nil)
		if err == nil { // else it is starting
			err = json.Unmarshal(body, &status)
		}
		public := 0
		for _, site := range status.Sites {
			if site.Pages != nil && (name == "" || name == site.Name) {
				public += site.Pages.Public
			}
		}
		if err == nil && public >= pages {
			return nil
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// groupQuality returns the mean nDCG@10 of a set as one site, and as a group.
func (b *bench) groupQuality(ctx context.Context, set *ranking.Set, sites int) (one, group float64, err error) {
	c, err := b.cutInto(set.Corpus, sites)
	if err != nil {
		return 0, 0, err
	}
	addr, err := freeAddress()
	if err != nil {
		return 0, 0, err
	}
	srv, err := b.serve(ctx, c, "", addr, true, true, true)
	if err != nil {
		return 0, 0, err
	}
	defer srv.end()
	for _, name := range []string{"whole", "group"} {
		if err := srv.publicPages(ctx, name, len(set.Documents)); err != nil {
			return 0, 0, err
		}
	}
	mean := func(name string) (sum float64, err error) {
		for _, q := range set.Queries {
			found, err := srv.found(ctx, name, q.Text)
			if err != nil {
				return 0, err
			}
			sum += eval.Judge(set.Grades[q.ID], eval.Pages(found)).NDCG10
		}
		return sum / float64(len(set.Queries)), nil
	}
	if one, err = mean("whole"); err == nil {
		group, err = mean("group")
	}
	return one, group, err
}

// found returns the paths that a search finds, in a group without their sites.
func (s *server) found(ctx context.Context, site, query string) (paths []string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/v1/search/"+site, bytes.NewReader(jsonOf(map[string]any{"query": query, "pageSize": 50, "fields": []string{}})))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+benchKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var hits []struct {
		Path     string
		Metadata struct{ Site string }
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("searching %s for %q: %s", site, query, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(&hits); err != nil {
		return nil, err
	}
	for _, h := range hits {
		paths = append(paths, strings.TrimPrefix(strings.TrimPrefix(h.Path, h.Metadata.Site), "/"))
	}
	return paths, nil
}

// groupCosts measures latency, memory and starts of generated sites.
func (b *bench) groupCosts(ctx context.Context) error {
	sections := groupSections
	if b.short {
		sections /= 10
	}
	root, questions, err := b.generated(sections)
	if err != nil {
		return err
	}
	head := []string{""}
	rows := [][]string{
		{"p50, one site, ms"},
		{"p50, group, ms"},
		{"p50, group ÷ one site"},
		{"p95, one site, ms"},
		{"p95, group, ms"},
		{"p95, group ÷ one site"},
		{"first start with the group, until all pages are found, s"},
		{"restart, s"},
		{"heap and stacks: one site, MB"},
		{"the sites alone, not searched for a minute, MB"},
		{"the sites and the group, after the start, MB"},
		{"the same, the sites not searched for a minute, MB"},
		{"disk: the sites, MB"},
		{"disk: the sites and the group, MB"},
	}
	for _, sites := range []int{10, 200} {
		c, err := b.cutInto(root, sites)
		if err != nil {
			return err
		}
		s, err := b.groupCost(ctx, c, questions)
		if err != nil {
			return err
		}
		head = append(head, fmt.Sprintf("%d sites", c.sites))
		p50, p95 := s.median("group p50"), s.median("group p95")
		for i, figure := range []string{
			number(s.median("whole p50")), result(p50, "≤ 2", p50 <= 2), number(s.ratio("group p50", "whole p50")),
			number(s.median("whole p95")), result(p95, "≤ 5", p95 <= 5), number(s.ratio("group p95", "whole p95")),
			number(s.median("first start")), number(s.median("restart")),
			number(s.median("whole MB")), number(s.median("sites idle MB")), number(s.median("group MB")), number(s.median("group idle MB")),
			number(s.median("sites disk MB")), number(s.median("group disk MB")),
		} {
			rows[i] = append(rows[i], figure)
		}
		if err := os.RemoveAll(c.parent); err != nil {
			return err
		}
	}
	table(fmt.Sprintf("Groups: %d sections in a group of sites, and the same pages as one site", sections), head, rows)
	return nil
}

func (b *bench) groupCost(ctx context.Context, c *cut, questions []string) (series, error) {
	s := series{}
	addr, err := freeAddress() // one for all: another URL is another site
	if err != nil {
		return nil, err
	}
	run := func(data string, whole, parts, group bool, measured func(*server) error) error {
		srv, err := b.serve(ctx, c, data, addr, whole, parts, group)
		if err != nil {
			return err
		}
		defer srv.end()
		pages := 0
		for _, there := range []bool{whole, parts, group} {
			if there {
				pages += c.pages
			}
		}
		if err := srv.publicPages(ctx, "", pages); err != nil {
			return err
		}
		return measured(srv)
	}
	held := func(name string) func(*server) error {
		return func(srv *server) error {
			n, err := srv.held(ctx)
			s.add(name, float64(n)/1e6)
			return err
		}
	}
	one, many := filepath.Join(c.parent+"-one"), filepath.Join(c.parent+"-many")
	for _, dir := range []string{one, many} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	}
	if err := run(one, true, false, false, held("whole MB")); err != nil {
		return nil, err
	}
	idle := func(name string) func(*server) error {
		return func(srv *server) error {
			if err := held(name + " MB")(srv); err != nil {
				return err
			}
			if err := pause(ctx, unloadedAfter); err != nil {
				return err
			}
			return held(name + " idle MB")(srv)
		}
	}
	if err := run(many, false, true, false, idle("sites")); err != nil {
		return nil, err
	}
	s.add("sites disk MB", float64(size(many))/1e6)
	if err := os.RemoveAll(many); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(many, 0o755); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := run(many, false, true, true, func(srv *server) error {
		s.add("first start", time.Since(begin).Seconds())
		return idle("group")(srv)
	}); err != nil {
		return nil, err
	}
	s.add("group disk MB", float64(size(many))/1e6)
	err = run(many, true, true, true, func(srv *server) error {
		var requests [2][][]byte
		names := []string{"whole", "group"}
		for i, name := range names {
			for _, q := range questions {
				requests[i] = append(requests[i], post("/v1/search/"+name, srv.addr, jsonOf(map[string]any{"query": q, "pageSize": 10})))
			}
			if _, err := askAll(ctx, srv.addr, requests[i], 1, b.seconds(2)); err != nil {
				return err
			}
		}
		for range b.rounds {
			for i, name := range names {
				a, err := askAll(ctx, srv.addr, requests[i], 1, b.seconds(4))
				if err != nil {
					return err
				}
				s.add(name+" p50", ms(quantile(a.took, .5)))
				s.add(name+" p95", ms(quantile(a.took, .95)))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	begin = time.Now()
	return s, run(many, false, true, true, func(*server) error {
		s.add("restart", time.Since(begin).Seconds())
		return nil
	})
}
