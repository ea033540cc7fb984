package reach

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// openedFor is how long the finding holds that a reader could open something.
	openedFor = 30 * time.Second
	// readerWait is how long a search or a page waits for the checks of a reader.
	// They go on in the background for the reader's next request, for at most
	// checkPatience.
	readerWait    = 1500 * time.Millisecond
	checkPatience = 30 * time.Second
	// completeWait is how long the first searches after a start or reload wait
	// for the pages to be asked for.
	completeWait = time.Second
	// maxCanaries is how many pages, behind all locks together, are tried for a
	// reader who presents credentials, and maxExplored how many more are tried in
	// the background if no lock has opened.
	maxCanaries = 10
	maxExplored = 10
	// maxProbes is how many pages a search requests, canaries included, in folders
	// where nothing has opened yet: with the ten pages that it shows, a lock gets
	// at most twenty requests.
	maxProbes = 10
	// checksAtOnce bounds the requests on behalf of one reader.
	checksAtOnce = 8
	// maxReaders bounds the readers that are remembered in each of two generations,
	// maxReadersSize the bytes of their headers, and maxChecks what is remembered
	// about each reader.
	maxReaders     = 10_000
	maxReadersSize = 32 << 20
	maxChecks      = 5_000
	// closedAfter is how many pages of a folder must refuse a reader before the
	// others are assumed to be closed.
	closedAfter = 2
)

// rights are what a reader could open in the last half minute.
type rights struct {
	site  *Gate
	who   *reader
	until time.Time
	slots chan struct{} // holds an element for each request
	// begun is true once canaries are being tried, and tried is closed when they
	// have answered; first are the locks that opened by then.
	begun  atomic.Bool
	tried  chan struct{}
	first  []int32
	before map[int32][]*Page // what opened to the reader earlier, by lock

	mu      sync.Mutex
	opened  map[int32][]*Page // by lock
	checks  map[string]*check // by path
	folders map[tallyKey]tally
	// openedPages are the contents of the locked pages that opened.
	openedPages map[string]string
	// refused is the status with which the site refused the front page last.
	refused int
}

type tallyKey struct {
	lock   int32
	folder string
}

// tally counts what a reader could open of a folder.
type tally struct{ opened, refused int }

// check is whether a reader can open a page.
type check struct {
	began time.Time
	done  chan struct{}
	// After done:
	open bool
	err  error
}

// readers are the clients of the last half minute, and those of the half minute
// before.
type readers struct {
	mu          sync.Mutex
	now, before map[readerHash]*rights
	size        int // of the headers of now
	// refused are the statuses with which the front page was refused last, by IP.
	refused map[string]int
	until   time.Time
}

// last returns the last rights of a reader, nil for none.
func (rs *readers) last(hash readerHash) *rights {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return cmp.Or(rs.now[hash], rs.before[hash])
}

// rights returns the rights of a reader of a site.
func (rs *readers) rights(s *Gate, v *visit) *rights {
	hash, now := v.hash(), time.Now()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	old := cmp.Or(rs.now[hash], rs.before[hash])
	if old != nil && now.Before(old.until) {
		return old
	}
	if len(rs.now) >= maxReaders || rs.size >= maxReadersSize || now.After(rs.until) {
		rs.now, rs.before = make(map[readerHash]*rights), rs.now
		rs.size, rs.until = 0, now.Add(openedFor)
	}
	r := &rights{
		site: s, who: v.reader, until: now.Add(openedFor), slots: make(chan struct{}, checksAtOnce), tried: make(chan struct{}),
		opened: make(map[int32][]*Page), checks: make(map[string]*check), folders: make(map[tallyKey]tally), openedPages: make(map[string]string),
	}
	rs.now[hash] = r
	rs.size += r.who.size
	if r.refused = rs.refused[v.ip()]; old != nil {
		r.before, r.refused = old.lastOpened(), old.lastRefused()
	}
	return r
}

