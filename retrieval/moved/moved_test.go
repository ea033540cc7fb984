package moved_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// text returns words that only this seed has.
func text(seed string, words int) string {
	sum := uint64(0)
	for _, c := range seed {
		sum = sum*131 + uint64(c)
	}
	r := rand.New(rand.NewPCG(sum, 1))
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "w%d ", r.IntN(5000))
	}
	return b.String()
}

// page returns a page whose sections have the texts, with the anchors s0, s1, …
func page(address string, texts ...string) *retrieval.Document {
	d := &retrieval.Document{Page: strings.Trim(address, "/"), URL: address, Title: "Page " + address[strings.LastIndex(address, "/")+1:], Hash: fmt.Sprint(address, texts)}
	for i, t := range texts {
		d.Sections = append(d.Sections, retrieval.Section{Anchor: fmt.Sprintf("s%d", i), Text: t})
	}
	return d
}

type site []*retrieval.Document

// deploy replaces the pages as an index with texts on disk does.
func deploy(m *moved.Memory, before, after site) {
	outlines := func(s site) (list site) {
		for _, d := range s {
			list = append(list, d.NewOutline())
		}
		return list
	}
	current := map[string]*retrieval.Document{}
	for _, d := range before {
		current[d.Page] = d
	}
	replaced := m.Replace(context.Background(), outlines(before), outlines(after), func(_ context.Context, page string) (*retrieval.Document, error) {
		return current[page], nil
	})
	clear(current)
	for _, d := range after {
		current[d.Page] = d
	}
	replaced()
}

func TestWhereAPageWent(t *testing.T) {
	t.Parallel()
	install := text("install", 200)
	edited := strings.Replace(install, install[100:130], "other words here", 1)
	common := text("common", 100)
	half := strings.Fields(install)
	for name, c := range map[string]struct {
		before, after site
		proved        bool
		places        []string
	}{
		"a page that is renamed": {
			site{page("/install", install)}, site{page("/setup", install)}, true, []string{"/setup"},
		},
		"a page in another folder, edited": {
			site{page("/install", install)}, site{page("/guide/install", edited)}, true, []string{"/guide/install"},
		},
		"a page that is a part of another one now begins at its section": {
			site{page("/install", install), page("/guide", text("guide", 300))},
			site{page("/guide", text("guide", 300), install)}, true, []string{"/guide#s1"},
		},
		"a page with a new beginning keeps the fragment of the request": {
			site{page("/install", install)}, site{page("/setup", text("new", 80), install)}, true, []string{"/setup"},
		},
		"a page that is split proves nothing": {
			site{page("/install", install)},
			site{page("/a", strings.Join(half[:100], " ")), page("/b", strings.Join(half[95:], " "))}, false, []string{"/b", "/a"},
		},
		"of two pages with the text, none is proved": {
			site{page("/install", install)}, site{page("/a/install", install), page("/b/install", install)}, false, []string{"/a/install", "/b/install"},
		},
		"the page of a version that is dropped is in the other version": {
			site{page("/v1/install", install), page("/v2/install", edited)}, site{page("/v2/install", edited)}, true, []string{"/v2/install"},
		},
		"a page that is deleted is nowhere": {
			site{page("/install", install), page("/other", text("other", 200))}, site{page("/other", text("other", 200))}, false, nil,
		},
		"what is on many pages is no page's text": {
			append(many(20, common), page("/old/note", common+text("own", 10))),
			append(many(20, common), page("/elsewhere", common)), false, nil,
		},
		"a short page moves with its name": {
			site{page("/old/term", "A term of few words")}, site{page("/new/term", "A term of few words")}, true, []string{"/new/term"},
		},
		"a short page without its name is not proved": {
			site{page("/old/term", "A term of few words")}, site{page("/new/word", "A term of few words")}, false, []string{"/new/word"},
		},
		"a new page with the name of the old one contradicts": {
			site{page("/old/install", text("short", 30)), page("/guide", text("guide", 300))},
			site{page("/new/install", text("rewritten", 30)), page("/guide", text("guide", 300), text("short", 30))}, false, []string{"/guide#s1", "/new/install"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := moved.Open("", slog.Default())
			deploy(m, nil, c.before)
			deploy(m, c.before, c.after)
			p := m.Find(c.before[len(c.before)-1].URL)
			if p == nil {
				p = m.Find(c.before[0].URL)
			}
			if p == nil {
				t.Fatal("the page is not remembered")
			}
			var places []string
			for _, place := range p.Places {
				to := place.Address
				if place.Anchor != "" {
					to += "#" + place.Anchor
				}
				places = append(places, to)
			}
			if p.Proved != c.proved || !reflect.DeepEqual(places, c.places) {
				t.Errorf("proved %t, at %v; want %t, %v", p.Proved, places, c.proved, c.places)
			}
		})
	}
}

func many(n int, text string) (s site) {
	for i := range n {
		s = append(s, page(fmt.Sprintf("/many/%d", i), text))
	}
	return s
}

