package embedded

import (
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// bitset is a set of pages.
type bitset []uint64

func (b bitset) has(i uint32) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bitset) set(i uint32)      { b[i>>6] |= 1 << (i & 63) }

// filters hold the pages of every version, language and tag, by lower case.
type filters struct {
	pages                  int
	version, language, tag map[string]bitset
}

func newFilters(docs []*retrieval.Document) *filters {
	f := &filters{len(docs), map[string]bitset{}, map[string]bitset{}, map[string]bitset{}}
	for i, d := range docs {
		f.put(f.version, d.Version, i)
		f.put(f.language, normalLanguage(d.Language), i)
		// A filter for a language takes its regions: en takes en-US.
		if base, _, regional := strings.Cut(normalLanguage(d.Language), "-"); regional {
			f.put(f.language, base, i)
		}
		for _, t := range d.Tags {
			f.put(f.tag, t, i)
		}
	}
	return f
}

func normal(value string) string { return strings.ToLower(strings.TrimSpace(value)) }

// normalLanguage also takes pt_BR for pt-BR.
func normalLanguage(tag string) string { return strings.ReplaceAll(normal(tag), "_", "-") }

func (f *filters) put(m map[string]bitset, value string, page int) {
	value = normal(value)
	if value == "" {
		return
	}
	if m[value] == nil {
		m[value] = make(bitset, (f.pages+63)/64)
	}
	m[value].set(uint32(page))
}

// allowed returns the pages that a filter lets through; all is true where
// it does not filter.
func (f *filters) allowed(q retrieval.Filter) (set bitset, all bool) {
	all = true
	for _, x := range []struct {
		m     map[string]bitset
		value string
	}{{f.version, q.Version}, {f.language, normalLanguage(q.Language)}, {f.tag, q.Tag}} {
		if x.value == "" {
			continue
		}
		with := x.m[normal(x.value)]
		switch {
		case all:
			set = make(bitset, (f.pages+63)/64)
			copy(set, with)
		case with == nil:
			clear(set)
		default:
			for i := range set {
				set[i] &= with[i]
			}
		}
		all = false
	}
	return set, all
}
