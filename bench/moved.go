package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// runMoved replays histories of documentation, in which every tenth commit is a
// deploy, and compares where moved pages are found with where the repository
// says they are: in redirects (aliases of Hugo's front matter, redirect_maps of
// mkdocs) and in renames that Git detects.
func runMoved(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("bench moved GITDIR:FOLDER...", flag.ContinueOnError)
	every := f.Int("every", 10, "commits a deploy")
	redirects := f.String("redirects", "", "a file of redirects in the repositories")
	print := f.Bool("print", false, "print what is not found, and what is found wrong")
	if err := f.Parse(args); err != nil {
		return err
	}
	var rows [][]string
	for _, arg := range f.Args() {
		dir, folder, ok := strings.Cut(arg, ":")
		if !ok {
			return fmt.Errorf("%q must be a Git directory, a colon and the folder of its pages", arg)
		}
		r := &replay{dir: dir, folder: strings.Trim(folder, "/") + "/", redirects: *redirects, print: *print, ingester: ingest.New(ingest.Options{}), files: map[string]*replayFile{}}
		if err := r.run(ctx, *every); err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		name := path.Base(strings.TrimSuffix(path.Dir(dir+"/"), "/repo"))
		for i, s := range r.scores {
			rows = append(rows, append([]string{name + []string{", tuned on", ", held out"}[i]}, s.row()...))
		}
		slices.Sort(r.took)
		fmt.Printf("%s: %d deploys with changes, at most %d pages; p50 %v, longest %v\n", name, len(r.took), r.pages, r.took[len(r.took)/2].Round(time.Millisecond), r.took[len(r.took)-1].Round(time.Millisecond))
	}
	table("Moved pages", []string{"", "deploys", "moved", "proved by text", "of those redirected right", "redirected in all", "wrong", "without truth", "of the others in the first three"}, rows)
	return nil
}

// replayFile is a page of a repository.
type replayFile struct {
	document *retrieval.Document
	aliases  []string
	lines    map[uint64]int // bytes, by hash
	bytes    int
}

// replayScore counts moved addresses.
type replayScore struct {
	deploys, moved, provable, right, redirected, wrong, unknown, others, suggested int
}

func (s *replayScore) row() []string {
	percent := func(n, of int) string {
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(of))
	}
	return []string{
		strconv.Itoa(s.deploys), strconv.Itoa(s.moved), strconv.Itoa(s.provable), percent(s.right, s.provable),
		strconv.Itoa(s.redirected), strconv.Itoa(s.wrong), strconv.Itoa(s.unknown), percent(s.suggested, s.others),
	}
}

type replay struct {
	dir, folder, redirects string
	print                  bool
	ingester               *ingest.Ingester
	files                  map[string]*replayFile // by path
	scores                 [2]replayScore
	took                   []time.Duration
	pages                  int
}

func (r *replay) git(ctx context.Context, args ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"--git-dir=" + r.dir, "-c", "core.quotePath=false"}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, nil
}

func (r *replay) run(ctx context.Context, every int) error {
	out, err := r.git(ctx, "rev-list", "--first-parent", "--reverse", "HEAD")
	if err != nil {
		return err
	}
	commits := strings.Fields(string(out))
	blobs, err := newBlobs(ctx, r.dir)
	if err != nil {
		return err
	}
	defer blobs.end()
	memory := moved.Open("", slog.Default())
	const empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" // Git's tree without files
	last := empty
	var before []*retrieval.Document
	var was map[string]*replayFile
	for n := every - 1; n < len(commits); n += every {
		renamed, err := r.deploy(ctx, blobs, last, commits[n])
		if err != nil {
			return err
		}
		last = commits[n]
		if renamed == nil {
			continue
		}
		after, now := r.documents()
		if len(after) == 0 {
			continue
		}
		texts := func(_ context.Context, _ string) (*retrieval.Document, error) { return nil, nil }
		runtime.GC()
		begin := time.Now()
		memory.Replace(ctx, before, after, texts)()
		r.took, r.pages = append(r.took, time.Since(begin)), max(r.pages, len(after))
		s := &r.scores[n/every%2]
		s.deploys++
		r.judge(s, memory, was, now, r.aliases(ctx, commits[n], now), renamed, commits[n])
		before, was = after, now
	}
	return nil
}

