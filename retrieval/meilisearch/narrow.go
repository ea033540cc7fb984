package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// maxNarrowed is how many narrowed statistics are kept: of the pages that
// everyone can open, and of those that some can.
const maxNarrowed = 2

// narrowedSet are the statistics of some of the pages of a content.
type narrowedSet struct {
	content    *content
	pages      *retrieval.PageSet
	statistics *embedded.Statistics
	// filter is an expression that only the pages match, "" if all do. Without
	// filtered, they are too many to name, and the server searches all pages.
	filter   string
	filtered bool
}

// candidates returns how many sections a server is asked for instead of a
// share of count.
func (n *narrowedSet) candidates(count int, share float64) int {
	if !n.filtered {
		share *= narrowedFactor
	}
	return int(float64(count) * share)
}

// narrow returns the statistics of the pages of a set alone. In scores,
// corrections and completions, nothing of the other pages shows. They are made
// by the first query with the set. A nil set has all pages.
func (x *Index) narrow(ctx context.Context, c *content, pages *retrieval.PageSet) (*narrowedSet, error) {
	if pages == nil {
		return &narrowedSet{content: c, statistics: c.statistics, filtered: true}, nil
	}
	x.narrowing.Lock()
	defer x.narrowing.Unlock()
	for _, n := range x.narrowed {
		if n.pages == pages && n.content == c {
			return n, nil
		}
	}
	var in, out []*retrieval.Document
	for _, d := range c.outlines {
		if pages.Has(d.Page) {
			in = append(in, d)
		} else {
			out = append(out, d)
		}
	}
	n := &narrowedSet{content: c, pages: pages, statistics: c.statistics}
	n.filter, n.filtered = pageFilter(in, out)
	if len(out) > 0 {
		tally := c.table.Tally()
		change, count := out, tally.Remove
		if len(in) < len(out) {
			tally = words.NewTable().Tally()
			change, count = in, tally.Add
		}
		for _, d := range change {
			full, err := x.whole(ctx, c, d)
			if err != nil {
				return nil, err
			}
			count(words.CountPage(full))
		}
		n.statistics = embedded.NewStatistics(tally.Table(), x.wording)
	}
	x.narrowed = slices.Insert(x.narrowed, 0, n)
	x.narrowed = x.narrowed[:min(len(x.narrowed), maxNarrowed)]
	return n, nil
}

// whole returns the document of an outline: from the data folder or, if this
// process has not read the page yet, from a server.
func (x *Index) whole(ctx context.Context, c *content, d *retrieval.Document) (*retrieval.Document, error) {
	full, err := x.stored(d)
	if err == nil {
		return full, nil
	}
	errs := []error{err}
	uid := x.uidPrefix + baseLanguage(d.Language)
	for _, s := range x.order() {
		out := *d
		out.Sections, out.Outline = make([]retrieval.Section, len(d.Sections)), false
		found, err := s.search(ctx, s.searchKey, []searchRequest{{IndexUID: uid, Filter: pagesNamed(d.Page), Limit: maxPageSections, Attributes: pageAttributes}})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		n := 0
		for _, h := range found[0].Hits {
			if h.Page == d.Page && h.Section >= 0 && h.Section < len(out.Sections) {
				out.Sections[h.Section] = h.section()
				n++
			}
		}
		if n > 0 {
			return &out, nil
		}
	}
	return nil, fmt.Errorf("%w: %w", retrieval.ErrUnavailable, errors.Join(errs...))
}

// maxPageSections is how many sections of a page are read from a server: as
// many as it returns at most.
const maxPageSections = 1000
