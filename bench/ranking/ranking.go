// Package ranking measures how well the embedded index orders pages: over sets
// with judgements, and over documentation of other projects, with queries that
// its own links, titles and headings give and with a set of identifiers
// written for it. Every set is split into two halves by the page that a query
// should find. The ranking is tuned on one half; the other is held out.
package ranking

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// site is documentation of another project, at one commit of its repository.
type site struct {
	name, repo, commit, folder string
	include                    []string
}

var sites = []site{
	{"hugo", "gohugoio/hugoDocs", "1c613349f4220ae84070df25979d720c43e5cfa6", "content/en", nil},
	{"rust-book", "rust-lang/book", "917544888a55e4da7109bdba8c88c893c0da70f4", "src", nil},
	{"mkdocs-material", "squidfunk/mkdocs-material", "5b36f2ac499a45905e246bc66bbee2858ef6556f", "docs", nil},
	{"vue", "vuejs/docs", "01e098a967951ea92d09b100b8e7d82c7a3369a2", "src", nil},
	{"vite", "vitejs/vite", "a98c8d95d552c6fa98ab66fb810f5b39ad5abf49", "docs", nil},
	{"starlight", "withastro/starlight", "3999be7cc18b41095d61e3b63d68ff3e6c6c050b", "docs/src/content/docs", []string{"/", "/guides/*", "/reference/*", "/components/*", "/resources/*", "/getting-started", "/manual-setup", "/environmental-impact"}},
	{"redux", "reduxjs/redux", "3084fc33bb23ab4cab4796172eafe342da4e73d9", "docs", nil},
}

// queries are those written for the sites: {"id", "text", "group",
// "relevant"}, a file for each site.
//
//go:embed queries/*.jsonl
var queries embed.FS

// depth is how many hits of a query are judged.
const depth = 30

// Run measures the sets named in args, and the sites whose repositories are in
// the folder of -repos.
func Run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("ranking", flag.ContinueOnError)
	flags.SetOutput(out)
	repos := flags.String("repos", "", "folder with clones of other projects' documentation; names the commands that make them")
	worst := flags.Int("worst", 0, "how many of the worst queries of each set to list")
	half := flags.String("half", "", "list the worst of this half only: tune or held-out")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *repos == "" && flags.NArg() == 0 {
		return errors.New("name folders of sets (corpus, queries.jsonl, qrels.tsv), or -repos FOLDER with clones of other projects' documentation:\n" + cloneCommands("FOLDER"))
	}
	r := &run{out: out, table: tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight), worst: *worst, half: *half}
	fmt.Fprintln(r.table, "set\tgroup\tqueries\tnDCG@10\ttune\theld out\tfirst\tsection first\t")
	var shared, others []scores
	for _, folder := range flags.Args() {
		s, err := r.set(ctx, folder)
		if err != nil {
			return err
		}
		shared = append(shared, s)
	}
	r.mean("mean of the sets", shared)
	if *repos != "" {
		for _, s := range sites {
			all, err := r.site(ctx, s, *repos)
			if err != nil {
				return err
			}
			others = append(others, all)
		}
		for _, g := range slices.Sorted(maps.Keys(r.groups)) {
			r.row("all sites", g, *r.groups[g])
		}
		r.mean("mean of the sites", others)
	}
	r.table.Flush()
	for _, line := range r.lines {
		fmt.Fprintln(out, line)
	}
	return nil
}

func cloneCommands(folder string) string {
	var b strings.Builder
	for _, s := range sites {
		dir := folder + "/" + path.Base(s.repo)
		fmt.Fprintf(&b, "git clone --bare https://github.com/%s %s\n", s.repo, dir)
	}
	return b.String()
}

type run struct {
	out    io.Writer
	table  *tabwriter.Writer
	worst  int
	half   string
	groups map[string]*scores // of all sites
	lines  []string           // the worst queries
}

// scores are the metrics of all queries, and of both halves. section counts
// the queries for a section whose first hit is that section.
type scores struct {
	all, tune, held eval.Metrics
	ofSection       int
	section         int
}

// judged is a query with its pages, and what was found.
type judged struct {
	eval.Query
	grades map[string]int
	found  []string
}

