package embedded

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

func TestATableOfWhatIsLeftIsThatOfWhatWasNeverRemoved(t *testing.T) {
	docs := library(60, 1)
	table, want := words.NewTable(), words.NewTable()
	for _, d := range docs {
		table.Add(d)
	}
	before := table.Clone()
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range docs {
		if r.IntN(2) == 0 {
			table.Remove(d)
		} else {
			want.Add(d)
		}
	}
	if !reflect.DeepEqual(table, want) {
		t.Error("removed pages still count")
	}
	if reflect.DeepEqual(before, table) || before.Pages != len(docs) {
		t.Error("the copy changed with the table")
	}
	again, err := words.ReadTable(want.Encode())
	if err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("written and read: %v", err)
	}
}

func TestADamagedTableIsAnError(t *testing.T) {
	for _, data := range []string{"", "null", "{}", `{"format":2}`, `{"format":3}`, `{"format":3,"terms":{"x":[1,1]}}`, `{"format":3,"words":{"a":-1}}`} {
		if _, err := words.ReadTable([]byte(data)); err == nil {
			t.Errorf("%q is read", data)
		}
	}
}
