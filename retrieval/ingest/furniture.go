package ingest

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Generators, themes and tools of reference pages repeat on each page what is
// not its text: "Prev · Up · Home", "Available languages", "source". It is known
// by being on most pages of a folder, not by names of classes.
const (
	// sampleFolder is how many pages of a folder are compared at least.
	sampleFolder = 8
	// repeatedTimes is how often a page has a repeated block at most. "Type:
	// string" is on most pages of an API, but many times.
	repeatedTimes = 2
	// deepest is how many folders of a path are compared.
	deepest = 3
)

// repetition is what was learned, and its hash.
type repetition struct {
	found retrieval.Repeated
	sum   string
	// before is the sum of what was given before, of which documents may still be.
	before string
}

// Use makes documents without what repeats on the site's pages, as Learn found
// it.
func (in *Ingester) Use(found retrieval.Repeated) {
	r := &repetition{found: found, before: in.repeated.Load().sum}
	if len(found) > 0 {
		r.sum = hash(fmt.Append(nil, found))
	}
	in.repeated.Store(r)
}

// has reports whether a key is repeated in one of the folders.
func (r *repetition) has(folders []string, key uint64) bool {
	return slices.ContainsFunc(folders, func(f string) bool {
		_, ok := slices.BinarySearch(r.found[f], key)
		return ok
	})
}

// foldersOf are the folders around a file, outermost first.
func foldersOf(file string) []string {
	if u, ok := absolute(file); ok {
		file = strings.Trim(u.Path, "/")
	}
	folders := []string{""}
	for i, c := range file {
		if c == '/' && len(folders) <= deepest {
			folders = append(folders, file[:i])
		}
	}
	return folders
}

// Learn finds what repeats on the pages of a site from a sample of them: what
// is on at least half of the pages of a folder. What is there many times only
// counts if its links lead to about as many targets as there are pages: "source"
// does, the type of a field doesn't.
func (in *Ingester) Learn(sample map[string][]byte) retrieval.Repeated {
	files := slices.Sorted(maps.Keys(sample))
	blocks := make([][]block, len(files))
	var group sync.WaitGroup
	workers := max(1, runtime.GOMAXPROCS(0)-1)
	for w := range workers {
		group.Go(func() {
			for i := w; i < len(files); i += workers {
				blocks[i] = pageBlocks(files[i], sample[files[i]])
			}
		})
	}
	group.Wait()
	type place struct {
		folder string
		key    uint64
	}
	pages, on := map[string]int{}, map[place]int{} // with the key
	times, targets := map[uint64]int{}, map[uint64]int{}
	known := map[[2]uint64]bool{} // pairs of key and target
	for i, file := range files {
		here := map[uint64]int{}
		for _, b := range blocks[i] {
			for _, key := range append(b.pieces, b.key) {
				here[key]++
				times[key]++
			}
			if pair := [2]uint64{b.key, b.target}; b.target != 0 && (b.within || !known[pair]) {
				known[pair] = true
				targets[b.key]++
			}
		}
		for _, folder := range foldersOf(file) {
			pages[folder] += min(1, len(here))
			for key := range here {
				on[place{folder, key}]++
			}
		}
	}
	found := retrieval.Repeated{}
	for k, n := range on {
		all := on[place{"", k.key}]
		if pages[k.folder] >= sampleFolder && 2*n >= pages[k.folder] && (times[k.key] <= repeatedTimes*all || 2*targets[k.key] >= all) {
			found[k.folder] = append(found[k.folder], k.key)
		}
	}
	for _, keys := range found {
		slices.Sort(keys)
	}
	return found
}

// block is a piece of a page that is left out as a whole or not at all: a
// paragraph, a list, a table, running text between them.
type block struct {
	nodes []*html.Node
	// key is the hash of the text, pieces those of the text nodes with letters.
	key    uint64
	pieces []uint64
	linked []bool // which pieces are links
	links  int    // how many pieces are links
	leads  int    // how many of them have a relation to other pages
	// target is the hash of the targets if all pieces are links, else 0. within:
	// all lead to places in the page.
	target  uint64
	within  bool
	heading bool
}

func pageBlocks(file string, data []byte) (out []block) {
	// A page that the parser fails on is reported when its document is made.
	defer func() {
		if recover() != nil {
			out = nil
		}
	}()
	if _, fetched := absolute(file); !fetched && formatOf(file) != formatHTML {
		return nil
	}
	src, err := decode(data, true)
	if err != nil {
		return nil
	}
	root, err := parseHTML(src)
	if err != nil {
		return nil
	}
	if h := readHead(root); h.refresh || h.noindex { // no page of the site
		return nil
	}
	w := &writer{page: true}
	var roots []*html.Node
	roots, w.framed = contentRoots(root)
	for _, r := range roots {
		w.eachBlock(r, func(b block) bool {
			b.nodes = nil
			out = append(out, b)
			return true
		})
	}
	return out
}

