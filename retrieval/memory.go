package retrieval

import (
	"runtime/debug"
	"sync"
)

// indexingGC is the percentage of GOGC while pages are indexed: memory grows by
// at most so much before it is collected. With Go's 100, an index takes twice
// its memory while it is filled, and a container must have room for that.
const indexingGC = 40

// collector counts the refreshes in progress. before is the percentage that the
// operator has chosen.
var collector struct {
	sync.Mutex
	refreshes, before int
}

// saveMemory makes the garbage collector of the process run more often until
// done is called. A lower GOGC stays, and so does none at all.
func saveMemory() (done func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.refreshes++; collector.refreshes == 1 {
		if collector.before = debug.SetGCPercent(indexingGC); collector.before < indexingGC {
			debug.SetGCPercent(collector.before)
		}
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.refreshes--; collector.refreshes == 0 {
			debug.SetGCPercent(collector.before)
		}
	}
}
