package embedded

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

func TestATableOfWhatIsLeftIsThatOfWhatWasNeverRemoved(t *testing.T) {
	docs := library(60, 1)
	tally, want := words.NewTable().Tally(), words.NewTable().Tally()
	for _, d := range docs {
		tally.Add(words.CountPage(d))
	}
	before := tally.Table()
	tally = before.Tally()
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range docs {
		if r.IntN(2) == 0 {
			tally.Remove(words.CountPage(d))
		} else {
			want.Add(words.CountPage(d))
		}
		if r.IntN(10) == 0 {
			want = want.Table().Tally()
		}
	}
	table := tally.Table()
	if !reflect.DeepEqual(table, want.Table()) {
		t.Error("removed pages still count")
	}
	if reflect.DeepEqual(before, table) || before.Pages != len(docs) {
		t.Error("a table has changed")
	}
	again, err := words.ReadTable(table.Encode())
	if err != nil || !reflect.DeepEqual(again, table) {
		t.Errorf("written and read: %v", err)
	}
}

func TestADamagedTableIsAnError(t *testing.T) {
	tally := words.NewTable().Tally()
	for _, d := range library(10, 1) {
		tally.Add(words.CountPage(d))
	}
	data := tally.Table().Encode()
	for n := range data {
		if _, err := words.ReadTable(data[:n]); err == nil {
			t.Errorf("its first %d bytes are read", n)
		}
		damaged := slices.Clone(data)
		damaged[n] ^= 1 << (n % 8)
		if table, err := words.ReadTable(damaged); err == nil {
			table.Words.Suggest("instal", true)
			table.Term(1)
		}
	}
}
