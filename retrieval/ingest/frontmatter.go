package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v3"
)

// maxFrontMatter bounds the front matter that is parsed, in bytes.
const maxFrontMatter = 64 << 10

// frontMatter is what the head of a Markdown page says, keys in lower case.
type frontMatter map[string]any

// splitFrontMatter splits a page into front matter and body. A head that
// can't be parsed still yields its plain "key: value" lines, with an error.
func splitFrontMatter(src []byte) (frontMatter, []byte, error) {
	src = bytes.TrimLeft(src, "\n")
	m := map[string]any{}
	if head, body, ok := delimited(src, "---", "..."); ok {
		err := checked(head, func() error { return yaml.Unmarshal(head, &m) })
		return lower(m, head, ":", err), body, err
	}
	if head, body, ok := delimited(src, "+++", "+++"); ok {
		err := checked(head, func() error { return toml.Unmarshal(head, &m) })
		return lower(m, head, "=", err), body, err
	}
	if rest := bytes.TrimLeft(bytes.TrimPrefix(src, []byte("{")), " \t\n"); len(rest) < len(src) && bytes.IndexAny(rest, "\"}") == 0 {
		d := json.NewDecoder(io.LimitReader(bytes.NewReader(src), maxFrontMatter))
		err := d.Decode(&m)
		if body := src[d.InputOffset():]; err == nil && (len(body) == 0 || body[0] == '\n') {
			return lower(m, nil, "", nil), body, nil
		}
	}
	return nil, src, nil
}

var nestedKey = regexp.MustCompile(`(?:[\w"'-]+[ \t]*\.[ \t]*){30}`)

func checked(head []byte, parse func() error) (err error) {
	if len(head) > maxFrontMatter {
		return fmt.Errorf("it is longer than %d kB", maxFrontMatter>>10)
	}
	// The TOML parser takes quadratic time and more for a.a.a.a…
	if nestedKey.Match(head) {
		return errors.New("a key is nested more than 30 deep")
	}
	// yaml.v3 promises errors, and has broken that promise before.
	defer func() {
		if recover() != nil {
			err = errors.New("it can't be parsed")
		}
	}()
	return parse()
}

// delimited finds the lines between an opening and a closing line, which may
// also be a second opening one.
func delimited(src []byte, open, end string) (head, body []byte, ok bool) {
	first, rest, _ := bytes.Cut(src, []byte("\n"))
	if string(bytes.TrimRight(first, " \t")) != open {
		return nil, nil, false
	}
	at := 0
	for line := range bytes.Lines(rest) {
		mark := string(bytes.TrimRight(line, " \t\n"))
		if mark == open || mark == end {
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	return nil, nil, false
}

func lower(m map[string]any, head []byte, sep string, err error) frontMatter {
	f := frontMatter{}
	for k, v := range m {
		f[strings.ToLower(k)] = v
	}
	if err == nil {
		return f
	}
	// Most broken heads have one bad line ("title: Foo: bar").
	for line := range strings.Lines(string(head[:min(len(head), maxFrontMatter)])) {
		key, value, ok := strings.Cut(line, sep)
		if !ok || key == "" || strings.ContainsAny(key, " \t-#\"'") {
			continue
		}
		key = strings.ToLower(key)
		if _, known := f[key]; !known {
			f[key] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return f
}

// text returns the first of the keys that holds a word.
func (f frontMatter) text(keys ...string) string {
	for _, k := range keys {
		switch v := f[k].(type) {
		case string:
			if s := clean(v); s != "" {
				return s
			}
		case int, int64, uint64, float64:
			return fmt.Sprint(v)
		case time.Time:
			return v.Format(time.DateOnly)
		}
	}
	return ""
}

// flag reports whether a key says yes or no.
func (f frontMatter) flag(key string) (yes, no bool) {
	switch v := f[key].(type) {
	case bool:
		return v, !v
	case string:
		v = strings.ToLower(strings.TrimSpace(v))
		return v == "true" || v == "yes" || v == "on", v == "false" || v == "no" || v == "off"
	}
	return false, false
}

// truth reports whether one of the keys says yes.
func (f frontMatter) truth(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		yes, _ := f.flag(key)
		return yes
	})
}

// maxListed bounds tags, keywords and breadcrumbs of a page.
const maxListed = 100

// list returns the words of a key: a list, or one text separated by commas.
func (f frontMatter) list(keys ...string) []string {
	var out []string
	for _, k := range keys {
		switch v := f[k].(type) {
		case string:
			for s := range strings.SplitSeq(v, ",") {
				out = append(out, s)
			}
		case []any:
			for _, e := range v {
				switch e := e.(type) {
				case map[string]any:
					out = append(out, frontMatter(e).text("title", "label", "name", "text"))
				case string, int, int64, float64, bool:
					out = append(out, fmt.Sprint(e))
				}
			}
		}
	}
	return tidyList(out)
}

func tidyList(in []string) []string {
	var out []string
	known := map[string]bool{}
	for _, s := range in {
		s = clean(s)
		if s == "" || known[strings.ToLower(s)] || len(out) == maxListed {
			continue
		}
		known[strings.ToLower(s)] = true
		out = append(out, s)
	}
	return out
}
