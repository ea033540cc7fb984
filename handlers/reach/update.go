package reach

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/maphash"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/handlers/evidence"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	// tick is how often Tick is called, which looks for new pages and old answers.
	tick = time.Second
	// maxAge is how old an answer to a stranger becomes, unless the site is slow.
	maxAge = 10 * time.Minute
	// restFactor is how many times as long as it took to renew pages no other is
	// renewed, and maxRest the longest such rest for a page.
	restFactor = 20
	maxRest    = time.Minute
	// retryAfter is when a page without an answer is asked for again. It doubles
	// up to maxAge.
	retryAfter = 5 * time.Second
	// giveUpAfter is how many pages in a row must hang, although few are asked
	// for at once, until the others are left for later.
	giveUpAfter = 4
	// publishEvery is how often the first states are published before all are
	// known.
	publishEvery = time.Second
)

// patience is how long the answer to a stranger may take, by how many requests
// for the page got none.
func patience(failures int) time.Duration {
	return [...]time.Duration{insideTimeout, 10 * time.Second, 30 * time.Second}[min(failures, 2)]
}

// Run keeps the states of the pages up to date until ctx ends.
func (s *Gate) Run(ctx context.Context) {
	defer func() { // once a view that a request publishes is there
		s.publishing.Lock()
		defer s.publishing.Unlock()
		s.stop()
	}()
	if s.Members != nil {
		<-ctx.Done()
		return
	}
	if s.inside == nil {
		s.showComplete(s.View())
		const message = "this Caddy does not serve the site's pages, by its configuration; all of them count as public"
		switch {
		case s.Open:
			s.Log.Warn("locks are off: every page of the index is public")
		case s.Named:
			s.Log.Warn(message, "see", "caddy docs doctor")
		default:
			s.Log.Info(message)
		}
		return
	}
	for {
		s.Update(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

// Ticks calls each at every tick until ctx ends. One clock for all sites, of
// which there may be a thousand, wakes the process once a second.
func Ticks(ctx context.Context, each func()) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			each()
		}
	}
}

// Tick lets Run go on if a page is due, or may be.
func (s *Gate) Tick() {
	if s.inside == nil || s.states.isSettled(s.Documents(), time.Now()) {
		return
	}
	s.nudge()
}

// nudge lets Run go on.
func (s *Gate) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // a look is due already
	}
}

// Update asks for the pages that are new, changed, or were asked for too long
// ago, and returns when their states are known, or are known to be late.
func (s *Gate) Update(ctx context.Context) {
	if s.inside == nil {
		return
	}
	s.updating.Lock()
	defer s.updating.Unlock()
	documents := s.Documents()
	due, again := s.states.due(documents, time.Now())
	if len(due) > 0 {
		func() {
			defer retrieval.SaveMemory()()
			s.askNew(ctx, documents, due)
		}()
		if len(due) >= manyPages {
			retrieval.ReturnMemory()
		}
	}
	if len(again) > 0 {
		began := time.Now()
		_, back := s.askAll(ctx, s.inside.background, documents, again, 1, 0)
		took := time.Since(began)
		s.states.mu.Lock()
		s.states.rest = time.Now().Add(min(restFactor*took, time.Duration(len(again))*maxRest))
		s.states.mu.Unlock()
		if back { // what serves the others may be back, too
			s.askAll(ctx, s.inside.background, documents, s.states.unanswered(documents), atOnce(), giveUpAfter)
		}
	}
	s.states.mu.Lock()
	changed := s.states.changed
	s.states.mu.Unlock()
	if v := s.View(); ctx.Err() == nil && (changed || !SameDocuments(documents, v.documents)) {
		s.publish(documents)
	}
	s.report()
}

// manyPages is from how many pages on the memory that asking for them took is
// returned to the system at once, as that of an index is.
const manyPages = 200

// askNew asks for pages that are new or changed. Those that give no answer in
// time may be slow only beside each other: they are asked for once more, with
// fewer beside them and more patience, until several in a row give none again.
func (s *Gate) askNew(ctx context.Context, documents, due []*retrieval.Document) {
	late, _ := s.askAll(ctx, s.inside.background, documents, due, atOnce(), 0)
	if len(late) == 0 {
		return
	}
	s.states.mark(late, true)
	s.publish(documents)
	s.askAll(ctx, s.inside.background, documents, late, atOnce()/4, giveUpAfter)
	s.states.mark(late, false)
}

// maxProved is how many pages Prove asks for.
const maxProved = 20

