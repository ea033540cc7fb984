package assistant

import (
	"math/rand/v2"
	"testing"
)

func TestGatheredIsWhatWasAdded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var g gathered
		var want []byte
		for range rnd.IntN(60) {
			piece := make([]byte, rnd.IntN(1+rnd.IntN(120)))
			for i := range piece {
				piece[i] = byte(rnd.Uint32())
			}
			g.add(piece)
			want = append(want, piece...)
			if g.len() != len(want) {
				t.Fatalf("%d bytes, want %d", g.len(), len(want))
			}
			if rnd.IntN(10) == 0 && string(g.bytes()) != string(want) {
				t.Fatal("another text in between")
			}
		}
		if string(g.bytes()) != string(want) {
			t.Fatal("another text")
		}
	}
}
