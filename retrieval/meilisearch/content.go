package meilisearch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// content is what the servers should hold of a site. It has no texts and no
// vectors: those of a page are read when they are needed.
type content struct {
	outlines []*retrieval.Document
	pages    []pageState // of outlines, in the same order
	byPage   map[string]int
	indexes  map[string]*languageIndex // by uid
	sections int
	// mean is the mean of the sections' vectors at length 1.
	mean []float32
	// table has the words of the site, statistics is what searches read of it.
	table      *embedded.Table
	statistics *embedded.Statistics
	// vectors returns those of a page's sections, nil if this process has none.
	vectors func(page int) [][]float32
	// restored content is that of an earlier run, of which this process has
	// no vectors.
	restored bool
	// adopted content is what a server says another process has indexed. The
	// servers are not changed to it.
	adopted bool
}

// writes reports whether servers are made equal to the content.
func (c *content) writes() bool { return c != nil && !c.adopted }

// pageState is what is known of a page's records.
type pageState struct {
	IDs    [][idSize]byte // by section
	Hashes []uint64       // of their vectors, 0 without one; nil if there are none
	Traits embedded.Traits
}

// recordID is the ID of a record; in the server it is in hexadecimal.
type recordID [idSize]byte

func (id recordID) String() string { return hex.EncodeToString(id[:]) }

// vectorHash is what record.Vector says.
type vectorHash uint64

const (
	withoutVector vectorHash = 0
	// vectorFailed: the embedder in the server's settings failed.
	vectorFailed vectorHash = math.MaxUint64
)

func (h vectorHash) String() string {
	switch h {
	case withoutVector:
		return ""
	case vectorFailed:
		return failedVector
	}
	return fmt.Sprintf("%016x", uint64(h))
}

// parseVectorHash reads record.Vector. What this package has not written is
// like no vector.
func parseVectorHash(text string) vectorHash {
	if text == failedVector {
		return vectorFailed
	}
	h, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return withoutVector
	}
	return vectorHash(h)
}

// vector returns the hash of a section's vector.
func (p *pageState) vector(section int) vectorHash {
	if p.Hashes == nil {
		return withoutVector
	}
	return vectorHash(p.Hashes[section])
}

// languageIndex is the content in one language, which has its own index.
type languageIndex struct {
	uid, language string
	pages         []int // of content.pages
	sections      int
	dimensions    int // of the vectors, 0 without vectors
}

var unsafeInUID = regexp.MustCompile(`[^a-z0-9-]+`)

// uidPrefix is the prefix of the uids of a site's indexes. It is followed by
// a language without a dash, so that no uid belongs to two sites.
func uidPrefix(prefix, site string) string {
	return prefix + "-" + unsafeInUID.ReplaceAllString(strings.ToLower(site), "-") + "-"
}

// baseLanguage returns the first subtag of a language tag, or "und".
func baseLanguage(tag string) string {
	base, _, _ := strings.Cut(normalLanguage(tag), "-")
	for _, r := range base {
		if r < 'a' || r > 'z' {
			return "und"
		}
	}
	if len(base) < 2 || len(base) > 8 {
		return "und"
	}
	return base
}

// newContent makes the content of outlines. vectors may be nil. Only pages that
// are not in before, which may be nil, are read.
func (x *Index) newContent(outlines []*retrieval.Document, before *content, vectors func(int) [][]float32) (*content, error) {
	c := &content{outlines: outlines, pages: make([]pageState, len(outlines)), byPage: make(map[string]int, len(outlines)), vectors: vectors}
	table, known := x.tableFor(outlines, before)
	for i, d := range outlines {
		if _, twice := c.byPage[d.Page]; twice {
			return nil, fmt.Errorf("two documents are the page %q", d.Page)
		}
		c.byPage[d.Page] = i
		at, unchanged := before.find(d)
		if unchanged {
			c.pages[i] = before.pages[at]
		}
		if unchanged && known {
			continue
		}
		full, err := x.store.whole(d)
		if err != nil {
			return nil, err
		}
		table.Add(full)
		if !unchanged {
			c.pages[i] = newPageState(full)
		}
	}
	c.index(x.uidPrefix)
	c.measure()
	c.table, c.statistics = table, table.Statistics(x.wording)
	return c, nil
}

