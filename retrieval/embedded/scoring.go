package embedded

// The parameters of the ranking: one set for every site, found on labelled
// sets of several sites at once. docs/ranking.md describes them.
const (
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

	// What is added by a title, a heading or the last segment of a path that
	// consists of nothing but the query, as a share of the query's IDF.
	titleBonus   = 1.4
	headingBonus = .5
	slugBonus    = .5
	// verbatimBonus is what is added by a title that is the query word for word,
	// as a share of the best section's value. If the query has several words,
	// such a page is first.
	verbatimBonus = .4
	rounding      = .01

	// headingVerbatim is what is added by a heading that is the query word for
	// word, as a share of the query's IDF; one that contains the query adds half.
	headingVerbatim = .7

	// Which section of a page a hit leads to: titleWord is the weight of a word
	// in the page's title, since all its sections share it, and focusBonus the
	// weight of a heading with nothing but the query's other words.
	titleWord  = .3
	focusBonus = 2

	// A query of up to keywordsMax known words is taken for keywords, not for a
	// question. Someone who types a name wants the page about it, not the one
	// that mentions it most.
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
	// The share of vectors in a hybrid ranking, for longer queries and for those of
	// one or two words, which are more often names than descriptions.
	semanticShare      = .35
	semanticShareShort = .2
	// wholePage is the share of a page's mean vector in its similarity, beside
	// its best section.
	wholePage = .7
)
