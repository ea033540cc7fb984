package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestATextTokenTakesAFewAllocations(t *testing.T) {
	n, err := allocations()
	if err != nil {
		t.Fatal(err)
	}
	if n > maxAllocations {
		t.Errorf("%.4f allocations a token", n)
	}
}

func TestMarksAreFoundHoweverTheStreamIsCut(t *testing.T) {
	var text []byte
	for i := range 300 {
		text = append(text, "word "...)
		text = appendMark(text, i, uint64(i)*1000)
	}
	for _, cut := range []int{1, 2, 7, markLength, 100, len(text)} {
		c := &streamClient{load: &load{steady: new(atomic.Bool)}}
		for piece := range slices.Chunk(text, cut) {
			c.marks(piece, 1<<20, 0)
		}
		if c.next != 300 || c.lost != 0 || c.seen.tokens != 300 {
			t.Errorf("cut every %d bytes: %d tokens, %d lost", cut, c.next, c.lost)
		}
	}
}

func TestLostDoubledAndReorderedTokensAreSeen(t *testing.T) {
	for name, order := range map[string][]int{"lost": {0, 1, 3, 4}, "doubled": {0, 1, 1, 2}, "reordered": {0, 2, 1, 3}} {
		c := &streamClient{load: &load{steady: new(atomic.Bool)}}
		for _, i := range order {
			c.marks(appendMark(nil, i, 0), 0, 0)
		}
		if c.lost == 0 {
			t.Errorf("%s tokens are not seen", name)
		}
	}
}

func TestAStreamOfTheFakeModelIsReadWhole(t *testing.T) {
	addr, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = serveModel([]string{addr}) }() // until the test's process ends
	p := pace{tokens: 500, burst: 7}
	for setPace(t.Context(), addr, p) != nil && t.Context().Err() == nil {
		_ = pause(t.Context(), time.Millisecond)
	}
	l := &load{addr: addr, request: modelRequest(addr, "how?"), streams: 5, each: 2, tokens: p.marks()}
	s := l.run(t.Context())
	if err := s.err(); err != nil || s.tokens != 10*int64(p.marks()) {
		t.Fatalf("%d marks, %v", s.tokens, err)
	}
	l.tokens++
	if l.run(t.Context()).err() == nil {
		t.Error("a mark that never came is not missed")
	}
}

func TestGeneratedSitesAreTheSameEveryTime(t *testing.T) {
	var sites [2][]string
	for i := range sites {
		dir := t.TempDir()
		questions, err := newCorpus(200).write(dir, 200, 20)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := readSite(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, d := range docs {
			n += len(d.Sections)
		}
		if n != 200 {
			t.Fatalf("%d sections, not 200", n)
		}
		sites[i] = questions
	}
	if len(sites[0]) == 0 || !slices.Equal(sites[0], sites[1]) {
		t.Errorf("questions differ: %q %q", sites[0], sites[1])
	}
}

func TestBadInputIsAsLargeAsItSays(t *testing.T) {
	for _, in := range badInputs() {
		switch {
		case strings.Contains(in.name, "5 MB") && len(in.body) < 5<<20,
			strings.Contains(in.name, "1 MB") && len(in.body) < 1<<20-1000,
			strings.Contains(in.name, "10,000 deep") && len(in.body) < 10000,
			strings.Contains(in.name, "10,000 words") && bytes.Count(in.body, []byte(" ")) < 9999:
			t.Errorf("%s has only %d bytes", in.name, len(in.body))
		}
	}
}

func TestAnUnknownSuiteIsRefusedByName(t *testing.T) {
	err := run(context.Background(), []string{"serch"})
	if err == nil || !strings.Contains(err.Error(), "serch") {
		t.Errorf("error: %v", err)
	}
}

func TestFiguresOfTwoCommitsStandSideBySide(t *testing.T) {
	ours := "head\n\n### Replies\n\n| # | figure | module | result |\n|---|---|---|---|\n| 1 | CPU, µs | 30.0 | 1.2: met (target 2) |\n| 2 | new | 5 | |\n"
	theirs := "### Replies\n\n| # | figure | module | result |\n|---|---|---|---|\n| 1 | CPU, µs | 20.0 | 1.5: met (target 2) |\n"
	var out strings.Builder
	compare(&out, ours, theirs, "v1")
	for _, want := range []string{"| 1 | CPU, µs | 30.0 / 20.0 (1.50) | 1.2: met (target 2) |\n", "| 2 | new | 5 | |\n", "| # | figure | module | result |\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestTablesAreWrittenIntoTheirPlaces(t *testing.T) {
	const text = "Before.\n\n<!-- bench: sites in a folder -->\n\n| old |\n\n<!-- /bench -->\n\nBetween.\n\n<!-- bench: another -->\n\n| kept |\n\n<!-- /bench -->\n"
	const printed = "2026-11-24 12:00 UTC · a machine, load at the start 0.1\n\n### 10 sites in a folder\n\n| | first start |\n|---|---|\n| all, s | 1 |\n\nA remark.\n"
	const want = "Before.\n\n<!-- bench: sites in a folder -->\n10 sites in a folder. 2026-11-24 12:00 UTC · a machine, load at the start 0.1:\n\n" +
		"| | first start |\n|---|---|\n| all, s | 1 |\n\n<!-- /bench -->\n\nBetween.\n\n<!-- bench: another -->\n\n| kept |\n\n<!-- /bench -->\n"
	once, n := place(text, printed)
	if once != want || n != 1 {
		t.Errorf("%d tables:\n%s", n, once)
	}
	if twice, _ := place(once, printed); twice != once {
		t.Errorf("written twice:\n%s", twice)
	}
}

// The manual's places are those of tables that the bench prints.
func TestTheManualsTablesArePrinted(t *testing.T) {
	manual, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	files, _ := filepath.Glob("*.go")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	places := placeForm.FindAllStringSubmatch(string(manual), -1)
	if len(places) < 10 {
		t.Errorf("%d places", len(places))
	}
	for _, m := range places {
		if !regexp.MustCompile(`table\((fmt\.Sprintf\()?"[^"]*` + regexp.QuoteMeta(m[2])).MatchString(source.String()) {
			t.Errorf("no table has %q in its title", m[2])
		}
	}
}

// BenchmarkToken is a token's way through reader, check and encoder.
func BenchmarkToken(b *testing.B) {
	const tokens = 20000
	m, err := newInMemory(tokens)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := m.reply(); err != nil {
			b.Fatal(err)
		}
		n += tokens
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/token")
}