// note keeps the status with which the front page was refused to an IP, 0 if it was
// not. Other headers from there begin with it until they have their own answer.
func (rs *readers) note(ip string, status int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if status == 0 {
		delete(rs.refused, ip)
		return
	}
	if rs.refused == nil || len(rs.refused) >= maxReaders {
		rs.refused = make(map[string]int)
	}
	rs.refused[ip] = status
}

// lastOpened returns what opened, by lock, or what did before if nothing was
// tried since. It holds no earlier rights, which would hold theirs.
func (r *rights) lastOpened() map[int32][]*Page {
	select {
	case <-r.tried:
		r.mu.Lock()
		defer r.mu.Unlock()
		return maps.Clone(r.opened)
	default:
		return r.before
	}
}

// try tries canaries, beginning with those that opened before, or elsewhere. What
// is tried never depends on what the reader asks. It returns how many of them are
// tried at once.
func (r *rights) try(v *View, elsewhere map[int32][]*Page) (canaries int) {
	turn := int(r.until.Unix() / int64(openedFor/time.Second))
	each := 1
	if r.who.presents() {
		each = max(1, maxCanaries/len(v.locks))
	}
	var wait sync.WaitGroup
	var rest []*lock
	for _, l := range v.locks {
		var pages []*Page
		for _, p := range slices.Concat(r.before[l.number], elsewhere[l.number]) {
			if now := v.pages[p.Page]; now != nil && now.lock == l.number {
				pages = append(pages, now)
			}
		}
		n := 1
		if !l.alike {
			n, rest = max(1, each-len(pages)), append(rest, l)
		}
		pages = append(pages, l.canaries(n, turn)...)
		canaries += len(pages)
		for _, p := range pages {
			wait.Go(func() { r.page(p).wait(r.site.running) })
		}
	}
	go func() {
		wait.Wait()
		r.first = r.locks()
		close(r.tried)
		if !r.who.presents() {
			return
		}
		for _, l := range rest { // each page may have its own readers
			for _, p := range l.canaries(maxExplored/len(rest)+each, turn) {
				if r.site.running.Err() != nil || time.Now().After(r.until) || r.has(l.number) {
					break
				}
				r.page(p).wait(r.site.running)
			}
		}
	}()
	return canaries
}

// has reports whether the reader has opened something behind a lock.
func (r *rights) has(lock int32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.opened[lock]) > 0
}

// wait waits for the check. It reports whether it was done in time.
func (c *check) wait(ctx context.Context) bool {
	select {
	case <-c.done:
	case <-ctx.Done():
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// page checks whether the reader can open a page.
func (r *rights) page(p *Page) *check { return r.ask("", "", p) }

// fetch is page for a page that was requested by name, nil if there is none. It
// makes the same requests for a name without a page as for a locked page, so it
// doesn't use what other requests have found out.
func (r *rights) fetch(name string, p *Page) *check { return r.ask("fetch ", name, p) }

func (r *rights) ask(kind, name string, p *Page) *check {
	s := r.site
	if p == nil {
		p = s.missing(name)
	}
	d, first := p.Document, p.path // where a stranger was refused
	if p.gate != nil {
		kind += d.Source + " "
		s, d = p.gate, p.own
	}
	if m, ok := s.states.found.Load(d.Page); ok && m.(moved).content == d.OwnHash() {
		first = m.(moved).path
	}
	return r.check(kind+escape(first)+" "+d.OwnHash(), func(ctx context.Context, c *check) {
		paths := append([]string{escape(first)}, s.candidates(d)...)
		c.open, c.err = s.find(ctx, r.who, d, paths, p.State != Public)
		if c.err == nil {
			r.count(p, c.open)
		}
	})
}

// missing is a page that the site does not have. It could be at as many paths as a
// page that exists.
func (s *Gate) missing(name string) *Page {
	d := &retrieval.Document{Page: name, URL: s.absolute(s.root() + name), File: name}
	if documents := s.Documents(); len(documents) > 0 {
		file := documents[len(documents)-1].File
		if d.File = strings.TrimPrefix(bare("/"+name), "/") + path.Ext(file); strings.Contains(file, "://") {
			d.File = file // of a sitemap
		}
	}
	return &Page{Document: d, State: NotServed, path: s.root() + name}
}

// hasOpened reports whether the reader has opened a page.
func (r *rights) hasOpened(p *Page) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.openedPages[p.Document.Page] == p.Document.OwnHash()
}

// check returns the check with a key. If there is none, run does it, also when
// nobody waits for it any longer.
func (r *rights) check(key string, run func(context.Context, *check)) *check {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.checks[key]; c != nil {
		return c
	}
	if len(r.checks) >= maxChecks {
		clear(r.checks)
	}
	c := &check{began: time.Now(), done: make(chan struct{})}
	r.checks[key] = c
	go func() {
		defer close(c.done)
		ctx, cancel := context.WithTimeout(r.site.running, checkPatience)
		defer cancel()
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			c.err = ctx.Err()
			return
		}
		defer func() { <-r.slots }()
		run(ctx, c)
		if c.err != nil { // another request may have more luck
			r.mu.Lock()
			delete(r.checks, key)
			r.mu.Unlock()
		}
	}()
	return c
}