// tableFor returns the table to which the pages that are not in before must be
// added, if known is true, or else all pages.
func (x *Index) tableFor(outlines []*retrieval.Document, before *content) (table *embedded.Table, known bool) {
	if before == nil {
		return embedded.NewTable(), false
	}
	kept := make(map[string]bool, len(outlines))
	for _, d := range outlines {
		if _, ok := before.find(d); ok {
			kept[d.Page] = true
		}
	}
	if 2*len(kept) < len(before.outlines) {
		return embedded.NewTable(), false
	}
	table = before.table.Clone()
	for _, d := range before.outlines {
		if kept[d.Page] {
			continue
		}
		full, err := x.store.whole(d)
		if err != nil {
			return embedded.NewTable(), false // the page is no longer on disk
		}
		table.Remove(full)
	}
	return table, true
}

// find returns the number of a page that is as in an outline.
func (c *content) find(d *retrieval.Document) (at int, ok bool) {
	if c == nil {
		return 0, false
	}
	at, ok = c.byPage[d.Page]
	return at, ok && d.Hash != "" && c.outlines[at].Hash == d.Hash && c.outlines[at].Language == d.Language &&
		c.outlines[at].URL == d.URL && len(c.outlines[at].Sections) == len(d.Sections)
}

func newPageState(d *retrieval.Document) pageState {
	traits, words := embedded.Analyze(d)
	p := pageState{Traits: traits, IDs: make([][idSize]byte, len(d.Sections))}
	for j := range d.Sections {
		_, _ = hex.Decode(p.IDs[j][:], []byte(newRecord(d, j, traits, words).ID))
	}
	return p
}

// index finds the indexes of the pages.
func (c *content) index(prefix string) {
	c.indexes, c.sections = map[string]*languageIndex{}, 0
	for i, d := range c.outlines {
		language := baseLanguage(d.Language)
		ix := c.indexes[prefix+language]
		if ix == nil {
			ix = &languageIndex{uid: prefix + language, language: language}
			c.indexes[ix.uid] = ix
		}
		ix.pages = append(ix.pages, i)
		ix.sections += len(c.pages[i].IDs)
		c.sections += len(c.pages[i].IDs)
	}
}

// measure reads all vectors: for their hashes, lengths and mean.
func (c *content) measure() {
	var sum []float64
	count := 0
	for _, ix := range c.indexes {
		for _, i := range ix.pages {
			p := &c.pages[i]
			p.Hashes = nil
			if c.vectors == nil {
				continue
			}
			for j, v := range c.vectors(i) {
				if v = unit(v); v == nil || j >= len(p.IDs) {
					continue
				}
				if p.Hashes == nil {
					p.Hashes = make([]uint64, len(p.IDs))
				}
				p.Hashes[j] = hashVector(v)
				ix.dimensions = len(v)
				if sum == nil {
					sum = make([]float64, len(v))
				}
				for k := range min(len(v), len(sum)) {
					sum[k] += float64(v[k])
				}
				count++
			}
		}
	}
	c.mean = nil
	for _, x := range sum {
		c.mean = append(c.mean, float32(x/float64(count)))
	}
}

// location is where a record comes from.
type location struct{ page, section int }

// all returns the locations of all records of an index.
func (c *content) all(ix *languageIndex) []location {
	list := make([]location, 0, ix.sections)
	for _, i := range ix.pages {
		for j := range c.pages[i].IDs {
			list = append(list, location{i, j})
		}
	}
	return list
}

// changes compares the records that an index has with those that it should
// have. It returns the ones to send, because they are missing or their vectors
// differ, and the IDs of those to remove.
func (c *content) changes(ix *languageIndex, held map[recordID]vectorHash, differ func(has, wanted vectorHash) bool) (add []location, remove []string) {
	wanted := make(map[recordID]bool, ix.sections)
	for _, at := range c.all(ix) {
		p := &c.pages[at.page]
		id := p.IDs[at.section]
		has, ok := held[id]
		if other := differ(has, p.vector(at.section)); !ok || other {
			add = append(add, at)
		}
		wanted[id] = true
	}
	for id := range held {
		if !wanted[id] {
			remove = append(remove, id.String())
		}
	}
	slices.Sort(remove)
	return add, remove
}

// unit returns a vector at length 1, nil if it has no direction.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / math.Sqrt(sum))
	}
	return out
}

func hashVector(v []float32) uint64 {
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	sum := sha256.Sum256(data)
	return min(max(binary.BigEndian.Uint64(sum[:]), 1), math.MaxUint64-1)
}
