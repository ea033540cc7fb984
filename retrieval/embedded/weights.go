package embedded

import "github.com/caddy-docs/caddy-docs/retrieval"

// weights are the constants of the ranking: one set for every site. They
// were found on some twenty labelled sets at once; the plateau is flat, so
// none is given to more digits than matter.
type weights struct {
	// Fields of a section's weighted term frequency.
	title, head, text float32
	// The page's description, its keywords and tags, the words of its path
	// and breadcrumbs: for the page, and for its sections.
	desc, key, path                      float32
	sectionDesc, sectionKey, sectionPath float32
	// lead is what a page's first section counts for the page besides.
	lead float32
	// k1 saturates frequencies, b weighs lengths.
	k1, b float32
	// The shares of the query's mass that a title, headings, or the last
	// part of a path add that are made of nothing but the query.
	titleBonus, headBonus, slugBonus float32
	// pageEvidence is the share of the best section's score that the best
	// page adds. Of keywords (queries of up to keywordsMax words) it is
	// keywordEvidence, and a page's second best section counts as well:
	// who types a name wants the page about it, not the one that mentions
	// it in most places.
	pageEvidence, keywordEvidence, keywordSecond float32
	// What a corrected, completed or joined word counts, beside a word as
	// typed, and a correction of its first letter besides.
	typo1, typo2, firstLetter, completion, joined, synonym float32
	// What demoted pages are multiplied by.
	deprecated, changelog, hub float32
	// What favoured pages are multiplied by.
	boost, preferred float32
	// semantic is the share of vectors in a hybrid ranking of questions,
	// semanticShort that for one and two words.
	semantic, semanticShort float32
	// wholePage is the share of a page's mean vector, beside its best
	// section's, in the page's similarity.
	wholePage float32
}

// keywordsMax is up to how many words a query is taken for keywords.
const keywordsMax = 3

var standard = weights{
	title: 3, head: 2, text: 1,
	desc: 1, key: 2, path: 1,
	sectionDesc: .5, sectionKey: 1, sectionPath: .5,
	lead: 1,
	k1:   1.2, b: .75,
	titleBonus: 1.4, headBonus: .5, slugBonus: .5,
	pageEvidence: .6, keywordEvidence: .4, keywordSecond: .2,
	typo1: .8, typo2: .5, firstLetter: .7, completion: .9, joined: .5, synonym: .6,
	deprecated: .7, changelog: .7, hub: .85,
	boost: 1.15, preferred: 1.15,
	semantic: .35, semanticShort: .2, wholePage: .7,
}

// A hub is a page of links with hardly any text of its own.
const (
	hubWords = 60
	hubLinks = 5
)

func (w *weights) pageFactor(d *retrieval.Document, c *pageWords) float32 {
	f := float32(1)
	if d.Deprecated {
		f *= w.deprecated
	}
	if d.Changelog {
		f *= w.changelog
	}
	if _, words := c.lengths(); words < hubWords && len(d.Links) >= hubLinks {
		f *= w.hub
	}
	return f
}
