package embedded

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

func pages(hits []retrieval.Hit) []string {
	var out []string
	for _, h := range hits {
		if !slices.Contains(out, h.Document.Page) {
			out = append(out, h.Document.Page)
		}
	}
	return out
}

// manual is a small site for tests of single rules.
func manual() []*retrieval.Document {
	filler := strings.Repeat("Some more sentences that say nothing in particular about it. ", 8)
	docs := []*retrieval.Document{
		page("reverse-proxy", "Reverse proxy", "Upstreams", "Send requests to an upstream with reverse_proxy.", "Timeouts", "Set dial_timeout and --read-timeout "+filler),
		page("files", "Static files", "Serving files", "The file_server directive serves a folder. "+filler, "Browsing", "Listings of folders."),
		page("tls", "Automatic HTTPS", "Certificates", "Certificates are obtained and renewed through ACME.", "Local names", "For localhost a local authority signs."),
		page("log", "Logging", "Access logs", "Log every request in JSON. If the disk is full, logging stops."),
		page("changelog", "Release notes", "2.8", "Certificates are renewed earlier. Certificates of localhost last longer."),
		page("ja/setup", "設定", "設定ファイル", "サーバーの設定ファイルを書きます。"),
		page("fr/tls", "HTTPS automatique", "Certificats", "Les certificats sont obtenus et renouvelés par ACME dans le serveur."),
	}
	docs[4].Kind = retrieval.Changelog
	docs[5].Language = "ja"
	docs[6].Language = "fr-CA"
	docs[2].Tags = []string{"Security", "ACME"}
	docs[3].Version = "2.x"
	docs[1].Keywords = []string{"downloads"}
	docs[0].Description = "Balance load over several backends."
	return docs
}

func TestSearchFinds(t *testing.T) {
	x := opened(t, Options{Synonyms: [][]string{{"ssl", "https", "tls"}, {"k8s", "kubernetes", "upstream"}}}, manual()...)
	for _, c := range []struct{ name, query, page string }{
		{"a word of the title", "logging", "log"},
		{"another form of a word", "how are certificates renewed", "tls"},
		{"an identifier as it is written", "file_server", "files"},
		{"an identifier in one word", "fileserver", "files"},
		{"an identifier in two words", "file server", "files"},
		{"an identifier in another style", "fileServer", "files"},
		{"a flag with its dashes", "--read-timeout", "reverse-proxy"},
		{"a part of an identifier", "dial", "reverse-proxy"},
		{"a word with a letter missing", "certifcates", "tls"},
		{"a word with two letters swapped", "brosing listnigs", "files"},
		{"a word with its first letter wrong", "xertificates", "tls"},
		{"a word that is being typed", "brows", "files"},
		{"a keyword of the page", "downloads", "files"},
		{"the description", "balance load", "reverse-proxy"},
		{"a synonym", "k8s", "reverse-proxy"},
		{"stop words, if there is nothing else", "if the", "log"},
		{"Japanese", "設定ファイル", "ja/setup"},
		{"French with an elision and without accents", "certificats renouveles", "fr/tls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits := search(t, x, retrieval.Query{Text: c.query})
			if len(hits) == 0 || hits[0].Document.Page != c.page {
				t.Errorf("%q finds %v, want %s first", c.query, pages(hits), c.page)
			}
		})
	}
}

// Many headings have the words of an identifier; one is written like it.
func TestAnIdentifierIsFirstWhereItIsTheHeading(t *testing.T) {
	x := opened(t, Options{}, append(manual(), page("types", "Types", "Slots", "All slots of types: slots for slots."),
		page("model", "Data model", "3.3.2. __slots__", "They declare members, and much else that takes many words to say about classes and instances."))...)
	for query, want := range map[string]string{"__slots__": "model", "slots": "types"} {
		if got := pages(search(t, x, retrieval.Query{Text: query})); got[0] != want {
			t.Errorf("%q finds %v", query, got)
		}
	}
}

