// Package widget holds the search-and-ask box that readers see: TypeScript in
// src, built into dist by the command build and embedded. The loader is a classic
// script with the site's settings in it; everything else is loaded at first
// use, in chunks whose names hold their hashes.
package widget

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:generate go -C build run .

//go:embed dist/*.js
var dist embed.FS

// names has the names of the texts in the order of their places.
//
//go:embed dist/names.json
var names []byte

const (
	loader      = "loader.js"
	placeholder = "__DOCS_CONFIG__"
)

// Loader returns the script of a site. config, a JSON object, is put into it;
// its fields are those of Config in src/types.ts.
func Loader(config []byte) []byte {
	script, _ := dist.ReadFile("dist/" + loader) // is embedded
	var object bytes.Buffer
	json.HTMLEscape(&object, config) // "<" too, and the line ends U+2028 and U+2029
	return bytes.Replace(script, []byte(placeholder), object.Bytes(), 1)
}

// Chunk returns a chunk by its name, and false if there is none. The texts of
// a language without a chunk are an empty list. A name's content never changes,
// so clients may keep it for good.
func Chunk(name string) (body []byte, ok bool) {
	if name == loader || strings.ContainsAny(name, `/\`) {
		return nil, false
	}
	body, err := dist.ReadFile("dist/" + name)
	if err == nil {
		return body, true
	}
	if i := strings.IndexByte(name, '-'); i == 2 { // the letters that the loader takes of the page's language
		_, err = dist.ReadFile("dist/de" + name[2:])
	}
	return []byte("export default[]\n"), err == nil
}

// labels are the first texts of the languages with a chunk: the word "Search".
var labels = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	chunks, _ := fs.Glob(dist, "dist/*-*.js")
	for _, chunk := range chunks {
		language, _, _ := strings.Cut(strings.TrimPrefix(chunk, "dist/"), "-")
		list, _ := dist.ReadFile(chunk)
		var texts []string
		if json.Unmarshal(bytes.TrimPrefix(list, []byte("export default")), &texts) == nil { // else it is code
			all[language] = texts[0]
		}
	}
	return all
})

// Label adds the word "Search" in the languages of a site's pages to texts by
// language, for the button that is there before the other texts are.
func Label(texts map[string]map[string]string, languages []string) map[string]map[string]string {
	all := make(map[string]map[string]string)
	for _, tag := range languages {
		language, _, _ := strings.Cut(strings.ToLower(tag), "-")
		if label, ok := labels()[language]; ok {
			all[language] = map[string]string{"0": label}
		}
	}
	for language, own := range texts {
		if all[language] == nil {
			all[language] = make(map[string]string)
		}
		maps.Copy(all[language], own)
	}
	return all
}

// Texts returns texts, which are keyed by their names, as Config takes them:
// keyed by their places, and "open".
func Texts(texts map[string]string) (map[string]string, error) {
	var all []string
	if err := json.Unmarshal(names, &all); err != nil {
		return nil, err
	}
	placed := make(map[string]string, len(texts))
	for name, text := range texts {
		switch place := slices.Index(all, name); {
		case place >= 0:
			placed[strconv.Itoa(place)] = text
		case name == "open":
			placed[name] = text
		default:
			return nil, fmt.Errorf("no text is named %q; the names are open, %s", name, strings.Join(all, ", "))
		}
	}
	return placed, nil
}
