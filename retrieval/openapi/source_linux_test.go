package openapi

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A description that has become a pipe is an error. Without a writer, opening it
// would never return.
func TestAPipeIsNoDescription(t *testing.T) {
	file := filepath.Join(t.TempDir(), "openapi.yaml")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Source{File: file}).Snapshot(t.Context()); err == nil {
		t.Error("a pipe is read")
	}
}
