package words

import (
	"slices"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func counted() (*retrieval.Document, *PageWords, *Lexicon) {
	d := &retrieval.Document{
		Page: "guide/file-server", Title: "File servers", Description: "How files are served.", Keywords: []string{"static"}, Language: "en",
		Sections: []retrieval.Section{
			{Text: "A file server serves files."},
			{Heading: "Hidden files", Path: []string{"Options"}, Text: "Files are hidden; hidden files are not served."},
		},
	}
	var lexicon Lexicon
	return d, Count(d, &lexicon), &lexicon
}

func TestHeadingsAreCountedWithoutTheirNumber(t *testing.T) {
	for heading, want := range map[string]string{
		"13.3.4. Deadlocks": "Deadlocks", "Chapter\u00a013. Locks": "Locks", "E.1. Release 15.20": "Release 15.20", "1. Overview": "Overview",
		"1.2.3": "1.2.3", "3.11 What's new": "3.11 What's new", "5.": "5.", "HTTP/1.1. And later": "HTTP/1.1. And later", "Install": "Install", "(5) SQLITE_BUSY": "SQLITE_BUSY", "(f) open": "(f) open",
	} {
		if got := Unnumbered(heading); got != want {
			t.Errorf("%q: %q, want %q", heading, got, want)
		}
	}
	var lexicon Lexicon
	page := Count(&retrieval.Document{Title: "13.3. Explicit Locking", Sections: []retrieval.Section{{Heading: "13.3.4. Deadlocks", Path: []string{"13. Locks"}}}}, &lexicon)
	if page.Title != 2 || page.Sections[0].Heading != 2 {
		t.Errorf("%d words of the title and %d of the headings count", page.Title, page.Sections[0].Heading)
	}
}

func TestWordsAreCountedByField(t *testing.T) {
	d, page, lexicon := counted()
	if err := page.Check(d, len(lexicon.Words)); err != nil {
		t.Fatal(err)
	}
	find := func(text string) uint32 {
		return uint32(slices.IndexFunc(lexicon.Words, func(w Word) bool { return w.Text == text }))
	}
	got := map[uint32]SectionWord{}
	for w := range page.Sections[1].All() {
		got[w.Word] = w
	}
	for text, want := range map[string]SectionWord{
		"files":   {Text: 2, Heading: 1, InHeading: true},
		"hidden":  {Text: 2, Heading: 1, InHeading: true},
		"options": {Heading: 1, InHeading: true},
		"served":  {Text: 1},
	} {
		if want.Word = find(text); got[want.Word] != want {
			t.Errorf("%s: %+v, want %+v", text, got[want.Word], want)
		}
	}
	if len(got) != 6 || page.Sections[1].Heading != 3 || page.Sections[1].Text != 8 {
		t.Errorf("%d words, %+v", len(got), page.Sections[1])
	}
	places := make([]uint32, len(lexicon.Words))
	page.Places(places)
	if places[find("files")] != 3 || places[find("static")] != 1 {
		t.Errorf("places %v", places)
	}
	// The same words of the same page have the same numbers.
	before := len(lexicon.Words)
	if again := Count(d, &Lexicon{Words: lexicon.Words}); !slices.Equal(again.Sections[1].Words, page.Sections[1].Words) || len(lexicon.Words) != before {
		t.Error("counted again, the words have other numbers")
	}
}

func TestDecodedCountsAreThoseOfTheWantedTerms(t *testing.T) {
	_, page, lexicon := counted()
	file := StemHash("file")
	c, ok := Decode(Encode(page, lexicon)[1], map[uint32]uint32{file: 7})
	if !ok {
		t.Fatal("not decoded")
	}
	own := slices.Collect(c.Section.All())
	if want := []SectionWord{{Word: 7, Text: 2, Heading: 1, InHeading: true}}; !slices.Equal(own, want) {
		t.Errorf("of the section: %+v, want %+v", own, want)
	}
	if len(c.Page.Head) != 1 || c.Page.Head[0] != (HeadWord{Word: 7, Title: 1, Description: 1, Path: 1, InTitle: true, InSlug: true}) {
		t.Errorf("of the page: %+v", c.Page.Head)
	}
	if !slices.Equal(c.Title, []uint32{file, StemHash("server")}) || len(c.Heading) != 3 || c.Page.Title != 2 || c.Section.Text != 8 {
		t.Errorf("fields: %+v", c)
	}
}

func TestDamagedWordsAreRefused(t *testing.T) {
	d, page, lexicon := counted()
	for name, damage := range map[string]func(c *PageWords){
		"a section is missing":      func(c *PageWords) { c.Sections = c.Sections[:1] },
		"a word that is none":       func(c *PageWords) { c.Head[0].Word = 999 },
		"a section's word likewise": func(c *PageWords) { c.Sections[0].Words = []byte{0xff, 0x7f, 4} },
	} {
		c := *page
		c.Head, c.Sections = slices.Clone(page.Head), slices.Clone(page.Sections)
		damage(&c)
		if c.Check(d, len(lexicon.Words)) == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}

// Whatever counts were damaged to, reading them ends without a panic.
func FuzzCounts(f *testing.F) {
	_, page, lexicon := counted()
	f.Add(Encode(page, lexicon)[0])
	f.Add(page.Sections[0].Words)
	f.Add([]byte{0x80, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _ := Decode(data, map[uint32]uint32{1: 1})
		for range c.Section.All() {
		}
		for range (&Section{Words: data}).All() {
		}
	})
}
