package answers

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/ingest"
)

// public has the sets of questions about public documentation, and where that
// is. The documentation itself is fetched.
//
//go:embed public
var public embed.FS

// publicSite is documentation in a repository at one commit.
type publicSite struct {
	Name       string   `json:"name"`
	Repository string   `json:"repository"` // on GitHub
	Commit     string   `json:"commit"`
	Folder     string   `json:"folder"`
	Languages  []string `json:"languages"` // folders of translations
	// Part is 1 to 3 for sites whose questions the assistant was developed with,
	// 4 or 5 for those held out, and 6 or 7 for those that were written before
	// they were asked once.
	Part int `json:"part"`

	index     *embedded.Index
	sources   map[string][]string            // lines of each file
	documents map[string]*retrieval.Document // by file
}

// readPublic reads one of the files in public, a JSON value a line.
func readPublic[T any](name string) ([]T, error) {
	data, err := public.ReadFile("public/" + name)
	if err != nil {
		return nil, err
	}
	var out []T
	for line := range strings.Lines(string(data)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return nil, fmt.Errorf("reading line %d of %s: %w", len(out)+1, name, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// openPublic opens the sites of a part, or of all with part 0. Repositories that
// are not in a folder are fetched into it.
func openPublic(ctx context.Context, folder string, part int) (map[string]*publicSite, error) {
	sites, err := readSites()
	if err != nil {
		return nil, err
	}
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		folder = filepath.Join(cache, "caddy-docs", "repositories")
	}
	out := make(map[string]*publicSite)
	for _, s := range sites {
		if part != 0 && s.Part != part {
			continue
		}
		if err := s.open(ctx, filepath.Join(folder, filepath.FromSlash(s.Repository))); err != nil {
			return nil, fmt.Errorf("opening %s: %w", s.Repository, err)
		}
		out[s.Name] = s
	}
	return out, nil
}

func readSites() (sites []*publicSite, err error) {
	data, err := public.ReadFile("public/sites.json")
	if err == nil {
		err = json.Unmarshal(data, &sites)
	}
	return sites, err
}

func (s *publicSite) url() string { return "https://" + s.Name + ".test" }

func (s *publicSite) open(ctx context.Context, dir string) error {
	if _, err := git(ctx, dir, nil, "cat-file", "-e", s.Commit+"^{commit}"); err != nil {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"init", "-q", "--bare"},
			{"fetch", "-q", "--depth", "1", "https://github.com/" + s.Repository, s.Commit},
		} {
			if _, err := git(ctx, dir, nil, args...); err != nil {
				return err
			}
		}
	}
	options := ingest.Options{URL: s.url()}
	for _, l := range s.Languages {
		options.Languages = append(options.Languages, ingest.Scope{Value: l, Paths: []string{"/" + l, "/" + l + "/*"}})
	}
	options.Languages = append(options.Languages, ingest.Scope{Value: "en"})
	in := ingest.New(options)
	files, err := s.files(ctx, dir, in)
	if err != nil {
		return err
	}
	s.sources, s.documents = make(map[string][]string), make(map[string]*retrieval.Document)
	var documents []*retrieval.Document
	for name, data := range files {
		d, _, err := in.Document(name, data)
		if err != nil || d == nil {
			continue // left out, as a site does
		}
		s.sources[name], s.documents[name] = strings.Split(string(data), "\n"), d
		documents = append(documents, d)
	}
	if s.index, err = embedded.Open(embedded.Options{}); err != nil {
		return err
	}
	return s.index.Replace(ctx, in.Complete(documents), nil)
}

// files reads the pages of the folder.
func (s *publicSite) files(ctx context.Context, dir string, in *ingest.Ingester) (map[string][]byte, error) {
	list, err := git(ctx, dir, nil, "ls-tree", "-r", "-z", s.Commit, s.Folder+"/")
	if err != nil {
		return nil, err
	}
	var names []string
	var ids bytes.Buffer
	for entry := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		meta, name, _ := strings.Cut(entry, "\t")
		name = strings.TrimPrefix(name, s.Folder+"/")
		if fields := strings.Fields(meta); len(fields) == 3 && fields[1] == "blob" && strings.HasPrefix(path.Ext(name), ".md") && in.Wants(name) {
			names = append(names, name)
			ids.WriteString(fields[2] + "\n")
		}
	}
	blobs, err := git(ctx, dir, &ids, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(names))
	r := bufio.NewReader(bytes.NewReader(blobs))
	for _, name := range names {
		var id, kind string
		var size int
		if _, err := fmt.Fscanf(r, "%s %s %d\n", &id, &kind, &size); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		data := make([]byte, size+1) // and a line's end
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		out[name] = data[:size]
	}
	return out, nil
}

func git(ctx context.Context, dir string, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*", "-C", dir}, args...)...)
	cmd.Stdin = in
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(failure.String()))
	}
	return out, nil
}

func (s *publicSite) assistant(m assistant.Model) *assistant.Assistant {
	return &assistant.Assistant{
		Site:   assistant.Settings{Name: s.Name, Title: s.Name, URL: s.url(), Language: "en", PublicURL: publicURL(s.index)},
		Search: s.index, Model: m,
	}
}
