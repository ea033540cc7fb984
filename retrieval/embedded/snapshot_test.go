package embedded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

func sample() ([]*retrieval.Document, [][][]float32) {
	docs := []*retrieval.Document{
		page("guide/start", "Getting started", "Install", "Download the binary and run it.", "Configure", "Write a Caddyfile with your domain."),
		page("fr/guide/start", "Premiers pas", "Installer", "Téléchargez le programme et lancez-le."),
		page("", "Home", "Welcome", "設定ファイル and reverse_proxy."),
	}
	docs[0].Description = "The first five minutes."
	docs[0].Tags = []string{"beginner"}
	docs[0].Keywords = []string{"setup", "quick"}
	docs[0].Breadcrumbs = []string{"Guide"}
	docs[0].Links = []retrieval.Link{{Page: "", Anchor: "x", Text: "home"}}
	docs[0].Sections[1].Path = []string{"Install"}
	docs[0].Version = "2.x"
	docs[1].Language = "fr"
	docs[1].Kind = retrieval.Deprecated
	docs[2].Kind = retrieval.Changelog
	return docs, [][][]float32{{{1, 0, 0}, {0, 2, 0}}, {nil}, {{0, 0, 3}}}
}

func TestARestartAnswersFromTheSnapshot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by", "open")
	docs, vectors := sample()
	x := opened(t, Options{Dir: dir})
	if err := x.Replace(context.Background(), docs, of(vectors)); err != nil {
		t.Fatal(err)
	}
	queries := []retrieval.Query{
		{Text: "install"}, {Text: "télécharger"}, {Text: "設定"}, {Text: "reverse proxy"}, {Text: "beginner setup"},
		{Text: "domain", Filter: retrieval.Filter{Version: "2.X"}}, {Text: "nothing", Vector: []float32{0, 0, 1}},
	}
	var want [][]retrieval.Hit
	for _, q := range queries {
		want = append(want, search(t, x, q))
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}

	y := opened(t, Options{Dir: dir})
	var got []*retrieval.Document
	for _, d := range y.Documents() {
		if d.Sections[0].Heading == "" || d.Sections[0].Text != "" {
			t.Errorf("in memory: %+v", d)
		}
		d, err := y.Page(context.Background(), d.Page)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	if !reflect.DeepEqual(flat(got), flat(docs)) {
		t.Errorf("documents after the restart:\n%+v\nwant\n%+v", flat(got), flat(docs))
	}
	for i, q := range queries {
		if got := search(t, y, q); !reflect.DeepEqual(flatHits(got), flatHits(want[i])) {
			t.Errorf("%q after the restart: %v, want %v", q.Text, flatHits(got), flatHits(want[i]))
		}
	}
	if got, want := y.current.Load().vectors, x.current.Load().vectors; !reflect.DeepEqual(got, want) {
		t.Errorf("vectors after the restart: %+v, want %+v", got, want)
	}
}

func flat(docs []*retrieval.Document) []retrieval.Document {
	out := make([]retrieval.Document, len(docs))
	for i, d := range docs {
		out[i] = *d
	}
	return out
}

func flatHits(hits []retrieval.Hit) (out []string) {
	for _, h := range hits {
		out = append(out, h.Document.Page+"#"+h.Document.Sections[h.Section].Anchor)
	}
	return out
}

func TestADamagedSnapshotIsLoggedRemovedAndIgnored(t *testing.T) {
	whole := t.TempDir()
	docs, vectors := sample()
	x := opened(t, Options{Dir: whole})
	if err := x.Replace(context.Background(), docs, of(vectors)); err != nil {
		t.Fatal(err)
	}
	x.Close()
	data, err := os.ReadFile(filepath.Join(whole, snapshotFile))
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func([]byte) []byte{
		"empty":          func([]byte) []byte { return nil },
		"another file":   func([]byte) []byte { return []byte(strings.Repeat("hello ", 100)) },
		"cut":            func(b []byte) []byte { return b[:len(b)-7] },
		"cut to 3 bytes": func(b []byte) []byte { return b[:3] },
		"longer":         func(b []byte) []byte { return append(b, 0) },
		"a flipped bit":  func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"an older format": func(b []byte) []byte {
			return signed(bytes.Replace(b, fmt.Appendf(nil, "index %d", SnapshotFormat), []byte("index 1"), 1))
		},
		"a newer format": func(b []byte) []byte {
			return signed(bytes.Replace(b, fmt.Appendf(nil, "index %d", SnapshotFormat), []byte("index 9"), 1))
		},
		"another release's fields": func(b []byte) []byte {
			return signed(bytes.Replace(b, []byte("Document"), []byte("Dokument"), 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, snapshotFile)
			if err := os.WriteFile(file, damage(bytes.Clone(data)), 0o600); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			x := opened(t, Options{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if _, err := x.Search(context.Background(), retrieval.Query{Text: "x"}); !errors.Is(err, retrieval.ErrNotReady) {
				t.Errorf("search: %v, want ErrNotReady", err)
			}
			if !strings.Contains(log.String(), file) {
				t.Errorf("the log doesn't name the file: %s", log.String())
			}
			if which, ok := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "an "), "a "), " format"); ok && !strings.Contains(log.String(), which+" version of caddy-docs wrote it") {
				t.Errorf("the log doesn't say that it is of a version that is %s: %s", which, log.String())
			}
			if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
				t.Error("the damaged file is still there")
			}
		})
	}
}

