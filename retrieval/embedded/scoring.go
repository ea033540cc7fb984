package embedded

import (
	"math"
	"regexp"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// The parameters of the ranking: one set for every site, found on labelled
// sets of several sites at once. docs/ranking.md describes them.
const (
	// BM25's saturation of frequencies, and how much the length of a field
	// counts.
	k1 = 1.2
	b  = .75

	// Weights of a word by the field that holds it.
	titleWeight   = 3
	headingWeight = 2
	textWeight    = 1
	// keywordsWeight is that of keywords and tags, pathWeight that of path and
	// breadcrumbs.
	descriptionWeight = .5
	keywordsWeight    = 1
	pathWeight        = .5
	// leadWeight is added for a page's first section, in the page's weights.
	leadWeight = 1

	// What a title, headings, or the last segment of a path add that consist
	// of nothing but the query, as a share of the query's IDF.
	titleBonus   = 1.4
	headingBonus = .5
	slugBonus    = .5
	// verbatimBonus is what a title adds that is the query word for word, as a
	// share of the best section's value. Such a page is first if the query has
	// several words.
	verbatimBonus = .4
	rounding      = .01

	// headingVerbatim is what a heading adds that is the query word for word, as
	// a share of the query's IDF, and half of it if the query is in the heading.
	headingVerbatim = .7

	// Which section of a page a hit leads to: titleWord is the weight of a word
	// that the page's title has, since all its sections share it, and
	// focusBonus that of headings with nothing but the query's other words.
	titleWord  = .3
	focusBonus = 2

	// keywordsMax is up to how many known words a query is taken for keywords,
	// not for a question. Someone who types a name wants the page about it,
	// not the one with the most mentions.
	keywordsMax = 3
	// What the best page adds, as a share of the best section's score, and
	// for keywords what a page's second best section adds.
	questionEvidence = .6
	keywordEvidence  = .4
	keywordSecond    = .2

	// Weights of words that are not as typed: two words joined, and synonyms.
	joined  = .5
	synonym = .6
	// partOfWhole is the weight of the parts of an identifier in places that
	// don't have it.
	partOfWhole = .25

	// Factors of pages.
	listFactor      = .5
	boostFactor     = 1.15
	preferredFactor = 1.15

	// DefaultSemanticRatio is the weight of vectors, as an option.
	DefaultSemanticRatio = .5
	// What share of a hybrid ranking that is for vectors, and for queries of one and two
	// words, which are names more often than descriptions.
	semanticShare      = .35
	semanticShareShort = .2
	// wholePage is the share of a page's mean vector in its similarity, beside
	// its best section.
	wholePage = .7
)

// listPath matches the paths of pages that list others by tag, author, date
// or number, listLinks is how many pages such a page links to at least, and
// listShare which share of its words is in these links.
var listPath = regexp.MustCompile(`(?:^|/)(?:tags?|categor(?:y|ies)|archives?|authors?|topics?)(?:/[^/]+)?$|(?:^|/)(?:page|\d{4})/\d+$|(?:^|/)(?:blog|news|posts|articles)/\d{4}$`)

const (
	listLinks = 3
	listShare = .1
)

// pageFactor is what a page's score is multiplied by for what it is.
func pageFactor(d *retrieval.Document, counted *words.Page) float32 {
	if len(d.Links) < listLinks || !listPath.MatchString(d.Page) {
		return 1
	}
	linked := 0
	for _, l := range d.Links {
		linked += len(strings.Fields(l.Text))
	}
	if _, text := counted.Lengths(); float32(linked) < listShare*float32(text) {
		return 1
	}
	return listFactor
}

// idf is the inverse document frequency of a term that is in some of n places.
func idf(n, some int) float32 {
	return float32(math.Log(1 + (float64(n)-float64(some)+.5)/(float64(some)+.5)))
}

// average is the mean length of a field, empty ones left out.
type average struct{ Sum, N float64 }

// add adds a length, or removes it if by is -1.
func (m *average) add(length uint32, by float64) {
	if length > 0 {
		m.Sum += by * float64(length)
		m.N += by
	}
}

// norm is what frequencies in a field of a length are divided by.
func (m *average) norm(length uint32) float32 {
	if m.N == 0 || length == 0 {
		return 1
	}
	return 1 - b + b*float32(float64(length)*m.N/m.Sum)
}

// averages are those of all fields; PageHeading and PageText of all sections
// of a page together.
type averages struct {
	Title, Description, Keywords, Path average
	Heading, Text                      average
	PageHeading, PageText              average
}

// addPage adds the lengths of a page, or removes them if by is -1.
func (m *averages) addPage(c *words.Page, by float64) {
	m.Title.add(c.Title, by)
	m.Description.add(c.Description, by)
	m.Keywords.add(c.Keywords, by)
	m.Path.add(c.Path, by)
	for i := range c.Sections {
		m.Heading.add(c.Sections[i].Heading, by)
		m.Text.add(c.Sections[i].Text, by)
	}
	heading, text := c.Lengths()
	m.PageHeading.add(heading, by)
	m.PageText.add(text, by)
}