// deploy reads what differs between two commits, and returns where files were
// renamed to, nil if no page has changed.
func (r *replay) deploy(ctx context.Context, blobs *blobs, from, to string) (renamed map[string]string, err error) {
	out, err := r.git(ctx, "diff-tree", "-r", "-M50%", "-l0", "--name-status", "-z", from, to, "--", ":(glob)"+r.folder+"**/*.md", ":(glob)"+r.folder+"**/*.mdx")
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); {
		status, name := fields[i], fields[i+1]
		i += 2
		old := ""
		if status[0] == 'R' || status[0] == 'C' {
			old, name = name, fields[i]
			i++
		}
		if !strings.HasPrefix(name, r.folder) && old == "" || !isMarkdown(name) && !isMarkdown(old) {
			continue
		}
		if renamed == nil {
			renamed = map[string]string{}
		}
		switch {
		case status[0] == 'D':
			delete(r.files, name)
		default:
			if status[0] == 'R' {
				if _, ok := r.files[old]; ok {
					renamed[r.address(old)] = r.address(name)
					delete(r.files, old)
				}
			}
			if strings.HasPrefix(name, r.folder) && isMarkdown(name) {
				data, err := blobs.read(to + ":" + name)
				if err != nil {
					return nil, err
				}
				if f := r.read(name, data); f != nil {
					r.files[name] = f
				} else {
					delete(r.files, name)
				}
			}
		}
	}
	return renamed, nil
}

func isMarkdown(name string) bool {
	return strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".mdx")
}

// site is the path of a file on the site.
func (r *replay) site(name string) string {
	name = strings.TrimPrefix(name, r.folder)
	switch base := path.Base(name); base {
	case "_index.md", "README.md", "_index.mdx":
		name = strings.TrimSuffix(name, base) + "index" + path.Ext(base)
	}
	return name
}

func (r *replay) address(name string) string { return moved.Address("/" + r.site(name)) }

var (
	frontMatter = regexp.MustCompile(`(?s)\A(?:---\n(.*?)\n---\n|\+\+\+\n(.*?)\n\+\+\+\n)`)
	aliasList   = regexp.MustCompile(`(?ms)^aliases\s*[:=]\s*\[(.*?)\]`)
	aliasLines  = regexp.MustCompile(`(?m)^aliases\s*:[ \t]*\n((?:[ \t]*-[ \t]+.*\n?)+)`)
)

// read reads a page, nil if it is none.
func (r *replay) read(name string, data []byte) *replayFile {
	d, _, err := r.ingester.Document(r.site(name), data)
	if err != nil || d == nil {
		return nil
	}
	f := &replayFile{document: d, lines: map[uint64]int{}}
	front := frontMatter.Find(data)
	var list []string
	if m := aliasList.FindSubmatch(front); m != nil {
		list = strings.Split(string(m[1]), ",")
	} else if m := aliasLines.FindSubmatch(front); m != nil {
		list = strings.Split(string(m[1]), "\n")
	}
	for _, a := range list {
		if a = strings.Trim(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(a), "- ")), `"'`); a == "" {
			continue
		}
		if !strings.HasPrefix(a, "/") {
			a = path.Join("/"+path.Dir(r.site(name)), a)
		}
		f.aliases = append(f.aliases, moved.Address(a))
	}
	for line := range bytes.Lines(data[len(front):]) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			h := fnv.New64a()
			_, _ = h.Write(line)
			f.lines[h.Sum64()] += len(line)
			f.bytes += len(line)
		}
	}
	return f
}

// documents returns the pages, and their files by address.
func (r *replay) documents() (documents []*retrieval.Document, byAddress map[string]*replayFile) {
	byAddress = map[string]*replayFile{}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[name]
		if a := r.address(name); f != nil && byAddress[a] == nil {
			byAddress[a] = f
			documents = append(documents, f.document)
		}
	}
	return documents, byAddress
}

var redirectMap = regexp.MustCompile(`(?m)^\s*['"]?([^\s'":]+)['"]?\s*:\s*['"]?([^\s'":#]+\.md)`)

// aliases returns what the repository says about where pages went.
func (r *replay) aliases(ctx context.Context, commit string, now map[string]*replayFile) map[string]string {
	aliases := map[string]string{}
	if r.redirects != "" {
		if out, err := r.git(ctx, "show", commit+":"+r.redirects); err == nil {
			for _, m := range redirectMap.FindAllSubmatch(out, -1) {
				aliases[r.address(string(m[1]))] = r.address(string(m[2]))
			}
		}
	}
	for a, f := range now {
		for _, alias := range f.aliases {
			aliases[alias] = a
		}
	}
	return aliases
}