func TestSearchFindsNothing(t *testing.T) {
	x := opened(t, Options{}, manual()...)
	for _, q := range []string{"", " ", "…", "qqqqqqq", "\xff\xfe", "\x00"} {
		hits, err := x.Search(context.Background(), retrieval.Query{Text: q, Limit: 10})
		if err != nil || hits == nil || len(hits) != 0 {
			t.Errorf("%q: %v, %v; want an empty list", q, hits, err)
		}
	}
	empty := opened(t, Options{})
	if err := empty.Replace(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if hits := search(t, empty, retrieval.Query{Text: "x"}); len(hits) != 0 {
		t.Errorf("an empty index finds %v", hits)
	}
}

func TestAQuestionsLastWordIsNotCompleted(t *testing.T) {
	x := opened(t, Options{}, manual()...)
	if hits := search(t, x, retrieval.Query{Text: "brows", Question: true}); len(hits) != 0 {
		t.Errorf("got %v", pages(hits))
	}
	if hits := search(t, x, retrieval.Query{Text: "brows "}); len(hits) != 0 {
		t.Errorf("after a space: got %v", pages(hits))
	}
}

func TestAKnownLastWordIsCompletedToAMuchCommonerOne(t *testing.T) {
	x := opened(t, Options{}, page("a", "Notes", "Words", "Here prox is a word."), page("b", "Proxy", "Proxy", "proxy"), page("c", "More", "Proxy", "proxy"), page("d", "Yet more", "Proxy", "proxy"))
	if got := pages(search(t, x, retrieval.Query{Text: "prox"})); len(got) != 4 || got[0] != "b" {
		t.Errorf("while typing: %v", got)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "prox", Question: true})); len(got) != 1 {
		t.Errorf("in a question: %v", got)
	}
}

