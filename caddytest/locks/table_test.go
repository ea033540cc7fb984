//go:build unix

package locks

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// Whatever keeps a page from a client keeps it from them in every other way, and
// those who can open it have it in every way.
func TestEveryLockHoldsInEveryChannel(t *testing.T) {
	w := newWorld(t, table())
	w.load(t)
	w.settle(t)
	w.each(w.check)
	w.report(t)
}

// report fails the tests of the rows with findings.
func (w *world) report(t *testing.T) {
	t.Helper()
	for _, r := range w.rows {
		t.Run(r.name, func(t *testing.T) {
			for _, finding := range r.findings {
				t.Error(finding)
			}
		})
		r.findings = nil
	}
}

// truth is which pages each client opens, the stranger first.
type truth []map[*doc]bool

func (w *world) truth(r *row) truth {
	clients := r.clients()
	all := make(truth, len(clients))
	for i := range clients {
		all[i] = make(map[*doc]bool)
		for _, d := range r.pages() {
			all[i][d] = w.opens(r, &clients[i], d)
		}
	}
	return all
}

// check compares what a row's clients are shown with what they open.
func (w *world) check(r *row) {
	clients := r.clients()
	got := w.truth(r)
	for i := range clients {
		for _, d := range r.pages() {
			if want := containsDoc(clients[i].opens, d); got[i][d] != want {
				r.errorf("the row is wrong: %s opens %s: %t", clients[i].name, d.path, got[i][d])
			}
		}
	}
	w.shown(r, got, got, 2*time.Second)
	w.alike(r, got)
}

func containsDoc(docs []*doc, d *doc) bool {
	for _, other := range docs {
		if other == d {
			return true
		}
	}
	return false
}

// shown asks for every page in every way as every client. Nothing may be shown
// that is not in may, and within patience all of must is.
func (w *world) shown(r *row, may, must truth, patience time.Duration) {
	clients := r.clients()
	deadline := time.Now().Add(patience)
	for i := range clients {
		c := &clients[i]
		for _, ch := range channels {
			for at, d := range r.pages() {
				if ch.on != nil && !ch.on(d) || ch.list && at > 0 || r.hangs && !(locked(d) && slices.Contains(patient, ch.name)) {
					continue
				}
				w.ask(r, c, ch, d, func(other *doc) bool {
					return r.everything || !ch.public && may[i][other] || !ch.host && may[0][other] || ch.public && may[0][other]
				}, func(other *doc) bool {
					return (other == d || ch.list) && !(ch.host && strings.HasSuffix(other.file, ".md") && strings.HasSuffix(ch.name, ".md")) && (must[i][other] || r.everything && !ch.host) && (!ch.public || must[0][other] || r.everything)
				}, deadline)
			}
		}
	}
}

// patient are the channels of sites that don't respond: each takes seconds.
var patient = []string{"search", "page", "llms-full.txt"}

