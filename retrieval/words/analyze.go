package words

import (
	"fmt"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Traits are what the ranking takes from all of a page.
type Traits struct {
	// Language is the language whose rules the words follow.
	Language string `json:"language"`
	// Words are those of all texts, Headings those of all headings.
	Words    uint32 `json:"words"`
	Headings uint32 `json:"headings"`
}

// Terms are the words of a section as the ranking compares them, each once and
// separated by spaces, by the fields that hold them.
type Terms struct {
	Title   string `json:"title"` // also the slug and the keywords
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// SectionTerms are the words of a section, for another engine to find it and for
// the ranking of what it found.
type SectionTerms struct {
	Terms
	// Counts are how often which field has which word.
	Counts []byte
}

// Counted are the words of one page, with a lexicon of their own.
type Counted struct {
	*PageWords
	lexicon Lexicon
}

// CountPage counts the words of a page, for Analyze and Tally.
func CountPage(d *retrieval.Document) *Counted {
	c := &Counted{}
	c.PageWords = Count(d, &c.lexicon)
	return c
}

// Analyze returns the traits of a whole page, and the words of its sections.
func Analyze(c *Counted) (Traits, []SectionTerms) {
	lex := &c.lexicon
	heading, text := c.Lengths()
	traits := Traits{Language: string(c.Language), Words: text, Headings: heading}
	out, counts := make([]SectionTerms, len(c.Sections)), Encode(c.PageWords, lex)
	for i := range c.Sections {
		var fields [3]strings.Builder
		seen := map[string]bool{}
		add := func(field int, word uint32) {
			if stem := lex.Words[word].Stem; !seen[stem] {
				seen[stem] = true
				fields[field].WriteString(Token(stem))
				fields[field].WriteByte(' ')
			}
		}
		for _, w := range c.Head {
			if w.Title+w.Keywords > 0 || w.InSlug {
				add(0, w.Word)
			}
		}
		for w := range c.Sections[i].All() {
			if w.Heading > 0 {
				add(1, w.Word)
			}
		}
		for w := range c.Sections[i].All() {
			add(2, w.Word)
		}
		for _, w := range c.Head {
			add(2, w.Word)
		}
		out[i] = SectionTerms{Terms{fields[0].String(), fields[1].String(), fields[2].String()}, counts[i]}
	}
	return traits, out
}

// Token returns a stem as one word for another engine, which splits words at
// punctuation and scripts without spaces: those that it could split are a hash.
func Token(stem string) string {
	for _, r := range stem {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			return fmt.Sprintf("x%08x", StemHash(stem))
		}
	}
	return stem
}