// count records what a check of a page behind a lock found.
func (r *rights) count(p *Page, open bool) {
	if p.State == Public || p.State == "" || p.Document.Hash == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := tallyKey{p.lock, p.folder}
	t := r.folders[key]
	defer func() { r.folders[key] = t }()
	if !open {
		t.refused++
		return
	}
	t.opened++
	r.openedPages[p.Document.Page] = p.Document.OwnHash()
	if n := len(r.opened[p.lock]); n < 2 {
		r.opened[p.lock] = append(r.opened[p.lock], p)
	}
}

// mayProbe reports whether a page may be requested: it is in a folder where
// something has opened, or among the first few others.
func (s *Search) mayProbe(p *Page) bool {
	opened, _ := s.rights.tallied(tallyKey{p.lock, p.folder})
	if byPage, _ := s.rights.decides(p.lock); opened > 0 || byPage || s.probed[p.Page] {
		return true
	}
	s.probes--
	s.probed[p.Page] = s.probes >= 0
	return s.probes >= 0
}

// tallied returns how many pages of a folder opened and refused.
func (r *rights) tallied(key tallyKey) (opened, refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.folders[key]
	return t.opened, t.refused
}

// closed reports whether the pages of a folder are assumed to be closed to the
// reader: some refused, none opened, and the lock decides by folder.
func (r *rights) closed(p *Page) bool {
	opened, refused := r.tallied(tallyKey{p.lock, p.folder})
	_, byFolder := r.decides(p.lock)
	return opened == 0 && refused >= closedAfter && byFolder
}

// decides reports how a lock is known to decide: by page, if a folder has pages
// that open and pages that don't, or else by folder, if one has opened more than
// once.
func (r *rights) decides(lock int32) (byPage, byFolder bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, t := range r.folders {
		if key.lock == lock {
			byPage = byPage || t.opened > 0 && t.refused > 0
			byFolder = byFolder || t.opened >= closedAfter
		}
	}
	return byPage, byFolder && !byPage
}

// locks returns the locks that the reader has opened something behind.
func (r *rights) locks() []int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.opened))
}