// heldOut reports whether a query belongs to the held-out half: one of its
// pages decides, so that the halves ask for different pages.
func heldOut(grades map[string]int) bool {
	h := fnv.New32a()
	h.Write([]byte(slices.Min(slices.Collect(maps.Keys(grades)))))
	return h.Sum32()>>7&1 == 1
}

// Set is documentation with judged queries.
type Set struct {
	Name string
	// Corpus is the folder of the pages.
	Corpus    string
	Documents []*retrieval.Document
	Queries   []eval.Query
	// Grades are those of pages, by the ID of the query.
	Grades eval.Qrels
	// KeywordsOnly is true if the queries are not for vectors.
	KeywordsOnly bool
}

// ReadSet reads a folder with queries.jsonl, qrels.tsv, and the pages in corpus,
// or in that of the folder of the same name up to its first "-".
func ReadSet(folder string) (Set, error) {
	s := Set{Name: filepath.Base(folder), Corpus: filepath.Join(folder, "corpus")}
	if _, err := os.Stat(s.Corpus); err != nil {
		base, _, _ := strings.Cut(s.Name, "-")
		s.Corpus = filepath.Join(filepath.Dir(filepath.Clean(folder)), base, "corpus")
	}
	pages, err := readFolder(s.Corpus)
	if err == nil {
		s.Documents, err = documentsOf(pages, ingest.Options{})
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", folder, err)
	}
	if s.Queries, err = read(filepath.Join(folder, "queries.jsonl"), eval.ReadQueries); err != nil {
		return s, err
	}
	s.Grades, err = read(filepath.Join(folder, "qrels.tsv"), eval.ReadQrels)
	return s, err
}

// Generated returns a folder of pages with the queries that its links, titles
// and headings give.
func Generated(folder string) (Set, error) {
	s := Set{Name: filepath.Base(folder), Corpus: folder, Grades: eval.Qrels{}}
	pages, err := readFolder(folder)
	if err == nil {
		s.Documents, err = documentsOf(pages, ingest.Options{})
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", folder, err)
	}
	s.Queries = generated(s.Documents)
	for _, q := range s.Queries {
		s.Grades[q.ID] = map[string]int{}
		for _, p := range q.Relevant {
			s.Grades[q.ID][eval.Page(p)] = 1
		}
	}
	return s, nil
}

// NDCG10 judges the hits of a query of a set.
func (s *Set) NDCG10(q eval.Query, hits []retrieval.Hit) float64 {
	return eval.Judge(s.Grades[q.ID], paths(hits)).NDCG10
}

// set measures a folder, see ReadSet.
func (r *run) set(ctx context.Context, folder string) (scores, error) {
	set, err := ReadSet(folder)
	if err != nil {
		return scores{}, err
	}
	index, err := open(ctx, set.Documents)
	if err != nil {
		return scores{}, fmt.Errorf("%s: %w", folder, err)
	}
	var list []judged
	for _, q := range set.Queries {
		list = append(list, judged{Query: q, grades: set.Grades[q.ID]})
	}
	s, err := r.measure(ctx, index, set.Name, list)
	r.row(set.Name, "", s)
	return s, err
}

func read[T any](file string, from func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(file)
	if err != nil {
		return v, err
	}
	defer f.Close()
	if v, err = from(f); err != nil {
		return v, fmt.Errorf("%s: %w", file, err)
	}
	return v, nil
}

