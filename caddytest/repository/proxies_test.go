package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	namesProxies = regexp.MustCompile(`\btrusted_proxies\b`)
	namesStrict  = regexp.MustCompile(`\btrusted_proxies_strict\b`)
	block        = regexp.MustCompile("(?s)```[a-z]*[^\n]*\n(.*?)```")
)

// Without trusted_proxies_strict, clients choose their IP. So whatever tells
// operators of trusted_proxies tells them of that, too, and every example that
// sets one sets the other.
func TestTrustedProxiesAreStrictWhereverTheyAreNamed(t *testing.T) {
	found := 0
	for _, root := range []string{"docs", "examples", "deploy", "README.md", "xcaddy.md", "Caddyfile.example", "caddytest/recipes"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && slices.Contains([]string{"node_modules", "_site"}, d.Name()) {
					return fs.SkipDir
				}
				return err
			}
			data, err := os.ReadFile(name)
			if err != nil || !namesProxies.Match(data) {
				return err
			}
			if name == filepath.Join("docs", "answers.md") {
				return nil // what the assistant says of the other pages
			}
			found++
			texts := []string{string(data)}
			if strings.HasSuffix(name, ".md") {
				for _, m := range block.FindAllStringSubmatch(string(data), -1) {
					texts = append(texts, m[1])
				}
			}
			for _, text := range texts {
				if namesProxies.MatchString(text) && !namesStrict.MatchString(text) {
					t.Errorf("%s names trusted_proxies without trusted_proxies_strict:\n%.300s", name, text)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 4 {
		t.Errorf("only %d files name trusted_proxies", found)
	}
}