// find requests a page as a reader, at each path in order, until one refuses or has
// the page. With proof, the response must have its text.
func (s *Gate) find(ctx context.Context, who *reader, d *retrieval.Document, paths []string, proof bool) (open bool, err error) {
	w := s.inside.walls(ctx, s.inside.readers, who)
	for i, candidate := range paths {
		if i > 0 && slices.Contains(paths[:i], candidate) {
			continue
		}
		var state State
		var got answer
		err := s.inside.ask(ctx, s.inside.readers, checkPatience, candidate, who, func(a answer) {
			if state, _ = judge(a); state == Public && proof && s.proves(ctx, a, d, w, candidate, false) != Public {
				state = Duplicate // a response, but another
			}
			got = a
		})
		switch {
		case err != nil:
			return false, err
		case state == NotServed || state == Duplicate:
			continue
		case state == Public:
			if refusal, err := s.refusedAlso(ctx, s.inside.readers, checkPatience, who, d, got.path, proof); refusal != nil || err != nil {
				return false, err
			}
		}
		if state == Public && i > 0 && proof {
			s.states.found.Store(d.Page, moved{d.OwnHash(), s.urlAt(d, got.path), got.path, !isHTML(got.contentType)})
		}
		return state == Public, nil
	}
	return false, nil
}

// refusedAlso asks for a page that opens at a path, at the other places that serve
// the site. It returns the first answer that is not the page, nil if there is none,
// and an error without an answer, or with one that says nothing.
func (s *Gate) refusedAlso(ctx context.Context, slots []chan struct{}, patience time.Duration, who *reader, d *retrieval.Document, path string, proof bool) (refusal *answer, err error) {
	below := strings.TrimPrefix(path, strings.TrimSuffix(unescape(s.root()), "/"))
	for i, in := range s.also {
		at := escape(s.Also[i].Prefix + below)
		w := in.walls(ctx, slots, who)
		var unknown error
		err = in.ask(ctx, slots, patience, at, who, func(a answer) {
			switch state, why := judge(a); {
			case state == Unknown:
				unknown = errors.New(why)
			case state != Public || proof && s.proves(ctx, a, d, w, at, true) != Public:
				a.body = nil
				refusal = &a
			}
		})
		err = cmp.Or(err, unknown)
		if refusal != nil || err != nil {
			return refusal, err
		}
	}
	return nil, nil
}

// Search is what a reader may search.
type Search struct {
	// Pages narrows the search, and Public are the public ones among them.
	Pages, Public *retrieval.PageSet
	// Locked is true if some of them are behind a lock, so that the search must look
	// for more hits than are needed.
	Locked bool

	gate   *Gate
	view   *View
	rights *rights // nil: only what is public
	// early is true if not all pages were known, and so perhaps none that the reader
	// is refused.
	early bool
	// probes is how many pages may still be requested in folders where nothing has
	// opened, besides those in probed.
	probes int
	probed map[string]bool
}

// Searched returns what the reader of a context may search: the public pages,
// and those behind locks that the reader has opened something behind.
func (s *Gate) Searched(ctx context.Context) *Search {
	early := !s.View().Complete
	if !s.awaitComplete(ctx) {
		setIncomplete(ctx)
	}
	v := s.View()
	found := &Search{Pages: v.Public, Public: v.Public, gate: s, view: v, early: early}
	visit := visitOf(ctx)
	if len(v.locks) == 0 || v.sets == nil || visit == nil {
		return found
	}
	r := s.readers.rights(s, visit)
	found.probes = maxProbes
	begins := r.begun.CompareAndSwap(false, true)
	if begins {
		found.probes -= r.try(v, v.openedOnSites(visit))
	}
	wait, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	var open []int32
	select {
	case <-r.tried:
		if open = r.first; !begins {
			open = r.locks()
		}
	case <-wait.Done():
		setIncomplete(ctx)
		open = r.locks()
	}
	if len(open) > 0 {
		found.Pages, found.Locked, found.rights, found.probed = v.sets.with(open), true, r, make(map[string]bool)
	}
	return found
}

// awaitComplete waits a moment for a view of the pages that the index has now.
// It reports whether there is one.
func (s *Gate) awaitComplete(ctx context.Context) bool {
	if s.Members != nil {
		return s.awaitMembers(ctx)
	}
	wait, cancel := context.WithTimeout(ctx, completeWait)
	defer cancel()
	for {
		v := s.View()
		documents := s.Documents()
		switch {
		case v.Elsewhere || len(documents) == 0 || v.Complete && SameDocuments(documents, v.documents):
			return true
		case s.late.Load() == documents[0]:
			return false
		}
		s.nudge()
		select {
		case <-v.replaced:
		case <-wait.Done():
			if ctx.Err() == nil {
				s.late.Store(documents[0])
			}
			return false
		}
	}
}

