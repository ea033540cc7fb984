package repository

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/caddy-docs/caddy-docs"

// arrows says which of this project's packages each may import. What is not
// named may not be imported; a package that is not named is a mistake.
var arrows = map[string][]string{
	".":                     {"handlers", "handlers/admin", "handlers/app", "handlers/caddyfile", "handlers/command", "handlers/options", "handlers/ui"},
	"cmd/caddy":             {"."},
	"handlers":              {"access", "agents", "assistant", "assistant/reply", "assistant/thread", "contract", "encoding", "encoding/datastream", "encoding/uimessage", "handlers/app", "handlers/fallback", "handlers/hosting", "handlers/observe", "handlers/options", "handlers/reach", "handlers/site", "insights", "retrieval", "short", "widget"},
	"handlers/ui":           {"access", "assistant", "assistant/citation", "assistant/reply", "dashboard", "encoding", "handlers", "handlers/admin", "handlers/app", "handlers/fallback", "handlers/hosting", "handlers/observe", "handlers/options", "handlers/reach", "handlers/site", "insights", "retrieval", "retrieval/language", "retrieval/links", "retrieval/moved", "widget"},
	"handlers/admin":        {"access", "assistant", "assistant/reply", "contract", "dashboard", "encoding", "encoding/uimessage", "handlers/app", "handlers/options", "handlers/reach", "handlers/site", "insights", "model", "retrieval", "retrieval/embedded", "retrieval/eval", "retrieval/links", "retrieval/meilisearch", "retrieval/moved", "short"},
	"handlers/app":          {"access", "assistant", "dashboard", "handlers/hosting", "handlers/observe", "handlers/options", "handlers/reach", "handlers/site", "insights", "model", "retrieval", "retrieval/meilisearch", "retrieval/source"},
	"handlers/site":         {"access", "agents", "assistant", "assistant/reply", "assistant/thread", "encoding", "handlers/hosting", "handlers/observe", "handlers/options", "handlers/reach", "insights", "model", "retrieval", "retrieval/disk", "retrieval/embedded", "retrieval/ingest", "retrieval/links", "retrieval/meilisearch", "retrieval/moved", "retrieval/openapi", "retrieval/source", "retrieval/words", "store"},
	"handlers/options":      {"access", "assistant", "handlers/observe", "insights", "insights/postgres", "insights/sqlite", "model", "retrieval", "retrieval/embedded", "retrieval/meilisearch", "retrieval/openapi", "retrieval/source"},
	"handlers/fallback":     {},
	"handlers/hosting":      {},
	"handlers/observe":      {"assistant", "model"},
	"handlers/evidence":     {"retrieval"},
	"handlers/reach":        {"handlers/evidence", "handlers/hosting", "retrieval", "retrieval/links"},
	"handlers/caddyfile":    {"access", "handlers", "handlers/options", "handlers/ui"},
	"handlers/command":      {"access", "agents", "assistant", "assistant/reply", "contract", "dashboard", "encoding", "encoding/datastream", "encoding/uimessage", "handlers/admin", "handlers/app", "handlers/options", "insights", "model", "retrieval", "retrieval/eval", "retrieval/links", "retrieval/moved", "short"},
	"agents":                {"short"},
	"contract":              {},
	"assistant":             {"assistant/asked", "assistant/citation", "assistant/reply", "retrieval", "retrieval/language", "short"},
	"assistant/asked":       {"retrieval/language", "short"},
	"assistant/citation":    {"retrieval"},
	"assistant/reply":       {"retrieval"},
	"assistant/thread":      {"short", "store"},
	"model":                 {"assistant", "assistant/reply", "retrieval", "short", "store"},
	"store":                 {},
	"retrieval":             {"retrieval/disk", "short", "store"},
	"retrieval/disk":        {},
	"retrieval/language":    {},
	"retrieval/openapi":     {"retrieval", "retrieval/links", "retrieval/source", "short"},
	"retrieval/source":      {"retrieval"},
	"retrieval/ingest":      {"retrieval", "retrieval/language", "short"},
	"retrieval/embedded":    {"retrieval", "retrieval/disk", "retrieval/language", "retrieval/postings", "retrieval/words"},
	"retrieval/postings":    {},
	"retrieval/words":       {"retrieval", "retrieval/language"},
	"retrieval/moved":       {"retrieval", "retrieval/disk", "short"},
	"retrieval/meilisearch": {"retrieval", "retrieval/disk", "retrieval/embedded", "retrieval/words", "short"},
	"retrieval/links":       {"retrieval"},
	"retrieval/eval":        {"retrieval", "short"},
	"encoding":              {"assistant/reply", "retrieval", "short"},
	"encoding/datastream":   {"assistant/reply", "encoding"},
	"encoding/uimessage":    {"assistant/reply", "encoding"},
	"access":                {"store"},
	"dashboard":             {"access", "assistant", "assistant/citation", "encoding", "insights", "retrieval", "retrieval/links", "retrieval/moved", "short", "store"},
	"insights":              {"retrieval/language", "short"},
	"insights/sqlite":       {"insights"},
	"insights/postgres":     {"insights"},
	"short":                 {},
	"widget":                {},
}

