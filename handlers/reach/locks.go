package reach

import (
	"path"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/caddyauth"
)

// lock is a handler that refused a stranger, with the pages behind it.
type lock struct {
	number int32
	// alike locks decide alike for all pages that a reader asks for.
	alike   bool
	folders []folder
	pages   int
}

// folder is a part of the pages behind a lock: those in a folder directly below
// the one that has all of them.
type folder struct {
	name  string
	pages []*Page
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
		above := commonFolder(pages[0].Page, pages[len(pages)-1].Page)
		at := make(map[string]int)
		for _, p := range pages {
			c := *p
			c.folder = folderBelow(above, p.Page)
			v.pages[p.Page] = &c
			i, ok := at[c.folder]
			if !ok {
				i = len(l.folders)
				at[c.folder] = i
				l.folders = append(l.folders, folder{name: c.folder})
			}
			l.folders[i].pages = append(l.folders[i].pages, &c)
		}
		locks = append(locks, l)
	}
	slices.SortFunc(locks, func(a, b *lock) int { return int(a.number - b.number) })
	return locks
}

// commonFolder is the path of the folder that both pages are below, and so all
// pages between them in order.
func commonFolder(a, b string) string {
	as, bs := strings.Split(path.Dir(a), "/"), strings.Split(path.Dir(b), "/")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] && as[n] != "." {
		n++
	}
	return strings.Join(as[:n], "/")
}

// folderBelow names the folder directly below another that a page is in.
func folderBelow(above, page string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(page, above), "/")
	name, _, below := strings.Cut(rest, "/")
	if !below {
		return ""
	}
	return name
}

// canaries are pages behind the lock for a reader to try: at most n, of as many
// folders, others in each turn. More of them begin with the same.
func (l *lock) canaries(n, turn int) (pages []*Page) {
	const most = maxCanaries + maxExplored
	for i := 0; len(pages) < min(n, l.pages); i++ {
		f, round := l.folders[(turn*most+i)%len(l.folders)], i/len(l.folders)
		if round < len(f.pages) {
			pages = append(pages, f.pages[(turn+round*max(1, len(f.pages)/most))%len(f.pages)])
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
