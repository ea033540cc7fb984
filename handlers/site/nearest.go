package site

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// names are the words of public pages. The words of paths and titles find the
// pages.
type names struct {
	once  sync.Once
	pages map[string][]int32 // by word, places in Public; none for words of headings alone
	count []int32            // of each page's words in its path and title
	list  *words.List
}

const (
	maxNearest    = 5  // pages
	maxKnown      = 30 // words of a path that pages have
	maxUnknown    = 8  // words of a path that no page has
	maxCorrection = 3  // words of pages for one that none has
	minBeginning  = 6  // letters of a word whose beginning is looked up
	// ordinary words, which are on this many pages and on half of all, don't tell
	// pages apart.
	ordinary = 20
	// ofReaders raises pages in the language and version that most readers want above
	// their translations.
	ofReaders = 1.01
)

// Nearest returns the public pages whose paths and titles are most like a path
// that no page has, most alike first, all in one language and version. Locked pages are left out for every
// reader: what is named here must not depend on whether one of them is at the
// path.
func (s *Pages) Nearest(path string) (pages []*retrieval.Document) {
	n := s.words()
	scores := make([]float64, len(s.Public))
	add := func(word string, weight float64) {
		in := n.pages[word]
		if len(in) > max(ordinary, len(s.Public)/2) {
			return
		}
		for _, i := range in {
			scores[i] += weight * math.Log(1+float64(len(s.Public))/float64(len(in)))
		}
	}
	used, looked := 0, 0
	words.Split(moved.Address(path), func(word string, plain bool) {
		if len(n.pages[word]) > 0 {
			if used++; used <= maxKnown {
				add(word, 1)
			}
			return
		}
		if looked++; !plain || looked > maxUnknown {
			return
		}
		similar := n.list.Suggest(word, false)
		if letters := []rune(word); len(similar) == 0 && len(letters) >= minBeginning {
			similar = n.list.Complete(string(letters[:len(letters)*2/3])) // upgrading, upgrade
		}
		similar = slices.DeleteFunc(similar, func(other words.Suggestion) bool { return len(n.pages[other.Text]) == 0 })
		for _, other := range similar[:min(len(similar), maxCorrection)] {
			add(other.Text, float64(other.Weight))
		}
	})
	language, version := s.favored()
	var best []int // a few of them: the first place is for the highest score
	for i := range scores {
		if scores[i] == 0 {
			continue
		}
		scores[i] /= math.Sqrt(float64(n.count[i]))
		if d := s.Public[i]; d.Language == language && d.Version == version {
			scores[i] *= ofReaders
		}
		at, _ := slices.BinarySearchFunc(best, i, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
		if at < maxNearest {
			best = slices.Insert(best, at, i)[:min(len(best)+1, maxNearest)]
		}
	}
	for _, i := range best {
		if d := s.Public[i]; len(pages) == 0 || d.Language == pages[0].Language && d.Version == pages[0].Version {
			pages = append(pages, d)
		}
	}
	return pages
}

// words returns the words of the public pages, which are collected once.
func (s *Pages) words() *names {
	n := &s.names
	n.once.Do(func() {
		n.pages, n.count = map[string][]int32{}, make([]int32, len(s.Public))
		for i, d := range s.Public {
			words.Split(moved.Address(moved.PathOf(d))+" "+d.Title, func(word string, _ bool) {
				if in := n.pages[word]; len(in) == 0 || in[len(in)-1] != int32(i) {
					n.pages[word] = append(in, int32(i))
					n.count[i]++
				}
			})
		}
		for _, d := range s.Public {
			for _, section := range d.Sections {
				words.Split(section.Heading, func(word string, _ bool) {
					if _, ok := n.pages[word]; !ok {
						n.pages[word] = nil
					}
				})
			}
		}
		all := make(map[string]uint32, len(n.pages))
		for word, in := range n.pages {
			all[word] = uint32(max(len(in), 1))
		}
		n.list = words.NewList(all)
	})
	return n
}
