//go:build unix

package source

import "syscall"

// MakePipe is for both packages of tests.
func MakePipe(name string) error { return syscall.Mkfifo(name, 0o644) }
