package answers

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	renderer "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
)

// verdict is what a reader's client makes of an answer.
type verdict struct {
	good                     int // links to pages and anchors that are served
	allowed                  int // links to hosts that the operator allows
	missing, foreign, images []string
	tags                     []string // HTML that Markdown does not produce
}

func (v *verdict) bad() int {
	return len(v.missing) + len(v.foreign) + len(v.images) + len(v.tags)
}

// markdown renders as the most permissive client does: HTML is passed on,
// bare URLs are linked.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote), goldmark.WithRendererOptions(renderer.WithUnsafe()))

var markdownTags = func() map[string]bool {
	m := make(map[string]bool)
	for t := range strings.FieldsSeq("a p code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 hr em strong br del table thead tbody tr th td input sup div") {
		m[t] = true
	}
	return m
}()

// judge renders an answer and checks every link and tag.
func judge(answer string, pages served) (v verdict) {
	var out bytes.Buffer
	if err := markdown.Convert([]byte(answer), &out); err != nil {
		v.tags = append(v.tags, err.Error())
	}
	z := html.NewTokenizer(&out)
	for z.Next() != html.ErrorToken {
		t := z.Token()
		switch {
		case t.Type != html.StartTagToken && t.Type != html.SelfClosingTagToken:
			if t.Type == html.CommentToken {
				v.tags = append(v.tags, "comment")
			}
		case t.Data == "img":
			v.images = append(v.images, t.String())
		case !markdownTags[t.Data]:
			v.tags = append(v.tags, t.Data)
		case t.Data == "a":
			for _, a := range t.Attr {
				if a.Key == "href" {
					v.link(a.Val, pages)
				}
			}
		}
	}
	return v
}

func (v *verdict) link(address string, pages served) {
	if strings.HasPrefix(address, "#fn") {
		return // of a footnote
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		v.foreign = append(v.foreign, address)
	case address == supportURL || strings.EqualFold(u.Hostname(), allowedHost):
		v.allowed++
	case u.Scheme == "mailto": // loads nothing; renderers make them of text
	case u.Scheme != "" && u.Scheme+"://"+u.Host != siteURL:
		v.foreign = append(v.foreign, address)
	case u.Scheme == "" && u.Host != "":
		v.foreign = append(v.foreign, address)
	case pages.has(u.Path, u.Fragment):
		v.good++
	default:
		v.missing = append(v.missing, address)
	}
}
