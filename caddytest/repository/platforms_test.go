package repository

import (
	"encoding/json"
	"errors"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// platforms are those that no machine of CI compiles for at each change.
// .ci/cross builds for them, which takes minutes; this test finds the same
// errors by reading the types alone.
var platforms = []string{"windows/amd64", "darwin/arm64", "freebsd/amd64"}

// listed is a package of `go list -deps -json`.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
	Error           *struct{ Err string }
}

var checkPlatforms = flag.Bool("platforms", false, "check that every platform compiles, which takes a minute")

func TestEveryPlatformCompiles(t *testing.T) {
	if !*checkPlatforms {
		t.Skip("takes a minute; .ci/run runs it, as go test -run TestEveryPlatformCompiles ./caddytest/repository -platforms")
	}
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			for _, err := range compile(t, platform, "./...") {
				t.Error(err)
			}
		})
	}
}

// A type checker that finds nothing wrong would pass every test.
func TestCompileFindsWhatAPlatformLacks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/lacks\n\ngo 1.26\n",
		"main.go": "package main\n\nimport \"syscall\"\n\nfunc main() { _ = syscall.Kill(1, syscall.SIGTERM) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for platform, want := range map[string]int{"windows/amd64": 1, "linux/amd64": 0} {
		if found := compile(t, platform, "."); len(found) != want {
			t.Errorf("%s: %d errors, want %d: %v", platform, len(found), want, found)
		}
	}
}

// compile returns the errors of this module's packages on a platform. Of other
// packages only the declarations are read.
func compile(t *testing.T, platform string, patterns ...string) (found []error) {
	t.Helper()
	system, arch, _ := strings.Cut(platform, "/")
	list := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,ImportMap,Module,Error"}, patterns...)...)
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Start(); err != nil {
		t.Fatal(err)
	}
	var (
		fset  = token.NewFileSet()
		known = map[string]*types.Package{"unsafe": types.Unsafe}
		sizes = types.SizesFor("gc", arch)
	)
	// Dependencies come before the packages that import them.
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		ours := p.Module != nil && p.Module.Main
		files, err := parse(fset, &p, ours)
		if p.Error != nil {
			err = errors.Join(err, errors.New(p.Error.Err))
		}
		if err != nil {
			found = append(found, err)
			continue
		}
		conf := types.Config{
			Importer: importer(func(name string) (*types.Package, error) {
				if mapped, ok := p.ImportMap[name]; ok {
					name = mapped
				}
				if pkg := known[name]; pkg != nil {
					return pkg, nil
				}
				return nil, errors.New("no package " + name)
			}),
			Sizes: sizes, FakeImportC: true, IgnoreFuncBodies: !ours,
			Error: func(err error) {
				if ours {
					found = append(found, err)
				}
			},
		}
		known[p.ImportPath], _ = conf.Check(p.ImportPath, fset, files, nil) // errors are collected above
	}
	if err := list.Wait(); err != nil {
		t.Fatalf("go list for %s: %v", platform, err)
	}
	return found
}

// parse reads the files of a package.
func parse(fset *token.FileSet, p *listed, bodies bool) ([]*ast.File, error) {
	files, errs := make([]*ast.File, len(p.GoFiles)), make([]error, len(p.GoFiles))
	var wg sync.WaitGroup
	for i, name := range p.GoFiles {
		wg.Go(func() {
			files[i], errs[i] = parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if files[i] == nil || bodies {
				return
			}
			for _, d := range files[i].Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					f.Body = nil // frees the memory
				}
			}
		})
	}
	wg.Wait()
	return files, errors.Join(errs...)
}

type importer func(string) (*types.Package, error)

func (i importer) Import(name string) (*types.Package, error) { return i(name) }