// eachBlock visits the blocks below an element, and those in a list of lists if
// visit returns true for it.
func (w *writer) eachBlock(parent *html.Node, visit func(block) bool) {
	var run []*html.Node
	end := func() {
		if b, ok := w.blockOf(run); ok {
			visit(b)
		}
		run = nil
	}
	for c := parent.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode, c.Type == html.ElementNode && !isWritten(c) && !w.hasBlock(c) && !w.skips(c):
			run = append(run, c)
			continue
		case c.Type != html.ElementNode || c.DataAtom == atom.Dt || w.skips(c):
			continue
		}
		end()
		if !isList(c) && !isHeading(c) && c.DataAtom != atom.Table && w.hasBlock(c) {
			w.eachBlock(c, visit)
		} else if b, ok := w.blockOf([]*html.Node{c}); ok && visit(b) && isList(c) &&
			findAll(c, func(n *html.Node) bool { return n != c && isList(n) }) != nil {
			w.eachBlock(c, visit)
		}
	}
	end()
}

// blockOf describes nodes. ok is false for nodes without words.
func (w *writer) blockOf(nodes []*html.Node) (b block, ok bool) {
	b.nodes, b.within = nodes, true
	whole, targets := hashSeed, hashSeed
	piece := func(text string, link *html.Node) {
		if strings.IndexFunc(text, unicode.IsLetter) < 0 {
			return
		}
		sum := hashWords(hashSeed, text)
		if link != nil {
			b.links++
			href := attr(link, "href")
			b.within = b.within && strings.HasPrefix(href, "#")
			if hasAttr(link, "accesskey") || hasAttr(link, "hreflang") ||
				slices.ContainsFunc(strings.Fields(strings.ToLower(attr(link, "rel"))), leadingRelations.has) {
				b.leads++
			}
			sum, targets = hashByte(sum, 'a'), hashWords(targets, href)
		}
		b.pieces, b.linked = append(b.pieces, sum), append(b.linked, link != nil)
		whole = (whole ^ sum) * hashSeed
	}
	var add func(n, link *html.Node)
	add = func(n, link *html.Node) {
		if n.Type == html.ElementNode && (skippedTags.tag(n) || hidden(n)) {
			return
		}
		switch {
		case n.Type == html.TextNode:
			piece(n.Data, link)
		case n.DataAtom == atom.Img:
			piece(attr(n, "alt"), link)
		case n.DataAtom == atom.A && hasAttr(n, "href"):
			link = n
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			add(c, link)
		}
	}
	for _, n := range nodes {
		add(n, nil)
		b.heading = b.heading || isHeading(n)
	}
	b.key = hashByte(whole, 'b') // not that of its only piece
	if b.heading {
		b.key = hashByte(whole, 'h')
	}
	if b.links == len(b.pieces) {
		b.target = targets
	}
	return b, len(b.pieces) > 0
}

// isFurniture reports whether a block repeats as a whole, lists places in the
// page, or leads through the site: at least two of its links, and half of all it
// says, are on most pages.
func (b *block) isFurniture(r *repetition, folders []string) bool {
	switch {
	case b.heading:
		return false
	case r.has(folders, b.key):
		return true
	case b.links < 2:
		return false
	case b.target != 0 && b.within:
		return true
	}
	known, links := 0, b.leads
	n := b.nodes[0]
	grid := n.DataAtom == atom.Table || isList(n)
	for i, p := range b.pieces {
		switch {
		case r.has(folders, p):
			known++
			if b.linked[i] {
				links++
			}
		case !b.linked[i] && !grid:
			return false // a sentence
		}
	}
	return links >= 2 && 2*max(known, links) >= len(b.pieces)
}

// furnish finds the furniture below the elements that hold a page's text. If
// there is nothing else, there is none.
func (w *writer) furnish(r *repetition, file string, roots []*html.Node) {
	if len(r.found) == 0 {
		return
	}
	folders := foldersOf(file)
	found, text := map[*html.Node]bool{}, false
	for _, root := range roots {
		w.eachBlock(root, func(b block) bool {
			switch {
			case b.isFurniture(r, folders):
				for _, n := range b.nodes {
					found[n] = true
				}
				return false
			case b.heading && r.has(folders, b.key):
				w.usual = append(w.usual, headingText(b.nodes[0]))
			case !b.heading:
				text = true
			}
			return true
		})
	}
	if text {
		w.furniture = found
	}
}