// site measures the queries of a site by group.
func (r *run) site(ctx context.Context, s site, repos string) (all scores, err error) {
	pages, err := checkout(ctx, filepath.Join(repos, path.Base(s.repo)), s.commit, s.folder)
	if err != nil {
		return all, fmt.Errorf("%s: %w; clone it: git clone --bare https://github.com/%s %s", s.name, err, s.repo, filepath.Join(repos, path.Base(s.repo)))
	}
	documents, err := documentsOf(pages, ingest.Options{Include: s.include})
	if err != nil {
		return all, err
	}
	index, err := open(ctx, documents)
	if err != nil {
		return all, err
	}
	written, err := queries.ReadFile("queries/" + s.name + ".jsonl")
	if err != nil {
		return all, err
	}
	list, err := eval.ReadQueries(bytes.NewReader(written))
	if err != nil {
		return all, fmt.Errorf("queries/%s.jsonl: %w", s.name, err)
	}
	for _, q := range list {
		for _, p := range q.Relevant {
			if !slices.ContainsFunc(index.Documents(), func(d *retrieval.Document) bool { return eval.Page(d.Page) == eval.Page(p) }) {
				return all, fmt.Errorf("queries/%s.jsonl: query %s: the site has no page %q", s.name, q.ID, p)
			}
		}
	}
	list = append(list, generated(index.Documents())...)
	groups := map[string][]judged{}
	for _, q := range list {
		grades := map[string]int{}
		for _, p := range q.Relevant {
			grades[eval.Page(p)] = 1
		}
		groups[q.Group] = append(groups[q.Group], judged{Query: q, grades: grades})
	}
	if r.groups == nil {
		r.groups = map[string]*scores{}
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		got, err := r.measure(ctx, index, s.name, groups[g])
		if err != nil {
			return all, err
		}
		r.row(s.name, g, got)
		if r.groups[g] == nil {
			r.groups[g] = &scores{}
		}
		r.groups[g].add(got)
		all.add(got)
	}
	return all, nil
}

// checkout reads the pages in a folder of a commit, without a work tree.
func checkout(ctx context.Context, repo, commit, folder string) (map[string][]byte, error) {
	if _, err := os.Stat(repo); err != nil {
		return nil, err
	}
	list, err := git(ctx, repo, nil, "ls-tree", "-r", "-z", commit, folder+"/")
	if err != nil {
		return nil, err
	}
	var names []string
	var objects bytes.Buffer
	for entry := range strings.SplitSeq(string(list), "\x00") {
		what, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(what)
		if ext := path.Ext(name); len(fields) == 3 && (ext == ".md" || ext == ".mdx") {
			names = append(names, strings.TrimPrefix(name, folder+"/"))
			objects.WriteString(fields[2] + "\n")
		}
	}
	data, err := git(ctx, repo, &objects, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		head, rest, _ := bytes.Cut(data, []byte("\n"))
		var object, kind string
		var size int
		if _, err := fmt.Sscan(string(head), &object, &kind, &size); err != nil || size >= len(rest) {
			return nil, fmt.Errorf("%s: git answers %q", name, head)
		}
		files[name], data = rest[:size], rest[size+1:]
	}
	return files, nil
}

func git(ctx context.Context, repo string, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", repo}, args...)...)
	var problem bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(problem.String()))
	}
	return out, nil
}

// readFolder reads the pages below a folder.
func readFolder(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[name], err = os.ReadFile(filepath.Join(folder, name))
		}
		return err
	})
	return files, err
}

// documentsOf reads pages as the module does.
func documentsOf(files map[string][]byte, o ingest.Options) ([]*retrieval.Document, error) {
	if o.URL = "https://docs.test"; o.Languages == nil {
		o.Languages = []ingest.Scope{{Value: "en"}}
	}
	in := ingest.New(o)
	var documents []*retrieval.Document
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !in.Wants(name) {
			continue
		}
		d, _, err := in.Document(name, files[name])
		if err != nil || d == nil || seen[d.Page] {
			continue // the module leaves it out, too
		}
		seen[d.Page] = true
		documents = append(documents, d)
	}
	return in.Complete(documents), nil
}

// open makes an index of pages.
func open(ctx context.Context, documents []*retrieval.Document) (*embedded.Index, error) {
	index, err := embedded.Open(embedded.Options{})
	if err != nil {
		return nil, err
	}
	return index, index.Replace(ctx, documents, nil)
}

// pairsPerPage is how many headings of a page become queries.
const pairsPerPage = 5

// generated are the queries that a site's own pages give: texts of links to
// other pages, titles, and headings with their page's title. Titles and pairs
// that occur twice are left out.
func generated(documents []*retrieval.Document) (out []eval.Query) {
	for _, q := range eval.Generate(documents) {
		if q.Group == "link" {
			out = append(out, q)
		}
	}
	titles, pairs := map[string][]string{}, map[string][]string{}
	for _, d := range documents {
		if d.Title == "" {
			continue
		}
		titles[d.Title] = append(titles[d.Title], d.Page)
		n := 0
		for _, s := range d.Sections {
			if n == pairsPerPage {
				break
			}
			if s.Heading != "" && s.Anchor != "" && len(strings.Fields(s.Heading)) <= 4 && !strings.EqualFold(s.Heading, d.Title) {
				pair := d.Title + " " + s.Heading
				pairs[pair] = append(pairs[pair], d.Page+"#"+s.Anchor)
				n++
			}
		}
	}
	add := func(group string, texts map[string][]string) {
		for _, text := range slices.Sorted(maps.Keys(texts)) {
			if len(texts[text]) == 1 {
				out = append(out, eval.Query{ID: group + " " + text, Text: text, Group: group, Relevant: texts[text]})
			}
		}
	}
	add("title", titles)
	add("title and heading", pairs)
	return out
}

