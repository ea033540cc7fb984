package retrieval

import (
	"runtime/debug"
	"testing"
)

// gogc returns the percentage in effect.
func gogc() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}

// It changes a setting of the process: no other test may run at the same time.
func TestMemoryIsSavedWhilePagesAreIndexed(t *testing.T) { //nolint:paralleltest // see above
	for chosen, want := range map[int]int{100: indexingGC, 400: indexingGC, 20: 20, -1: -1} {
		before := debug.SetGCPercent(chosen)
		first, second := SaveMemory(), SaveMemory()
		if got := gogc(); got != want {
			t.Errorf("with GOGC=%d, it is %d while two sites are indexed, want %d", chosen, got, want)
		}
		if first(); gogc() != want {
			t.Errorf("with GOGC=%d, it is %d while one site is indexed, want %d", chosen, gogc(), want)
		}
		if second(); gogc() != chosen {
			t.Errorf("with GOGC=%d, it is %d afterwards", chosen, gogc())
		}
		debug.SetGCPercent(before)
	}
}
