package retrieval

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// indexingGC is the GOGC percentage while a site is indexed: how much garbage may
// be kept, compared with what is in use. With Go's default of 100, a container
// would need room for twice the index.
const indexingGC = 40

// collector has the percentage that the operator has chosen, how many tasks want
// a lower one, and whether memory is about to be returned.
var collector struct {
	sync.Mutex
	tasks, before int
	lowered       bool
	returning     atomic.Bool
}

// SaveMemory makes the process's garbage collector run more often until done is
// called. An operator's lower GOGC, or GOGC=off, is left as it is.
func SaveMemory() (done func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.tasks++; collector.tasks == 1 {
		chosen := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(chosen)
		collector.lowered = int64(chosen[0].Value.Uint64()) > indexingGC //nolint:gosec // off is -1
		if collector.lowered {
			collector.before = debug.SetGCPercent(indexingGC)
		}
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.tasks--; collector.tasks == 0 && collector.lowered {
			debug.SetGCPercent(collector.before)
		}
	}
}

// returnPause is how long memory is not returned yet: what wants it often comes
// together.
const returnPause = 5 * time.Second

// ReturnMemory returns to the system what is free, in the background. Go would take
// minutes, in which an operator would see twice what a site needs. Buffers leave
// their pools with the second collection only.
func ReturnMemory() {
	if collector.returning.CompareAndSwap(false, true) {
		time.AfterFunc(returnPause, func() {
			collector.returning.Store(false)
			runtime.GC()
			debug.FreeOSMemory()
		})
	}
}
