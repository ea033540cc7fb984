// Command bench compares this module with other programs. They take turns in
// the same run, because absolute figures of a machine change from hour to hour
// and ratios hardly do.
//
//	go -C bench run .                    # everything, about 20 minutes
//	go -C bench run . search             # index and endpoint; bleve, MiniSearch and Pagefind
//	go -C bench run . meilisearch        # quality, latency and a large site in Meilisearch, if MEILISEARCH_BIN names it
//	go -C bench run . stream             # replies; reverse_proxy and the AI SDK on Node
//	go -C bench run . sites              # 1,000 sites in a folder
//	go -C bench run . groups             # groups of sites beside the same pages as one site
//	go -C bench run . insights           # the dashboard's queries over a million events
//	go -C bench run . input              # CPU time of bad input
//	go -C bench run . locks              # asking for pages as a stranger and as a reader
//	go -C bench run . evidence           # pages of built sites (-sets) that are proven public
//	go -C bench run . manuals            # what readers find in built manuals of other projects (-root)
//	go -C bench run . languages          # what readers of translations find in other projects' documentation (-repositories)
//	go -C bench run . openapi            # operations of public API descriptions (-specs)
//	go -C bench run . agents             # tokens and latency of the MCP server's tools, over the manual
//	go -C bench run . widget             # the widget in Chromium; DocSearch and Pagefind's Component UI
//	go -C bench run . answers            # links and follow-up questions, over the manual
//	go -C bench run . ranking            # nDCG@10 on other projects' documentation and on your own sets
//	go -C bench run . moved GITDIR:FOLDER... # where moved pages are found, over histories of documentation
//	go -C bench run . markdown FOLDER... # words lost and gained when pages are written as Markdown
//
// With -against REV, any of them also runs as of another commit, in turns with
// this one, and each figure is printed with the other's and their ratio:
//
//	go -C bench run . stream -only 1 -against v0.1.0
//
// With -write FILE, the tables are put into their places in a file as well:
//
//	go -C bench run . -write ../docs/benchmarks.md
//
// It prints Markdown tables with the date, the machine and the command. It
// needs Go and Linux, and Node with npm for MiniSearch, Pagefind, DocSearch and
// the AI SDK, which are left out otherwise. All traffic stays on the loopback
// interface, all processes end with the command, and all files are in a
// temporary directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/caddy-docs/caddy-docs/bench/ranking"
)

// bench is one run of the command.
type bench struct {
	rounds  int
	short   bool
	only    string
	root    string
	queries string
	sizes   string
	sites   int
	// sections is the size of the large site of the meilisearch suite.
	sections int
	sets     string
	specs    string
	snippets int
	// repositories is a folder with those of public documentation.
	repositories string
	profile      string

	dir   string // temporary
	caddy string // the binary, "" before it is built
	node  string // the directory of the Node peers, "" without Node
}