// judge compares what the memory has found with the repository. was and now are
// the pages before and after.
func (r *replay) judge(s *replayScore, memory *moved.Memory, was, now map[string]*replayFile, aliases, renamed map[string]string, commit string) {
	var left []string
	for _, a := range slices.Sorted(maps.Keys(was)) {
		if now[a] == nil {
			left = append(left, a)
		}
	}
	if len(left) == 0 {
		return
	}
	holders := map[uint64][]string{}
	for a, f := range now {
		for line := range f.lines {
			holders[line] = append(holders[line], a)
		}
	}
	for _, a := range left {
		truth := aliases[a]
		if now[truth] == nil {
			truth = renamed[a]
		}
		if now[truth] == nil {
			truth = ""
		}
		proof, shares := proofOf(was[a], holders)
		to, suggested := "", false
		if p := memory.Find(a); p != nil {
			for _, place := range p.Places {
				suggested = suggested || place.Address == truth
			}
			if p.Proved {
				to = p.Places[0].Address
			}
		}
		if truth == "" {
			if to != "" {
				s.unknown++
				r.printf("%s: without truth: %s → %s; by lines %s", commit[:9], a, to, shares)
			}
			continue
		}
		s.moved++
		if to != "" {
			s.redirected++
			if to != truth {
				s.wrong++
				r.printf("%s: WRONG: %s → %s, not %s; by lines %s", commit[:9], a, to, truth, shares)
			}
		}
		if proof == truth {
			if s.provable++; to == truth {
				s.right++
			} else if to == "" {
				r.printf("%s: not proved: %s → %s; by lines %s; found %v", commit[:9], a, truth, shares, memory.Find(a))
			}
		}
		if to == "" {
			if s.others++; suggested {
				s.suggested++
			} else {
				r.printf("%s: not suggested: %s → %s; by lines %s; found %v", commit[:9], a, truth, shares, memory.Find(a))
			}
		}
	}
}

func (r *replay) printf(format string, args ...any) {
	if r.print {
		fmt.Printf(format+"\n", args...)
	}
}

// proofOf returns the page that has at least 90 % of the bytes of a page's lines,
// if no other has nearly as much. Lines on more than eight pages don't count. It
// knows nothing of how package moved compares.
func proofOf(f *replayFile, holders map[uint64][]string) (address, shares string) {
	total := 0
	has := map[string]int{}
	for line, n := range f.lines {
		if in := holders[line]; len(in) <= 8 {
			total += n
			for _, a := range in {
				has[a] += n
			}
		}
	}
	best := slices.SortedFunc(maps.Keys(has), func(a, b string) int { return cmp.Or(cmp.Compare(has[b], has[a]), cmp.Compare(a, b)) })
	for _, a := range best[:min(3, len(best))] {
		shares += fmt.Sprintf("%s %.2f ", a, float64(has[a])/float64(total))
	}
	shares += fmt.Sprintf("of %d", total)
	if len(best) == 0 || float64(has[best[0]]) < .9*float64(total) || 2*total < f.bytes || total < 100 ||
		len(best) > 1 && float64(has[best[1]]) >= float64(has[best[0]])-.2*float64(total) {
		return "", shares
	}
	return best[0], shares
}

// blobs reads files of a repository, with one process of Git.
type blobs struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func newBlobs(ctx context.Context, dir string) (*blobs, error) {
	b := &blobs{cmd: exec.CommandContext(ctx, "git", "--git-dir="+dir, "cat-file", "--batch")}
	var err error
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.out = bufio.NewReader(out)
	return b, b.cmd.Start()
}

// read returns a file, nil for one that the repository lacks.
func (b *blobs) read(name string) ([]byte, error) {
	if _, err := fmt.Fprintln(b.in, name); err != nil {
		return nil, err
	}
	head, err := b.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(head)
	if len(fields) != 3 || fields[1] != "blob" {
		return nil, nil
	}
	n, err := strconv.Atoi(fields[2])
	if err != nil {
		return nil, err
	}
	data := make([]byte, n+1)
	_, err = io.ReadFull(b.out, data)
	return data[:n], err
}

func (b *blobs) end() {
	_ = b.in.Close()
	_ = b.cmd.Wait()
}