// Prove asks for the first documents that have no state, at once instead of in their
// turn, which on a large site comes seconds after a start or a reload. It waits for
// them as long as a reader does, and returns the view.
func (s *Gate) Prove(ctx context.Context, documents ...*retrieval.Document) *View {
	v := s.View()
	if v.Complete || s.inside == nil && s.Members == nil {
		return v
	}
	unknown := make(map[string]bool)
	for _, d := range documents {
		if len(unknown) < maxProved && !v.pages[d.Page].shows(d) {
			unknown[d.Page] = true
		}
	}
	if len(unknown) == 0 {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	proved := make(chan struct{})
	go func() {
		defer close(proved)
		if s.Members != nil {
			v.prove(ctx, unknown)
			return
		}
		mine, others := s.proving.begin(unknown)
		s.states.mu.Lock()
		seen := s.states.seen
		var due []*retrieval.Document
		news := false
		for _, d := range seen {
			switch p := s.states.pages[d.Page]; {
			case mine[d.Page] == nil:
			case !p.shows(d):
				due, news = append(due, d), true
			case !p.again: // which Update asks for with more patience
				news = true
			}
		}
		s.states.mu.Unlock()
		s.askAll(s.running, s.inside.readers, seen, due, checksAtOnce, 0)
		if news {
			s.publish(seen)
		}
		s.proving.end(mine)
		for _, asked := range others {
			<-asked
		}
	}()
	select {
	case <-proved:
	case <-ctx.Done():
	}
	return s.View()
}

// proving are the pages that Prove asks for, with what is closed when it has.
type proving struct {
	mu    sync.Mutex
	asked map[string]chan struct{}
}

// begin returns the pages that the caller asks for, and what to wait for others that
// are asked for already.
func (s *proving) begin(names map[string]bool) (mine map[string]chan struct{}, others []chan struct{}) {
	mine = make(map[string]chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = make(map[string]chan struct{})
	}
	for name := range names {
		if asked := s.asked[name]; asked != nil {
			others = append(others, asked)
			continue
		}
		mine[name] = make(chan struct{})
		s.asked[name] = mine[name]
	}
	return mine, others
}

func (s *proving) end(mine map[string]chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, asked := range mine {
		delete(s.asked, name)
		close(asked)
	}
}

// atOnce is how many new pages are asked for at once. More than a few for each
// core would only make each other late.
func atOnce() int { return min(insideAtOnce, 4*runtime.GOMAXPROCS(0)) }

// askAll asks for pages, atOnce of them at the same time, and returns those that
// gave no answer in time. It ends when giveUp in a row gave none, if that is not
// 0. back reports that a page has an answer that had none.
func (s *Gate) askAll(ctx context.Context, slots []chan struct{}, documents, due []*retrieval.Document, atOnce, giveUp int) (late []*retrieval.Document, back bool) {
	w := s.inside.walls(ctx, slots, stranger)
	var wait sync.WaitGroup
	next := make(chan *retrieval.Document)
	inARow := 0
	for range min(len(due), atOnce) {
		wait.Go(func() {
			for d := range next {
				s.states.mu.Lock()
				known := s.states.pages[d.Page]
				s.states.mu.Unlock()
				p, inTime := s.look(ctx, slots, d, known, w)
				if ctx.Err() != nil {
					continue
				}
				s.states.mu.Lock()
				if !SameDocuments(documents, s.states.seen) { // replaced since Prove was called
					s.states.mu.Unlock()
					continue
				}
				s.states.pages[d.Page] = p
				s.states.changed = s.states.changed || !p.equal(known)
				back = back || known.shows(d) && known.State == Unknown && p.State != Unknown
				if inARow++; inTime {
					inARow = 0
				} else {
					late = append(late, d)
				}
				s.states.mu.Unlock()
			}
		})
	}
	published := time.Now()
	for _, d := range due {
		s.states.mu.Lock()
		hang := giveUp > 0 && inARow >= giveUp
		s.states.mu.Unlock()
		if hang {
			break
		}
		next <- d
		if s.View().sets == nil && time.Since(published) > publishEvery {
			s.publish(documents)
			published = time.Now()
		}
	}
	close(next)
	wait.Wait()
	return late, back
}

// spread is how much later than others a page is asked for again, so that the
// pages of a thousand sites are not asked for in the same seconds.
func spread(url string) time.Duration {
	return maxAge / 2 / 1000 * time.Duration(maphash.String(seed, url)%1000)
}

// SameDocuments reports whether both are the documents of one generation of the
// index, which never change.
func SameDocuments(a, b []*retrieval.Document) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// look asks for a page as a stranger. known is what is known of it, perhaps of
// another content. inTime reports that there was an answer, if only an error.
func (s *Gate) look(ctx context.Context, slots []chan struct{}, d *retrieval.Document, known *Page, w *walls) (p *Page, inTime bool) {
	p = &Page{Document: d, State: NotServed, URL: d.URL}
	p.due = time.Now().Add(maxAge/2 + spread(d.URL))
	proof, failures := uint64(0), 0
	if known.shows(d) {
		failures = known.failures
		p.late = known.late
		if known.State == Public {
			proof = known.proof
		}
	}
	defer func() {
		if p.failures == 0 {
			p.late = max(failures, p.late)
		}
	}()
	for i, candidate := range s.candidates(d) {
		var state State
		var why string
		var got answer
		err := s.inside.ask(ctx, slots, patience(max(failures, p.late)), candidate, stranger, func(a answer) {
			if state, why = judge(a); state == Public && a.hash != proof {
				was := known.shows(d) && known.State == Public
				if state = s.proves(ctx, a, d, w, candidate, was); state == Unknown {
					why = changedText
				} else if state == Locked {
					why = otherText
				}
			}
			got = a
		})
		if err == nil && state == Public {
			var refusal *answer
			if refusal, err = s.refusedAlso(ctx, slots, patience(max(failures, p.late)), stranger, d, got.path, true); refusal != nil {
				why = "is not public in every block that has the site; write the site's url so that one block decides"
				state, got.lock = Locked, refusal.lock
			}
		}
		if err != nil {
			state, why = Unknown, fmt.Sprintf("does not respond within %s", patience(max(failures, p.late)))
		}
		if state == Unknown {
			if known.shows(d) && known.State != NotServed && known.State != Unknown { // what was proven stays
				kept := *known
				p = &kept
			} else {
				p.State, p.Why, p.path, p.lock = Unknown, why, unescape(candidate), got.lock
			}
			p.failures = failures + 1
			p.due = time.Now().Add(min(retryAfter<<min(failures, 10), maxAge))
			if p.failures >= 3 && why != changedText && s.reportedFailing.CompareAndSwap(false, true) {
				s.Log.Warn("a page can't be checked; its last known state stays", "url", p.URL, "state", p.State, "why", why, "requests", p.failures, "see", "caddy docs pages")
			}
			return p, err == nil
		}
		switch {
		case state == NotServed:
			if i == 0 {
				p.Why, p.lock, p.path = candidate+" "+why, got.lock, unescape(candidate)
			}
			continue
		case state == Locked && p.State == Locked: // at several of its paths
			continue
		}
		p.State, p.Why, p.lock, p.path = state, why, got.lock, unescape(candidate)
		if state == Public {
			if p.path, p.proof = got.path, got.hash; s.loads(d) {
				p.proof = 0 // it is of what the page loads
			}
			if p.Raw = !isHTML(got.contentType); p.Raw {
				p.Why = "is served as text, not rendered"
			}
			s.states.found.Delete(d.Page)
			break
		}
		if p.refused = why != otherText; p.refused {
			break // the page may be at another path for those who pass the lock
		}
	}
	if p.State == Public || p.State == Locked {
		p.URL = s.urlAt(d, p.path)
	}
	return p, true
}

// changedText is the reason for the state of a page whose new text is not in the index yet.
const changedText = "has changed since it was indexed"

// proves returns Public if an answer has a page's own text, else Locked. It returns
// Unknown if the page's file has changed since it was indexed, unless the document
// was public: nobody may have got what the index still has, such as a password.
func (s *Gate) proves(ctx context.Context, a answer, d *retrieval.Document, w *walls, candidate string, was bool) State {
	if s.File != nil && !strings.Contains(d.File, "://") {
		file, made, err := s.File(d)
		switch {
		case err == nil && !made && !was:
			return Unknown
		case err == nil && sameBytes(a, file):
			return Public
		}
	}
	if s.hasText(ctx, a, d, w, candidate) {
		return Public
	}
	return Locked
}

// hasText reports whether an answer has the text of a page.
func (s *Gate) hasText(ctx context.Context, a answer, d *retrieval.Document, w *walls, candidate string) bool {
	if d.Outline {
		whole, err := s.Whole(ctx, d.Page)
		if err != nil || whole == nil || whole.Outline || whole.OwnHash() != d.OwnHash() {
			return false
		}
		d = whole
	}
	if s.loads(d) {
		paths, data := s.Loads(d)
		if slices.ContainsFunc(paths, func(path string) bool {
			if !strings.HasPrefix(path, "/") {
				path = s.root() + path
			}
			return w.have(path, data)
		}) {
			return true
		}
		c := *d
		c.Sections = d.Sections[:min(1, len(d.Sections))] // what every renderer shows at once
		d = &c
	}
	wanted := evidence.Of(d)
	if !wanted.Enough(a.text()) {
		return false
	}
	if len(wanted) > evidence.FewPairs {
		return true
	}
	// A few words may be those of a menu, which every page has.
	own, ok := w.own(candidate, wanted)
	return ok && own.Enough(a.text())
}

// loads reports whether a document's page may load its text from elsewhere.
func (o *Options) loads(d *retrieval.Document) bool {
	if o.Loads == nil {
		return false
	}
	_, data := o.Loads(d)
	return data != nil
}

// have reports whether the response at a path is a file as it is.
func (w *walls) have(path string, file []byte) bool {
	once, _ := w.once.LoadOrStore("file "+path, sync.OnceValue(func() (same *answer) {
		_ = w.look(escape(path), func(a answer) {
			if a.status == http.StatusOK && a.elsewhere == "" && sameBytes(a, file) {
				same = new(answer)
			}
		})
		return same
	}))
	return once.(func() *answer)() != nil
}

// walls are the responses of folders for pages that do not exist in them.
type walls struct {
	look func(path string, use func(answer)) error
	once sync.Map // of func() *answer, by folder and by file
}

// walls returns the walls that a reader sees.
func (s *inside) walls(ctx context.Context, slots []chan struct{}, who *reader) *walls {
	return &walls{look: func(path string, use func(answer)) error { return s.ask(ctx, slots, insideTimeout, path, who, use) }}
}

// own returns the pairs of words that are not in the response for a page that
// does not exist in the folder of a path. ok is false if there was no answer.
func (w *walls) own(candidate string, all evidence.Pairs) (own evidence.Pairs, ok bool) {
	folder := "/" + strings.TrimPrefix(candidate[:strings.LastIndex(strings.TrimSuffix(candidate, "/"), "/")+1], "/")
	once, _ := w.once.LoadOrStore(folder, sync.OnceValue(func() (absent *answer) {
		_ = w.look(folder+"docs-"+strings.ToLower(rand.Text()), func(a answer) {
			a.body = append([]byte(nil), a.body...)
			absent = &a
		})
		return absent
	}))
	absent := once.(func() *answer)()
	if absent == nil {
		return nil, false
	}
	if absent.status == 0 || absent.status >= 300 && absent.status <= 399 {
		return all, true
	}
	own, found := make(evidence.Pairs), all.In(absent.text(), float64(len(all)))
	for pair := range all {
		if !found[pair] {
			own[pair] = true
		}
	}
	return own, true
}

// report logs the states of the first complete view, if an operator should
// know of them.
func (s *Gate) report() {
	v := s.View()
	if !v.Complete || len(v.pages) == 0 || !s.reported.CompareAndSwap(false, true) {
		return
	}
	pages := v.sorted(v.documents, s.Open) // the index may have others by now
	if p := NoneOpens(pages); p != nil {
		s.Log.Error("this Caddy serves the site, but none of its pages can be opened, so search and assistant have nothing to show",
			"pages", len(pages), "example", p.URL, "why", p.Why, "fix", waysOut, "see", "caddy docs doctor")
		return
	}
	if p, exclude := FirstNotServed(pages); p != nil {
		s.Log.Warn("some pages are left out because they are not served", "pages", CountOf(pages).NotServed, "of", len(pages),
			"example", p.URL, "why", p.Why, "write", exclude)
	}
}

// waysOut is what to write for a site that opens nowhere in this Caddy.
const waysOut = "serve the pages here; if they are served elsewhere, write their URL: url https://…; if anyone may read every page, write: locks off"

// NoneOpens returns an example if no page of a site is public, and none
// refuses strangers either, as pages behind a login do.
func NoneOpens(pages []Page) (example *Page) {
	for i := range pages {
		if pages[i].State == Public || pages[i].State == Locked && pages[i].refused {
			return nil
		}
		if example == nil || pages[i].State != Duplicate && example.State == Duplicate {
			example = &pages[i]
		}
	}
	return example
}