// Open returns the first hits that the reader can open, at most `enough` of them.
// all is true if the index has no further hits.
func (s *Search) Open(ctx context.Context, hits []retrieval.Hit, enough int, all bool) (open []retrieval.Hit) {
	if !s.view.Complete {
		first := make([]*retrieval.Document, 0, maxProved)
		for _, h := range hits[:min(len(hits), maxProved)] {
			first = append(first, h.Document)
		}
		s.view = s.gate.Prove(ctx, first...)
	}
	if s.early && s.gate.Refuses(ctx) != 0 {
		setIncomplete(ctx)
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	open = make([]retrieval.Hit, 0, min(len(hits), enough))
	listed := make(map[uint64]bool) // sections, by their sums: a locked page may be a copy of a public one
	add := func(h retrieval.Hit) {
		if s.rights != nil {
			sum := h.Document.Sections[h.Section].Sum
			if sum != 0 && listed[sum] {
				return
			}
			listed[sum] = true
		}
		open = append(open, h)
	}
	for i := 0; i < len(hits) && len(open) < enough; i++ {
		if i%checksAtOnce == 0 {
			s.ahead(hits[i:min(i+min(checksAtOnce, enough-len(open)), len(hits))])
		}
		h := hits[i]
		if s.view.IsPublic(h.Document) {
			add(h)
			continue
		}
		p := s.locked(h.Document)
		switch {
		case p == nil: // new: it will be asked for
			setIncomplete(ctx)
		case s.rights.closed(p):
		case !s.mayProbe(p):
			setIncomplete(ctx)
		default:
			c := s.rights.page(p)
			switch {
			case !c.wait(wait) || c.err != nil:
				setIncomplete(ctx)
			case c.open:
				add(h)
			}
		}
	}
	if len(open) < enough && !all && s.rights != nil {
		setIncomplete(ctx)
	}
	return open
}

// ahead starts to check hits, so that the checks run concurrently. In a folder
// where nothing has opened yet, it checks only as many as it takes to tell.
func (s *Search) ahead(hits []retrieval.Hit) {
	if s.rights == nil {
		return
	}
	begun := make(map[tallyKey]int)
	for _, h := range hits {
		p := s.locked(h.Document)
		if p == nil || s.rights.closed(p) {
			continue
		}
		key := tallyKey{p.lock, p.folder}
		opened, refused := s.rights.tallied(key)
		if (opened > 0 || refused >= closedAfter || refused+begun[key] < closedAfter) && s.mayProbe(p) {
			begun[key]++
			s.rights.page(p)
		}
	}
}

// locked returns the page behind a lock that a document is, if its state is
// known and the reader has opened something there.
func (s *Search) locked(d *retrieval.Document) *Page {
	if p := s.view.pages[d.Page]; s.rights != nil && p.shows(d) && p.locked() {
		return p
	}
	return nil
}

// CanOpen reports whether the reader of the context can open a page now. It makes
// the reader's own request, for public pages too, and for name if there is no such
// page, so that missing pages take as long as locked ones. Without an answer in time,
// public pages open to readers who were not refused the front page.
func (s *Gate) CanOpen(ctx context.Context, name string, d *retrieval.Document) bool {
	if s.Members != nil {
		of, own, page := s.memberOf(name, d)
		open := of != nil && of.CanOpen(ctx, own, page)
		s.learn(ctx, d, open)
		return open
	}
	s.awaitComplete(ctx)
	v := s.View()
	if v.Elsewhere {
		return d != nil
	}
	visit := visitOf(ctx)
	if visit == nil {
		return d != nil && v.IsPublic(d)
	}
	r := s.readers.rights(s, visit)
	wait, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	var p *Page
	if d != nil {
		switch known := v.pages[d.Page]; {
		case !known.shows(d): // its turn has not come
			p = &Page{Document: d, URL: d.URL}
			if paths := s.candidates(d); len(paths) > 0 {
				p.path = unescape(paths[0])
			}
		case known.State != Duplicate:
			p = known
		}
	}
	if p != nil && r.hasOpened(p) {
		return true
	}
	c := r.fetch(strings.Trim(name, "/"), p)
	if !c.wait(wait) || c.err != nil { // a stranger got this page, and so does the reader, unless refused
		setIncomplete(ctx)
		return p != nil && p.State == Public && r.lastRefused() == 0
	}
	return p != nil && c.open
}

// MayKnow reports whether the reader of the context may know that a page exists:
// it is public, or has opened to the reader lately. It makes no request.
func (s *Gate) MayKnow(ctx context.Context, d *retrieval.Document) bool {
	v, visit := s.View(), visitOf(ctx)
	if v.IsPublic(d) || visit == nil {
		return v.IsPublic(d)
	}
	p, r := v.pages[d.Page], s.readers.last(visit.hash())
	return p.shows(d) && r != nil && time.Now().Before(r.until) && r.hasOpened(p)
}

// CanOpenAll reports whether the reader of the context can open the pages at
// all URLs. A URL of no page counts as locked.
func (s *Gate) CanOpenAll(ctx context.Context, urls []string) bool {
	s.awaitComplete(ctx)
	v := s.View()
	for _, u := range urls {
		pages := v.at(u)
		if len(pages) == 0 && !v.Elsewhere {
			return false
		}
		for _, p := range pages {
			if p.State != Public && !s.CanOpen(ctx, p.Page, p.Document) {
				return false
			}
		}
	}
	return true
}

// Saw records that a page was just served to the reader of the context.
func (s *Gate) Saw(ctx context.Context, d *retrieval.Document) {
	visit := visitOf(ctx)
	if p := s.View().pages[d.Page]; visit != nil && p.shows(d) && p.locked() {
		s.readers.rights(s, visit).page(p) // asked for, as a 200 may be a login form
	}
}

// Refuses returns the status with which the site refuses its front page to the
// reader of a context although strangers get it: a blocked address, say, which gets
// nothing by any other way either. It is 0 for other readers. Without an answer in
// time, the last one holds, or the last one for the reader's IP.
func (s *Gate) Refuses(ctx context.Context) (status int) {
	if s.Members != nil {
		return s.refusesAny(ctx)
	}
	return s.askFront(ctx)()
}

// askFront begins to ask for the front page as the reader of a context, and
// returns what waits for the status with which that is refused.
func (s *Gate) askFront(ctx context.Context) (refusal func() int) {
	visit, front := visitOf(ctx), s.View().front
	if s.inside == nil || visit == nil || front == nil {
		return func() int { return 0 }
	}
	r := s.readers.rights(s, visit)
	c := r.check("front", func(ctx context.Context, c *check) {
		c.err = s.inside.ask(ctx, s.inside.front, checkPatience, escape(front.path), r.who, func(a answer) {
			status := 0
			switch state, _ := judge(a); {
			case a.status == statusAborted:
				status = http.StatusForbidden
			case state == Unknown: // what was known stays
				return
			case a.status >= 400:
				status = a.status
			}
			r.mu.Lock()
			r.refused = status
			r.mu.Unlock()
			s.readers.note(r.who.ip(), status)
		})
	})
	return func() int {
		select {
		case <-c.done: // as for almost all, of up to some hundred sites of a group
		default:
			wait, cancel := context.WithDeadline(ctx, c.began.Add(readerWait)) // requests that come later don't wait for a slow site
			defer cancel()
			c.wait(wait)
		}
		return r.lastRefused()
	}
}

func (r *rights) lastRefused() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}
