package meilisearch

import (
	"bytes"
	"runtime"
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