// suites are in the order in which they run.
var suites = []struct {
	name string
	run  func(context.Context, *bench) error
}{
	{"input", benchInput},
	{"search", benchSearch},
	{"sites", benchSites},
	{"groups", benchGroups},
	{"stream", benchStream},
	{"meilisearch", benchMeilisearch},
	{"locks", benchLocks},
	{"evidence", benchEvidence},
	{"manuals", benchManuals},
	{"languages", benchLanguages},
	{"openapi", benchOpenAPI},
	{"insights", benchInsights},
	{"agents", benchAgents},
	{"widget", benchWidget},
	{"answers", func(ctx context.Context, _ *bench) error { return runAnswers(ctx, nil) }},
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == childRole {
		if err := child(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if i := slices.Index(args, "-against"); i >= 0 && i+1 < len(args) {
		return against(ctx, args[i+1], slices.Delete(slices.Clone(args), i, i+2), os.Stdout)
	}
	if i := slices.Index(args, "-write"); i >= 0 && i+1 < len(args) {
		return write(ctx, args[i+1], slices.Delete(slices.Clone(args), i, i+2), os.Stdout)
	}
	if len(args) > 0 && args[0] == "markdown" {
		return runMarkdown(args[1:])
	}
	if len(args) > 0 && args[0] == "moved" {
		return runMoved(ctx, args[1:])
	}
	if len(args) > 0 && args[0] == "ranking" {
		return ranking.Run(ctx, args[1:], os.Stdout)
	}
	if len(args) > 0 && args[0] == "answers" {
		return runAnswers(ctx, args[1:])
	}
	var b bench
	f := flag.NewFlagSet("bench [search|meilisearch|sites|groups|stream|locks|evidence|manuals|languages|openapi|insights|agents|widget|input]", flag.ContinueOnError)
	f.IntVar(&b.rounds, "rounds", 5, "number of rounds; tables have the medians")
	f.BoolVar(&b.short, "short", false, "smaller loads and sizes, for a quick look")
	f.StringVar(&b.only, "only", "", "of stream: figures by number, such as 1,2,6; of search: index, restart or endpoint; of meilisearch: quality, latency or large; of insights: sqlite or postgres; of manuals: a manual; of groups: quality; of locks: cost, judged, requests or renewals")
	f.StringVar(&b.root, "root", "", "search, agents: a folder of real documentation instead of the generated one, of the manual; manuals: a folder of built manuals")
	f.IntVar(&b.snippets, "snippets", 0, "manuals: how many texts of results to print of each")
	f.StringVar(&b.queries, "queries", "", "search: queries for -root, JSON lines with \"query\" or plain lines")
	f.StringVar(&b.sizes, "sizes", "1000,10000,50000", "search: sections of the generated sites")
	f.IntVar(&b.sites, "sites", 1000, "sites: how many")
	f.IntVar(&b.sections, "sections", 200000, "meilisearch: sections of the large site")
	f.StringVar(&b.sets, "sets", "", "meilisearch: a pattern of folders with judged queries (corpus, queries.jsonl, qrels.tsv); groups: the same; evidence: of folders of built sites")
	f.StringVar(&b.specs, "specs", "", "openapi: a folder with API descriptions, named like stripe.json and github.json")
	f.StringVar(&b.repositories, "repositories", "", "meilisearch, languages: a folder with repositories, as OWNER/NAME: those of answers -public, open-telemetry/opentelemetry.io and withastro/docs, for large sites; for languages also withastro/starlight and nushell/nushell.github.io")
	f.StringVar(&b.profile, "profile", "", "a folder for CPU profiles of the module under load")
	wanted := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		wanted, args = args[0], args[1:]
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%q: the suite comes first, then flags: go -C bench run . search -rounds 3", f.Arg(0))
	}
	if b.rounds < 1 {
		return errors.New("-rounds must be at least 1")
	}
	known := wanted == ""
	for _, s := range suites {
		known = known || s.name == wanted
	}
	if !known {
		return fmt.Errorf("there is no suite %q; write search, meilisearch, sites, groups, stream, locks, evidence, manuals, languages, openapi, insights, agents, widget, input or answers", wanted)
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("bench reads CPU time and memory from /proc, which %s does not have; run it on Linux", runtime.GOOS)
	}
	raiseFileLimit()

	var err error
	if b.dir, err = os.MkdirTemp("", "caddy-docs-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer endAll()

	heading(b.dir)
	for _, s := range suites {
		if wanted != "" && wanted != s.name {
			continue
		}
		if err := s.run(ctx, &b); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// runAnswers runs the answers suite, a separate program with its own flags.
// See go -C bench run . answers -h.
func runAnswers(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./answers/cmd"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// heading prints when, where and how the tables were made. Every reply creates
// a file, which is slow on ext4 for minutes after many files were deleted.
func heading(dir string) {
	machine := "unknown processor"
	if cpuinfo, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(cpuinfo)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				machine = strings.TrimSpace(v)
				break
			}
		}
	}
	node := "no Node"
	if out, err := exec.Command("node", "--version").Output(); err == nil {
		node = "Node " + strings.TrimSpace(string(out))
	}
	commit := ""
	if out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		commit = ", commit " + strings.TrimSpace(string(out))
	}
	load := ""
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = ", load at the start " + strings.Fields(string(b))[0]
	}
	file := ""
	if d, err := newFile(dir); err == nil {
		file = fmt.Sprintf(", creating a file takes %d µs", d.Microseconds())
		if d > slowFile {
			fmt.Fprintln(os.Stderr, "bench: creating files is slow, and every reply creates one; wait five minutes after tests and other runs, which delete many files")
		}
	}
	fmt.Printf("%s · %s, %d CPUs%s%s · %s, %s%s · `go -C bench run . %s`\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine, runtime.NumCPU(), load, file,
		runtime.Version(), node, commit, strings.Join(os.Args[1:], " "))
}

// slowFile is many times the usual duration of creating a file.
const slowFile = 100 * time.Microsecond

// newFile returns the median duration of creating a file in dir.
func newFile(dir string) (time.Duration, error) {
	var took [101]time.Duration
	for i := range took {
		begin := time.Now()
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("new-%d", i)))
		if err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
		if err := f.Close(); err != nil {
			return 0, err
		}
	}
	slices.Sort(took[:])
	return took[len(took)/2], nil
}
