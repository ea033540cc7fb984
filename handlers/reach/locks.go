package reach

import (
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
)

// lock is a handler that refused a stranger, with the pages behind it.
type lock struct {
	number int32
	// alike: the lock decides in the same way for all pages that a reader asks for.
	alike bool
	// folders are the pages by the folder directly below their common folder.
	folders [][]*Page
	pages   int
}

// locksOf divides the pages that are not public by lock and folder.
func (v *View) locksOf(routes *Routes) (locks []*lock) {
	behind := make(map[int32][]*Page)
	for _, p := range v.pages {
		if p.locked() { // a lock may answer 404
			behind[p.lock] = append(behind[p.lock], p)
		}
	}
	for number, pages := range behind {
		slices.SortFunc(pages, func(a, b *Page) int { return strings.Compare(a.Page, b.Page) })
		l := &lock{number: number, alike: routes.alike(number), pages: len(pages)}
		above, at := 0, make(map[string]int) // where the folder's name begins
		first, last := pages[0].Page, pages[len(pages)-1].Page
		for i := 0; i < min(len(first), len(last)) && first[i] == last[i]; i++ {
			if first[i] == '/' {
				above = i + 1
			}
		}
		for _, p := range pages {
			c := *p
			if folder, _, below := strings.Cut(p.Page[above:], "/"); below {
				c.folder = folder
			}
			v.pages[p.Page] = &c
			i, ok := at[c.folder]
			if !ok {
				i = len(l.folders)
				at[c.folder] = i
				l.folders = append(l.folders, nil)
			}
			l.folders[i] = append(l.folders[i], &c)
		}
		locks = append(locks, l)
	}
	slices.SortFunc(locks, func(a, b *lock) int { return int(a.number - b.number) })
	return locks
}

// canaries are at most n pages behind the lock that are tried for a reader, from
// as many folders as possible, and different ones in each turn. A larger n begins
// with the same pages.
func (l *lock) canaries(n, turn int) (pages []*Page) {
	const most = maxCanaries + maxExplored
	for i := 0; len(pages) < min(n, l.pages); i++ {
		f, round := l.folders[(turn*most+i)%len(l.folders)], i/len(l.folders)
		if round < len(f) {
			pages = append(pages, f[(turn+round*max(1, len(f)/most))%len(f)])
		}
	}
	return pages
}

// alike reports whether a handler decides by the reader alone: static responses
// behind matchers, and passwords.
func (rs *Routes) alike(number int32) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	switch h := rs.handlers[number].(type) {
	case *caddyhttp.StaticResponse, *caddyhttp.StaticError:
		return true
	case *caddyauth.Authentication:
		for _, p := range h.Providers {
			if _, ok := p.(*caddyauth.HTTPBasicAuth); !ok {
				return false
			}
		}
		return true
	}
	return false
}
