package embedded

import "math"

// The parameters of the ranking: one set for every site, found on labelled
// sets of several sites at once. docs/ranking.md describes them.
const (
	// k1 is BM25's saturation of frequencies.
	k1 = 1.2

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
	repeatsFactor   = .5
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

// idf is the inverse document frequency of a term that is in some of n places.
func idf(n, some int) float32 {
	return float32(math.Log(1 + (float64(n)-float64(some)+.5)/(float64(some)+.5)))
}
