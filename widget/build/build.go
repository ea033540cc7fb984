package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Build bundles the sources in dir (widget/src) and returns the files of dist
// by name: loader.js, which names the others, and the chunks, whose names hold
// the hashes of their contents, whatever their variables are called. The texts
// of all languages share one hash, so that the loader needs no list of names.
func Build(dir string) (map[string][]byte, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	b := builder{dir: dir, files: make(map[string][]byte), define: make(map[string]string)}
	if err := b.texts(); err != nil {
		return nil, err
	}
	for _, entry := range []struct{ name, context string }{{"page", "PAGE"}, {"main", "CONTEXT"}} { // main names page
		// The bundle is a function of what is handed over. It has no exports, so it
		// can be wrapped whole.
		b.define[entry.context] = "$"
		script, err := b.bundle(entry.name+".ts", api.FormatESModule)
		if err != nil {
			return nil, err
		}
		chunk, err := rename([]byte("export default $=>{" + script + "}"))
		if err != nil {
			return nil, err
		}
		if chunk, err = arrange(chunk, 5000); err != nil {
			return nil, err
		}
		name := entry.name + "-" + hash(chunk) + ".js"
		b.files[name] = chunk
		b.define["__DOCS_"+strings.ToUpper(entry.name)+"__"] = quote(name)
	}
	script, err := b.bundle("loader.ts", api.FormatIIFE)
	if err != nil {
		return nil, err
	}
	b.files["loader.js"], err = rename([]byte(script))
	return b.files, err
}

type builder struct {
	dir    string
	files  map[string][]byte
	define map[string]string
	lists  map[string]string // texts in the order of English, as JSON, by language
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return base32.StdEncoding.EncodeToString(sum[:])[:8]
}

// languages are those of src/strings besides English, which is in main.ts.
var languages = []string{"de", "es", "fr", "it", "ja", "ko", "pt", "ru", "zh"}

// texts makes lists of the texts in src/strings, and of T.name the place of a
// text in them: names would be a third of the bytes.
func (b *builder) texts() error {
	english, err := os.ReadFile(filepath.Join(b.dir, "strings", "en.json"))
	if err != nil {
		return err
	}
	names, err := keys(english)
	if err != nil {
		return fmt.Errorf("strings/en.json: %w", err)
	}
	if b.files["names.json"], err = json.Marshal(names); err != nil {
		return err
	}
	for place, name := range names {
		b.define["T."+name] = strconv.Itoa(place)
	}
	b.lists = make(map[string]string)
	all := sha256.New()
	for _, language := range append([]string{"en"}, languages...) {
		source, err := os.ReadFile(filepath.Join(b.dir, "strings", language+".json"))
		if err != nil {
			return err
		}
		var texts map[string]string
		if err := json.Unmarshal(source, &texts); err != nil {
			return fmt.Errorf("strings/%s.json: %w", language, err)
		}
		list := make([]string, len(names))
		for i, name := range names {
			if list[i] = texts[name]; list[i] == "" {
				return fmt.Errorf("strings/%s.json has no text %q", language, name)
			}
		}
		if len(texts) > len(list) {
			return fmt.Errorf("strings/%s.json has %d texts; en.json has %d", language, len(texts), len(list))
		}
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		if err := e.Encode(list); err != nil {
			return err
		}
		b.lists[language] = strings.TrimSpace(out.String())
		all.Write([]byte(b.lists[language]))
		if language == "en" { // the last texts are in page.ts, which few sites load
			own := strings.Index(b.lists["en"], quote(texts["helpful"]))
			b.define["PAGE_TEXTS"] = "[" + b.lists["en"][own:]
			b.lists["en"] = b.lists["en"][:own-1] + "]"
		}
	}
	suffix := "-" + base32.StdEncoding.EncodeToString(all.Sum(nil))[:8] + ".js"
	for _, language := range languages {
		b.files[language+suffix] = []byte("export default" + b.lists[language] + "\n")
	}
	b.define["__DOCS_STRINGS__"] = quote(suffix)
	return nil
}

// keys returns the names in a JSON object of texts, in its order.
func keys(object []byte) (names []string, err error) {
	d := json.NewDecoder(bytes.NewReader(object))
	for i := 0; ; i++ {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		if t == json.Delim('}') {
			return names, nil
		}
		if name, ok := t.(string); ok && i%2 == 1 {
			names = append(names, name)
		}
	}
}

func (b *builder) bundle(entry string, format api.Format) (string, error) {
	result := api.Build(api.BuildOptions{
		// Imported, the entry has no exports.
		Stdin:         &api.StdinOptions{Contents: "import './" + entry + "'", ResolveDir: b.dir},
		AbsWorkingDir: b.dir,
		Outdir:        filepath.Join(b.dir, "out"), // nothing is written there
		Bundle:        true,
		Format:        format,
		Define:        b.define,

		MinifyIdentifiers: true,
		MinifySyntax:      true,
		MinifyWhitespace:  true,

		Charset:       api.CharsetUTF8,
		Target:        api.ES2022,
		LegalComments: api.LegalCommentsNone,
		// The sources' own tsconfig.json is for tsc.
		TsconfigRaw: `{"compilerOptions":{"target":"es2022","strict":true}}`,
		Plugins:     []api.Plugin{{Name: "css", Setup: styles}, {Name: "texts", Setup: b.list}},
	})
	if len(result.Errors) > 0 {
		return "", errors.New(strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{}), ""))
	}
	return strings.TrimPrefix(strings.TrimSpace(string(result.OutputFiles[0].Contents)), `"use strict";`), nil
}

// list makes en.json the list of its texts.
func (b *builder) list(p api.PluginBuild) {
	p.OnLoad(api.OnLoadOptions{Filter: `en\.json$`}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
		list := b.lists["en"]
		return api.OnLoadResult{Contents: &list, Loader: api.LoaderJSON}, nil
	})
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