// measure searches for queries and scores both halves.
func (r *run) measure(ctx context.Context, index *embedded.Index, name string, list []judged) (s scores, err error) {
	var worst []judged
	for _, q := range list {
		if len(q.grades) == 0 {
			continue
		}
		hits, err := index.Search(ctx, retrieval.Query{Text: q.Text, Limit: depth})
		if err != nil {
			return s, err
		}
		q.found = paths(hits)
		m := eval.Judge(q.grades, q.found)
		s.all = sum(s.all, m)
		held := heldOut(q.grades)
		if held {
			s.held = sum(s.held, m)
		} else {
			s.tune = sum(s.tune, m)
		}
		wrong := m.NDCG10 < 1-1e-9
		if len(q.Relevant) == 1 && strings.Contains(q.Relevant[0], "#") {
			s.ofSection++
			if len(q.found) > 0 && q.found[0] == q.Relevant[0] {
				s.section++
			} else {
				wrong = true
			}
		}
		if wrong && (r.half == "" || held == (r.half == "held-out")) {
			worst = append(worst, q)
		}
	}
	slices.SortStableFunc(worst, func(a, b judged) int {
		x, y := eval.Judge(a.grades, a.found).NDCG10, eval.Judge(b.grades, b.found).NDCG10
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for _, q := range worst[:min(len(worst), r.worst)] {
		r.lines = append(r.lines, fmt.Sprintf("%s: %q finds %s; wanted %s", name, q.Text, strings.Join(q.found[:min(3, len(q.found))], ", "),
			strings.Join(slices.Sorted(maps.Keys(q.grades)), ", ")))
	}
	return s, nil
}

// paths are those of hits as judgements have them.
func paths(hits []retrieval.Hit) (out []string) {
	for _, h := range hits {
		found := cmp.Or(h.Document.Page, "index")
		if a := h.Document.Sections[h.Section].Anchor; a != "" {
			found += "#" + a
		}
		out = append(out, found)
	}
	return out
}

// sum adds metrics weighted by their queries, as means.
func sum(a, b eval.Metrics) eval.Metrics {
	n := a.Queries + b.Queries
	if n == 0 {
		return a
	}
	share := func(x, y float64) float64 { return (x*float64(a.Queries) + y*float64(b.Queries)) / float64(n) }
	return eval.Metrics{Queries: n, NDCG10: share(a.NDCG10, b.NDCG10), Success1: share(a.Success1, b.Success1)}
}

func (s *scores) add(x scores) {
	s.all, s.tune, s.held = sum(s.all, x.all), sum(s.tune, x.tune), sum(s.held, x.held)
	s.ofSection += x.ofSection
	s.section += x.section
}

func (r *run) row(name, group string, s scores) {
	section := ""
	if s.ofSection > 0 {
		section = fmt.Sprintf("%.3f", float64(s.section)/float64(s.ofSection))
	}
	fmt.Fprintf(r.table, "%s\t%s\t%d\t%.4f\t%.4f\t%.4f\t%.3f\t%s\t\n", name, group, s.all.Queries, s.all.NDCG10, s.tune.NDCG10, s.held.NDCG10, s.all.Success1, section)
}

// mean prints the mean of several rows, each with equal weight.
func (r *run) mean(name string, list []scores) {
	if len(list) == 0 {
		return
	}
	var m [3]float64
	n := 0
	for _, s := range list {
		n += s.all.Queries
		for i, x := range []eval.Metrics{s.all, s.tune, s.held} {
			m[i] += x.NDCG10 / float64(len(list))
		}
	}
	fmt.Fprintf(r.table, "%s\t\t%d\t%.4f\t%.4f\t%.4f\t\t\t\n", name, n, m[0], m[1], m[2])
}
