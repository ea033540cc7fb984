package assistant

import (
	"fmt"
	"runtime/debug"
)

// Apart runs f on a goroutine of its own, and returns with it. A goroutine
// keeps the deepest stack that it ever needed, in powers of two, and that of
// a stream keeps it for as long as the reader reads: what comes before the
// first token, and needs more than passing tokens on, goes elsewhere. A panic
// of f is one of the caller.
func Apart(f func()) {
	failed := make(chan error, 1)
	job := func() {
		defer close(failed)
		defer func() {
			if p := recover(); p != nil {
				failed <- fmt.Errorf("%v\n\n%s", p, debug.Stack())
			}
		}()
		f()
	}
	select {
	case jobs <- job:
	default:
		go work(job)
	}
	if err := <-failed; err != nil {
		panic(err)
	}
}

// Some goroutines stay, with their stacks grown, for the next job: growing
// one anew copies it four times.
var (
	jobs    = make(chan func())
	staying = make(chan struct{}, 8)
)

func work(job func()) {
	for {
		job()
		select {
		case staying <- struct{}{}:
		default:
			return
		}
		job = <-jobs
		<-staying
	}
}
