package ingest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

// trickyHeadings are those whose ids differ from renderer to renderer.
const trickyHeadings = "# `reverse_proxy` directive\n\na\n\n" +
	"## [A link](b.md) & more\n\na\n\n## What's *this* — or **that**?\n\na\n\n## snake_case-and_more\n\na\n\n" +
	"## Été 日本語 Ω\n\na\n\n## 日本語\n\na\n\n## Same\n\na\n\n## Same\n\na\n\n### Same-1\n\na\n\n## Same-1\n\na\n\n" +
	"## <code>html</code> in <b>it</b>\n\na\n\n## Explicit {#own}\n\na\n\n## Trailing hashes ##\n\na\n\n" +
	"## 🚀 Launch: v2.0 (beta)\n\na\n\n##   Spaces   within\n\na\n\n## Tab\tinside\n\na\n\n##### Same\n\na\n\n## Same\n\na\n\n" +
	"> ## In a quote\n>\n> a\n\n- ## In a list\n\n  a\n\nSetext _one_\n===\n\na\n\nTwo lines\nof setext\n---\n\na\n\n" +
	"## &amp; &copy; entities\n\na\n\n## \\*escaped\\* \\_ here\n\na\n\n## ![pic](a.png) beside\n\na\n\n" +
	"## http://x.example/a\n\na\n\n## --flag, -f\n\na\n\n## {http.request.uri}\n\na\n\n## 1.2.3\n\na\n\n" +
	"## ~~old~~ new\n\na\n\n## a | b\n\na\n\n<h2>Raw HTML</h2>\n\na\n\n<h2 id=\"own-html\">Raw HTML with id</h2>\n\na\n\n## Note[^1]\n\na\n\n[^1]: Foot.\n"

var renderedHeading = regexp.MustCompile(`(?s)<h([1-4])(?: id="([^"]*)")?>`)

// Caddy's modules/caddyhttp/templates renders Markdown so; its highlighting
// of code, which touches no heading, is left out.
func caddyMarkdown(t *testing.T, source string) string {
	t.Helper()
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert([]byte(source), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGoldmarkAnchorsAreThoseOfCaddysTemplates(t *testing.T) {
	var want []string
	for _, m := range renderedHeading.FindAllStringSubmatch(caddyMarkdown(t, trickyHeadings), -1) {
		want = append(want, m[2])
	}
	for _, file := range []string{"a.md", "a.mdx"} {
		source := trickyHeadings
		if file == "a.mdx" { // which knows no HTML, and braces are code
			source = strings.NewReplacer("<code>html</code> in <b>it</b>", "x", "{http.request.uri}", "x", "{#own}", "x").Replace(source)
			source, _, _ = strings.Cut(source, "<h2>Raw")
			want = nil
			for _, m := range renderedHeading.FindAllStringSubmatch(caddyMarkdown(t, source), -1) {
				want = append(want, m[2])
			}
		}
		var got []string
		for _, s := range read(t, Options{Anchors: "goldmark"}, file, source).Sections {
			got = append(got, s.Anchor)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", file, got, want)
		}
	}
}

// The ids are those that rehype-slug 6.0.0 with github-slugger 2.0.0 gave for
// the same page, except {#own}, which it does not read.
func TestGitHubAnchorsOfTrickyHeadings(t *testing.T) {
	var got []string
	for _, s := range read(t, Options{}, "a.md", trickyHeadings).Sections {
		got = append(got, s.Anchor)
	}
	want := strings.Split("reverse_proxy-directive a-link--more whats-this--or-that snake_case-and_more été-日本語-ω 日本語 same same-1 "+
		"same-1-1 same-1-2 html-in-it own trailing-hashes -launch-v20-beta spaces---within tabinside same-3 in-a-quote in-a-list setext-one two-linesof-setext "+
		"--entities escaped-_-here -beside httpxexamplea --flag--f httprequesturi 123 old-new a--b raw-html own-html note1", " ")
	if !slices.Equal(got, want) {
		t.Errorf("\ngot  %q\nwant %q", got, want)
	}
}
