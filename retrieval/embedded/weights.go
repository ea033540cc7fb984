package embedded

import "github.com/caddy-docs/caddy-docs/retrieval"

// weights are the constants of the ranking: one set for every site. They
// were found on several labelled sets at once; the plateau is flat, so none
// is given to more digits than matter.
type weights struct {
	// Fields of a section's and a page's weighted term frequency.
	title, head, text                    float32
	desc, key, path                      float32 // of the page
	sectionDesc, sectionKey, sectionPath float32
	// k1 saturates frequencies, b weighs lengths.
	k1, pageK1, b float32
	// titleBonus and headBonus are the shares of the query's mass that a
	// title or headings made of nothing but the query add.
	titleBonus, headBonus float32
	// pageEvidence is the share of the best section's score that the best
	// page adds.
	pageEvidence float32
	// What a corrected or completed word counts, beside the word as typed.
	typo1, typo2, firstLetter, completion, completionKnown, joined, synonym float32
	// What demoted pages are multiplied by.
	deprecated, changelog, hub float32
	// What favoured pages are multiplied by.
	boost, preferred float32
}

var standard = weights{
	title: 3, head: 2, text: 1,
	desc: 1, key: 2, path: 1,
	sectionDesc: .5, sectionKey: 1, sectionPath: .5,
	k1: 1.2, pageK1: 1.2, b: .75,
	titleBonus: 1, headBonus: .5,
	pageEvidence: .6,
	typo1:        .8, typo2: .5, firstLetter: .7, completion: .7, joined: .8, synonym: .8,
	deprecated: .7, changelog: .7, hub: 1,
	boost: 1.15, preferred: 1.15,
}

func (w *weights) pageFactor(d *retrieval.Document, c *pageWords) float32 {
	f := float32(1)
	if d.Deprecated {
		f *= w.deprecated
	}
	if d.Changelog {
		f *= w.changelog
	}
	words := uint32(0)
	for _, s := range c.sections {
		words += s.textLen
	}
	if words < 40 && len(d.Links) >= 5 {
		f *= w.hub
	}
	return f
}