func TestAFailureToWriteIsAWarningAndTheGenerationServes(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	x := opened(t, Options{Dir: filepath.Join(blocked, "below"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	docs, _ := sample()
	if err := x.Replace(context.Background(), docs, nil); err != nil {
		t.Fatal(err)
	}
	if len(search(t, x, retrieval.Query{Text: "install"})) == 0 {
		t.Error("nothing found")
	}
	x.Close()
	if !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("no warning: %s", log.String())
	}
}

// signed replaces the checksum at the end of a snapshot.
func signed(b []byte) []byte {
	body := b[:len(b)-4]
	return binary.BigEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// FuzzSnapshot feeds contents that passed their checksum: whatever they are,
// decode returns an error or a generation that can be searched.
func FuzzSnapshot(f *testing.F) {
	docs, vectors := sample()
	x := opened(f, Options{})
	for _, v := range [][][][]float32{vectors, nil} {
		if err := x.Replace(context.Background(), docs, of(v)); err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		g := x.current.Load()
		c := &contents{lexicon: g.lexicon, vectors: g.vectors}
		for _, d := range g.docs {
			c.docs, c.texts = append(c.docs, withoutTexts(d)), append(c.texts, hold(&texts{whole: d}))
		}
		for _, c.words = range [][]*words.PageWords{g.words, nil} {
			b.Reset()
			if err := encode(&b, c, make([]*texts, len(docs))); err != nil {
				f.Fatal(err)
			}
			f.Add(bytes.Clone(b.Bytes()))
		}
	}
	f.Add(fmt.Appendf(nil, "%s%d\n", snapshotHeader, SnapshotFormat))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(context.Background(), bytes.NewReader(data), int64(len(data)), func(int, int) {})
		if err != nil {
			return
		}
		x := &Index{}
		if err := x.show(context.Background(), c, nil); err != nil {
			t.Fatal(err)
		}
		g := x.current.Load()
		q := retrieval.Query{Text: "install 設定 caddyfil", Limit: 10}
		if g.vectors != nil {
			q.Vector = make([]float32, g.vectors.dim)
			q.Vector[0] = 1
		}
		if _, err := g.search(context.Background(), &q, g.parsed(&q, new(words.Wording)), DefaultSemanticRatio, &scratch{}); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkRestart(b *testing.B) {
	dir := b.TempDir()
	docs := library(3000, 1) // 10,500 sections
	opened(b, Options{Dir: dir}, docs...)
	b.ReportAllocs()
	for b.Loop() {
		x, err := Open(Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		x.Restore(b.Context(), func(int, int) {})
		if x.Documents() == nil {
			b.Fatal("nothing was restored")
		}
	}
}

func TestASnapshotIsLoadedLater(t *testing.T) {
	dir := t.TempDir()
	docs, vectors := sample()
	if err := opened(t, Options{Dir: dir}).Replace(context.Background(), docs, of(vectors)); err != nil {
		t.Fatal(err)
	}
	x, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(t.Context(), retrieval.Query{Text: "install"}); !errors.Is(err, retrieval.ErrNotReady) || x.Documents() != nil {
		t.Errorf("before it is loaded: %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	x.Restore(stopped, func(int, int) { stop() })
	if x.Documents() != nil {
		t.Error("it was loaded after the server began to stop")
	}
	var steps []int
	x.Restore(t.Context(), func(done, total int) {
		if total != len(docs) {
			t.Errorf("%d of %d pages", done, total)
		}
		steps = append(steps, done)
	})
	if !slices.Equal(steps, []int{0, 1, 2, 3}) || len(x.Documents()) != len(docs) {
		t.Errorf("steps %v, %d documents", steps, len(x.Documents()))
	}
}