// ask asks for a page in one way.
func (w *world) ask(r *row, c *client, ch channel, d *doc, may, must func(*doc) bool, deadline time.Time) {
	for {
		res, err := w.send(r, c, ch.request(r, d))
		if err != nil {
			// The site's own routes may end a connection.
			if !ch.host || must(d) {
				r.errorf("%s, %s, %s: %v", ch.name, c.name, d.path, err)
			}
			return
		}
		text := spoken(ch, res)
		for _, other := range r.pages() {
			if !may(other) && (strings.Contains(text, other.proof) || strings.Contains(text, other.title)) {
				r.errorf("SHOWN: %s for %s shows %s %s:\n%d %.1500s", ch.name, d.path, c.name, other.path, res.Status, text)
				return
			}
		}
		missed := slices.IndexFunc(r.pages(), func(other *doc) bool { return must(other) && ch.shows != nil && !ch.shows(text, other) })
		if missed < 0 {
			return
		}
		if time.Now().After(deadline) {
			r.errorf("MISSED: %s for %s does not show it to %s (announced: %t):\n%d %.700s", ch.name, r.pages()[missed].path, c.name, announced(res), res.Status, text)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// announced reports whether a response says that it may lack something.
func announced(res *caddytest.Response) bool {
	return res.Header.Get("X-Results-Incomplete") != "" || regexp.MustCompile(`\\?"incomplete\\?":\s*true`).Match(res.Body)
}

// spoken is what a response shows. The text of a stream, whose words may be in
// several pieces, is joined.
func spoken(ch channel, res *caddytest.Response) string {
	text := string(res.Body)
	version := map[string]int{"v1": 1, "v2": 2}[strings.Fields(ch.name)[0]]
	if version == 0 || res.Status != http.StatusOK {
		return text
	}
	reply, err := caddytest.ReadReply(version, res.Body)
	if err != nil {
		return text
	}
	return text + "\n" + reply.Text
}

// alike checks that a missing page and one that a client can't open are the
// same to them, and that a search for a locked word is one for a word of no page.
func (w *world) alike(r *row, got truth) {
	clients := r.clients()
	for i := range clients {
		c := &clients[i]
		for _, d := range r.pages() {
			if r.everything || r.hangs || got[i][d] || got[0][d] || !locked(d) && d != front {
				continue
			}
			missing := *d
			missing.path = regexp.MustCompile(`(plan|log|blue|one|two|red)(\.[a-z]+)?$`).ReplaceAllStringFunc(d.path, func(name string) string {
				stem, extension, _ := strings.Cut(name, ".")
				if extension != "" {
					extension = "." + extension
				}
				return strings.Repeat("q", len(stem)) + extension
			})
			missing.title, missing.key, missing.proof = word("no title"), word("no key"), word("no proof")
			// Those who can open a page behind the lock may notice that there are others.
			known := slices.ContainsFunc(r.pages(), func(d *doc) bool { return got[i][d] && !got[0][d] })
			for _, ch := range channels {
				if known && (strings.Contains(ch.name, "search") || strings.HasPrefix(ch.name, "ask")) {
					continue
				}
				if ch.public || strings.HasPrefix(ch.name, "v") || ch.host && (r.tells || ch.name == "Accept" || ch.name == "Accept without an extension") || ch.on != nil && !ch.on(d) {
					continue
				}
				if missing.path == d.path && (ch.host || !strings.Contains(ch.name, "search")) {
					continue // the front page
				}
				a, errA := w.send(r, c, ch.request(r, d))
				b, errB := w.send(r, c, ch.request(r, &missing))
				if (errA != nil) != (errB != nil) {
					r.errorf("ALIKE: %s, %s, %s: %v, but a missing page: %v", ch.name, c.name, d.path, errA, errB)
				}
				if errA != nil || errB != nil {
					continue
				}
				if x, y := face(a, d), face(b, &missing); x != y {
					r.errorf("ALIKE: %s tells %s that %s exists:\n%s\na missing page:\n%s", ch.name, c.name, d.path, x, y)
				}
			}
		}
	}
}

var (
	changing = regexp.MustCompile(`"?(requestId|messageId|threadId|id|createdAt)\\?":\s*\\?"[^"\\]*\\?"|(thr|msg)_[a-z0-9-]+|\b[A-Z2-7]{26}\b`)
	stems    = regexp.MustCompile(`/(plan|log|blue|one|two|red|q{3,4})\b`)
)

// face is a response without what differs from request to request, and without
// what the request itself said.
func face(res *caddytest.Response, d *doc) string {
	h := res.Header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "X-Thread-Id", "Content-Length", "Etag", "Set-Cookie"} {
		h.Del(name)
	}
	var b strings.Builder
	_ = h.Write(&b)
	text := strings.NewReplacer("%6C", "l", "%6c", "l").Replace(b.String() + "\n" + string(res.Body))
	text = strings.NewReplacer(d.key, "KEY", misspelled(d.key), "KEY", d.key[:5], "KEY").Replace(text)
	text = stems.ReplaceAllString(text, "/STEM")
	text = regexp.MustCompile(`\b(internal|guide|deep|plan|log|blue|one|two|red|q{3,4})\b`).ReplaceAllString(text, "PART")
	return http.StatusText(res.Status) + "\n" + changing.ReplaceAllString(text, "ID")
}

// each runs f for all rows at once.
func (w *world) each(f func(*row)) {
	var wait sync.WaitGroup
	turns := make(chan struct{}, 8)
	for _, r := range w.rows {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			f(r)
		})
	}
	wait.Wait()
}
