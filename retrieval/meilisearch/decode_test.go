package meilisearch

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// What a server sends as a state is read piece by piece: few bytes can be many
// when they are decompressed.
func TestASmallStateIsNotDecompressedAsAWhole(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	var state bytes.Buffer
	state.WriteString(stateHeader)
	out, err := zstd.NewWriter(&state, zstd.WithWindowSize(stateWindow), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 256 {
		if _, err := out.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	size := state.Len()
	_, _, err = new(Index).decodeState(&state)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; err == nil || allocated > 32<<20 {
		t.Errorf("%d bytes took %d MB of memory: %v", size, allocated>>20, err)
	}
}

func TestAStateIsCutIntoParts(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, statePart, statePart + 1, 3 * statePart} {
		var got []byte
		var ids []string
		keep := func(p part) error {
			if len(p.Data) > statePart {
				t.Errorf("a part of %d bytes", len(p.Data))
			}
			got, ids = append(got, p.Data...), append(ids, p.ID)
			return nil
		}
		w := stateParts{send: keep, set: 1}
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i >> 8)
		}
		for chunk := range slices.Chunk(want, 1<<20+7) {
			if n, err := w.Write(chunk); n != len(chunk) || err != nil {
				t.Fatal(n, err)
			}
		}
		sent := w.sent
		_ = keep(w.last())
		if !bytes.Equal(got, want) || len(ids) != sent+1 || sent != max(size-1, 0)/statePart || ids[sent] != partID(1, sent) {
			t.Errorf("%d bytes: %d in the parts %v, %d sent", size, len(got), ids, sent)
		}
	}
	failing := stateParts{send: func(part) error { return io.ErrClosedPipe }}
	if _, err := failing.Write(make([]byte, 2*statePart)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a part that was not sent: %v", err)
	}
}