func TestChainsEndWhereThePageIs(t *testing.T) {
	t.Parallel()
	m := moved.Open("", slog.Default())
	install, other := text("install", 200), page("/other", text("other", 100))
	a, b, c := site{page("/a", install), other}, site{page("/b", install), other}, site{page("/c", install), other}
	to := func(address string) string {
		if p := m.Find(address); p != nil && p.Proved {
			return p.Places[0].Address
		}
		return ""
	}
	deploy(m, nil, a)
	deploy(m, a, b)
	deploy(m, b, c)
	if to("/a") != "/c" || to("/b") != "/c" {
		t.Errorf("/a is at %q and /b at %q, want /c", to("/a"), to("/b"))
	}
	// A page that comes back is no longer gone, and those that led elsewhere lead
	// to it.
	deploy(m, c, a)
	if m.Find("/a") != nil || to("/b") != "/a" || to("/c") != "/a" {
		t.Errorf("/a is %v, /b at %q and /c at %q", m.Find("/a"), to("/b"), to("/c"))
	}
	// A page that is gone takes with it what led to it.
	deploy(m, a, site{other})
	for _, address := range []string{"/a", "/b", "/c"} {
		if p := m.Find(address); p == nil || p.Proved || len(p.Places) > 0 {
			t.Errorf("%s: %+v", address, p)
		}
	}
	// Until its text is there again.
	deploy(m, site{other}, site{other, page("/d", install)})
	if to("/a") != "/d" || to("/b") != "/d" || to("/c") != "/d" {
		t.Errorf("/a is at %q, /b at %q, /c at %q, want /d", to("/a"), to("/b"), to("/c"))
	}
}

// The index may be lost, and be read again after the pages have moved.
func TestMovesAreFoundWithoutTheOldTexts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "addresses.bin")
	install := text("install", 200)
	deploy(moved.Open(path, slog.Default()), nil, site{page("/install", install), page("/other", text("other", 100))})

	deploy(moved.Open(path, slog.Default()), nil, site{page("/setup", install), page("/other", text("other", 100))})
	p := moved.Open(path, slog.Default()).Find("/install")
	if p == nil || !p.Proved || p.Places[0].Address != "/setup" || p.Title != "Page install" {
		t.Errorf("after a restart, /install is %+v", p)
	}
}

func TestADamagedFileIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "addresses.bin")
	deploy(moved.Open(path, slog.Default()), nil, site{page("/a", text("a", 50))})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if err := os.WriteFile(path, data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		m := moved.Open(path, slog.New(slog.DiscardHandler))
		if n%16 == 0 {
			deploy(m, site{page("/a", text("a", 50))}, site{page("/b", text("a", 50))})
			if p := m.Find("/a"); p == nil || !p.Proved {
				t.Fatalf("with %d bytes of the file: %+v", n, p)
			}
		}
	}
}

func TestStrangersPagesAreKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "addresses.bin")
	m := moved.Open(path, slog.Default())
	before := site{page("/open", text("open", 50)), page("/locked", text("locked", 50))}
	deploy(m, nil, before)
	m.View(before, func(d *retrieval.Document) bool { return d.URL == "/open" })
	m = moved.Open(path, slog.Default()) // it is known after a restart
	deploy(m, before, site{page("/x", "something else")})
	if open, locked := m.Find("/open"), m.Find("/locked"); !open.Open || locked.Open {
		t.Errorf("open: %+v, locked: %+v", open, locked)
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("much work of one goroutine")
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "addresses.bin")
	m := moved.Open(path, slog.Default())
	folder := strings.Repeat("a-long-name/", 6)
	var before site
	for generation := range 2 {
		var after site
		for i := range 60_000 {
			after = append(after, page(fmt.Sprintf("/%sg%d/page-%d", folder, generation, i), fmt.Sprint("word ", generation, i)))
		}
		deploy(m, before, after)
		before = after
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Pages()); info.Size() > 20_000_000 || n > 40_000 || n < 30_000 {
		t.Errorf("the file has %d bytes, with %d pages that are gone", info.Size(), n)
	}
}

// BenchmarkReplace is a deploy of 10,000 pages of 500 words, of which one in 20 has
// moved, or all.
func BenchmarkReplace(b *testing.B) {
	const pages = 10_000
	for _, each := range []int{20, 1} {
		b.Run(fmt.Sprintf("one_in_%d", each), func(b *testing.B) {
			var before, after site
			for i := range pages {
				texts := []string{text(fmt.Sprint(i), 250), text(fmt.Sprint(i, "b"), 250)}
				version := 1
				before = append(before, page(fmt.Sprintf("/v1/page-%d", i), texts...))
				if i%each == 0 {
					version = 2
				}
				after = append(after, page(fmt.Sprintf("/v%d/page-%d", version, i), texts...))
			}
			path := filepath.Join(b.TempDir(), "addresses.bin")
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				_ = os.Remove(path)
				m := moved.Open(path, slog.Default())
				deploy(m, nil, before)
				b.StartTimer()
				deploy(m, before, after)
				if n := len(m.Pages()); n != pages/each {
					b.Fatal(n)
				}
			}
		})
	}
}

// What strangers can read of a generation may be known before its addresses are.
func TestAViewMayComeBeforeThePagesAreRemembered(t *testing.T) {
	t.Parallel()
	m := moved.Open(filepath.Join(t.TempDir(), "addresses.bin"), slog.New(slog.DiscardHandler))
	first, second := site{page("/old", text("a", 200))}, site{page("/new", text("a", 200))}
	replaced := m.Replace(t.Context(), nil, first, nil)
	m.View(first, func(*retrieval.Document) bool { return true })
	replaced()
	deploy(m, first, second)
	if p := m.Find("/old"); p == nil || !p.Open {
		t.Errorf("%+v, want an open page", p)
	}
}
