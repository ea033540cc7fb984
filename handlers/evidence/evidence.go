// Package evidence finds out whether a response has the text of a page, by pairs of
// neighboring words.
package evidence

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// maxPairs is how many of a page's pairs of words are looked for.
	maxPairs = 500
	// enoughPairs is the share of them that a response must have. Of 5,400 pages
	// by twenty generators, with white space removed, every page with more than
	// ten pairs had at least .84; a login page with the site's navigation has less
	// than .1.
	enoughPairs = .8
	// FewPairs is the most pairs that a page can have if its words can't be told
	// apart from those of the site's frame.
	FewPairs = 8
)

// Pairs are pairs of neighboring words of a text.
type Pairs map[uint64]bool

// Response is what a page's text is looked for in.
type Response struct {
	HTML bool // by its content type
	Body []byte
}

// Of returns pairs of the words of a page, from all of its parts. A page
// of one word has one pair, with nothing.
func Of(d *retrieval.Document) Pairs {
	all := make([]uint64, 0, maxPairs)
	last := uint64(0)
	add := func(text string) {
		words([]byte(text), func(w uint64) {
			if last != 0 {
				all = append(all, last*31+w)
			}
			last = w
		})
	}
	for i := range d.Sections {
		last = 0
		add(d.Sections[i].Heading)
		inCode := false
		for line := range strings.Lines(d.Sections[i].Text) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") { // its language is in no response
				inCode, last = !inCode, 0
				continue
			}
			add(line)
			if strings.TrimSpace(line) == "" || inCode {
				last = 0
			}
		}
	}
	if last = 0; len(all) == 0 {
		add(d.Title)
	}
	if len(all) == 0 {
		for i := range d.Sections {
			words([]byte(d.Sections[i].Heading+" "+d.Sections[i].Text), func(w uint64) { all = append(all, w) })
		}
		if len(all) == 0 {
			words([]byte(d.Title), func(w uint64) { all = append(all, w) })
		}
	}
	out := make(Pairs, min(len(all), maxPairs))
	for i := range min(len(all), maxPairs) {
		out[all[i*len(all)/min(len(all), maxPairs)]] = true
	}
	return out
}

// In returns the pairs that a response has. If there are too few, the response is
// read once more with tags separating words, as between a label and a name that
// only styles set apart.
func (p Pairs) In(r Response, enough float64) Pairs {
	found := make(Pairs, len(p))
	for _, apart := range []bool{false, true} {
		last := uint64(0)
		visible(r, apart, func(text []byte) {
			words(text, func(w uint64) {
				if p[w] {
					found[w] = true
				}
				if pair := last*31 + w; last != 0 && p[pair] {
					found[pair] = true
				}
				last = w
			})
		})
		if float64(len(found)) >= enough {
			break
		}
	}
	return found
}

// Enough reports whether a response has enough of the pairs.
func (p Pairs) Enough(r Response) bool {
	enough := enoughPairs * float64(len(p))
	return len(p) > 0 && float64(len(p.In(r, enough))) >= enough
}

// words calls f with the hash of each word of a text, in lower case. Numbers
// don't count, which renderers put before lines and headings. A letter of a
// script without spaces is a word.
func words(text []byte, f func(hash uint64)) {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h, letters := uint64(offset), 0
	end := func() {
		if letters > 0 {
			f(h)
		}
		h, letters = offset, 0
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case 'a' <= r && r <= 'z':
		case 'A' <= r && r <= 'Z':
			r += 'a' - 'A'
		case r < utf8.RuneSelf:
			end()
			continue
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			end()
			f((offset ^ uint64(r)) * prime)
			continue
		case unicode.IsLetter(r):
			r = unicode.ToLower(r)
		case unicode.Is(unicode.Mn, r) || r == '\u00ad' || r == '\u200b' || r == '\u200d':
			continue // parts of words, and hyphens that may be left out
		default:
			end()
			continue
		}
		h, letters = (h^uint64(r))*prime, letters+1
	}
	end()
}

// inline are elements that don't end a word.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Code: true, atom.Del: true,
	atom.Dfn: true, atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true, atom.Mark: true, atom.Q: true,
	atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true, atom.Sup: true, atom.Tt: true,
	atom.U: true, atom.Var: true, atom.Wbr: true,
}

// visible calls f with the texts of a response in order, each of whole words.
// It is valid until f returns. With apart, words end at each tag.
func visible(r Response, apart bool, f func(text []byte)) {
	if !r.HTML && !looksLikeHTML(r.Body) {
		f(r.Body)
		return
	}
	var text []byte
	flush := func() {
		if len(text) > 0 {
			f(text)
			text = text[:0]
		}
	}
	z := html.NewTokenizer(bytes.NewReader(r.Body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			flush()
			return
		case html.TextToken:
			text = append(text, z.Text()...)
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			switch tag := atom.Lookup(name); {
			case tag == atom.Img:
				flush()
				for more {
					var key, value []byte
					if key, value, more = z.TagAttr(); string(key) == "alt" {
						f(value)
					}
				}
			case tag == atom.Script || tag == atom.Style:
				flush()
				if z.Next() != html.TextToken { // the raw text, or its end
					continue
				}
			case apart || !inline[tag]:
				flush()
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); apart || !inline[atom.Lookup(name)] {
				flush()
			}
		default:
		}
	}
}

func looksLikeHTML(body []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 200)]))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}
