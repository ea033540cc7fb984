// Package build makes the widget's files of its sources, with esbuild. It is
// linked into no server: dist is committed, since xcaddy and go install run no
// generators.
package build

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Build bundles the sources in dir (widget/src) and returns the files of dist
// by name: loader.js, which names the main chunk, and the chunks, whose names
// hold the hashes of their contents. The texts of all languages share one hash,
// so that the main chunk needs no list of names.
func Build(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	files, texts := make(map[string][]byte), make(map[string][]byte)
	hash := sha256.New()
	for _, name := range languages {
		if err := bundle(dir, texts, api.BuildOptions{EntryPoints: []string{"strings/" + name + ".ts"}, Format: api.FormatESModule}); err != nil {
			return nil, err
		}
		hash.Write(texts[name+".js"])
	}
	version := base32.StdEncoding.EncodeToString(hash.Sum(nil))[:8]
	for _, name := range languages {
		files[name+"-"+version+".js"] = texts[name+".js"]
	}
	main := ""
	err = bundle(dir, files, api.BuildOptions{
		EntryPoints: []string{"main.ts"},
		EntryNames:  "[name]-[hash]",
		Format:      api.FormatESModule,
		Define: map[string]string{
			"__DOCS_STRINGS__": fmt.Sprintf("%q", version),
		},
	})
	if err != nil {
		return nil, err
	}
	for name := range files {
		if strings.HasPrefix(name, "main-") {
			main = name
		}
	}
	return files, bundle(dir, files, api.BuildOptions{
		EntryPoints: []string{"loader.ts"},
		Format:      api.FormatIIFE,
		Define:      map[string]string{"__DOCS_MAIN__": fmt.Sprintf("%q", main)},
	})
}

// languages are those of src/strings besides English, which is in main.ts.
var languages = []string{"de", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"}

func bundle(dir string, files map[string][]byte, o api.BuildOptions) error {
	o.AbsWorkingDir = dir
	o.Outdir = filepath.Join(dir, "out") // nothing is written there
	o.Bundle = true
	o.MinifyIdentifiers, o.MinifySyntax, o.MinifyWhitespace = true, true, true
	o.Charset = api.CharsetUTF8
	o.Target = api.ES2022
	o.LegalComments = api.LegalCommentsNone
	// The sources' own tsconfig.json is for tsc.
	o.TsconfigRaw = `{"compilerOptions":{"target":"es2022","strict":true}}`
	o.Plugins = []api.Plugin{{Name: "css", Setup: styles}}
	result := api.Build(o)
	if len(result.Errors) > 0 {
		return errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	for _, f := range result.OutputFiles {
		files[path.Base(filepath.ToSlash(f.Path))] = f.Contents
	}
	return nil
}

// styles makes style sheets minified strings.
func styles(b api.PluginBuild) {
	b.OnLoad(api.OnLoadOptions{Filter: `\.css$`}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		source, err := os.ReadFile(a.Path)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		css := api.Transform(string(source), api.TransformOptions{
			Loader: api.LoaderCSS, Sourcefile: a.Path,
			MinifySyntax: true, MinifyWhitespace: true,
		})
		if len(css.Errors) > 0 {
			return api.OnLoadResult{Errors: css.Errors}, nil
		}
		// Spaces that esbuild keeps: no rule here has a text with a comma.
		text := strings.NewReplacer(", ", ",").Replace(strings.TrimSpace(string(css.Code)))
		return api.OnLoadResult{Contents: &text, Loader: api.LoaderText}, nil
	})
}