// only says which packages may import one of these from outside.
var only = map[string][]string{
	"github.com/caddyserver/":               {".", "cmd/caddy", "handlers", "handlers/admin", "handlers/app", "handlers/caddyfile", "handlers/command", "handlers/fallback", "handlers/hosting", "handlers/options", "handlers/reach", "handlers/site", "handlers/ui"},
	"go.uber.org/zap":                       {".", "cmd/caddy", "handlers", "handlers/admin", "handlers/app", "handlers/caddyfile", "handlers/command", "handlers/site", "handlers/ui"},
	"github.com/mholt/caddy-ratelimit":      {"handlers", "handlers/caddyfile"},
	"github.com/sashabaranov/go-openai":     {"model"},
	"github.com/meilisearch/meilisearch-go": {"retrieval/meilisearch"},
	"modernc.org/":                          {"insights/sqlite"},
	"github.com/jackc/pgx/":                 {"insights/postgres"},
	"github.com/modelcontextprotocol/":      {"agents"},
	"net/http":                              {"access", "agents", "dashboard", "handlers", "handlers/admin", "handlers/app", "handlers/command", "handlers/fallback", "handlers/reach", "handlers/site", "handlers/ui", "model", "retrieval/source", "retrieval/meilisearch", "encoding/datastream", "encoding/uimessage"},
}

// The arrows of the house: who may know whom. Tests, benchmarks and the test
// packages may import anything.
func TestImportsFollowTheArrows(t *testing.T) {
	seen := map[string]map[string]bool{} // what each package imports
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(file)
		if d.IsDir() {
			switch {
			case name == "caddytest", name == "bench", name == "examples", name == "widget/build", d.Name() == "testdata", d.Name() == "node_modules", len(name) > 1 && strings.HasPrefix(d.Name(), "."):
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		pkg := path.Dir(name)
		allowed, known := arrows[pkg]
		if !known {
			t.Errorf("%s: package %s has no place in the house; give it one in arrows", name, pkg)
			return nil
		}
		if seen[pkg] == nil {
			seen[pkg] = map[string]bool{}
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if rest, ok := strings.CutPrefix(imported, module); ok {
				to := strings.TrimPrefix(rest, "/")
				if to == "" {
					to = "."
				}
				seen[pkg][to] = true
				if !slices.Contains(allowed, to) {
					t.Errorf("%s imports %s, which %s may not", name, to, pkg)
				}
			}
			for prefix, who := range only {
				if (imported == prefix || strings.HasPrefix(imported, strings.TrimSuffix(prefix, "/")+"/")) && !slices.Contains(who, pkg) {
					t.Errorf("%s imports %s, which only %v may", name, imported, who)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, allowed := range arrows {
		for _, to := range allowed {
			if !seen[pkg][to] {
				t.Errorf("%s may import %s and does not: remove the arrow", pkg, to)
			}
		}
	}
}

// The table of packages in the manual has the same arrows.
func TestTheManualListsEveryPackageAndWhatItMayImport(t *testing.T) {
	manual, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z./]+)` \\| [^|]+ \\| ([^|]*) \\|$").FindAllStringSubmatch(string(manual), -1) {
		pkg := strings.Replace(row[1], "module.go", ".", 1)
		var imports []string
		for _, m := range quoted.FindAllStringSubmatch(row[2], -1) {
			imports = append(imports, strings.Replace(m[1], "module.go", ".", 1))
		}
		want := slices.Sorted(slices.Values(arrows[pkg]))
		if slices.Sort(imports); !slices.Equal(imports, want) {
			t.Errorf("docs/architecture.md: %s imports %q, the row has %q", row[1], want, imports)
		}
		listed[pkg] = true
	}
	for pkg := range arrows {
		if !listed[pkg] {
			t.Errorf("docs/architecture.md has no row for %s", pkg)
		}
	}
}