func TestFilters(t *testing.T) {
	x := opened(t, Options{}, manual()...)
	for _, c := range []struct {
		name   string
		filter retrieval.Filter
		want   string
	}{
		{"a version, in any letter case", retrieval.Filter{Version: "2.X"}, "[log]"},
		{"a language takes its regions", retrieval.Filter{Language: "fr"}, "[fr/tls]"},
		{"a region is exact", retrieval.Filter{Language: "fr_CA"}, "[fr/tls]"},
		{"another region is not it", retrieval.Filter{Language: "fr-FR"}, "[]"},
		{"a tag, in any letter case", retrieval.Filter{Tag: "security"}, "[tls]"},
		{"a part of a tag is not it", retrieval.Filter{Tag: "secur"}, "[]"},
		{"a page without the value matches no filter on it", retrieval.Filter{Tag: "ACME", Version: "2.x"}, "[]"},
		{"a value that no page has", retrieval.Filter{Version: "9"}, "[]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits := search(t, x, retrieval.Query{Text: "acme certificates log requests certificats", Limit: 50, Filter: c.filter})
			if got := fmt.Sprint(pages(hits)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestAChangelogStandsBehindThePageItself(t *testing.T) {
	x := opened(t, Options{}, manual()...)
	if got := pages(search(t, x, retrieval.Query{Text: "certificates localhost"})); got[0] != "tls" {
		t.Errorf("got %v", got)
	}
	old := page("v1/tls", "Certificates", "Certificates", "Certificates of localhost.")
	old.Kind = retrieval.Deprecated
	twice := page("tls", "Certificates", "Certificates", "Certificates of localhost.")
	y := opened(t, Options{}, old, twice)
	if got := pages(search(t, y, retrieval.Query{Text: "certificates"})); got[0] != "tls" {
		t.Errorf("a deprecated page comes first: %v", got)
	}
}

// However many versions a page has, a short list has other pages first.
func TestVariantsOfManyVersionsLeaveRoom(t *testing.T) {
	var docs []*retrieval.Document
	for page := range 12 {
		for version := range 14 {
			v := fmt.Sprintf("v%d", version+1)
			docs = append(docs, &retrieval.Document{
				Page: fmt.Sprintf("%s/page-%d", v, page), Title: "Certificates", Version: v,
				Sections: []retrieval.Section{{Heading: "Renewal", Text: strings.Repeat("filler ", page) + "certificates are renewed"}},
			})
		}
	}
	x := opened(t, Options{}, docs...)
	for _, limit := range []int{1, 5, 10} {
		pages := map[string]bool{}
		for _, h := range search(t, x, retrieval.Query{Text: "certificates renewed", Limit: limit}) {
			pages[h.Document.Page[strings.Index(h.Document.Page, "/"):]] = true
		}
		if len(pages) != limit {
			t.Errorf("a list of %d has %d pages", limit, len(pages))
		}
	}
}

func TestVariants(t *testing.T) {
	var docs []*retrieval.Document
	for _, v := range []string{"v1", "v2", "v3"} {
		for _, name := range []string{"install", "configure", "upgrade"} {
			d := page(v+"/"+name, strings.ToUpper(name[:1])+name[1:]+" the server", "Steps", "How to "+name+" the server on a machine.")
			d.Version = v
			docs = append(docs, d)
		}
	}
	x := opened(t, Options{}, docs...)
	for _, v := range []string{"v1", "v2", "v3"} {
		got := pages(search(t, x, retrieval.Query{Text: "install the server", Prefer: retrieval.Filter{Version: v}}))
		if got[0] != v+"/install" {
			t.Errorf("%s preferred: %v", v, got)
		}
		if strings.HasSuffix(got[1], "/install") || strings.HasSuffix(got[2], "/install") {
			t.Errorf("%s preferred: variants fill the list: %v", v, got)
		}
	}
	if got := pages(search(t, x, retrieval.Query{Text: "install", Filter: retrieval.Filter{Version: "v1"}, Prefer: retrieval.Filter{Version: "v3"}})); got[0] != "v1/install" {
		t.Errorf("the filter counts, not the preference: %v", got)
	}
}

func TestALanguagesOwnQuestionFindsItsPages(t *testing.T) {
	en := page("install", "Install Docker", "Docker", "To install Docker on the server, run the command below and wait for it.")
	de := page("de/install", "Docker installieren", "Docker", "Um Docker auf dem Server zu installieren, startet man den Befehl unten und wartet auf das Ende.")
	en.Language, de.Language = "en", "de"
	x := opened(t, Options{}, en, de)
	prefer := retrieval.Filter{Language: "en"}
	if got := pages(search(t, x, retrieval.Query{Text: "docker", Prefer: prefer})); got[0] != "install" {
		t.Errorf("a word of both languages: %v", got)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "useDocker", Prefer: retrieval.Filter{Language: "de"}})); got[0] != "de/install" {
		t.Errorf("a name with an English word: %v", got)
	}
	if got := pages(search(t, x, retrieval.Query{Text: "wie kann ich docker auf dem server installieren", Prefer: prefer})); got[0] != "de/install" {
		t.Errorf("a German question: %v", got)
	}
}

func TestBoostedPagesAreFavoured(t *testing.T) {
	a, b := page("a", "Proxy", "Proxy", "All about the proxy."), page("b", "Proxy", "Proxy", "All about the proxy.")
	x := opened(t, Options{}, a, b)
	for _, p := range []string{"a", "b"} {
		if got := pages(search(t, x, retrieval.Query{Text: "proxy", Boost: []string{p, p, "none"}})); got[0] != p {
			t.Errorf("%s boosted: %v", p, got)
		}
	}
}

// library is a larger site of random words.
func library(n int, seed uint64) []*retrieval.Document {
	r := rand.New(rand.NewPCG(seed, 1))
	word := func() string {
		i := int(math.Exp(r.Float64() * 6))
		return fmt.Sprintf("%c%s%c", 'a'+i%26, strings.Repeat(string(rune('a'+i%7)), 2+i%3), 'a'+i/26%26)
	}
	text := func(n int) string {
		w := make([]string, n)
		for i := range w {
			w[i] = word()
		}
		return strings.Join(w, " ")
	}
	docs := make([]*retrieval.Document, n)
	for i := range docs {
		d := &retrieval.Document{Page: fmt.Sprintf("p/%d", i), Title: text(2), Hash: fmt.Sprint(seed, i)}
		d.Version = []string{"", "1", "2"}[r.IntN(3)]
		for range 1 + r.IntN(6) {
			d.Sections = append(d.Sections, retrieval.Section{Heading: text(2), Text: text(5 + r.IntN(60)), Level: 2})
		}
		docs[i] = d
	}
	return docs
}

func TestScoresAndGroupsHoldForAnyQuery(t *testing.T) {
	docs := library(300, 3)
	x := opened(t, Options{}, docs...)
	r := rand.New(rand.NewPCG(9, 9))
	for n := range 400 {
		d := docs[r.IntN(len(docs))]
		words := strings.Fields(d.Title + " " + d.Sections[0].Text)
		var q []string
		for range 1 + r.IntN(5) {
			q = append(q, words[r.IntN(len(words))])
		}
		if n%5 == 0 {
			q[0] += "x"
		}
		query := retrieval.Query{Text: strings.Join(q, " "), Limit: 1 + r.IntN(50)}
		hits := search(t, x, query)
		if len(hits) > query.Limit {
			t.Fatalf("%q: %d hits, limit %d", query.Text, len(hits), query.Limit)
		}
		last := 1.0
		firstOf := map[string]bool{}
		inTen := map[string]int{}
		for i, h := range hits {
			if h.Score < 0 || h.Score > last {
				t.Fatalf("%q: score %v after %v", query.Text, h.Score, last)
			}
			last = h.Score
			firstOf[h.Document.Page] = true
			if i < 10 {
				if inTen[h.Document.Page]++; inTen[h.Document.Page] > 2 {
					t.Fatalf("%q: three of %s among the first ten", query.Text, h.Document.Page)
				}
			}
		}
		// The threshold removes exactly the items below it.
		query.Threshold = []float64{.1, .3, .5, .7, 1}[n%5]
		var want []string
		for _, h := range hits {
			if h.Score >= query.Threshold {
				want = append(want, h.Document.Page)
			}
		}
		var got []string
		for _, h := range search(t, x, query) {
			got = append(got, h.Document.Page)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q from %v: %v, want %v", query.Text, query.Threshold, got, want)
		}
	}
}

func TestScoresMeanTheSame(t *testing.T) {
	x := opened(t, Options{}, manual()...)
	for _, c := range []struct {
		query  string
		lo, hi float64
	}{
		{"reverse proxy", 1, 1},
		{"automatic HTTPS", 1, 1},
		{"acme obtained", .55, .65},
		{"zebra giraffe elephant", 0, .2},
		{"blorptastic frobnication request", 0, .2},
		{"the quick brown fox jumps over the lazy dog", 0, .2},
	} {
		hits := search(t, x, retrieval.Query{Text: c.query})
		score := 0.0
		if len(hits) > 0 {
			score = hits[0].Score
		}
		if score < c.lo || score > c.hi {
			t.Errorf("%q scores %v, want %v–%v", c.query, score, c.lo, c.hi)
		}
	}
}

func TestReplaceTakesOverWhatIsUnchanged(t *testing.T) {
	docs := library(50, 5)
	x := opened(t, Options{}, docs...)
	before := x.current.Load()
	next := slices.Clone(docs)
	changed := *docs[7]
	changed.Hash = "new"
	changed.Title = "zebra"
	next[7] = &changed
	next = append(next[:20], next[21:]...)
	if err := x.Replace(context.Background(), next, nil); err != nil {
		t.Fatal(err)
	}
	after := x.current.Load()
	for i, d := range next {
		same := after.words[i] == before.words[before.byPage[d.Page]]
		if same == (d == &changed) {
			t.Errorf("page %s: reused %v", d.Page, same)
		}
	}
	if got := pages(search(t, x, retrieval.Query{Text: "zebra"})); len(got) != 1 || got[0] != changed.Page {
		t.Errorf("the new title finds %v", got)
	}
	if d, err := x.Page(context.Background(), docs[20].Page); d != nil || err != nil {
		t.Errorf("the deleted page is still there: %v, %v", d, err)
	}
	// The same generation made from nothing ranks the same.
	y := opened(t, Options{}, next...)
	for _, q := range []string{docs[3].Title, docs[9].Sections[0].Heading, "zebra " + docs[1].Title} {
		if a, b := flatHits(search(t, x, retrieval.Query{Text: q, Limit: 50})), flatHits(search(t, y, retrieval.Query{Text: q, Limit: 50})); !slices.Equal(a, b) {
			t.Errorf("%q: %v, rebuilt %v", q, a, b)
		}
	}
}

func TestWordsOutOfUseAreDropped(t *testing.T) {
	x := opened(t, Options{})
	for n := range 30 {
		d := &retrieval.Document{Page: "p", Title: "Same", Hash: fmt.Sprint(n)}
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, "word%dx%d ", n, i)
		}
		d.Sections = []retrieval.Section{{Text: b.String()}}
		if err := x.Replace(context.Background(), []*retrieval.Document{d}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(x.current.Load().lexicon.Words); n > 13_000 {
		t.Errorf("%d words are kept for a page of 1,000", n)
	}
	if len(search(t, x, retrieval.Query{Text: "word29x7"})) != 1 {
		t.Error("the last page isn't found")
	}
}

// of returns vectors by document, as Replace takes them.
func of(vectors [][][]float32) func(int) [][]float32 {
	if vectors == nil {
		return nil
	}
	return func(i int) [][]float32 { return vectors[i] }
}

func TestReplaceRefuses(t *testing.T) {
	docs := manual()
	for name, c := range map[string]struct {
		docs    []*retrieval.Document
		vectors [][][]float32
		want    string
	}{
		"two documents of one page":              {[]*retrieval.Document{docs[0], docs[0]}, nil, "different pages"},
		"vectors for another number of sections": {docs[:1], [][][]float32{{{1}}}, "1 vectors for 2 sections"},
		"vectors of two lengths":                 {docs[:1], [][][]float32{{{1}, {1, 2}}}, "one model"},
	} {
		t.Run(name, func(t *testing.T) {
			x := opened(t, Options{}, docs...)
			err := x.Replace(context.Background(), c.docs, of(c.vectors))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if len(x.Documents()) != len(docs) || len(search(t, x, retrieval.Query{Text: "logging"})) == 0 {
				t.Error("the previous generation doesn't serve")
			}
		})
	}
}

func TestACancelledContextEndsSearchAndReplace(t *testing.T) {
	docs := library(100, 1)
	x := opened(t, Options{}, docs...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Search(ctx, retrieval.Query{Text: docs[0].Title, Limit: 10}); err == nil {
		t.Error("the search went on")
	}
	if err := x.Replace(ctx, library(100, 2), nil); err == nil {
		t.Error("Replace went on")
	}
	if x.Documents()[0] != docs[0] {
		t.Error("the generation was replaced")
	}
}

// toy embeds texts by their letters' trigrams: near words are near.
func toy(text string) []float32 {
	v := make([]float32, 64)
	text = " " + strings.ToLower(text) + " "
	for i := 0; i+3 <= len(text); i++ {
		h := fnv.New32a()
		h.Write([]byte(text[i : i+3]))
		v[h.Sum32()%64]++
	}
	return v
}

func embedded(docs []*retrieval.Document) [][][]float32 {
	out := make([][][]float32, len(docs))
	for i, d := range docs {
		for _, s := range d.Sections {
			out[i] = append(out[i], toy(d.Title+" "+s.Heading+" "+s.Text))
		}
	}
	return out
}

func TestVectorsFindWhatKeywordsDoNot(t *testing.T) {
	docs := manual()
	x := opened(t, Options{})
	vectors := embedded(docs)
	vectors[3][0] = nil                    // a section without a vector is still found by keyword
	vectors[2][0] = make([]float32, 64)    // one without direction as well
	vectors[2][1][0] = float32(math.NaN()) // and one that is no number
	if err := x.Replace(context.Background(), docs, of(vectors)); err != nil {
		t.Fatal(err)
	}
	if g := x.current.Load(); len(g.vectors.section) != g.sectionCount()-3 {
		t.Errorf("%d vectors", len(g.vectors.section))
	}
	hits := search(t, x, retrieval.Query{Text: "qqq", Vector: toy("Static files Browsing Listings of folders.")})
	if len(hits) == 0 || hits[0].Document.Page != "files" || hits[0].Section != 1 {
		t.Errorf("by vector: %v", flatHits(hits))
	}
	if got := pages(search(t, x, retrieval.Query{Text: "logging", Vector: toy("logging")})); got[0] != "log" {
		t.Errorf("by word: %v", got)
	}
	for _, h := range search(t, x, retrieval.Query{Text: "qqq", Vector: toy("Static files"), Filter: retrieval.Filter{Version: "2.x"}}) {
		if h.Document.Page != "log" {
			t.Errorf("the filter let %s through", h.Document.Page)
		}
	}
}

func TestTheSemanticRatioWeighsVectors(t *testing.T) {
	docs := manual()
	q := retrieval.Query{Text: "certificates renewed", Vector: toy("Static files Browsing Listings of folders.")}
	rank := func(ratio *float64, page string) int {
		x := opened(t, Options{SemanticRatio: ratio})
		if err := x.Replace(context.Background(), docs, of(embedded(docs))); err != nil {
			t.Fatal(err)
		}
		return slices.Index(pages(search(t, x, q)), page)
	}
	at := func(r float64) *float64 { return &r }
	if got := rank(at(0), "files"); got != -1 {
		t.Errorf("with 0, what only vectors find is in place %d", got)
	}
	if got := rank(nil, "tls"); got != 0 {
		t.Errorf("by default, the words' page is in place %d", got)
	}
	if a, b := rank(nil, "files"), rank(at(DefaultSemanticRatio), "files"); a != b {
		t.Errorf("the default is %d, that of %v %d", a, DefaultSemanticRatio, b)
	}
	if got := rank(at(1), "files"); got != 0 {
		t.Errorf("with 1, the vector's page is in place %d", got)
	}
	p := parsedQuery{plain: []string{"how", "to", "start"}}
	last := float32(-1)
	for _, c := range []struct{ ratio, share float32 }{{0, 0}, {.25, .175}, {.35, .245}, {.5, .35}, {.75, .675}, {1, 1}} {
		got := p.semanticShare(float64(c.ratio))
		if math.Abs(float64(got-c.share)) > 1e-6 || got <= last {
			t.Errorf("a ratio of %v is a share of %v, want %v", c.ratio, got, c.share)
		}
		last = got
	}
	if _, err := Open(Options{SemanticRatio: at(1.5)}); err == nil {
		t.Error("a ratio of 1.5 is taken")
	}
}

func TestAVectorOfAnotherLengthIsIgnored(t *testing.T) {
	docs := manual()
	x := opened(t, Options{})
	if err := x.Replace(context.Background(), docs, of(embedded(docs))); err != nil {
		t.Fatal(err)
	}
	want := flatHits(search(t, x, retrieval.Query{Text: "certificates"}))
	for _, v := range [][]float32{{1, 2, 3}, {}, make([]float32, 64)} {
		if got := flatHits(search(t, x, retrieval.Query{Text: "certificates", Vector: v})); !slices.Equal(got, want) {
			t.Errorf("%d dimensions: %v, want %v", len(v), got, want)
		}
	}
}

func TestNoAnswerMixesTwoGenerations(t *testing.T) {
	generation := func(n int) []*retrieval.Document {
		docs := library(60, 7)
		for _, d := range docs {
			d.Version = fmt.Sprint(n)
			d.Hash += d.Version
		}
		return docs
	}
	x := opened(t, Options{Dir: t.TempDir()}, generation(0)...)
	query := generation(0)[0].Sections[0].Text
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				hits, err := x.Search(context.Background(), retrieval.Query{Text: query, Limit: 50})
				if err != nil {
					t.Error(err)
					return
				}
				for _, h := range hits {
					if h.Document.Version != hits[0].Document.Version {
						t.Errorf("generations %s and %s in one answer", hits[0].Document.Version, h.Document.Version)
						return
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for n := 1; n <= 15; n++ {
		if err := x.Replace(context.Background(), generation(n), nil); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

func FuzzSearch(f *testing.F) {
	docs := manual()
	x, err := Open(Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := x.Replace(context.Background(), docs, of(embedded(docs))); err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"reverse_proxy", "how do I …", "設定", "--", "a b c d e f", strings.Repeat("x ", 500)} {
		f.Add(s, true, false)
	}
	f.Fuzz(func(t *testing.T, text string, question, hybrid bool) {
		q := retrieval.Query{Text: text, Question: question, Limit: 50}
		if hybrid {
			q.Vector = toy(text)
		}
		last := 1.0
		for _, h := range search(t, x, q) {
			if !(h.Score >= 0 && h.Score <= last) || h.Section >= len(h.Document.Sections) {
				t.Errorf("%q: %v after %v", text, h.Score, last)
			}
			last = h.Score
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	docs := library(3000, 1)
	x := opened(b, Options{}, docs...)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		d := docs[i%len(docs)]
		i++
		if _, err := x.Search(context.Background(), retrieval.Query{Text: d.Title + " " + d.Sections[0].Heading, Limit: 10}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplaceOneChanged(b *testing.B) {
	docs := library(3000, 1)
	x := opened(b, Options{}, docs...)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		changed := *docs[0]
		changed.Hash = fmt.Sprint("changed", n)
		docs[0] = &changed
		if err := x.Replace(context.Background(), docs, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVectors(b *testing.B) {
	for _, n := range []int{10_000, 50_000} {
		b.Run(fmt.Sprint(n, "x384"), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			m := &matrix{dim: 384}
			v := make([]float32, m.dim)
			for i := range n {
				for j := range v {
					v[j] = r.Float32() - .5
				}
				m.values = append(m.values, retrieval.Normalized(v)...)
				m.section = append(m.section, uint32(i))
			}
			s := &scratch{section: make([]float32, n)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.compare(context.Background(), v, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
