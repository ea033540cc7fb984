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
	go func() {
		defer close(failed)
		defer func() {
			if p := recover(); p != nil {
				failed <- fmt.Errorf("%v\n\n%s", p, debug.Stack())
			}
		}()
		f()
	}()
	if err := <-failed; err != nil {
		panic(err)
	}
}
