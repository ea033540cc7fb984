//go:build unix

package retrieval

import (
	"os"
	"syscall"
)

// rename gives a file another's place. os.Rename looks first whether a folder
// stands there, which rename(2) refuses itself: a quarter of what replacing a
// small file costs.
func rename(from, to string) error {
	for {
		switch err := syscall.Rename(from, to); err {
		case nil:
			return nil
		case syscall.EINTR:
		default:
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
	}
}
