package retrieval

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// joint is the index of a site with several sources. The Refresher of each
// publishes its own documents; those of the others stay as they are. Of several
// documents with one address, that of the first source is published.
type joint struct {
	replacing sync.Mutex // one Replace at a time
	parts     []*part
}

// part is the index as the Refresher of one source sees it.
type part struct {
	Index
	joint  *joint
	source string        // Document.Source
	loaded chan struct{} // closed when what an earlier run left is known

	mu sync.Mutex
	// documents are those that the source published last, or in an earlier run,
	// with their vectors. Of them, outdone have the addresses of other ones.
	documents []*Document
	vectors   func(int) [][]float32
	outdone   map[*Document]*Document
}

// load tells the part the vectors of the documents that an earlier run left.
func (p *part) load(documents []*Document, vectors func(int) [][]float32) {
	p.mu.Lock()
	p.documents, p.vectors = documents, vectors
	p.mu.Unlock()
	close(p.loaded)
}

// Documents returns those of the source.
func (p *part) Documents() []*Document {
	all := p.Index.Documents()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.documents == nil || len(all) == 0 { // not loaded, or lost
		return slices.DeleteFunc(slices.Clone(all), func(d *Document) bool { return d.Source != p.source })
	}
	return p.documents
}

// Replace replaces the documents of the source.
func (p *part) Replace(ctx context.Context, documents []*Document, vectors func(int) [][]float32) error {
	for _, other := range p.joint.parts {
		select {
		case <-other.loaded:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.joint.replacing.Lock()
	defer p.joint.replacing.Unlock()
	for _, d := range documents {
		if d.Source != p.source { // nobody has seen it yet
			d.Source = p.source
		}
	}
	type place struct {
		vectors  func(int) [][]float32
		document int
	}
	var all []*Document
	var places []place
	byPage := map[string]*Document{}
	outdone := make([]map[*Document]*Document, len(p.joint.parts))
	lists := make([][]*Document, len(p.joint.parts))
	withVectors := false
	for i, other := range p.joint.parts {
		list, v := other.documents, other.vectors
		if other == p {
			list, v = documents, vectors
		}
		lists[i], outdone[i] = list, map[*Document]*Document{}
		withVectors = withVectors || v != nil
		for n, d := range list {
			if first := byPage[d.Page]; first != nil {
				outdone[i][d] = first
				continue
			}
			byPage[d.Page] = d
			all, places = append(all, d), append(places, place{v, n})
		}
	}
	var merged func(int) [][]float32
	if withVectors {
		merged = func(n int) [][]float32 {
			if places[n].vectors == nil {
				return nil
			}
			return places[n].vectors(places[n].document)
		}
	}
	if err := p.Index.Replace(ctx, all, merged); err != nil {
		return err
	}
	for _, d := range p.Index.Documents() {
		byPage[d.Page] = d // it may be an outline
	}
	for i, other := range p.joint.parts {
		kept := make([]*Document, len(lists[i]))
		for n, d := range lists[i] {
			if kept[n] = d; outdone[i][d] == nil {
				kept[n] = byPage[d.Page]
			}
		}
		other.mu.Lock()
		other.documents, other.outdone = kept, outdone[i]
		if other == p {
			p.vectors = vectors
		}
		other.mu.Unlock()
	}
	return nil
}

// problem is that documents aren't published because of their addresses; n is
// how many.
func (p *part) problem() (found Problem, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d, other := range p.outdone {
		if found.File == "" || d.File < found.File {
			found = Problem{File: d.File, Reason: fmt.Sprintf("has the same URL as %s, which comes from an earlier source; it is left out", other.File)}
		}
	}
	if n = len(p.outdone); n > 1 {
		found.Reason += fmt.Sprintf(", and so are %d others", n-1)
	}
	return found, n
}
